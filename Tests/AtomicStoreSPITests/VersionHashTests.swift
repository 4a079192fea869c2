import AtomicStoreSPI
import Foundation
import Testing

@Suite("Version hashes")
struct VersionHashTests {
  @Test("the hash of each entity is the one that Apple's software computed", arguments: try VersionHashVector.all())
  func vectors(_ vector: VersionHashVector) throws {
    let model = try vector.model()
    let entity = try #require(model.entity(named: vector.entity))
    #expect(model.versionHashes[vector.entity].map(VersionHashes.hexadecimal) == vector.hash)
    #expect(entity.versionHash == model.versionHashes[vector.entity])
    #expect(entity.unverifiedVersionHashRules == [])
  }

  @Test("all test vectors exist")
  func count() throws { #expect(try VersionHashVector.all().count >= 197) }

  /// A rule of the hash, broken.
  struct BrokenRule: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// How many of the vectors fail.
    var failures: Int
    var change: @Sendable (Entity, inout VersionHashInput) -> Void

    static func ofEach(
      _ name: String, failures: Int, _ change: @escaping @Sendable (inout VersionHashInput.Property) -> Void
    ) -> BrokenRule {
      BrokenRule(testDescription: name, failures: failures) { _, input in
        for index in input.properties.indices { change(&input.properties[index]) }
      }
    }
    static func ofRelationships(
      _ name: String, failures: Int,
      _ change: @escaping @Sendable (inout String, inout String?, inout UInt32, inout UInt32, inout Bool) -> Void
    ) -> BrokenRule {
      ofEach(name, failures: failures) { property in
        guard case .relationship(var destination, var inverse, var most, var least, var isOrdered) = property.kind
        else { return }
        change(&destination, &inverse, &most, &least, &isOrdered)
        property.kind = .relationship(
          destination: destination, inverse: inverse, maximumCount: most, minimumCount: least, isOrdered: isOrdered)
      }
    }
    static func ofAttributes(
      _ name: String, failures: Int, _ change: @escaping @Sendable (inout UInt32, inout Bool, inout Bool) -> Void
    ) -> BrokenRule {
      ofEach(name, failures: failures) { property in
        guard case .attribute(var type, var isExternal, var isPreserved) = property.kind else { return }
        change(&type, &isExternal, &isPreserved)
        property.kind = .attribute(type: type, isStoredExternally: isExternal, isPreservedOnDeletion: isPreserved)
      }
    }
  }

  static let brokenRules: [BrokenRule] = [
    .ofEach("the optional bit is left out", failures: 181) { $0.isOptional = false },
    .ofAttributes("the type is left out", failures: 193) { type, _, _ in type = 0 },
    .ofRelationships("the destination is left out", failures: 173) { destination, _, _, _, _ in destination = "" },
    .ofRelationships("the inverse is left out", failures: 170) { _, inverse, _, _, _ in inverse = nil },
    .ofRelationships("the maximum count is left out", failures: 145) { _, _, most, _, _ in most = 0 },
    .ofRelationships("the minimum count is left out", failures: 57) { _, _, _, least, _ in least = 0 },
    .ofRelationships("an absent bound counts as 0, written as -1 or not", failures: 2) { _, _, most, _, _ in
      most = most == .max ? 0 : most
    },
    .ofRelationships("the order is left out", failures: 5) { _, _, _, _, isOrdered in isOrdered = false },
    BrokenRule(testDescription: "transient properties count", failures: 5) { entity, input in
      for case .attribute(let attribute) in entity.properties where attribute.isTransient {
        input.properties.append(
          .init(
            name: attribute.name, isOptional: attribute.isOptional, modifier: "",
            kind: .attribute(
              type: attribute.type.versionHashNumber, isStoredExternally: false, isPreservedOnDeletion: false)))
      }
      input.properties.sort { ScalarString($0.name) < ScalarString($1.name) }
    },
    BrokenRule(testDescription: "the super-entity is left out", failures: 26) { _, input in input.superentityHash = []
    },
    BrokenRule(testDescription: "an abstract entity counts as a concrete one", failures: 7) { _, input in
      input.isAbstract = false
    },
    .ofEach("the modifier of a property is left out", failures: 4) { $0.modifier = "" },
    BrokenRule(testDescription: "uniqueness constraints are left out", failures: 46) { _, input in
      input.constraints = []
    },
    BrokenRule(testDescription: "constraints stay in their order", failures: 3) { entity, input in
      input.constraints = entity.declaration.uniquenessConstraints.map { $0.joined(separator: ".") }
    },
    BrokenRule(testDescription: "the names in a constraint are sorted", failures: 1) { entity, input in
      input.constraints = entity.declaration.uniquenessConstraints.map { $0.sorted().joined(separator: ".") }.sorted()
    },
    BrokenRule(testDescription: "inherited properties are left out", failures: 9) { entity, input in
      let own = Set(entity.declaration.properties.map { ScalarString($0.name) })
      input.properties.removeAll { !own.contains(ScalarString($0.name)) }
    },
    BrokenRule(testDescription: "properties are sorted without regard to case", failures: 5) { _, input in
      input.properties.sort { $0.name.lowercased() < $1.name.lowercased() }
    },
    .ofAttributes("external storage is left out", failures: 1) { _, isExternal, _ in isExternal = false },
    .ofAttributes("preservation on deletion is left out", failures: 1) { _, _, isPreserved in isPreserved = false },
    .ofEach("a derived attribute counts as any other", failures: 6) { property in
      if case .derived = property.kind {
        property.kind = .attribute(type: 300, isStoredExternally: false, isPreservedOnDeletion: false)
      }
    },
    .ofEach("the expression of a derived attribute is left out", failures: 6) { property in
      if case .derived = property.kind { property.kind = .derived(expression: "") }
    },
  ]

  @Test("each rule that is broken is caught by as many vectors as rest on it", arguments: brokenRules)
  func brokenRulesAreCaught(_ rule: BrokenRule) throws {
    let failures = try VersionHashVector.all().count { !(try $0.holds(changing: rule.change)) }
    #expect(failures == rule.failures)
    #expect(failures > 0)
  }

  // MARK: What the vectors do not reach

  private static func model(
    _ properties: [PropertyDescription], modifier: String? = nil, constraints: [[String]] = []
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "A", properties: properties, uniquenessConstraints: constraints, versionHashModifier: modifier),
        EntityDescription(name: "B"),
      ]))
  }
  private static let name = PropertyDescription.attribute("name", .string)

  @Test("the worked examples have the documented results")
  func examples() throws {
    let event = try Self.model([.attribute("timeStamp", .date)])
    // The entity's name counts as well, so that the example has its own.
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Event", properties: event.entity(at: 0).properties)]))
    #expect(VersionHashes.hexadecimal(try #require(model.versionHashes["Event"])).hasPrefix("5431c046d30e7f32"))
  }

  @Test("what is not stored data does not affect the hash")
  func doesNotCount() throws {
    let plain = try Self.model([Self.name])
    var attribute = AttributeDescription(name: "name", type: .string)
    attribute.defaultValue = .string("x")
    attribute.maximumLength = 3
    attribute.isIndexed = true
    attribute.renamingIdentifier = "old"
    attribute.userInfo = [UserInfoEntry(key: "k", value: "v")]
    let other = try Self.model([
      .attribute(attribute), .attribute("shown", .string, isTransient: true),
      .fetchedProperty(
        FetchedPropertyDescription(name: "found", fetchRequest: FetchRequestDescription(name: "f", entityName: "B"))),
    ])
    #expect(plain.versionHashes == other.versionHashes)
    #expect(other.versionHashDifferences(from: plain) == [])
  }

  @Test("the named inverse counts, even if another relationship is its inverse")
  func namedInverse() throws {
    func hashes(_ inverse: String?) -> Data? {
      let model = ManagedObjectModel(
        unchecked: ModelDescription(entities: [
          EntityDescription(
            name: "A",
            properties: [
              .toOne("b", "B", inverse: inverse)
            ]),
          EntityDescription(
            name: "B",
            properties: [
              .toOne("a", "A", inverse: "other")
            ]),
        ]))
      return model.versionHashes["A"]
    }
    #expect(hashes("a") != hashes(nil))
  }

  @Test("a hash that no vector confirms lists the rules it depends on")
  func unverified() throws {
    func rules(_ model: ManagedObjectModel) -> [String] { model.entities.flatMap(\.unverifiedVersionHashRules) }
    #expect(rules(try Self.model([Self.name], modifier: "2")) == [])
    #expect(rules(try Self.model([Self.name], modifier: "2", constraints: [["name"]])).count == 1)
    #expect(rules(try Self.model([.attribute("größe", .string)])).count == 1)
    let friend = RelationshipDescription(name: "friend", destinationEntityName: "A", inverseName: "friend")
    #expect(rules(try Self.model([.relationship(friend)])) == ["relationship 'friend' is its own inverse"])
    var derived = AttributeDescription(name: "sum", type: .integer64, derivationExpression: "count:(x)")
    #expect(rules(try Self.model([.attribute(derived)])) == [])
    derived.extras = [.attribute(name: "filteringPredicate", value: "x > 1")]
    #expect(rules(try Self.model([.attribute(derived)])).count == 1)
    let composite = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "A", properties: [.attribute("place", .composite("Place"))],
            subentities: [EntityDescription(name: "Below")])
        ],
        composites: [CompositeDescription(name: "Place", attributes: [AttributeDescription(name: "x", type: .double)])])
    )
    // An entity below rests on what its super-entity rests on.
    #expect(rules(composite).count == 2)
  }

  @Test("a store of a configuration matches the model, and another one lists the differences")
  func differences() throws {
    var description = try Self.model([Self.name]).description
    description.configurations = [ConfigurationDescription(name: "Small", entityNames: ["B"])]
    let model = try ManagedObjectModel(description)
    let small = try #require(model.versionHashes(forConfiguration: "Small"))
    #expect(small.entries.map(\.entityName) == ["B"])
    #expect(model.versionHashDifferences(from: small) == [])
    #expect(model.versionHashDifferences(from: small, configuration: "Small") == [])
    #expect(model.versionHashes(forConfiguration: "None") == nil)

    let other = try Self.model([.attribute("name", .integer16, isOptional: false)])
    let found = other.versionHashDifferences(from: model)
    #expect(found.map(\.description) == ["A.name: String → Integer 16", "A.name: optional → required"])
    #expect(other.versionHashDifferences(from: model.versionHashes).map(\.description) == ["A: the hash differs"])
    let missing = VersionHashes([])
    #expect(
      other.versionHashDifferences(from: missing).map(\.description) == [
        "A: only in the model", "B: only in the model",
      ])
  }

  @Test("digest and checksum are those of a real store")
  func digests() {
    // One entity of a store that both were read from.
    let hashes = VersionHashes([.init(entityName: "B", hash: Data([1])), .init(entityName: "A", hash: Data([2]))])
    #expect(hashes.entries.map(\.entityName) == ["A", "B"])
    #expect(hashes.digest == Data(SHA2.sha512([0x41, 2, 0x42, 1] as [UInt8])).base64EncodedString())
    #expect(hashes.checksum == Data(SHA2.sha256([2, 1] as [UInt8])).base64EncodedString())
    #expect(hashes["A"] == Data([2]) && hashes["C"] == nil)
    #expect(VersionHashes(metadata: [VersionHashes.metadataKey: hashes.propertyList]) == hashes)
    #expect(VersionHashes(metadata: [:]) == nil)
  }
}
