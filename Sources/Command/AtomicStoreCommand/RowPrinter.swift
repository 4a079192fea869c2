import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs

/// Prints fetched rows one by one, so that only one row at a time, or one part of a database's, is in memory.
struct RowPrinter {
  /// Calls a function with all rows, part after part.
  typealias Rows = (_ body: (FetchedRows) throws -> Void) throws -> Void

  let names: [String]
  let forEachPart: Rows
  /// Whether JSON has decimals as strings, for readers whose numbers are doubles.
  let quotesDecimals: Bool
  /// Columns whose values the model does not give a type: in JSON their form says it.
  let undeclared: Set<String>

  init(_ names: [String], _ rows: FetchedRows, quotesDecimals: Bool = false, undeclared: Set<String> = []) {
    self.init(names, quotesDecimals: quotesDecimals, undeclared: undeclared) { try $0(rows) }
  }

  init(
    _ names: [String], quotesDecimals: Bool = false, undeclared: Set<String> = [], forEachPart: @escaping Rows
  ) {
    self.names = names
    self.forEachPart = forEachPart
    self.quotesDecimals = quotesDecimals
    self.undeclared = undeclared
  }

  func forEachRow(_ body: ([FetchedRow.Value]) throws -> Void) throws {
    try forEachPart { try $0.forEachRow(body) }
  }

  // MARK: CSV

  func csv(to writer: ByteWriter) throws {
    for (column, name) in names.enumerated() {
      if column > 0 { writer.append(byte: UInt8(ascii: ",")) }
      Self.cell(name, to: writer)
    }
    writer.append(byte: UInt8(ascii: "\n"))
    // Readers skip blank lines.
    let null: StaticString = names.count == 1 ? "\"\"" : ""
    try forEachPart { part in
      switch part {
      case .columns(let rows): try rows.forEachRow { try Self.csv($0, null, to: writer) }
      case .computed(let rows):
        for row in rows {
          for (column, value) in row.values.enumerated() {
            if column > 0 { writer.append(byte: UInt8(ascii: ",")) }
            value.isNull ? writer.append(null) : Self.cell(value, to: writer)
          }
          writer.append(byte: UInt8(ascii: "\n"))
          try writer.flushIfNeeded()
        }
      }
    }
  }

  private static func csv(_ row: borrowing ColumnRows.Row, _ null: StaticString, to writer: ByteWriter) throws {
    let cells = row.cells
    for column in cells.indices {
      if column > 0 { writer.append(byte: UInt8(ascii: ",")) }
      switch cells[column] {
      case .null: writer.append(null)
      case .integer(let number): writer.append(integer: number)
      case .boolean(let flag): writer.append(flag ? "true" as StaticString : "false")
      // Of numbers that are not, typed text has all bits.
      case .double(let number) where !number.isNaN: writer.append(double: number)
      case .date(let seconds): writer.append(dateSeconds: seconds)
      case .text(let bytes): cell(bytes, to: writer)
      case .decimal(let bytes): cell(bytes, to: writer)
      case .object(let object):
        let name = row.name(of: object)
        guard isPlain(name) else {
          cell(row[column], to: writer)
          continue
        }
        append(name, to: writer)
      case .objects(let list): if !append(list, row, to: writer) { cell(row[column], to: writer) }
      case .data, .double, .other: cell(row[column], to: writer)
      }
    }
    writer.append(byte: UInt8(ascii: "\n"))
    try writer.flushIfNeeded()
  }

  /// Appends a list of objects as a cell with a JSON array. False, with nothing appended, if a name has characters that
  /// JSON or CSV escapes.
  private static func append(
    _ list: UnsafeBufferPointer<NodeHandle>, _ row: borrowing ColumnRows.Row, to writer: ByteWriter
  ) -> Bool {
    for object in list where !isPlain(row.name(of: object)) { return false }
    guard !list.isEmpty else {
      writer.append("[]")
      return true
    }
    var isFirst = true
    for object in list {
      writer.append(isFirst ? "\"[\"\"" as StaticString : "\"\",\"\"")
      isFirst = false
      append(row.name(of: object), to: writer)
    }
    writer.append("\"\"]\"")
    return true
  }

  private static func append(_ name: RowObjectName, to writer: ByteWriter) {
    writer.append(UnsafeRawBufferPointer(name.entity))
    writer.append(byte: UInt8(ascii: "/"))
    if let text = name.text { writer.append(UnsafeRawBufferPointer(text)) } else { writer.append(integer: name.number) }
  }

  /// Whether an object's name is the same in CSV and in JSON.
  private static func isPlain(_ name: RowObjectName) -> Bool {
    isPlain(name.entity) && (name.text.map { isPlain($0) } ?? true)
  }

  private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    for byte in bytes
    where byte <= UInt8(ascii: " ") || byte > UInt8(ascii: "~") || byte == UInt8(ascii: "\"")
      || byte == UInt8(ascii: ",")
      || byte == UInt8(ascii: "\\")
    {
      return false
    }
    return true
  }

  static func cell(_ value: FetchedRow.Value, to writer: ByteWriter) {
    switch value {
    case .value(.null): break
    case .value(.integer(let number)): writer.append(integer: number)
    case .value(.boolean(let flag)): writer.append(flag ? "true" as StaticString : "false")
    case .value(.uuid(let uuid)): writer.append(uuid: uuid)
    case .value(.date(let date)): writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    case .value(.string(let text)): cell(text, to: writer)
    case .list(let list): cell(array(list).line, to: writer)
    default: cell(text(value), to: writer)
    }
  }

  private static func cell(_ text: String, to writer: ByteWriter) {
    var text = text
    text.withUTF8 { cell($0, to: writer) }
  }

  /// A string as a cell: an empty one in quotes, since an empty cell is null.
  private static func cell(_ bytes: UnsafeBufferPointer<UInt8>, to writer: ByteWriter) {
    var isSpecial = bytes.isEmpty || bytes.first == UInt8(ascii: " ") || bytes.last == UInt8(ascii: " ")
    for byte in bytes where byte <= UInt8(ascii: ",") {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")
        || byte == UInt8(ascii: "\r")
      {
        isSpecial = true
      }
    }
    guard isSpecial else { return writer.append(UnsafeRawBufferPointer(bytes)) }
    writer.append(byte: UInt8(ascii: "\""))
    for byte in bytes {
      if byte == UInt8(ascii: "\"") { writer.append(byte: UInt8(ascii: "\"")) }
      writer.append(byte: byte)
    }
    writer.append(byte: UInt8(ascii: "\""))
  }

  // MARK: Tables

  /// The minimum width of a column: less of a value is not useful.
  private static let least = 8

  /// Prints columns as wide as necessary, together not wider than a terminal; control characters are shown as spaces.
  ///
  /// The rows are asked for twice, rather than converting all of them to text at once.
  ///
  /// - Parameter terminal: The width of the terminal. Columns that do not fit are omitted, which is reported; nil if it
  ///   is not a terminal: then everything is printed.
  func table(to writer: ByteWriter, terminal: Int?) throws {
    guard !names.isEmpty else { return }
    let titles = names.map(Self.shown)
    var widths = titles.map(Self.width)
    var kinds = [Numerals](repeating: .none, count: names.count)
    try forEachRow { row in
      for (column, value) in row.enumerated() {
        widths[column] = max(widths[column], Self.width(Self.shown(value)))
        kinds[column].add(value)
      }
    }
    if let terminal { Self.fit(&widths, to: terminal) }
    if widths.count < names.count {
      let rest = names[widths.count...].joined(separator: ", ")
      Diagnostics.say(
        "atomicstore: not enough space for \(rest); choose columns with --columns, or print all with --format csv")
    }
    let alignment = widths.indices.map { kinds[$0] == .only }
    line(titles.prefix(widths.count), widths, alignment, to: writer, in: Diagnostics.usesColor ? .bold : nil)
    line(widths.map { String(repeating: "-", count: $0) }[...], widths, alignment, to: writer)
    try forEachRow { row in
      line(row.prefix(widths.count).map(Self.shown)[...], widths, alignment, to: writer)
      try writer.flushIfNeeded()
    }
  }

  /// Prints a line for each value, and an empty line between objects. Values are not cut.
  func vertical(to writer: ByteWriter) throws {
    let titles = names.map(Self.shown)
    let width = titles.map(Self.width).max() ?? 0
    var isFirst = true
    try forEachRow { row in
      if !isFirst { writer.append(byte: UInt8(ascii: "\n")) }
      isFirst = false
      for (title, value) in zip(titles, row) {
        writer.append(repeating: UInt8(ascii: " "), count: width - Self.width(title))
        writer.append(Diagnostics.usesColor ? Diagnostics.Color.bold.around(title) : title)
        let text = Self.shown(value)
        writer.append(text.isEmpty ? ":\n" : ": \(text)\n")
      }
      try writer.flushIfNeeded()
    }
  }

  /// Selects as many columns as fit at their minimum width, and shrinks the widest.
  private static func fit(_ widths: inout [Int], to terminal: Int) {
    var used = 0
    var count = 0
    for width in widths {
      let needed = min(width, least) + (count > 0 ? 2 : 0)
      guard count == 0 || used + needed <= terminal else { break }
      used += needed
      count += 1
    }
    widths.removeLast(widths.count - count)
    let room = terminal - 2 * (count - 1)
    guard count > 1 else {
      widths[0] = min(widths[0], max(1, room))
      return
    }
    while widths.reduce(0, +) > room, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }) {
      widths[widest] -= 1
    }
  }

  /// Whether the values of a column are numbers, apart from null. Their last digits are then below each other.
  private enum Numerals {
    case none, only, others

    mutating func add(_ value: FetchedRow.Value) {
      switch value {
      case .value(.null): break
      case .value(.integer), .value(.double), .value(.float), .value(.decimal): if self == .none { self = .only }
      default: self = .others
      }
    }
  }

  /// - Parameter isRight: For each column, whether its cells are at the right.
  private func line(
    _ cells: ArraySlice<String>, _ widths: [Int], _ isRight: [Bool], to writer: ByteWriter,
    in color: Diagnostics.Color? = nil
  ) {
    // Spaces are written only before the next text, so that no line ends with spaces.
    var missing = 0
    for (column, (cell, room)) in zip(cells, widths).enumerated() {
      var width = Self.width(cell)
      var shown = cell
      if width > room {
        while Self.width(shown) > room - 1 { shown.removeLast() }
        shown += "…"
        width = Self.width(shown)
      }
      let space = max(0, room - width)
      if !shown.isEmpty {
        writer.append(repeating: UInt8(ascii: " "), count: missing + (isRight[column] ? space : 0))
        missing = isRight[column] ? -space : 0
        writer.append(color?.around(shown) ?? shown)
      }
      missing += space + 2
    }
    writer.append(byte: UInt8(ascii: "\n"))
  }

  /// The number of terminal columns of a text: East Asian characters and emoji take two, combining characters none.
  static func width(_ text: String) -> Int {
    if text.utf8.allSatisfy({ $0 >= UInt8(ascii: " ") && $0 < 0x7F }) { return text.utf8.count }
    return text.reduce(0) { width, character in
      guard let first = character.unicodeScalars.first else { return width }
      switch first.value {
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6,
        0x1F300...0x1FAFF, 0x20000...0x3FFFD:
        return width + 2
      default:
        return width
          + (first.properties.isDefaultIgnorableCodePoint || first.properties.generalCategory == .nonspacingMark
            ? 0 : 1)
      }
    }
  }

  private static func shown(_ value: FetchedRow.Value) -> String { shown(text(value)) }

  static func shown(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= UInt8(ascii: " ") && $0 < 0x7F }) { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isBreak = scalar == "\n" || scalar == "\t" || scalar == "\u{2028}" || scalar == "\u{2029}"
      result.append(isBreak || TerminalText.isUnsafe(scalar) ? " " : scalar)
    }
    return String(result)
  }

  // MARK: Texts

  private static func text(_ value: FetchedRow.Value) -> String {
    switch value {
    case .value(.null): return ""
    case .value(.string(let text)), .value(.uri(let text)): return text
    case .value(.integer(let number)): return String(number)
    case .value(.data(let data)): return data.base64EncodedString()
    case .value(.date(let date)): return Self.date(date)
    case .value(let value):
      // The type precedes it.
      let text = value.typedText
      return text.firstIndex(of: ":").map { String(text[text.index(after: $0)...]) } ?? text
    case .object(let id): return "\(id.entityName)/\(id.reference.map(\.description) ?? "new")"
    case .list(let list): return list.map(text).joined(separator: ", ")
    }
  }

  /// A value as JSON, in one line.
  static func jsonText(of value: FetchedRow.Value) -> String {
    if case .list(let list) = value { return array(list).line }
    return array([value]).line
  }

  /// A list as a cell has it: a JSON array of what single values are as cells.
  private static func array(_ list: [FetchedRow.Value]) -> JSONValue {
    .array(
      list.map { value in
        switch value {
        case .value(.null): .null
        case .value(.boolean(let flag)): .boolean(flag)
        case .value(.integer(let number)): .integer(Int(number))
        case .value(.double(let number)) where number.isFinite: .number(number)
        case .value(.float(let number)) where number.isFinite: .exactNumber(number.description)
        case .value(.decimal(let number)) where !number.isNaN: .exactNumber(number.description)
        case .list(let list): array(list)
        default: .string(text(value))
        }
      })
  }

  /// As CSV stores write dates: always exact.
  private static func date(_ date: Date) -> String {
    let writer = ByteWriter()
    writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }
}
