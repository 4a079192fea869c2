import AtomicStoreSPI
import Foundation
import StoreCoordination
import TestSupport
import Testing

@testable import StoreMigration

/// A migration in steps gives what one step from the first model to the last gives, and loses the same.
@Suite("Migration in steps") struct MigrationChainTests {
  // MARK: Random models

  /// A model that changes from version to version. A name that was removed does not come back, and a default stays:
  /// then the two ways mean the same.
  private struct Draft {
    struct Attribute {
      var name: String
      let original: String
      var type = AttributeType.integer64
      var defaultValue: StoredValue?
      var isOptional = true
    }
    struct Relationship {
      var name: String
      let original: String
      let destination: String
      var inverse: String?
      let isToMany: Bool
      let isOrdered: Bool
    }
    struct Entity {
      var name: String
      let original: String
      var parent: String?
      var attributes: [Attribute] = []
      var relationships: [Relationship] = []
    }
    /// By the original names, which renaming identifiers keep.
    var entities: [Entity] = []
    private var count = 0

    private mutating func newName(_ prefix: String) -> String {
      count += 1
      return "\(prefix)\(count)"
    }

    mutating func addEntity(_ random: inout SeededGenerator) {
      let name = newName("E")
      let parent = entities.filter { $0.parent == nil }.randomElement(using: &random)?.original
      entities.append(Entity(name: name, original: name, parent: Bool.random(using: &random) ? parent : nil))
      for _ in 0..<2 { addAttribute(to: entities.count - 1, &random) }
    }

    mutating func addAttribute(to index: Int, _ random: inout SeededGenerator) {
      let name = newName("a")
      var attribute = Attribute(name: name, original: name)
      attribute.type = [.integer64, .string, .double].randomElement(using: &random) ?? .string
      let values: [StoredValue] = attribute.type == .string ? [.string("d")] : []
      let number: StoredValue = attribute.type == .integer64 ? .integer(7) : .double(7.5)
      attribute.defaultValue = values.first ?? number
      switch Int.random(in: 0..<3, using: &random) {
      case 0: attribute.isOptional = false
      case 1: attribute.defaultValue = nil
      default: break
      }
      entities[index].attributes.append(attribute)
    }

    mutating func addRelationship(_ random: inout SeededGenerator) {
      guard let one = entities.indices.randomElement(using: &random),
        let other = entities.indices.randomElement(using: &random)
      else { return }
      let (name, inverse) = (newName("r"), newName("r"))
      let kind = Int.random(in: 0..<3, using: &random)
      entities[one].relationships.append(
        Relationship(
          name: name, original: name, destination: entities[other].original, inverse: inverse, isToMany: kind > 0,
          isOrdered: false))
      entities[other].relationships.append(
        Relationship(
          name: inverse, original: inverse, destination: entities[one].original, inverse: name, isToMany: kind > 1,
          isOrdered: kind > 1 && Bool.random(using: &random)))
    }

    mutating func change(_ random: inout SeededGenerator) {
      guard let index = entities.indices.randomElement(using: &random) else { return addEntity(&random) }
      let attribute = entities[index].attributes.indices.randomElement(using: &random)
      let relationship = entities[index].relationships.indices.randomElement(using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: addEntity(&random)
      case 1, 2: addAttribute(to: index, &random)
      case 3: addRelationship(&random)
      case 4: entities[index].name = newName("N")
      case 5, 6: if let attribute { entities[index].attributes[attribute].name = newName("n") }
      case 7, 8: if let attribute { entities[index].attributes.remove(at: attribute) }
      case 9: if let relationship { removeRelationship(index, relationship, bothEnds: Bool.random(using: &random)) }
      case 10: if entities.count > 1 { removeEntity(index) }
      default:
        // Nulls are replaced by a default that stays.
        guard let attribute, entities[index].attributes[attribute].defaultValue != nil else { return }
        entities[index].attributes[attribute].isOptional = false
      }
    }

    private mutating func removeRelationship(_ index: Int, _ number: Int, bothEnds: Bool) {
      let removed = entities[index].relationships.remove(at: number)
      for other in entities.indices where entities[other].original == removed.destination {
        for place in entities[other].relationships.indices.reversed()
        where entities[other].relationships[place].original == removed.inverse {
          if bothEnds {
            entities[other].relationships.remove(at: place)
          } else {
            entities[other].relationships[place].inverse = nil
          }
        }
      }
    }

    private mutating func removeEntity(_ index: Int) {
      let name = entities[index].original
      guard !entities.contains(where: { $0.parent == name }) else { return }
      entities.remove(at: index)
      for other in entities.indices { entities[other].relationships.removeAll { $0.destination == name } }
    }

    func model() throws -> ManagedObjectModel {
      func description(_ entity: Entity) -> EntityDescription {
        let attributes = entity.attributes.map { attribute in
          PropertyDescription.attribute(
            AttributeDescription(
              name: attribute.name, type: attribute.type, isOptional: attribute.isOptional,
              defaultValue: attribute.defaultValue, renamingIdentifier: attribute.original))
        }
        let relationships = entity.relationships.map { relationship in
          PropertyDescription.relationship(
            RelationshipDescription(
              name: relationship.name,
              destinationEntityName: entities.first { $0.original == relationship.destination }?.name ?? "",
              inverseName: relationship.inverse, maximumCount: relationship.isToMany ? 0 : 1,
              isOrdered: relationship.isOrdered, renamingIdentifier: relationship.original))
        }
        return EntityDescription(
          name: entity.name, properties: attributes + relationships,
          subentities: entities.filter { $0.parent == entity.original }.map(description),
          renamingIdentifier: entity.original)
      }
      return try ManagedObjectModel(
        ModelDescription(entities: entities.filter { $0.parent == nil }.map(description)))
    }
  }

  private static func nodes(_ model: ManagedObjectModel, _ random: inout SeededGenerator) throws -> NodeTable {
    var nodes = NodeTable(model: model)
    var number: Int64 = 0
    for entity in model.entities {
      for _ in 0..<Int.random(in: 0..<5, using: &random) {
        number += 1
        let node = try nodes.addCacheNode(entity: entity.index, reference: .integer(number))
        for slot in entity.slots {
          guard let type = slot.attributeType, !slot.isOptional || Bool.random(using: &random) else { continue }
          let value: StoredValue =
            switch type {
            case .integer64: .integer(Int64.random(in: 0..<9, using: &random))
            case .double: .double(Double.random(in: 0..<9, using: &random))
            default: .string("s\(number)")
            }
          try nodes.set(value, slot: slot.index, of: node)
        }
      }
    }
    for entity in model.entities {
      for slot in entity.slots where !slot.isToMany && slot.isRelationship {
        for node in nodes.handles(of: entity.index) where Bool.random(using: &random) {
          try link(slot, node, &nodes, &random)
        }
      }
    }
    return nodes
  }

  /// Sets a to-one and its other end, where both are free.
  private static func link(
    _ slot: Slot, _ node: NodeHandle, _ nodes: inout NodeTable, _ random: inout SeededGenerator
  ) throws {
    guard let destination = slot.destination.map({ nodes.model.entity(at: $0) }), let inverse = slot.inverseSlot,
      let target = destination.hierarchy.flatMap({ nodes.handles(of: $0.index) }).randomElement(using: &random),
      nodes.value(slot: slot.index, of: node).isNull
    else { return }
    let (here, there) = (nodes.objectReference(of: node), nodes.objectReference(of: target))
    if destination.slots[inverse].isToMany {
      let list: [ObjectReference] =
        if case .toMany(let list) = nodes.value(slot: inverse, of: target) { list } else { [] }
      try nodes.set(.toMany(list + [here]), slot: inverse, of: target)
    } else {
      guard nodes.value(slot: inverse, of: target).isNull, node != target || slot.index == inverse else { return }
      try nodes.set(.toOne(here), slot: inverse, of: target)
    }
    try nodes.set(.toOne(there), slot: slot.index, of: node)
  }

  // MARK: Comparing

  private enum Outcome: Equatable {
    case migrated([String], losses: Set<Loss>)
    case wouldLose
    case refused
  }

  private static func outcome(
    _ nodes: NodeTable, _ models: [ManagedObjectModel], allowsLoss: Bool
  ) throws -> Outcome {
    var plan = MigrationPlan(models.map { .inferred(to: $0) })
    plan.allowsLoss = allowsLoss
    do {
      let result = try StoreMigrator(plan).migrate(nodes, store: UUID())
      return .migrated(text(result.nodes), losses: Set(result.steps.flatMap(\.losses)))
    } catch let error as MigrationError {
      return error.obstacles.isEmpty ? .wouldLose : .refused
    }
  }

  private static func text(_ nodes: NodeTable) -> [String] {
    nodes.model.entities.flatMap { entity in
      nodes.handles(of: entity.index).map { node in
        let values = entity.slots.map { slot -> String in
          let value = nodes.value(slot: slot.index, of: node)
          guard case .toMany(let list) = value else { return "\(slot.name)=\(value.displayText)" }
          let names = list.map { "\($0)" }
          return "\(slot.name)=\(slot.isOrdered ? names : names.sorted())"
        }
        return "\(nodes.objectReference(of: node)) \(values.sorted())"
      }
    }.sorted()
  }

  @Test("random versions of a model: the steps give the result and the losses of one step", arguments: [UInt64](1...60))
  func chain(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var draft = Draft()
    for _ in 0..<3 { draft.addEntity(&random) }
    for _ in 0..<3 { draft.addRelationship(&random) }
    let first = try draft.model()
    let nodes = try Self.nodes(first, &random)
    var versions: [ManagedObjectModel] = []
    for _ in 0..<Int.random(in: 2...4, using: &random) {
      for _ in 0..<Int.random(in: 1...4, using: &random) { draft.change(&random) }
      versions.append(try draft.model())
    }
    let last = try #require(versions.last)
    for allowsLoss in [true, false] {
      let direct = try Self.outcome(nodes, [last], allowsLoss: allowsLoss)
      let chain = try Self.outcome(nodes, versions, allowsLoss: allowsLoss)
      // What one step could not infer, several may.
      guard direct != .refused, chain != .refused else { continue }
      #expect(chain == direct, "allows loss: \(allowsLoss)")
    }
  }

  // MARK: Examples

  private static func model(_ properties: PropertyDescription...) throws -> ManagedObjectModel {
    try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "E", properties: properties)]))
  }

  private static func source() throws -> NodeTable {
    var nodes = NodeTable(model: try model(.attribute("name", .string), .attribute("nick", .string)))
    let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    try nodes.setValue(.string("Ada"), forKey: "name", of: node)
    try nodes.setValue(.string("A"), forKey: "nick", of: node)
    return nodes
  }

  @Test("a value that a step added is not a loss of a later one, also where it replaced a null")
  func addedAndRemoved() throws {
    let profits = PropertyDescription.attribute(
      AttributeDescription(name: "profits", type: .decimal, defaultValue: .decimal(DecimalNumber(0))))
    let (name, nick) = (PropertyDescription.attribute("name", .string), PropertyDescription.attribute("nick", .string))
    let plan = MigrationPlan([
      .inferred(to: try Self.model(name, nick, profits)), .inferred(to: try Self.model(name, nick)),
    ])
    let result = try StoreMigrator(plan).migrate(try Self.source(), store: UUID())
    #expect(result.nodes.count == 1 && result.steps.flatMap(\.losses).isEmpty)
  }

  @Test("a property that was renamed and then removed is a loss with its name in the source")
  func renamedAndRemoved() throws {
    let alias = PropertyDescription.attribute(
      AttributeDescription(name: "alias", type: .string, renamingIdentifier: "nick"))
    let plan = MigrationPlan([
      .inferred(to: try Self.model(.attribute("name", .string), alias)),
      .inferred(to: try Self.model(.attribute("name", .string)), name: "third"),
    ])
    let error = try #require(throws: MigrationError.self) {
      _ = try StoreMigrator(plan).migrate(try Self.source(), store: UUID())
    }
    #expect(error.losses.map(\.description) == ["attribute-dropped: E.nick, 1 time, first E/1"])
    #expect(error.step == "third")
  }

  @Test(
    "what a handler or an expression made of values is a loss if a later step removes it", arguments: [true, false])
  func computedAndRemoved(_ byHandler: Bool) throws {
    let whole = try Self.model(.attribute("whole", .string))
    let first: MigrationPlan.Stage =
      byHandler
      ? .custom(to: whole) { old, new in
        for node in new.handles(ofEntity: "E") { try new.setValue(.string("Ada A"), forKey: "whole", of: node) }
      }
      : .mapped(
        to: whole, by: MappingFile(entities: ["E": .init(properties: ["whole": .init(expression: "name + nick")])]))
    let plan = MigrationPlan([first, .inferred(to: try Self.model(.attribute("x", .string)))])
    let error = try #require(throws: MigrationError.self) {
      _ = try StoreMigrator(plan).migrate(try Self.source(), store: UUID())
    }
    #expect(error.losses.map(\.subject) == (byHandler ? ["E.whole"] : ["E.name", "E.nick"]))
  }

  /// One person whose pet does not name him back, and two relationships that do not belong together.
  private static func contradicting() throws -> NodeTable {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [.toMany("pets", "Pet", inverse: "owner"), .toOne("best", "Pet")]),
        EntityDescription(
          name: "Pet", properties: [.toOne("owner", "Person", inverse: "pets"), .toOne("friend", "Person")]),
      ]))
    var nodes = NodeTable(model: model)
    let (person, pet) = (
      ObjectReference(entityName: "Person", reference: .integer(1)),
      ObjectReference(entityName: "Pet", reference: .integer(1))
    )
    for object in [person, pet] {
      let entity = try #require(model.entity(named: object.entityName))
      _ = try nodes.addCacheNode(entity: entity.index, reference: object.reference)
    }
    let node = try #require(nodes.handle(for: person))
    try nodes.setValue(.toMany([pet]), forKey: "pets", of: node)
    try nodes.setValue(.toOne(pet), forKey: "best", of: node)
    return nodes
  }

  @Test("a contradiction of the source is kept, and none is added to it", arguments: [true, false])
  func contradictions(_ addsOne: Bool) throws {
    let inverse = addsOne ? ("friend", "best") as (String?, String?) : (nil, nil)
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Human",
          properties: [.toMany("pets", "Pet", inverse: "owner"), .toOne("best", "Pet", inverse: inverse.0)],
          renamingIdentifier: "Person"),
        EntityDescription(
          name: "Pet",
          properties: [.toOne("owner", "Human", inverse: "pets"), .toOne("friend", "Human", inverse: inverse.1)]),
      ]))
    let nodes = try Self.contradicting()
    func migrated() throws -> NodeTable {
      try StoreMigrator(MigrationPlan([.inferred(to: model)])).migrate(nodes, store: UUID()).nodes
    }
    guard addsOne else {
      #expect(try migrated().inverseDisagreements().count == 1)
      return
    }
    #expect {
      _ = try migrated()
    } throws: {
      ($0 as? PersistentStoreError)?.code == .inverseMismatch
    }
  }
}
