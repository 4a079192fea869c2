import AtomicStoreSPI
import Foundation
import StoreImporting
import Testing

@Suite("Leaving bad records out") struct RejectionTests {
  private static func importer() throws -> StoreImporter {
    func many(_ name: String, _ to: String, _ inverse: String, _ count: Int = 0) -> PropertyDescription {
      .relationship(
        RelationshipDescription(name: name, destinationEntityName: to, inverseName: inverse, maximumCount: count))
    }
    let name = PropertyDescription.attribute(AttributeDescription(name: "name", type: .string))
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item", properties: [name, many("tags", "Tag", "items"), many("team", "Team", "members", 1)]),
        EntityDescription(name: "Tag", properties: [name, many("items", "Item", "tags")]),
        EntityDescription(name: "Team", properties: [name, many("members", "Item", "team")]),
      ]))
    importer.rejectsBadRecords = true
    return importer
  }

  /// A text in an encoding, with a mark or without.
  private static func bytes(_ text: String, _ encoding: TextConventions.Encoding, isMarked: Bool) -> [UInt8] {
    switch encoding {
    case .utf8: (isMarked ? [0xEF, 0xBB, 0xBF] : []) + Array(text.utf8)
    case .utf16: Array((isMarked ? "\u{FEFF}" + text : text).utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
    case .latin1, .windows1252:
      text.unicodeScalars.map { $0 == "€" ? 0x80 : UInt8(truncatingIfNeeded: $0.value) }
    }
  }

  @Test(
    "records that are left out have the bytes of their table: encoding, mark and line ends",
    arguments: TextConventions.Encoding.allCases, ["\n", "\r\n"])
  func encoding(_ encoding: TextConventions.Encoding, _ end: String) throws {
    var importer = try Self.importer()
    importer.conventions.encoding = encoding
    let money = encoding == .latin1 ? "£" : "€"
    for isMarked in [false, true] {
      func bytes(_ lines: String...) -> [UInt8] {
        Self.bytes(lines.map { $0 + end }.joined(), encoding, isMarked: isMarked)
      }
      let table = bytes("id,name", "1,Grüße", "1,\"Öl \(money)\"", "2,é") + Self.bytes("2,ü", encoding, isMarked: false)
      let result = try importer.read([ImportSource(bytes: table, name: "items.csv")])
      #expect(result.tables[0].rejectedCount == 2)
      #expect(result.tables[0].rejected == bytes("id,name", "1,\"Öl \(money)\"", "2,ü"))
    }
  }

  @Test("pairs of a join table that are bad are left out alone, kept and reported; an empty key is one of them")
  func joins() throws {
    var importer = try Self.importer()
    let pairs = "item,tag\r\n1,1\r\n1,9\r\n,1\r\n9,2\r\n2,2\r\n2\r\n3,1\r\n"
    importer.joinTables = [
      .init(
        entityName: "Item", relationshipName: "tags", source: LibrarySample.source(pairs, "pairs.csv"),
        columns: ["item", "tag"])
    ]
    let tables = [
      LibrarySample.source("id,name\n1,a\n2,b\n3,c\n3,d\n", "items.csv"),
      LibrarySample.source("id,name\n1,x\n2,y\n9,z\n", "tags.csv"),
    ]
    // Tag 9 exists: 9,2 is bad, 1,9 is not.
    let result = try importer.read(tables)
    #expect(
      result.problems.map(\.description) == [
        "pairs.csv:4:1 (Item.tags): the key has no value",
        "items.csv:5:1 (Item.id): another record has the key '3': line 4",
        "pairs.csv:5:1 (Item.tags): there is no Item with the key '9'",
        "pairs.csv:7:1 (Item.tags): the record has 1 field, the header 2",
      ], "\(result.problems.map(\.description))")
    #expect(result.joinTables[0].count == 4 && result.joinTables[0].rejectedCount == 3)
    #expect(String(decoding: result.joinTables[0].rejected, as: UTF8.self) == "item,tag\r\n,1\r\n9,2\r\n2\r\n")
    #expect(try result.nodes.value("Item", 1, "tags") == toMany("Tag", 1, 9))
    #expect(try result.nodes.value("Item", 2, "tags") == toMany("Tag", 2))
    #expect(try result.nodes.value("Tag", 1, "items") == toMany("Item", 1, 3))
    importer.rejectsBadRecords = false
    #expect(try problems(importer, tables).count == 4)
  }

  @Test("ends that contradict each other are problems of their records; others are taken")
  func contradictions() throws {
    var importer = try Self.importer()
    let tables = [
      LibrarySample.source("id,name,team\n1,a,2\n2,b,3\n3,c,\n", "items.csv"),
      LibrarySample.source("id,name,members\n1,x,1\n2,y,\n3,z,2\n4,w,\n", "teams.csv"),
    ]
    let expected = [
      "items.csv:2 (Item/1.team): Team/2 is named here, but its 'members' does not name Item/1 back",
      "teams.csv:2 (Team/1.members): Item/1 is named here, but its 'team' does not name Team/1 back",
    ]
    let result = try importer.read(tables)
    #expect(
      result.problems.map { $0.description.split(separator: ":").dropLast().joined(separator: ":") } == expected,
      "\(result.problems.map(\.description))")
    #expect(result.tables.map(\.rejectedCount) == [1, 1])
    #expect(try result.nodes.value("Team", 3, "members") == toMany("Item", 2))
    #expect(result.nodes.count("Item") == 2 && result.nodes.count("Team") == 3)
    importer.rejectsBadRecords = false
    #expect(try problems(importer, tables).count == 2)
  }

  @Test("in a table of one column, \"\" is a missing value, and a blank line is skipped")
  func oneColumn() throws {
    let nodes = try Self.importer().read([LibrarySample.source("name\na\n\"\"\n\nc\n", "items.csv")]).nodes
    #expect(nodes.count("Item") == 3)
    #expect(try nodes.value("Item", 2, "name").isNull)
  }
}
