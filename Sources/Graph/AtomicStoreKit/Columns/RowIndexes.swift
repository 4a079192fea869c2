import AtomicStoreSPI
import Synchronization

/// The indexes of a version. They are built on demand, and saves carry them over to the new version.
final class RowIndexes: NodeVersionAttachment {
  private struct Key: Hashable {
    let entity: Int
    let slot: Int
  }
  private struct State {
    var indexes: [Key: RowIndex] = [:]
    var asked: [Key: Int] = [:]
  }
  private let state = Mutex(State())

  /// The number of scans of a column before an index is built. Building an index costs about as much as this many
  /// scans, so a single query does not pay for sorting, and the total cost is at most twice that of the better choice.
  static let patience = 8
  /// The same limit for equality tests on an attribute that the model does not index.
  static let greaterPatience = 64

  static func of(_ version: NodeVersion) -> RowIndexes {
    version.attachment.withLock { attachment in
      if let indexes = attachment as? RowIndexes { return indexes }
      let indexes = RowIndexes()
      attachment = indexes
      return indexes
    }
  }

  /// Returns the index of a column, once it has been requested often enough.
  func index(_ version: NodeVersion, entity: Int, slot: Int, _ type: AttributeType, isDeclared: Bool = true)
    -> RowIndex?
  {
    let key = Key(entity: entity, slot: slot)
    let (found, isDue) = state.withLock { state -> (RowIndex?, Bool) in
      if let index = state.indexes[key] { return (index, false) }
      let count = state.asked[key, default: 0] + 1
      state.asked[key] = count
      return (nil, count > (isDeclared ? Self.patience : Self.greaterPatience))
    }
    guard found == nil, isDue else { return found }
    // Two threads may build it at the same time; one result is kept.
    guard let made = RowIndex(version.column(entity: entity, slot: slot), type) else { return nil }
    return state.withLock { state in
      if let index = state.indexes[key] { return index }
      state.indexes[key] = made
      return made
    }
  }

  /// Whether the column has an index. For tests.
  func has(entity: Int, slot: Int) -> Bool { state.withLock { $0.indexes[Key(entity: entity, slot: slot)] != nil } }

  /// Passes the indexes of a version on to the version that a save derived from it.
  func carry(from old: NodeVersion, to new: NodeVersion) {
    guard old.nodes.model === new.nodes.model else { return }
    let before = state.withLock { $0 }
    var carried = State(indexes: [:], asked: before.asked)
    var places: [Int: [UInt32]] = [:]
    for (key, index) in before.indexes {
      let from = old.column(entity: key.entity, slot: key.slot)
      let to = new.column(entity: key.entity, slot: key.slot)
      // Memory shared by both versions holds the same values in the same rows.
      if from.isSame(as: to) {
        carried.indexes[key] = index
        continue
      }
      let rows = places[key.entity] ?? Self.places(key.entity, from: old, to: new)
      places[key.entity] = rows
      guard let type = Self.type(new, key),
        let made = withExtendedLifetime((old, new), { index.carried(from: from, to: to, type, places: rows) })
      else { continue }
      carried.indexes[key] = made
    }
    Self.of(new).state.withLock { $0 = carried }
  }

  private static func type(_ version: NodeVersion, _ key: Key) -> AttributeType? {
    let plan = ModelPlan.plan(of: version.nodes.model).entities[key.entity]
    return plan.properties[plan.propertyOfSlot[key.slot]].attributeType
  }

  private static func places(_ entity: Int, from old: NodeVersion, to new: NodeVersion) -> [UInt32] {
    let root = new.nodes.model.entity(at: entity).root.index
    return (0..<old.rowCount(of: entity)).map { row in
      let reference = old.reference(of: NodeHandle(entity: entity, row: row))
      guard let node = new.handle(for: reference, root: root), node.entity == entity else { return .max }
      return UInt32(truncatingIfNeeded: node.row)
    }
  }
}
