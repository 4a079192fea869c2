/// Files that the format's author has made for the conformance checks, because only they know where their format is
/// delicate: see ``ChecksummedStore/crafted(from:)``.
public struct CraftedStore: Sendable {
  /// What opening a store must come to.
  public enum Expectation: String, Sendable {
    /// An error that says why, and nothing is changed.
    case refused
    /// The objects of the store that it was made from.
    case same
  }
  /// What is special about it: for the report.
  public var label: String
  /// The bytes of each file of a directory by its name; of a store that is one file under the empty name.
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
