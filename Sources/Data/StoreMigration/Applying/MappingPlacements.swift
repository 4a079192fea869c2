import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// Which objects of the source become which of the destination, by each mapping.
struct MappingPlacements {
  /// The objects that one mapping makes.
  struct Placement {
    /// The index in ``ModelMapping/entities``.
    let mapping: Int
    let source: Entity
    let destination: Entity
    /// The rows of the source's objects, ascending; nil for all of them.
    let rows: [Int]?
    /// The number of objects.
    let count: Int
    /// The row of the first object in the destination.
    var first = 0
    /// The references of the objects; nil if they are those of the source.
    var references: [ReferenceObject]?
    /// Whether the rows of both tables are the same, in the same order.
    var isWhole = true

    /// The row of an object in the source.
    func row(_ index: Int) -> Int { rows?[index] ?? index }
    /// The index of the object in a row of the source; nil if there is none.
    func index(ofRow row: Int) -> Int? {
      guard let rows else { return row < count ? row : nil }
      var (low, high) = (0, rows.count)
      while low < high {
        let middle = (low + high) / 2
        if rows[middle] < row { low = middle + 1 } else { high = middle }
      }
      return low < rows.count && rows[low] == row ? low : nil
    }
  }

  /// A relationship of an entity of the destination.
  struct End: Hashable {
    var entity: Int
    var slot: Int
  }

  /// Relationships that a mapping fills: they do not follow from their inverse, even where another mapping says so.
  private(set) var filled: Set<End> = []
  /// In the order of the mapping's entities, without those that make nothing.
  private(set) var all: [Placement] = []
  /// By the index of an entity of the source.
  private var bySource: [Int: [Int]] = [:]
  private let nodes: NodeTable
  /// The time for all expressions of the migration.
  let now = Date()

  /// - Parameter nodes: The objects of the source, in canonical order.
  /// - Throws: ``MigrationError`` for a condition that cannot be evaluated, and for objects of an abstract entity.
  init(_ mapping: ModelMapping, _ nodes: NodeTable, store: UUID) throws {
    self.nodes = nodes
    var obstacles: [MappingObstacle] = []
    for (number, mapped) in mapping.entities.enumerated() {
      guard let source = mapped.sourceName.flatMap({ mapping.source.entity(named: $0) }),
        let destination = mapping.destination.entity(named: mapped.name), nodes.count(of: source.index) > 0
      else { continue }
      do {
        let rows = try mapped.filter.map { try Self.rows($0, source, nodes, store, now) }
        let count = rows?.count ?? nodes.count(of: source.index)
        guard count > 0 else { continue }
        if destination.isAbstract, mapping.mappingModelPath != nil {
          obstacles.append(
            MappingObstacle(
              entityName: destination.name, reason: "is abstract, which can have no objects", objectCount: count))
        }
        bySource[source.index, default: []].append(all.count)
        all.append(
          Placement(mapping: number, source: source, destination: destination, rows: rows, count: count))
      } catch {
        let message = (error as? PredicateEvaluationError)?.message ?? "\(error)"
        obstacles.append(
          MappingObstacle(entityName: mapped.name, reason: "the condition '\(mapped.filter ?? "")': \(message)"))
      }
    }
    guard obstacles.isEmpty else {
      throw MigrationError(obstacles: obstacles, losses: [], mappingModelPath: mapping.mappingModelPath)
    }
    guard mapping.mappingModelPath != nil else { return }
    for placement in all {
      for (slot, property) in zip(placement.destination.slots, mapping.entities[placement.mapping].properties)
      where slot.isRelationship && property.origin != .inverse {
        filled.insert(End(entity: placement.destination.index, slot: slot.index))
      }
    }
    try arrange()
  }

  private static func rows(
    _ filter: String, _ source: Entity, _ nodes: NodeTable, _ store: UUID, _ now: Date
  ) throws -> [Int] {
    let predicate = try FetchPredicate(format: filter)
    let rows = RowEvaluator(nodes, store: store, now: now, variable: "source", budget: StepBudget())
    return try (0..<nodes.count(of: source.index)).filter { row in
      try rows.at(NodeHandle(entity: source.index, row: row)).evaluate(predicate)
    }
  }

  /// Gives objects their rows, and a new reference to one whose reference another object of its hierarchy has already.
  private mutating func arrange() throws {
    var next: [Int: Int] = [:]
    var byRoot: [Int: [Int]] = [:]
    for index in all.indices {
      let entity = all[index].destination.index
      all[index].first = next[entity, default: 0]
      next[entity, default: 0] += all[index].count
      byRoot[all[index].destination.root.index, default: []].append(index)
    }
    for index in all.indices {
      all[index].isWhole = all[index].rows == nil && next[all[index].destination.index] == all[index].count
    }
    for (_, members) in byRoot where members.count > 1 {
      // Objects of one hierarchy have different references, as long as each is in one mapping.
      let sources = members.map { all[$0].source }
      if Set(sources.map(\.index)).count == members.count, Set(sources.map(\.root.index)).count == 1 { continue }
      try number(members)
    }
  }

  private mutating func number(_ members: [Int]) throws {
    var used: Set<ReferenceObject> = []
    var highest: Int64 = 0
    var waiting: [(member: Int, index: Int)] = []
    for member in members {
      let placement = all[member]
      let reader = nodes.reader(of: placement.source.index)
      var references: [ReferenceObject] = []
      references.reserveCapacity(placement.count)
      for index in 0..<placement.count {
        let reference = reader.reference(row: placement.row(index))
        if case .integer(let number) = reference { highest = max(highest, number) }
        if !used.insert(reference).inserted { waiting.append((member, index)) }
        references.append(reference)
      }
      all[member].references = references
    }
    for (member, index) in waiting {
      let (number, overflow) = highest.addingReportingOverflow(1)
      guard !overflow else {
        throw PersistentStoreError(
          .limitExceeded, "no reference is left for a new object",
          at: StoreLocation(entity: all[member].destination.name))
      }
      highest = number
      all[member].references?[index] = .integer(number)
      all[member].isWhole = false
    }
  }

  /// The reference of an object of a placement.
  func reference(_ placement: Placement, _ index: Int) -> ReferenceObject {
    placement.references?[index] ?? nodes.reader(of: placement.source.index).reference(row: placement.row(index))
  }

  /// What an object has become by some of the mappings.
  ///
  /// - Parameters:
  ///   - node: The object in the source.
  ///   - mappings: The indices of the mappings.
  ///   - entity: Only objects of this entity and its sub-entities.
  func destinations(of node: NodeHandle, _ mappings: Set<Int>, of entity: Entity) -> [ObjectReference] {
    (bySource[node.entity] ?? []).compactMap { number in
      let placement = all[number]
      guard mappings.contains(placement.mapping), placement.destination.isKindOf(entity: entity),
        let index = placement.index(ofRow: node.row)
      else { return nil }
      return ObjectReference(entityName: placement.destination.name, reference: reference(placement, index))
    }
  }

  /// The placements of an entity's objects.
  func placements(ofSource entity: Int) -> [Placement] { (bySource[entity] ?? []).map { all[$0] } }
}
