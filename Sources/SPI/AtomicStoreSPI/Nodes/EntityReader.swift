public import FoundationEssentials
import Synchronization

/// Typed, fast access to the rows of one entity, for a format's `save`.
///
/// In a snapshot passed to `save`, rows are 0 ..< ``count``, in ascending order of reference, none deleted. Unordered
/// to-many lists are in ascending order of reference too, unless their order is unknown. So writing them in this order
/// makes equal graphs equal bytes. Use only the method for a slot's ``Slot/kind``: the others return zero or an empty
/// value.
public struct EntityReader: Sendable {
  /// The data of the reader, behind one reference: formats keep readers in arrays, and copying all parts of a table
  /// would retain a dozen objects.
  ///
  /// `@unchecked Sendable`: everything is constant, and the memory behind the headers is only read: a column that the
  /// reader's table and another one own is copied before it is written to.
  private final class Content: @unchecked Sendable {
    let table: EntityTable
    let owner: NodeTable
    let count: Int
    /// By slot. Reading a cell through the table's array of columns would retain the array and the column.
    let headers: UnsafeMutableBufferPointer<UnsafeMutablePointer<ColumnHeader>>
    let numbers: UnsafeMutablePointer<ColumnHeader>
    /// String references; nil if there are none.
    let texts: UnsafeMutablePointer<ColumnHeader>?
    init(_ table: EntityTable, _ owner: NodeTable) {
      self.table = table
      self.owner = owner
      count = table.count
      numbers = table.referenceNumbers.header
      texts = table.referenceTexts?.header
      headers = .allocate(capacity: table.columns.count)
      _ = headers.initialize(from: table.columns.lazy.map(\.header))
    }
    deinit { headers.deallocate() }

    /// Columns with a cell for each row, made of sparse ones for formats that want those.
    private let spread = Mutex<[Int: Column]>([:])

    /// The column of a slot with a cell for each row.
    func whole(_ slot: Int) -> UnsafeMutablePointer<ColumnHeader> {
      let header = table.columns[slot].header
      guard header.pointee.sparse != nil else { return header }
      return spread.withLock { known in
        if let column = known[slot] { return column.header }
        let column = Column(copying: table.columns[slot], rows: count)
        column.header.pointee.grow(to: max(count, 1))
        known[slot] = column
        return column.header
      }
    }
  }
  private let content: Content
  /// The index of the entity whose rows these are.
  package let entity: Int

  init(_ table: EntityTable, entity: Int, owner: NodeTable) {
    content = Content(table, owner)
    self.entity = entity
  }

  /// The number of rows, which in a snapshot is the number of nodes.
  public var count: Int { content.count }

  /// Whether the row was deleted; never in a snapshot.
  package func isDeleted(row: Int) -> Bool { content.table.isDeleted(row) }

  @inline(__always) private func header(_ slot: Int, _ row: Int) -> UnsafeMutablePointer<ColumnHeader> {
    precondition(row >= 0 && row < content.count, "row out of range")
    precondition(slot >= 0 && slot < content.headers.count, "slot out of range")
    return content.headers[slot]
  }

  /// Returns the reference of a row's object. Creates a string if the reference is one; see also
  /// ``integerReference(row:)``.
  public func reference(row: Int) -> ReferenceObject {
    precondition(row >= 0 && row < content.count, "row out of range")
    return content.table.reference(row)
  }

  /// The integer reference, or nil if it is a string.
  public func integerReference(row: Int) -> Int64? {
    precondition(row >= 0 && row < content.count, "row out of range")
    if hasText(row) { return nil }
    return content.numbers.pointee.cell(row, as: Int64.self)
  }

  /// The UTF-8 of a row's string reference, or nil if it is an integer.
  @_lifetime(borrow self)
  public func textReference(row: Int) -> Span<UInt8>? {
    precondition(row >= 0 && row < content.count, "row out of range")
    guard let texts = content.texts, hasText(row) else { return nil }
    // As in `bytes(slot:row:)`.
    return _overrideLifetime(Span(_unsafeElements: texts.pointee.bytes(row)), borrowing: self)
  }

  @inline(__always) private func hasText(_ row: Int) -> Bool {
    guard let texts = content.texts else { return false }
    return row < texts.pointee.capacity && texts.pointee.isPresent(row)
  }

  /// Whether any row has a string reference.
  public var hasStringReferences: Bool {
    guard let texts = content.table.referenceTexts?.header.pointee else { return false }
    return (0..<min(content.table.count, texts.capacity)).contains { texts.isPresent($0) }
  }

  /// Whether the slot has no value in that row. An empty to-many is null.
  public func isNull(slot: Int, row: Int) -> Bool { !header(slot, row).pointee.isPresent(row) }

  /// The value of an integer attribute of any width; 0 for null.
  public func integer(slot: Int, row: Int) -> Int64 {
    header(slot, row).pointee.integer(row)
  }
  /// The value of a boolean attribute; false for null.
  public func boolean(slot: Int, row: Int) -> Bool {
    let column = header(slot, row)
    return column.pointee.layout == .boolean && column.pointee.cell(row, as: UInt8.self) != 0
  }
  /// The value of a float attribute; 0 for null.
  public func float(slot: Int, row: Int) -> Float {
    let column = header(slot, row)
    return column.pointee.layout == .float ? Float(bitPattern: column.pointee.cell(row, as: UInt32.self)) : 0
  }
  /// The value of a double, or a date's seconds since 2001-01-01T00:00:00Z.
  public func double(slot: Int, row: Int) -> Double {
    let column = header(slot, row)
    return column.pointee.layout == .double ? Double(bitPattern: column.pointee.cell(row, as: UInt64.self)) : 0
  }
  /// The value of a UUID attribute; all zeros for null.
  public func uuid(slot: Int, row: Int) -> UUID {
    let column = header(slot, row)
    guard column.pointee.layout == .uuid else { return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    return UUID(uuid: column.pointee.cell(row, as: uuid_t.self))
  }

  /// The bytes of a string or URI (UTF-8), of binary data or a transformable value, of a decimal's exact text; empty
  /// for null. For an undefined attribute use ``value(slot:row:)``.
  @_lifetime(borrow self)
  public func bytes(slot: Int, row: Int) -> Span<UInt8> {
    let column = header(slot, row)
    let bytes =
      column.pointee.layout == .bytes ? column.pointee.bytes(row) : UnsafeBufferPointer(start: nil, count: 0)
    // The heap belongs to a column that this reader retains, and a column with two owners is never written to.
    return _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
  }

  /// The value of a string or URI, or a decimal's exact text; empty for null. Creates a string: if bytes suffice, use
  /// ``bytes(slot:row:)``.
  public func string(slot: Int, row: Int) -> String {
    let column = header(slot, row)
    return column.pointee.layout == .bytes ? String(decoding: column.pointee.bytes(row), as: UTF8.self) : ""
  }

  /// The node that a to-one relationship leads to; nil for null.
  public func toOne(slot: Int, row: Int) -> NodeHandle? {
    let column = header(slot, row)
    guard column.pointee.layout == .toOne else { return nil }
    let bits = column.pointee.cell(row, as: UInt64.self)
    return bits == NodeHandle.nullBits ? nil : NodeHandle(bits: bits)
  }

  /// The nodes of a to-many: in their order if ``Slot/keepsSequence``, otherwise in ascending order of reference.
  @_lifetime(borrow self)
  public func toMany(slot: Int, row: Int) -> Span<NodeHandle> {
    let column = header(slot, row)
    let handles =
      column.pointee.layout == .toMany
      ? column.pointee.handles(row) : UnsafeMutableBufferPointer<UInt64>(start: nil, count: 0)
    // As above; a handle consists of its 64 bits only.
    let rebound = UnsafeRawBufferPointer(handles).assumingMemoryBound(to: NodeHandle.self)
    return _overrideLifetime(Span(_unsafeElements: rebound), borrowing: self)
  }

  /// The nodes of a to-many in several rows, concatenated, if the column stores them like that; nil otherwise, and for
  /// no rows: then read them row by row. Each list has the order of ``toMany(slot:row:)``. The rows must exist.
  @_lifetime(borrow self)
  public func toMany(slot: Int, rows: Range<Int>) -> Span<NodeHandle>? {
    guard let last = rows.last, rows.lowerBound >= 0 else { return nil }
    let column = header(slot, last)
    guard column.pointee.layout == .toMany else { return nil }
    var range: (start: Int, end: Int)?
    for place in column.pointee.places(rows) {
      guard let extent = column.pointee.extent(at: place), extent.length > 0 else { continue }
      guard extent.start == range?.end ?? extent.start else { return nil }
      range = (range?.start ?? extent.start, extent.start + extent.length)
    }
    let (start, end) = range ?? (0, 0)
    // As above.
    let nodes = UnsafeBufferPointer(
      start: (column.pointee.heap + start * 8).assumingMemoryBound(to: NodeHandle.self), count: end - start)
    return _overrideLifetime(Span(_unsafeElements: nodes), borrowing: self)
  }

  /// The value of any slot. Slower than the typed methods.
  public func value(slot: Int, row: Int) -> StoredValue {
    _ = header(slot, row)
    return content.owner.value(slot: slot, of: NodeHandle(entity: entity, row: row))
  }

  // MARK: Whole columns, for formats that pack them

  /// The cells of a slot of fixed width, little-endian, `count` × width bytes: booleans 1, integers 2, 4 or 8, floats
  /// 4, doubles and dates 8, UUIDs 16. Cells of null rows are zero. Empty for other slots.
  @_lifetime(borrow self)
  public func fixedCells(slot: Int) -> Span<UInt8> {
    let header = content.whole(slot)
    let count = header.pointee.layout.hasPresence ? content.table.count * header.pointee.width : 0
    let cells = UnsafeBufferPointer(
      start: UnsafePointer(header.pointee.cells.assumingMemoryBound(to: UInt8.self)), count: count)
    return _overrideLifetime(Span(_unsafeElements: cells), borrowing: self)
  }

  /// The bytes of a slot of fixed width in a row, as ``fixedCells(slot:)`` has them. Empty for other slots.
  @_lifetime(borrow self)
  public func fixedCell(slot: Int, row: Int) -> Span<UInt8> {
    let header = header(slot, row)
    let width = header.pointee.layout.hasPresence ? header.pointee.width : 0
    let cell = UnsafeBufferPointer(
      start: UnsafePointer(
        (header.pointee.cells + header.pointee.place(row) * width).assumingMemoryBound(to: UInt8.self)), count: width)
    return _overrideLifetime(Span(_unsafeElements: cell), borrowing: self)
  }

  /// Whether so few rows have a value in the slot that the others take no memory. Then ``fixedCells(slot:)`` and
  /// ``presenceBits(slot:)`` make a column of all rows, which is in memory as long as the reader: read such slots row
  /// by row.
  public func isSparse(slot: Int) -> Bool { content.table.columns[slot].header.pointee.sparse != nil }

  /// The rows with a value in a slot that ``isSparse(slot:)``, ascending; nil for other slots. A format that writes row
  /// by row asks for these once, instead of asking for each of many slots in each row.
  public func sparseRows(slot: Int) -> [Int]? {
    let header = content.table.columns[slot].header
    return withExtendedLifetime(content) {
      guard header.pointee.sparse != nil else { return nil }
      return header.pointee.places(0..<content.table.count).lazy.map { header.pointee.row(at: $0) }
        .filter { Self.hasValue(header, $0) }
    }
  }

  /// A bit for each row of a slot of fixed width, 1 for a value and 0 for null: row 0 is the lowest bit of byte 0.
  @_lifetime(borrow self)
  public func presenceBits(slot: Int) -> Span<UInt8> {
    let header = content.whole(slot)
    let count = header.pointee.layout.hasPresence ? (content.table.count + 7) / 8 : 0
    let bits = UnsafeBufferPointer(
      start: UnsafeRawPointer(header.pointee.presence).assumingMemoryBound(to: UInt8.self), count: count)
    return _overrideLifetime(Span(_unsafeElements: bits), borrowing: self)
  }

  /// A bit for each row of a slot of any kind, 1 for a value and 0 for null or an empty to-many: row 0 is the lowest
  /// bit of byte 0.
  public func valueBits(slot: Int) -> [UInt8] {
    let header = content.table.columns[slot].header
    let rows = content.table.count
    return withExtendedLifetime(content) {
      if header.pointee.sparse != nil {
        var bits = [UInt8](repeating: 0, count: (rows + 7) / 8)
        for row in sparseRows(slot: slot) ?? [] { bits[row >> 3] |= 1 << UInt8(truncatingIfNeeded: row & 7) }
        return bits
      }
      return [UInt8](unsafeUninitializedCapacity: (rows + 7) / 8) { bits, count in
        count = (rows + 7) / 8
        for byte in 0..<count { bits[byte] = Self.valueBits(header, byte * 8..<min(byte * 8 + 8, rows)) }
      }
    }
  }

  @inline(__always) private static func valueBits(
    _ header: UnsafeMutablePointer<ColumnHeader>, _ rows: Range<Int>
  ) -> UInt8 {
    var bits: UInt8 = 0
    for row in rows {
      bits |= (hasValue(header, row) ? 1 : 0) << UInt8(truncatingIfNeeded: row - rows.lowerBound)
    }
    return bits
  }
  @inline(__always) private static func hasValue(_ header: UnsafeMutablePointer<ColumnHeader>, _ row: Int) -> Bool {
    header.pointee.isPresent(row) && (header.pointee.layout != .toMany || header.pointee.handles(row).count > 0)
  }

  /// The bytes of all values of a slot in row order, concatenated, if the column stores them like that; nil otherwise:
  /// then read them row by row. The lengths are those of ``bytes(slot:row:)``.
  @_lifetime(borrow self)
  public func packedBytes(slot: Int) -> Span<UInt8>? {
    let header = content.table.columns[slot].header
    guard header.pointee.layout == .bytes, let bytes = packed(header) else { return nil }
    return _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
  }

  /// The bytes of all string references in row order, concatenated, if the table stores them like that; nil otherwise:
  /// then read them row by row with ``textReference(row:)``.
  public var packedTextReferences: Span<UInt8>? {
    @_lifetime(borrow self)
    get {
      guard let header = content.table.referenceTexts?.header, header.pointee.capacity >= content.table.count,
        let bytes = packed(header)
      else { return nil }
      return _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
    }
  }

  private func packed(_ header: UnsafeMutablePointer<ColumnHeader>) -> UnsafeBufferPointer<UInt8>? {
    var next = 0
    for place in header.pointee.places(0..<content.table.count) {
      guard let extent = header.pointee.extent(at: place) else { continue }
      if extent.length > 0, extent.start != next { return nil }
      next += extent.length
    }
    guard next == header.pointee.heapCount else { return nil }
    return UnsafeBufferPointer(
      start: UnsafePointer(header.pointee.heap.assumingMemoryBound(to: UInt8.self)), count: next)
  }
}

// MARK: - For loops over whole columns, in this package

extension EntityReader {
  /// A column as raw memory. Valid while the reader is retained.
  package func column(slot: Int) -> ColumnView {
    ColumnView(content.table.columns[slot].header, rows: content.table.count)
  }

  /// Whether the rows are in ascending order of reference, none deleted.
  package var isCanonical: Bool { content.table.isCanonical }

  /// The references as raw memory. Valid while the reader is retained.
  package var references: ReferenceView { ReferenceView(content.table) }
}

extension NodeTable {
  /// Typed access to one entity's rows.
  ///
  /// ```swift
  /// let reader = nodes.reader(of: entity.index)
  /// for row in 0..<reader.count { print(reader.reference(row: row), reader.value(slot: slot.index, row: row)) }
  /// ```
  public func reader(of entity: Int) -> EntityReader { EntityReader(entities[entity], entity: entity, owner: self) }
}
