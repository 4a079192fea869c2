import AtomicStoreSPI
import Foundation
import StoreCoordination
import StorePredicates
import TestSupport
import Testing

@testable import StoreMigration

/// Graphs with every kind of slot, of a model and of one that has other names, fewer and more properties.
private struct MigratedGraphs {
  var generator: SeededGenerator

  static let types: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable,
  ]

  /// A value of each type, which is also the default value of a new attribute.
  static func sample(_ type: AttributeType, _ number: Int) -> StoredValue {
    switch type {
    case .integer16, .integer32, .integer64: .integer(Int64(number * 7 - 3))
    case .decimal: .decimal(DecimalNumber(mantissa: UInt128(15 + number), exponent: -1))
    case .double: .double([0, -0.0, 1.5, .infinity][number % 4])
    case .float: .float([0, -0.0, 1.5, 2][number % 4])
    case .string: .string(["plain", "", "é", "e\u{301}"][number % 4])
    case .boolean: .boolean(number % 2 == 0)
    case .date: .date(Date(timeIntervalSinceReferenceDate: [0, 0.1, 1e9, -5][number % 4]))
    case .binaryData, .transformable: .data([Data([7]), Data(), Data([0]), Data([1, 2, 3])][number % 4])
    case .uuid: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(number))))
    case .uri: .uri("http://example/\(number)")
    default: [.integer(1), .double(1), .string("1"), .boolean(true)][number % 4]
    }
  }

  private static func attribute(
    _ name: String, _ type: AttributeType, was: String? = nil, isOptional: Bool = true, value: StoredValue? = nil
  ) -> PropertyDescription {
    .attribute(
      AttributeDescription(
        name: name, type: type, isOptional: isOptional, defaultValue: value, renamingIdentifier: was))
  }

  private static func relationship(
    _ name: String, _ destination: String, inverse: String? = nil, many: Bool = false, ordered: Bool = false,
    was: String? = nil
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: many ? 0 : 1,
        isOrdered: ordered, renamingIdentifier: was))
  }

  static func old() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Thing",
          properties: types.map { attribute("\($0)", $0) } + [
            attribute("gone", .string), attribute("gap", .string), relationship("one", "Thing"),
            relationship("list", "Thing", many: true, ordered: true), relationship("maybe", "Thing", many: true),
            relationship("boss", "Thing", inverse: "staff"),
            relationship("staff", "Thing", inverse: "boss", many: true), relationship("other", "Other"),
          ], subentities: [EntityDescription(name: "Sub")]),
        EntityDescription(name: "Other", properties: [relationship("thing", "Thing")]),
      ]))
  }

  /// - Parameter keepsSub: Whether the sub-entity is still there.
  static func new(keepsSub: Bool) throws -> ManagedObjectModel {
    var thing = EntityDescription(
      name: "Article",
      properties: types.map { attribute("\($0) 2", $0, was: "\($0)") }
        + types.filter { $0 != .undefined && $0 != .transformable }.map {
          attribute("new \($0)", $0, value: sample($0, 4))
        } + [
          attribute("gap", .string, isOptional: false, value: .string("filled")),
          relationship("ones", "Article", many: true, was: "one"),
          relationship("list", "Article", many: true, ordered: true),
          relationship("maybe", "Article", many: true, ordered: true),
          relationship("boss", "Article", inverse: "staff"),
          relationship("staff", "Article", inverse: "boss", many: true), relationship("other", "Other"),
        ])
    thing.renamingIdentifier = "Thing"
    if keepsSub { thing.subentities = [EntityDescription(name: "Sub")] }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        thing, EntityDescription(name: "Other", properties: [relationship("thing", "Article")]),
      ]))
  }

  mutating func graph() throws -> NodeTable {
    var nodes = NodeTable(model: try Self.old())
    for entity in nodes.model.entities {
      for number in 0..<Int64.random(in: 0..<90, using: &generator) {
        let isText = Int.random(in: 0..<3, using: &generator) == 0
        let reference: ReferenceObject =
          isText ? .string("\(entity.name) \(number)") : .integer(Int64(entity.index) * 1000 + 7 * (100 - number))
        _ = try nodes.addCacheNode(entity: entity.index, reference: reference)
      }
    }
    let things = try ["Thing", "Sub"].flatMap { nodes.handles(of: try #require(nodes.model.entity(named: $0)).index) }
    let others = nodes.handles(of: try #require(nodes.model.entity(named: "Other")).index)
    var staff: [NodeHandle: [ObjectReference]] = [:]
    for node in things + others {
      let entity = nodes.model.entity(at: node.entity)
      for slot in entity.slots where slot.name != "staff" && Int.random(in: 0..<4, using: &generator) > 0 {
        let targets = slot.name == "other" ? others : things
        if let type = slot.attributeType {
          try nodes.set(Self.sample(type, Int.random(in: 0..<4, using: &generator)), slot: slot.index, of: node)
        } else if slot.isToMany {
          let members = Set((0..<3).compactMap { _ in targets.randomElement(using: &generator) }).map {
            nodes.objectReference(of: $0)
          }
          try nodes.set(.toMany(members.sorted { "\($0)" < "\($1)" }), slot: slot.index, of: node)
        } else if let target = targets.randomElement(using: &generator) {
          try nodes.set(.toOne(nodes.objectReference(of: target)), slot: slot.index, of: node)
          if slot.name == "boss" { staff[target, default: []].append(nodes.objectReference(of: node)) }
        }
      }
    }
    for (node, list) in staff { try nodes.setValue(.toMany(list), forKey: "staff", of: node) }
    return nodes
  }
}

@Suite("Migrating whole columns") struct ColumnMigrationTests {
  /// What a property is after the migration, by its value before and the names alone.
  private static func expected(_ old: NodeTable, _ node: NodeHandle, _ name: String, keepsSub: Bool) -> StoredValue? {
    func renamed(_ object: ObjectReference) -> ObjectReference? {
      if object.entityName == "Sub", !keepsSub { return nil }
      let name = object.entityName == "Thing" ? "Article" : object.entityName
      return ObjectReference(entityName: name, reference: object.reference)
    }
    if name.hasPrefix("new "), let type = MigratedGraphs.types.first(where: { "new \($0)" == name }) {
      return MigratedGraphs.sample(type, 4)
    }
    let before = name == "ones" ? "one" : name.hasSuffix(" 2") ? String(name.dropLast(2)) : name
    switch old.value(forKey: before, of: node) {
    case .null where name == "gap": return .string("filled")
    case .null where name == "ones": return .toMany([])
    case .toOne(let object):
      guard let found = renamed(object) else { return name == "ones" ? .toMany([]) : .null }
      return name == "ones" ? .toMany([found]) : .toOne(found)
    case .toMany(let list): return .toMany(list.compactMap(renamed))
    case let value: return value
    }
  }

  @Test(
    "random graphs are what their values are one by one, with new names, and the source is as it was",
    arguments: (0..<40).share(of: "migrations by columns"), [true, false])
  func random(_ seed: Int, _ keepsSub: Bool) throws {
    var graphs = MigratedGraphs(generator: SeededGenerator(seed: UInt64(seed)))
    let old = try graphs.graph()
    let before = Self.values(old)
    var plan = MigrationPlan([.inferred(to: try MigratedGraphs.new(keepsSub: keepsSub))])
    plan.allowsLoss = true
    var new = try StoreMigrator(plan).migrate(old, store: UUID()).nodes
    var count = 0
    for entity in old.model.entities where keepsSub || entity.name != "Sub" {
      for node in old.handles(of: entity.index) {
        let name = entity.name == "Thing" ? "Article" : entity.name
        let object = ObjectReference(entityName: name, reference: old.reference(of: node))
        let twin = try #require(new.handle(for: object), "\(object)")
        #expect(new.objectReference(of: twin) == object)
        for slot in new.model.entity(at: twin.entity).slots {
          let wanted = try #require(Self.expected(old, node, slot.name, keepsSub: keepsSub))
          let found = new.value(slot: slot.index, of: twin)
          #expect(found.isIdentical(to: wanted), "\(object).\(slot.name): \(found), not \(wanted)")
        }
        count += 1
      }
    }
    #expect(new.count == count)
    // Columns are shared, and stay apart: what is set in one graph is not in the other.
    let article = try #require(new.model.entity(named: "Article"))
    for node in new.handles(of: article.index) {
      for slot in article.slots where slot.attributeType != nil { try new.set(.null, slot: slot.index, of: node) }
    }
    #expect(zip(Self.values(old), before).allSatisfy { $0.isIdentical(to: $1) })
  }

  /// Expressions of the source's objects: copies, calculations over columns, and all else.
  private static let expressions: [(text: String, type: AttributeType)] = [
    ("string", .string), ("decimal", .decimal), ("undefined", .undefined), ("transformable", .transformable),
    ("boss.double", .double), ("integer16", .integer64), ("uuid", .uuid), ("$source.date", .date),
    ("integer32 + 1", .integer64), ("integer16 * 2 - boss.integer16", .integer64), ("decimal * 2", .decimal),
    ("decimal + integer64", .decimal), ("float / 2", .double), ("integer32 * 0.1", .decimal),
    ("integer32 * 0.1", .double), ("length:(string) + 1", .integer64), ("modulus:by:(integer64, 7)", .integer64),
    ("string + ' ' + boss.string", .string), ("uppercase:(string)", .string), ("coalesce:(gap, string)", .string),
    ("TERNARY(boolean == YES, string, gap)", .string), ("year:(date)", .integer64), ("date + 60", .date),
    ("SUBQUERY(staff, $x, $x.integer16 > $source.integer16).@count", .integer64), ("maybe.@count", .integer16),
    ("max:(list.integer32)", .integer64), ("other.thing.string", .string),
  ]

  @Test("expressions of a mapping file have the values that they have on one object after the other", arguments: 0..<10)
  func expressions(_ seed: UInt64) throws {
    var graphs = MigratedGraphs(generator: SeededGenerator(seed: seed + 500))
    let old = try graphs.graph()
    var thing = try #require(old.model.description.entities.first { $0.name == "Thing" })
    let store = UUID()
    var rules: [String: MappingFile.Property] = [:]
    var expected: [(name: String, values: [NodeHandle: StoredValue])] = []
    let nodes = try ["Thing", "Sub"].flatMap { old.handles(of: try #require(old.model.entity(named: $0)).index) }
    for (number, (text, type)) in Self.expressions.enumerated() {
      let expression = try FetchExpression(format: text)
      var values: [NodeHandle: StoredValue] = [:]
      for node in nodes {
        let subject = NodeSubject(old, node, store: store)
        let evaluator = PredicateEvaluator(subject, variables: ["source": .object(subject)])
        guard case .value(let value) = try evaluator.value(of: expression, for: type) else { continue }
        values[node] = value
      }
      let name = "e\(number)"
      thing.properties.append(.attribute(AttributeDescription(name: name, type: type)))
      rules[name] = .init(expression: text)
      expected.append((name, values))
    }
    #expect(expected.count == Self.expressions.count)
    var description = old.model.description
    description.entities = description.entities.map { $0.name == "Thing" ? thing : $0 }
    let plan = MigrationPlan([
      .mapped(to: try ManagedObjectModel(description), by: MappingFile(entities: ["Thing": .init(properties: rules)]))
    ])
    let new = try StoreMigrator(plan).migrate(old, store: store).nodes
    for node in nodes {
      let twin = try #require(new.handle(for: old.objectReference(of: node)))
      for (name, values) in expected {
        let found = try #require(new.value(forKey: name, of: twin))
        let wanted = try #require(values[node])
        #expect(found.isIdentical(to: wanted), "\(name) of \(old.objectReference(of: node)): \(found), not \(wanted)")
      }
    }
  }

  private static func values(_ nodes: NodeTable) -> [StoredValue] {
    nodes.model.entities.flatMap { entity in
      nodes.handles(of: entity.index).flatMap { node in
        entity.slots.map { nodes.value(slot: $0.index, of: node) }
      }
    }
  }
}
