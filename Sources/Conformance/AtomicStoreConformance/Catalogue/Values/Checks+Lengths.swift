import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// VAL and REF, continued: values by what is round them, by their length, and references at the edges of integers.
extension Checks {
  static let lengths: [CheckDefinition] = [
    CheckDefinition(
      "VAL-44", "Equal values are kept in each place, and long ones that are nearly equal stay different", from: push,
      by:
        "objects and attributes with the same value, for each type; long texts and bytes of one length, beginning and end; texts that have the same CRC-32, FNV, djb2 or sum, and such with the same letters in another case",
      causes: [
        "a value is written once and shared", "values are compared by length, beginning and end, or by a hash alone",
      ],
      catches: ["equalValueWrittenOnce", "longTextsTakenForEqual"]
    ) { check in
      let table = AdversarialValues(traits: check.traits)
      var graph = Graph(Models.attributes([]))
      let labels = ["one", "two", "three", "other", "last"]
      for label in labels { graph.objects.append(.init(label: label, entity: "Sample")) }
      for type in table.types {
        let values = table.kept(type).filter { $0 != .string("") && $0 != .data(Data()) && $0 != .uri("") }
        guard let first = values.first, let second = values.dropFirst().last else { continue }
        for number in 1...2 {
          let name = ScalarKey(type.modelName.filter { $0 != " " } + "\(number)")
          graph.model.entities[0].properties.append(.attribute(name.text, type))
          for object in graph.objects.indices { graph.objects[object].values[name] = object == 3 ? second : first }
        }
      }
      try check.expectKeptOverChanges(graph, "equal values", path: check.path("equal"))
      let alike = AdversarialValues.collisions + AdversarialValues.collisions.map { AdversarialValues.text(200) + $0 }
      try check.expectForgedKept(Graph.values(.string, alike.map { .string($0) }), "texts of equal hashes")
      for size in [100, 5_000, 70_000] {
        let texts = (0..<3).map { mark -> String in
          let half = String(repeating: "x", count: size / 2)
          return half + "\(mark)" + half
        }
        try check.expectKept(
          Graph.values(.string, texts.map { .string($0) }), "texts of \(size) bytes that differ in one",
          path: check.path("texts\(size)"))
        guard !check.traits.unsupportedTypes.contains("Binary") else { continue }
        try check.expectKept(
          Graph.values(.binaryData, texts.map { .data(Data($0.utf8)) }), "bytes, \(size) of them, that differ in one",
          path: check.path("bytes\(size)"))
      }
    },
    CheckDefinition(
      "VAL-45", "Texts and bytes of every length are kept", from: push,
      by:
        "each length up to 300, and each power of two up to 128 KiB, with one less and one more; long ones with each short text of the table, and each byte, at both ends; characters of two to four bytes across the edges of all buffers",
      causes: [
        "a length is written in groups of seven bits", "a buffer is filled to its last byte",
        "a piece of a text is decoded alone", "what is long is trimmed",
      ],
      catches: ["textsOf128Cut"]
    ) { check in
      let lengths = AdversarialValues.lengths
      let texts = lengths.map { AdversarialValues.text($0) }
      try check.expectForgedKept(
        Graph.values(.string, texts.map { .string($0) }), "texts of \(lengths.count) lengths")
      let table = AdversarialValues(traits: check.traits)
      for size in [300, 5_000] {
        try check.expectForgedKept(
          Graph.values(.string, table.bracketed(size)), "texts of \(size) bytes and more with special ends")
      }
      // No power of two, and none of ten, is a multiple of three.
      let wide = ["é", "€", "😀"].flatMap { wide in
        (0..<2).map { String(repeating: "x", count: $0) + String(repeating: wide, count: 1_200_000 / wide.utf8.count) }
      }
      try check.expectForgedKept(Graph.values(.string, wide.map { .string($0) }), "texts of wide characters")
      guard !check.traits.unsupportedTypes.contains("Binary") else { return }
      try check.expectForgedKept(
        Graph.values(.binaryData, texts.map { .data(Data($0.utf8)) }), "bytes of \(lengths.count) lengths")
      try check.expectForgedKept(
        Graph.values(.binaryData, AdversarialValues.bracketedBytes(1_500)), "bytes with each byte at both ends")
    },
    CheckDefinition(
      "REF-18", "References at the edges of integers, and equal ones of two entities, are kept", from: unique,
      by:
        "0, -1, the edges of 32, 53 and 64 bits, with relationships to each; then objects of two entities with the same references",
      causes: [
        "a reference is written in fewer bits, or as a floating-point number", "0 is taken for no object",
        "objects are found by their reference alone",
      ],
      catches: ["referencesIn32Bits", "linksToZeroLost", "linksByReferenceAlone"],
      demand: { $0.references == .derived ? .notApplicable("references are derived") : .applies }
    ) { check in
      let edges = [2] + Set(AdversarialValues.integers.filter { $0 > 0 }).sorted()
      try check.expectIntegersKept(edges, "references at the edges of integers", mayRefuse: false)
      // Not every format counts from below 1.
      try check.expectIntegersKept([0, 1, 2], "the reference 0", mayRefuse: true)
      try check.expectIntegersKept(
        [1, 2] + Set(AdversarialValues.integers.filter { $0 < 0 }).sorted(), "negative references", mayRefuse: true)
      guard case .applies = several(check.traits) else { return }
      try check.expectSharedReferencesKept()
    },
  ]
}

extension CheckContext {
  /// - Parameter mayRefuse: Whether the format may refuse them with an error.
  fileprivate func expectIntegersKept(_ numbers: [Int64], _ what: String, mayRefuse: Bool) throws {
    if mayRefuse {
      let probe = Graph(Models.nodes, numbers.map { ("\($0)", "Node") })
      let end = try attempt("write objects with \(what)") { session in
        try session.forge(probe, to: path("probe"), references: { .integer(numbers[$0]) })
      }
      if case .refused(let error) = end {
        note("\(what): \(error.text)")
        return try expect(error.code != nil, "\(what): kept, or refused with a store error", error.text)
      }
    }
    Files.remove(path())
    try expectReferencesKept(numbers.map { .integer($0) }, what)
  }

  /// Guests and clubs are counted alike, and none lives in the club of the same number.
  fileprivate func expectSharedReferencesKept() throws {
    let count = 4
    var graph = Graph(Models.places(home: "Club"))
    for entity in ["Guest", "Club", "Hall"] {
      for number in 0..<count {
        graph.objects.append(
          .init(label: "\(entity) \(number)", entity: entity, values: ["name": .string("\(entity) of \(number)")]))
      }
    }
    for number in 0..<count { graph.objects[number].links["home"] = ["Club \((number + 1) % count)"] }
    let path = path("shared")
    let whole = graph
    let what = "equal references of three entities"
    let references: @Sendable (Int) -> ReferenceObject = { .integer(Int64($0 % count) + 1) }
    let end = try attempt("write objects of three entities with the same references") {
      try $0.forge(whole, to: path, references: references)
    }
    if case .refused(let error) = end {
      note("\(what): \(error.text)")
      return try expect(error.code != nil, "\(what): kept, or refused with a store error", error.text)
    }
    let names = try process("write them again") { try $0.forge(whole, to: path, references: references) }
    try expectHeld(try whole.text(names), at: path, whole.model, what)
    var other = whole
    other.set("Guest 0", "name", .string("changed"))
    other.remove("Hall 1")
    let next = other
    _ = try process("change an object, delete another and save") {
      try $0.edit(path, from: whole, to: next, names: names)
    }
    try expectHeld(
      try next.text(names.filter { $0.key != "Hall 1" }), at: path, whole.model, "\(what), after a change")
  }
}
