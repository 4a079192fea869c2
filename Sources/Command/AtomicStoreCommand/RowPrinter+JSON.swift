import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs

/// Rows as JSON objects, those of columns without a value or a text for each cell.
extension RowPrinter {
  /// Prints an array of objects.
  func json(to writer: ByteWriter) throws {
    writer.append(byte: UInt8(ascii: "["))
    let count = try objects(to: writer, indent: 1)
    JSONValue.end(count == 0, to: writer, indent: 0)
    writer.append("]\n")
  }

  /// Prints each object on a line.
  func jsonLines(to writer: ByteWriter) throws { _ = try objects(to: writer, indent: nil) }

  /// The rows as JSON objects.
  func jsonRows() throws -> [JSONValue] {
    var found: [JSONValue] = []
    try forEachRow { found.append(json($0)) }
    return found
  }

  private func json(_ row: [FetchedRow.Value]) -> JSONValue {
    .object(zip(names, row).map { ($0, json($1, isDeclared: !undeclared.contains($0))) })
  }

  private func json(_ value: FetchedRow.Value, isDeclared: Bool) -> JSONValue {
    switch value {
    case .value(let value): value.json(isDeclared: isDeclared, quotesDecimals: quotesDecimals)
    case .object(let id):
      .object([("entity", .string(id.entityName)), ("reference", id.reference?.json ?? .null)])
    case .list(let list): .array(list.map { json($0, isDeclared: isDeclared) })
    }
  }

  // MARK: Columns

  /// - Parameter indent: The depth of an object in an array; nil for objects on lines.
  /// - Returns: The number of objects.
  private func objects(to writer: ByteWriter, indent: Int?) throws -> Int {
    var count = 0
    func begin() {
      if let indent { JSONValue.begin(count, to: writer, indent: indent - 1) }
      count += 1
    }
    func end() throws {
      if indent == nil { writer.append(byte: UInt8(ascii: "\n")) }
      try writer.flushIfNeeded()
    }
    let keys = JSONKeys(names, indent)
    let isDeclared = names.map { !undeclared.contains($0) }
    try forEachPart { part in
      switch part {
      case .computed(let rows):
        for row in rows {
          begin()
          json(row.values).write(to: writer, indent: indent)
          try end()
        }
      case .columns(let rows):
        try rows.forEachRow { row in
          begin()
          object(row, keys, isDeclared, to: writer)
          try end()
        }
      }
    }
    return count
  }

  private func object(_ row: borrowing ColumnRows.Row, _ keys: JSONKeys, _ isDeclared: [Bool], to writer: ByteWriter) {
    writer.append(byte: UInt8(ascii: "{"))
    let cells = row.cells
    for column in cells.indices {
      writer.append(keys.members[column])
      if isDeclared[column], append(cells[column], row, keys, to: writer) { continue }
      json(row[column], isDeclared: isDeclared[column]).write(to: writer, indent: keys.indent.map { $0 + 1 })
    }
    JSONValue.end(cells.isEmpty, to: writer, indent: keys.indent)
    writer.append(byte: UInt8(ascii: "}"))
  }

  /// Returns false, with nothing appended, for a cell that is rare enough to become a value first.
  private func append(
    _ cell: RowCell, _ row: borrowing ColumnRows.Row, _ keys: JSONKeys, to writer: ByteWriter
  ) -> Bool {
    switch cell {
    case .null: writer.append("null")
    case .integer(let number): writer.append(integer: number)
    case .boolean(let flag): writer.append(flag ? "true" as StaticString : "false")
    case .double(let number) where number.isFinite: writer.append(double: number)
    case .date(let seconds):
      writer.append(byte: UInt8(ascii: "\""))
      writer.append(dateSeconds: seconds)
      writer.append(byte: UInt8(ascii: "\""))
    case .text(let bytes): JSONValue.quote(bytes, to: writer)
    // Not-a-number begins with a letter.
    case .decimal(let bytes) where !quotesDecimals && bytes.first ?? .max <= UInt8(ascii: "9"):
      writer.append(UnsafeRawBufferPointer(bytes))
    case .object(let object): keys.object.append(row.name(of: object), to: writer)
    case .objects(let list):
      writer.append(byte: UInt8(ascii: "["))
      for (index, object) in list.enumerated() {
        JSONValue.begin(index, to: writer, indent: keys.listIndent)
        keys.element.append(row.name(of: object), to: writer)
      }
      JSONValue.end(list.isEmpty, to: writer, indent: keys.listIndent)
      writer.append(byte: UInt8(ascii: "]"))
    case .double, .decimal, .data, .other: return false
    }
    return true
  }
}

/// What is before the values of the members of an object, at one depth.
private struct JSONKeys {
  let indent: Int?
  let members: [[UInt8]]
  /// The depth of the elements of a list.
  var listIndent: Int? { indent.map { $0 + 1 } }
  /// Of an object that is a value, and of one in a list.
  let object: JSONObjectKeys
  let element: JSONObjectKeys

  init(_ names: [String], _ indent: Int?) {
    self.indent = indent
    members = Self.members(names, indent)
    object = JSONObjectKeys(indent.map { $0 + 1 })
    element = JSONObjectKeys(indent.map { $0 + 2 })
  }

  static func members(_ names: [String], _ indent: Int?) -> [[UInt8]] {
    names.enumerated().map { index, name in
      let key = ByteWriter()
      JSONValue.begin(index, to: key, indent: indent)
      JSONValue.quote(name, to: key)
      key.append(indent == nil ? ":" as StaticString : ": ")
      return key.takeBytes()
    }
  }
}

/// Writes the names of objects as `ObjectReference.json` has them.
private struct JSONObjectKeys {
  private let indent: Int?
  private let members: [[UInt8]]

  init(_ indent: Int?) {
    self.indent = indent
    members = JSONKeys.members(["entity", "reference"], indent)
  }

  func append(_ name: RowObjectName, to writer: ByteWriter) {
    writer.append(byte: UInt8(ascii: "{"))
    writer.append(members[0])
    JSONValue.quote(name.entity, to: writer)
    writer.append(members[1])
    if let text = name.text { JSONValue.quote(text, to: writer) } else { writer.append(integer: name.number) }
    JSONValue.end(false, to: writer, indent: indent)
    writer.append(byte: UInt8(ascii: "}"))
  }
}
