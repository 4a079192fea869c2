import AtomicStoreSPI
import FoundationEssentials

/// Rows in the binary form of PostgreSQL's COPY.
final class SQLCopyWriter: SQLRowWriter {
  // Behind a pointer: each access to a variable of a class is checked for exclusivity.
  private struct State {
    var start: UnsafeMutableRawPointer
    var capacity: Int
    var count = 0
    var column = 0
  }
  private let state: UnsafeMutablePointer<State>
  private let types: UnsafeMutableBufferPointer<SQLType>

  /// - Parameter hasHeader: Whether the stream begins with its header: false for rows alone.
  init(_ types: [SQLType], hasHeader: Bool = true) {
    self.types = .allocate(capacity: types.count)
    _ = self.types.initialize(from: types)
    state = .allocate(capacity: 1)
    let capacity = 1 << 19
    state.initialize(to: State(start: .allocate(byteCount: capacity, alignment: 16), capacity: capacity))
    if hasHeader { writeHeader() }
  }

  func writeHeader() {
    for byte in SQLCopyForm.signature { append(byte) }
    append(0 as UInt64)
  }

  deinit {
    state.pointee.start.deallocate()
    state.deallocate()
    types.deallocate()
  }

  /// How many bytes wait to be sent.
  var count: Int { state.pointee.count }

  /// What was written and not sent. Valid until something is written.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: state.pointee.start, count: state.pointee.count) }

  func removeAll() { state.pointee.count = 0 }

  /// Sends what was written.
  func flush(
    _ send: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let count = state.pointee.count
    state.pointee.count = 0
    if count > 0 { try send(UnsafeRawBufferPointer(start: state.pointee.start, count: count)) }
  }

  func begin() {
    append(Int16(truncatingIfNeeded: types.count))
    state.pointee.column = 0
  }
  func end() { append(Int16(-1)) }

  /// Room for some more bytes.
  @inline(__always) private func room(_ count: Int) -> UnsafeMutableRawPointer {
    if state.pointee.capacity - state.pointee.count < count { grow(count) }
    let room = state.pointee.start + state.pointee.count
    state.pointee.count += count
    return room
  }
  private func grow(_ count: Int) {
    let capacity = max(state.pointee.capacity * 2, state.pointee.count + count)
    let bigger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    bigger.copyMemory(from: state.pointee.start, byteCount: state.pointee.count)
    state.pointee.start.deallocate()
    state.pointee.start = bigger
    state.pointee.capacity = capacity
  }
  @inline(__always) private func append<Number: FixedWidthInteger>(_ number: Number) {
    room(MemoryLayout<Number>.size).storeBytes(of: number.bigEndian, as: Number.self)
  }
  /// A value with its length.
  @inline(__always) private func value<Number: FixedWidthInteger>(_ number: Number) {
    let size = MemoryLayout<Number>.size
    let room = room(4 + size)
    room.storeBytes(of: Int32(truncatingIfNeeded: size).bigEndian, as: Int32.self)
    room.storeBytes(of: number.bigEndian, toByteOffset: 4, as: Number.self)
    state.pointee.column += 1
  }

  @inline(__always) func null() {
    append(Int32(-1))
    state.pointee.column += 1
  }
  @inline(__always) func integer(_ number: Int64) {
    switch types[state.pointee.column] {
    case .integer16: value(Int16(truncatingIfNeeded: number))
    case .integer32: value(Int32(truncatingIfNeeded: number))
    default: value(number)
    }
  }
  @inline(__always) func boolean(_ flag: Bool) { value(flag ? 1 as UInt8 : 0) }
  @inline(__always) func double(_ number: Double) { value(number.bitPattern) }
  @inline(__always) func float(_ number: Float) { value(number.bitPattern) }
  func uuid(_ uuid: UUID) {
    withUnsafeBytes(of: uuid.uuid) { bytes in
      let room = room(4 + bytes.count)
      room.storeBytes(of: Int32(truncatingIfNeeded: bytes.count).bigEndian, as: Int32.self)
      if let base = bytes.baseAddress { (room + 4).copyMemory(from: base, byteCount: bytes.count) }
    }
    state.pointee.column += 1
  }
  @inline(__always) func text(_ utf8: Span<UInt8>) throws(PersistentStoreError) {
    guard let escaped = utf8.withUnsafeBufferPointer({ SQLEscapes.escaped($0) }) else { return try blob(utf8) }
    try blob(escaped.span)
  }
  @inline(__always) func blob(_ bytes: Span<UInt8>) throws(PersistentStoreError) {
    guard bytes.count < 1 << 30 else {
      throw PersistentStoreError(.limitExceeded, "the value has more than 1 GiB, the most that PostgreSQL keeps")
    }
    bytes.withUnsafeBytes { bytes in
      let room = room(4 + bytes.count)
      room.storeBytes(of: Int32(truncatingIfNeeded: bytes.count).bigEndian, as: Int32.self)
      if let base = bytes.baseAddress { (room + 4).copyMemory(from: base, byteCount: bytes.count) }
    }
    state.pointee.column += 1
  }
}

/// Sets the columns of rows one after another.
protocol SQLRowSource {
  /// Sets the columns of a row, in the order of the table.
  func write<Writer: SQLRowWriter>(_ row: Int, _ writer: Writer) throws(PersistentStoreError)
}

extension SQLDatabase {
  /// Adds rows to a table: all in one stream where the database takes that, or one by one.
  func add(
    _ count: Int, to table: String, columns: [(name: String, type: SQLType)], _ source: some SQLRowSource
  ) throws(PersistentStoreError) {
    let isCopied = try copyIn(into: table, columns: columns.map(\.name)) { send throws(PersistentStoreError) in
      let writer = SQLCopyWriter(columns.map(\.type))
      for row in 0..<count {
        writer.begin()
        try source.write(row, writer)
        if writer.count > 1 << 18 { try writer.flush(send) }
      }
      writer.end()
      try writer.flush(send)
    }
    guard !isCopied else { return }
    try insert(into: table, columns: columns, count: count) { row, writer throws(PersistentStoreError) in
      try source.write(row, writer)
    }
  }

  /// Reads a query whose result may be long: in one stream where the database gives that.
  ///
  /// - Parameter types: The types of the columns, which those of the result must be.
  func read(
    _ sql: String, _ types: [SQLType], copied: (SQLCopyRow) throws(PersistentStoreError) -> Void,
    queried: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let reader = SQLCopyReader(types)
    let isCopied = try copyOut(sql, columns: types) { part throws(PersistentStoreError) in
      try reader.read(part, copied)
    }
    if isCopied { try reader.end() } else { try stream(sql, queried) }
  }
}
