import Foundation
import StoreCodecs
import StorePrimitives
import Testing

/// A field as a test looks at it: nil is nothing at all.
private typealias Record = [String?]

private func read(_ bytes: [UInt8], _ dialect: CSVDialect = .comma) throws -> [Record] {
  try bytes.withUnsafeBufferPointer { (buffer) throws in
    var reader = try CSVReader(buffer, dialect: dialect)
    var records: [Record] = []
    var record: Record = []
    while let field = try reader.nextField() {
      #expect(field.index == record.count)
      record.append(field.isMissing ? nil : reader.string(of: field))
      if field.isLastInRecord {
        records.append(record)
        record = []
      }
    }
    #expect(record.isEmpty, "every record has a last field")
    return records
  }
}
private func read(_ text: String, _ dialect: CSVDialect = .comma) throws -> [Record] {
  try read(Array(text.utf8), dialect)
}

@Suite("CSV reader")
struct CSVReaderTests {
  @Test("a quoted empty cell is an empty string, a bare one is missing")
  func distinguishesEmptyFromMissing() throws {
    #expect(try read("a,,\"\"\n") == [["a", nil, ""]])
  }

  @Test(
    "records are separated by every kind of line ending",
    arguments: [
      ("", []), ("a", [["a"]]), ("a\n", [["a"]]), ("a\r\nb", [["a"], ["b"]]), ("a\rb\r", [["a"], ["b"]]),
      ("\n", [[nil]]), ("a\n\nb", [["a"], [nil], ["b"]]), ("a,", [["a", nil]]), ("a,\n", [["a", nil]]),
      (",", [[nil, nil]]), ("\u{FEFF}a,b", [["a", "b"]]), ("\u{FEFF}", []), ("\"a\"", [["a"]]),
      ("\"a\r\nb\"\r\n\"c\"\"d\"", [["a\r\nb"], ["c\"d"]]), ("\"\"\"\"", [["\""]]), ("\"a,b\",c", [["a,b", "c"]]),
      ("\"\0\"", [["\0"]]), (" a , b ", [[" a ", " b "]]), ("é,日本,\u{1F600}", [["é", "日本", "\u{1F600}"]]),
    ] as [(String, [[String?]])])
  func reads(_ text: String, _ expected: [[String?]]) throws {
    #expect(try read(text) == expected)
  }

  @Test("missing fields are skipped up to the last one, and nothing else is", arguments: 0...40)
  func missingFields(_ count: Int) throws {
    let delimiters = String(repeating: ",", count: count)
    for (last, text) in [
      (count, "a,\(delimiters)b\n,c\n"), (count + 1, "a,\(delimiters)b\n,c\n"), (count / 2, "a,\(delimiters)b\n,c\n"),
      (count, "a,\(delimiters)\"\"\n,c\n"), (count, "a,\(delimiters)\n,c\n"), (count + 9, "a,\(delimiters)"),
    ] {
      let expected = try read(text)
      let bytes = Array(text.utf8)
      try bytes.withUnsafeBufferPointer { buffer in
        var reader = try CSVReader(buffer, dialect: .comma)
        var records = expected.map { $0.map { _ in String?.none } }
        var row = 0
        while let field = try reader.nextField() {
          #expect(row < records.count && field.index < records[row].count)
          records[row][field.index] = field.isMissing ? nil : reader.string(of: field)
          #expect(field.line == row + 1 && (field.isMissing || field.index > 0 || field.column == 1))
          if field.isLastInRecord { row += 1 }
          reader.skipMissingFields(upTo: last)
        }
        #expect(records == expected && row == expected.count)
      }
    }
  }

  @Test("quotes are counted in any range", arguments: [0, 1, 15, 16, 63, 64, 65, 200, 4000])
  func quoteCount(_ count: Int) {
    let bytes = (0..<count).map { UInt8(ascii: $0 % 3 == 0 || $0 % 7 == 1 ? "\"" : "#") }
    bytes.withUnsafeBufferPointer { all in
      for start in 0..<min(count, 20) {
        #expect(
          CSVParts.quoteCount(all, in: start..<count) == bytes[start...].count { $0 == UInt8(ascii: "\"") })
      }
      #expect(CSVParts.quoteCount(all, in: 0..<count) == bytes.count { $0 == UInt8(ascii: "\"") })
    }
  }

  @Test("fields of any length end where they should, whatever is in them", arguments: 0...80)
  func lengths(_ length: Int) throws {
    for content in [
      String(repeating: "x", count: length), String(repeating: "é", count: length / 2),
      "日" + String(repeating: " ", count: length),
    ] {
      #expect(
        try read("\(content),b\r\n\(content)\n") == [
          [content.isEmpty ? nil : content, "b"], [content.isEmpty ? nil : content],
        ])
      let quoted = "\"\(content),\n\"\"\(content)\r\0\(content)\""
      let inside = "\(content),\n\"\(content)\r\0\(content)"
      #expect(try read("\(quoted),\(quoted)\n1") == [[inside, inside], ["1"]])
      // Whatever precedes it, a byte that must not be there is found.
      let column = content.utf8.count + 1
      for (text, place) in [
        ("\(content)x\"", column + 1), ("\(content)\0", column), ("\"\(content)", 1), ("\"\(content)\"x", column + 2),
      ] {
        let error = #expect(throws: PersistentStoreError.self) { try read(text) }
        #expect(error?.code == .malformed && error?.location.column == place, "\(text): \(String(describing: error))")
      }
      for wrong in [[0x80], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE0, 0x9F, 0x80]] as [[UInt8]] {
        for end in ["", ",b", String(repeating: "y", count: 70)] {
          let bytes = Array(content.utf8) + wrong + Array(end.utf8)
          let error = #expect(throws: PersistentStoreError.self) { try read(bytes) }
          #expect(error?.location.column == column, "\(bytes): \(String(describing: error))")
        }
      }
    }
  }

  @Test("records of random bytes are split as byte by byte", arguments: [",", ";", "\t", "|"])
  func randomFields(_ delimiter: String) throws {
    var generator = SeededGenerator(state: 3)
    let content = ["a", " ", "\t", ",", ";", "|", "+", "!", "\u{1}", "\u{1F}", "~", "\u{7F}", "é", "日"]
    let contentAlone = content.filter { $0 != delimiter }
    for _ in 0..<3000 {
      var expected: [[String?]] = []
      var text = ""
      let ending = ["\n", "\r", "\r\n"].randomElement(using: &generator) ?? "\n"
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let record = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
          let isPlain = Bool.random(using: &generator)
          return (0..<Int.random(in: 0...40, using: &generator)).map { _ in
            isPlain ? "x" : contentAlone.randomElement(using: &generator) ?? ""
          }.joined()
        }
        expected.append(record.map { $0.isEmpty ? nil : $0 })
        text += record.joined(separator: delimiter) + ending
      }
      #expect(
        try read(text, CSVDialect(delimiter: try #require(delimiter.utf8.first))) == expected,
        "\(text.debugDescription)")
    }
  }

  @Test("each delimiter splits, and the others are content", arguments: [",", ";", "\t", "|"])
  func delimiters(_ delimiter: String) throws {
    let dialect = CSVDialect(delimiter: try #require(delimiter.utf8.first))
    let others = [",", ";", "\t", "|"].filter { $0 != delimiter }.joined()
    #expect(try read("1\(delimiter)x\(others)y\n", dialect) == [["1", "x\(others)y"]])
  }

  @Test(
    "invalid input is refused with its location",
    arguments: [
      ("a\n b,\"c\nd", 2, 4), ("\"a\"b", 1, 4), ("x,\"a\nb\" ,c", 2, 3), ("a\nb\"c", 2, 2), ("a,b\0", 1, 4),
    ])
  func refuses(_ text: String, _ line: Int, _ column: Int) throws {
    let error = try #require(throws: PersistentStoreError.self) { try read(text) }
    #expect(error.code == .malformed)
    #expect(error.location.line == line)
    #expect(error.location.column == column)
  }

  @Test(
    "bytes that are not UTF-8 are refused with their location",
    arguments: [
      ([0x61, 0x2C, 0xFF], 1, 3), ([0x61, 0x0A, 0x62, 0xC3], 2, 2), ([0x22, 0x0A, 0xC0, 0x80, 0x22], 2, 1),
      ([0xED, 0xA0, 0x80], 1, 1), ([0xF4, 0x90, 0x80, 0x80], 1, 1), ([0xE0, 0x80, 0x80], 1, 1),
      ([0x41, 0x80], 1, 2), ([0xF0, 0x9F, 0x98, 0x2C], 1, 1), ([0xFE, 0xFF, 0x00, 0x41], 1, 1),
      ([0xFF, 0xFE, 0x41, 0], 1, 1),
    ] as [([UInt8], Int, Int)])
  func refusesBytes(_ bytes: [UInt8], _ line: Int, _ column: Int) throws {
    let error = try #require(throws: PersistentStoreError.self) { try read(bytes) }
    #expect(error.code == .malformed)
    #expect(error.location.line == line)
    #expect(error.location.column == column)
  }

  @Test(
    "a delimiter that cannot be distinguished from content is refused",
    arguments: [0x22, 0x0A, 0x0D, 0x00, 0x80] as [UInt8])
  func refusesDelimiter(_ byte: UInt8) throws {
    #expect(throws: PersistentStoreError.self) { try read("a", CSVDialect(delimiter: byte)) }
  }

  @Test("a field has its line and column, with any line ending")
  func places() throws {
    let bytes = Array("\"a\nb\",c\r\nd\re".utf8)
    try bytes.withUnsafeBufferPointer { (buffer) throws in
      var reader = try CSVReader(buffer, dialect: .comma)
      var places: [[Int]] = []
      while let field = try reader.nextField() { places.append([field.line, field.column]) }
      #expect(places == [[1, 1], [2, 4], [3, 1], [4, 1]])
    }
  }

  @Test(
    "the dialect is guessed from the first record",
    arguments: [
      ("a;b;c\n1,2;3", 0x3B), ("a,b\n", 0x2C), ("\"a;;;\",b", 0x2C), ("a\tb", 0x09), ("a|b|c,d", 0x7C), ("", 0x2C),
      ("a,b;c", 0x2C),
    ] as [(String, UInt8)])
  func detects(_ text: String, _ delimiter: UInt8) {
    let found = Array(text.utf8).withUnsafeBufferPointer { CSVDialect.detect($0) }
    #expect(found.delimiter == delimiter)
  }
}

private let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared/corpus/csv")
private let corpusFiles =
  ((try? FileManager.default.contentsOfDirectory(at: corpus, includingPropertiesForKeys: nil)) ?? [])
  .sorted { $0.path < $1.path }

@Suite("CSV corpus", .enabled(if: !corpusFiles.isEmpty, "the corpus is not on this machine"))
struct CSVCorpusTests {
  @Test("a real file is read or refused with a location", arguments: corpusFiles)
  func readsOrRefuses(_ file: URL) throws {
    let bytes = [UInt8](try Data(contentsOf: file))
    let dialect = bytes.withUnsafeBufferPointer { CSVDialect.detect($0) }
    do {
      let records = try read(bytes, dialect)
      #expect(bytes.isEmpty || !records.isEmpty)
    } catch let error as PersistentStoreError {
      #expect(error.code == .malformed)
      #expect(error.location.line != nil && error.location.column != nil)
    }
  }

  @Test(
    "the spectrum's files have the values its JSON says",
    arguments: corpusFiles.filter {
      $0.lastPathComponent.contains("csv-spectrum__csvs")
    })
  func spectrum(_ file: URL) throws {
    let json = file.lastPathComponent.replacingOccurrences(of: "__csvs~", with: "__json~")
      .replacingOccurrences(of: ".csv", with: ".json")
    let data = try Data(contentsOf: corpus.appendingPathComponent(json))
    // One of the JSON files wraps its rows, another has the line ends that its CSV lost in a checkout.
    let parsed = try JSONSerialization.jsonObject(with: data)
    guard let rowsOfJSON = parsed as? [[String: String]] else { return }
    let expected = rowsOfJSON.map { $0.mapValues { $0.replacingOccurrences(of: "\r\n", with: "\n") } }
    let records = try read([UInt8](try Data(contentsOf: file)))
    let header = try #require(records.first).map { $0 ?? "" }
    let rows = records.dropFirst().map { record in
      Dictionary(
        uniqueKeysWithValues: zip(header, record.map { ($0 ?? "").replacingOccurrences(of: "\r\n", with: "\n") }))
    }
    #expect(Array(rows) == expected)
  }
}
