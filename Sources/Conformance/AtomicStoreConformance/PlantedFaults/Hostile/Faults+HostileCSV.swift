import AtomicStoreSPI
import Glibc

extension Faults {
  /// A reader of CSV that repairs, or spoils, what it is given.
  private static func records(_ name: String, _ text: String, _ change: @escaping @Sendable (inout CSVRecords) -> Bool)
    -> Fault
  {
    reader(name, text, members: ".csv") { bytes, _ in
      guard !bytes.starts(with: "<".utf8), !bytes.starts(with: "bplist".utf8) else { return nil }
      var records = CSVRecords(bytes)
      return change(&records) ? records.bytes : nil
    }
  }
  private static func raw(_ name: String, _ text: String, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]?) -> Fault
  {
    reader(name, text, members: ".csv") { bytes, _ in
      guard !bytes.starts(with: "<".utf8), !bytes.starts(with: "bplist".utf8) else { return nil }
      return change(bytes)
    }
  }
  /// One that changes fields one by one, as they are written.
  private static func fields(_ name: String, _ text: String, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]?)
    -> Fault
  {
    records(name, text) { records in
      var isChanged = false
      for row in records.records.indices {
        for column in records.records[row].indices {
          guard let changed = change(records.records[row][column]) else { continue }
          records.records[row][column] = changed
          isChanged = true
        }
      }
      return isChanged
    }
  }
  private static func damaged(_ records: CSVRecords) -> Int? {
    records.records.firstIndex { $0.contains(Array("damaged!".utf8)) }
  }
  private static func quoted(_ text: some Sequence<UInt8>) -> [UInt8] { [.quote] + Array(text) + [.quote] }

  static let hostileCSV: [Fault] = [
    raw("unterminatedQuoteAccepted", "takes the end of the file for the end of a quoted field") { bytes in
      guard bytes.count(where: { $0 == .quote }) % 2 == 1 else { return nil }
      let end = bytes.lastIndex { $0 != .lineFeed && $0 != .carriageReturn } ?? bytes.count - 1
      return Array(bytes[...end]) + [.quote] + Array(bytes[(end + 1)...])
    },
    records("padsShortRows", "fills short records up, and cuts long ones") { records in
      guard let width = records.records.first?.count else { return false }
      var isChanged = false
      for row in records.records.indices where records.records[row].count != width {
        records.records[row] = Array(records.records[row].prefix(width))
        while records.records[row].count < width { records.records[row].append([]) }
        isChanged = true
      }
      return isChanged
    },
    records("recordAfterDamageLost", "leaves out the record after a damaged one too") { records in
      guard let row = damaged(records), row + 1 < records.records.count else { return false }
      records.records.remove(at: row + 1)
      return true
    },
    records("damageNotReported", "leaves out a damaged record without a report") { records in
      guard let row = damaged(records) else { return false }
      records.records.remove(at: row)
      return true
    },
    fields("lenientQuotes", "skips quotes where none may stand") { field in
      let inner =
        field.first == .quote && field.last == .quote && field.count > 1 ? Array(field.dropFirst().dropLast()) : field
      let isSound = !String(decoding: inner, as: UTF8.self).replacing("\"\"", with: "").contains("\"")
      return isSound ? nil : quoted(field.filter { $0 != .quote })
    },
    raw("splitsOnCharacterNewline", "does not see that a carriage return and a line feed end a record") { bytes in
      guard
        let end = zip(bytes, bytes.dropFirst()).enumerated().first(where: { $0.element == (.carriageReturn, .lineFeed) }
        )?.offset
      else { return nil }
      return Array(bytes[..<end])
    },
    fields("lineBasedReader", "reads line by line, also within quotes") { field in
      guard let end = field.firstIndex(where: { $0 == .lineFeed || $0 == .carriageReturn }) else { return nil }
      return field[..<end] + [.quote]
    },
    raw("bomInFirstHeader", "takes a byte order mark for a part of the first name") { bytes in
      bytes.starts(with: [UInt8].byteOrderMark) ? .byteOrderMark + bytes : nil
    },
    records("columnsByPosition", "takes columns in their order, whatever they are called") { records in
      guard let header = records.records.first, header.count > 2 else { return false }
      records.records[0] = [header[0]] + header.dropFirst().sorted { $0.lexicographicallyPrecedes($1) }
      return records.records[0] != header
    },
    records("blankLineIsRow", "makes an object of a blank line") { records in
      guard let width = records.records.first?.count else { return false }
      var isChanged = false
      for row in records.records.indices
      where records.records[row].count == 1 && width > 1 && records.records[row][0].isEmpty {
        records.records[row] = [Array("\(9_000_000 + row)".utf8)] + Array(repeating: [], count: width - 1)
        isChanged = true
      }
      return isChanged
    },
    text("prefixesApostrophe", "writes an apostrophe before what looks like a formula") { text in
      guard let first = text.unicodeScalars.first else { return text }
      return ["=", "+", "-", "@", "\t", "\r"].contains(first) ? "'" + text : text
    },
    fields("nulEndsField", "takes U+0000 for the end of a field") { field in
      guard let end = field.firstIndex(of: 0) else { return nil }
      return Array(field[..<end]) + (field.first == .quote ? [.quote] : [])
    },
    records("headerNotQuoted", "takes quotes in a header for a part of the names") { records in
      guard let header = records.records.first, header.contains(where: { $0.contains(.quote) }) else { return false }
      records.records[0] = header.map { $0.filter { $0 != .quote } }
      return true
    },
    raw("quadraticField", "copies a long field once more for each piece of it") { bytes in
      guard bytes.count > 3_000_000 else { return nil }
      // As often as there are pieces of 40 KB, all that was there so far.
      var copy = [UInt8](repeating: 0, count: bytes.count)
      for end in stride(from: 40_000, to: bytes.count, by: 4_000) {
        copy.withUnsafeMutableBytes { target in
          bytes.withUnsafeBytes { source in
            if let to = target.baseAddress, let from = source.baseAddress { memcpy(to, from, end) }
          }
        }
      }
      return copy[0] == bytes[0] ? nil : bytes
    },
    raw("lastRowLost", "loses the last record where no line end follows it") { bytes in
      guard let last = bytes.last, last != .lineFeed, last != .carriageReturn,
        let end = bytes.lastIndex(where: { $0 == .lineFeed || $0 == .carriageReturn })
      else { return nil }
      return Array(bytes[...end])
    },
    fields("leadingSpaceTrimmed", "takes blanks around fields away") { field in
      guard field.first == .space || field.last == .space else { return nil }
      return Array(field.drop { $0 == .space }.reversed().drop { $0 == .space }.reversed())
    },
    text("privateDialect", "writes a backslash before each quote") { text in text.replacing("\"", with: "\\\"") },
  ]
}
