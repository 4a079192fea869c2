import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

/// Look-alikes of what Core Data wrote, one for each thing that the evidence says of its format.
@Suite("Core Data's XML format")
struct XMLStoreFormatTests {
  static let library = ##"""
        <object type="BOOK" id="z102">
            <attribute name="title" type="string">Ein Buch</attribute>
            <attribute name="pages" type="int16">-7</attribute>
            <attribute name="sold" type="int32">70000</attribute>
            <attribute name="number" type="int64">5000000000</attribute>
            <attribute name="isread" type="bool">1</attribute>
            <attribute name="weight" type="float">7</attribute>
            <attribute name="printed" type="date">318303557.02173602581024169922</attribute>
            <attribute name="cover" type="binary">AAEC
    </attribute>
            <attribute name="subtitle" type="string"></attribute>
            <relationship name="author" type="1/1" destination="PERSON" idrefs="z103"></relationship>
            <relationship name="readers" type="0/0" destination="PERSON" idrefs="z104 z103"></relationship>
        </object>
        <object type="PERSON" id="z103">
            <attribute name="name" type="string">Ann</attribute>
            <relationship name="works" type="0/0" destination="BOOK" idrefs="z102"></relationship>
            <relationship name="friend" type="1/1" destination="PERSON"></relationship>
        </object>
        <object type="PERSON" id="z104">
            <relationship name="works" type="0/0" destination="BOOK"></relationship>
            <relationship name="friend" type="1/1" destination="PERSON" idrefs="z104"></relationship>
        </object>
    """##

  static let metadata = """
    <metadata>
                <plist version="1.0">
                    <dict>
                        <key>BuildNumber</key>
                        <integer>591</integer>
                        <key>NSPersistenceFrameworkVersion</key>
                        <integer>640</integer>
                        <key>NSStoreModelVersionHashes</key>
                        <dict>
                            <key>Book</key>
                            <data>
    \t\tsUkYhaNoBrCwKhR37oCWF3oMlJ+X/0EWvkqloP0feV8=
    \t\t</data>
                            <key>Person</key>
                            <data>
    \t\tuULbh3iyp5BG3KMX6idGxJMAibcC6yucan0Z01ggiIM=
    \t\t</data>
                        </dict>
                        <key>NSStoreModelVersionIdentifiers</key>
                        <array></array>
                    </dict>
                </plist>
            </metadata>
    """

  static func value(_ nodes: NodeTable, _ object: String, _ property: String) -> StoredValue? {
    XMLSupport.values(nodes)["\(object).\(property)"]
  }

  @Test("types, destinations and cardinality are in the file, and the metadata gives names their case back")
  func infersModel() throws {
    let opened = try XMLSupport.open(XMLSupport.document(Self.library, metadata: Self.metadata))
    let book = try #require(opened.nodes.model.entity(named: "Book"))
    let types = book.slots.filter { !$0.isRelationship }.map { "\($0.name) \($0.kindDescription)" }
    #expect(
      types == [
        "cover Binary", "isread Boolean", "number Integer 64", "pages Integer 16", "printed Date", "sold Integer 32",
        "subtitle String", "title String", "weight Float",
      ])
    #expect(
      book.slots.filter(\.isRelationship).map { "\($0.name) \($0.kindDescription)" }
        == ["author to-one Person", "readers to-many Person"])
    #expect(opened.metadata.model?.isInferred == true)
    #expect(opened.metadata.lastReference == 200)
    #expect(opened.metadata.uuid.uuidString == "B4FC79D0-E654-43EF-9020-A5273B3F104A")
    #expect(opened.metadata.entries["BuildNumber"] == .integer(591))
    #expect(opened.metadata.entries["AtomicStoreModel"] == nil)
  }

  @Test("each type's text is the value")
  func readsValues() throws {
    let nodes = try XMLSupport.open(XMLSupport.document(Self.library, metadata: Self.metadata)).nodes
    let values = XMLSupport.values(nodes)
    #expect(values["Book/102.title"] == .string("Ein Buch"))
    #expect(values["Book/102.pages"] == .integer(-7))
    #expect(values["Book/102.sold"] == .integer(70000))
    #expect(values["Book/102.number"] == .integer(5_000_000_000))
    #expect(values["Book/102.isread"] == .boolean(true))
    #expect(values["Book/102.weight"] == .float(7))
    #expect(values["Book/102.printed"] == .date(Date(timeIntervalSinceReferenceDate: 318303557.02173602581024169922)))
    #expect(values["Book/102.cover"] == .data(Data([0, 1, 2])))
    #expect(values["Book/102.subtitle"] == .string(""))
    #expect(values["Person/104.name"] == .null)
    #expect(values["Book/102.author"] == .toOne(ObjectReference(entityName: "Person", reference: .integer(103))))
    #expect(values["Person/103.friend"] == .null)
    #expect(
      values["Book/102.readers"]
        == .toMany([104, 103].map { ObjectReference(entityName: "Person", reference: .integer($0)) }))
  }

  @Test(
    "a file is written back as it was, except for the order of properties",
    arguments: [
      #"<?xml version="1.0"?>"#, #"<?xml version="1.0" standalone="no"?>"#, #"<?xml version="1.0" standalone="yes"?>"#,
    ])
  func writesBack(_ declaration: String) throws {
    let document = XMLSupport.document(Self.library, metadata: Self.metadata, declaration: declaration)
    let written = try XMLSupport.text(of: try XMLSupport.open(document))
    #expect(XMLStoreCorpusTests.normalized(written) == XMLStoreCorpusTests.normalized(document))
    #expect(try XMLSupport.text(of: try XMLSupport.open(written)) == written)
  }

  @Test("empty metadata stay empty")
  func emptyMetadata() throws {
    let document = XMLSupport.document("")
    let opened = try XMLSupport.open(document)
    #expect(opened.metadata.entries.isEmpty)
    #expect(opened.nodes.count == 0)
    #expect(try XMLSupport.text(of: opened) == document)
  }

  @Test("self-closing tags, comments and a byte order mark are read")
  func tolerates() throws {
    let text = XMLSupport.document(
      """
        <!-- by hand -->
        <object type="A" id="z1"><attribute name="t" type="string"/><relationship name="r" type="0/1" destination="A"/></object>
      """, metadata: "<metadata/>")
    let utf8 = try XMLSupport.open([0xEF, 0xBB, 0xBF] + Array(text.utf8))
    #expect(Self.value(utf8.nodes, "A/1", "t") == .string(""))
    let wide = Data(text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
    let utf16 = try XMLSupport.open([0xFF, 0xFE] + Array(wide))
    #expect(XMLSupport.exact(utf16.nodes) == XMLSupport.exact(utf8.nodes))
  }

  @Test("nextObjectID is the last one handed out, and never below an object's", arguments: [(5, 102), (500, 500)])
  func lastReference(_ stated: Int, _ written: Int) throws {
    let document = XMLSupport.document(#"<object type="A" id="z102"></object>"#, last: stated)
    #expect(try XMLSupport.text(of: try XMLSupport.open(document)).contains("<nextObjectID>\(written)</nextObjectID>"))
  }

  // MARK: Text

  @Test(
    "text is escaped unit by unit, the low byte first",
    arguments: [
      ("a\\b", #"a\\b"#), ("<>&", #"\u3c00\u3e00\u2600"#), ("\u{FF01}", #"\u01ff"#), ("\u{FF0C}", #"\u0cff"#),
      ("\u{FEFF}", #"\ufffe"#), ("\u{FFFF}", #"\uffff"#), ("\u{FFFE}", #"\ufeff"#), ("\r", #"\u0d00"#),
      ("\r\n", "\\u0d00\n"), ("\0", #"\u0000"#), ("\u{1F}", #"\u1f00"#), ("\u{1F600}", #"\u3dd8\u00de"#),
      ("\u{10FFFF}", #"\uffdb\uffdf"#), (#"\u3c00"#, #"\\u3c00"#), (#"\/"#, #"\\/"#),
      ("\t\n\"'", "\t\n\"'"),
      ("é e\u{301} ÿ Ω か 漢 \u{2B50}\u{FE0F} \u{FEFE}", "é e\u{301} ÿ Ω か 漢 \u{2B50}\u{FE0F} \u{FEFE}"),
      ("\u{7F}\u{85}\u{2028}", "\u{7F}\u{85}\u{2028}"), (" a ", " a "), ("]]>", #"]]\u3e00"#),
    ])
  func escapes(_ value: String, _ text: String) throws {
    let document = XMLSupport.document(
      """
          <object type="A" id="z1">
              <attribute name="t" type="string">\(text)</attribute>
          </object>
      """)
    let opened = try XMLSupport.open(document)
    #expect(Self.value(opened.nodes, "A/1", "t") == .string(value))
    let written = try XMLSupport.bytes(of: opened)
    #expect(written == Array(document.utf8))
  }

  @Test("upper-case digits are read too") func upperCaseEscapes() throws {
    let document = XMLSupport.document(
      #"<object type="A" id="z1"><attribute name="t" type="string">\u3C00</attribute></object>"#)
    #expect(Self.value(try XMLSupport.open(document).nodes, "A/1", "t") == .string("<"))
  }

  @Test(
    "binary data are broken once, after 76 characters, but not where there are just 76",
    arguments: [0, 1, 3, 54, 55, 56, 57, 58, 114, 1000])
  func wrapsBinary(_ count: Int) throws {
    let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) })
    let base64 = data.base64EncodedString()
    var text = String(base64.prefix(76))
    if count > 0, base64.count != 76 { text += "\n" }
    if count > 57 { text += base64.dropFirst(76) + "\n" }
    let document = XMLSupport.document(
      """
          <object type="A" id="z1">
              <attribute name="d" type="binary">\(text)</attribute>
          </object>
      """)
    let opened = try XMLSupport.open(document)
    #expect(Self.value(opened.nodes, "A/1", "d") == .data(data))
    #expect(try XMLSupport.text(of: opened) == document)
  }

  @Test("an object without any property is on one line, as Core Data has it")
  func objectWithoutProperties() throws {
    let document = XMLSupport.document(
      """
          <object type="A" id="z1"></object>
          <object type="B" id="z2">
              <attribute name="t" type="string">x</attribute>
          </object>
          <object type="B" id="z3"></object>
          <object type="C" id="z4">
              <relationship name="r" type="0/1" destination="C"></relationship>
          </object>
      """)
    #expect(try XMLSupport.text(of: try XMLSupport.open(document)) == document)
  }

  @Test("twelve million bytes in one attribute go through")
  func largeBinary() throws {
    var opened = try XMLSupport.open(
      XMLSupport.document(#"<object type="A" id="z1"><attribute name="d" type="binary">AAEC</attribute></object>"#))
    let data = Data(repeating: 0x5A, count: 12_000_000)
    try opened.nodes.setValue(.data(data), forKey: "d", of: NodeHandle(entity: 0, row: 0))
    let again = try XMLSupport.open(try XMLSupport.bytes(of: opened))
    #expect(Self.value(again.nodes, "A/1", "d") == .data(data))
  }

  // MARK: Recognition

  @Test(
    "a store is known by its content",
    arguments: [
      (#"<?xml version="1.0"?><database><databaseInfo>"#, Recognition.yes),
      ("\u{FEFF}<?xml version=\"1.0\"?>\n<!-- c -->\n<database>\n  <databaseInfo>", .yes),
      (#"<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">"#, .yes),
      (#"<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd"> <database><oops/>"#, .yes),
      ("<database>", .unsure), ("<database/>", .unsure), ("<?xml version=\"1.0\"?>", .unsure),
      ("<database><table/>", .no), ("<databases><databaseInfo>", .no), ("<plist><dict/></plist>", .no), ("{}", .no),
      ("a,b", .no),
      ("", .no),
    ])
  func recognizes(_ text: String, _ answer: Recognition) {
    #expect(XMLStore.recognize(StoreProbe(name: "x", prefix: Array(text.utf8), size: text.utf8.count)) == answer)
  }

  @Test("UTF-16 is known too")
  func recognizesWide() {
    let text = #"<?xml version="1.0"?><database><databaseInfo>"#
    let wide = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    #expect(XMLStore.recognize(StoreProbe(name: "x", prefix: [0xFE, 0xFF] + wide, size: 100)) == .yes)
  }

  @Test("metadata are read without what follows them")
  func metadataAlone() throws {
    let document = XMLSupport.document("").replacingOccurrences(of: "</database>", with: "<object <<<<")
    var store = try XMLSupport.store()
    let metadata = try store.metadata(in: StoreSource(bytes: Array(document.utf8), name: "t.xml"))
    #expect(metadata.lastReference == 200)
  }

  @Test("an object has its attributes in the model's order, also those that few objects have")
  func sparseOrder() throws {
    let names = ["a", "b", "c", "d", "e"]
    // Of `b`, `d` and `e` few rows have a value; together the rows have every combination with and without `a` and `c`.
    func present(_ row: Int) -> [Int] {
      [0, 1, 2, 3, 4].filter { [row % 2 == 0, row % 97 < 2, row % 3 == 0, row % 89 < 3, row == 500][$0] }
    }
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Node", properties: names.map { .attribute($0, .integer64) })
      ]))
    let builder = NodeTableBuilder(model: model)
    for row in 0..<3000 {
      try builder.beginNode(entity: 0, reference: Int64(row + 1))
      for slot in present(row) { try builder.set(integer: Int64(row), slot: slot) }
    }
    let snapshot = StoreSnapshot(
      nodes: try builder.finish().canonical(),
      metadata: StoreMetadata(
        storeType: XMLStore.storeType, uuid: UUID(), entries: [:], lastReference: 3000, model: model.description))
    #expect((0..<5).map { snapshot.nodes.reader(of: 0).isSparse(slot: $0) } == [false, true, false, true, true])
    var store = try XMLSupport.store()
    let lines = String(decoding: try XMLSupport.bytes(of: &store, snapshot), as: UTF8.self).split(separator: "\n")
    let wanted = (0..<3000).flatMap { row -> [String] in
      let own = present(row).map { "        <attribute name=\"\(names[$0])\" type=\"int64\">\(row)</attribute>" }
      let head = "    <object type=\"NODE\" id=\"z\(row + 1)\">"
      return own.isEmpty ? [head + "</object>"] : [head] + own + ["    </object>"]
    }
    let written = lines.drop { !$0.hasPrefix("    <object") }.dropLast().map { String($0) }
    let isSame = written == wanted
    #expect(isSame)
  }
}
