import AtomicStoreSPI
import Glibc

/// Rows of a table that are in memory at a time, in the binary form of COPY.
final class SQLCopyPart {
  let writer: SQLCopyWriter
  /// Where each row ends.
  private(set) var ends: [Int] = []

  /// How many rows a part has, and about how many bytes.
  private static let rows = 5000
  private static let bytes = 4 << 20

  init(_ types: [SQLType]) { writer = SQLCopyWriter(types, hasHeader: false) }

  var count: Int { ends.count }
  var isFull: Bool { count >= Self.rows || writer.count >= Self.bytes }

  func begin() { writer.begin() }
  func end() { ends.append(writer.count) }

  func removeAll() {
    ends.removeAll(keepingCapacity: true)
    writer.removeAll()
  }

  /// Whether the rows of two parts are the same to the bit.
  func isSame(as other: SQLCopyPart) -> Bool {
    let (one, two) = (all, other.all)
    guard one.count == two.count, let start = one.baseAddress, let otherStart = two.baseAddress else {
      return one.isEmpty && two.isEmpty
    }
    return memcmp(start, otherStart, one.count) == 0
  }

  /// The bytes of all rows. Valid until one is added.
  var all: UnsafeRawBufferPointer { writer.bytes }

  /// The bytes of a row. Valid until one is added.
  func bytes(of row: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: writer.bytes[(row == 0 ? 0 : ends[row - 1])..<ends[row]])
  }
}

/// Rows of a part, for databases that take them one by one.
struct SQLPartRows {
  let part: SQLCopyPart
  let types: [SQLType]
  private let reader: SQLCopyReader

  init(_ part: SQLCopyPart, _ types: [SQLType]) {
    self.part = part
    self.types = types
    reader = SQLCopyReader(types)
  }

  func write(_ row: Int, _ writer: any SQLRowWriter) throws(PersistentStoreError) {
    let row = try reader.row(in: part.bytes(of: row))
    for (at, type) in types.enumerated() {
      guard !row.isNull(at) else {
        writer.null()
        continue
      }
      switch type {
      case .integer16, .integer32, .integer64: writer.integer(row.integer(at))
      case .boolean: writer.boolean(row.boolean(at))
      case .double: writer.double(row.double(at))
      case .float: writer.float(row.float(at))
      case .uuid: writer.uuid(row.uuid(at))
      case .text: try row.withText(at) { bytes throws(PersistentStoreError) in try writer.text(bytes) }
      case .blob: try row.withBytes(at) { bytes throws(PersistentStoreError) in try writer.blob(bytes) }
      }
    }
  }
}

extension SQLDatabase {
  /// Adds rows that are in the form of a stream already.
  func add(
    _ part: SQLCopyPart, to table: String, columns: [(name: String, type: SQLType)]
  ) throws(PersistentStoreError) {
    let isCopied = try copyIn(into: table, columns: columns.map(\.name)) { send throws(PersistentStoreError) in
      let frame = SQLCopyWriter([], hasHeader: true)
      try frame.flush(send)
      try send(part.all)
      frame.end()
      try frame.flush(send)
    }
    guard !isCopied else { return }
    let rows = SQLPartRows(part, columns.map(\.type))
    try insert(into: table, columns: columns, count: part.count) { row, writer throws(PersistentStoreError) in
      try rows.write(row, writer)
    }
  }
}
