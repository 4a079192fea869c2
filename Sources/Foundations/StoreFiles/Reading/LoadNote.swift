/// Something worth knowing about a load that succeeded: what was read beside the store's own file, what the file holds
/// that the graph does not, what was left out by an option.
///
/// A format reports it with ``StoreSource/report(_:)`` while it loads. `inspect` prints every note, and every command
/// that reads a store prints losses and warnings on standard error. A conversion treats a note that is a loss as it
/// treats what the target cannot carry: it lists it, and refuses unless losses are allowed.
public struct LoadNote: Sendable, Hashable, CustomStringConvertible {
  /// An entity, `Entity.property`, a table or a file.
  public var subject: String
  /// How many values, rows or files it concerns.
  public var count: Int
  public var text: String
  /// The first one, such as `Person/4.photo`.
  public var example: String?
  /// Whether the file holds, or should hold, data of the graph that were not loaded.
  public var isLoss: Bool
  /// Whether what was read may be misleading, although nothing is known to be missing: a write-ahead log that is not
  /// there, ends of a relationship that contradict each other.
  public var isWarning: Bool
  /// Where an object is that was left out because it is damaged, or that has a reference that was; nil for other notes.
  public var location: StoreLocation?

  public init(
    subject: String, count: Int = 1, text: String, example: String? = nil, isLoss: Bool = false,
    isWarning: Bool = false, location: StoreLocation? = nil
  ) {
    self.subject = subject
    self.count = count
    self.text = text
    self.example = example
    self.isLoss = isLoss
    self.isWarning = isWarning
    self.location = location
  }

  public var description: String {
    "\(subject): \(text)" + (count == 1 ? "" : " (\(count))") + (example.map { ", first \($0)" } ?? "")
  }
}
