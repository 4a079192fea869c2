import AtomicStoreSPI
import StoreCoordination
import StoreMaintenance
import TestSupport
import Testing

/// A merge without a base gives what one with a base gives that neither side has left a value of.
@Suite("Merges with and without a base") struct MergeEquivalenceTests {
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Item",
      properties: [
        .attribute("name", .string), .attribute("number", .integer64), .toOne("box", "Box", inverse: "items"),
        .toMany("boxes", "Box", isOrdered: true),
      ]),
    EntityDescription(name: "Box", properties: [.toMany("items", "Item", inverse: "box", isOrdered: true)]),
  ])
  private static let items = 1...6 as ClosedRange<Int64>
  private static let boxes = 1...5 as ClosedRange<Int64>

  /// The same objects each time, with random values; without a generator, those that no side has.
  private static func graph(_ model: ManagedObjectModel, _ generator: inout SeededGenerator, isBase: Bool) throws
    -> NodeTable
  {
    var nodes = try NodeTableBuilder(model: model).finish()
    func node(_ entity: String, _ number: Int64) throws -> NodeHandle {
      let index = try #require(model.entity(named: entity)).index
      return try nodes.handle(for: .integer(number), entity: index)
        ?? nodes.addCacheNode(entity: index, reference: .integer(number))
    }
    func box(_ number: Int64) -> ObjectReference { ObjectReference(entityName: "Box", reference: .integer(number)) }
    for number in boxes { _ = try node("Box", number) }
    for number in items { _ = try node("Item", number) }
    for number in items {
      let item = try node("Item", number)
      // The last box is the base's.
      let destination = isBase ? boxes.upperBound : .random(in: 1..<boxes.upperBound, using: &generator)
      try nodes.setValue(
        isBase ? .string("base") : .string("\(Int.random(in: 0..<3, using: &generator))"), forKey: "name", of: item)
      try nodes.setValue(.integer(isBase ? -1 : .random(in: 0..<3, using: &generator)), forKey: "number", of: item)
      try nodes.setValue(.toOne(box(destination)), forKey: "box", of: item)
      let list = isBase ? [] : boxes.shuffled(using: &generator).prefix(.random(in: 0...3, using: &generator))
      try nodes.setValue(.toMany(list.map(box)), forKey: "boxes", of: item)
    }
    // Both ends of what has an inverse.
    var members: [Int64: [ObjectReference]] = [:]
    for number in items.shuffled(using: &generator) {
      guard case .toOne(let box)? = nodes.value(forKey: "box", of: try node("Item", number)),
        case .integer(let key) = box.reference
      else { continue }
      members[key, default: []].append(ObjectReference(entityName: "Item", reference: .integer(number)))
    }
    for (number, list) in members { try nodes.setValue(.toMany(list), forKey: "items", of: try node("Box", number)) }
    return nodes
  }

  @Test("both give the same graph, the same decisions and the same conflicts", arguments: 1...60 as ClosedRange<UInt64>)
  func same(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let model = try ManagedObjectModel(Self.model)
    let base = try Self.graph(model, &generator, isBase: true)
    let first = try Self.graph(model, &generator, isBase: false)
    let second = try Self.graph(model, &generator, isBase: false)
    for rule in [StoreMerge.ConflictRule.first, .last, .newest("number"), .refuse] {
      var merge = StoreMerge()
      merge.matching = .references
      merge.conflictRule = rule
      func outcome(_ body: () throws -> StoreMerge.Result) throws -> (nodes: NodeTable?, conflicts: [String]) {
        do {
          let result = try body()
          return (result.nodes, result.settled.map { "\($0)" }.sorted())
        } catch let error as StoreMerge.ConflictError {
          return (nil, error.conflicts.map { "\($0)" }.sorted())
        }
      }
      let one = try outcome { try merge.merge([first, second]) }
      let other = try outcome { try merge.merge(base: base, first, second) }
      #expect(one.conflicts == other.conflicts, "\(rule)")
      guard let left = one.nodes, let right = other.nodes else {
        #expect(one.nodes == nil && other.nodes == nil, "\(rule)")
        continue
      }
      let metadata = StoreMetadata(storeType: "", model: model.description)
      let differences = GraphComparison.differences(
        StoreSnapshot(nodes: try left.canonical(), metadata: metadata),
        StoreSnapshot(nodes: try right.canonical(), metadata: metadata))
      #expect(differences.isEmpty, "\(rule): \(differences)")
    }
  }
}
