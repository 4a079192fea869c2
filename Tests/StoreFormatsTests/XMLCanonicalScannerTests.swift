import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import XMLStoreFormat

/// The quick reader of files in Core Data's own shape, beside libxml2: it may only be quicker.
@Suite("The quick reader of XML stores") struct XMLCanonicalScannerTests {
  /// What reading a document gave: all of it, or the error.
  enum Outcome: Equatable {
    case store(values: [String: XMLSupport.Exact], order: [[ReferenceObject]], metadata: StoreMetadata)
    case error(PersistentStoreError.Code, String)
  }

  static func outcome(_ bytes: [UInt8], _ model: ManagedObjectModel?, _ parser: String) -> Outcome {
    do {
      let opened = try XMLSupport.open(bytes, model: model, options: ["parser": parser])
      let order = opened.nodes.model.entities.map { entity in
        let reader = opened.nodes.reader(of: entity.index)
        return (0..<reader.count).map { reader.reference(row: $0) }
      }
      return .store(values: XMLSupport.exact(opened.nodes), order: order, metadata: opened.metadata)
    } catch let error as PersistentStoreError {
      return .error(error.code, error.description)
    } catch {
      return .error(.internalInconsistency, "\(error)")
    }
  }

  static func isTaken(_ bytes: [UInt8], _ model: ManagedObjectModel) throws -> Bool {
    let source = StoreSource(bytes: bytes, name: "test.xml")
    return try ObjectLoader(NodeTableBuilder(model: model), file: source.name).readCanonical(source)
  }

  /// Both readers give the same, with the model and with one inferred from the document.
  static func expectSame(_ bytes: [UInt8], _ model: ManagedObjectModel?, _ what: @autoclosure () -> String = "") {
    let quick = outcome(bytes, model, "auto")
    let plain = outcome(bytes, model, "libxml2")
    if quick == plain { return }
    // Not by #expect, which would print all values: Foundation ends the process at dates far away.
    Issue.record(
      "\(what()): \(summary(quick)) is not libxml2's \(summary(plain)): \(String(decoding: bytes.suffix(4000), as: UTF8.self))"
    )
  }

  private static func summary(_ outcome: Outcome) -> String {
    switch outcome {
    case .store(let values, _, _): "a store of \(values.count) values"
    case .error(_, let text): text
    }
  }

  // MARK: What it takes

  static let samples = ["Company", "FriendInfo"]

  @Test("it takes the sample stores, and reads them as libxml2 does", arguments: samples)
  func sample(_ name: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(SampleStores.folder)/\(name)/\(name).xml")))
    #expect(try Self.isTaken(bytes, SampleStores.model(name)))
    Self.expectSame(bytes, try SampleStores.model(name))
    Self.expectSame(bytes, nil)
  }

  @Test(
    "it takes what Core Data wrote, and reads it as libxml2 does",
    .enabled(if: !XMLSupport.corpusFiles.isEmpty, "needs ../shared/corpus"), arguments: XMLSupport.corpusFiles)
  func corpus(_ name: String) throws {
    let bytes = try XMLSupport.corpusBytes(name)
    #expect(try Self.isTaken(bytes, XMLSupport.open(bytes, options: ["parser": "libxml2"]).nodes.model))
    Self.expectSame(bytes, nil)
  }

  static func written(_ seed: UInt64, schema: String) throws -> (bytes: [UInt8], model: ManagedObjectModel) {
    var snapshot = try RandomGraphs.make(seed: seed)
    snapshot.metadata.storeType = "XML"
    var store = try XMLSupport.store(["schema": schema])
    let bytes = try XMLSupport.bytes(
      of: &store, StoreSnapshot(nodes: try snapshot.nodes.canonical(), metadata: snapshot.metadata))
    return (bytes, snapshot.nodes.model)
  }

  @Test(
    "it takes what this format writes: every type, edge values, strings for references",
    arguments: 1...40 as ClosedRange<UInt64>)
  func ownFiles(_ seed: UInt64) throws {
    let (bytes, model) = try Self.written(seed, schema: seed % 2 == 0 ? "embed" : "omit")
    #expect(try Self.isTaken(bytes, model))
    Self.expectSame(bytes, model)
    Self.expectSame(bytes, nil)
  }

  @Test(
    "an element may be cut anywhere between two pieces of the file", arguments: [1, 2, 3, 7, 13, 64, 65, 100, 1000])
  func pieces(_ size: Int) throws {
    let (bytes, model) = try Self.written(5, schema: "omit")
    let builder = NodeTableBuilder(model: model)
    let loader = try ObjectLoader(builder, file: "test.xml")
    let scanner = CanonicalScanner(loader)
    bytes.withUnsafeBytes { all in
      for start in stride(from: 0, to: all.count, by: size) {
        #expect(scanner.take(UnsafeRawBufferPointer(rebasing: all[start..<min(start + size, all.count)])))
      }
    }
    #expect(scanner.isComplete())
    let whole = try XMLSupport.open(bytes, model: model, options: ["parser": "libxml2"])
    #expect(XMLSupport.exact(try builder.finish()) == XMLSupport.exact(whole.nodes))
  }

  @Test("a long text over many pieces is taken", arguments: [100_000, 3_000_000])
  func longText(_ count: Int) throws {
    let text = String(repeating: "Grüße, 世界\n", count: count / 14)
    let bytes = Array(
      XMLSupport.document(Self.object(#"<attribute name="title" type="string">\#(text)</attribute>"#)).utf8)
    #expect(try Self.isTaken(bytes, Self.model()))
    Self.expectSame(bytes, try Self.model())
  }

  @Test(
    "a long text is read once, wherever the file is cut, and its lines are counted once", arguments: [1, 7, 64, 1000])
  func cutLongText(_ size: Int) throws {
    let text = String(repeating: "plain text that is long enough, and then: Grüße,\t世界 🙂\n", count: 150)
    let data = Data((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7) }).base64EncodedString(
      options: .lineLength76Characters)
    let document = XMLSupport.document(
      Self.object(
        #"<attribute name="title" type="string">\#(text)</attribute>"#
          + #"<attribute name="data" type="binary">\#(data.replacing("\r\n", with: "\n"))</attribute>"#
      ) + "\n" + Self.title("b").replacing("z102", with: "z103"))
    let bytes = Array(document.utf8)
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Item", properties: [.attribute("title", .string), .attribute("data", .binaryData)])
      ]))
    let loader = try ObjectLoader(NodeTableBuilder(model: model), file: "test.xml")
    let scanner = CanonicalScanner(loader)
    bytes.withUnsafeBytes { all in
      for start in stride(from: 0, to: all.count, by: size) {
        #expect(scanner.take(UnsafeRawBufferPointer(rebasing: all[start..<min(start + size, all.count)])))
      }
    }
    #expect(scanner.isComplete())
    // The line of the second object, which was the last one to begin.
    let before = document.components(separatedBy: "id=\"z103\"")[0]
    #expect(loader.scannedLine == before.components(separatedBy: "\n").count)
    Self.expectSame(bytes, model)
  }

  static let comments = [
    "<!---->", "<!-- a -->", "<!--- & > \" ' \t -é- 世界 \n\n-->", "<!-->-->", "<!--->-->", "  <!-- a -->\n<!-- b -->",
    "<!--" + String(repeating: "long - ", count: 40_000) + "-->",
  ]

  @Test("it takes comments between elements, wherever the file is cut", arguments: comments)
  func comment(_ comment: String) throws {
    let objects =
      Self.title("a") + comment
      + Self.object("\(comment)<attribute name=\"number\" type=\"int16\">7</attribute>\(comment)")
      .replacingOccurrences(of: "z102", with: "z103")
    let bytes = Array(XMLSupport.document(objects + comment).utf8)
    #expect(try Self.isTaken(bytes, Self.model()))
    Self.expectSame(bytes, try Self.model())
    Self.expectSame(bytes, nil)
    guard bytes.count < 10_000 else { return }
    for size in [1, 2, 3, 7, 64] {
      let builder = NodeTableBuilder(model: try Self.model())
      let scanner = CanonicalScanner(try ObjectLoader(builder, file: "test.xml"))
      bytes.withUnsafeBytes { all in
        for start in stride(from: 0, to: all.count, by: size) {
          #expect(scanner.take(UnsafeRawBufferPointer(rebasing: all[start..<min(start + size, all.count)])))
        }
      }
      #expect(scanner.isComplete())
      #expect(try builder.finish().count(of: 0) == 2)
    }
  }

  @Test("a comment longer than libxml2 allows is left to it")
  func longComment() throws {
    let bytes = Array(XMLSupport.document("<!--" + String(repeating: "x", count: 11_000_000) + "-->").utf8)
    #expect(try !Self.isTaken(bytes, Self.model()))
    Self.expectSame(bytes, try Self.model())
  }

  // MARK: What it leaves to libxml2

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("title", .string),
            .attribute("number", .integer16),
            .toOne("next", "Item"),
            .toMany("all", "Item"),
          ])
      ]))
  }

  static func object(_ properties: String) -> String {
    "    <object type=\"ITEM\" id=\"z102\">\n        \(properties)\n    </object>"
  }
  static func title(_ text: String) -> String {
    object("<attribute name=\"title\" type=\"string\">\(text)</attribute>")
  }

  /// Well-formed documents, and others, of another shape.
  static let unusual: [(name: String, objects: String)] = [
    ("a reference to an entity", title("a &amp; b")), ("a reference to a character", title("&#65;&#x42;")),
    ("an unknown entity", title("&nbsp;")), ("a comment", title("a<!-- b -->c")), ("CDATA", title("<![CDATA[a<b]]>")),
    ("a processing instruction", title("<?x y?>a")), ("a comment with an element", "<!-- <object> -->" + title("b")),
    ("a comment with two hyphens", "<!-- a -- b -->" + title("b")),
    ("a comment with three", "<!-- a --->" + title("b")),
    ("a comment with a control", "<!-- \u{1} -->" + title("b")), ("a comment that never ends", "<!-- a " + title("b")),
    ("a comment with a carriage return", "<!-- \r -->" + title("b")), ("half of a comment", "<!- a -->" + title("b")),
    ("a greater-than", title("a > b")), ("one far in a text", title(String(repeating: "x", count: 200) + ">")),
    (
      "an ampersand far in a text",
      title(String(repeating: "x", count: 201) + "&amp;" + String(repeating: "y", count: 99))
    ),
    (
      "a control far in a text",
      title(String(repeating: "x", count: 203) + "\u{1F}" + String(repeating: "y", count: 99))
    ), ("the end of CDATA", title("a ]]> b")), ("a carriage return", title("a\r\nb")),
    ("a carriage return between elements", title("a").replacingOccurrences(of: "\n", with: "\r\n")),
    ("a control", title("a\u{1}b")), ("no character of XML", title("a\u{FFFE}b")), ("a zero", title("a\0b")),
    ("an element in the text", title("a<b/>")),
    ("a self-closing tag", object(#"<attribute name="title" type="string"/>"#)),
    ("single quotes", object(#"<attribute name='title' type="string">a</attribute>"#)),
    ("another order", object(#"<attribute type="string" name="title">a</attribute>"#)),
    ("an attribute twice", object(#"<attribute name="title" name="title" type="string">a</attribute>"#)),
    ("an unknown attribute", object(#"<attribute name="title" type="string" x="y">a</attribute>"#)),
    ("a missing attribute", object(#"<attribute name="title">a</attribute>"#)),
    ("two blanks", object(#"<attribute  name="title" type="string">a</attribute>"#)),
    ("a line break in a tag", object("<attribute\nname=\"title\" type=\"string\">a</attribute>")),
    ("a tab in a value", object("<attribute name=\"title\t\" type=\"string\">a</attribute>")),
    ("a blank in an end tag", object(#"<attribute name="title" type="string">a</attribute >"#)),
    ("text between elements", object(#"<attribute name="title" type="string">a</attribute>b"#)),
    ("text in a relationship", object(#"<relationship name="next" type="0/1" destination="ITEM"> </relationship>"#)),
    (
      "a type where there must be none",
      object(#"<attribute name="title" type="string" valuetype="string">a</attribute>"#)
    ),
    ("an unknown element", object(#"<other name="title"></other>"#)),
    ("a second head", "<databaseInfo></databaseInfo>"),
    ("an unknown property", object(#"<attribute name="color" type="string">a</attribute>"#)),
    (
      "a property twice",
      object(#"<attribute name="title" type="string">a</attribute><attribute name="title" type="string">a</attribute>"#)
    ),
    ("a number that does not fit", object(#"<attribute name="number" type="int16">70000</attribute>"#)),
    ("a bad escape", title(#"a\b"#)),
    ("an unknown entity of the model", title("a").replacingOccurrences(of: "ITEM", with: "THING")),
    ("an id twice", title("a") + "\n" + title("b")), ("an element that never ends", #"<object type="ITEM" id="z1">"#),
    ("a namespace", title("a").replacingOccurrences(of: "<object", with: "<object xmlns=\"x\"")),
    ("a prefix", title("a").replacingOccurrences(of: "object", with: "p:object")),
    ("a document after the document", "</database><database>"),
    ("a malformed id", title("a").replacingOccurrences(of: "z102", with: "102")),
  ]

  @Test("it leaves other documents to libxml2, and discards its own results", arguments: unusual.indices)
  func leftToTheOther(_ index: Int) throws {
    // An object before it, so that there is something to forget.
    let before =
      "    <object type=\"ITEM\" id=\"z101\">\n        <attribute name=\"title\" type=\"string\">first\nline</attribute>\n    </object>\n"
    let bytes = Array(XMLSupport.document(before + Self.unusual[index].objects).utf8)
    #expect(try !Self.isTaken(bytes, Self.model()))
    Self.expectSame(bytes, try Self.model())
    Self.expectSame(bytes, nil)
  }

  static let badUTF8: [[UInt8]] = [
    [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xEF, 0xBF, 0xBE],
    [0xEF, 0xBF, 0xBF],
    [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82],
    [0xF0, 0x9F, 0x98],
  ]

  @Test("bytes that are not UTF-8 are left to libxml2, which refuses them", arguments: badUTF8)
  func badBytes(_ bad: [UInt8]) throws {
    let parts = XMLSupport.document(Self.title("a@b")).split(separator: "@", omittingEmptySubsequences: false)
    let bytes = Array(parts[0].utf8) + bad + Array(parts[1].utf8)
    #expect(try !Self.isTaken(bytes, Self.model()))
    Self.expectSame(bytes, try Self.model())
  }

  static let beginnings: [(isTaken: Bool, text: String)] = [
    (true, #"<?xml version="1.0"?>"#), (true, #"<?xml version="1.0" standalone="no"?>"#),
    (true, #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#),
    (false, #"<?xml version="1.0" encoding="ISO-8859-1"?>"#),
    (false, #"<?xml version='1.0'?>"#), (false, "\u{FEFF}<?xml version=\"1.0\"?>"),
    (false, "<?xml version=\"1.0\"?>\n<!-- a -->"),
    (false, #"<?xml version="1.1"?>"#), (false, ""), (false, " <?xml version=\"1.0\"?>"),
  ]

  @Test("how the document begins decides whether it is tried at all", arguments: beginnings.indices)
  func beginning(_ index: Int) throws {
    let bytes = Array(XMLSupport.document(Self.title("é"), declaration: Self.beginnings[index].text).utf8)
    #expect(try Self.isTaken(bytes, Self.model()) == Self.beginnings[index].isTaken)
    Self.expectSame(bytes, try Self.model())
  }

  @Test(
    "only white space may follow the document, anything else is left to libxml2",
    arguments: ["\n", " \t\n", "\r\n", "x", "<!-- a -->", "\0"])
  func after(_ tail: String) throws {
    let bytes = Array((XMLSupport.document(Self.title("a")) + tail).utf8)
    #expect(try Self.isTaken(bytes, Self.model()) == (tail.allSatisfy { $0 == "\n" || $0 == " " || $0 == "\t" }))
    Self.expectSame(bytes, try Self.model())
  }

  @Test("locations of errors found after reading are the same")
  func laterErrors() throws {
    let text = "two\nlines\n\nand é 世界\n"
    let objects =
      Self.title(text) + "\n\n"
      + Self.object(#"<relationship name="next" type="0/1" destination="ITEM" idrefs="z7"></relationship>"#)
      .replacingOccurrences(of: "z102", with: "z103")
    let bytes = Array(XMLSupport.document(objects).utf8)
    #expect(try Self.isTaken(bytes, Self.model()))
    let outcome = Self.outcome(bytes, try Self.model(), "auto")
    #expect(outcome == Self.outcome(bytes, try Self.model(), "libxml2"))
    guard case .error(.danglingReference, _) = outcome else { return #expect(Bool(false), "\(outcome)") }
  }

  // MARK: Mutations

  static let snippets: [[UInt8]] =
    [
      "&amp;", "&#13;", "&#xD;", "&lt;", "&x;", "<!-- x -->", "<![CDATA[x]]>", "]]>", "<?p?>", "\r", "\r\n", "\n", "\t",
      " ", "'", "\"", "<", ">",
      "/>", "\\", "\\u3c00", "\\u3dd8\\u00de", "\\u3dd8", "\0", "\u{1}", "\u{7F}", "\u{85}", "\u{FEFF}", "\u{FFFD}",
      "\u{1F600}", "é", "z", "0", "-",
      "</attribute>", "</object>", "</database>", "</relationship>", "<object type=\"TAG\" id=\"z900\">\n    </object>",
      " idrefs=\"z1\"",
      " valuetype=\"string\"", "<attribute name=\"title\" type=\"string\">x</attribute>", "999999999999999999999", ".",
      "e5", "nan", "  ",
      "<database>", "</databaseInfo>", "<databaseInfo>", "xmlns=\"a\" ", "x:",
    ].map { Array($0.utf8) } + badUTF8

  static func mutated(_ bytes: [UInt8], _ random: inout Random) -> [UInt8] {
    var bytes = bytes
    // The head is libxml2's in any case: mostly behind it.
    let head =
      String(decoding: bytes, as: UTF8.self).range(of: "</databaseInfo>").map {
        String(decoding: bytes, as: UTF8.self)[..<$0.lowerBound].utf8.count
      } ?? 0
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let least = Int.random(in: 0..<8, using: &random) == 0 ? 0 : min(head, bytes.count - 1)
      guard bytes.count > least + 1 else { return bytes }
      let place = Int.random(in: least..<bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
      switch Int.random(in: 0..<8, using: &random) {
      case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
      case 1: bytes[place] ^= 1 << UInt8(random.next() & 7)
      case 2: bytes.removeSubrange(place..<end)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 4: bytes.removeSubrange(place...)
      case 5:
        let other = Int.random(in: least..<bytes.count, using: &random)
        bytes.swapAt(place, other)
      default: bytes.insert(contentsOf: snippets[Int.random(in: 0..<snippets.count, using: &random)], at: place)
      }
    }
    return bytes
  }

  @Test(
    "files with errors of all kinds give the same values, or the same error at the same location",
    arguments: (0..<52).share(of: "XML with errors"))
  func mutations(_ seed: Int) throws {
    var random = Random(seed: UInt64(seed) &* 7919)
    let (bytes, model) = try Self.written(UInt64(seed % 10 + 1), schema: "omit")
    for round in 0..<80 {
      let bad = Self.mutated(bytes, &random)
      Self.expectSame(bad, round % 8 == 0 ? nil : model, "seed \(seed), round \(round)")
    }
  }

  @Test(
    "so do real stores with faults", .enabled(if: !XMLSupport.corpusFiles.isEmpty, "needs ../shared/corpus"),
    arguments: XMLSupport.corpusFiles)
  func corpusMutations(_ name: String) throws {
    let bytes = try XMLSupport.corpusBytes(name)
    guard bytes.count < 60_000 else { return }
    let model = try XMLSupport.open(bytes, options: ["parser": "libxml2"]).nodes.model
    var random = Random(seed: UInt64(bytes.count))
    for round in 0..<25 { Self.expectSame(Self.mutated(bytes, &random), model, "round \(round)") }
  }
}
