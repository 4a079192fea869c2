import AtomicStoreSPI
import FoundationEssentials

/// HXM: documents made from what the store itself wrote. They say something else, and are refused with a place; or they say the
/// same in another way, and give the same graph.
extension Checks {
  static let hostileXML: [CheckDefinition] = [
    xml("HXM-01", "What an entity names outside of the document is never opened",
      by: "entities that name a file by its address and by its relative path, used in text and in an attribute; "
        + "the files opened are written down",
      causes: ["a parser was left to its own settings, with external entities on"], catches: ["xmlDocumentDefaultOptions"]
    ) { lab, store in
      let secret = lab.folder + "/secret.txt"
      Files.write(Array("the secret of the house".utf8), to: secret)
      for address in ["file://" + secret, "secret.txt", "./secret.txt"] {
        let declarations = [
          "<!ENTITY x SYSTEM \"\(address)\">", "<!ENTITY x PUBLIC \"-//X//Y\" \"\(address)\">", "<!ENTITY % x SYSTEM \"\(address)\"> %x;",
        ]
        for declaration in declarations {
          for inAttribute in [false, true] {
            var crafted = store.pieces
            if inAttribute, let place = crafted.tags.last(where: { (XMLPieces.Tag(crafted.pieces[$0])?.attributes.isEmpty) == false }),
              var tag = XMLPieces.Tag(crafted.pieces[place])
            {
              tag.attributes[0].value += "&x;"
              crafted.pieces[place] = tag.piece()
            } else {
              crafted.pieces[store.leaf].text += "&x;"
            }
            crafted.setDocumentType(declaration)
            let plan = try FaultPlan()
            try lab.expectRefused(crafted.bytes, "with an entity that is \(address)", model: store.graph.model, faults: plan)
            let opened = plan.trace.filter { $0.path.hasSuffix("secret.txt") }
            try lab.expect(opened.isEmpty, "the file that the entity names is not opened", "it was: \(opened.map(\.what).joined(separator: ", "))")
          }
        }
      }
    },
    xml("HXM-02", "No document makes the reader go to the network, or to other files",
      by: "a document type, a parameter entity, an XInclude, a schema's place and a style sheet, each at an address; "
        + "connections and files opened are written down",
      causes: ["a parser fetches document types"], catches: ["loadsExternalDTD"]
    ) { lab, store in
      let address = "http://127.0.0.1:9/conformance"
      var crafts: [(String, XMLPieces)] = []
      func add(_ what: String, _ change: (inout XMLPieces) -> Void) {
        var crafted = store.pieces
        change(&crafted)
        crafts.append((what, crafted))
      }
      for external in ["SYSTEM \"\(address).dtd\"", "PUBLIC \"-//X//Y\" \"\(address).dtd\"", "SYSTEM \"file:///etc/hostname\""] {
        add("whose document type is \(external)") { $0.setDocumentType("", external: external) }
      }
      add("with a parameter entity") { $0.setDocumentType("<!ENTITY % p SYSTEM \"\(address)\"> %p;") }
      add("with an XInclude") {
        $0.pieces.insert(.init(.empty, "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"\(address)\"/>"), at: $0.rootEnd)
      }
      add("that names a schema") {
        guard var tag = XMLPieces.Tag($0.pieces[$0.root]) else { return }
        tag.attributes += [("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xsi:noNamespaceSchemaLocation", address)]
        $0.pieces[$0.root] = tag.piece()
      }
      add("with a style sheet") { $0.pieces.insert(.init(.instruction, "<?xml-stylesheet href=\"\(address)\" type=\"text/xsl\"?>"), at: $0.root) }
      for (what, crafted) in crafts {
        let path = try lab.lay(crafted.bytes)
        let plan = try FaultPlan()
        let end = try lab.attempt("read a store \(what)", faults: plan) { try $0.read(path, store.graph.model) }
        switch end {
        case .value(let text): try lab.expectSame(text, store.text, "a store \(what), if it is read at all, is the same")
        case .refused(let error): try lab.expectProper(error, "a store \(what)")
        default: try lab.settle(end, "read a store \(what)")
        }
        let calls = plan.trace.filter { $0.what == "connect" || ($0.what == "read" && !$0.path.hasPrefix(lab.folder)) }
        try lab.expect(
          calls.isEmpty, "a store \(what): nothing is fetched", "there were calls: " + calls.map { "\($0.what) \($0.path)" }.joined(separator: ", "))
      }
    },
    xml("HXM-03", "Entities that hold each other many times over are refused at once",
      by: "ten entities, each ten times the one before, used once; within 3 GB and 15 s", causes: ["entities are expanded"],
      catches: ["expandsEntities"]
    ) { lab, store in
      var declarations = "<!ENTITY e0 \"lol\">"
      for level in 1...9 { declarations += "<!ENTITY e\(level) \"\(String(repeating: "&e\(level - 1);", count: 10))\">" }
      try refuseEntities(lab, store, declarations, use: "&e9;", "that would be three thousand million characters")
      try refuseEntities(lab, store, "<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">", use: "&a;", "with entities that hold each other")
    },
    xml("HXM-04", "A long entity that is used very often is refused at once",
      by: "50,000 characters, used 20,000 times; within 3 GB and 15 s",
      causes: ["only nested entities are counted"], catches: ["expandsFlatEntities"]
    ) { lab, store in
      let long = String(repeating: "x", count: 50_000)
      try refuseEntities(lab, store, "<!ENTITY long \"\(long)\">", use: String(repeating: "&long;", count: 20_000), "with a long entity")
    },
    xml("HXM-05", "A document type that declares anything is refused", level: .should,
      by: "entities that nobody uses, elements, attributes with values for those that have none, notations",
      causes: ["declarations were taken for harmless as long as they are not used"], catches: ["allowsDoctype"]
    ) { lab, store in
      let tag = store.pieces.tags.compactMap { XMLPieces.Tag(store.pieces.pieces[$0]) }.last { !$0.attributes.isEmpty }
      for declaration in [
        "<!ENTITY unused \"x\">", "<!ENTITY % unused \"x\">", "<!NOTATION n SYSTEM \"n\"><!ENTITY unused SYSTEM \"x\" NDATA n>",
        "<!ELEMENT \(store.pieces.rootName) ANY>", "<!ATTLIST \(tag?.name ?? "x") \(tag?.attributes.first?.name ?? "y") CDATA \"forged\">",
        "<!NOTATION n SYSTEM \"n\">",
      ] {
        for external in Set(["", store.pieces.externalIdentifier]).sorted() {
          var crafted = store.pieces
          crafted.setDocumentType(declaration, external: external)
          try lab.expectRefused(crafted.bytes, "whose document type says \(declaration)", model: store.graph.model)
        }
      }
    },
    xml("HXM-06", "Elements very deep inside each other are refused, not followed until the stack ends",
      by: "300,000 levels: of an element that nobody knows, of the outermost one, "
        + "and wherever the store itself writes an element into one of the same name",
      causes: ["a reader calls itself for each level", "no bound on depth"], catches: ["recursiveParse"]
    ) { lab, store in
      let levels = 300_000
      func nest(_ start: [UInt8], _ end: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity((start.count + end.count) * levels)
        for _ in 0..<levels { bytes += start }
        for _ in 0..<levels { bytes += end }
        return bytes
      }
      for name in ["unknown", store.pieces.rootName] {
        var crafted = store.pieces
        crafted.pieces.insert(.init(.text, nest(Array("<\(name)>".utf8), Array("</\(name)>".utf8))), at: crafted.rootEnd)
        try lab.expectRefused(crafted.bytes, "with 300,000 <\(name)> inside each other", model: store.graph.model)
      }
      // Where an element of a name stands right in another of that name.
      let starts = store.pieces.pieces.indices.filter { store.pieces.pieces[$0].kind != .text || !store.pieces.pieces[$0].isBlank }
      let twice = zip(starts, starts.dropFirst()).first { one, two in
        let pieces = store.pieces.pieces
        return pieces[one].kind == .start && pieces[two].kind == .start && pieces[one].bytes == pieces[two].bytes
      }
      guard let (_, inner) = twice else { return lab.note("the store writes no element into one of the same name") }
      var crafted = store.pieces
      let piece = crafted.pieces[inner]
      let end = Array("</\(XMLPieces.Tag(piece)?.name ?? "")>".utf8)
      crafted.pieces.insert(.init(.text, nest(piece.bytes, end)), at: inner)
      try lab.expectRefused(crafted.bytes, "with 300,000 \(piece.text) inside each other", model: store.graph.model)
    },
    xml("HXM-07", "What is not well-formed is refused, wherever it stands",
      by: "some ninety changes that XML forbids, each in a document of the store's own; the document cut at many places",
      causes: ["an error was reported after the fact, and nobody looked", "a lenient parser mended the document"],
      catches: ["trustsParseBool", "xmlDocumentReader"], timeLimit: 90
    ) { lab, store in
      for (what, change) in XMLMalformations.all {
        var crafted = store.pieces
        change(&crafted, store.leaf)
        try lab.expectRefused(crafted.bytes, "with \(what)", model: store.graph.model)
      }
      let bytes = store.pieces.bytes
      for part in 1..<20 {
        try lab.expectRefused(Array(bytes.prefix(bytes.count * part / 20)), "cut after \(part) twentieths", model: store.graph.model)
      }
      try lab.expectRefused(bytes.dropLast(), "cut before the last byte", model: store.graph.model)
    },
    xml("HXM-08", "An attribute that comes twice, a prefix that nobody bound and text between elements are refused",
      by: "each of them in the outermost element and in inner ones", causes: ["of two attributes the last one won", "prefixes were cut off"],
      catches: ["lastAttributeWins"]
    ) { lab, store in
      let pieces = store.pieces
      let withAttributes = pieces.tags.filter { place in place > pieces.root && XMLPieces.Tag(pieces.pieces[place])?.attributes.isEmpty == false }
      for place in [withAttributes.first, withAttributes.last].compactMap({ $0 }) {
        guard var tag = XMLPieces.Tag(pieces.pieces[place]) else { continue }
        var crafted = pieces
        tag.attributes.append(tag.attributes[0])
        crafted.pieces[place] = tag.piece()
        try lab.expectRefused(crafted.bytes, "with an attribute twice, both with one value", model: store.graph.model)
        tag.attributes[tag.attributes.count - 1].value += "1"
        crafted.pieces[place] = tag.piece()
        try lab.expectRefused(crafted.bytes, "with an attribute twice", model: store.graph.model)
      }
      for place in [store.leaf, pieces.leaves.last].compactMap({ $0 }) {
        guard var tag = XMLPieces.Tag(pieces.pieces[place - 1]) else { continue }
        tag.name = "p:" + tag.name
        var crafted = pieces
        crafted.pieces[place - 1] = tag.piece()
        crafted.pieces[place + 1].text = "</\(tag.name)>"
        try lab.expectRefused(crafted.bytes, "with an element that has a prefix", model: store.graph.model)
      }
      for place in [pieces.root + 1, pieces.rootEnd, (pieces.rootEnd + pieces.root) / 2] {
        // Right behind an end tag, or between the outermost tags: never within a leaf.
        let here = (place...pieces.rootEnd).first { $0 == pieces.root + 1 || $0 == pieces.rootEnd || pieces.pieces[$0 - 1].kind == .end }
        guard let here else { continue }
        var crafted = pieces
        crafted.pieces.insert(.init(.text, "stray"), at: here)
        try lab.expectRefused(crafted.bytes, "with text between elements", model: store.graph.model)
      }
    },
    xml("HXM-09", "However XML lets the same be written, it is read as the same",
      by: "sections of character data, comments and instructions inside of texts, references to characters, other quotes, "
        + "blanks, order and line ends, a mark at the start, UTF-16",
      causes: ["the first piece of a text was taken for all of it", "bytes were compared where XML has several spellings"],
      catches: ["commentSplitsText"]
    ) { lab, store in
      for (what, change) in XMLSpellings.all {
        var crafted = store.pieces
        change(&crafted)
        try lab.expectSameGraph(crafted.bytes, what, store.graph, store.text)
      }
      for (what, bytes) in XMLSpellings.encodings(store.pieces) { try lab.expectSameGraph(bytes, what, store.graph, store.text) }
    },
    xml("HXM-10", "An encoding that the bytes do not have is refused",
      by: "declarations of UTF-16, UTF-32, ASCII and of nothing known, over UTF-8; Latin-1 without a declaration",
      causes: ["the declaration is not looked at"], catches: ["ignoresEncoding"]
    ) { lab, store in
      for label in ["UTF-16", "UTF-16LE", "UTF-32", "UCS-4", "US-ASCII", "klingon", ""] {
        var crafted = store.pieces
        crafted.declare(encoding: label)
        try lab.expectRefused(crafted.bytes, "that says it were \(label.isEmpty ? "of an encoding without a name" : label)", model: store.graph.model)
      }
      var latin = store.pieces
      latin.pieces[store.leaf].bytes += [0xE4, 0x20]
      try lab.expectRefused(latin.bytes, "in Latin-1", model: store.graph.model)
    },
    CheckDefinition(
      "HXM-11", "Tabs and line ends come back, whether they stand in texts, in names or in references", profile: .hostile, from: kit,
      by: "texts and string references with tab, line feed, carriage return and blanks, which readers of XML attributes make blanks of",
      causes: ["a value stands in an attribute, and its tabs and line ends are not written as references"],
      catches: ["attributeWhitespaceNormalised"]
    ) { lab in
      _ = try lab.xmlSubject()
      try lab.expectKept(Graph.values(.string, ["\t", "a\tb", "\n", "a\nb", "\r\n", "a\r\nb", "\r", " \t\n\r ", "a  b"].map { .string($0) }), "texts",
        path: lab.path("texts"))
      let names = ["a b", "tab\there", "line\nfeed", "quote\"d", "les<s", "am&p", "ä"]
      let model = Models.attributes(names.map { ($0, .string) })
      if (try? Models.frozen(model)) != nil {
        var graph = Graph(model)
        graph.objects.append(.init(label: "one", entity: "Sample", values: Dictionary(uniqueKeysWithValues: names.map { ($0, .string($0)) })))
        try lab.expectKeptOrRefused(graph, "properties whose names hold tabs and line ends")
      }
    },
    xml("HXM-13", "A comment, an instruction or an attribute of many megabytes takes time and memory by its size",
      by: "one of each, of 4 and of 32 million bytes: eight times the size takes at most 24 times the processor's time; "
        + "at most 64 MB and 64 times the size",
      causes: ["what has not ended yet is searched again from its beginning for each piece of the file"], catches: ["rescansComments"],
      timeLimit: 180
    ) { lab, store in
      struct Seen: Codable, Sendable {
        var seconds: Double
        var memory: Int
      }
      for (what, begin, end) in [("a comment", "<!--", "-->"), ("an instruction", "<?x ", "?>"), ("an attribute", "<unknown a=\"", "\"/>")] {
        var all: [Seen] = []
        for count in [4_000_000, 32_000_000] {
          var crafted = store.pieces
          crafted.pieces.insert(
            .init(.text, Array(begin.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: count) + Array(end.utf8)), at: crafted.rootEnd)
          let path = lab.path("long")
          Files.write(crafted.bytes, to: path)
          let model = store.graph.model
          let seen = try lab.process("open it with \(what) of \(count) bytes", seconds: 60) { bench -> Seen in
            var seen = Seen(seconds: 0, memory: 0)
            seen.memory = try Memory.growth { seen.seconds = Stopwatch.seconds { _ = try? bench.open(path, model, isReadOnly: true) } }
            return seen
          }
          Files.remove(path)
          try lab.expect(
            seen.memory <= (64 << 20) + 64 * count, "\(what) of \(count) bytes: at most 64 MB and 64 times the size", "\(seen.memory >> 20) MB")
          all.append(seen)
        }
        lab.note("\(what): " + all.map { "\(Int($0.seconds * 1000)) ms, \($0.memory >> 20) MB" }.joined(separator: "; "))
        try lab.expect(
          all[1].seconds < 0.2 || all[1].seconds <= all[0].seconds * 24, "\(what): eight times the size takes at most 24 times as long",
          "\(Int(all[0].seconds * 1000)) ms became \(Int(all[1].seconds * 1000)) ms")
      }
    },
    xml("HXM-12", "Another reader finds every document of the store's well-formed", profile: .interop,
      by: "texts with every control character, noncharacter and line end, one store each; Python's expat reads those that were saved",
      causes: ["characters that XML cannot have were written as they are"], catches: ["writesIllegalCharacters"], timeLimit: 60
    ) { lab, store in
      var texts = ["]]>", "<&>\"'", "\t \n", "\r", "\u{FEFF}", "e\u{301}", "𝄞", "<![CDATA[", "&#1;", "--", "?>", ""]
      for scalar in Array(UInt32(0)...0x1F) + Array(UInt32(0x7F)...0x9F) + [0x2028, 0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFE] {
        texts += Unicode.Scalar(scalar).map { ["a\($0)b"] } ?? []
      }
      var paths: [String] = []
      var refused = 0
      let all = lab.path("all")
      if case .value = try lab.attempt("save all texts", { try $0.write(Graph.values(.string, texts.map { .string($0) }), to: all) }) {
        paths.append(all)
      } else {
        for text in texts {
          let path = lab.path("text\(paths.count + refused)")
          let end = try lab.attempt("save one text") { try $0.write(Graph.values(.string, [.string(text)]), to: path) }
          if case .value = end { paths.append(path) } else { refused += 1 }
        }
      }
      for (place, attribute) in [AttributeType.double, .date, .binaryData, .uri, .decimal].enumerated() {
        let values: [StoredValue] =
          switch attribute {
          case .double: [.double(.nan), .double(-.infinity), .double(1e-300)]
          case .date: [date(0.1), date(1e12)]
          case .binaryData: [.data(Data((0...255).map { UInt8($0) }))]
          case .uri: [.uri("https://example.org/?a=<&>\u{1}")]
          default: DecimalNumber("-1.50").map { [.decimal($0)] } ?? []
          }
        let path = lab.path("values\(place)")
        if case .value = try lab.attempt("save values of type \(attribute.modelName)", { try $0.write(Graph.values(attribute, values), to: path) }) {
          paths.append(path)
        }
      }
      paths.append(lab.path("golden"))
      lab.note("\(paths.count) documents, \(refused) texts refused")
      let script = """
        import sys, json, xml.parsers.expat
        answers = []
        for path in sys.argv[2:]:
            parser = xml.parsers.expat.ParserCreate()
            try:
                parser.Parse(open(path, 'rb').read(), True); answers.append('')
            except Exception as error:
                answers.append(str(error))
        json.dump(answers, open(sys.argv[1], 'w'))
        """
      let answers = try OtherReader.python(script, paths, in: lab.folder, as: [String].self)
      for (path, answer) in zip(paths, answers) {
        try lab.expect(answer.isEmpty, "expat reads \(path.split(separator: "/").last ?? "")", answer)
      }
      try lab.expect(answers.count == paths.count, "expat judges each document", "\(answers.count) of \(paths.count)")
    },
  ]

  private static func xml(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, profile: ConformanceCheck.Profile = .hostile, by procedure: String,
    causes: [String], catches: [String], timeLimit: Int = 60, _ body: @escaping @Sendable (Lab, Lab.XMLSubject) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: profile, from: kit, by: procedure, causes: causes, catches: catches, timeLimit: timeLimit
    ) { lab in try body(lab, try lab.xmlSubject()) }
  }

  private static func refuseEntities(_ lab: Lab, _ store: Lab.XMLSubject, _ declarations: String, use: String, _ what: String) throws {
    for external in Set(["", store.pieces.externalIdentifier]).sorted() {
      var crafted = store.pieces
      crafted.setDocumentType(declarations, external: external)
      crafted.pieces[store.leaf].text += use
      try lab.expectRefused(crafted.bytes, what, model: store.graph.model)
    }
  }
}

/// Changes that make a document not well-formed (XML 1.0, fifth edition).
enum XMLMalformations {
  typealias Change = @Sendable (inout XMLPieces, Int) -> Void

  static let all: [(String, Change)] = texts + elements + documents

  /// In the text of a leaf.
  private static let texts: [(String, Change)] = [
    ("an ampersand alone", "& "), ("an ampersand at the end of a text", "&"), ("an entity that nobody declared", "&nosuch;"),
    ("a reference without its semicolon", "&amp "), ("a reference with a blank", "&am p;"), ("a reference to U+0000", "&#0;"),
    ("a reference to U+0001", "&#1;"), ("a reference to U+001F", "&#x1F;"), ("a reference to half a surrogate pair", "&#xD800;"),
    ("a reference past the last character", "&#x110000;"), ("a reference to U+FFFE", "&#xFFFE;"), ("a reference without digits", "&#;"),
    ("a hexadecimal reference without digits", "&#x;"), ("a decimal reference with letters", "&#1F;"), ("a reference with a capital X", "&#X41;"),
    ("an endless reference", "&#99999999999999999999999;"), ("the end of a section that never began", "]]>"),
    ("a comment with two hyphens", "<!-- a -- b -->"), ("a comment that ends in three hyphens", "<!-- a --->"), ("a comment without an end", "<!-- a"),
    ("half the beginning of a comment", "<!- a -->"), ("a section in lower-case letters", "<![cdata[a]]>"), ("a section without an end", "<![CDATA[a"),
    ("an instruction without a name", "<? a?>"), ("an instruction named xml", "<?xml version=\"1.0\"?>"), ("an instruction named XML", "<?XML a?>"),
    ("an instruction without an end", "<?a b"), ("an instruction with a digit for a name", "<?1 a?>"), ("a less-than sign alone", "a < b"),
    ("a document type inside of an element", "<!DOCTYPE a>"), ("a declaration inside of an element", "<!ELEMENT a ANY>"),
    ("an element whose name is a digit", "<1/>"), ("an element whose name begins with a hyphen", "<-a/>"), ("an element without a name", "<>"),
    ("a tag with a blank before its name", "< a/>"), ("a tag with a blank in its end", "<a/ >"), ("a tag with two strokes", "<a//>"),
    ("an end tag with an attribute", "<a></a b=\"c\">"), ("an end tag that nothing began", "</nosuch>"), ("a tag in a tag", "<a <b/>>"),
    ("an attribute without a value", "<a b/>"), ("an attribute without quotes", "<a b=c/>"), ("an attribute with two kinds of quotes", "<a b=\"c'/>"),
    ("attributes without a blank between", "<a b=\"1\"c=\"2\"/>"), ("a less-than sign in an attribute", "<a b=\"<\"/>"),
    ("an ampersand alone in an attribute", "<a b=\"&\"/>"), ("an unknown entity in an attribute", "<a b=\"&nosuch;\"/>"),
    ("an attribute twice in a new element", "<a b=\"1\" b=\"1\"/>"), ("an attribute without a name", "<a =\"1\"/>"),
    ("tags crossing each other", "<a><b></a></b>"), ("names that differ in case", "<a></A>"),
  ].map { what, text in (what, { @Sendable crafted, leaf in crafted.pieces[leaf].text += text }) }
    + [
      ("U+0000 as it is", [0x00]), ("U+0001 as it is", [0x01]), ("U+000B as it is", [0x0B]), ("U+001F as it is", [0x1F]),
      ("U+FFFE as it is", [0xEF, 0xBF, 0xBE]), ("U+FFFF as it is", [0xEF, 0xBF, 0xBF]), ("a byte that UTF-8 never has", [0xFF]),
      ("a letter in too many bytes", [0xC1, 0x81]), ("a NUL in two bytes", [0xC0, 0x80]), ("half a surrogate pair as it is", [0xED, 0xA0, 0x80]),
      ("a character past the last", [0xF4, 0x90, 0x80, 0x80]), ("a character that is cut short", [0xE2, 0x82]), ("a byte that continues nothing", [0x80]),
    ].map { (what: String, bytes: [UInt8]) in (what, { @Sendable crafted, leaf in crafted.pieces[leaf].bytes += bytes }) }

  /// In the tags that are there.
  private static let elements: [(String, Change)] = [
    ("a leaf that never ends", { crafted, leaf in crafted.pieces.remove(at: leaf + 1) }),
    ("a leaf that ends twice", { crafted, leaf in crafted.pieces.insert(crafted.pieces[leaf + 1], at: leaf + 1) }),
    ("a leaf that never began", { crafted, leaf in crafted.pieces.remove(at: leaf - 1) }),
    ("a leaf that ends by another name", { crafted, leaf in crafted.pieces[leaf + 1].text = "</other>" }),
    ("a start tag without its bracket", { crafted, leaf in crafted.pieces[leaf - 1].bytes.removeLast() }),
    ("an end tag without its bracket", { crafted, leaf in crafted.pieces[leaf + 1].bytes.removeLast() }),
    ("no end of the outermost element", { crafted, _ in crafted.pieces.remove(at: crafted.rootEnd) }),
    ("an attribute twice", { crafted, _ in
      crafted.retag { tag in
        var tag = tag
        if let first = tag.attributes.first { tag.attributes.append(first) }
        return tag.piece()
      }
    }),
    ("values without quotes", { crafted, _ in crafted.retag { $0.piece(quote: "") } }),
    ("values without an equals sign", { crafted, _ in crafted.retag { $0.piece(equals: "") } }),
    ("attributes that touch", { crafted, _ in
      crafted.retag { tag in
        var tag = tag
        tag.attributes += [("one", "1"), ("two", "2")]
        return .init(.start, tag.piece().text.replacing("\" two", with: "\"two"))
      }
    }),
  ]

  /// Around the outermost element.
  private static let documents: [(String, Change)] = [
    ("a second outermost element", { crafted, _ in crafted.pieces.append(.init(.empty, "<more/>")) }),
    ("the whole twice", { crafted, _ in crafted.pieces += crafted.pieces }),
    ("text behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.text, "stray")) }),
    ("a reference behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.text, "&#32;")) }),
    ("a section behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.cdata, "<![CDATA[]]>")) }),
    ("U+0000 behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.text, [0x00])) }),
    ("an open comment behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.comment, "<!-- a")) }),
    ("a document type behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.doctype, "<!DOCTYPE a>")) }),
    ("text before the outermost element", { crafted, _ in crafted.pieces.insert(.init(.text, "stray"), at: crafted.root) }),
    ("two document types", { crafted, _ in
      crafted.setDocumentType("", external: crafted.externalIdentifier)
      crafted.pieces.insert(.init(.doctype, "<!DOCTYPE \(crafted.rootName)>"), at: crafted.root)
    }),
    ("a document type in lower-case letters", { crafted, _ in crafted.pieces.insert(.init(.doctype, "<!doctype \(crafted.rootName)>"), at: crafted.root) }),
    ("a document type without a name", { crafted, _ in
      crafted.setDocumentType("")
      for place in crafted.pieces.indices where crafted.pieces[place].kind == .doctype { crafted.pieces[place].text = "<!DOCTYPE >" }
    }),
    ("a parameter entity that nobody declared", { crafted, _ in crafted.setDocumentType("%nosuch;") }),
    ("a declaration of nothing known", { crafted, _ in crafted.setDocumentType("<!THING a>") }),
    ("a blank before the declaration", { crafted, _ in crafted.declare("<?xml version=\"1.0\"?>", before: " ") }),
    ("a declaration without a version", { crafted, _ in crafted.declare("<?xml standalone=\"yes\"?>") }),
    ("a declaration with an empty version", { crafted, _ in crafted.declare("<?xml version=\"\"?>") }),
    ("a declaration in a wrong order", { crafted, _ in crafted.declare("<?xml version=\"1.0\" standalone=\"yes\" encoding=\"UTF-8\"?>") }),
    ("a declaration with another word", { crafted, _ in crafted.declare("<?xml version=\"1.0\" standalone=\"maybe\"?>") }),
    ("a declaration with an unknown part", { crafted, _ in crafted.declare("<?xml version=\"1.0\" colour=\"red\"?>") }),
    ("a declaration that does not end", { crafted, _ in crafted.declare("<?xml version=\"1.0\">") }),
    ("two declarations", { crafted, _ in crafted.declare("<?xml version=\"1.0\"?><?xml version=\"1.0\"?>") }),
  ]
}

extension XMLPieces {
  /// Puts a declaration at the start, in the place of what was there.
  mutating func declare(_ text: String, before: String = "") {
    if pieces[0].kind == .instruction { pieces[0].text = before + text } else { pieces.insert(.init(.instruction, before + text + "\n"), at: 0) }
  }
  mutating func declare(encoding: String) { declare("<?xml version=\"1.0\" encoding=\"\(encoding)\"?>") }
}

/// Other spellings of the same document.
enum XMLSpellings {
  typealias Change = @Sendable (inout XMLPieces) -> Void

  static let all: [(String, Change)] = [
    ("with its texts as sections of character data", { crafted in
      for place in plain(crafted) { crafted.pieces[place] = .init(.cdata, "<![CDATA[" + crafted.pieces[place].text + "]]>") }
    }),
    ("with its texts in halves, one of them a section", { crafted in
      split(&crafted) { head, tail in head + "<![CDATA[" + tail + "]]>" }
    }),
    ("with empty sections around its texts", { crafted in
      for place in plain(crafted) { crafted.pieces[place].text = "<![CDATA[]]>" + crafted.pieces[place].text + "<![CDATA[]]>" }
    }),
    ("with comments in its texts", { crafted in split(&crafted) { head, tail in head + "<!-- between -->" + tail } }),
    ("with instructions in its texts", { crafted in split(&crafted) { head, tail in head + "<?some thing?>" + tail } }),
    ("with its texts as references to characters", { crafted in
      for place in plain(crafted) { crafted.pieces[place].text = references(crafted.pieces[place].text, radix: 10) }
    }),
    ("with its texts as hexadecimal references to characters", { crafted in
      for place in plain(crafted) { crafted.pieces[place].text = references(crafted.pieces[place].text, radix: 16) }
    }),
    ("with its attributes as references to characters", { crafted in
      crafted.retag { tag in
        var tag = tag
        for place in tag.attributes.indices where !tag.attributes[place].value.utf8.contains(0x26) && !tag.name.contains(":") {
          tag.attributes[place].value = references(tag.attributes[place].value, radix: 16)
        }
        return tag.piece()
      }
    }),
    ("with single quotes", { crafted in
      crafted.retag { tag in tag.attributes.contains { $0.value.contains("'") } ? tag.piece() : tag.piece(quote: "'") }
    }),
    ("with blanks in its tags", { crafted in crafted.retag { $0.piece(equals: " =\n\t", between: "\n  ", atEnd: " ") } }),
    ("with its attributes in another order", { crafted in
      crafted.retag { tag in
        var tag = tag
        tag.attributes.reverse()
        return tag.piece()
      }
    }),
    ("with empty elements as pairs of tags, and pairs as one", { crafted in
      var result: [XMLPieces.Piece] = []
      for piece in crafted.pieces {
        if piece.kind == .empty, let tag = XMLPieces.Tag(piece) {
          var open = tag
          open.isEmpty = false
          result += [open.piece(), .init(.end, "</\(tag.name)>")]
        } else if piece.kind == .end, let last = result.last, last.kind == .start, var tag = XMLPieces.Tag(last) {
          tag.isEmpty = true
          result[result.count - 1] = tag.piece()
        } else {
          result.append(piece)
        }
      }
      crafted.pieces = result
    }),
    ("with comments and instructions between its elements", { crafted in
      for place in between(crafted) { crafted.pieces[place].text += "<!-- <a> &b; -->\n<?c d?>" }
      crafted.pieces.append(.init(.comment, "\n<!-- the end -->\n<?the end?>\n"))
    }),
    ("with other blanks between its elements", { crafted in
      for place in between(crafted) { crafted.pieces[place].text = "\n\t \n" }
    }),
    ("without blanks between its elements", { crafted in
      for place in between(crafted) where place > crafted.root { crafted.pieces[place].text = "" }
    }),
    ("with carriage returns at its line ends", { crafted in
      for place in crafted.pieces.indices {
        crafted.pieces[place].text = crafted.pieces[place].text.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n")
      }
    }),
    ("without a declaration", { crafted in if crafted.pieces[0].kind == .instruction { crafted.pieces.removeFirst() } }),
    ("that says what it is, UTF-8", { $0.declare(encoding: "utf-8") }),
    ("with a byte order mark", { $0.pieces.insert(.init(.text, [0xEF, 0xBB, 0xBF]), at: 0) }),
  ]

  static func encodings(_ pieces: XMLPieces) -> [(String, [UInt8])] {
    var pieces = pieces
    if pieces.pieces[0].kind == .instruction { pieces.pieces.removeFirst() }
    let units = Array(String(decoding: pieces.bytes, as: UTF8.self).utf16)
    func wide(_ declaration: String, _ isLittle: Bool) -> [UInt8] {
      ([0xFEFF] + Array(declaration.utf16) + units).flatMap { unit -> [UInt8] in
        let high = UInt8(truncatingIfNeeded: unit >> 8)
        let low = UInt8(truncatingIfNeeded: unit)
        return isLittle ? [low, high] : [high, low]
      }
    }
    return [
      ("in UTF-16, least byte first", wide("", true)), ("in UTF-16, greatest byte first", wide("", false)),
      ("in UTF-16 that says so", wide("<?xml version=\"1.0\" encoding=\"UTF-16\"?>", true)),
    ]
  }

  /// Leaves without references in them.
  private static func plain(_ crafted: XMLPieces) -> [Int] {
    crafted.leaves.filter { !crafted.pieces[$0].bytes.contains(0x26) && !crafted.pieces[$0].isBlank }
  }

  /// Blanks that are layout: not all that an element holds.
  private static func between(_ crafted: XMLPieces) -> [Int] {
    let leaves = Set(crafted.leaves)
    return crafted.pieces.indices.filter { $0 > 0 && crafted.pieces[$0].kind == .text && crafted.pieces[$0].isBlank && !leaves.contains($0) }
  }

  private static func split(_ crafted: inout XMLPieces, _ join: (String, String) -> String) {
    for place in plain(crafted) {
      let scalars = Array(crafted.pieces[place].text.unicodeScalars)
      var head = String.UnicodeScalarView()
      var tail = String.UnicodeScalarView()
      for (index, scalar) in scalars.enumerated() { if index < scalars.count / 2 { head.append(scalar) } else { tail.append(scalar) } }
      crafted.pieces[place].text = join(String(head), String(tail))
    }
  }

  private static func references(_ text: String, radix: Int) -> String {
    text.unicodeScalars.map { radix == 16 ? "&#x\(String($0.value, radix: 16));" : "&#\($0.value);" }.joined()
  }
}
