public import FoundationEssentials

/// Two stores of which only one contains the result of a common save: the other file was not replaced because the
/// machine stopped in between, or it was restored from a backup.
public struct MixedSave: Sendable, Hashable, CustomStringConvertible {
  /// The store that contains the later save.
  public let newer: UUID
  /// The path of the store that contains the later save.
  public let newerPath: String
  /// The store that should have been saved with it.
  public let older: UUID
  /// The path of the store that should have been saved with it.
  public let olderPath: String

  public var description: String {
    "\(newerPath) contains a save that was made together with \(olderPath), which contains an earlier one"
  }
}
