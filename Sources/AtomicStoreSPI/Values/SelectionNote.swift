/// Something left out because it was asked for, or kept in another form. Not a loss: somebody chose it.
public struct SelectionNote: Sendable, Hashable, CustomStringConvertible {
  /// An entity, `Entity.property`, or `metadata`.
  public var subject: String
  /// Objects or values concerned.
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
