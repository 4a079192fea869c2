import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// INC, continued: values and rows.
extension Checks {
  /// A check that values of some attributes are kept to the bit.
  private static func kept(
    _ id: String, _ title: String, by procedure: String, catches: [String],
    demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = { _ in .applies },
    _ values: [(entity: String, name: String, values: [StoredValue])]
  ) -> CheckDefinition {
    incremental(
      id, title,
      by: procedure
        + "; inserted, set on objects that are there, and read in another process by requests, by reference and all at once",
      catches: catches, demand: demand
    ) { check in
      for (entity, name, list) in values { try check.expectKept(list, in: name, of: entity) }
    }
  }

  static let incrementalValues: [CheckDefinition] = [
    kept(
      "INC-11", "Doubles and floats are kept to the bit",
      by: "zero with both signs, infinities, not-a-number with other bits, the least and the greatest numbers",
      catches: ["rowsZeroUnsigned", "rowsNaNPlain"],
      demand: { $0.keepsSpecialFloats ? .applies : .notApplicable("keepsSpecialFloats is false") },
      [
        (
          "Item", "weight",
          [
            0, -0.0, 0.1, 1 / 3, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            Double(bitPattern: 0x7FF8_0000_0000_1234), Double(bitPattern: 0xFFF8_0000_0000_0001),
          ].map { .double($0) }
        ),
        (
          "Item", "ratio",
          [
            0, -0.0, 0.1, 1 / 3, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            Float(bitPattern: 0x7FC0_1234),
          ].map { .float($0) }
        ),
      ]),
    kept(
      "INC-12", "Texts are kept scalar by scalar",
      by: "NUL, controls, both spellings of ä, quotes, wildcards, line ends, emoji, noncharacters, 70,000 letters",
      catches: ["rowsTextNormalized", "rowsTextEndsAtNUL", "rowsTextCut"],
      [
        (
          "Item", "name",
          [
            "a\0b", "\0", "\u{1}", "a\u{1}\u{1}b", "\u{2}", "\u{E4}", "a\u{308}", "'", "\"", "\\", "%_*?",
            "''; DROP TABLE x",
            "a\r\nb\rc\n", " a ", "\u{FEFF}a", "\u{FFFF}", "😀", "\u{7F}", "\u{2028}", "$1 ?1 :a @b",
            String(repeating: "x", count: 70_000),
          ].map { .string($0) }
        )
      ]),
    kept(
      "INC-13", "Null, empty texts and empty data are three things", by: "null, the empty text, empty data",
      catches: ["rowsEmptyIsNull"],
      demand: { $0.keepsNilApartFromEmpty ? .applies : .notApplicable("keepsNilApartFromEmpty is false") },
      [
        ("Item", "name", [.string(""), .null, .string("a")]),
        ("Item", "picture", [.data(Data()), .null, .data(Data([0]))]),
      ]),
    kept(
      "INC-14", "Integers and truth values are kept over their whole range",
      by: "the ends of 16, 32 and 64 bits, numbers beyond 2^53",
      catches: ["rowsIntegersInexact"],
      [
        ("Item", "small", [.integer(-32768), .integer(32767), .integer(0)]),
        ("Owner", "rank", [.integer(Int64(Int32.min)), .integer(Int64(Int32.max))]),
        ("Item", "big", [.integer(.min), .integer(.max), .integer(9_007_199_254_740_993), .integer(-1)]),
        ("Item", "isNew", [.boolean(true), .boolean(false), .null]),
      ]),
    kept(
      "INC-15", "Decimals are kept digit for digit", by: "38 digits, trailing zeros, exponents, negative numbers",
      catches: ["rowsDecimalsInexact"],
      demand: { $0.keepsDecimals ? .applies : .notApplicable("keepsDecimals is false") },
      [
        (
          "Item", "price",
          ["0", "1.10", "1E+20", "-0.5", "12345678901234567890123456789012345678", "1E-30", "-99999999999.99"]
            .compactMap { DecimalNumber($0) }.map { .decimal($0) }
        )
      ]),
    kept(
      "INC-16", "Dates are kept to the bit of their seconds", by: "fractions, dates long ago and far ahead",
      catches: ["rowsDatesRounded"],
      [
        (
          "Item", "made",
          [0, -0.0, 0.1 + 0.2, -1e9 - 1 / 3, 1e12, -6.3e10, 740_000_000.123_456_7, .nan].map {
            .date(Date(timeIntervalSinceReferenceDate: $0))
          }
        )
      ]),
    kept(
      "INC-17", "Data, UUIDs and URIs are kept byte by byte",
      by: "all bytes, 300,000 bytes, UUIDs of all zeros and ones, URIs that a parser would rewrite",
      catches: ["rowsDataEndsAtZero", "rowsURINormalized"],
      [
        (
          "Item", "picture",
          [
            .data(Data(0...255)), .data(Data([0])),
            .data(Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })),
          ]
        ),
        (
          "Item", "code",
          [ItemGraph.code(0), ItemGraph.code(255), UUID()].map { .uuid($0) }
        ),
        ("Owner", "link", [.uri("HTTP://Example.COM/%7Ea/../b?x=1#y"), .uri("urn:x"), .uri("a b ä")]),
      ]),
    kept(
      "INC-18", "Values of an attribute without a type keep their own",
      by: "a text, numbers, a truth value, a date, data",
      catches: ["rowsUndefinedAsText"],
      [
        (
          "Item", "anything",
          [
            .string("7"), .integer(7), .double(7), .boolean(true), .date(Date(timeIntervalSinceReferenceDate: 7)),
            .data(Data([7])), .null, .string(""),
          ]
        )
      ]),
    incremental(
      "INC-19",
      "Objects are found by their references: any number at once, each once, and what is not there is left out",
      by: "1,200 references, with some of objects that are not there, are asked for at once, and none",
      catches: ["dropsRowOfBatch", "inventsMissingRow", "nothingMeansAll"]
    ) { check in
      let counts = try check.connected("insert 1,200 objects and ask for 1,300") { connection in
        let made = try connection.insert("Tag", (0..<1200).map { ["name": .string("\($0)")] })
        let asked = made + (0..<100).map { ObjectReference(entityName: "Tag", reference: .integer(1_000_000 + $0)) }
        let found = try connection.rows(asked)
        let none = try connection.store.rows([], root: try connection.entity("Tag").index).count
        return [
          found.count, Set(found.map(\.reference)).count,
          Set(found.map(\.reference)).subtracting(made.map(\.reference)).count, none,
        ]
      }
      try check.expectEqual(
        counts, [1200, 1200, 0, 0],
        "rows, different references among them, references that were not asked for, rows of no references")
    },
    incremental(
      "INC-20", "Objects of sub-entities are found by the root of their hierarchy",
      by: "an object of the entity at the top and one of a sub-entity are asked for by the root",
      catches: ["rowsOfRootOnly"]
    ) { check in
      let (made, found) = try check.connectedPair("insert an object of each and ask for both") { connection in
        let objects = try connection.insert("Item", [[:]]) + connection.insert("Special", [["extra": .string("x")]])
        let rows = try connection.store.rows(objects.map(\.reference), root: try connection.entity("Item").index)
        return (objects.map(\.description).sorted(), rows.map(connection.name).sorted())
      }
      try check.expectList(found, made, "what is found")
    },
    incremental(
      "INC-21", "Each save of an object gives it another version, which the answer states, and others keep theirs",
      by: "two objects are inserted, one is changed three times",
      catches: ["versionStays", "versionNotTold", "versionOfAllChanges"]
    ) { check in
      let problem = try check.connected("change one of two objects") { connection in
        let objects = try connection.insert("Tag", [[:], [:]])
        var seen = Set([try connection.row(objects[0])?.version])
        let other = try connection.row(objects[1])?.version
        for turn in 1...3 {
          let answer = try connection.store.save(
            try connection.change(objects[0], ["name": .string("\(turn)")]))
          let now = try connection.row(objects[0])?.version
          guard case .saved(let versions) = answer else { return "save \(turn) was overtaken" }
          guard versions.contains(where: { $0.object == objects[0] && $0.version == now }) else {
            return "save \(turn) does not tell the version \(now.map(String.init) ?? "of the object"): \(versions)"
          }
          guard seen.insert(now).inserted else { return "a version comes again: \(now.map(String.init) ?? "none")" }
        }
        return try connection.row(objects[1])?.version == other ? "" : "the other object's version has changed"
      }
      try check.expectEqual(problem, "", "what is wrong with the versions")
    },
  ]
}

extension CheckContext {
  /// As ``connected(_:seconds:_:)``, for two lists.
  func connectedPair(
    _ what: String, _ body: (StoreConnection) throws -> ([String], [String])
  ) throws -> ([String], [String]) {
    let lists = try connected(what) { connection in
      let (one, other) = try body(connection)
      return [one, other]
    }
    return (lists[0], lists[1])
  }

  /// Values of one attribute are kept: those of new objects, and those that are set on objects that are there.
  func expectKept(_ values: [StoredValue], in name: String, of entity: String) throws {
    let isSupported =
      try Models.frozen(ItemGraph.description).entity(named: entity)?.slots.first { $0.name == name }
      .map { !traits.unsupportedTypes.contains($0.attributeType?.modelName ?? "") } ?? false
    guard isSupported else { return }
    let shown = values.map { GraphText.value($0) ?? "nil" }
    let objects = try connected("insert values of \(name)") { connection in
      let made = try connection.insert(entity, values.map { [name: $0] })
      // The same values, each by one object further.
      let others = try connection.insert(entity, values.map { _ in [:] })
      for (index, object) in others.enumerated() {
        try connection.mustSave(try connection.change(object, [name: values[(index + 1) % values.count]]))
      }
      return (made + others).map { SentReference($0.reference) }
    }
    let expected = shown + shown.indices.map { shown[($0 + 1) % shown.count] }
    let read = try connected("read them in another process") { connection in
      let references = objects.map { ObjectReference(entityName: entity, reference: $0.reference) }
      let builder = NodeTableBuilder(model: connection.model)
      try connection.store.load(into: builder)
      let nodes = try builder.finish()
      let byReference = Dictionary(
        try connection.rows(references).map { ($0.reference, $0) }, uniquingKeysWith: { one, _ in one })
      let fetched = Dictionary(
        try connection.store.fetch(try connection.request(entity)).rows.map { ($0.reference, $0) },
        uniquingKeysWith: { one, _ in one })
      return references.map { object -> [String] in
        let found = [byReference[object.reference], fetched[object.reference]].map { row in
          row.map { connection.text(name, of: $0) ?? "nil" } ?? "no object"
        }
        let loaded = nodes.handle(for: object).flatMap { nodes.value(forKey: name, of: $0) }
        return found + [loaded.map { GraphText.value($0) ?? "nil" } ?? "no object"]
      }
    }
    for (way, what) in ["by reference", "by a request", "all at once"].enumerated() {
      for (index, values) in read.enumerated() {
        let kind = index < shown.count ? "inserted" : "set"
        try expect(
          values[way].utf8.elementsEqual(expected[index].utf8),
          "\(name), \(kind), read \(what): \(GraphText.shown(expected[index]))",
          GraphText.shown(values[way]))
      }
    }
  }
}

/// A reference as it passes from one process of a check to another.
private struct SentReference: Codable, Sendable {
  var number: Int64?
  var text: String?

  init(_ reference: ReferenceObject) {
    switch reference {
    case .integer(let number): self.number = number
    case .string(let text): self.text = text
    }
  }

  var reference: ReferenceObject { text.map { .string($0) } ?? .integer(number ?? 0) }
}
