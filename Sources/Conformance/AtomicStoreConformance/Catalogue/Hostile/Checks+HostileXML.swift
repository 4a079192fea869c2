import AtomicStoreSPI
import FoundationEssentials

/// HXM: documents made from what the store itself wrote. They say something else, and are refused with a place; or they
/// say the same in another way, and give the same graph.
extension Checks {
  static let hostileXML: [CheckDefinition] = [
    xml(
      "HXM-01", "What an entity names outside of the document is never opened",
      by: "entities that name a file by its address and by its relative path, used in text and in an attribute; "
        + "the files opened are written down",
      causes: ["a parser was left to its own settings, with external entities on"],
      catches: ["xmlDocumentDefaultOptions"]
    ) { check, store in
      let secret = check.folder + "/secret.txt"
      Files.write(Array("the secret of the house".utf8), to: secret)
      for address in ["file://" + secret, "secret.txt", "./secret.txt"] {
        let declarations = [
          "<!ENTITY x SYSTEM \"\(address)\">", "<!ENTITY x PUBLIC \"-//X//Y\" \"\(address)\">",
          "<!ENTITY % x SYSTEM \"\(address)\"> %x;",
        ]
        for declaration in declarations {
          for inAttribute in [false, true] {
            var crafted = store.pieces
            if inAttribute,
              let place = crafted.tags.last(where: { (XMLPieces.Tag(crafted.pieces[$0])?.attributes.isEmpty) == false }
              ),
              var tag = XMLPieces.Tag(crafted.pieces[place])
            {
              tag.attributes[0].value += "&x;"
              crafted.pieces[place] = tag.piece()
            } else {
              crafted.pieces[store.leaf].text += "&x;"
            }
            crafted.setDocumentType(declaration)
            let plan = try FaultPlan()
            try check.expectRefused(
              crafted.bytes, "with an entity that is \(address)", model: store.graph.model, faults: plan)
            let opened = plan.trace.filter { $0.path.hasSuffix("secret.txt") }
            try check.expect(
              opened.isEmpty, "the file that the entity names is not opened",
              "it was: \(opened.map(\.what).joined(separator: ", "))")
          }
        }
      }
    },
    xml(
      "HXM-02", "No document makes the reader go to the network, or to other files",
      by: "a document type, a parameter entity, an XInclude, a schema's place and a style sheet, each at an address; "
        + "connections and files opened are written down",
      causes: ["a parser fetches document types"], catches: ["loadsExternalDTD"]
    ) { check, store in
      let address = "http://127.0.0.1:9/conformance"
      var crafts: [(String, XMLPieces)] = []
      func add(_ what: String, _ change: (inout XMLPieces) -> Void) {
        var crafted = store.pieces
        change(&crafted)
        crafts.append((what, crafted))
      }
      for external in [
        "SYSTEM \"\(address).dtd\"", "PUBLIC \"-//X//Y\" \"\(address).dtd\"", "SYSTEM \"file:///etc/hostname\"",
      ] {
        add("whose document type is \(external)") { $0.setDocumentType("", external: external) }
      }
      add("with a parameter entity") { $0.setDocumentType("<!ENTITY % p SYSTEM \"\(address)\"> %p;") }
      add("with an XInclude") {
        $0.pieces.insert(
          .init(.empty, "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"\(address)\"/>"),
          at: $0.rootEnd)
      }
      add("that names a schema") {
        guard var tag = XMLPieces.Tag($0.pieces[$0.root]) else { return }
        tag.attributes += [
          ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xsi:noNamespaceSchemaLocation", address),
        ]
        $0.pieces[$0.root] = tag.piece()
      }
      add("with a style sheet") {
        $0.pieces.insert(.init(.instruction, "<?xml-stylesheet href=\"\(address)\" type=\"text/xsl\"?>"), at: $0.root)
      }
      for (what, crafted) in crafts {
        let path = try check.lay(crafted.bytes)
        let plan = try FaultPlan()
        let end = try check.attempt("read a store \(what)", faults: plan) { try $0.read(path, store.graph.model) }
        switch end {
        case .value(let text):
          try check.expectSame(text, store.text, "a store \(what), if it is read at all, is the same")
        case .refused(let error): try check.expectProper(error, "a store \(what)")
        default: try check.settle(end, "read a store \(what)")
        }
        let calls = plan.trace.filter {
          $0.what == "connect" || ($0.what == "read" && !$0.path.hasPrefix(check.folder))
        }
        try check.expect(
          calls.isEmpty, "a store \(what): nothing is fetched",
          "there were calls: " + calls.map { "\($0.what) \($0.path)" }.joined(separator: ", "))
      }
    },
    xml(
      "HXM-03", "Entities that hold each other many times over are refused at once",
      by: "ten entities, each ten times the one before, used once; within 3 GB and 15 s",
      causes: ["entities are expanded"],
      catches: ["expandsEntities"]
    ) { check, store in
      var declarations = "<!ENTITY e0 \"lol\">"
      for level in 1...9 {
        declarations += "<!ENTITY e\(level) \"\(String(repeating: "&e\(level - 1);", count: 10))\">"
      }
      try refuseEntities(check, store, declarations, use: "&e9;", "that would be three thousand million characters")
      try refuseEntities(
        check, store, "<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">", use: "&a;", "with entities that hold each other")
    },
    xml(
      "HXM-04", "A long entity that is used very often is refused at once",
      by: "50,000 characters, used 20,000 times; within 3 GB and 15 s",
      causes: ["only nested entities are counted"], catches: ["expandsFlatEntities"]
    ) { check, store in
      let long = String(repeating: "x", count: 50_000)
      try refuseEntities(
        check, store, "<!ENTITY long \"\(long)\">", use: String(repeating: "&long;", count: 20_000),
        "with a long entity")
    },
    xml(
      "HXM-05", "A document type that declares anything is refused", level: .should,
      by: "entities that no one uses, elements, attributes with values for those that have none, notations",
      causes: ["declarations were taken for harmless as long as they are not used"], catches: ["allowsDoctype"]
    ) { check, store in
      let tag = store.pieces.tags.compactMap { XMLPieces.Tag(store.pieces.pieces[$0]) }.last { !$0.attributes.isEmpty }
      for declaration in [
        "<!ENTITY unused \"x\">", "<!ENTITY % unused \"x\">",
        "<!NOTATION n SYSTEM \"n\"><!ENTITY unused SYSTEM \"x\" NDATA n>",
        "<!ELEMENT \(store.pieces.rootName) ANY>",
        "<!ATTLIST \(tag?.name ?? "x") \(tag?.attributes.first?.name ?? "y") CDATA \"forged\">",
        "<!NOTATION n SYSTEM \"n\">",
      ] {
        for external in Set(["", store.pieces.externalIdentifier]).sorted() {
          var crafted = store.pieces
          crafted.setDocumentType(declaration, external: external)
          try check.expectRefused(crafted.bytes, "whose document type says \(declaration)", model: store.graph.model)
        }
      }
    },
    xml(
      "HXM-06", "Elements very deep inside each other are refused, not followed until the stack ends",
      by: "300,000 levels: of an element that no one knows, of the outermost one, "
        + "and wherever the store itself writes an element into one of the same name",
      causes: ["a reader calls itself for each level", "no bound on depth"], catches: ["recursiveParse"]
    ) { check, store in
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
        crafted.pieces.insert(
          .init(.text, nest(Array("<\(name)>".utf8), Array("</\(name)>".utf8))), at: crafted.rootEnd)
        try check.expectRefused(crafted.bytes, "with 300,000 <\(name)> inside each other", model: store.graph.model)
      }
      // Where an element of a name is right in another of that name.
      let starts = store.pieces.pieces.indices.filter {
        store.pieces.pieces[$0].kind != .text || !store.pieces.pieces[$0].isBlank
      }
      let twice = zip(starts, starts.dropFirst()).first { one, two in
        let pieces = store.pieces.pieces
        return pieces[one].kind == .start && pieces[two].kind == .start && pieces[one].bytes == pieces[two].bytes
      }
      guard let (_, inner) = twice else { return check.note("the store writes no element into one of the same name") }
      var crafted = store.pieces
      let piece = crafted.pieces[inner]
      let end = Array("</\(XMLPieces.Tag(piece)?.name ?? "")>".utf8)
      crafted.pieces.insert(.init(.text, nest(piece.bytes, end)), at: inner)
      try check.expectRefused(crafted.bytes, "with 300,000 \(piece.text) inside each other", model: store.graph.model)
    },
    xml(
      "HXM-07", "What is not well-formed is refused, wherever it is",
      by:
        "some ninety changes that XML forbids, each in a document of the store's own; the document cut at many places",
      causes: ["an error was reported after the fact, and no one looked", "a lenient parser repaired the document"],
      catches: ["trustsParseBool", "xmlDocumentReader"], timeLimit: 90
    ) { check, store in
      for (what, change) in XMLMalformations.all {
        var crafted = store.pieces
        change(&crafted, store.leaf)
        try check.expectRefused(crafted.bytes, "with \(what)", model: store.graph.model)
      }
      let bytes = store.pieces.bytes
      for part in 1..<20 {
        try check.expectRefused(
          Array(bytes.prefix(bytes.count * part / 20)), "cut after \(part) twentieths", model: store.graph.model)
      }
      try check.expectRefused(bytes.dropLast(), "cut before the last byte", model: store.graph.model)
    },
    xml(
      "HXM-08", "An attribute that comes twice, a prefix that no one bound and text between elements are refused",
      by: "each of them in the outermost element and in inner ones",
      causes: ["of two attributes the last one won", "prefixes were cut off"],
      catches: ["lastAttributeWins"]
    ) { check, store in
      let pieces = store.pieces
      let withAttributes = pieces.tags.filter { place in
        place > pieces.root && XMLPieces.Tag(pieces.pieces[place])?.attributes.isEmpty == false
      }
      for place in [withAttributes.first, withAttributes.last].compactMap({ $0 }) {
        guard var tag = XMLPieces.Tag(pieces.pieces[place]) else { continue }
        var crafted = pieces
        tag.attributes.append(tag.attributes[0])
        crafted.pieces[place] = tag.piece()
        try check.expectRefused(crafted.bytes, "with an attribute twice, both with one value", model: store.graph.model)
        tag.attributes[tag.attributes.count - 1].value += "1"
        crafted.pieces[place] = tag.piece()
        try check.expectRefused(crafted.bytes, "with an attribute twice", model: store.graph.model)
      }
      for place in [store.leaf, pieces.leaves.last].compactMap({ $0 }) {
        guard var tag = XMLPieces.Tag(pieces.pieces[place - 1]) else { continue }
        tag.name = "p:" + tag.name
        var crafted = pieces
        crafted.pieces[place - 1] = tag.piece()
        crafted.pieces[place + 1].text = "</\(tag.name)>"
        try check.expectRefused(crafted.bytes, "with an element that has a prefix", model: store.graph.model)
      }
      for place in [pieces.root + 1, pieces.rootEnd, (pieces.rootEnd + pieces.root) / 2] {
        // Right behind an end tag, or between the outermost tags: never within a leaf.
        let here = (place...pieces.rootEnd).first {
          $0 == pieces.root + 1 || $0 == pieces.rootEnd || pieces.pieces[$0 - 1].kind == .end
        }
        guard let here else { continue }
        var crafted = pieces
        crafted.pieces.insert(.init(.text, "stray"), at: here)
        try check.expectRefused(crafted.bytes, "with text between elements", model: store.graph.model)
      }
    },
    xml(
      "HXM-09", "However XML lets the same be written, it is read as the same",
      by:
        "sections of character data, comments and instructions inside of texts, references to characters, other quotes, "
        + "blanks, order and line ends, a mark at the start, UTF-16",
      causes: [
        "the first piece of a text was taken for all of it", "bytes were compared where XML has several spellings",
      ],
      catches: ["commentSplitsText"]
    ) { check, store in
      for (what, change) in XMLSpellings.all {
        var crafted = store.pieces
        change(&crafted)
        try check.expectSameGraph(crafted.bytes, what, store.graph, store.text)
      }
      for (what, bytes) in XMLSpellings.encodings(store.pieces) {
        try check.expectSameGraph(bytes, what, store.graph, store.text)
      }
    },
    xml(
      "HXM-10", "An encoding that the bytes do not have is refused",
      by: "declarations of UTF-16, UTF-32, ASCII and of nothing known, over UTF-8; Latin-1 without a declaration",
      causes: ["the declaration is not looked at"], catches: ["ignoresEncoding"]
    ) { check, store in
      for label in ["UTF-16", "UTF-16LE", "UTF-32", "UCS-4", "US-ASCII", "klingon", ""] {
        var crafted = store.pieces
        crafted.declare(encoding: label)
        try check.expectRefused(
          crafted.bytes, "that says it were \(label.isEmpty ? "of an encoding without a name" : label)",
          model: store.graph.model)
      }
      var latin = store.pieces
      latin.pieces[store.leaf].bytes += [0xE4, .space]
      try check.expectRefused(latin.bytes, "in Latin-1", model: store.graph.model)
    },
    CheckDefinition(
      "HXM-11", "Tabs and line ends come back, whether they stand in texts, in names or in references",
      profile: .hostile, from: kit,
      by:
        "texts and string references with tab, line feed, carriage return and blanks, which readers of XML attributes make blanks of",
      causes: ["a value is in an attribute, and its tabs and line ends are not written as references"],
      catches: ["attributeWhitespaceNormalized"]
    ) { check in
      _ = try check.xmlSubject()
      try check.expectKept(
        Graph.values(
          .string, ["\t", "a\tb", "\n", "a\nb", "\r\n", "a\r\nb", "\r", " \t\n\r ", "a  b"].map { .string($0) }),
        "texts",
        path: check.path("texts"))
      let names = ["a b", "tab\there", "line\nfeed", "quote\"d", "les<s", "am&p", "ä"]
      let model = Models.attributes(names.map { ($0, .string) })
      if (try? Models.frozen(model)) != nil {
        var graph = Graph(model)
        graph.objects.append(
          .init(
            label: "one", entity: "Sample",
            values: Dictionary(uniqueKeysWithValues: names.map { (ScalarKey($0), .string($0)) })))
        try check.expectKeptOrRefused(graph, "properties whose names hold tabs and line ends")
      }
    },
    xml(
      "HXM-13", "A comment, an instruction or an attribute of many megabytes takes time and memory by its size",
      by:
        "one of each, of 4 and of 32 million bytes: eight times the size takes at most 24 times the processor's time; "
        + "at most 64 MB and 64 times the size",
      causes: ["what has not ended yet is searched again from its beginning for each piece of the file"],
      catches: ["rescansComments"],
      timeLimit: 180
    ) { check, store in
      struct Seen: Codable, Sendable {
        var seconds: Double
        var memory: Int
      }
      for (what, begin, end) in [
        ("a comment", "<!--", "-->"), ("an instruction", "<?x ", "?>"), ("an attribute", "<unknown a=\"", "\"/>"),
      ] {
        var all: [Seen] = []
        for count in [4_000_000, 32_000_000] {
          var crafted = store.pieces
          crafted.pieces.insert(
            .init(.text, Array(begin.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: count) + Array(end.utf8)),
            at: crafted.rootEnd)
          let path = check.path("long")
          Files.write(crafted.bytes, to: path)
          let model = store.graph.model
          let seen = try check.process("open it with \(what) of \(count) bytes", seconds: 60) { session -> Seen in
            var seen = Seen(seconds: 0, memory: 0)
            seen.memory = try Memory.growth {
              seen.seconds = Stopwatch.seconds { _ = try? session.open(path, model, isReadOnly: true) }
            }
            return seen
          }
          Files.remove(path)
          try check.expect(
            seen.memory <= (64 << 20) + 64 * count, "\(what) of \(count) bytes: at most 64 MB and 64 times the size",
            "\(seen.memory >> 20) MB")
          all.append(seen)
        }
        check.note(
          "\(what): " + all.map { "\(Int($0.seconds * 1000)) ms, \($0.memory >> 20) MB" }.joined(separator: "; "))
        try check.expect(
          all[1].seconds < 0.2 || all[1].seconds <= all[0].seconds * 24,
          "\(what): eight times the size takes at most 24 times as long",
          "\(Int(all[0].seconds * 1000)) ms became \(Int(all[1].seconds * 1000)) ms")
      }
    },
    xml(
      "HXM-12", "Another reader finds every document of the store's well-formed", profile: .interop,
      by:
        "texts with every control character, noncharacter and line end, one store each; Python's expat reads those that were saved",
      causes: ["characters that XML cannot have were written as they are"], catches: ["writesIllegalCharacters"],
      timeLimit: 60
    ) { check, store in
      var texts = ["]]>", "<&>\"'", "\t \n", "\r", "\u{FEFF}", "e\u{301}", "𝄞", "<![CDATA[", "&#1;", "--", "?>", ""]
      for scalar in Array(UInt32(0)...0x1F) + Array(UInt32(0x7F)...0x9F) + [0x2028, 0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFE] {
        texts += Unicode.Scalar(scalar).map { ["a\($0)b"] } ?? []
      }
      var paths: [String] = []
      var refused = 0
      let all = check.path("all")
      if case .value = try check.attempt(
        "save all texts", { try $0.write(Graph.values(.string, texts.map { .string($0) }), to: all) })
      {
        paths.append(all)
      } else {
        for text in texts {
          let path = check.path("text\(paths.count + refused)")
          let end = try check.attempt("save one text") {
            try $0.write(Graph.values(.string, [.string(text)]), to: path)
          }
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
        let path = check.path("values\(place)")
        if case .value = try check.attempt(
          "save values of type \(attribute.modelName)", { try $0.write(Graph.values(attribute, values), to: path) })
        {
          paths.append(path)
        }
      }
      paths.append(check.path("golden"))
      check.note("\(paths.count) documents, \(refused) texts refused")
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
      let answers = try OtherReader.python(script, paths, in: check.folder, as: [String].self)
      for (path, answer) in zip(paths, answers) {
        try check.expect(answer.isEmpty, "expat reads \(path.split(separator: "/").last ?? "")", answer)
      }
      try check.expect(answers.count == paths.count, "expat judges each document", "\(answers.count) of \(paths.count)")
    },
  ]

  private static func xml(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, profile: ConformanceCheck.Profile = .hostile,
    by procedure: String,
    causes: [String], catches: [String], timeLimit: Int = 60,
    _ body: @escaping @Sendable (CheckContext, CheckContext.XMLSubject) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: profile, from: kit, by: procedure, causes: causes, catches: catches,
      timeLimit: timeLimit
    ) { check in try body(check, try check.xmlSubject()) }
  }

  private static func refuseEntities(
    _ check: CheckContext, _ store: CheckContext.XMLSubject, _ declarations: String, use: String, _ what: String
  ) throws {
    for external in Set(["", store.pieces.externalIdentifier]).sorted() {
      var crafted = store.pieces
      crafted.setDocumentType(declarations, external: external)
      crafted.pieces[store.leaf].text += use
      try check.expectRefused(crafted.bytes, what, model: store.graph.model)
    }
  }
}
