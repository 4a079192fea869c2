import AtomicStoreSPI
import Foundation
import StoreJSON
import TestSupport
import Testing

@testable import StoreImporting

@Suite("Members of JSON records") struct JSONMemberTests {
  /// Names that are alike, that are escaped, and that occur within objects.
  private static let names = ["a", "ab", "b", "a.b", "é", "ä", "\\u0061c", "x y", "\\\"", ""]

  /// A random record, and the values by column.
  private static func record(
    _ generator: inout SeededGenerator, depth: Int = 0, prefix: String = ""
  ) throws -> (text: String, fields: [String: String]) {
    var members: [String] = []
    var fields: [String: String] = [:]
    // Mostly in the same order.
    var order = names
    if Int.random(in: 0..<4, using: &generator) == 0 { order.shuffle(using: &generator) }
    for written in order where Int.random(in: 0..<5, using: &generator) > 0 {
      guard case .string(let name) = try JSONReader.read(Array("\"\(written)\"".utf8), name: "") else { continue }
      if depth < 2, !name.isEmpty, name.utf8.count < 3, Int.random(in: 0..<8, using: &generator) == 0 {
        let inner = try record(&generator, depth: depth + 1, prefix: prefix + name + ".")
        guard !inner.fields.keys.contains(where: { fields[$0] != nil }) else { continue }
        fields.merge(inner.fields) { $1 }
        members.append("\"\(written)\": \(inner.text)")
      } else if fields[prefix + name] == nil {
        let number = Int.random(in: 0..<1000, using: &generator)
        fields[prefix + name] = "\(number)"
        members.append("\"\(written)\":\(number)")
      }
    }
    return ("{\(members.joined(separator: ", "))}", fields)
  }

  private static func rows(
    _ bytes: [UInt8], _ known: JSONRecords? = nil
  ) throws -> (columns: [String], rows: [[String: String]], json: JSONRecords?) {
    try bytes.withUnsafeBufferPointer { bytes in
      var reader = try JSONRecordReader(bytes, nil, known)
      var record = ImportRecord()
      var rows: [[String: String]] = []
      while try reader.next(&record) {
        var row: [String: String] = [:]
        for (column, name) in reader.columns.enumerated() where record[column].kind != .absent {
          row[name] = record.withText(of: column, bytes) { ValueReader.text($0) }
        }
        rows.append(row)
      }
      return (reader.columns, rows, reader.json)
    }
  }

  @Test("strings are what Foundation reads, or an error where it has one", arguments: [1, 2] as [UInt64])
  func strings(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let texts = ["a", "bc", "é", "☃", " ", "!", "#", "[", "]", "\u{7F}", "\\n", "\\\"", "\\\\", "\\u00e9"]
    let pieces = texts.map { Array($0.utf8) }
    let wrong: [[UInt8]] = [[1], [0x1F], [0], [0xFF], [0x80], [0xC3], Array("\\x".utf8)]
    for _ in 0..<2000 {
      var text: [UInt8] = []
      for _ in 0..<Int.random(in: 0...30, using: &generator) {
        let isWrong = Int.random(in: 0..<60, using: &generator) == 0
        text += (isWrong ? wrong : pieces).randomElement(using: &generator) ?? []
      }
      let spaces = [UInt8](repeating: UInt8(ascii: " "), count: Int.random(in: 0...9, using: &generator))
      let whole = Array("[\"".utf8) + text + Array("\"".utf8) + spaces + Array("]".utf8)
      let expected = (try? JSONSerialization.jsonObject(with: Data(whole)) as? [Any])?.first as? String
      let found = try? JSONReader.read(whole, name: "")
      if let expected, case .array(let list)? = found, case .string(let string)? = list.first {
        #expect(Array(string.utf8) == Array(expected.utf8))
      } else {
        #expect(expected == nil && found == nil, "\(whole)")
      }
    }
  }

  @Test(
    "each has the value that its name has, in whatever order records have them, also where the records are known",
    arguments: (0..<60).share(of: "members of JSON records"))
  func order(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    var text = ""
    var wanted: [[String: String]] = []
    for _ in 0..<40 {
      let (line, fields) = try Self.record(&generator)
      text += line + "\n"
      wanted.append(fields)
    }
    let found = try Self.rows(Array(text.utf8))
    #expect(found.rows == wanted)
    let again = try Self.rows(Array(text.utf8), found.json)
    #expect(again.columns.elementsEqual(found.columns) { $0.utf8.elementsEqual($1.utf8) })
    #expect(again.rows == wanted)
  }

  @Test("a member that occurs twice is an error also if the record before had it once")
  func twice() throws {
    let bytes = Array(#"{"a":1,"b":2}"#.utf8 + [UInt8(ascii: "\n")] + #"{"a":1,"b":2,"a":3}"#.utf8)
    #expect(throws: PersistentStoreError.self) { _ = try Self.rows(bytes) }
  }

  private static let texts: [(text: String, rows: [[String: String]])] = [
    ("\u{FEFF}{\"a\":1}\r\n\r\n{\"a\":\"b\"}", [["a": "1"], ["a": "b"]]),
    (" [\n{\"a\"\n:\n1\n,\"b\":null}\n,\r\n{}]\n", [["a": "1", "b": ""], [:]]),
    (#"{"a":"\n\u00e9\ud83d\ude00\"\\\/","b":"é"} {"a":"\u0000"}"#, [["a": "\né😀\"\\/", "b": "é"], ["a": "\0"]]),
    (
      #"{"a":123456789012345678901234567890,"b":0.1234567890123456789012345678901234567890,"c":-1E+2}"#,
      [["a": "123456789012345678901234567890", "b": "0.1234567890123456789012345678901234567890", "c": "-1E+2"]]
    ),
    (#"{"a":{"b":{"\u0062":1}},"c":[1, ["x"]]}"#, [["a.b.b": "1", "c": #"[1, ["x"]]"#]]),
    (#"{"a":{"b":1}}{"a":null}{"a.b":2}{"a":{}}"#, [["a.b": "1"], ["a": "", "a.b": ""], ["a.b": "2"], [:]]),
    ("  \n", []), ("[ ]", []),
  ]

  @Test("each has the text that is written, whatever is around the records, at each reading", arguments: texts.indices)
  func values(_ index: Int) throws {
    let (text, rows) = Self.texts[index]
    let found = try Self.rows(Array(text.utf8))
    #expect(found.rows == rows)
    #expect(try Self.rows(Array(text.utf8), found.json).rows == rows)
  }

  private static let damaged: [(text: String, problems: [String])] = [
    (
      "{\"id\":1,\"a\":1,\"a\":2}\n{\"id\":2,\"a\":3}\n",
      ["1:15 (R): the member 'a' occurs twice in the object"]
    ),
    (
      "[{\"id\":1,\"a\":1},\n {\"id\":2,\n  \"a\": \"x\",\n  \"\\u0061\": 3},\n{\"id\":3,\"a\":4}]",
      ["4:3 (R): the member 'a' occurs twice in the object"]
    ),
    (
      "{\"id\":1,\n\"n\":01}\r\nx\n{\"id\":2,\"n\":\"\\ud800\"}\n{\"id\":3} {\"id\":4,}\n{\"id\":5,\"n\":",
      [
        "2:7 (R): a JSON number does not begin with 0: a code with leading zeros is a text in quotes",
        "3:1 (R): a record is a JSON object", "4:20 (R): half of a surrogate pair",
        "5:18 (R): the name of a member is missing", "6:13 (R): a value is missing",
      ]
    ),
    ("[{\"id\":1},\n{\"id\":2} {\"id\":3}]", ["2:10 (R): ',' or ']' is missing"]),
    ("[{\"id\":1},\n{\"id\":2}\n", ["3:1 (R): ',' or ']' is missing"]),
    ("[{\"id\":1},\n", ["2:1 (R): the array is never closed"]),
    ("[{\"id\":1}]\n x", ["2:2 (R): text follows the end of the array"]),
    ("[{\"id\":1},\n5,{\"id\":]", ["2:1 (R): a record is a JSON object"]),
    (
      "[{\"id\":1,\"n\":1},\n{\"id\":2,\n\"o\":{\"m\":1},\n\"n\":[1,\n2]},\n{\n\"id\":\"1\"}]",
      ["7:6 (R.id): another record has the key '1': line 1"]
    ),
    (
      String(repeating: "{\"a\":", count: 33) + "1" + String(repeating: "}", count: 33),
      ["1:161 (R): objects are nested more than 32 deep"]
    ),
  ]

  @Test("what is wrong with records is said with line and column, for all of them", arguments: damaged.indices)
  func problems(_ index: Int) throws {
    let (text, problems) = Self.damaged[index]
    let source = ImportSource(bytes: Array(text.utf8), name: "R.ndjson")
    let error = #expect(throws: ImportError.self) { try StoreImporter().read([source]) }
    #expect(error?.problems.map(\.description) == problems.map { "R.ndjson:" + $0 })
  }

  @Test("columns whose names repeat a long one are refused before they take more memory than the table")
  func longNames() throws {
    let members = (0..<500).map { "\"m\($0)\":1" }.joined(separator: ",")
    let text = "{\"" + String(repeating: "n", count: 20_000) + "\": {\(members)}}"
    let error = #expect(throws: PersistentStoreError.self) { try Self.rows(Array(text.utf8)) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("the names of the members have more than"))
  }

  @Test("a record that is bad because names need too much memory is bad for that reason when it is read again")
  func longNamesAgain() throws {
    // The last name is the first one that does not fit.
    let members = (0..<210).map { "\"m\($0)\":1" }.joined(separator: ",")
    let source = ImportSource(
      bytes: Array(("{\"" + String(repeating: "n", count: 20_000) + "\": {\(members)}}").utf8), name: "R.ndjson")
    let error = #expect(throws: ImportError.self) { try StoreImporter().read([source]) }
    #expect(error?.problems.map(\.message) == ["the names of the members have more than 4194304 bytes"])
  }

  @Test("each bad record has its own error, also after others, and names of members that only bad ones have")
  func manyBad() throws {
    let lines = (0..<300).map { "{\"id\":\($0),\"a\($0)\":1,\"a\($0 % 7)\":2,\"a\($0)\":3}" }
    let source = ImportSource(bytes: Array(lines.joined(separator: "\n").utf8), name: "R.ndjson")
    var importer = StoreImporter()
    importer.maximumProblemCount = 1000
    let error = #expect(throws: ImportError.self) { try importer.read([source]) }
    #expect(error?.problems.map(\.message) == (0..<300).map { "the member 'a\($0)' occurs twice in the object" })
    #expect(error?.problems.map(\.line) == (1...300).map { $0 })
  }

  private static let records = (0..<1000).map { "{\"a\":\($0),\"b\":1}" }.joined(separator: "\n")

  @Test(
    "positions of JSON records count as memory, of all tables and join tables together, also those of bad records",
    arguments: [
      (["R.ndjson": records], 64_000), (["R.ndjson": records, "S.ndjson": records], 128_000),
      (["R.ndjson": String(repeating: "{x\n", count: 1000)], 40_000),
    ])
  func memory(tables: [String: String], bytes: Int) throws {
    let sources = tables.sorted { $0.key < $1.key }.map { ImportSource(bytes: Array($0.value.utf8), name: $0.key) }
    /// The table whose records exceed a limit.
    func refused(_ limit: Int?) throws -> String? {
      var importer = StoreImporter()
      importer.limits.memory = limit
      do {
        _ = try importer.read(sources)
      } catch let error as PersistentStoreError where error.code == .limitExceeded {
        return error.message.contains("positions of JSON records") ? error.location.file : nil
      } catch is ImportError {
      }
      return nil
    }
    #expect(try refused(1) == "R.ndjson")
    #expect(try refused(bytes - 1) == sources.last?.name)
    // With the names of the columns. Values have the limit for themselves.
    #expect(try refused(bytes + 2 * tables.count) == nil)
    #expect(try refused(nil) == nil)
  }

  @Test("a join table of JSON records has what their tables leave of the memory")
  func memoryOfJoin() throws {
    let join = (0..<1000).map { "{\"p\":\($0 % 9),\"c\":\($0)}" }.joined(separator: "\n")
    let rows = (0..<1000).map { "{\"id\":\($0)}" }.joined(separator: "\n")
    var importer = StoreImporter()
    importer.joinTables = [
      .init(
        entityName: "P", relationshipName: "cs", source: ImportSource(bytes: Array(join.utf8), name: "j.ndjson"),
        columns: ["p", "c"], destinationEntityName: "C")
    ]
    let sources = ["P", "C"].map { ImportSource(bytes: Array(rows.utf8), name: $0 + ".ndjson") }
    importer.limits.memory = 52_000 * 2 + 64_000 - 1
    let error = #expect(throws: PersistentStoreError.self) { try importer.read(sources) }
    #expect(error?.code == .limitExceeded && error?.location.file == "j.ndjson")
    importer.limits.memory = 200_000
    #expect(try importer.read(sources).nodes.count == 2000)
  }
}
