import CommandSupport
import FoundationEssentials
import StoreCoordination
import StoreMigration

/// Two stores that are compared, read with the same options.
package struct StorePair {
  /// As the command line names them.
  let names: (String, String)
  let left: PersistentStore
  let right: PersistentStore
  private let coordinators: (PersistentStoreCoordinator, PersistentStoreCoordinator)
  var one: StoreSnapshot
  let other: StoreSnapshot
  private var models: ModelsBeside?

  init(_ first: String, _ second: String, _ reading: SourceOptions) throws {
    guard first != "-" || second != "-" else {
      throw CommandFailure("only one of the two can be standard input", exitCode: 64)
    }
    names = (Input.shown(first), Input.shown(second))
    let (firstCoordinator, left) = try reading.open(first)
    let (secondCoordinator, right) = try reading.open(second, comparedWith: left)
    MemoryUntilExit.keep(left.nodes, right.nodes)
    (self.left, self.right) = (left, right)
    coordinators = (firstCoordinator, secondCoordinator)
    one = StoreSnapshot(nodes: try left.nodesWithDeferredValues(), metadata: left.metadata)
    other = StoreSnapshot(nodes: try right.nodesWithDeferredValues(), metadata: right.metadata)
  }

  /// Makes the first store's objects comparable with those of the second, whose model is another.
  ///
  /// - Returns: What was renamed, and what cannot be compared.
  mutating func placeModelsBeside() throws -> [ModelsBeside.Remark] {
    let found = try ModelsBeside(one.nodes, store: left.identifier, right.model, names: names)
    one.nodes = found.nodes
    models = found
    return found.remarks
  }

  /// Whether a difference is of what both models have.
  func concerns(_ difference: GraphDifference) -> Bool { models?.concerns(difference) ?? true }
}
