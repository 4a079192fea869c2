import ArrowTables
import AtomicStoreKit
import CommandSupport
import FoundationEssentials

/// The result of a fetch as Arrow: from the columns of the store where they suffice, otherwise from values.
struct ArrowOutput {
  let context: ManagedObjectContext
  let request: FetchRequest<ManagedObject>
  let entity: Entity
  /// The store that is asked.
  let store: PersistentStore
  /// Whether no rows are wanted: in a request, a limit of 0 means no limit.
  let isEmpty: Bool

  /// Whether objects may be of several entities: then a column beside their references names the entities.
  private var isObjectNamed: Bool { request.includesSubentities && entity.hierarchy.count > 1 }

  /// Writes the result and returns the number of rows.
  func write(_ form: ArrowWriter.Form, to sink: @escaping ArrowWriter.Sink) throws -> Int {
    if let count = try writeColumns(form, to: sink) { return count }
    var rows = try context.fetchRows(request)
    if isEmpty { rows = [] }
    var values = ArrowValueColumns(
      rows, request.propertiesToFetch, of: entity, namesEntities: isObjectNamed, in: context, store)
    let columns = try values.arrowColumns()
    var writer = try ArrowWriter(form, schema(columns), to: sink)
    if !rows.isEmpty { try writer.write(count: rows.count, columns.map { $0.data(batch: 0) }) }
    try writer.finish()
    return rows.count
  }

  /// Groups are not objects of the entity.
  private func schema(_ columns: [ArrowColumn]) -> ArrowSchema {
    guard request.propertiesToGroupBy.isEmpty else { return ArrowSchema(columns.map(\.field), metadata: []) }
    return ArrowSchema(
      columns.map(\.field),
      metadata: [
        ArrowMetadataEntry(ArrowKey.entity, entity.name),
        ArrowMetadataEntry(ArrowKey.store, store.identifier.uuidString),
      ])
  }

  // MARK: From columns

  /// Returns nil, and has written nothing, if a column is not a property, or rows are not found in the columns.
  private func writeColumns(_ form: ArrowWriter.Form, to sink: @escaping ArrowWriter.Sink) throws -> Int? {
    guard request.propertiesToGroupBy.isEmpty, request.havingPredicate == nil, request.rowSortKeys.isEmpty,
      !request.returnsDistinctResults
    else { return nil }
    var slots: [Slot?] = []
    for column in request.propertiesToFetch {
      switch column.expression {
      case .evaluatedObject: slots.append(nil)
      case .keyPath(let path):
        guard path.count == 1, let slot = entity.slot(named: path[0]) else { return nil }
        slots.append(entity.slots[slot])
      default: return nil
      }
    }
    guard let found = try context.storedRows(of: request), found.count == 1, let part = found.first else { return nil }
    guard let batches = batches(part, slots) else { return nil }
    let maker = ArrowNodeColumns(of: entity, ArrowReferences(part.version.nodes), batches)
    var columns: [ArrowColumn] = []
    for (slot, column) in zip(slots, request.propertiesToFetch) {
      columns.append(slot.map { maker.column($0, named: column.name) } ?? maker.identifiers(named: column.name))
      if slot == nil, isObjectNamed { columns.append(maker.entityNames(named: column.name + "Entity")) }
    }
    var writer = try ArrowWriter(form, schema(columns), to: sink)
    for index in batches.indices {
      try writer.write(count: batches[index].count, columns.map { $0.data(batch: index) })
    }
    try writer.finish()
    return batches.reduce(0) { $0 + $1.count }
  }

  /// The rows of each entity, in the order of the result; nil if entities alternate, or values are yet to be read.
  private func batches(_ part: ManagedObjectContext.StoredRows, _ slots: [Slot?]) -> [ArrowRows]? {
    guard !isEmpty else { return [] }
    var batches: [ArrowRows] = []
    var seen: Set<Int> = []
    var rest = part.nodes
    while let first = rest.first {
      let end = rest.firstIndex { $0.entity != first.entity } ?? rest.endIndex
      guard seen.insert(first.entity).inserted else { return nil }
      for case let slot? in slots where part.version.hasDeferredValues(entity: first.entity, slot: slot.index) {
        return nil
      }
      let reader = part.version.nodes.reader(of: first.entity)
      let rows = rest[..<end].map(\.row)
      let isWhole = rows.count == reader.count && rows.enumerated().allSatisfy { $0 == $1 }
      batches.append(ArrowRows(reader, rows: isWhole ? nil : rows))
      rest = rest[end...]
    }
    return batches
  }
}
