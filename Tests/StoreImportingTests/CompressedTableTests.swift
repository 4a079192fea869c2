import AtomicStoreSPI
import Foundation
import StoreCodecs
import StoreImporting
import Testing

@Suite("Importing compressed tables and archives") struct CompressedTableTests {
  /// A program's output for an input.
  private static func run(_ program: String, _ arguments: [String], _ input: [UInt8]) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let (standardInput, output) = (Pipe(), Pipe())
    process.standardInput = standardInput
    process.standardOutput = output
    try process.run()
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input))
    try standardInput.fileHandleForWriting.close()
    let bytes = Array(try output.fileHandleForReading.readToEnd() ?? Data())
    process.waitUntilExit()
    return bytes
  }

  private static func gzip(_ text: String) throws -> [UInt8] { try run("/usr/bin/gzip", ["-c"], Array(text.utf8)) }

  /// An archive of members that are not compressed, as `zip -0` makes it.
  private static func archive(_ members: [(name: String, text: String)], flags: UInt8 = 0) -> [UInt8] {
    var bytes: [UInt8] = []
    var list: [UInt8] = []
    func number(_ value: Int, _ width: Int) -> [UInt8] { (0..<width).map { UInt8(value >> (8 * $0) & 0xFF) } }
    for (name, text) in members {
      let content = Array(text.utf8)
      let sizes = number(checksum(content), 4) + number(content.count, 4) + number(content.count, 4)
      let common = number(20, 2) + [flags, 0] + number(0, 2) + number(0, 4) + sizes + number(name.utf8.count, 2)
      list += [0x50, 0x4B, 1, 2] + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) + number(0, 2)
      list += number(0, 4) + number(bytes.count, 4) + Array(name.utf8)
      bytes += [0x50, 0x4B, 3, 4] + common + number(0, 2) + Array(name.utf8) + content
    }
    let end = [0x50, 0x4B, 5, 6] + number(0, 4) + number(members.count, 2) + number(members.count, 2)
    return bytes + list + end + number(list.count, 4) + number(bytes.count, 4) + number(0, 2)
  }

  private static func checksum(_ bytes: [UInt8]) -> Int {
    var value: UInt32 = .max
    for byte in bytes {
      value ^= UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
    return Int(~value)
  }

  private static func message(_ bytes: [UInt8], _ importer: StoreImporter = StoreImporter()) -> String {
    do {
      _ = try importer.read([ImportSource(bytes: bytes, name: "t.csv.gz", entityName: "T")])
      return "nothing"
    } catch {
      return "\(error)"
    }
  }

  @Test("what is compressed is found from the content, and named without its extension")
  func compressed() throws {
    for name in ["people.csv.gz", "people.csv"] {
      let source = ImportSource(bytes: try Self.gzip("id,name\n1,Ann\n"), name: name)
      let result = try StoreImporter().read([source])
      #expect(result.tables[0].entityName == "Person" && result.nodes.count("Person") == 1)
      #expect(result.tables[0].file == name)
    }
    // Several members are one table, as `cat a.gz b.gz` makes them.
    let both = try Self.gzip("id,name\n1,Ann\n") + Self.gzip("2,Bob\n")
    #expect(try StoreImporter().read([ImportSource(bytes: both, name: "p.csv.gz")]).tables[0].count == 2)
    let lines = try Self.gzip("{\"id\": 1}\n{\"id\": 2}\n")
    #expect(try StoreImporter().read([ImportSource(bytes: lines, name: "p.ndjson.gz")]).tables[0].count == 2)
    let tabs = try Self.gzip("id\ta,b\n1\tx\n")
    #expect(try StoreImporter().read([ImportSource(bytes: tabs, name: "p.tsv.gz")]).tables[0].keyColumns == ["id"])
  }

  @Test("problems have the line of the table, and rejected records are not compressed")
  func problemsOfCompressed() throws {
    var importer = StoreImporter()
    importer.rejectsBadRecords = true
    let source = ImportSource(bytes: try Self.gzip("id,n\n1,a\n1,b\n"), name: "p.csv.gz")
    let result = try importer.read([source])
    #expect(result.problems.map { "\($0)" } == ["p.csv.gz:3:1 (P.id): another record has the key '1': line 2"])
    #expect(String(decoding: result.tables[0].rejected, as: UTF8.self) == "id,n\n1,b\n")
  }

  @Test("damage is refused and named")
  func damaged() throws {
    let whole = try Self.gzip("id,name\n" + (1...200).map { "\($0),Ann\n" }.joined())
    #expect(Self.message(Array(whole.dropLast(12))).contains("truncated"))
    var wrong = whole
    wrong[wrong.count - 6] ^= 0xFF
    #expect(Self.message(wrong).contains("checksum"), "\(Self.message(wrong))")
    #expect(Self.message(whole + [1, 2, 3]).contains("bytes follow"))
    #expect(Self.message(try Self.run("/usr/bin/gzip", ["-c"], whole)).contains("compressed with gzip twice"))
  }

  @Test("a table that expands beyond the limit is refused; a greater limit takes it")
  func bomb() throws {
    let text = "id,name\n" + String(repeating: "\n", count: 40 << 20)
    let bomb = try Self.gzip(text)
    #expect(Self.message(bomb).contains("maximumMemory"), "\(Self.message(bomb))")
    let small = try Self.gzip("id,name\n" + String(repeating: "\n", count: 2 << 20))
    var importer = StoreImporter()
    importer.limits.memory = 1 << 20
    #expect(Self.message(small, importer).contains("maximumMemory"))
    importer.limits.memory = 4 << 20
    #expect(Self.message(small, importer) == "nothing")
  }

  @Test("the members of an archive are separate tables, and what is not a table is noted")
  func members() throws {
    let archive = Self.archive([
      ("data/authors.csv", "id,name\n1,Zola\n"), ("data/books.csv", "id,title,author_id\n1,Nana,1\n2,x,9\n"),
      ("README.txt", "read me"), ("__MACOSX/data/._authors.csv", "x"),
    ])
    var importer = StoreImporter()
    importer.rejectsBadRecords = true
    let result = try importer.read([ImportSource(bytes: archive, name: "lib.zip")])
    #expect(result.tables.map(\.entityName) == ["Author", "Book"])
    #expect(try result.nodes.value("Book", 1, "author") == toOne("Author", 1))
    #expect(result.notes.map(\.description).contains("lib.zip: members that are not tables: README.txt (1)"))
    #expect(result.problems.map(\.file) == ["lib.zip/data/books.csv"])
    let twice = Self.archive([("P.csv", "id\n1\n"), ("x/P.csv", "id\n2\n")])
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try StoreImporter().read([ImportSource(bytes: twice, name: "d.zip")])
    }
    #expect(error.message.hasSuffix("for parts of one table, unpack the archive and say P=FILE,FILE"), "\(error)")
    let parts = Self.archive([("a.csv", "id,n\n1,x\n"), ("b.csv", "id,n\n2,y\n")])
    let one = try StoreImporter().read([ImportSource(bytes: parts, name: "t.zip", entityName: "T")])
    #expect(one.nodes.count("T") == 2)
  }

  @Test(
    "archives that are damaged, or made to deceive, are refused with the name of the member",
    arguments: ["encrypted", "traversal", "absolute", "checksum", "truncated", "sheet", "none", "overlap"])
  func refusedArchives(_ what: String) throws {
    let table = [("a.csv", "id,n\n1,x\n")]
    var archive = Self.archive(table)
    switch what {
    case "encrypted": archive = Self.archive(table, flags: 1)
    case "traversal": archive = Self.archive([("../a.csv", "id\n1\n")])
    case "absolute": archive = Self.archive([("/etc/a.csv", "id\n1\n")])
    case "checksum":
      let place = try #require(archive.firstIndex(of: UInt8(ascii: "x")))
      archive[place] = UInt8(ascii: "y")
    case "truncated": archive.removeLast(30)
    case "sheet": archive = Self.archive([("[Content_Types].xml", "<x/>"), ("xl/workbook.xml", "<x/>")])
    case "none": archive = Self.archive([("a.txt", "x")])
    default:
      // The second entry of the list leads to the first member.
      archive = Self.archive([("a.csv", "id,n\n1,x\n"), ("a.csv", "id,n\n1,x\n")])
      let second = archive.count - 22 - 51 + 42
      for index in 0..<4 { archive[second + index] = 0 }
    }
    let expected = [
      "encrypted": "the member 'a.csv' is encrypted", "traversal": "the member '../a.csv' has a path",
      "absolute": "the member '/etc/a.csv' has a path", "checksum": "the member 'a.csv': does not have the checksum",
      "truncated": "truncated", "sheet": "a spreadsheet", "none": "no CSV or JSON table, but a.txt",
      "overlap": "share bytes",
    ]
    #expect(Self.message(archive).contains(expected[what] ?? "?"), "\(Self.message(archive))")
  }
}
