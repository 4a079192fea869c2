import AtomicStoreSPI
import Foundation
import StoreCodecs
import StoreImporting
import StorePredicates
import TestSupport
import Testing

@Suite("Importing texts of other programs and countries") struct ImportTextTests {
  private static func read(_ bytes: [UInt8], _ conventions: TextConventions) throws -> NodeTable {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "T",
          properties: [
            .attribute(AttributeDescription(name: "text", type: .string)),
            .attribute(AttributeDescription(name: "decimal", type: .decimal)),
            .attribute(AttributeDescription(name: "integer", type: .integer32)),
            .attribute(AttributeDescription(name: "double", type: .double)),
            .attribute(AttributeDescription(name: "float", type: .float)),
            .attribute(AttributeDescription(name: "date", type: .date)),
            .attribute(AttributeDescription(name: "flag", type: .boolean)),
          ])
      ]))
    importer.conventions = conventions
    return try importer.read([ImportSource(bytes: bytes, name: "t.csv")]).nodes
  }

  @Test(
    "a .tsv file has tabs, whatever its first record contains, unless a delimiter is given",
    arguments: [
      ("two.tsv", "name, given\tage\nA, B\t3\n", nil, ["nameGiven", "age"]),
      ("two.TSV", "name;x\tage\nA;B\t3\n", nil, ["nameX", "age"]), ("one.tsv", "a,b,c\n1,2,3\n", nil, ["aBC"]),
      ("two.csv", "name, given\tage\nA, B\t3\n", nil, ["name", "givenAge"]),
      ("two.tsv", "a,b\n1,2\n", UInt8(ascii: ","), ["a", "b"]), ("two.tsv", "sep=;\na;b\n1;2\n", nil, ["a", "b"]),
    ] as [(String, String, UInt8?, [String])])
  func tabs(_ name: String, _ text: String, _ delimiter: UInt8?, _ expected: [String]) throws {
    var importer = StoreImporter()
    importer.conventions.delimiter = delimiter
    let nodes = try importer.read([LibrarySample.source(text, name, entity: "T")]).nodes
    #expect(try #require(nodes.model.entity(named: "T")).slots.map(\.name).sorted() == expected.sorted())
    #expect(nodes.count("T") == 1)
  }

  @Test("an error about a quote within a field names the option that reads it")
  func strayQuote() throws {
    let error = #expect(throws: PersistentStoreError.self) {
      try StoreImporter().read([LibrarySample.source("a\"b,c\n1,2\n", "t.csv")])
    }
    #expect(error?.message.hasSuffix("; --quotes lax reads it as a character") == true, "\(error?.message ?? "")")
    var importer = StoreImporter()
    let found = try problems(importer, [LibrarySample.source("a,b\n1,2\"3\n", "t.csv")])
    #expect(found.map(\.message) == ["a quote within an unquoted field; --quotes lax reads it as a character"])
    importer.conventions.allowsStrayQuotes = true
    #expect(try importer.read([LibrarySample.source("a,b\n1,2\"3\n", "t.csv")]).nodes.count == 1)
  }

  @Test("encodings", arguments: TextConventions.Encoding.allCases, [true, false])
  func encodings(_ encoding: TextConventions.Encoding, _ isMarked: Bool) throws {
    let text = "text\nÉmile Zola\n"
    var bytes: [UInt8] = []
    var conventions = TextConventions()
    switch encoding {
    case .utf8: bytes = (isMarked ? [0xEF, 0xBB, 0xBF] : []) + Array(text.utf8)
    case .utf16:
      // With a mark nothing is said: the mark decides. Big-endian with it, little-endian without.
      for unit in (isMarked ? "\u{FEFF}" + text : text).utf16 {
        bytes += isMarked ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
      }
      if !isMarked { conventions.encoding = .utf16 }
    case .latin1, .windows1252:
      bytes = text.unicodeScalars.map { UInt8($0.value) }
      conventions.encoding = encoding
    }
    #expect(try Self.read(bytes, conventions).value("T", 1, "text") == .string("Émile Zola"))
  }

  @Test("Windows-1252 has the euro sign and typographic quotes")
  func windows() throws {
    var conventions = TextConventions()
    conventions.encoding = .windows1252
    let nodes = try Self.read(Array("text\n".utf8) + [0x80, 0x84, 0x97, 0x0A], conventions)
    #expect(try nodes.value("T", 1, "text") == .string("€„—"))
  }

  @Test("bytes that are not UTF-8 are refused with what would help")
  func notUTF8() throws {
    let error = try #require(throws: ImportError.self) {
      _ = try Self.read(Array("text\n".utf8) + [0xC9, 0x0A], .init())
    }
    #expect(error.problems.count == 1 && error.problems[0].message.contains("not valid UTF-8"))
  }

  @Test(
    "decimal commas and groups of digits",
    arguments: [
      (
        TextConventions.DecimalSeparator.comma, TextConventions.ThousandsSeparator?.some(.point), "1.234.567,50",
        "1234567.50"
      ),
      (.comma, .space, "1 234,5", "1234.5"), (.comma, .space, "1\u{A0}234,5", "1234.5"),
      (.point, .comma, "1,234.5", "1234.5"), (.point, .apostrophe, "1'234'567.25", "1234567.25"),
      (.comma, nil, "-12,5", "-12.5"), (.comma, nil, " 3 ", "3"), (.comma, .point, "12", "12"),
      (.comma, .point, "1.234", "1234"), (.comma, .point, "-999.999", "-999999"), (.comma, .point, "0,5", "0.5"),
    ])
  func numbers(
    _ decimal: TextConventions.DecimalSeparator, _ thousands: TextConventions.ThousandsSeparator?, _ text: String,
    _ expected: String
  ) throws {
    var conventions = TextConventions()
    conventions.decimalSeparator = decimal
    conventions.thousandsSeparator = thousands
    conventions.delimiter = UInt8(ascii: ";")
    let nodes = try Self.read(Array("decimal;double;float\n\(text);\(text);\(text)\n".utf8), conventions)
    #expect(try nodes.value("T", 1, "decimal").isIdentical(to: .decimal(#require(DecimalNumber(expected)))))
    #expect(try nodes.value("T", 1, "double") == .double(#require(Double(expected))))
    #expect(try nodes.value("T", 1, "float") == .float(#require(Float(expected))))
  }

  @Test(
    "groups of digits that are not of three are not numbers: a point may have been meant",
    arguments: ["1.5", "1.23.456", "12345.678", "1.2345", ".123", "1,234.5", "1.", "1.234.", "1,2,3"],
    ["decimal", "double", "float"])
  func badGroups(_ text: String, _ column: String) throws {
    var conventions = TextConventions()
    conventions.decimalSeparator = .comma
    conventions.thousandsSeparator = .point
    conventions.delimiter = UInt8(ascii: ";")
    #expect(throws: ImportError.self) { _ = try Self.read(Array("\(column)\n\(text)\n".utf8), conventions) }
  }

  @Test(
    "with a decimal comma alone a point is in no number, and what would help is said",
    arguments: ["decimal", "double", "float"])
  func points(_ column: String) throws {
    var conventions = TextConventions()
    conventions.decimalSeparator = .comma
    conventions.delimiter = UInt8(ascii: ";")
    let error = try #require(throws: ImportError.self) {
      _ = try Self.read(Array("\(column)\n1.5\n".utf8), conventions)
    }
    #expect(error.problems.map(\.message).joined().hasSuffix("; the thousands separator may be a point"))
  }

  @Test(
    "dates in several forms, one after the other, and ISO 8601 always",
    arguments: [
      ("24.12.2026", 819_763_200.0), ("1.2.2026 8:05", 791_625_900), ("2026-12-24", 819_763_200),
      ("2026-12-24T00:00:00+01:00", 819_759_600), ("1798070400", 819_763_200),
    ])
  func dates(_ text: String, _ seconds: Double) throws {
    var conventions = TextConventions()
    conventions.dateNotations = ["dd.MM.yyyy", "d.M.yyyy H:mm", "unix"].compactMap { .init($0) }
    #expect(conventions.dateNotations.count == 3)
    let nodes = try Self.read(Array("date\n\(text)\n".utf8), conventions)
    #expect(try nodes.value("T", 1, "date") == .date(Date(timeIntervalSinceReferenceDate: seconds)))
  }

  @Test(
    "a date pattern without a year, or with other letters, is none",
    arguments: ["dd.MM", "yy-MM-dd", "yyyy-MM-dd EEE", ""])
  func badPatterns(_ pattern: String) { #expect(TextConventions.DateNotation(pattern) == nil) }

  @Test("words for true, false and nothing")
  func words() throws {
    var conventions = TextConventions()
    conventions.trueWords = ["ja"]
    conventions.falseWords = ["nein"]
    conventions.nullWords = ["NULL"]
    let nodes = try Self.read(Array("flag,text\nJa,NULL\nnein,\"NULL\"\nYES,\nNULL,\"\"\n0,x\n".utf8), conventions)
    let flags = try (1...5).map { try nodes.value("T", $0, "flag") }
    #expect(flags == [.boolean(true), .boolean(false), .boolean(true), .null, .boolean(false)])
    let texts = try (1...5).map { try nodes.value("T", $0, "text") }
    #expect(texts == [.null, .string("NULL"), .null, .string(""), .string("x")])
  }

  @Test("words that are given win over the usual ones: 0 can be true")
  func ownWords() throws {
    var conventions = TextConventions()
    conventions.trueWords = ["0"]
    conventions.falseWords = ["1", "yes"]
    let nodes = try Self.read(Array("flag,text\n0,\n1,\nYES,\ntrue,\nno,\n".utf8), conventions)
    let flags = try (1...5).map { try nodes.value("T", $0, "flag") }
    #expect(flags == [.boolean(true), .boolean(false), .boolean(false), .boolean(true), .boolean(false)])
  }

  @Test("comment lines, blank lines, any delimiter, a file without header, empty fields beyond the last column")
  func layout() throws {
    var conventions = TextConventions()
    conventions.comment = UInt8(ascii: "#")
    conventions.delimiter = UInt8(ascii: "^")
    conventions.columnNames = ["text", "integer"]
    let nodes = try Self.read(Array("# a^b\na^1\n\n#c^2\r\nb^2^^\n".utf8), conventions)
    #expect(try nodes.value("T", 2, "text") == .string("b") && nodes.count("T") == 2)
  }

  @Test(
    "lax quotes: a quote within a field is a character",
    arguments: [
      ("3.5\" disk", "3.5\" disk"), ("\"a\" and \"b\"", "\"a\" and \"b\""), ("\"a, b\"", "a, b"),
      ("\"a \"\"b\"\"\"", "a \"b\""),
      ("\"open", "\"open"), ("\"\"", ""),
    ])
  func laxQuotes(_ cell: String, _ expected: String) throws {
    var conventions = TextConventions()
    conventions.allowsStrayQuotes = true
    let nodes = try Self.read(Array("text,integer\n\(cell),5\nb,6\n".utf8), conventions)
    #expect(try nodes.value("T", 1, "text") == .string(expected))
    #expect(try nodes.value("T", 2, "integer") == .integer(6))
  }
}

extension ImportTextTests {
  /// Those that lose nothing: the shortest form, rounded to 17 digits (9 of a float), and all digits of the number.
  @Test(
    "an import takes the numbers that 'set' takes, whichever digits another program wrote",
    arguments: [
      ("0.1", true, true), ("0.10000000000000001", true, false), ("0.1000000000000000055511151231257827", true, false),
      ("0.30000000000000004", true, false), ("1.0000000000000000", true, true), ("1e308", true, false),
      ("9007199254740993", false, false), ("9007199254740992", true, true), ("12345678901234567", false, false),
      ("0.12345678901234567890", false, false), ("3.141592653589793", true, false), ("3.14159274", true, true),
      ("3.1415927", true, true), ("3.14159", true, true), ("0.10000000149011612", true, true),
      ("0.123456789", true, false), ("16777217", true, false), ("5e-324", true, false),
      ("4.9406564584124654e-324", true, false), ("1.234e-320", true, false), ("1.2345678e-320", false, false),
      ("0.1000000000000000055511151231257827021181583404541015625", true, false),
      ("0.1000000000000000055511151231257827021181583404541015626", false, false), ("-0.0", true, true),
      ("0", true, true),
      ("100000000000000000000", true, true), ("-2.5E+3", true, true), ("nan", true, true), ("-inf", true, true),
      ("1.7976931348623157e308", true, false), ("0.000000000000000000000000000001", true, true),
    ])
  func digits(_ text: String, _ isDouble: Bool, _ isFloat: Bool) throws {
    for (name, type, isKept) in [("double", AttributeType.double, isDouble), ("float", .float, isFloat)] {
      let set = ValueConversion.written(text, as: type)
      #expect((set != nil) == isKept, "\(name) \(text)")
      for isComma in text.contains("n") ? [false] : [false, true] {
        var conventions = TextConventions()
        if isComma { conventions.decimalSeparator = .comma }
        let shown = isComma ? text.replacing(".", with: ",") : text
        do {
          let nodes = try Self.read(Array("\(name);text\n\(shown);x\n".utf8), conventions)
          let slot = try #require(nodes.model.entity(named: "T")?.slot(named: name))
          let value = nodes.value(slot: slot, of: try #require(nodes.handles(of: 0).first))
          #expect(set.map { value.isIdentical(to: $0) } == true, "\(name) \(text) \(value)")
        } catch {
          #expect(!isKept && "\(error)".contains("digits") || set == nil, "\(name) \(text) \(error)")
        }
      }
    }
  }

  @Test("every double and float is taken in its shortest form, with 17 or 9 digits, and with all", arguments: 0..<40)
  func everyNumber(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let number = Double(bitPattern: .random(in: 0...UInt64.max, using: &random))
      let small = Float(bitPattern: .random(in: 0...UInt32.max, using: &random))
      guard number.isFinite, small.isFinite else { continue }
      for text in ["\(number)", String(format: "%.17g", number), String(format: "%.16e", number)] {
        let bytes = Array(text.utf8)
        let isKept = WrittenNumber.holds(bytes.span, number)
        #expect(isKept, "\(text)")
      }
      for text in ["\(small)", String(format: "%.9g", Double(small)), String(format: "%.17g", Double(small))] {
        let bytes = Array(text.utf8)
        let isKept = WrittenNumber.holds(bytes.span, small)
        #expect(isKept, "\(text)")
      }
    }
  }
}
