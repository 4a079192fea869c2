import AtomicStoreSPI

/// A file of .comma-separated values cut into records and fields, the fields as they are written: with their quotes.
struct CSVRecords: Sendable {
  var records: [[[UInt8]]] = []
  var delimiter: UInt8 = .comma
  var lineEnd: [UInt8] = [.lineFeed]
  var hasFinalLineEnd = true

  init(_ bytes: [UInt8]) {
    let head = bytes.prefix { $0 != .lineFeed && $0 != .carriageReturn }
    let counts = [.comma, UInt8(ascii: ";"), .tab, UInt8(ascii: "|")].map { candidate in
      (candidate, head.count { $0 == candidate })
    }
    if let best = counts.max(by: { $0.1 < $1.1 }), best.1 > counts[0].1 { delimiter = best.0 }
    var record: [[UInt8]] = []
    var field: [UInt8] = []
    var isQuoted = false
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      if byte == .quote, isQuoted || field.isEmpty || field.first == .quote { isQuoted.toggle() }
      if isQuoted || (byte != delimiter && byte != .lineFeed && byte != .carriageReturn) {
        field.append(byte)
        continue
      }
      record.append(field)
      field = []
      if byte == delimiter { continue }
      if byte == .carriageReturn, place < bytes.count, bytes[place] == .lineFeed { place += 1 }
      records.append(record)
      record = []
    }
    hasFinalLineEnd = record.isEmpty && field.isEmpty
    if !hasFinalLineEnd { records.append(record + [field]) }
  }

  var bytes: [UInt8] { bytes { _ in lineEnd } }

  func bytes(_ lineEnd: (Int) -> [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    for (place, record) in records.enumerated() {
      result += Array(record.joined(separator: [delimiter]))
      if hasFinalLineEnd || place + 1 < records.count { result += lineEnd(place) }
    }
    return result
  }

  static func content(_ field: [UInt8]) -> String {
    guard field.count >= 2, field.first == .quote, field.last == .quote else {
      return String(decoding: field, as: UTF8.self)
    }
    return String(decoding: field.dropFirst().dropLast(), as: UTF8.self).replacing("\"\"", with: "\"")
  }

  /// The first field that holds a word: record and column.
  func place(of word: String) -> (record: Int, column: Int)? {
    for (record, fields) in records.enumerated() {
      if let column = fields.firstIndex(where: { Self.content($0).contains(word) }) { return (record, column) }
    }
    return nil
  }
  /// The column whose name begins with a word.
  func column(named name: String) -> Int? { records.first?.firstIndex { Self.content($0).hasPrefix(name) } }
}
