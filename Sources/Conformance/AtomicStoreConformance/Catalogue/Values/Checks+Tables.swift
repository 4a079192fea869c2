import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// VAL, continued: one table of adversarial values, in every position that a value can have.
extension Checks {
  static let tables: [CheckDefinition] = [
    CheckDefinition(
      "VAL-38", "Every value of the table of adversarial values is kept in an attribute of its type", from: push,
      by:
        "for each type its table: integers and decimals about each power of two, and of each number of bits with different bytes; floating-point numbers with each bit; not-a-numbers to the bit, both zeros, far dates with fractions, texts with marks at each end",
      causes: ["a value is written by a function that has fewer of them than the type"],
      catches: [
        "payloadsLost", "zeroSignLostInFloats", "trailingZeroByteLost", "payloadsLostWhenSavedAgain",
        "changedTextsTrimmed", "integersOf6BytesCut",
      ], timeLimit: 60
    ) { check in
      for type in AdversarialValues(traits: check.traits).types { try check.expectTableKept(of: type, in: type) }
    },
    CheckDefinition(
      "VAL-39", "Every value of the table is kept in an attribute of no type, with its kind", from: push,
      by: "as VAL-38, with values of all types in attributes of type Undefined",
      causes: ["the kind of a value is guessed from its text"], catches: ["untypedKindGuessed"], timeLimit: 60,
      demand: type("Undefined")
    ) { check in
      if check.isRefusal {
        return try check.expectRefusedSave(Graph.values(.undefined, [.integer(1)]), "a value of no type")
      }
      for type in AdversarialValues(traits: check.traits).types where type != .transformable {
        try check.expectTableKept(of: type, in: .undefined)
      }
    },
    CheckDefinition(
      "VAL-40",
      "Where the model has a default, nil stays nil, the default itself is kept, and so is every other value",
      from: push,
      by:
        "for each type attributes with the values of the table as defaults; objects with nil, the default, and another value; read with the model, and without it",
      causes: ["what is missing in the file is filled with the default", "a value that is the default is not written"],
      catches: ["nilBecomesDefault", "defaultNotWritten", "nilBecomesDefaultWhenSavedAgain"], timeLimit: 60
    ) { check in
      for type in AdversarialValues(traits: check.traits).types { try check.expectDefaultsKept(type) }
    },
    CheckDefinition(
      "VAL-41", "Values of 64 KiB and 16 MiB, and of one byte more and less, are kept", from: push,
      by: "texts and bytes of these lengths",
      causes: [
        "a length is written in 16 or 24 bits", "a buffer has a greatest size",
        "a format that compresses does not tell NodeTableBuilder.addInput(bytes:) how many bytes it decompressed",
      ],
      catches: ["longValuesCut"], timeLimit: 120
    ) { check in
      #if DEBUG
        // The longest alone, where the code under test is ten times slower: it finds what is cut off.
        let long = [(1 << 24) + 1]
      #else
        let long = [(1 << 24) - 1, 1 << 24, (1 << 24) + 1]
      #endif
      let short = [(1 << 16) - 1, 1 << 16, (1 << 16) + 1]
      for sizes in [short, long] {
        try check.expectForgedKept(
          Graph.values(.string, sizes.map { .string(String(repeating: "x", count: $0)) }), "texts of \(sizes) bytes")
        guard !check.traits.unsupportedTypes.contains("Binary") else { continue }
        try check.expectForgedKept(
          Graph.values(
            .binaryData, sizes.map { size in .data(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })) }),
          "bytes, \(sizes) of them")
      }
      try check.expectForgedKept(
        Graph.values(.string, short.map { .string(String(repeating: "é", count: $0 / 2) + "x") }),
        "texts of two-byte characters, of about \(short) bytes")
    },
    CheckDefinition(
      "VAL-42", "Relationships may be called anything that a model allows", from: kit,
      by:
        "names that are canonically equal, with marks at each end, of 10,000 characters, and words that files of the format contain; one object has links under each",
      causes: ["names are compared as Swift compares strings", "names are changed to fit"],
      catches: ["relationshipNamesMixed"]
    ) { check in
      for names in [AdversarialValues.names, AdversarialValues.riskyNames, try check.wordsOfFiles()] {
        try check.expectNamesKept(names) { allowed in
          var graph = Graph(Models.relationships(named: allowed))
          for label in ["a", "b", "c"] { graph.objects.append(.init(label: label, entity: "Node")) }
          for (position, name) in allowed.enumerated() {
            graph.objects[0].links[name] = [["b", "c"][position % 2]]
            graph.objects[1].links[name] = [["c", "a"][position / 2 % 2]]
          }
          return graph
        }
      }
    },
    CheckDefinition(
      "VAL-43", "Names that look alike are different names, of attributes and of entities", from: kit,
      by:
        "as VAL-42, with attributes of which one object has all, and entities with an object of each; names of each length up to 300",
      causes: [
        "names are compared as Swift compares strings", "names are changed to fit",
        "a name that the format uses itself means something else",
      ],
      catches: ["attributeNamesMixed"]
    ) { check in
      let long = (1...300).map { AdversarialValues.text($0) }
      for names in [AdversarialValues.names, AdversarialValues.riskyNames, try check.wordsOfFiles(), long] {
        try check.expectNamesKept(names) { allowed in
          var graph = Graph(Models.attributes(allowed.map { ($0, .string) }))
          var object = Graph.Object(label: "all", entity: "Sample")
          for (position, name) in allowed.enumerated() { object.values[name] = .string("value \(position)") }
          graph.objects = [object, .init(label: "none", entity: "Sample")]
          return graph
        }
        guard names.count < long.count, case .applies = several(check.traits) else { continue }
        try check.expectNamesKept(names) { allowed in
          var graph = Graph(
            ModelDescription(
              entities: allowed.map {
                EntityDescription(name: $0, properties: [.attribute(AttributeDescription(name: "name", type: .string))])
              }))
          graph.objects = allowed.enumerated().map {
            .init(label: "\($0)", entity: $1, values: ["name": .string("object \($0)")])
          }
          return graph
        }
      }
    },
    CheckDefinition(
      "REF-17", "Every text of the table is a separate reference", from: unique,
      by: "objects with these references, each linked to the next; read, changed, saved and read again",
      causes: ["references are compared as Swift compares strings", "references are changed to fit"],
      catches: ["referencesTrimmed"], demand: texts
    ) { check in
      let table = AdversarialValues(traits: StoreTraits(summary: "", fileExtensions: []))
      func texts(_ values: [StoredValue]) -> [String] {
        values.compactMap { if case .string(let text) = $0, !text.isEmpty { text } else { nil } }
      }
      let names = AdversarialValues.names.filter { $0.utf8.count > 256 } + (2...300).map { AdversarialValues.text($0) }
      try check.expectReferencesKept((texts(table.kept(.string)) + names).map { .string($0) }, "texts as references")
      for (position, text) in texts(table.keptOrRefused(.string)).enumerated() {
        try check.expectReferenceKeptOrRefused(text, path: check.path("risky\(position)"))
      }
    },
  ]
}

extension CheckContext {
  /// The table of a type, in attributes of that or another type.
  func expectTableKept(of type: AttributeType, in attribute: AttributeType) throws {
    let table = AdversarialValues(traits: traits)
    let what = "\(type.modelName)\(type == attribute ? "" : ", untyped")"
    let name = "\(type.modelName)".filter { $0 != " " }
    let kept = table.kept(type)
    if !kept.isEmpty { try expectKeptOverChanges(Graph.values(attribute, kept), what, path: path("kept\(name)")) }
    let risky = table.keptOrRefused(type)
    guard !risky.isEmpty else { return }
    try expectKeptOrEachRefused(
      risky.map { Graph.values(attribute, [$0]) }, all: Graph.values(attribute, risky), what, path("risky\(name)"))
  }

  /// The words that a small store's files contain, of which some are the format's own.
  func wordsOfFiles() throws -> [String] {
    let files = Files.content(try small("words").path) ?? [:]
    var words: Set<String> = []
    for bytes in (payload(of: files) ?? files).values {
      let pieces = bytes.split { byte in
        let scalar = Unicode.Scalar(byte)
        return !scalar.isASCII || !scalar.properties.isAlphabetic && !"_$@".unicodeScalars.contains(scalar)
      }
      words.formUnion(pieces.filter { $0.count <= 40 }.map { String(decoding: $0, as: UTF8.self) })
    }
    return words.sorted().prefix(200) + ["a word"]
  }

  /// Kept all at once; where that is refused, each is kept or refused alone.
  func expectKeptOrEachRefused(_ graphs: [Graph], all: Graph, _ what: String, _ path: String) throws {
    if case .value(let references) = try attempt("save \(what)", { try $0.write(all, to: path) }) {
      return try expectHeldAndOverChanges(all, references, at: path, what)
    }
    var refused = 0
    for graph in graphs {
      Files.remove(path)
      if let references = try unlessRefused("save \(what), one alone", { try $0.write(graph, to: path) }) {
        try expectHeld(try graph.text(references), at: path, graph.model, "\(what), one alone")
      } else {
        refused += 1
      }
    }
    note("\(what): \(refused) of \(graphs.count) refused")
  }

  /// Attributes with defaults, and objects that have them, have nil, or have something else.
  func expectDefaultsKept(_ type: AttributeType) throws {
    let table = AdversarialValues(traits: traits)
    let values = table.some(table.kept(type))
    guard !values.isEmpty else { return }
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Sample",
        properties: values.enumerated().map { position, value in
          .attribute(AttributeDescription(name: "value\(position)", type: type, defaultValue: value))
        })
    ])
    guard (try? ManagedObjectModel(model)) != nil else { return note("\(type.modelName) has no such defaults") }
    var graph = Graph(model)
    for label in ["untouched", "nil", "default", "other"] {
      graph.objects.append(.init(label: label, entity: "Sample"))
    }
    for (position, value) in values.enumerated() {
      graph.objects[1].values["value\(position)"] = .null
      graph.objects[2].values["value\(position)"] = value
      graph.objects[3].values["value\(position)"] = values[(position + 1) % values.count]
    }
    let path = path("defaults\(type.modelName.filter { $0 != " " })")
    let made = graph
    let references = try process("save objects of \(values.count) defaults of type \(type.modelName)") {
      try $0.write(made, to: path)
    }
    let text = try graph.text(references)
    try expectHeld(text, at: path, model, "\(type.modelName) with defaults")
    if traits.isSelfDescribing {
      try expectHeld(text, at: path, nil, "\(type.modelName) with defaults, read without a model")
    }
    try expectHeldOverChanges(graph, references, at: path, "\(type.modelName) with defaults", isMoved: false)
  }

  /// A forged graph is read as it was written, whatever its size.
  func expectForgedKept(_ graph: Graph, _ what: String, name: String = "store", seconds: Int = 60) throws {
    let path = path(name)
    // Without a file, a store is written by saves alone.
    if traits.isInProcess { return try expectKeptOverChanges(graph, what, path: path) }
    Files.remove(path)
    let isSmall = graph.objects.count < 5_000 && !graph.hasLongValues
    let names = try process("save \(what)", seconds: seconds) { session in
      let names = try session.forge(graph, to: path)
      return isSmall ? names : [:]
    }
    let found = try process("read it in another process", seconds: seconds) {
      try $0.mismatches(path, graph, model: graph.model)
    }
    try expectNone(found, what)
    if isSmall { try expectHeldOverChanges(graph, names, at: path, what, isMoved: false, seconds: seconds) }
  }

  func expectReferenceKeptOrRefused(_ text: String, path: String) throws {
    let graph = Graph(Models.attributes([("name", .string)]), [("a", "Sample"), ("b", "Sample")])
    let references: @Sendable (Int) -> ReferenceObject = { $0 == 0 ? .string(text) : .integer(1) }
    let what = "the reference '\(GraphText.shown(text))'"
    let names = try unlessRefused("write \(what)") { try $0.forge(graph, to: path, references: references) }
    if let names { try expectHeld(try graph.text(names), at: path, graph.model, what) }
  }
}

extension Models {
  /// One entity with a to-one relationship of each name.
  static func relationships(named names: [String]) -> ModelDescription {
    ModelDescription(entities: [
      EntityDescription(
        name: "Node",
        properties: names.map { .relationship(RelationshipDescription(name: $0, destinationEntityName: "Node")) })
    ])
  }
}
