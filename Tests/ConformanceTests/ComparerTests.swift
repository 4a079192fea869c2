import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

@testable import AtomicStoreConformance

/// A small change planted in a graph that the harness compares, and how the difference must be named.
struct GraphPlant: Sendable, CustomTestStringConvertible {
  var name: String
  /// What the difference must name: the property, or the object.
  var names: String
  var change: @Sendable (inout Graph) -> Void
  /// What the objects are called afterwards, where that is the change.
  var references: @Sendable (Int) -> ReferenceObject = GraphPlant.counting
  var testDescription: String { name }

  static let counting: @Sendable (Int) -> ReferenceObject = { .integer(Int64($0) + 1) }

  static func value(_ name: String, _ key: String, _ value: StoredValue?) -> GraphPlant {
    GraphPlant(name: name, names: "Thing/1.\(key) =", change: { $0.set("one", key, value) })
  }
  static func links(_ name: String, _ key: String, _ labels: [String]) -> GraphPlant {
    GraphPlant(name: name, names: "Thing/1.\(key) =", change: { graph in graph.objects[0].links[key] = labels })
  }
}

/// The comparison that every verdict of the harness rests on. The kit's own, `GraphComparison`, is tested with the kit.
@Suite("Comparing what a store returns") struct ComparerTests {
  static let model: ModelDescription = {
    let types: [AttributeType] = [
      .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
      .uuid, .uri,
      .transformable,
    ]
    var properties = types.map { PropertyDescription.attribute("\($0)", $0) }
    for name in ["empty", "missing", "é"] {
      properties.append(.attribute(name, .string))
    }
    for name in ["emptyData", "missingData"] {
      properties.append(.attribute(name, .binaryData))
    }
    for name in ["nan", "zero"] { properties.append(.attribute(name, .double)) }
    properties += [
      .toOne("one", "Thing"),
      .toOne("none", "Thing"),
      .toMany("many", "Thing"),
      .toMany("list", "Thing", isOrdered: true),
    ]
    return ModelDescription(entities: [
      EntityDescription(name: "Thing", properties: properties, subentities: [EntityDescription(name: "Sub")])
    ])
  }()

  static let graph: Graph = {
    var one = Graph.Object(label: "one", entity: "Thing")
    one.values = [
      "undefined": .integer(1), "integer16": .integer(16), "integer32": .integer(32), "integer64": .integer(64),
      "decimal": .decimal(DecimalNumber(mantissa: 150, exponent: -2)), "double": .double(0.1), "float": .float(0.5),
      "string": .string("é"),
      "boolean": .boolean(true), "date": .date(Date(timeIntervalSinceReferenceDate: 1000.1)),
      "binaryData": .data(Data([1, 2, 3])),
      "uuid": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
      "uri": .uri("http://example.com/a"),
      "transformable": .data(Data([9])), "empty": .string(""), "emptyData": .data(Data()), "nan": .double(.nan),
      "zero": .double(0),
      "é": .string("x"),
    ]
    one.links = ["one": ["two"], "many": ["two", "sub"], "list": ["three", "two"]]
    return Graph(
      model,
      [
        one, .init(label: "two", entity: "Thing"), .init(label: "three", entity: "Thing"),
        .init(label: "sub", entity: "Sub"),
      ])
  }()

  static let plants: [GraphPlant] = [
    .value("an Integer 16", "integer16", .integer(17)), .value("an Integer 32's sign", "integer32", .integer(-32)),
    .value("an Integer 64 beyond what a double holds", "integer64", .integer((1 << 53) + 1)),
    .value("an integer to nil", "integer64", nil), .value("an integer to 0", "integer64", .integer(0)),
    .value("one bit of a double", "double", .double((0.1).nextUp)),
    .value("a double to infinity", "double", .double(.infinity)),
    .value("a double to nil", "double", nil), .value("0.0 to -0.0", "zero", .double(-0.0)),
    .value("0.0 to nil", "zero", nil),
    .value("a not-a-number's payload", "nan", .double(Double(bitPattern: 0x7FF8_0000_0000_0001))),
    .value("a not-a-number's sign", "nan", .double(-.nan)), .value("a not-a-number to 0", "nan", .double(0)),
    .value("one bit of a float", "float", .float(Float(0.5).nextUp)), .value("a float's sign", "float", .float(-0.5)),
    .value("one bit of a date", "date", .date(Date(timeIntervalSinceReferenceDate: (1000.1).nextUp))),
    .value("a date in whole seconds", "date", .date(Date(timeIntervalSinceReferenceDate: 1000))),
    .value("1.50 to 1.51", "decimal", .decimal(DecimalNumber(mantissa: 151, exponent: -2))),
    .value("a decimal's sign", "decimal", .decimal(DecimalNumber(mantissa: 150, exponent: -2, isNegative: true))),
    .value("é in two scalars", "string", .string("e\u{301}")), .value("a blank at the end", "string", .string("é ")),
    .value("a NUL at the end", "string", .string("é\0")),
    .value("a byte-order mark before", "string", .string("\u{FEFF}é")),
    .value("another line end", "string", .string("é\r\n")), .value("a string to nil", "string", nil),
    .value("empty to nil", "empty", nil), .value("nil to empty", "missing", .string("")),
    .value("nil to the text nil", "missing", .string("nil")),
    .value("empty data to nil", "emptyData", nil), .value("nil to empty data", "missingData", .data(Data())),
    .value("empty data to a zero byte", "emptyData", .data(Data([0]))),
    .value("one bit of data", "binaryData", .data(Data([1, 2, 2]))),
    .value("one byte fewer", "binaryData", .data(Data([1, 2]))),
    .value("a transformable's byte", "transformable", .data(Data([8]))),
    .value("true to false", "boolean", .boolean(false)), .value("true to nil", "boolean", nil),
    .value("one bit of a UUID", "uuid", .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17)))),
    .value("a URI's letter case", "uri", .uri("http://Example.com/a")),
    .value("a URI's escapes", "uri", .uri("http://example.com/%61")),
    .value("untyped: 1 to 1.0", "undefined", .double(1)), .value("untyped: 1 to true", "undefined", .boolean(true)),
    .value("untyped: 1 to \"1\"", "undefined", .string("1")),
    .links("a to-one moved", "one", ["three"]), .links("a to-one to a sub-entity's object", "one", ["sub"]),
    .links("a to-one gone", "one", []), .links("a to-one come", "none", ["one"]),
    .links("a to-many with one fewer", "many", ["two"]),
    .links("a to-many with one more", "many", ["two", "three", "sub"]),
    .links("a to-many with another", "many", ["three", "sub"]),
    .links("a to-many emptied", "many", []), .links("an order", "list", ["two", "three"]),
    .links("a list with one fewer", "list", ["three"]),
    GraphPlant(
      name: "an object more", names: "Thing/5 is not there",
      change: { $0.objects.append(.init(label: "new", entity: "Thing")) }),
    GraphPlant(
      name: "an object fewer", names: "Sub/4 is there",
      change: { graph in
        graph.objects.removeLast()
        graph.objects[0].links["many"] = ["two"]
      }),
    GraphPlant(
      name: "an object of another entity", names: "Sub/4 is there", change: { $0.objects[3].entity = "Thing" }),
    GraphPlant(
      name: "another reference", names: "Thing/1 is there", change: { _ in },
      references: { $0 == 0 ? .integer(9) : .integer(Int64($0) + 1) }),
    GraphPlant(
      name: "a text for a number as the reference", names: "Thing/1 is there", change: { _ in },
      references: { $0 == 0 ? .string("1") : .integer(Int64($0) + 1) }),
  ]

  static let names = ["one", "two", "three", "sub", "new"]

  static func text(_ graph: Graph, _ references: (Int) -> ReferenceObject = GraphPlant.counting) throws -> GraphText {
    var known: [String: String] = [:]
    for (place, object) in graph.objects.enumerated() {
      known[object.label] = GraphText.name(object.entity, references(place))
    }
    return try graph.text(known)
  }

  @Test("a planted difference is found and named, either way round", arguments: plants)
  func found(_ plant: GraphPlant) throws {
    var changed = Self.graph
    plant.change(&changed)
    let one = try Self.text(Self.graph)
    let other = try Self.text(changed, plant.references)
    let differences = one.differences(from: other)
    #expect(differences.contains { $0.expected.contains(plant.names) }, "\(differences)")
    #expect(differences.allSatisfy { $0.expected != $0.actual })
    #expect(!other.differences(from: one).isEmpty)
  }

  @Test("a planted difference is also found in a store that was written and reopened", arguments: plants)
  func foundInStores(_ plant: GraphPlant) throws {
    var changed = Self.graph
    plant.change(&changed)
    let folder = NSTemporaryDirectory() + "comparer-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let session = StoreSession(subject: TestedStore(type: XMLStore.self), folder: folder)
    try session.forge(Self.graph, to: folder + "/one.xml", references: GraphPlant.counting)
    try session.forge(changed, to: folder + "/other.xml", references: plant.references)
    let one = try session.read(folder + "/one.xml", Self.model)
    let other = try session.read(folder + "/other.xml", Self.model)
    #expect(one.differences(from: other).contains { $0.expected.contains(plant.names) })
    // What was asked for is what is there: a store is compared with a graph, not with another store.
    #expect(try Self.text(Self.graph).differences(from: one).isEmpty)
    #expect(try Self.text(changed, plant.references).differences(from: other).isEmpty)
  }

  @Test("at least forty differences are planted, each once")
  func enough() { #expect(Self.plants.count >= 40 && Set(Self.plants.map(\.name)).count == Self.plants.count) }

  @Test("graphs are equal regardless of the order of creation and of the order of sets")
  func equal() throws {
    let one = try Self.text(Self.graph)
    #expect(one.differences(from: one).isEmpty)
    var other = Self.graph
    other.objects[0].links["many"] = ["sub", "two"]
    #expect(try one.differences(from: Self.text(other)).isEmpty)
    other.objects.reverse()
    #expect(try one.differences(from: Self.text(other) { .integer(Int64(4 - $0)) }).isEmpty)
  }

  @Test("decimals that are numerically equal are distinguished by their digits")
  func decimals() throws {
    var other = Self.graph
    let short = DecimalNumber(mantissa: 15, exponent: -1)
    other.set("one", "decimal", .decimal(short))
    #expect(StoredValue.decimal(short) == .decimal(DecimalNumber(mantissa: 150, exponent: -2)))
    #expect(try !Self.text(Self.graph).differences(from: Self.text(other)).isEmpty)
  }

  @Test("references that look alike are distinguished")
  func references() throws {
    let all: [ReferenceObject] = [
      .integer(1), .string("1"), .string("+1"), .string("01"), .string("\"1\""), .string("1 | Thing/2"), .string("é"),
      .string("e\u{301}"),
      .string(""), .string("\""), .string("a|b"), .string("→ Thing/1"),
    ]
    #expect(Set(all.map { GraphText.Key(GraphText.name("Thing", $0)) }).count == all.count)
    // One member whose reference reads like two.
    let two = GraphText.value(
      .toMany([
        .init(entityName: "Thing", reference: .string("a")), .init(entityName: "Thing", reference: .string("b")),
      ]))
    let one = GraphText.value(.toMany([.init(entityName: "Thing", reference: .string("a | Thing/b"))]))
    #expect(one != two)
  }

  @Test("properties whose names are equal strings in Swift are two properties")
  func propertyNames() throws {
    var one = GraphText()
    var other = GraphText()
    one.objects[.init("Thing/1")] = [.init("é"): "string:x"]
    other.objects[.init("Thing/1")] = [.init("e\u{301}"): "string:x"]
    #expect(one.differences(from: other).count == 2)
    #expect(GraphText.Key("é") != GraphText.Key("e\u{301}"))
  }
}
