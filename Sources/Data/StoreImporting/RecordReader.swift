import AtomicStoreSPI

/// Reads records one after the other.
protocol RecordReader {
  /// The source. It outlives the reader.
  var bytes: UnsafeBufferPointer<UInt8> { get }
  /// The names of the columns.
  var columns: [String] { get }
  /// The records of a JSON table; nil for another one.
  var json: JSONRecords? { get }
  /// The bytes that a file of rejected records begins with: the header line of a CSV file.
  var headerRange: Range<Int> { get }
  /// Reads the next record.
  ///
  /// - Returns: False at the end.
  /// - Throws: `.malformed` with line and column, where a record is not well formed; `.invalidValue` where it was read
  ///   whole, and does not fit the columns.
  mutating func next(_ record: inout ImportRecord) throws(PersistentStoreError) -> Bool
  /// Makes ready to go on after an error.
  ///
  /// - Returns: The offset that the bad record ends at.
  mutating func recover(from error: PersistentStoreError) -> Int
}

extension RecordReader {
  var json: JSONRecords? { nil }
  /// Whether it has no records, so that its columns are not known: JSON has them in its records.
  var isEmpty: Bool { json?.isEmpty ?? false }

  /// Goes on after an error that is one of the record.
  ///
  /// - Returns: The offset that the bad record ends at.
  /// - Throws: The error if it is one of the whole file.
  mutating func skip(_ error: PersistentStoreError) throws(PersistentStoreError) -> Int {
    if error.code == .limitExceeded { throw error }
    return recover(from: error)
  }
}
