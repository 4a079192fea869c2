import AtomicStoreSPI
import StoreCodecs

/// Writes the rows of an entity in files of our own.
struct RowEncoder: Sendable {
  let reader: EntityReader
  let columns: [CSVStore.Column]
  let references: ReferenceNumbers
  let dialect: CSVDialect
  let style: SheetStyle

  /// How many rows are encoded at a time if several threads do it.
  private static let pieceRows = 16_384
  /// How many cells are worth encoding on several threads.
  private static let manyCells = 1 << 20

  /// Writes all rows, with the same bytes for any number of threads.
  ///
  /// - Parameters:
  ///   - writer: Receives the bytes.
  ///   - pieceRows: How many rows are encoded at a time, for tests; nil for a number that fits the size of the table.
  func write(to writer: ByteWriter, pieceRows: Int? = nil) throws(PersistentStoreError) {
    let isLarge = reader.count * (columns.count + 1) >= Self.manyCells
    guard ParallelWork.jobs > 1, isLarge || pieceRows != nil else {
      return try write(0..<reader.count, to: writer)
    }
    let size = pieceRows ?? Self.pieceRows
    let count = reader.count
    let encoder = self
    try ParallelWork.inOrder((count + size - 1) / size) { number -> Result<[UInt8], PersistentStoreError> in
      let piece = ByteWriter()
      do throws(PersistentStoreError) {
        try encoder.write(number * size..<min((number + 1) * size, count), to: piece)
        return .success(piece.takeBytes())
      } catch {
        return .failure(error)
      }
    } use: { (piece) throws(PersistentStoreError) in
      writer.append(try piece.get())
      try writer.flushIfNeeded()
    }
  }

  private func write(_ rows: Range<Int>, to writer: ByteWriter) throws(PersistentStoreError) {
    var cells = CellWriter(writer, dialect: dialect)
    cells.use(style)
    for row in rows {
      if let number = reader.integerReference(row: row) {
        writer.append(integer: number)
      } else if let text = reader.textReference(row: row) {
        cells.append(reference: text)
      }
      for column in columns {
        writer.append(byte: dialect.delimiter)
        cells.append(column, row, reader, references)
      }
      writer.append(byte: UInt8(ascii: "\n"))
      try writer.flushIfNeeded()
    }
  }
}
