import AtomicStoreSPI
import FoundationEssentials

/// What the cells of objects' rows hold: the same in a store that is written and in one that is changed.
struct RowValues {
  /// A column in which a row has a cell.
  struct Cell {
    let column: DatabaseLayout.Column
    /// The table's root entity.
    let table: Int
    /// The position of the column in the table.
    let position: Int
  }

  let nodes: NodeTable
  let layout: DatabaseLayout
  let path: String
  private let external: ExternalDataWriter
  /// The key of each object: its reference, or where that is a text a number that no other has.
  let keys: [[Int64]]

  init(
    _ nodes: NodeTable, layout: DatabaseLayout, path: String, external: ExternalDataWriter, lastReference: Int64
  ) throws(PersistentStoreError) {
    self.nodes = nodes
    self.layout = layout
    self.path = path
    self.external = external
    keys = try Self.keys(of: nodes, after: lastReference, path)
  }

  private static func keys(of nodes: NodeTable, after last: Int64, _ path: String) throws(PersistentStoreError)
    -> [[Int64]]
  {
    var next = last
    var result: [[Int64]] = []
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      var keys: [Int64] = []
      keys.reserveCapacity(reader.count)
      for row in 0..<reader.count {
        guard let number = reader.integerReference(row: row) else {
          next += 1
          keys.append(next)
          continue
        }
        guard number > 0 else {
          throw PersistentStoreError(
            .unsupportedByFormat, "a key of a Core Data store is a positive number, not \(number)",
            at: StoreLocation(file: path, entity: entity.name, reference: String(number)))
        }
        keys.append(number)
      }
      result.append(keys)
    }
    return result
  }

  func key(_ node: NodeHandle) -> Int64 { keys[node.entity][node.row] }

  /// Binds the value of a cell, unless it is null.
  ///
  /// - Parameter listed: For cells about the to-many that has the object: their value.
  func bind(
    _ cell: Cell, of node: NodeHandle, _ reader: EntityReader, listed: Int64?, to insertion: Insertion,
    parameter: Int32
  ) throws(PersistentStoreError) {
    let slot = cell.column.slot
    switch cell.column.role {
    case .attribute(let type)
    where type.valueKind == .data
      && nodes.model.entity(at: node.entity).slots[slot].attribute?.allowsExternalBinaryDataStorage == true:
      try bindExternal(cell, reader, node, to: insertion, parameter)
    case .attribute(let type): try bind(type, slot, reader, node, to: insertion, parameter)
    case .toOne:
      if let destination = reader.toOne(slot: slot, row: node.row) {
        insertion.bind(parameter, integer: key(destination))
      }
    case .toOneEntity:
      if let destination = reader.toOne(slot: slot, row: node.row) {
        insertion.bind(parameter, integer: layout.numbers[destination.entity] ?? 0)
      }
    case .orderKey, .owner, .ownerOrderKey:
      if let listed { insertion.bind(parameter, integer: listed) }
    }
  }

  private func bind(
    _ type: AttributeType, _ slot: Int, _ reader: EntityReader, _ node: NodeHandle, to insertion: Insertion,
    _ parameter: Int32
  ) throws(PersistentStoreError) {
    let row = node.row
    guard !reader.isNull(slot: slot, row: row) else { return }
    func refuse(_ what: String) -> PersistentStoreError {
      PersistentStoreError(
        .unsupportedByFormat, "a column of a Core Data store does not keep \(what)",
        at: StoreLocation(
          file: path, entity: nodes.model.entity(at: node.entity).name,
          reference: nodes.reference(of: node).description,
          property: nodes.model.entity(at: node.entity).slots[slot].name))
    }
    func plain(_ number: Double) throws(PersistentStoreError) -> Double {
      guard number.isFinite, number != 0 || number.sign == .plus else { throw refuse("\(number)") }
      return number
    }
    switch type.valueKind {
    case .integer: insertion.bind(parameter, integer: reader.integer(slot: slot, row: row))
    case .boolean: insertion.bind(parameter, integer: reader.boolean(slot: slot, row: row) ? 1 : 0)
    case .float: insertion.bind(parameter, real: try plain(Double(reader.float(slot: slot, row: row))))
    case .double, .date: insertion.bind(parameter, real: try plain(reader.double(slot: slot, row: row)))
    case .string, .uri: insertion.bind(parameter, text: reader.bytes(slot: slot, row: row))
    case .decimal:
      guard let number = DecimalNumber(utf8: reader.bytes(slot: slot, row: row)) else { return }
      let column = ColumnNumber(number)
      guard column.text == number.description else { throw refuse("all digits of \(number)") }
      switch column {
      case .integer(let value): insertion.bind(parameter, integer: value)
      case .real(let value): insertion.bind(parameter, real: value)
      case .notANumber: insertion.bind(parameter, text: "NaN")
      }
    case .uuid: withUnsafeBytes(of: reader.uuid(slot: slot, row: row).uuid) { insertion.bind(parameter, bytes: $0) }
    case .data:
      reader.bytes(slot: slot, row: row).withUnsafeBytes { insertion.bind(parameter, bytes: $0) }
    case .undefined, .toOne, .toMany: throw refuse("values of undefined type")
    }
  }

  private func bindExternal(
    _ cell: Cell, _ reader: EntityReader, _ node: NodeHandle, to insertion: Insertion, _ parameter: Int32
  ) throws(PersistentStoreError) {
    guard !reader.isNull(slot: cell.column.slot, row: node.row) else { return }
    let bytes = try reader.bytes(slot: cell.column.slot, row: node.row).withUnsafeBytes {
      bytes throws(PersistentStoreError) in
      try external.cell(bytes, table: layout.numbers[cell.table] ?? 0, column: cell.position, key: key(node))
    }
    bytes.withUnsafeBytes { insertion.bind(parameter, bytes: $0) }
  }

  // MARK: Members of to-manys

  /// By the member of a to-many that is kept in the members' rows, what its row says about it.
  ///
  /// - Throws: `.unsupportedByFormat` for an object that two objects have: its row has room for one.
  func members(
    _ declarer: Entity, _ slot: Int, _ value: (NodeHandle, Int) -> Int64
  ) throws(PersistentStoreError) -> [NodeHandle: Int64] {
    var result: [NodeHandle: Int64] = [:]
    for entity in declarer.hierarchy where !entity.isAbstract {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let list = reader.toMany(slot: slot, row: row)
        for place in 0..<list.count {
          guard result.updateValue(value(NodeHandle(entity: entity.index, row: row), place), forKey: list[place]) == nil
          else {
            throw PersistentStoreError(
              .unsupportedByFormat,
              "\(nodes.objectReference(of: list[place])) is in two such lists; without an inverse a Core Data store keeps one",
              at: StoreLocation(
                file: path, entity: entity.name, reference: reader.reference(row: row).description,
                property: entity.slots[slot].name))
          }
        }
      }
    }
    return result
  }
}

/// How a decimal number is kept in a column that holds integers and doubles.
private enum ColumnNumber {
  case integer(Int64)
  case real(Double)
  case notANumber

  init(_ number: DecimalNumber) {
    if number.isNaN {
      self = .notANumber
    } else if let value = Int64(number.description) {
      self = .integer(value)
    } else {
      self = .real(number.doubleValue)
    }
  }

  /// What is read from the column. A whole double that fits comes back as an integer.
  var text: String? {
    switch self {
    case .integer(let value): String(value)
    case .real(let value): DecimalNumber(Int64(exactly: value).map { String($0) } ?? value.description)?.description
    case .notANumber: "NaN"
    }
  }
}
