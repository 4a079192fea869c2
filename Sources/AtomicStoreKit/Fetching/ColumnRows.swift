import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Rows of a fetch that are read from the columns of stores one by one, when they are asked for, without objects.
package struct ColumnRows {
  /// The rows of one store.
  private struct Part {
    let identifier: UUID
    let plan: ModelPlan
    let version: NodeVersion
    var nodes: ArraySlice<NodeHandle>
    let columns: [RowColumn]

    var row: Row { Row(identifier: identifier, plan: plan, version: version, columns: columns) }
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
    for part in parts {
      var row = part.row
      for node in part.nodes {
        row.node = node
        try body(row)
      }
    }
  }

  /// All rows.
  var all: [FetchedRow] {
    var rows: [FetchedRow] = []
    rows.reserveCapacity(count)
    forEachRow { rows.append(FetchedRow(columns: names, values: $0.values)) }
    return rows
  }

  /// The rows without those that are equal to an earlier one, from the offset on, as many as the limit; 0 for all.
  func distinct(offset: Int, limit: Int) -> ColumnRows {
    var seen = SeenRows()
    var skipped = 0
    var taken = 0
    var result = self
    for index in parts.indices {
      var row = parts[index].row
      var kept: [NodeHandle] = []
      for node in parts[index].nodes where limit == 0 || taken < limit {
        row.node = node
        guard seen.insert(row) else { continue }
        if skipped < offset {
          skipped += 1
        } else {
          kept.append(node)
          taken += 1
        }
      }
      result.parts[index].nodes = kept[...]
    }
    return result
  }

  /// A row of the result.
  package struct Row {
    fileprivate let identifier: UUID
    fileprivate let plan: ModelPlan
    fileprivate let version: NodeVersion
    fileprivate let columns: [RowColumn]
    fileprivate var node = NodeHandle(entity: 0, row: 0)

    fileprivate init(identifier: UUID, plan: ModelPlan, version: NodeVersion, columns: [RowColumn]) {
      self.identifier = identifier
      self.plan = plan
      self.version = version
      self.columns = columns
    }

    /// The number of columns.
    package var count: Int { columns.count }

    /// The values, one for each column.
    package var values: [FetchedRow.Value] { columns.indices.map { self[$0] } }

    /// The value in a column.
    package subscript(index: Int) -> FetchedRow.Value {
      let column = columns[index]
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

    /// The value in a column, without making one that has memory of its own.
    package func cell(_ index: Int) -> Cell {
      guard let node = columns[index].node(from: node, version) else { return .null }
      guard case .attribute(let slot, let type) = columns[index].source else { return .value(self[index]) }
      let view = version.column(entity: node.entity, slot: slot)
      switch view.layout {
      case .bytes:
        guard let bytes = view.bytes(node.row) else { return .null }
        switch type {
        case .string, .uri: return .text(bytes)
        case .decimal: return .decimal(bytes)
        default: return .value(self[index])
        }
      case .toOne, .toMany: return .value(self[index])
      default: break
      }
      guard view.isPresent(node.row) else { return .null }
      switch type {
      case .integer16: return .integer(Int64(view.cells.load(fromByteOffset: node.row &* 2, as: Int16.self)))
      case .integer32: return .integer(Int64(view.cells.load(fromByteOffset: node.row &* 4, as: Int32.self)))
      case .integer64: return .integer(view.cells.load(fromByteOffset: node.row &* 8, as: Int64.self))
      case .boolean: return .boolean(view.cells.load(fromByteOffset: node.row, as: UInt8.self) != 0)
      case .date: return .date(view.cells.load(fromByteOffset: node.row &* 8, as: Double.self))
      default: return .value(self[index])
      }
    }

    private func id(_ node: NodeHandle) -> ManagedObjectID {
      ManagedObjectID(
        storeIdentifier: identifier, entityName: plan.entities[node.entity].name, reference: version.reference(of: node)
      )
    }
  }

  /// A value as the column has it. Bytes are valid as long as the row.
  package enum Cell {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// In seconds since 2001-01-01T00:00:00Z.
    case date(Double)
    /// The UTF-8 of a string or URI.
    case text(UnsafeBufferPointer<UInt8>)
    /// The exact text of a decimal number.
    case decimal(UnsafeBufferPointer<UInt8>)
    case value(FetchedRow.Value)
  }
}

/// Which rows there have been. Values are equal as ``/AtomicStoreSPI/StoredValue`` compares them.
private struct SeenRows {
  private var keys: Set<[UInt8]> = []
  /// Rows with values that have no key.
  private var others: Set<[FetchedRow.Value]> = []
  private var key: [UInt8] = []

  /// Returns false for a row that is equal to an earlier one.
  mutating func insert(_ row: ColumnRows.Row) -> Bool {
    key.removeAll(keepingCapacity: true)
    for index in 0..<row.count {
      guard append(row.cell(index)) else { return others.insert(row.values).inserted }
    }
    return keys.insert(key).inserted
  }

  /// Appends bytes that are the same for equal values only. False for values without such bytes.
  private mutating func append(_ cell: ColumnRows.Cell) -> Bool {
    switch cell {
    case .null: key.append(0)
    case .boolean(let flag): key += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let seconds): append(3, seconds.isNaN ? .max : (seconds + 0).bitPattern)
    case .text(let bytes):
      append(4, UInt64(truncatingIfNeeded: bytes.count))
      key.append(contentsOf: bytes)
    case .decimal(let bytes):
      guard let number = DecimalNumber(utf8: Span(_unsafeElements: bytes)) else { return false }
      let text = number.normalized.description
      append(5, UInt64(truncatingIfNeeded: text.utf8.count))
      key.append(contentsOf: text.utf8)
    case .value(.value(.double(let number))): append(6, number.isNaN ? .max : (number + 0).bitPattern)
    case .value(.value(.float(let number))):
      append(7, number.isNaN ? .max : UInt64(truncatingIfNeeded: (number + 0).bitPattern))
    case .value: return false
    }
    return true
  }

  private mutating func append(_ kind: UInt8, _ number: UInt64) {
    key.append(kind)
    withUnsafeBytes(of: number.littleEndian) { key.append(contentsOf: $0) }
  }
}
