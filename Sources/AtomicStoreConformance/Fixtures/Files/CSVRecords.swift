import AtomicStoreSPI

/// A file of comma-separated values cut into records and fields, the fields as they are written: with their quotes.
struct CSVRecords: Sendable {
  var records: [[[UInt8]]] = []
  var delimiter: UInt8 = 0x2C
  var lineEnd: [UInt8] = [0x0A]
  var hasFinalLineEnd = true

  init(_ bytes: [UInt8]) {
    let head = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    let counts = [UInt8(0x2C), 0x3B, 0x09, 0x7C].map { candidate in (candidate, head.count { $0 == candidate }) }
    if let best = counts.max(by: { $0.1 < $1.1 }), best.1 > counts[0].1 { delimiter = best.0 }
    var record: [[UInt8]] = []
    var field: [UInt8] = []
    var isQuoted = false
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      if byte == 0x22, isQuoted || field.isEmpty || field.first == 0x22 { isQuoted.toggle() }
      if isQuoted || (byte != delimiter && byte != 0x0A && byte != 0x0D) {
        field.append(byte)
        continue
      }
      record.append(field)
      field = []
      if byte == delimiter { continue }
      if byte == 0x0D, place < bytes.count, bytes[place] == 0x0A { place += 1 }
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
    guard field.count >= 2, field.first == 0x22, field.last == 0x22 else {
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
