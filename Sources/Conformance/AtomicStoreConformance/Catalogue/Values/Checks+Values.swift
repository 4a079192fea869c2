import AtomicStoreSPI
import FoundationEssentials

/// VAL: attribute values, round a new process, compared by bits and by Unicode scalars.
extension Checks {
  static let values: [CheckDefinition] = [
    kept(
      "VAL-01", "16-bit integers keep their least, their greatest, 0 and -1", .integer16,
      [.min, .max, 0, -1].map { (n: Int16) in .integer(Int64(n)) },
      catches: ["intAsUnsigned"], causes: ["a signed value was written as an unsigned one"]),
    kept(
      "VAL-02", "32-bit integers keep their least and greatest", .integer32,
      [.integer(Int64(Int32.min)), .null, .integer(Int64(Int32.max))],
      catches: ["int32Clamped"], causes: ["values were clamped to a narrower type"]),
    kept(
      "VAL-03", "64-bit integers keep every digit", .integer64,
      [.integer(.min), .integer(.max), .integer(9_007_199_254_740_993), .integer(-9_007_199_254_740_993)],
      catches: ["intsViaDouble"], causes: ["a number went through a double, which has 53 bits"]),
    CheckDefinition(
      "VAL-05", "true, false and nothing stay three values, beside integers 0 and 1",
      from: "Atomic Store Life-cycle, Inserting and updating: “push the persisted values”",
      by: "objects with each, beside an integer attribute of the same value; saved, read in another process",
      causes: ["0 and nil were taken for one", "a truth value was written as a number and read back by its look"],
      catches: ["boolAsInt"]
    ) { check in
      var graph = Graph(Models.attributes([("flag", .boolean), ("number", .integer16)]))
      for (place, flag) in [true, false, nil].enumerated() {
        for number in [Int64?(0), 1, nil] {
          var object = Graph.Object(label: "\(place)/\(number.map(String.init) ?? "nil")", entity: "Sample")
          if let flag { object.values["flag"] = .boolean(flag) }
          if let number { object.values["number"] = .integer(number) }
          graph.objects.append(object)
        }
      }
      try check.expectKept(graph, "truth values and small integers")
    },
    kept(
      "VAL-06", "-0.0 keeps its sign", .double, [.double(-0.0), .double(0.0)], catches: ["negativeZeroLost"],
      causes: ["zero was written without its sign"], demand: specialFloats),
    kept(
      "VAL-07", "Doubles keep every bit", .double,
      [
        .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, 0.1 + 0.2, 1.0.nextUp, 1.0.nextDown,
        1e23, 123_456_789.123_456_78,
      ]
      .map { (n: Double) in .double(n) },
      catches: ["shortDoubleFormat"], causes: ["fewer than 17 digits were written"]),
    CheckDefinition(
      "VAL-08", "Not-a-number and the infinities come back to the bit, or the save refuses", from: kit,
      by:
        "the infinities, not-a-numbers of both signs, with a payload, signalling; where the traits say that the format has none, the save must throw and write nothing",
      causes: ["a value without text was written as 0", "a file was written that cannot be read"],
      catches: ["nanBecomesZero", "payloadsLost"],
      demand: specialFloats
    ) { check in
      let graph = Graph.values(
        .double,
        ([.nan, .infinity, -.infinity]
          + [0xFFF8_0000_0000_0000, 0x7FF8_0000_0000_0001, 0x7FF0_0000_0000_0001, 0xFFF4_0000_0000_0BAD].map {
            (bits: UInt64) in Double(bitPattern: bits)
          }).map { .double($0) })
      if check.isRefusal {
        try check.expectRefusedSave(graph, "not-a-number")
      } else {
        try check.expectKept(graph, "special values")
      }
    },
    kept(
      "VAL-09", "Floats keep their bits", .float,
      [0.1, -0.1, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 16_777_215].map { (n: Float) in .float(n) },
      catches: ["floatWidened"], causes: ["a float was written as a double of another value"]),
    kept(
      "VAL-10", "Decimals of 38 digits keep every digit", .decimal,
      ["12345678901234567890123456789012345678", "-99999999999999999999999999999999999999", "0.1"].compactMap {
        DecimalNumber($0).map { .decimal($0) }
      },
      catches: ["decimalViaDouble"], causes: ["a decimal went through a double"],
      demand: decimals),
    kept(
      "VAL-13", "Dates keep every bit below a millisecond", .date,
      [0.001, 0.0005, 0.123456789, 1e-9, -0.000_001, 700_000_000.123_456].map { date($0) },
      catches: ["dateWholeSeconds", "dateMillis"], causes: ["a date was written in whole seconds or milliseconds"]),
    kept(
      "VAL-14", "Dates far from today are kept", .date,
      [
        -63_114_076_800, -63_114_076_800.25, 64_092_211_200, 64_092_211_200.125, -62_135_769_600, -12_219_292_800,
        -12_219_206_400, -13_197_600_000, 252_423_993_600, 1e12, -1e12,
      ].map {
        date($0)
      },
      catches: ["dateCalendarShift"], causes: ["a date went through a calendar"]),
    strings(
      "VAL-17", "nil, the empty text and a blank stay three values", ["", " "], withNil: true,
      catches: ["nilEqualsEmpty"],
      causes: ["an empty text was written as nothing"],
      demand: { traits in
        traits.keepsNilApartFromEmpty ? .applies : .notApplicable("keepsNilApartFromEmpty is false")
      }),
    strings(
      "VAL-18", "Texts that look like something else stay texts",
      [
        "NULL", "nil", "N/A", "true", "0", "007", "1e5", "2020-01-02", "=1+1", "\\N", "<null/>", "{}", "#N/A", "NaN",
        "-",
      ],
      catches: ["typeSniffing"], causes: ["the type of a value was guessed from its look"]),
    strings(
      "VAL-19", "Blank space around and alone is kept",
      [" a", "a ", "\t", "  ", "\u{A0}", " \t ", "a  b", "\u{2003}x\u{3000}"],
      catches: ["trimsWhitespace"], causes: ["a text was trimmed, or blank text was taken for layout"]),
    strings(
      "VAL-20", "Line ends are kept as they are",
      ["\r", "\n", "\r\n", "a\rb", "a\nb", "a\r\nb", "\u{85}", "\u{2028}\u{2029}", "end\n", "\n\n"],
      catches: ["normalizesNewlines"], causes: ["line ends were made one kind"]),
    CheckDefinition(
      "VAL-21", "U+0000 comes back, or the save refuses; it never cuts a text", from: kit,
      by: "texts with it inside, at the end and alone", causes: ["text was handed on as a C string"],
      catches: ["truncatesAtNUL"]
    ) { check in
      try check.expectKeptOrRefused(
        Graph.values(.string, ["a\0b", "\0", "a\0"].map { .string($0) }), "texts with U+0000")
    },
    CheckDefinition(
      "VAL-22", "Control characters come back, or the save refuses", from: kit,
      by: "U+0001 to U+001F and U+007F to U+009F, each in a text",
      causes: ["characters that the format cannot have were left out"], catches: ["dropsControls"]
    ) { check in
      let scalars = (UInt32(1)...0x1F).map { $0 } + (UInt32(0x7F)...0x9F).map { $0 }
      let texts = scalars.compactMap { Unicode.Scalar($0) }.map { StoredValue.string("a\($0)b") }
      try check.expectKeptOrRefused(Graph.values(.string, texts), "texts with control characters")
    },
    strings(
      "VAL-23", "U+FEFF and noncharacters are kept", ["\u{FEFF}a", "a\u{FEFF}"] + noncharacters,
      catches: ["stripsBOM"], causes: ["a byte order mark was looked for inside of texts"]),
    CheckDefinition(
      "VAL-24", "Every Unicode scalar is kept", from: push,
      by: "characters of several scalars; then each scalar once, in 64 texts",
      causes: ["text went through UTF-16 or an older set of characters"], catches: ["bmpOnly"]
    ) { check in
      var texts: [StoredValue] = ["👩‍👩‍👧‍👦", "שלום مرحبا", "e" + String(repeating: "\u{301}", count: 1000), "𝄞𠜎"].map {
        .string($0)
      }
      // What a format may have to write in another way is another check's.
      let all = (UInt32(0x20)...0x10FFFF).filter { $0 != 0x7F && !(0x80...0x9F).contains($0) && $0 & 0xFFFE != 0xFFFE }
        .compactMap { Unicode.Scalar($0) }
      let size = all.count / 64 + 1
      for start in stride(from: 0, to: all.count, by: size) {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: all[start..<min(start + size, all.count)])
        texts.append(.string(String(text)))
      }
      try check.expectKept(Graph.values(.string, texts), "every scalar")
    },
    strings(
      "VAL-25", "Composed and decomposed letters stay as they are",
      ["\u{E9}", "e\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}", "\u{AC00}", "\u{1100}\u{1161}"],
      catches: ["normalizesNFC"], causes: ["text was normalized"]),
    CheckDefinition(
      "VAL-27", "Long texts are kept, also where characters of several bytes lie across the edges of buffers",
      from: push,
      by: "16 MiB of text; texts around 4 KiB, 64 KiB and 1 MiB, shifted byte by byte",
      causes: ["a character was cut where a buffer ends"], catches: ["chunkBoundarySplit"],
      timeLimit: 120
    ) { check in
      var texts: [StoredValue] = [.string(String(repeating: "äöü€𝄞 ", count: 1_200_000))]
      for size in [4096, 65536, 1_048_576] {
        for shift in -3...3 { texts.append(.string(String(repeating: "x", count: size + shift) + "€𝄞é")) }
      }
      try check.expectKept(Graph.values(.string, texts), "long texts", seconds: 60)
    },
    CheckDefinition(
      "VAL-28", "Bytes are kept: none, nothing, all values, every short length, 10 MiB", from: push,
      by: "data values of these lengths",
      causes: ["empty data was written as nothing", "the last bytes of a base64 text were lost"],
      catches: ["emptyDataBecomesNil", "base64Unpadded"], demand: type("Binary")
    ) { check in
      var values: [StoredValue] = [.null, .data(Data((0...255).map { UInt8($0) }))]
      for length in 0...70 { values.append(.data(Data((0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) }))) }
      values.append(.data(Data((0..<10_485_760).map { UInt8(truncatingIfNeeded: $0 >> 3) })))
      if !check.traits.keepsNilApartFromEmpty { values.removeAll { $0 == .data(Data()) } }
      try check.expectKept(Graph.values(.binaryData, values), "bytes")
    },
    kept(
      "VAL-29", "UUIDs are kept", .uuid,
      [.null]
        + [
          "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
          "0F8FAD5B-D9CB-469F-A165-70867728950E",
        ]
        .compactMap { UUID(uuidString: $0).map { .uuid($0) } }, catches: ["uuidLowercasedCompare"]),
    kept(
      "VAL-30", "URIs keep their text", .uri,
      [
        "https://example.org/a%41b%2Fc?q=%20#f", "../relative/path", "file:///a%20b", "urn:isbn:0451450523",
        "https://example.org/ä", "mailto:a@b",
        "https://example.org/" + String(repeating: "x", count: 8192),
      ].map { .uri($0) },
      catches: ["uriReencoded"], causes: ["a URI was taken apart and written again"]),
  ]

  static let push = "Atomic Store Life-cycle, Inserting and updating: “push the persisted values”"

  /// With its own type: in the midst of the list it took the compiler seconds.
  private static let noncharacters: [String] = [0xFFFE as UInt32, 0xFFFF, 0xFDD0, 0x1FFFE].compactMap {
    number -> String? in
    Unicode.Scalar(number).map { "a\($0)b" }
  }

  static func date(_ seconds: Double) -> StoredValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

  static let specialFloats: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.keepsSpecialFloats ? .applies : .refuses("keepsSpecialFloats is false")
  }

  /// For checks of one attribute type: a format that has none refuses.
  static let decimals: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.keepsDecimals ? type(AttributeType.decimal.modelName)(traits) : .refuses("keepsDecimals is false")
  }

  static func type(_ name: String) -> @Sendable (StoreTraits) -> CheckDefinition.Demand {
    { traits in traits.unsupportedTypes.contains(name) ? .refuses("unsupportedTypes has \(name)") : .applies }
  }

  private static func kept(
    _ id: String, _ title: String, _ attribute: AttributeType, _ values: [StoredValue], catches: [String],
    causes: [String] = [],
    demand: (@Sendable (StoreTraits) -> CheckDefinition.Demand)? = nil
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: push, by: "an object for each value; saved, read in another process", causes: causes,
      catches: catches,
      demand: demand ?? type(attribute.modelName)
    ) { check in
      let graph = Graph.values(attribute, values)
      if check.isRefusal {
        return try check.expectRefusedSave(graph, "\(values.count) values of type \(attribute.modelName)")
      }
      try check.expectKept(graph, title)
      // One object alone takes other ways through many a writer.
      for (place, value) in values.enumerated().prefix(4) {
        try check.expectKept(
          Graph.values(attribute, [value]), "\(title), one object alone", path: check.path("alone\(place)"))
      }
    }
  }

  private static func strings(
    _ id: String, _ title: String, _ texts: [String], withNil: Bool = false, catches: [String], causes: [String],
    demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = { _ in .applies }
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: push,
      by: "an object for each text, in a first, a middle and a last attribute; saved, read in another process",
      causes: causes, catches: catches, demand: demand
    ) { check in
      var graph = Graph(Models.attributes([("first", .string), ("middle", .string), ("zlast", .string)]))
      for (place, text) in texts.enumerated() {
        graph.objects.append(
          .init(
            label: "\(place)", entity: "Sample",
            values: ["first": .string(text), "middle": .string(text), "zlast": .string(text)]))
        graph.objects.append(.init(label: "\(place) middle", entity: "Sample", values: ["middle": .string(text)]))
      }
      if withNil { graph.objects.append(.init(label: "nil", entity: "Sample")) }
      try check.expectKept(graph, title)
    }
  }
}

extension CheckContext {
  /// Either the store keeps the graph, or saving it is refused and nothing is written.
  func expectKeptOrRefused(_ graph: Graph, _ what: String) throws {
    let path = self.path()
    guard let references = try unlessRefused("save \(what)", { try $0.write(graph, to: path) }) else {
      return try expect(
        Files.content(path).map { $0.values.allSatisfy(\.isEmpty) } ?? true, "nothing of what was refused is written",
        "bytes lie there")
    }
    let actual = try process("read them in another process") { try $0.read(path, graph.model) }
    try expectSame(actual, graph.text(references), what)
  }
}
