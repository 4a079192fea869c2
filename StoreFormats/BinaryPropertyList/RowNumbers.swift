import AtomicStoreSPI
import StoreCodecs

/// The numbers by which a relationship to objects with string references names them: the rows of the destination entity
/// and its sub-entities are counted together, the entities in ascending order of their names.
struct RowNumbers: NodeNumbers {
  /// The entities that have rows, with the number of the first.
  private let entities: [(entity: Int, start: Int)]
  private let total: Int
  /// By the index of an entity: the number of its first row.
  private let starts: [Int]

  /// - Parameter count: The number of rows of an entity.
  private init(_ slot: Slot, _ model: ManagedObjectModel, _ count: (Int) -> Int) {
    var entities: [(entity: Int, start: Int)] = []
    var starts = [Int](repeating: 0, count: model.entities.count)
    var total = 0
    let members = slot.destination.map { model.entity(at: $0).hierarchy } ?? []
    for member in members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      let rows = count(member.index)
      starts[member.index] = total
      if rows > 0 { entities.append((member.index, total)) }
      total += rows
    }
    self.entities = entities
    self.total = total
    self.starts = starts
  }

  init(_ slot: Slot, _ nodes: NodeTableBuilder) { self.init(slot, nodes.model) { nodes.count(of: $0) } }

  /// - Throws: `.limitExceeded` if there are more rows than numbers.
  init(_ slot: Slot, _ nodes: NodeTable) throws(PersistentStoreError) {
    self.init(slot, nodes.model) { nodes.count(of: $0) }
    guard total <= Int(UInt32.max) else {
      throw PersistentStoreError(
        .limitExceeded, "a relationship leads to more than 2^32 objects with string references",
        at: StoreLocation(property: slot.name))
    }
  }

  /// The number of a node of the destination.
  func number(_ node: NodeHandle) -> UInt32 { UInt32(truncatingIfNeeded: starts[node.entity] + node.row) }

  /// The nodes that a column of numbers names.
  ///
  /// - Throws: `.malformed` for a number of no row.
  func nodes(_ numbers: Span<UInt32>, of column: PropertyListNode) throws(PersistentStoreError) -> [NodeHandle] {
    var nodes: [NodeHandle] = []
    nodes.reserveCapacity(numbers.count)
    var place = 0
    for index in 0..<numbers.count {
      let number = numbers[index]
      // A null has the number 0, also where the destination has no rows.
      guard number < total || number == 0 else {
        throw column.malformed("names row \(number) of \(total)")
      }
      guard !entities.isEmpty else {
        nodes.append(NodeHandle(entity: 0, row: 0))
        continue
      }
      // Most objects of a relationship are of the entity of the one before.
      if !holds(Int(number), place) { place = self.place(of: Int(number)) }
      nodes.append(NodeHandle(entity: entities[place].entity, row: Int(number) - entities[place].start))
    }
    return nodes
  }

  private func holds(_ number: Int, _ place: Int) -> Bool {
    entities[place].start <= number && (place + 1 == entities.count || number < entities[place + 1].start)
  }

  /// The last of the entities that do not begin after a number.
  private func place(of number: Int) -> Int {
    var low = 0
    var high = entities.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if entities[middle].start <= number { low = middle } else { high = middle }
    }
    return low
  }
}
