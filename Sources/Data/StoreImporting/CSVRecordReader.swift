import AtomicStoreSPI
import StoreCodecs

/// Records of a CSV file. Blank lines, and those that begin with the mark for comments, are skipped.
struct CSVRecordReader: RecordReader {
  let bytes: UnsafeBufferPointer<UInt8>
  private var reader: CSVReader
  private let comment: UInt8?
  private(set) var columns: [String] = []
  /// The bytes before the first record: the header line, and comments before it.
  private(set) var headerRange = 0..<0
  let delimiter: UInt8

  init(
    _ bytes: UnsafeBufferPointer<UInt8>, _ conventions: TextConventions, fileName: String
  ) throws(PersistentStoreError) {
    self.bytes = bytes
    comment = conventions.comment
    let declared = Self.declaredDelimiter(bytes)
    var dialect = CSVDialect.detect(Self.withoutComments(bytes, conventions.comment), fileName: fileName)
    if let delimiter = conventions.delimiter ?? declared { dialect.delimiter = delimiter }
    dialect.allowsStrayQuotes = conventions.allowsStrayQuotes
    delimiter = dialect.delimiter
    reader = try CSVReader(bytes, dialect: dialect)
    if declared != nil { reader.skipLine() }
    if let names = conventions.columnNames {
      columns = names
      return
    }
    var record: [CSVField] = []
    guard try nextFields(&record) else { throw PersistentStoreError(.malformed, "the file is empty") }
    columns = record.map { field in
      var name = reader.string(of: field)[...]
      while let first = name.first, first == " " { name.removeFirst() }
      while let last = name.last, last == " " { name.removeLast() }
      return String(name)
    }
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    headerRange = start..<max(start, lineEnd(before: reader.offset))
  }

  /// The delimiter of a first line like `sep=;`, which Excel writes and understands.
  private static func declaredDelimiter(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt8? {
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    guard bytes.count > start + 5, bytes[start...].starts(with: "sep=".utf8),
      [UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(bytes[start + 5]),
      [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|")].contains(bytes[start + 4])
    else { return nil }
    return bytes[start + 4]
  }

  /// The bytes from the first line that is not a comment on.
  private static func withoutComments(
    _ bytes: UnsafeBufferPointer<UInt8>, _ comment: UInt8?
  ) -> UnsafeBufferPointer<UInt8> {
    guard let comment else { return bytes }
    var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    while start < bytes.count, bytes[start] == comment {
      while start < bytes.count, bytes[start] != UInt8(ascii: "\n") { start += 1 }
      start += 1
    }
    return UnsafeBufferPointer(rebasing: bytes[min(start, bytes.count)...])
  }

  /// The offset without the line end before it.
  private func lineEnd(before offset: Int) -> Int {
    var end = offset
    if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    return end
  }

  /// The fields of the next record that is not blank.
  private mutating func nextFields(_ record: inout [CSVField]) throws(PersistentStoreError) -> Bool {
    while true {
      if let comment, reader.offset < bytes.count, bytes[reader.offset] == comment {
        reader.skipLine()
        continue
      }
      record.removeAll(keepingCapacity: true)
      while let field = try reader.nextField() {
        record.append(field)
        if field.isLastInRecord { break }
      }
      guard let first = record.first else { return false }
      if record.count == 1, first.isMissing { continue }
      return true
    }
  }

  mutating func next(_ record: inout ImportRecord) throws(PersistentStoreError) -> Bool {
    record.removeAll()
    let width = columns.count
    // Where a record begins that is not well formed.
    record.line = reader.nextLine
    record.start = reader.offset
    record.end = record.start
    while true {
      if let comment, reader.offset < bytes.count, bytes[reader.offset] == comment {
        reader.skipLine()
      } else {
        let start = reader.offset
        var index = 0
        var isBlank = false
        var field: CSVField?
        while let found = try reader.nextField() {
          field = found
          if index == 0 {
            record.line = found.line
            record.start = start
            isBlank = found.isLastInRecord && found.isMissing
          }
          if index < width {
            let field = converted(found, &record.decoded)
            record.append(field)
          } else if !found.isMissing {
            // Empty fields beyond the last column are what spreadsheets leave.
            try skipRest(found)
            throw ragged("more than \(width)", found)
          }
          index += 1
          if found.isLastInRecord { break }
        }
        guard let field else { return false }
        if !isBlank {
          record.end = lineEnd(before: reader.offset)
          guard index >= width else { throw ragged("\(index)", field) }
          return true
        }
        record.removeAll()
      }
    }
  }

  private func ragged(_ count: String, _ field: CSVField) -> PersistentStoreError {
    PersistentStoreError(
      .invalidValue, "the record has \(count) field\(count == "1" ? "" : "s"), the header \(columns.count)",
      at: field.location)
  }

  private mutating func skipRest(_ field: CSVField) throws(PersistentStoreError) {
    guard !field.isLastInRecord else { return }
    while let more = try reader.nextField() { if more.isLastInRecord { break } }
  }

  private func converted(_ field: CSVField, _ decoded: inout [UInt8]) -> ImportField {
    // Blank lines are skipped, so a table of one column writes a missing value as "".
    let isMissing = field.isMissing || columns.count == 1 && field.isQuoted && field.start == field.end
    var result = ImportField(
      kind: isMissing ? .missing : field.isQuoted ? .quoted : .text, start: field.start, end: field.end,
      line: field.line, column: field.column)
    if field.hasDoubledQuotes {
      result.isDecoded = true
      result.start = decoded.count
      reader.append(field, to: &decoded)
      result.end = decoded.count
    }
    return result
  }

  /// Goes on with the next line, except for a record that was read whole.
  mutating func recover(from error: PersistentStoreError) -> Int {
    if error.code == .malformed { reader.skipLine() }
    return lineEnd(before: reader.offset)
  }
}
