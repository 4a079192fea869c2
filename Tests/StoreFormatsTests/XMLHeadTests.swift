import AtomicStoreSPI
import Foundation
import Testing

@testable import XMLStoreFormat

/// The head of an XML store: what a load knows of it from the metadata, and the quick reader of heads.
@Suite("Heads of XML stores") struct XMLHeadTests {
  static let model = ManagedObjectModel(
    unchecked: ModelDescription(entities: [
      EntityDescription(name: "Person", properties: [.attribute("name", .string), .attribute("age", .integer16)])
    ]))
  static let people = """
        <object type="PERSON" id="z102">
            <attribute name="name" type="string">Ann</attribute>
            <attribute name="age" type="int16">7</attribute>
        </object>
    """

  // MARK: A file that changes between its metadata and the load

  /// The other file, and what is different there.
  static let changed: [(String, String)] = [
    ("nothing", XMLSupport.document(people)),
    ("the objects", XMLSupport.document(people.replacing("Ann", with: "Bea"))),
    ("a value, which is invalid", XMLSupport.document(people.replacing(">7<", with: ">seven<"))),
    ("a number in the head", XMLSupport.document(people, last: 300)),
    ("the length of the head", XMLSupport.document(people, last: 5)),
    ("a number, which is invalid", XMLSupport.document(people).replacing(">200<", with: ">many<")),
    ("the version", XMLSupport.document(people).replacing("134481920", with: "134481921")),
    ("the UUID, which is invalid", XMLSupport.document(people).replacing("B4FC79D0", with: "XXXXXXXX")),
    ("the metadata, which are invalid", XMLSupport.document(people, metadata: "<metadata><plist></plist></metadata>")),
    ("an attribute in the head", XMLSupport.document(people).replacing("<version>", with: "<version a=\"1\">")),
    ("the end of the head", XMLSupport.document(people).replacing("</databaseInfo>", with: "</databaseinfo>")),
    ("that it ends in the head", String(XMLSupport.document(people).prefix(200))),
    ("that it is empty", ""), ("the format", "{}"),
  ]

  static func load(_ text: String, into store: inout XMLStore) -> XMLCanonicalScannerTests.Outcome {
    do throws(PersistentStoreError) {
      let builder = NodeTableBuilder(model: model, file: "test.xml")
      try store.load(StoreSource(bytes: Array(text.utf8), name: "test.xml"), into: builder)
      let nodes = try builder.finish()
      return .store(values: XMLSupport.exact(nodes), order: [], metadata: StoreMetadata(storeType: "XML"))
    } catch {
      return .error(error.code, error.description)
    }
  }

  @Test("a load reads the head that is there, not the one that the metadata was read from", arguments: changed.indices)
  func changedHead(_ index: Int) throws {
    let (what, text) = Self.changed[index]
    var store = try XMLSupport.store()
    let before = StoreSource(bytes: Array(XMLSupport.document(Self.people).utf8), name: "test.xml")
    _ = try store.metadata(in: before)
    var fresh = try XMLSupport.store()
    let same = Self.isSame(Self.load(text, into: &store), Self.load(text, into: &fresh))
    #expect(same, "\(what) is different")
  }

  /// Without the metadata, whose identifier is made for each.
  private static func isSame(
    _ one: XMLCanonicalScannerTests.Outcome, _ other: XMLCanonicalScannerTests.Outcome
  ) -> Bool {
    switch (one, other) {
    case (.store(let a, _, _), .store(let b, _, _)): a == b
    default: one == other
    }
  }

  @Test("a second load does not use what the first one knew")
  func secondLoad() throws {
    var store = try XMLSupport.store()
    let first = XMLSupport.document(Self.people)
    _ = try store.metadata(in: StoreSource(bytes: Array(first.utf8), name: "test.xml"))
    var fresh = try XMLSupport.store()
    #expect(Self.isSame(Self.load(first, into: &store), Self.load(first, into: &fresh)))
    let second = XMLSupport.document(Self.people.replacing("Ann", with: "Bea"), last: 300)
    #expect(Self.isSame(Self.load(second, into: &store), Self.load(second, into: &fresh)))
  }

  // MARK: The quick reader

  /// What replaces the empty metadata, or all items of the head.
  static let heads: [String] = {
    func list(_ content: String) -> String { "<metadata><plist version=\"1.0\">\(content)</plist></metadata>" }
    func entry(_ value: String) -> String { list("<dict><key>k</key>\(value)</dict>") }
    let values = [
      "<string>a</string>", "<string/>", "<string></string>", "<string>é</string>", "<string>e\u{301}</string>",
      "<string>a&amp;b</string>", "<string>a&b</string>", "<string>a>b</string>", "<string>a]]>b</string>",
      "<string><![CDATA[a]]></string>", "<string>a<!-- b --></string>", "<string>a\rb</string>",
      "<string>a\r\nb</string>", "<string> a \n\t</string>", "<string>\u{FFFD}</string>", "<string>\u{FFFE}</string>",
      "<string>\u{1}</string>", "<string>\u{7F}\u{85}</string>", "<string a=\"b\">a</string>", "<integer>1</integer>",
      "<integer> 1 </integer>", "<integer>0x1F</integer>", "<integer>one</integer>", "<integer></integer>",
      "<real>1.5</real>", "<real>nan</real>", "<date>2024-01-02T03:04:05Z</date>", "<date>soon</date>", "<true/>",
      "<true></true>", "<true>x</true>", "<false/>", "<false></false>", "<data>AAEC</data>",
      "<data>\n\t\tAAEC\n\t</data>",
      "<data>?</data>", "<array/>", "<array></array>", "<array><string>a</string><integer>2</integer></array>",
      "<array>text</array>", "<array><key>k</key></array>", "<dict/>", "<dict></dict>",
      "<dict><key>CF$UID</key><integer>5</integer></dict>", "<dict><key>b</key><true/><key>a</key><true/></dict>",
      "<dict><key>b</key><true/><key>a</key><true/><key>b</key><true/></dict>",
      "<dict><key>a</key><true/><key>a</key><true/></dict>", "<dict><key>a</key></dict>",
      "<dict><key>a</key><key>b</key><true/></dict>", "<dict><true/></dict>", "<dict><array></dict></array>",
      "<set/>", "", "<string>a</string><string>b</string>", "<string>a</integer>",
    ]
    let lists = [
      list(""), list("<dict></dict>"), list("<array/>"), list("<string>a</string>"), list("<dict/><dict/>"),
      list("text"), "<metadata></metadata>", "<metadata/>", "<metadata> </metadata>", "<metadata>text</metadata>",
      "<metadata><plist><dict/></plist></metadata>", "<metadata><plist version=\"1.1\"><dict/></plist></metadata>",
      "<metadata><dict/></metadata>", list("<dict/>") + list("<dict/>"), "<!-- --><metadata></metadata>",
      "<version>134481920</version>", "<UUID>B4FC79D0-E654-43EF-9020-A5273B3F104A</UUID>", "<other/>", "text",
      list(String(repeating: "<array>", count: 100) + String(repeating: "</array>", count: 100)),
      list(String(repeating: "<array>", count: 600) + String(repeating: "</array>", count: 600)),
    ]
    return values.map(entry) + lists
  }()

  @Test("the metadata are those that libxml2 reads, and errors are its errors", arguments: heads.indices)
  func sameMetadata(_ index: Int) {
    let text = XMLSupport.document(Self.people, metadata: Self.heads[index])
    XMLCanonicalScannerTests.expectSame(Array(text.utf8), Self.model, Self.heads[index])
  }

  @Test(
    "items are read as libxml2 does",
    arguments: [
      "134481920", " 134481920", "+134481920", "0134481920", "134481921", "", "1e3", "-1",
      "134481920</version><version>1",
    ])
  func sameItems(_ text: String) {
    for item in ["version", "UUID", "nextObjectID"] {
      let document = XMLSupport.document(Self.people)
      let known = ["version": "134481920", "UUID": "B4FC79D0-E654-43EF-9020-A5273B3F104A", "nextObjectID": "200"]
      let changed = document.replacing("<\(item)>\(known[item] ?? "")<", with: "<\(item)>\(text)<")
      XMLCanonicalScannerTests.expectSame(Array(changed.utf8), Self.model, changed)
      let missing = document.replacing("<\(item)>\(known[item] ?? "")</\(item)>", with: "")
      XMLCanonicalScannerTests.expectSame(Array(missing.utf8), Self.model, missing)
    }
  }

  @Test(
    "invalid UTF-8 in the metadata is refused, as by libxml2",
    arguments: [
      [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3, 0xA9], [0xEF, 0xBF, 0xBE],
    ] as [[UInt8]])
  func invalidText(_ bytes: [UInt8]) {
    for element in ["key", "string"] {
      let value = element == "key" ? "<key>x@</key><true/>" : "<key>x</key><string>x@</string>"
      let text = XMLSupport.document(
        Self.people, metadata: "<metadata><plist version=\"1.0\"><dict>\(value)</dict></plist></metadata>")
      let parts = text.utf8.split(separator: UInt8(ascii: "@"), maxSplits: 1)
      XMLCanonicalScannerTests.expectSame(Array(parts[0]) + bytes + Array(parts[1]), Self.model, "\(bytes)")
    }
  }

  @Test("it takes what Core Data and this format write")
  func takesOwnHeads() throws {
    for metadata in ["<metadata></metadata>", XMLStoreFormatTests.metadata] {
      let text = XMLSupport.document(Self.people, metadata: metadata)
      let source = StoreSource(bytes: Array(text.utf8), name: "test.xml")
      #expect(try HeaderReader(file: "test.xml").readPlainHead(source) != nil)
    }
  }

  @Test("an error after a known head has its line")
  func linesAfterKnownHead() throws {
    let text = XMLSupport.document(
      Self.people.replacing(">7<", with: ">seven<"), metadata: XMLStoreFormatTests.metadata)
    var known = try XMLSupport.store()
    _ = try known.metadata(in: StoreSource(bytes: Array(text.utf8), name: "test.xml"))
    var plain = try XMLSupport.store(["parser": "libxml2"])
    #expect(Self.load(text, into: &known) == Self.load(text, into: &plain))
    // And the line that the kit notes for each object: of two with one reference, the second is named.
    let twice = XMLSupport.document(Self.people + "\n" + Self.people, metadata: XMLStoreFormatTests.metadata)
    _ = try known.metadata(in: StoreSource(bytes: Array(twice.utf8), name: "test.xml"))
    #expect(Self.load(twice, into: &known) == Self.load(twice, into: &plain))
  }
}
