import AtomicStoreSPI
import StoreJSON

/// The records of a JSON table, one after the other.
///
/// A member that is `null` has no value, and neither have the columns of its members; one that an object lacks is
/// absent.
struct JSONRecordReader: RecordReader {
  let bytes: UnsafeBufferPointer<UInt8>
  private let table: JSONRecords
  private let forms: ObjectForms?
  private let scanner: JSONScanner
  /// Reads bad records again. One for all of them: it has something for each column.
  private var badRecords: JSONTableScanner?
  /// The index of the next record, and that of its first field.
  private var nextRecord = 0
  private var nextField = 0
  private var end = 0
  /// How many columns of members of `null` were marked.
  private var missingCount = 0
  var json: JSONRecords? { table }
  var columns: [String] { table.columns }
  var headerRange: Range<Int> { 0..<0 }

  /// - Parameters:
  ///   - bytes: UTF-8.
  ///   - forms: What may be an object in the form of `fetch --json`; nil for nothing.
  ///   - known: The records, if they were found before.
  ///   - maximumMemory: The limit for records that are found now.
  /// - Throws: `.limitExceeded`.
  init(
    _ bytes: UnsafeBufferPointer<UInt8>, _ forms: ObjectForms? = nil, _ known: JSONRecords? = nil,
    maximumMemory: Int = .max
  ) throws(PersistentStoreError) {
    self.bytes = bytes
    self.forms = forms
    if let known { table = known } else { table = try JSONRecords(bytes, forms, maximumMemory: maximumMemory) }
    scanner = JSONScanner(bytes)
  }

  /// Whether a text is JSON, and no CSV.
  static func isJSON(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = firstByte(bytes) else { return false }
    return first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
  }

  /// Whether a text has nothing but spaces: JSON with one object on each line, of no objects.
  static func isBlank(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { firstByte(bytes) == nil }

  private static func firstByte(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt8? {
    var scanner = JSONScanner(bytes)
    scanner.skipMark()
    scanner.skipSpace()
    return scanner.peek
  }

  mutating func next(_ record: inout ImportRecord) throws(PersistentStoreError) -> Bool {
    record.makeAbsent(columns: table.columns.count)
    guard nextRecord < table.records.count else {
      guard nextRecord == table.records.count, let failure = table.failure else { return false }
      nextRecord += 1
      end = failure.location.offset ?? bytes.count
      throw failure
    }
    let found = table.records[nextRecord]
    nextRecord += 1
    (record.line, record.column) = (found.line, found.column)
    (record.start, record.end) = (found.start, found.end)
    end = found.end
    if found.isBad { throw failure(of: found) }
    var line = found.line
    var lineStart = found.start - found.column + 1
    var position = found.start
    let fields = nextField..<nextField + Int(found.fieldCount)
    guard fields.upperBound <= table.fields.count else {
      throw PersistentStoreError(.internalInconsistency, "a record has more values than were found")
    }
    nextField = fields.upperBound
    for index in fields {
      let field = table.fields[index]
      let start = found.start + Int(field.start)
      let place = field.kind == .string ? start - 1 : start
      if !found.isOnOneLine {
        for offset in position..<place where bytes[offset] == UInt8(ascii: "\n") {
          line += 1
          lineStart = offset + 1
        }
        position = place
      }
      var value = ImportField(
        kind: field.kind, start: start, end: start + Int(field.count), line: line, column: place - lineStart + 1)
      if field.hasEscapes {
        value.isDecoded = true
        value.start = record.decoded.count
        scanner.append(start..<value.end, to: &record.decoded)
        value.end = record.decoded.count
      }
      record.set(value, column: Int(field.column))
      if field.kind == .missing, let inner = table.innerColumns[Int(field.column)] { try markMissing(inner, &record) }
    }
    return true
  }

  private mutating func failure(of record: JSONRecords.Record) -> PersistentStoreError {
    var scanner = badRecords.take() ?? JSONTableScanner(bytes, forms, bad: table)
    defer { badRecords = scanner }
    return scanner.failure(of: record)
  }

  /// The columns of the members of an object that is `null` have no value either.
  ///
  /// - Throws: `.limitExceeded` where such columns are many more than the input could have spelled out.
  private mutating func markMissing(_ columns: [Int], _ record: inout ImportRecord) throws(PersistentStoreError) {
    missingCount += columns.count
    guard missingCount <= StoreLimits().memory(forInput: bytes.count) else {
      throw PersistentStoreError(
        .limitExceeded,
        "members that are null are objects in other records, with more members than 32 million plus 48 times the file's size"
      )
    }
    for column in columns where record[column].kind == .absent {
      record.set(ImportField(kind: .missing, line: record.line, column: record.column), column: column)
    }
  }

  mutating func recover(from error: PersistentStoreError) -> Int { end }
}
