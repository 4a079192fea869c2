import StoreFiles

/// The owner of a column's memory.
///
/// `@unchecked Sendable`: the memory is written only while there is exactly one reference to the object. A builder's
/// columns belong to the builder until it is finished; a table copies a column before it writes to one with other
/// owners (``NodeTable`` calls `isKnownUniquelyReferenced`). All other code only reads. Borrowed memory is never
/// written.
final class Column: @unchecked Sendable {
  let header: UnsafeMutablePointer<ColumnHeader>
  /// The owner of borrowed memory. Set before the column has a second owner.
  private var lender: StoreBytes?

  init(_ layout: CellLayout) {
    header = .allocate(capacity: 1)
    header.initialize(to: ColumnHeader(layout))
  }
  /// Creates a column with only null values.
  convenience init(_ layout: CellLayout, rows: Int) {
    self.init(layout)
    header.pointee.grow(to: rows)
  }

  /// Creates a sparse column without values.
  init(sparse layout: CellLayout) {
    header = .allocate(capacity: 1)
    header.initialize(to: ColumnHeader(sparse: layout))
  }

  private static let withoutValues = CellLayout.allCases.map { Column(sparse: $0) }
  /// A shared column without values, for any number of rows. It is never written to, since it always has more than one
  /// owner.
  static func none(_ layout: CellLayout) -> Column { withoutValues[Int(layout.rawValue)] }
  /// Creates a column of cells of fixed width that stay where they are, all of them values. Nil if the system does not
  /// have enough memory.
  convenience init?(_ layout: CellLayout, cells: Range<Int>, of bytes: StoreBytes) {
    self.init(layout)
    let start = bytes.memory + cells.lowerBound
    guard header.pointee.borrow(cells: start, rows: cells.count / layout.width) else { return nil }
    lender = bytes
  }
  /// Lets the bytes of all values stay where they are.
  func borrow(heap: Range<Int>, of bytes: StoreBytes) {
    header.pointee.borrow(heap: bytes.memory + heap.lowerBound, count: heap.count)
    lender = bytes
  }
  /// Whether this is its only owner, and the cells may be written to.
  static func isWritable(_ column: inout Column) -> Bool {
    isKnownUniquelyReferenced(&column) && !column.header.pointee.borrowsCells
  }

  init(copying other: Column, rows: Int) {
    header = .allocate(capacity: 1)
    header.initialize(to: other.header.pointee.copied(rows: rows))
  }
  deinit {
    header.pointee.deallocate()
    header.deinitialize(count: 1)
    header.deallocate()
  }
}
