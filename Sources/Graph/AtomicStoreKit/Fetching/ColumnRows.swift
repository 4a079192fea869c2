import AtomicStoreSPI
import FoundationEssentials
import StorePredicates
import StorePrimitives

/// Rows of a fetch that are read from the columns of stores one by one, when they are asked for, without objects.
package struct ColumnRows {
  /// The rows of one store.
  fileprivate struct Part {
    let identifier: UUID
    let plan: ModelPlan
    let version: NodeVersion
    var nodes: ArraySlice<NodeHandle>
    let columns: [RowColumn]

    var row: Row { Row(self) }

    func value(_ column: Int, of node: NodeHandle) -> FetchedRow.Value {
      let column = columns[column]
      guard let node = column.node(from: node, version) else { return .value(.null) }
      switch column.source {
      case .object: return .object(id(node))
      case .attribute(let slot, let type): return .value(version.attribute(slot: slot, type: type, of: node))
      case .toOne(let slot): return version.toOne(slot: slot, of: node).map { .object(id($0)) } ?? .value(.null)
      case .toMany(let slot):
        return version.withToMany(slot: slot, of: node) { list in
          .list(list.map { .object(id(NodeHandle(rawBits: $0))) })
        }
      }
    }

    private func id(_ node: NodeHandle) -> ManagedObjectID {
      ManagedObjectID(
        storeIdentifier: identifier, entityName: plan.entities[node.entity].name, reference: version.reference(of: node)
      )
    }
  }
  /// The names of the columns.
  package let names: [String]
  private var parts: [Part] = []

  /// The number of rows.
  package var count: Int { parts.reduce(0) { $0 + $1.nodes.count } }

  /// Returns nil if a column is not a property, or one at the end of to-one relationships: objects must be evaluated.
  init?(_ found: ManagedObjectContext.FoundRows, columns: [FetchColumn], entityName: String) {
    names = columns.map(\.name)
    for (cache, version, nodes) in found.parts {
      guard let entity = cache.store.model.entity(named: entityName) else {
        guard nodes.isEmpty else { return nil }
        continue
      }
      var own: [RowColumn] = []
      for column in columns {
        guard let source = RowColumn(column.expression, cache.plan.entities[entity.index], cache.plan, version) else {
          return nil
        }
        own.append(source)
      }
      parts.append(
        Part(identifier: cache.identifier, plan: cache.plan, version: version, nodes: nodes, columns: own))
    }
  }

  /// Calls `body` with each row, which is valid inside `body` only.
  package func forEachRow(_ body: (borrowing Row) throws -> Void) rethrows {
    var number = 0
    for part in parts {
      var row = part.row
      for node in part.nodes {
        row.begin(node, number)
        number += 1
        try body(row)
      }
    }
  }

  /// The value in a column of the row with a number, which counts from 0.
  func value(_ column: Int, row: Int) -> FetchedRow.Value {
    var rest = row
    for part in parts {
      if rest < part.nodes.count { return part.value(column, of: part.nodes[part.nodes.startIndex + rest]) }
      rest -= part.nodes.count
    }
    return .value(.null)
  }

  /// All rows.
  var all: [FetchedRow] {
    var rows: [FetchedRow] = []
    rows.reserveCapacity(count)
    forEachRow { rows.append(FetchedRow(columns: names, values: $0.values)) }
    return rows
  }

  /// Some of the rows, which are of one store.
  func limited(to nodes: ArraySlice<NodeHandle>) -> ColumnRows {
    var result = self
    if !parts.isEmpty { result.parts[0].nodes = nodes }
    return result
  }

  /// The rows without those that are equal to an earlier one, from the offset on, as many as the limit; 0 for all.
  func distinct(offset: Int, limit: Int) -> ColumnRows {
    var seen = SeenRows(expecting: count)
    var skipped = 0
    var taken = 0
    var result = self
    for index in parts.indices {
      var row = parts[index].row
      var kept: [NodeHandle] = []
      var rest = parts[index].nodes
      while !rest.isEmpty, limit == 0 || taken < limit {
        let batch = rest.prefix(TextBatch.size)
        rest = rest.dropFirst(batch.count)
        for node in batch {
          row.begin(node, 0)
          seen.add(row.cells, row.values)
        }
        for (node, isNew) in zip(batch, seen.takeNewRows()) where isNew && (limit == 0 || taken < limit) {
          if skipped < offset {
            skipped += 1
          } else {
            kept.append(node)
            taken += 1
          }
        }
      }
      result.parts[index].nodes = kept[...]
    }
    return result
  }

  /// A row of the result.
  package struct Row {
    private let part: Part
    /// The memory of the columns, and the values of the row in them.
    private let memory: RowMemory
    private(set) var node = NodeHandle(entity: 0, row: 0)
    /// The number of the row, from 0.
    private(set) var number = 0

    fileprivate init(_ part: Part) {
      self.part = part
      memory = RowMemory(part.columns, part.plan, part.version)
    }

    fileprivate mutating func begin(_ node: NodeHandle, _ number: Int) {
      move(to: node, number)
      memory.read(node, part.columns, part.version)
    }

    /// Becomes another row of the same store, whose cells are not read.
    mutating func move(to node: NodeHandle, _ number: Int) {
      self.node = node
      self.number = number
    }

    /// The number of columns.
    package var count: Int { part.columns.count }

    /// The values, one for each column.
    package var values: [FetchedRow.Value] { part.columns.indices.map { self[$0] } }

    /// The value in a column.
    package subscript(index: Int) -> FetchedRow.Value { part.value(index, of: node) }

    /// The values without any that has its own memory, one for each column. Valid as long as the row.
    package var cells: UnsafeBufferPointer<RowCell> { memory.cells }

    /// What an object is named by.
    package func name(of object: NodeHandle) -> RowObjectName { memory.name(of: object) }
  }
}
