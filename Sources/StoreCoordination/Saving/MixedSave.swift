public import FoundationEssentials

/// Stores of which one holds a save that the other has not seen: one of their files was not replaced, since the machine
/// stopped between the two, or it was put back from a copy.
public struct MixedSave: Sendable, Hashable, CustomStringConvertible {
  /// The store that holds the later save.
  public let newer: UUID
  /// The path of the store that holds the later save.
  public let newerPath: String
  /// The store that should have been saved with it.
  public let older: UUID
  /// The path of the store that should have been saved with it.
  public let olderPath: String

  public var description: String {
    "\(newerPath) holds a save that it made together with \(olderPath), which holds an earlier one"
  }
}
