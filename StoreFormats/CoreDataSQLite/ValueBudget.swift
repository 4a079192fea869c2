import AtomicStoreSPI

/// How many bytes of texts and data rows may have together where they do not become objects, which have their own
/// limit.
///
/// A file stores each value once, unless pages are damaged so that many rows share them. What a row lacks has its
/// column's default, which a file stores once for all rows.
struct ValueBudget {
  private var left: Int

  init(_ database: SQLiteDatabase) { left = (1 << 20) + 2 * database.image.count }

  /// Counts the values of a row in its first columns.
  ///
  /// - Throws: `.limitExceeded` where all rows have more than the size of the file allows.
  mutating func count(_ rows: SQLiteStatement, columns: Int, at place: StoreLocation) throws(PersistentStoreError) {
    for column in 0..<Int32(clamping: columns) where rows.kind(column) == .text || rows.kind(column) == .blob {
      left -= rows.bytes(column).count
    }
    guard left >= 0 else {
      throw PersistentStoreError(
        .limitExceeded, "the rows have more bytes than the size of the file allows", at: place)
    }
  }
}
