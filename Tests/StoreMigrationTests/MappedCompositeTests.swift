import AtomicStoreSPI
import Foundation
import StoreCoordination
import Testing

@testable import StoreMigration

/// What a mapping file says of composite attributes and their parts.
@Suite("Composite attributes in mapping files") struct MappedCompositeTests {
  private static func attribute(_ name: String, _ type: AttributeType = .string, was: String? = nil)
    -> AttributeDescription
  { AttributeDescription(name: name, type: type, renamingIdentifier: was) }

  /// Persons with a composite attribute, which has a town and a composite of a number inside.
  private static func model(
    _ name: String = "address", _ city: AttributeDescription = attribute("city"),
    _ geo: AttributeDescription = attribute("geo", .composite("Geo")), beside: [PropertyDescription] = []
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(name: "Person", properties: [.attribute(name, .composite("Address"))] + beside)
        ],
        composites: [
          CompositeDescription(name: "Address", attributes: [city, geo]),
          CompositeDescription(name: "Geo", attributes: [attribute("lat", .double)]),
        ]))
  }

  private static func people() throws -> NodeTable {
    var nodes = NodeTable(model: try model())
    let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    try nodes.setValue(.string("Rome"), forKey: "address.city", of: node)
    try nodes.setValue(.double(1.5), forKey: "address.geo.lat", of: node)
    return nodes
  }

  private static func migrated(_ model: ManagedObjectModel, _ properties: String, drop: String = "") throws -> NodeTable
  {
    let text = #"{"entities": {"Person": {"properties": {\#(properties)}, "drop": [\#(drop)]}}}"#
    let file = try MappingFile(json: Array(text.utf8), name: "m.json")
    return try StoreMigrator(MigrationPlan([.mapped(to: model, by: file)])).migrate(people(), store: UUID()).nodes
  }

  private static func value(_ nodes: NodeTable, _ key: String) throws -> StoredValue? {
    nodes.value(forKey: key, of: try #require(nodes.handles(of: 0).first))
  }

  struct Renaming: CustomTestStringConvertible, Sendable {
    let rules: String
    let composite: String
    let city: AttributeDescription
    let geo: AttributeDescription
    let keys: [String]
    var testDescription: String { rules }
  }

  @Test(
    "a composite attribute, its parts, and a composite inside are named by what they were",
    arguments: [
      Renaming(
        rules: #""home": {"from": "address"}"#, composite: "home", city: attribute("city"),
        geo: attribute("geo", .composite("Geo")), keys: ["home.city", "home.geo.lat"]),
      Renaming(
        rules: #""home": {"from": "address"}"#, composite: "home", city: attribute("town", was: "city"),
        geo: attribute("spot", .composite("Geo"), was: "geo"), keys: ["home.town", "home.spot.lat"]),
      Renaming(
        rules: #""home": {"from": "address"}, "home.town": {"from": "address.city"}"#, composite: "home",
        city: attribute("town"), geo: attribute("geo", .composite("Geo")), keys: ["home.town", "home.geo.lat"]),
      Renaming(
        rules: #""address.town": {"from": "address.city"}, "address.spot": {"from": "address.geo"}"#,
        composite: "address", city: attribute("town"), geo: attribute("spot", .composite("Geo")),
        keys: ["address.town", "address.spot.lat"]),
      Renaming(
        rules: #""home.town": "address.city", "home.geo.lat": "address.geo.lat * 1.0""#, composite: "home",
        city: attribute("town"), geo: attribute("geo", .composite("Geo")), keys: ["home.town", "home.geo.lat"]),
    ])
  func renaming(_ case: Renaming) throws {
    let new = try Self.migrated(Self.model(`case`.composite, `case`.city, `case`.geo), `case`.rules)
    #expect(try `case`.keys.map { try Self.value(new, $0) } == [.string("Rome"), .double(1.5)])
  }

  @Test("a part that a rule for the whole does not find is new, and the one that is not taken is a loss")
  func lostPart() throws {
    let model = try Self.model("home", Self.attribute("town"))
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(model, #""home": {"from": "address"}"#)
    }
    #expect(error.losses.map(\.subject) == ["Person.address.city"])
    let new = try Self.migrated(model, #""home": {"from": "address"}"#, drop: #""address.city""#)
    #expect(try Self.value(new, "home.geo.lat") == .double(1.5) && Self.value(new, "home.town") == .null)
    let empty = try Self.migrated(model, "", drop: #""address""#)
    #expect(try Self.value(empty, "home.geo.lat") == .null)
  }

  @Test(
    "what cannot be said of a composite attribute is refused with its name",
    arguments: [
      (#""home": {"from": "adress"}"#, "home: the mapping file says that it was 'adress', which does not exist"),
      (#""home": "address""#, "give expressions and defaults for its parts, such as 'home.city'"),
      (#""home": {"default": "x"}"#, "give expressions and defaults for its parts, such as 'home.city'"),
      (#""name": {"from": "address"}"#, "is a composite attribute: name its parts, such as 'address.city'"),
      (#""home": {"from": "address.city"}"#, "'address.city', which is not a composite attribute"),
    ])
  func refused(_ rules: String, _ words: String) throws {
    let model = try Self.model("home", beside: [.attribute("name", .string)])
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(model, rules, drop: #""address""#)
    }
    #expect(error.obstacles.count == 1 && error.description.contains(words), "\(error)")
  }

  @Test("models are the same for a store if their version hashes are and what they store in composites")
  func sameModel() throws {
    let old = try Self.model()
    let renamed = try Self.model("address", Self.attribute("town", was: "city"))
    #expect(old.versionHashes == renamed.versionHashes && !renamed.isSame(as: old))
    let differences = renamed.differences(fromStoreOf: old).all
    #expect(
      differences.map(\.description) == [
        "Person.address.city: only in the store (not in the version hash)",
        "Person.address.town: only in the model (not in the version hash)",
      ])
    // A composite that is renamed is one property of the hash, whose parts are not listed again.
    let other = try Self.model("home").differences(fromStoreOf: old).all
    #expect(other.map(\.propertyName) == ["address", "home"] && other.allSatisfy(\.isInHash))
  }
}
