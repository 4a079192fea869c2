import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

@Suite("What an XML store refuses")
struct XMLStoreErrorTests {
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("flag", .boolean),
            .attribute("small", .integer16),
            .attribute("price", .decimal),
            .attribute("ratio", .float),
            .attribute("when", .date),
            .attribute("blob", .binaryData),
            .attribute("key", .uuid),
            .attribute("text", .string),
            .attribute("any", .undefined),
            .toOne("one", "Item"),
            .toMany("many", "Item"),
          ])
      ]))
  }

  /// The line of the property in the documents below.
  static let line = 12

  static func failure(_ property: String) throws -> PersistentStoreError {
    let document = XMLSupport.document(
      """
          <object type="ITEM" id="z7">
              \(property)
          </object>
      """)
    return try XMLSupport.failure { _ = try XMLSupport.open(document, model: try model()) }
  }

  @Test(
    "a wrong value names line, column, object and property",
    arguments: [
      ("flag", "bool", "2"), ("flag", "bool", "YES"), ("flag", "bool", ""), ("small", "int16", "70000"),
      ("small", "int16", "-32769"), ("small", "int16", "1.0"), ("small", "int16", "abc"), ("small", "int16", ""),
      ("small", "int16", " 1"), ("price", "decimal", "1,5"), ("price", "decimal", "1e999"),
      ("ratio", "float", "fast"), ("ratio", "float", "0x1p3"), ("when", "date", "yesterday"),
      ("when", "date", "12.0000000000000000000x"), ("blob", "binary", "AAE"), ("blob", "binary", "*"),
      ("blob", "binary", "AB=="), ("key", "uuid", "no"), ("text", "string", #"\x"#), ("text", "string", #"end\"#),
      ("text", "string", #"\u3c0"#), ("text", "string", #"\u3dd8"#), ("text", "string", #"\u00de"#),
      ("text", "string", #"\u3dd8\u3c00"#), ("text", "string", #"\u00g0"#),
    ])
  func wrongValue(_ name: String, _ type: String, _ text: String) throws {
    let error = try Self.failure(#"<attribute name="\#(name)" type="\#(type)">\#(text)</attribute>"#)
    #expect(error.code == .invalidValue || error.code == .malformed)
    #expect(error.location.line == Self.line)
    #expect((error.location.column ?? 0) > 1)
    #expect(error.location.file == "test.xml")
    #expect(error.location.entity == "Item")
    #expect(error.location.reference == "7")
    #expect(error.location.property == name)
  }

  @Test(
    "nothing is skipped that the model does not know",
    arguments: [
      #"<attribute name="color" type="string">red</attribute>"#,
      #"<relationship name="color" type="0/1" destination="ITEM"></relationship>"#,
      #"<attribute name="one" type="string">red</attribute>"#,
      #"<relationship name="text" type="0/1" destination="ITEM"></relationship>"#,
      #"<relationship name="one" type="0/1" destination="OTHER"></relationship>"#,
    ])
  func mismatch(_ property: String) throws {
    let error = try Self.failure(property)
    #expect(error.code == .modelMismatch)
    #expect(error.location.line == Self.line)
    #expect(error.location.entity == "Item")
  }

  @Test(
    "unknown elements and attributes are refused with their location",
    arguments: [
      #"<attribute name="text" type="string">a</attribute><attribute name="text" type="string">b</attribute>"#,
      #"<attribute name="TEXT" type="string">a</attribute><attribute name="text" type="string">b</attribute>"#,
      #"<relationship name="one" type="0/1" destination="ITEM"></relationship><relationship name="one" type="0/1" destination="ITEM"></relationship>"#,
      #"<relationship name="one" type="0/1" destination="ITEM" idrefs="z7 z7"></relationship>"#,
      #"<relationship name="one" type="0/1" destination="ITEM" idrefs="7"></relationship>"#,
      #"<relationship name="one" type="0/1" destination="ITEM" idrefs="z007"></relationship>"#,
      #"<relationship name="one" type="0/1" destination="ITEM" idrefs="z7.OTHER"></relationship>"#,
      #"<attribute type="string">a</attribute>"#, #"<attribute name="text">a</attribute>"#,
      #"<attribute name="text" type="string" size="3">a</attribute>"#,
      #"<attribute name="text" type="string" valuetype="string">a</attribute>"#,
      #"<attribute name="any" type="undefined">a</attribute>"#,
      #"<attribute name="any" type="undefined" valuetype="thing">a</attribute>"#,
      #"<attribute name="any" type="undefined" valuetype="int64">a</attribute>"#,
      #"<attribute name="text" type="string"><b>a</b></attribute>"#, "<value/>", "words<a/>",
      #"<object type="ITEM" id="z8"></object>"#, #"<relationship name="one" type="0/1"></relationship>"#,
      #"<attribute name="text" type="string">&other;</attribute>"#,
      #"<attribute name="text" type="string">a</relationship>"#,
    ])
  func wrongStructure(_ property: String) throws {
    let error = try Self.failure(property)
    #expect(error.code == .malformed || error.code == .invalidValue)
    #expect(error.location.line == Self.line)
    #expect(error.location.column != nil)
  }

  @Test(
    "a list has numbers and strings in any order, and any number of spaces between them",
    arguments: ["z7 z1 sa z0", " z7  z1 sa  z0 ", "sa z7 z1 z0", "z0 z7 sa z1 ", "z7 z0 sa z1"])
  func lists(_ references: String) throws {
    let document = XMLSupport.document(
      """
          <object type="ITEM" id="z7">
              <relationship name="many" type="0/0" destination="ITEM" idrefs="\(references)"></relationship>
          </object>
          <object type="ITEM" id="z1"></object><object type="ITEM" id="z0"></object>
          <object type="ITEM" id="sa"></object>
      """)
    let nodes = try XMLSupport.open(document, model: try Self.model()).nodes
    let node = try #require(nodes.handle(for: .integer(7), entity: 0))
    guard case .toMany(let members)? = nodes.value(forKey: "many", of: node) else {
      Issue.record("the to-many relationship has no value")
      return
    }
    #expect(members.map(\.reference.description) == ["0", "1", "7", "a"])
  }

  @Test(
    "a list with something else is refused",
    arguments: [
      "z7 7", "z7 z07", "z7 z", "z7 z-", "z7 z1x", "z7 z7.OTHER", "z7 z99999999999999999999", "z7 z7", "z7\tz7",
    ])
  func wrongLists(_ references: String) throws {
    let error = try Self.failure(
      "<relationship name=\"many\" type=\"0/0\" destination=\"ITEM\" idrefs=\"\(references)\"></relationship>")
    #expect(error.code == .malformed, "\(error)")
    #expect(error.location.entity == "Item" && error.location.property == "many", "\(error)")
  }

  @Test("a reference to nothing and an id that comes twice are errors")
  func references() throws {
    let dangling = try Self.failure(
      #"<relationship name="one" type="0/1" destination="ITEM" idrefs="z8"></relationship>"#)
    #expect(dangling.code == .danglingReference)
    #expect(dangling.location.property == "one")
    let twice = XMLSupport.document(#"<object type="ITEM" id="z7"></object><object type="ITEM" id="z7"></object>"#)
    let error = try XMLSupport.failure { _ = try XMLSupport.open(twice, model: try Self.model()) }
    #expect(error.code == .duplicateReference)
    let across = XMLSupport.document(
      #"<object type="A" id="z9"></object><object type="B" id="z8"></object><object type="C" id="z9"></object>"#)
    #expect(try XMLSupport.failure { _ = try XMLSupport.open(across) }.code == .duplicateReference)
  }

  @Test(
    "a duplicate id is reported with the line of the second object, its entity, and the line of the first",
    arguments: ["auto", "libxml2"], ["z7", "z-7", "z9223372036854775807"])
  func twice(_ parser: String, _ id: String) throws {
    // One hierarchy, then two, each with objects before, between and behind.
    for second in ["A", "B"] {
      let document = XMLSupport.document(
        """
            <object type="B" id="z20"></object>
            <object type="A" id="\(id)"></object>
            <object type="A" id="z8"></object>
            <object type="\(second)" id="\(id)"></object>
            <object type="A" id="z1"></object>
        """)
      let error = try XMLSupport.failure { _ = try XMLSupport.open(Array(document.utf8), options: ["parser": parser]) }
      #expect(error.code == .duplicateReference)
      #expect(
        error.location == StoreLocation(file: "test.xml", line: Self.line + 2, entity: second, reference: id),
        "\(error)")
      #expect(error.message == "two objects have the id \(id): the first one is on line \(Self.line)")
    }
  }

  @Test("an entity that the model does not have is named")
  func unknownEntity() throws {
    let document = XMLSupport.document(#"<object type="THING" id="z7"></object>"#)
    let error = try XMLSupport.failure { _ = try XMLSupport.open(document, model: try Self.model()) }
    #expect(error.code == .modelMismatch)
    #expect(error.message.contains("THING"))
    #expect(error.location.line == 11)
  }

  @Test(
    "a head that lacks something, or has it twice, is refused",
    arguments: [
      ("<version>134481920</version>", ""), ("<version>134481920</version>", "<version>x</version>"),
      ("<UUID>B4FC79D0-E654-43EF-9020-A5273B3F104A</UUID>", ""),
      ("<UUID>B4FC79D0-E654-43EF-9020-A5273B3F104A</UUID>", "<UUID>none</UUID>"),
      ("<nextObjectID>200</nextObjectID>", ""), ("<nextObjectID>200</nextObjectID>", "<nextObjectID>-1</nextObjectID>"),
      ("<nextObjectID>200</nextObjectID>", "<nextObjectID>1</nextObjectID><nextObjectID>1</nextObjectID>"),
      ("<metadata></metadata>", "<metadata></metadata><metadata></metadata>"),
      ("<metadata></metadata>", "<metadata>&lt;plist&gt;</metadata>"),
      ("<metadata></metadata>", "<metadata><plist><array></array></plist></metadata>"),
      ("<metadata></metadata>", "<metadata><plist><dict><key>a</key></dict></plist></metadata>"),
      (
        "<metadata></metadata>",
        "<metadata><plist><dict><key>AtomicStoreModel</key><string>x</string></dict></plist></metadata>"
      ),
      (
        "<metadata></metadata>",
        "<metadata><plist><dict><key>AtomicStoreExactEntries</key><data>AAEC</data></dict></plist></metadata>"
      ),
      ("<metadata></metadata>", "<extra></extra>"),
    ])
  func wrongHead(_ found: String, _ put: String) throws {
    let text = XMLSupport.document("").replacingOccurrences(of: found, with: put)
    let error = try XMLSupport.failure { _ = try XMLSupport.open(text) }
    #expect(error.location.file == "test.xml")
    #expect(error.location.line != nil)
  }

  @Test("another version of the format is not guessed at")
  func version() throws {
    let text = XMLSupport.document("").replacingOccurrences(of: "134481920", with: "1")
    #expect(try XMLSupport.failure { _ = try XMLSupport.open(text) }.code == .unsupportedVersion)
  }

  @Test("a document that breaks off anywhere is an error, and no trap")
  func truncated() throws {
    let text = Array(XMLSupport.document(XMLStoreFormatTests.library, metadata: XMLStoreFormatTests.metadata).utf8)
    for length in 0..<text.count {
      let error = try XMLSupport.failure { _ = try XMLSupport.open(Array(text[..<length])) }
      if length > 0 { #expect(error.location.line != nil, "at \(length)") }
    }
  }

  @Test("a document with one byte changed is read or refused, and no trap")
  func flipped() throws {
    let text = Array(XMLSupport.document(XMLStoreFormatTests.library, metadata: XMLStoreFormatTests.metadata).utf8)
    var refused = 0
    for place in stride(from: 0, to: text.count, by: 3) {
      for byte: UInt8 in [0, 0x3C, 0x5C, 0xFF] where text[place] != byte {
        var copy = text
        copy[place] = byte
        do { _ = try XMLSupport.open(copy) } catch is PersistentStoreError { refused += 1 }
      }
    }
    #expect(refused > text.count / 2)
  }

  @Test("an entity declaration is refused before it can grow")
  func entities() throws {
    let text = XMLSupport.document("").replacingOccurrences(
      of: #"<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">"#,
      with: #"<!DOCTYPE database [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>"#)
    #expect(try XMLSupport.failure { _ = try XMLSupport.open(text) }.code == .malformed)
  }

  @Test("an option with another value is refused")
  func options() throws {
    #expect(try XMLSupport.failure { _ = try XMLSupport.store(["schema": "maybe"]) }.code == .invalidOption)
  }
}
