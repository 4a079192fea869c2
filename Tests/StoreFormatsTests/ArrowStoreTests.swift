import ArrowTables
import AtomicStoreKit
import Foundation
import Testing

@Suite("Arrow stores") struct ArrowStoreTests {
  /// A store of persons whose attribute has these values.
  private static func files(_ attribute: String, _ values: [StoredValue]) throws -> [(name: String, bytes: [UInt8])] {
    try ArrowSupport.files { builder in
      for (index, value) in values.enumerated() {
        try builder.beginNode(entity: 0, reference: Int64(index + 1))
        let slot = try #require(builder.model.entity(at: 0).slot(named: attribute))
        try builder.set(value, slot: slot)
      }
    }
  }

  private static func values(_ attribute: String, _ nodes: NodeTable) -> [StoredValue] {
    nodes.handles(of: 0).map { nodes.value(forKey: attribute, of: $0) ?? .null }
  }

  // MARK: Types

  @Test(
    "decimals of one scale, or without trailing zeros, are Arrow's decimals; others are texts; all keep their spelling",
    arguments: [
      (["1.50", "-2.25", "0.00"], "decimal128(38, 2)", nil),
      (["1.5", "2", "-0.125", "0"], "decimal128(38, 3)", "trimmed"),
      (["7", "-12"], "decimal128(38, 0)", nil),
      ([], "decimal128(38, 0)", nil),
      (["1.50", "2"], "utf8", nil),
      (["1E+20", "5"], "utf8", nil),
      (["NaN"], "utf8", nil),
      (["99999999999999999999999999999999999999"], "decimal128(38, 0)", nil),
      (
        ["100000000000000000000000000000000000000", "-340282366920938463463374607431768211455"], "decimal256(76, 0)",
        nil
      ),
      (["0.0000000000000000000000000000000000000001"], "decimal256(76, 40)", nil),
      // At the greater scale the first has more than 38 digits.
      (["99999999999999999999999999999999999999", "0.5"], "utf8", nil),
    ] as [([String], String, String?)])
  func decimals(_ texts: [String], _ type: String, _ mark: String?) throws {
    let values = try texts.map { StoredValue.decimal(try #require(DecimalNumber($0))) } + [.null]
    let files = try Self.files("worth", values)
    let field = try #require(try ArrowSupport.schema(files).fields.first { $0.name == "worth" })
    #expect(field.type.name == type)
    #expect(field.metadata(ArrowKey.decimals) == mark)
    let read = Self.values("worth", try ArrowSupport.open(files))
    #expect(zip(read, values).allSatisfy { $0.isIdentical(to: $1) }, "\(read)")
  }

  @Test(
    "dates are timestamps where nothing is lost, and doubles elsewhere; all keep their bits",
    arguments: [
      ([0, -978_307_200.5, 1e9], "timestamp(microsecond, UTC)"),
      ([63_113_904_000, -63_114_076_800], "timestamp(microsecond, UTC)"),
      // What a clock gives: a double that no microsecond equals.
      ([785_543_210.123456789], "timestamp(nanosecond, UTC)"),
      ([0, -0.0], "double"), ([.nan], "double"), ([.infinity, 1], "double"), ([1e300], "double"),
      // A distant date and one that only nanoseconds keep.
      ([63_113_904_000, 785_543_210.123456789], "double"),
      ([Double.leastNonzeroMagnitude], "double"),
    ] as [([Double], String)])
  func dates(_ seconds: [Double], _ type: String) throws {
    let values = seconds.map { StoredValue.date(Date(timeIntervalSinceReferenceDate: $0)) } + [.null]
    let files = try Self.files("born", values)
    #expect(try ArrowSupport.schema(files).fields.first { $0.name == "born" }?.type.name == type)
    let read = Self.values("born", try ArrowSupport.open(files))
    #expect(zip(read, values).allSatisfy { $0.isIdentical(to: $1) }, "\(read)")
  }

  @Test("every double that ticks can be made of comes back from them", arguments: ArrowType.TimeUnit.allCases)
  func ticks(_ unit: ArrowType.TimeUnit) {
    var random = Random(seed: 16)
    var exact = 0
    for _ in 0..<20_000 {
      let seconds = Double.random(in: -4e9...4e9, using: &random)
      let value = random.next() % 2 == 0 ? seconds : (seconds * 1000).rounded() / 1000
      guard let ticks = ArrowDates.ticks(seconds: value, unit) else { continue }
      exact += 1
      #expect(ArrowDates.seconds(ticks: ticks, unit).bitPattern == value.bitPattern)
    }
    #expect(unit == .second || exact > 5_000)
    #expect(ArrowDates.seconds(ticks: .min, unit) < 0 && ArrowDates.seconds(ticks: .max, unit) > 0)
  }

  @Test("the schema says what the model says: types, optionality, destinations, inverses")
  func schema() throws {
    let files = try ArrowSupport.files { _ in }
    let schema = try ArrowSupport.schema(files)
    #expect(schema.metadata == [ArrowMetadataEntry(ArrowKey.entity, "Person")])
    let fields = Dictionary(uniqueKeysWithValues: schema.fields.map { ($0.name, $0) })
    #expect(schema.fields.first?.name == "id")
    #expect(fields["id"]?.isNullable == false)
    #expect(fields["age"]?.type == .integer(bits: 16, isSigned: true))
    #expect(fields["age"]?.metadata(ArrowKey.type) == "Integer 16")
    #expect(fields["token"]?.metadata("ARROW:extension:name") == "arrow.uuid")
    #expect(fields["boss"]?.metadata(ArrowKey.destination) == "Person")
    #expect(fields["friends"]?.type.name == "list<int64>")
    #expect(fields["friends"]?.metadata(ArrowKey.type) == "To-many")
  }

  @Test("a property called id keeps its column, and the references have another")
  func identifierName() throws {
    let model = ModelDescription(entities: [
      EntityDescription(name: "Row", properties: [.attribute("id", .string), .attribute("objectID", .integer64)])
    ])
    let files = try ArrowSupport.files(model) { builder in
      try builder.beginNode(entity: 0, reference: 7)
      try builder.set(.string("seven"), slot: try #require(builder.model.entity(at: 0).slot(named: "id")))
    }
    #expect(
      Set(try ArrowSupport.schema(files, "Row.arrow").fields.map(\.name)) == ["id", "objectID", "objectID_"])
    let nodes = try ArrowSupport.open(files)
    #expect(nodes.reference(of: try #require(nodes.handles(of: 0).first)) == .integer(7))
    #expect(nodes.value(forKey: "id", of: try #require(nodes.handles(of: 0).first)) == .string("seven"))
  }

  @Test("references that are strings are texts with their kind, also in relationships")
  func stringReferences() throws {
    let files = try ArrowSupport.files { builder in
      let entity = builder.model.entity(at: 0)
      let boss = try #require(entity.slot(named: "boss"))
      let friends = try #require(entity.slot(named: "friends"))
      try builder.beginNode(entity: 0, reference: .integer(5))
      try builder.set(toOne: .string("5"), slot: boss)
      try builder.beginNode(entity: 0, reference: .string("5"))
      for reference in [ReferenceObject.integer(5), .string("5")] {
        try builder.append(toMany: reference, slot: friends)
      }
    }
    let field = try #require(try ArrowSupport.schema(files).fields.first { $0.name == "boss" })
    #expect(field.type.name == "utf8" && field.metadata(ArrowKey.references) == "typed")
    let nodes = try ArrowSupport.open(files)
    let text = try #require(nodes.handle(for: .string("5"), entity: 0))
    let number = try #require(nodes.handle(for: .integer(5), entity: 0))
    #expect(nodes.value(forKey: "boss", of: number) == .toOne(nodes.objectReference(of: text)))
    #expect(
      nodes.value(forKey: "friends", of: text)
        == .toMany([nodes.objectReference(of: number), nodes.objectReference(of: text)]))
  }

  // MARK: Files of other programs

  @Test("a table that Polars 2.1 wrote is read: its schema has no length before it", arguments: [false, true])
  func polarsTable(isEmpty: Bool) throws {
    let table = try ArrowSupport.fixture(isEmpty ? "polars-empty.arrow" : "polars.arrow")
    #expect(!table[8..<12].allSatisfy { $0 == 0xFF })
    let nodes = try ArrowSupport.open(person: table)
    #expect(nodes.handles(of: 0).map { nodes.reference(of: $0) } == (isEmpty ? [] : [2, 5, 9].map { .integer($0) }))
    #expect(Self.values("age", nodes) == (isEmpty ? [] : [.integer(30), .null, .integer(-1)]))
    #expect(Self.values("name", nodes) == (isEmpty ? [] : [.string("Zoë"), .null, .string("")]))
  }

  @Test(
    "bytes between the beginning and the first batch that are not the footer's schema are refused",
    arguments: [8, 20, 60])
  func polarsDamage(offset: Int) throws {
    var table = try ArrowSupport.fixture("polars.arrow")
    table[offset] ^= 0x15
    #expect(throws: PersistentStoreError.self) { try ArrowSupport.open(person: table) }
  }

  @Test("a table that pyarrow wrote is read: other widths and units, several batches, lists that are null")
  func foreignTable() throws {
    let nodes = try ArrowSupport.open(person: try ArrowSupport.fixture("batches.arrow"))
    func all(_ key: String) -> [StoredValue] { Self.values(key, nodes) }
    #expect(nodes.handles(of: 0).map { nodes.reference(of: $0) } == [.integer(2), .integer(5), .integer(9)])
    #expect(all("age") == [.integer(30), .null, .integer(-1)])
    #expect(all("name") == [.string("Zoë"), .null, .string("")])
    #expect(
      all("born")
        == [.date(Date(timeIntervalSinceReferenceDate: 0)), .null, .date(Date(timeIntervalSince1970: -14_182_940))])
    #expect(all("worth").map(\.typedText) == ["decimal:12.50", "", "decimal:-0.05"])
    #expect(all("isMember") == [.boolean(true), .boolean(false), .null])
    let two = ObjectReference(entityName: "Person", reference: .integer(2))
    #expect(all("boss") == [.null, .toOne(two), .toOne(two)])
    #expect(
      all("friends")
        == [
          .toMany([5, 9].map { ObjectReference(entityName: "Person", reference: .integer($0)) }), .toMany([]),
          .toMany([]),
        ])
  }

  @Test(
    "what Arrow has and the reader does not is refused by name",
    arguments: [
      ("lz4.arrow", "compressed with LZ4_FRAME"), ("zstd.arrow", "compressed with ZSTD"),
      ("dictionary.arrow", "'name' is dictionary-encoded"), ("view.arrow", "'name' is of the type utf8_view"),
      ("naive.arrow", "timestamps without a time zone"),
    ])
  func refusedTables(_ file: String, _ message: String) throws {
    let table = try ArrowSupport.fixture(file)
    let error = try #require(throws: PersistentStoreError.self) { try ArrowSupport.open(person: table) }
    #expect(error.code == .notSupported)
    #expect(error.message.contains(message), "\(error)")
    #expect(error.location.file == "Store.arrowstore/Person.arrow")
    #expect(error.location.offset != nil)
  }

  /// A table of persons with texts, of which the empty one is null, in the column of their UUIDs.
  private static func tokens(_ texts: [String]) throws -> [UInt8] {
    var ends: [Int32] = [0]
    for text in texts { ends.append((ends.last ?? 0) + Int32(text.utf8.count)) }
    let present = texts.enumerated().reduce(UInt8(0)) { $1.element.isEmpty ? $0 : $0 | 1 << UInt8($1.offset) }
    return try ArrowSupport.table([
      ArrowSupport.integers("id", (1...texts.count).map { Int64($0) }),
      (
        ArrowField("token", .text(isLarge: false)),
        ArrowColumnData(
          count: texts.count, nullCount: texts.count(where: \.isEmpty),
          buffers: [.bytes([present]), .bytes(ends.withUnsafeBytes { Array($0) }), .bytes(Array(texts.joined().utf8))])
      ),
    ])
  }

  @Test("UUIDs may be texts, as DuckDB writes them; a text that is not one is refused with its row")
  func textIdentifiers() throws {
    let uuid = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
    let nodes = try ArrowSupport.open(person: try Self.tokens([uuid, "", uuid.lowercased()]))
    let value = try #require(UUID(uuidString: uuid).map { StoredValue.uuid($0) })
    #expect(Self.values("token", nodes) == [value, .null, value])
    let error = try #require(throws: PersistentStoreError.self) {
      try ArrowSupport.open(person: try Self.tokens([uuid, "x"]))
    }
    #expect(error.code == .invalidValue && error.message == "row 1: 'x' is not a UUID")
    #expect(error.location.property == "token")
  }

  // MARK: Refusals

  @Test("a value that does not fit its attribute is refused with its row")
  func outOfRange() throws {
    let table = try ArrowSupport.table([
      ArrowSupport.integers("id", [1, 2]), ArrowSupport.integers("age", [5, 40_000]),
    ])
    let error = try #require(throws: PersistentStoreError.self) { try ArrowSupport.open(person: table) }
    #expect(error.code == .invalidValue)
    #expect(error.message == "row 1: 40000 does not fit in 16 bits")
    #expect(error.location.property == "age" && error.location.entity == "Person")
  }

  @Test(
    "columns that the model does not have, that are missing or twice are refused",
    arguments: [
      (["id", "age", "shoeSize"], "Person does not have a property 'shoeSize'"),
      (["age"], "the table does not have a column 'id' with references"),
      (["id", "age", "age"], "two columns have the name 'age'"), (["id", "id"], "two columns have the name 'id'"),
    ])
  func columns(_ names: [String], _ message: String) throws {
    let table = try ArrowSupport.table(names.map { ArrowSupport.integers($0, [1]) })
    let error = try #require(throws: PersistentStoreError.self) { try ArrowSupport.open(person: table) }
    #expect(error.message == message)
  }

  @Test("a column of another type is refused with both types")
  func wrongType() throws {
    let table = try ArrowSupport.table([ArrowSupport.integers("id", [1]), ArrowSupport.integers("name", [1])])
    let error = try #require(throws: PersistentStoreError.self) { try ArrowSupport.open(person: table) }
    #expect(error.message == "the column has values of the type int64, not utf8")
  }

  @Test("a table that metadata.plist does not list is refused, and other files stay with the store")
  func unlistedFiles() throws {
    let files = try ArrowSupport.files { _ in }
    let error = try #require(throws: PersistentStoreError.self) {
      try ArrowSupport.open(files + [("Other.arrow", [1])])
    }
    #expect(error.message == "the file is not listed in metadata.plist")
    let source = StoreSource(members: files + [("notes.txt", [1])], name: "Store.arrowstore")
    #expect(throws: Never.self) { try ArrowSupport.open(files + [("notes.txt", [1])]) }
    #expect(source.memberNames.contains("notes.txt"))
  }

  @Test("a table that was cut, at any length, is refused with its file")
  func truncated() throws {
    var files = try Self.files("name", [.string("a"), .null, .string("ccc")])
    let index = try #require(files.firstIndex { $0.name == "Person.arrow" })
    let table = files[index].bytes
    for length in 0..<table.count {
      files[index].bytes = Array(table.prefix(length))
      let error = #expect(throws: PersistentStoreError.self, "cut to \(length)") { try ArrowSupport.open(files) }
      #expect(error?.location.file == "Store.arrowstore/Person.arrow")
      #expect(error?.location.offset != nil)
    }
  }

  @Test("a footer that lists fewer batches than there are is refused: rows would be lost")
  func shortFooter() throws {
    // Two batches in the file, and a footer of a file with one.
    let one = try ArrowSupport.table([ArrowSupport.integers("id", [1])])
    let footerLength = Int(one[one.count - 10]) + Int(one[one.count - 9]) << 8
    let footer = one.count - 10 - footerLength
    // The batch is all between the schema's message and the end mark.
    let start = 8 + 8 + Int(one[12]) + Int(one[13]) << 8
    let batch = one[start..<footer - 8]
    let two = Array(one[..<start]) + batch + batch + one[(footer - 8)...]
    let error = try #require(throws: PersistentStoreError.self) { try ArrowSupport.open(person: two) }
    #expect(error.message == "the footer lists other record batches than the file has")
  }
}
