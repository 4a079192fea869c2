import AtomicStoreSPI
import StoreCodecs

/// How the rows of a column are taken apart, to convert them to what the file holds: piece by piece, so that the memory
/// does not depend on the number of rows, and on all cores if there are many.
struct RowPieces: Sendable {
  /// The number of rows of a piece, a multiple of eight, so that bits of a piece are whole bytes.
  let size: Int
  /// The number of rows that are worth several threads.
  let many: Int

  static let standard = RowPieces(size: 1 << 15, many: 1 << 17)

  /// Pieces of rows that have several members each: with as many members as these have rows, of which fewer rows are
  /// worth several threads.
  func shorter(by members: Int, of rows: Int) -> RowPieces {
    let most = max(members, rows, 1)
    let fewer = many.multipliedReportingOverflow(by: rows)
    return RowPieces(
      size: max(8, size * rows / most / 8 * 8), many: fewer.overflow ? .max : max(1, fewer.partialValue / most))
  }

  /// The maximum number of threads for that many rows.
  func jobs(_ rows: Int) -> Int { rows >= many ? ParallelWork.jobs : 1 }

  /// The pieces of rows, in order.
  func ranges(_ rows: Range<Int>) -> [Range<Int>] {
    stride(from: rows.lowerBound, to: rows.upperBound, by: size).map { $0..<min($0 + size, rows.upperBound) }
  }

  /// Makes something of each piece at the same time, and returns it in order.
  func map<Result: Sendable>(_ rows: Int, _ make: @escaping @Sendable (Range<Int>) -> Result) -> [Result] {
    // Most columns are one piece, which needs no list of pieces.
    guard rows > size else { return rows > 0 ? [make(0..<rows)] : [] }
    let ranges = ranges(0..<rows)
    let made = ParallelResults<Result>(ranges.count)
    ParallelWork.forEach(ranges.count, jobs: jobs(rows)) { made[$0] = make(ranges[$0]) }
    return made.all
  }
}

extension BinaryPropertyListWriter {
  /// Appends numbers for each row to the open data object, with the same bytes for any number of threads. As many
  /// pieces as there are threads are in memory at a time.
  ///
  /// - Parameter make: Returns the numbers of rows. May be called by several threads at the same time.
  mutating func append<Number: BitwiseCopyable & Sendable>(
    rows: Int, in pieces: RowPieces, _ make: @escaping @Sendable (Range<Int>) -> [Number]
  ) throws(PersistentStoreError) {
    guard rows > pieces.size else { return rows > 0 ? try append(numbers: make(0..<rows)) : () }
    let ranges = pieces.ranges(0..<rows)
    try ParallelWork.inOrder(ranges.count, jobs: pieces.jobs(rows)) {
      make(ranges[$0])
    } use: {
      (numbers) throws(PersistentStoreError) in
      try append(numbers: numbers)
    }
  }

  /// Appends numbers to the open data object, little-endian like all supported machines.
  mutating func append<Number: BitwiseCopyable>(numbers: [Number]) throws(PersistentStoreError) {
    // The closure returns its error as a value: it cannot throw a typed error and use the writer at the same time.
    let result: Result<Void, PersistentStoreError> = numbers.withUnsafeBytes { raw in
      do throws(PersistentStoreError) { return .success(try append(raw)) } catch { return .failure(error) }
    }
    try result.get()
  }
}
