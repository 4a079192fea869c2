/// Something that was omitted or changed on request. It is not a loss.
public struct SelectionNote: Sendable, Hashable, CustomStringConvertible {
  /// An entity, `Entity.property`, or `metadata`.
  public var subject: String
  /// The number of objects or values concerned.
  public var count: Int
  /// What was done with them, such as `left out`.
  public var text: String
  /// Creates a note.
  public init(subject: String, count: Int, text: String) {
    self.subject = subject
    self.count = count
    self.text = text
  }
  public var description: String { "\(subject): \(text) (\(count))" }
}
