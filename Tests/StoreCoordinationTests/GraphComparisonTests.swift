import Foundation
import StoreCoordination
import Testing

/// A small change planted in a graph, and what must be said of it.
struct Plant: Sendable, CustomTestStringConvertible {
  var name: String
  var kind: GraphDifference.Kind
  /// The property or key that must be named.
  var key: String?
  var apply: @Sendable (inout StoreSnapshot) throws -> Void
  var testDescription: String { name }
}

private func thing(_ number: Int64) -> ObjectReference {
  ObjectReference(entityName: "Thing", reference: .integer(number))
}
private func sub(_ number: Int64) -> ObjectReference { ObjectReference(entityName: "Sub", reference: .integer(number)) }

private func set(_ key: String, _ value: StoredValue, of number: Int64 = 1)
  -> @Sendable (inout StoreSnapshot) throws -> Void
{
  { snapshot in
    let node = try #require(snapshot.nodes.handle(for: thing(number)))
    try snapshot.nodes.setValue(value, forKey: key, of: node)
  }
}

private func entry(_ key: String, _ value: PropertyListValue?) -> @Sendable (inout StoreSnapshot) throws -> Void {
  { $0.metadata.entries[key] = value }
}

private let fixed = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

@Suite("Comparing graphs") struct GraphComparisonTests {
  @Test("the summary of metadata is the beginning of its text, however long it is")
  func summarizes() {
    var hashes = PropertyListDictionary()
    for number in 0..<500 { hashes["Entity\(number)"] = .data(Data(repeating: UInt8(number & 0xFF), count: 32)) }
    let marks = String(repeating: "e\u{301}", count: 3000)
    let values: [PropertyListValue] = [
      "short", .array([]), .dictionary(hashes), .array([.dictionary(hashes), "end"]), .array([.string(marks), "end"]),
      .dictionary(["a": .string(String(repeating: "x", count: 5000)), "b": "end"]),
      .array(Array(repeating: .integer(7), count: 60)), .array(Array(repeating: .integer(7), count: 70)),
    ]
    for value in values {
      let whole = GraphComparison.text(value)
      #expect(GraphComparison.summary(value) == (whole.count > 200 ? whole.prefix(200) + "…" : whole))
    }
  }

  static func make() throws -> StoreSnapshot {
    let types: [AttributeType] = [
      .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
      .uuid, .uri, .transformable,
    ]
    var properties = types.map { PropertyDescription.attribute("\($0)", $0) }
    properties.append(.attribute("empty", .string))
    properties.append(.attribute("missing", .string))
    properties.append(.attribute("emptyData", .binaryData))
    properties.append(.attribute("nan", .double))
    properties.append(.toOne("one", "Thing"))
    properties.append(.toOne("none", "Thing"))
    properties.append(
      .toMany("many", "Thing"))
    properties.append(
      .toMany("list", "Thing", isOrdered: true))
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Thing", properties: properties, subentities: [EntityDescription(name: "Sub")])
      ]))
    let builder = NodeTableBuilder(model: model)
    let entity = try #require(model.entity(named: "Thing"))
    try builder.beginNode(entity: entity.index, reference: 1)
    for (name, value) in [
      ("undefined", StoredValue.integer(1)), ("integer16", .integer(16)), ("integer32", .integer(32)),
      ("integer64", .integer(64)), ("decimal", .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
      ("double", .double(0)),
      ("float", .float(0.5)), ("string", .string("é")), ("boolean", .boolean(true)),
      ("date", .date(Date(timeIntervalSinceReferenceDate: 1000.1))), ("binaryData", .data(Data([1, 2, 3]))),
      ("uuid", .uuid(fixed)),
      ("uri", .uri("http://example.com/a")), ("transformable", .data(Data([9]))), ("empty", .string("")),
      ("emptyData", .data(Data())), ("nan", .double(.nan)), ("one", .toOne(thing(2))),
      ("many", .toMany([thing(2), sub(4)])), ("list", .toMany([thing(3), thing(2)])),
    ] { try builder.set(value, slot: try #require(entity.slot(named: name))) }
    try builder.beginNode(entity: entity.index, reference: 2)
    try builder.beginNode(entity: entity.index, reference: 3)
    try builder.beginNode(entity: try #require(model.entity(named: "Sub")).index, reference: 4)
    return StoreSnapshot(
      nodes: try builder.finish(),
      metadata: StoreMetadata(
        storeType: "", uuid: fixed, entries: ["text": "é", "one": 1, "list": [1, 2], "data": .data(Data([1]))]))
  }

  static let plants: [Plant] = [
    Plant(name: "one bit of a double", kind: .changed, key: "double", apply: set("double", .double(5e-308 / 1e10))),
    Plant(name: "zero to negative zero", kind: .changed, key: "double", apply: set("double", .double(-0.0))),
    Plant(name: "double to nil", kind: .changed, key: "double", apply: set("double", .null)),
    Plant(name: "double to infinity", kind: .changed, key: "double", apply: set("double", .double(.infinity))),
    Plant(
      name: "a not-a-number's payload", kind: .changed, key: "nan",
      apply: set("nan", .double(Double(bitPattern: 0x7FF8_0000_0000_0001)))),
    Plant(name: "a not-a-number to a number", kind: .changed, key: "nan", apply: set("nan", .double(1))),
    Plant(name: "one ulp of a float", kind: .changed, key: "float", apply: set("float", .float(Float(0.5).nextUp))),
    Plant(
      name: "one ulp of a date", kind: .changed, key: "date",
      apply: set("date", .date(Date(timeIntervalSinceReferenceDate: (1000.1).nextUp)))),
    Plant(name: "é in two scalars", kind: .changed, key: "string", apply: set("string", .string("e\u{301}"))),
    Plant(name: "a blank at the end", kind: .changed, key: "string", apply: set("string", .string("é "))),
    Plant(name: "a NUL at the end", kind: .changed, key: "string", apply: set("string", .string("é\0"))),
    Plant(name: "string to nil", kind: .changed, key: "string", apply: set("string", .null)),
    Plant(name: "empty to nil", kind: .changed, key: "empty", apply: set("empty", .null)),
    Plant(name: "nil to empty", kind: .changed, key: "missing", apply: set("missing", .string(""))),
    Plant(name: "empty data to nil", kind: .changed, key: "emptyData", apply: set("emptyData", .null)),
    Plant(name: "empty data to a byte", kind: .changed, key: "emptyData", apply: set("emptyData", .data(Data([0])))),
    Plant(
      name: "one bit of data", kind: .changed, key: "binaryData", apply: set("binaryData", .data(Data([1, 2, 2])))),
    Plant(name: "one byte fewer", kind: .changed, key: "binaryData", apply: set("binaryData", .data(Data([1, 2])))),
    Plant(
      name: "a transformable's byte", kind: .changed, key: "transformable",
      apply: set("transformable", .data(Data([8])))),
    Plant(name: "an Integer 16", kind: .changed, key: "integer16", apply: set("integer16", .integer(17))),
    Plant(name: "an Integer 32", kind: .changed, key: "integer32", apply: set("integer32", .integer(-32))),
    Plant(
      name: "an Integer 64 by its highest bit", kind: .changed, key: "integer64",
      apply: set("integer64", .integer(64 | .min))),
    Plant(
      name: "1.50 to 1.5", kind: .changed, key: "decimal",
      apply: set("decimal", .decimal(DecimalNumber(mantissa: 15, exponent: -1)))),
    Plant(
      name: "a decimal's sign", kind: .changed, key: "decimal",
      apply: set("decimal", .decimal(DecimalNumber(mantissa: 150, exponent: -2, isNegative: true)))),
    Plant(name: "true to false", kind: .changed, key: "boolean", apply: set("boolean", .boolean(false))),
    Plant(name: "true to nil", kind: .changed, key: "boolean", apply: set("boolean", .null)),
    Plant(
      name: "one bit of a UUID", kind: .changed, key: "uuid",
      apply: set("uuid", .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17))))),
    Plant(name: "a URI's letter case", kind: .changed, key: "uri", apply: set("uri", .uri("http://Example.com/a"))),
    Plant(name: "undefined: 1 to 1.0", kind: .changed, key: "undefined", apply: set("undefined", .double(1))),
    Plant(name: "undefined: 1 to true", kind: .changed, key: "undefined", apply: set("undefined", .boolean(true))),
    Plant(name: "undefined: 1 to \"1\"", kind: .changed, key: "undefined", apply: set("undefined", .string("1"))),
    Plant(name: "a to-one moved", kind: .changed, key: "one", apply: set("one", .toOne(thing(3)))),
    Plant(name: "a to-one to a sub-entity's object", kind: .changed, key: "one", apply: set("one", .toOne(sub(4)))),
    Plant(name: "a to-one gone", kind: .changed, key: "one", apply: set("one", .null)),
    Plant(name: "a to-one come", kind: .changed, key: "none", apply: set("none", .toOne(thing(1)))),
    Plant(name: "a to-many with one fewer", kind: .changed, key: "many", apply: set("many", .toMany([thing(2)]))),
    Plant(
      name: "a to-many with one more", kind: .changed, key: "many",
      apply: set("many", .toMany([thing(1), thing(2), sub(4)]))),
    Plant(
      name: "a to-many with another", kind: .changed, key: "many", apply: set("many", .toMany([thing(3), sub(4)]))),
    Plant(name: "a to-many emptied", kind: .changed, key: "many", apply: set("many", .toMany([]))),
    Plant(name: "an order", kind: .changed, key: "list", apply: set("list", .toMany([thing(2), thing(3)]))),
    Plant(
      name: "an object more", kind: .inserted,
      apply: { _ = try $0.nodes.addCacheNode(entity: 1, reference: .integer(9)) }),
    Plant(
      name: "a sub-entity's object more", kind: .inserted,
      apply: { _ = try $0.nodes.addCacheNode(entity: 0, reference: .string("9")) }),
    Plant(
      name: "an object fewer", kind: .deleted,
      apply: {
        let node = try #require($0.nodes.handle(for: thing(1)))
        $0.nodes.remove(node)
      }),
    Plant(name: "a user key's scalar", kind: .metadata, key: "text", apply: entry("text", "e\u{301}")),
    Plant(name: "a user key gone", kind: .metadata, key: "text", apply: entry("text", nil)),
    Plant(name: "a user key more", kind: .metadata, key: "new", apply: entry("new", "")),
    Plant(name: "a user key from 1 to 1.0", kind: .metadata, key: "one", apply: entry("one", 1.0)),
    Plant(name: "a user key from 1 to true", kind: .metadata, key: "one", apply: entry("one", true)),
    Plant(name: "a list's order in the metadata", kind: .metadata, key: "list", apply: entry("list", [2, 1])),
    Plant(name: "a byte in the metadata", kind: .metadata, key: "data", apply: entry("data", .data(Data([2])))),
    Plant(name: "the UUID", kind: .identity, apply: { $0.metadata.uuid = UUID() }),
  ]

  @Test("a planted change is the only one found, and is named", arguments: plants)
  func found(_ plant: Plant) throws {
    let original = try Self.make()
    var changed = original
    try plant.apply(&changed)
    let differences = GraphComparison.differences(original, changed)
    #expect(differences.count == 1, "\(differences)")
    #expect(differences.first?.kind == plant.kind)
    if let key = plant.key { #expect(differences.first?.key == key) }
    // And the other way round, with old and new exchanged.
    let back = GraphComparison.differences(changed, original)
    #expect(back.count == 1)
    #expect(back.first?.old == differences.first?.new && back.first?.new == differences.first?.old)
    if differences.first?.old != nil { #expect(differences.first?.old != differences.first?.new) }
  }

  @Test("at least forty changes are planted")
  func enough() { #expect(Self.plants.count >= 40) }

  @Test("a graph equals itself, and the same graph created in another order")
  func same() throws {
    #expect(GraphComparison.differences(try Self.make(), try Self.make()).isEmpty)
    var moved = try Self.make()
    let node = try moved.nodes.addCacheNode(entity: 1, reference: .integer(0))
    let back = moved
    moved.nodes.remove(node)
    #expect(GraphComparison.differences(try Self.make(), moved).isEmpty)
    #expect(GraphComparison.differences(moved, back).count == 1)
  }

  @Test("an object under another entity's name is one deleted and one inserted")
  func otherEntity() throws {
    let original = try Self.make()
    var changed = original
    let node = try #require(changed.nodes.handle(for: thing(3)))
    try changed.nodes.setValue(
      .toMany([thing(2)]), forKey: "list", of: try #require(changed.nodes.handle(for: thing(1))))
    changed.nodes.remove(node)
    _ = try changed.nodes.addCacheNode(entity: 0, reference: .integer(3))
    let kinds = GraphComparison.differences(original, changed).map(\.kind)
    #expect(kinds.sorted { $0.rawValue < $1.rawValue } == [.changed, .deleted, .inserted])
  }

  @Test("what is excluded from the comparison is not compared")
  func options() throws {
    let original = try Self.make()
    var changed = original
    changed.metadata.uuid = UUID()
    changed.metadata.entries["new"] = 1
    #expect(GraphComparison.differences(original, changed).count == 2)
    #expect(
      GraphComparison.differences(original, changed, options: .init(comparesIdentity: false, comparesMetadata: false))
        .isEmpty)
  }
}
