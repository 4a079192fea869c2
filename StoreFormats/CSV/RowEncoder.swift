import AtomicStoreSPI
import StoreCodecs

/// Writes the rows of an entity in files that the kit writes.
struct RowEncoder: Sendable {
  let reader: EntityReader
  let columns: [CSVStore.Column]
  let references: NodeReferences
  let dialect: CSVDialect
  let style: SheetStyle

  /// How many rows a thread encodes at a time if several do it, and how many bytes at most: the rows of a piece that do
  /// not fit are written directly. So the memory does not depend on the size of values.
  private static let pieceRows = 8_192
  private static let pieceBytes = 8 << 20
  /// How many cells are worth encoding on several threads.
  private static let manyCells = 1 << 20

  /// Writes all rows, with the same bytes for any number of threads.
  ///
  /// - Parameters:
  ///   - writer: Receives the bytes.
  ///   - pieceRows: How many rows a piece has, for tests; nil for the standard, and for one thread if the table is
  ///     small.
  ///   - pieceBytes: How many bytes a piece has at most, except for its last row.
  func write(
    to writer: ByteWriter, pieceRows: Int? = nil, pieceBytes: Int = RowEncoder.pieceBytes
  ) throws(PersistentStoreError) {
    let isLarge = reader.count * (columns.count + 1) >= Self.manyCells
    guard ParallelWork.jobs > 1, isLarge || pieceRows != nil else {
      _ = try write(0..<reader.count, to: writer)
      return
    }
    let size = pieceRows ?? Self.pieceRows
    let count = reader.count
    let encoder = self
    try ParallelWork.inOrder((count + size - 1) / size) { number -> Result<Piece, PersistentStoreError> in
      let rows = number * size..<min((number + 1) * size, count)
      let piece = ByteWriter()
      do throws(PersistentStoreError) {
        let end = try encoder.write(rows, to: piece, limit: pieceBytes)
        return .success(Piece(writer: piece, rest: end..<rows.upperBound))
      } catch {
        return .failure(error)
      }
    } use: { (result) throws(PersistentStoreError) in
      let piece = try result.get()
      try writer.append(collectedBy: piece.writer)
      _ = try write(piece.rest, to: writer)
    }
  }

  /// Encoded rows, and those that did not fit.
  ///
  /// `@unchecked Sendable`: the thread that makes it does not use the writer afterwards.
  private struct Piece: @unchecked Sendable {
    let writer: ByteWriter
    let rest: Range<Int>
  }

  /// - Parameter limit: The number of bytes after which no other row begins.
  /// - Returns: The row before which it ended.
  private func write(
    _ rows: Range<Int>, to writer: ByteWriter, limit: Int = .max
  ) throws(PersistentStoreError) -> Int {
    var cells = CellWriter(writer, dialect: dialect)
    cells.use(style)
    let hasTexts = references.hasTexts
    cells.hasTexts = hasTexts
    let toOnes = references.exceedCaches ? columns.filter { $0.kind == .toOne }.map(\.slot) : []
    for row in rows {
      for slot in toOnes { prefetch(slot, row, before: rows.upperBound) }
      if writer.byteCount >= limit { return row }
      if hasTexts, let text = reader.textReference(row: row) {
        cells.append(reference: text)
      } else if let number = reader.integerReference(row: row) {
        writer.append(integer: number)
      }
      for column in columns {
        writer.append(byte: dialect.delimiter)
        cells.append(column, row, reader, references)
      }
      writer.append(byte: UInt8(ascii: "\n"))
      try writer.flushIfNeeded()
    }
    return rows.upperBound
  }

  /// How many rows before they are written the string references in their relationships are read, and their places.
  private static let textDistance = 8
  private static let placeDistance = 16

  /// Reads ahead what relationships of later rows lead to: these are rows in any order, each of which would be waited
  /// for.
  @inline(__always) private func prefetch(_ slot: Int, _ row: Int, before end: Int) {
    if row + Self.placeDistance < end, let node = reader.toOne(slot: slot, row: row + Self.placeDistance) {
      references.prefetchPlace(of: node)
    }
    if row + Self.textDistance < end, let node = reader.toOne(slot: slot, row: row + Self.textDistance) {
      references.prefetchText(of: node)
    }
  }
}
