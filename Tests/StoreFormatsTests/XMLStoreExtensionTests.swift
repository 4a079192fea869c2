import AtomicStoreSPI
import Foundation
import TestSupport
import Testing
import XMLStoreFormat

/// What our files say that Core Data's own text could not.
@Suite("Exactness of the XML format")
struct XMLStoreExtensionTests {
  static let types: [(String, AttributeType)] = [
    ("aBoolean", .boolean), ("aSmall", .integer16), ("aMiddle", .integer32), ("aLarge", .integer64),
    ("aFloat", .float), ("aDouble", .double), ("aDate", .date), ("aDecimal", .decimal), ("aText", .string),
    ("anAddress", .uri), ("someData", .binaryData), ("someThing", .transformable), ("anIdentifier", .uuid),
    ("anything", .undefined),
  ]

  static func model(_ names: [String] = ["Thing", "Other"]) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(
        entities: names.map { name in
          EntityDescription(
            name: name,
            properties: types.map { .attribute($0.0, $0.1) } + [
              .toOne("toFirst", names[0]),
              .toMany("toLast", names[names.count - 1]),
              .toMany("inOrder", names[0], minimumCount: 1, isOrdered: true),
            ])
        }))
  }

  /// The snapshot saved and opened again, by its own schema.
  static func again(_ nodes: NodeTable, _ metadata: StoreMetadata, _ options: StoreOptions = [:]) throws
    -> (opened: XMLSupport.Opened, text: String)
  {
    var store = try XMLSupport.store(options)
    let bytes = try XMLSupport.bytes(of: &store, StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata))
    return (
      try XMLSupport.open(bytes, model: options["schema"] == "omit" ? nodes.model : nil),
      String(decoding: bytes, as: UTF8.self)
    )
  }

  static func metadata(_ nodes: NodeTable) -> StoreMetadata {
    StoreMetadata(storeType: "XML", model: nodes.model.description)
  }

  // MARK: Values

  static let values: [(String, StoredValue)] =
    [
      0, 1, -1, 0.1, .nan, .infinity, -.infinity, -0.0, .leastNonzeroMagnitude, 1e-300, 2.2250738585072014e-308, 1e300,
      1e-5, 0x1p-11,
    ]
    .flatMap { number -> [(String, StoredValue)] in
      [
        ("aDouble", .double(number)), ("aDate", .date(Date(timeIntervalSinceReferenceDate: number))),
        ("aFloat", .float(Float(number))), ("anything", .double(number)),
        ("anything", .date(Date(timeIntervalSinceReferenceDate: number))), ("anything", .float(Float(number))),
      ]
    } + [
      ("aDouble", .double(Double(bitPattern: 0x7FF8_0000_0000_0001))),
      ("aDouble", .double(Double(bitPattern: 0xFFF8_0000_0000_0000))),
      ("aFloat", .float(Float(bitPattern: 0x7FC0_0001))), ("aFloat", .float(Float(bitPattern: 1))),
      ("aDate", .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: 0x7FF8_0000_0000_0001)))),
      ("aDate", .date(Date(timeIntervalSinceReferenceDate: 999_999_999.99999988))),
      ("aDate", .date(Date(timeIntervalSinceReferenceDate: 9_007_199_254_740_994))),
      ("aLarge", .integer(.min)), ("aLarge", .integer(.max)), ("aSmall", .integer(-32768)),
      ("aMiddle", .integer(-2_147_483_648)),
      ("aDecimal", .decimal(.nan)), ("aDecimal", .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
      ("aDecimal", .decimal(DecimalNumber(mantissa: UInt128.max, exponent: -128, isNegative: true))),
      ("aDecimal", .decimal(DecimalNumber(mantissa: 1, exponent: 127))),
      ("aText", .string("")), ("aText", .string("\0\u{1}\r\n\t \u{FFFE}\u{FFFF}e\u{301}é\u{1F600}\\u3c00")),
      ("aText", .string(" \n")), ("anAddress", .uri("x:\u{0}<&>")), ("someData", .data(Data())),
      ("someThing", .data(Data([0]))), ("anything", .string("\u{FFFF}")), ("anything", .boolean(false)),
      ("anything", .integer(.min)), ("anything", .data(Data())), ("anything", .uri("")), ("anything", .decimal(.nan)),
      ("anything", .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255)))),
      ("anIdentifier", .uuid(UUID(uuid: (255, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0)))),
    ]

  @Test("every value comes back to the bit and the scalar", arguments: values.indices)
  func exactValue(_ index: Int) throws {
    let (name, value) = Self.values[index]
    var nodes = NodeTable(model: try Self.model())
    let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    try nodes.setValue(value, forKey: name, of: node)
    let opened = try Self.again(nodes, Self.metadata(nodes)).opened
    #expect(opened.nodes.value(forKey: name, of: NodeHandle(entity: 0, row: 0)) == value)
  }

  @Test(
    "random stores come back as they were, and are written the same again",
    arguments: (0..<24).share(of: "random XML stores"))
  func randomStore(_ seed: Int) throws {
    var random = SeededGenerator(state: UInt64(seed))
    var nodes = NodeTable(model: try Self.model())
    var references: [[ReferenceObject]] = [[], []]
    for entity in 0..<2 {
      for number in 0..<Int.random(in: 1...30, using: &random) {
        let reference: ReferenceObject =
          seed % 3 == 2 && number % 4 == 0
          ? .string(Self.text(&random) + "\(number)") : .integer(Int64(number * 3 - (seed % 4)))
        references[entity].append(reference)
        _ = try nodes.addCacheNode(entity: entity, reference: reference)
      }
    }
    for entity in 0..<2 {
      let last = nodes.model.entity(at: entity).slots
      for node in nodes.handles(of: entity) {
        for (name, type) in Self.types where Bool.random(using: &random) {
          try nodes.setValue(Self.value(type, &random), forKey: name, of: node)
        }
        for slot in last {
          guard let destination = slot.destination else { continue }
          let name = nodes.model.entity(at: destination).name
          let chosen = references[destination].shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
            .map { ObjectReference(entityName: name, reference: $0) }
          try nodes.set(
            slot.isToMany ? .toMany(chosen) : chosen.first.map { .toOne($0) } ?? .null, slot: slot.index, of: node)
        }
      }
    }
    let (opened, text) = try Self.again(nodes, Self.metadata(nodes))
    #expect(XMLSupport.exact(opened.nodes) == XMLSupport.exact(try nodes.canonical()))
    #expect(opened.nodes.model.description == nodes.model.description)
    #expect(try XMLSupport.text(of: opened) == text)
  }

  static func text(_ random: inout SeededGenerator) -> String {
    let pool: [UInt32] = [
      0, 9, 10, 13, 0x20, 0x26, 0x3C, 0x3E, 0x5C, 0x75, 0x61, 0xE9, 0x301, 0xFEFE, 0xFEFF, 0xFFFF, 0x1F600, 0x10FFFF,
      0x25, 0x2E,
    ]
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      if let scalar = Unicode.Scalar(pool[Int.random(in: 0..<pool.count, using: &random)]) {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  static func value(_ type: AttributeType, _ random: inout SeededGenerator) -> StoredValue {
    let bits = random.next()
    switch type {
    case .boolean: return .boolean(bits & 1 == 1)
    case .integer16: return .integer(Int64(Int16(truncatingIfNeeded: bits)))
    case .integer32: return .integer(Int64(Int32(truncatingIfNeeded: bits)))
    case .integer64: return .integer(Int64(truncatingIfNeeded: bits))
    case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case .double: return .double(Double(bitPattern: bits))
    case .date:
      return .date(
        Date(
          timeIntervalSinceReferenceDate: bits & 1 == 0
            ? Double.random(in: -1e9...1e9, using: &random) : Double(bitPattern: random.next())))
    case .decimal:
      return .decimal(
        DecimalNumber(
          mantissa: UInt128(bits) << UInt128(bits % 64), exponent: Int8(truncatingIfNeeded: bits >> 8),
          isNegative: bits & 1 == 1))
    case .string: return .string(text(&random))
    case .uri: return .uri(text(&random))
    case .binaryData, .transformable:
      return .data(Data((0..<Int.random(in: 0...130, using: &random)).map { UInt8(truncatingIfNeeded: $0) }))
    case .uuid: return .uuid(withUnsafeBytes(of: (bits, random.next())) { UUID(uuid: $0.load(as: uuid_t.self)) })
    case .undefined:
      let types = Self.types.map(\.1).filter { $0 != .undefined }
      return value(types[Int(bits % UInt64(types.count))], &random)
    default: return .null
    }
  }

  @Test("dates are read as C reads their text", arguments: 0..<64)
  func dates(_ seed: Int) throws {
    var random = SeededGenerator(state: UInt64(seed &* 977))
    for _ in 0..<200 {
      let whole = Int.random(in: 0..<[10, 1000, 1_000_000_000][seed % 3], using: &random)
      let digits = (0..<20).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
      let text = "\(seed % 2 == 0 ? "" : "-")\(whole).\(digits)"
      let opened = try XMLSupport.open(
        XMLSupport.document(
          "<object type=\"A\" id=\"z1\"><attribute name=\"d\" type=\"date\">\(text)</attribute></object>"))
      let value = opened.nodes.value(slot: 0, of: NodeHandle(entity: 0, row: 0))
      #expect(value == .date(Date(timeIntervalSinceReferenceDate: try #require(Double(text)))))
    }
  }

  // MARK: References

  @Test("numbers that two hierarchies share, negative ones and strings come back")
  func references() throws {
    var nodes = NodeTable(model: try Self.model(["Alpha", "Beta", "Gamma"]))
    for entity in 0..<2 {
      for reference: ReferenceObject in [.integer(1), .integer(-5), .integer(.max), .string("a b/ü%"), .string("")] {
        let node = try nodes.addCacheNode(entity: entity, reference: reference)
        let name = nodes.model.entity(at: entity).name
        try nodes.setValue(.string("\(name) \(reference)"), forKey: "aText", of: node)
      }
    }
    _ = try nodes.addCacheNode(entity: 2, reference: .integer(77))
    for node in nodes.handles(of: 1) {
      try nodes.setValue(
        .toOne(ObjectReference(entityName: "Alpha", reference: nodes.reference(of: node))), forKey: "toFirst", of: node)
    }
    let (opened, text) = try Self.again(nodes, Self.metadata(nodes))
    #expect(XMLSupport.exact(opened.nodes) == XMLSupport.exact(try nodes.canonical()))
    #expect(text.contains(#"<object type="ALPHA" id="z1">"#))
    #expect(text.contains(#"<object type="BETA" id="z1.BETA">"#))
    #expect(text.contains(#"<object type="GAMMA" id="z77">"#))
    #expect(text.contains(##"id="sa%20b%2F%C3%BC%25""##))
    #expect(text.contains("<nextObjectID>9223372036854775807</nextObjectID>"))
    #expect(try XMLSupport.text(of: opened) == text)
  }

  @Test("an order stays")
  func order() throws {
    var nodes = NodeTable(model: try Self.model(["Alpha", "Beta"]))
    let node = try nodes.addCacheNode(entity: 1, reference: .integer(9))
    for number in 1...4 { _ = try nodes.addCacheNode(entity: 0, reference: .integer(Int64(number))) }
    let order = StoredValue.toMany(
      [3, 1, 4, 2].map { ObjectReference(entityName: "Alpha", reference: .integer($0)) })
    try nodes.setValue(order, forKey: "inOrder", of: node)
    let opened = try Self.again(nodes, Self.metadata(nodes)).opened
    #expect(opened.nodes.value(forKey: "inOrder", of: NodeHandle(entity: 1, row: 0)) == order)
  }

  // MARK: Names and schema

  @Test("names that differ only in case are distinguished by the schema, and refused without")
  func foldedNames() throws {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: ["Item", "ITEM", "Other"].map {
          EntityDescription(
            name: $0,
            properties: [
              .attribute("value", .string),
              .attribute("Value", .string),
              .toOne("r", "Item"),
            ])
        }))
    var nodes = NodeTable(model: model)
    for entity in 0..<3 {
      let node = try nodes.addCacheNode(entity: entity, reference: .integer(Int64(entity + 1)))
      try nodes.setValue(.string("lower \(entity)"), forKey: "value", of: node)
      try nodes.setValue(.string("upper \(entity)"), forKey: "Value", of: node)
    }
    let opened = try Self.again(nodes, Self.metadata(nodes)).opened
    #expect(XMLSupport.exact(opened.nodes) == XMLSupport.exact(nodes))
    let error = try XMLSupport.failure { _ = try Self.again(nodes, Self.metadata(nodes), ["schema": "omit"]) }
    #expect(error.code == .unsupportedByFormat)
    #expect(error.message.contains("'Item'") && error.message.contains("'ITEM'"))
  }

  @Test("names that XML cannot represent are escaped")
  func strangeNames() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "R&D \"<Straße>\"", properties: [.attribute("a\nb\\ÉΣ", .string)])
      ]))
    var nodes = NodeTable(model: model)
    let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    try nodes.set(.string("x"), slot: 0, of: node)
    let opened = try Self.again(nodes, Self.metadata(nodes)).opened
    #expect(XMLSupport.exact(opened.nodes) == XMLSupport.exact(nodes))
  }

  @Test("a model that the file does not reveal is written to it, one that it does is not; the option decides otherwise")
  func schema() throws {
    let nodes = NodeTable(model: try Self.model())
    let (opened, text) = try Self.again(nodes, Self.metadata(nodes))
    #expect(text.contains("<key>AtomicStoreModel</key>"))
    #expect(opened.metadata.model == nodes.model.description)
    #expect(!(try Self.again(nodes, Self.metadata(nodes), ["schema": "omit"]).text.contains("AtomicStoreModel")))

    let inferred = try XMLSupport.open(
      XMLSupport.document(XMLStoreFormatTests.library, metadata: XMLStoreFormatTests.metadata))
    #expect(!(try XMLSupport.text(of: inferred).contains("AtomicStoreModel")))
    #expect(try Self.again(inferred.nodes, inferred.metadata, ["schema": "embed"]).text.contains("AtomicStoreModel"))
    // Without its objects the file would no longer tell.
    var emptied = inferred
    for entity in inferred.nodes.model.entities {
      for node in inferred.nodes.handles(of: entity.index) { emptied.nodes.remove(node) }
    }
    let again = try XMLSupport.open(try XMLSupport.bytes(of: emptied))
    #expect(again.metadata.model == inferred.metadata.model)
    #expect(again.metadata.model?.isInferred == true)
  }

  // MARK: Metadata

  @Test("metadata that XML could not hold come back all the same")
  func metadata() throws {
    let nodes = NodeTable(model: try Self.model())
    var metadata = Self.metadata(nodes)
    metadata.entries = [
      "plain": .string("a<b>&c\n"), "control": .string("\0\r"), "key\u{1}": .boolean(true), "nan": .real(.nan),
      "minus": .real(-0.0), "third": .real(1.0 / 3), "large": .integer(Int128(UInt64.max)),
      "date": .date(Date(timeIntervalSinceReferenceDate: 1)),
      "fraction": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
      "nested": .dictionary(["a": .array([.boolean(false), .data(Data(repeating: 7, count: 100)), .dictionary([:])])]),
      "uid": .uid(5), "likeUID": .dictionary(["CF$UID": .integer(5)]), "empty": .array([]), "nothing": .data(Data()),
    ]
    let (opened, text) = try Self.again(nodes, metadata)
    #expect(opened.metadata.entries == metadata.entries)
    #expect(text.contains("<key>AtomicStoreExactEntries</key>"))
    #expect(text.contains("<string>a&lt;b&gt;&amp;c\n</string>"))
    #expect(try XMLSupport.text(of: opened) == text)
  }

  @Test(
    "a metadata key of the format's own is not the user's to set",
    arguments: ["AtomicStoreModel", "AtomicStoreExactEntries"])
  func ownKeys(_ key: String) throws {
    let nodes = NodeTable(model: try Self.model())
    var metadata = Self.metadata(nodes)
    metadata.entries[key] = .string("mine")
    #expect(try XMLSupport.failure { _ = try Self.again(nodes, metadata) }.code == .invalidValue)
  }
}

/// Random numbers that are the same on each run.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &+ 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}
