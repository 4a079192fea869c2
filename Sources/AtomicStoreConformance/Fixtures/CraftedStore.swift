import AtomicStoreSPI

/// Files that the format's author has made, because only they know where their format is delicate.
public struct CraftedStore: Sendable {
  /// How a store is to be received.
  public enum Expectation: Sendable {
    /// With an error that says why, and nothing harmed.
    case refused
    /// It holds the same objects as the store that it was made from.
    case same
  }
  /// What is special about it: for the report.
  public var label: String
  /// The bytes of each file of a folder by its name; of a store that is one file under the empty name.
  public var files: [String: [UInt8]]
  /// What opening it must come to.
  public var expectation: Expectation

  /// Creates a store to try.
  public init(_ label: String, files: [String: [UInt8]], _ expectation: Expectation) {
    self.label = label
    self.files = files
    self.expectation = expectation
  }
}
