import AtomicStoreSPI
import Foundation
import StoreCoordination
import TestSupport
import Testing

@testable import StoreMigration

@Suite("Derived attributes of migrated stores") struct DerivedMigrationTests {
  private static func migrated(_ nodes: NodeTable, _ entity: EntityDescription) throws -> NodeTable {
    var stage = MigrationPlan.Stage.inferred(
      to: try ManagedObjectModel(ModelDescription(entities: [entity])))
    stage.options.convertsTypes = true
    return try StoreMigrator(MigrationPlan([stage])).migrate(nodes, store: UUID()).nodes
  }

  private static func derived(_ name: String, _ type: AttributeType, _ expression: String) -> PropertyDescription {
    .attribute(AttributeDescription(name: name, type: type, derivationExpression: expression))
  }

  @Test("new derivations, other ones, derived ones of derived ones and those of replaced values are computed")
  func computed() throws {
    let old = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("name", .string), .attribute("age", .integer16),
            Self.derived("search", .string, "canonical:(name)"),
            Self.derived("next", .integer64, "age + 1"), Self.derived("changed", .date, "now()"),
          ])
      ]))
    var nodes = NodeTable(model: old)
    let time = StoredValue.date(Date(timeIntervalSinceReferenceDate: 5))
    for (number, name, age) in [(Int64(1), "Ada", Int64(36)), (2, "Éve", nil as Int64?)] {
      let node = try nodes.addCacheNode(entity: 0, reference: .integer(number))
      try nodes.setValue(.string(name), forKey: "name", of: node)
      try nodes.setValue(age.map { .integer($0) } ?? .null, forKey: "age", of: node)
      try nodes.setValue(.string(name.lowercased()), forKey: "search", of: node)
      try nodes.setValue(age.map { .integer($0 + 1) } ?? .null, forKey: "next", of: node)
      try nodes.setValue(time, forKey: "changed", of: node)
    }
    let new = try Self.migrated(
      nodes,
      EntityDescription(
        name: "Person",
        properties: [
          .attribute("name", .string),
          .attribute(AttributeDescription(name: "age", type: .integer16, isOptional: false, defaultValue: .integer(7))),
          Self.derived("search", .string, "uppercase:(name)"), Self.derived("next", .integer64, "age + 1"),
          Self.derived("afterNext", .integer64, "next + 1"), Self.derived("changed", .date, "now()"),
        ]))
    for (number, search, next) in [(Int64(1), "ADA", Int64(37)), (2, "ÉVE", 8)] {
      let node = try #require(new.handle(for: ObjectReference(entityName: "Person", reference: .integer(number))))
      #expect(new.value(forKey: "search", of: node) == .string(search))
      #expect(new.value(forKey: "next", of: node) == .integer(next))
      #expect(new.value(forKey: "afterNext", of: node) == .integer(next + 1))
      #expect(new.value(forKey: "changed", of: node) == time, "a migration is not a change of the object")
    }
  }

  @Test("a migration does not add a uniqueness constraint that objects break, and keeps what broke it before")
  func newConstraint() throws {
    let properties: [PropertyDescription] = [.attribute("k", .string), .attribute("v", .string)]
    func nodes(_ entity: EntityDescription) throws -> NodeTable {
      var nodes = NodeTable(model: try ManagedObjectModel(ModelDescription(entities: [entity])))
      for (number, k) in [(Int64(1), "a"), (2, "a"), (3, "b")] {
        let node = try nodes.addCacheNode(entity: 0, reference: .integer(number))
        try nodes.setValue(.string(k), forKey: "k", of: node)
        try nodes.setValue(.string("\(number)"), forKey: "v", of: node)
      }
      return nodes
    }
    let unique = EntityDescription(name: "P", properties: properties, uniquenessConstraints: [["k"]])
    do {
      _ = try Self.migrated(try nodes(EntityDescription(name: "P", properties: properties)), unique)
      Issue.record("the constraint was accepted")
    } catch let error as MigrationError {
      #expect(error.obstacles.map(\.entityName) == ["P"] && error.obstacles.first?.propertyName == "k")
      #expect(error.obstacles.first?.objectCount == 2)
    }
    let more = EntityDescription(
      name: "P", properties: properties + [.attribute("w", .string)], uniquenessConstraints: [["k"]])
    #expect(try Self.migrated(try nodes(unique), more).count == 3)
    let renamed = EntityDescription(
      name: "P",
      properties: [.attribute(AttributeDescription(name: "key", type: .string, renamingIdentifier: "k"))]
        + properties.dropFirst(), uniquenessConstraints: [["key"]])
    #expect(try Self.migrated(try nodes(unique), renamed).count == 3)
    let pair = EntityDescription(name: "P", properties: properties, uniquenessConstraints: [["k", "v"]])
    #expect(try Self.migrated(try nodes(EntityDescription(name: "P", properties: properties)), pair).count == 3)
  }
}
