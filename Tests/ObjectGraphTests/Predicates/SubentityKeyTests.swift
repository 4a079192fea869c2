import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

/// A key that only a sub-entity has, asked of its super-entity: every path gives what plain Swift gives, whatever
/// objects there are.
@Suite("Keys of sub-entities") struct SubentityKeyTests {
  static func model() throws -> ManagedObjectModel {
    let manager = EntityDescription(
      name: "Manager",
      properties: [
        .attribute("level", .integer32), .attribute("title", .string), .attribute("home", .composite("Home")),
        .attribute("mood", .string, isTransient: true), .toMany("reports", "Person", inverse: "boss"),
        .toOne("deputy", "Manager", inverse: "deputyOf"), .toMany("deputyOf", "Manager", inverse: "deputy"),
      ], subentities: [EntityDescription(name: "Director", properties: [.attribute("bonus", .decimal)])])
    let person = EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string), .attribute("team", .integer16), .toOne("boss", "Manager", inverse: "reports"),
        .toOne("friend", "Person", inverse: "friendOf"), .toMany("friendOf", "Person", inverse: "friend"),
      ], subentities: [manager, EntityDescription(name: "Clerk", properties: [.attribute("desk", .string)])])
    return try ManagedObjectModel(
      ModelDescription(
        entities: [person],
        composites: [
          CompositeDescription(name: "Home", attributes: [AttributeDescription(name: "city", type: .string)])
        ]))
  }

  /// A predicate as text, and as it is computed here.
  struct Question: Sendable, CustomTestStringConvertible {
    let text: String
    let holds: @Sendable (ManagedObject) -> Bool
    init(_ text: String, _ holds: @escaping @Sendable (ManagedObject) -> Bool) {
      self.text = text
      self.holds = holds
    }
    var testDescription: String { text }
  }

  private static func value(_ object: ManagedObject?, _ key: String) -> Any? {
    guard let object, object.entity.property(named: key) != nil || key == "home.city" && key.isOf(object) else {
      return nil
    }
    return object[key]
  }
  private static func level(_ object: ManagedObject?) -> Int? { value(object, "level") as? Int }
  private static func friend(_ object: ManagedObject) -> ManagedObject? { object["friend"] as? ManagedObject }
  private static func reports(_ object: ManagedObject) -> [ManagedObject] {
    object.entity.property(named: "reports") == nil
      ? [] : (try? object.objects(forRelationshipNamed: "reports")) ?? []
  }
  private static func friends(_ object: ManagedObject) -> [ManagedObject] {
    (try? object.objects(forRelationshipNamed: "friendOf")) ?? []
  }

  static let questions = [
    Question("level == 3") { level($0) == 3 },
    Question("level != 3") { level($0) != 3 },
    Question("level == nil") { level($0) == nil },
    Question("level > 1 AND name != 'x'") { level($0).map { $0 > 1 } ?? false },
    Question("NOT level > 1") { !(level($0).map { $0 > 1 } ?? false) },
    Question("level + 1 == 4") { level($0) == 3 },
    Question("level BETWEEN {1, 2}") { level($0).map { 1...2 ~= $0 } ?? false },
    Question("level IN {3, nil}") { level($0) == 3 || level($0) == nil },
    Question("title BEGINSWITH[c] 'T'") { (value($0, "title") as? String)?.hasPrefix("t") ?? false },
    Question("title MATCHES 't[12]'") { ["t1", "t2"].contains(value($0, "title") as? String) },
    Question("bonus > 0.5 OR desk == 'd1'") {
      (value($0, "bonus") as? DecimalNumber).map { $0.doubleValue > 0.5 } ?? false
        || value($0, "desk") as? String == "d1"
    },
    Question("home == nil") { value($0, "home.city") == nil },
    Question("home.city == 'c1'") { value($0, "home.city") as? String == "c1" },
    Question("mood == nil") { value($0, "mood") == nil },
    Question("deputy == nil") { value($0, "deputy") == nil },
    Question("deputy.level >= 1") { level(value($0, "deputy") as? ManagedObject).map { $0 >= 1 } ?? false },
    Question("friend.level == 2") { level(friend($0)) == 2 },
    Question("friend.level != 2") { level(friend($0)) != 2 },
    Question("ANY reports.name == 'n1'") { reports($0).contains { $0["name"] as? String == "n1" } },
    Question("ALL reports.name == 'n1'") { reports($0).allSatisfy { $0["name"] as? String == "n1" } },
    Question("ANY reports.level == 1") { reports($0).contains { level($0) == 1 } },
    Question("reports.@count == 0") { reports($0).isEmpty },
    Question("reports.@sum.level > 1") { reports($0).compactMap { level($0) }.reduce(0, +) > 1 },
    Question("ANY friendOf.level > 1") { friends($0).contains { level($0).map { $0 > 1 } ?? false } },
    Question("SUBQUERY(friendOf, $f, $f.level == 2).@count > 0") { friends($0).contains { level($0) == 2 } },
  ]

  /// Which entities have objects, and in what state the context is.
  static let populations = [
    ["Manager"], ["Person"], ["Clerk", "Person"], ["Manager", "Person", "Clerk", "Director"], [],
  ]

  private func fill(_ context: ManagedObjectContext, _ entities: [String], _ random: inout SeededGenerator) throws {
    var objects: [ManagedObject] = []
    for number in 0..<(entities.isEmpty ? 0 : 24) {
      let object = try context.insertNewObject(forEntityName: entities[number % entities.count])
      try change(object, among: objects, &random)
      objects.append(object)
    }
  }

  private func change(
    _ object: ManagedObject, among objects: [ManagedObject], _ random: inout SeededGenerator
  ) throws {
    object["name"] = "n\(Int.random(in: 0..<3, using: &random))"
    object["team"] = Int.random(in: 0..<3, using: &random)
    if Bool.random(using: &random) { object["friend"] = objects.randomElement(using: &random) }
    let managers = objects.filter { $0.entity.property(named: "level") != nil }
    if Bool.random(using: &random) { object["boss"] = managers.randomElement(using: &random) }
    if object.entity.name == "Clerk" { object["desk"] = "d\(Int.random(in: 0..<2, using: &random))" }
    if object.entity.name == "Director" { object["bonus"] = DecimalNumber(Int64.random(in: 0..<2, using: &random)) }
    guard object.entity.property(named: "level") != nil, Int.random(in: 0..<5, using: &random) > 0 else { return }
    object["level"] = Int.random(in: 0..<4, using: &random)
    object["title"] = "t\(Int.random(in: 0..<4, using: &random))"
    object["home.city"] = "c\(Int.random(in: 0..<2, using: &random))"
    if Bool.random(using: &random) { object["deputy"] = managers.randomElement(using: &random) }
  }

  private func compare(_ context: ManagedObjectContext, _ state: String) throws {
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    for question in Self.questions {
      let expected = Set(all.filter(question.holds).map(\.objectID))
      var request = FetchRequest<ManagedObject>(
        entityName: "Person", predicate: try FetchPredicate(format: question.text))
      let place: Comment = "\(question.text), \(state)"
      #expect(Set(try context.fetch(request).map(\.objectID)) == expected, place)
      #expect(Set(try context.fetchObjectIDs(request)) == expected, place)
      #expect(try context.count(for: request) == expected.count, place)
      let predicate = try #require(request.predicate)
      #expect(Set(try predicate.filter(all).map(\.objectID)) == expected, place)
      request.propertiesToFetch = [FetchColumn("object", .evaluatedObject)]
      #expect(try context.fetchRows(request).count == expected.count, place)
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      try controller.performFetch()
      #expect(Set((controller.fetchedObjects ?? []).map(\.objectID)) == expected, place)
    }
    try compareRows(context, all, state)
  }

  /// Sort keys, columns, groups and sections of the key.
  private func compareRows(_ context: ManagedObjectContext, _ all: [ManagedObject], _ state: String) throws {
    let place: Comment = "\(state)"
    var sorted = FetchRequest<ManagedObject>(
      entityName: "Person", sortKeys: [SortKey("level", isAscending: false)])
    let levels = all.map { Self.level($0) ?? -1 }.sorted(by: >)
    #expect(try context.fetch(sorted).map { Self.level($0) ?? -1 } == levels, place)
    sorted.propertiesToFetch = ["level", "home.city", "friend.level"]
    let rows = try context.fetchRows(sorted)
    #expect(rows.map { $0["level"] as? Int ?? -1 } == levels, place)
    #expect(rows.filter { $0["home.city"] == nil }.count == all.filter { Self.value($0, "home.city") == nil }.count)
    var grouped = FetchRequest<ManagedObject>(entityName: "Person")
    grouped.propertiesToGroupBy = ["level"]
    grouped.propertiesToFetch = ["level", try FetchColumn(format: "@count", as: "count")]
    var counts: [Int: Int] = [:]
    for level in levels { counts[level, default: 0] += 1 }
    let found = try context.fetchRows(grouped).map { ($0["level"] as? Int ?? -1, $0["count"] as? Int ?? -1) }
    #expect(Dictionary(found) { $0 + $1 } == counts, place)
    grouped.propertiesToGroupBy = ["team"]
    grouped.propertiesToFetch = ["team", try FetchColumn(format: "sum:(level)", as: "sum")]
    let sums = try context.fetchRows(grouped).compactMap { $0["sum"] as? Int }
    #expect(sums.reduce(0, +) == levels.filter { $0 > 0 }.reduce(0, +), place)
    let controller = FetchedResultsController(
      fetchRequest: sorted, managedObjectContext: context, sectionNameKeyPath: "level")
    try controller.performFetch()
    #expect(controller.sections?.count == Set(levels).count, place)
  }

  @Test(
    "a fetch on the super-entity gives what plain code gives: columns, changes, child contexts, SQL, counts, sorts, rows",
    arguments: ["InMemory", "XML", "SQLiteGraph"], populations)
  func everyPath(_ type: String, _ entities: [String]) throws {
    let stack = try Stack(type, model: try Self.model())
    var random = SeededGenerator(seed: 36)
    try fill(stack.context, entities, &random)
    try compare(stack.context, "unsaved")
    try stack.context.save()
    try compare(stack.context, "saved")
    let other = ManagedObjectContext(stack.coordinator)
    try compare(other, "another context")
    let all = try other.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    for object in all where Int.random(in: 0..<4, using: &random) == 0 { try change(object, among: all, &random) }
    if let first = all.first { other.delete(first) }
    try compare(other, "changed")
    try compare(ManagedObjectContext(parent: other), "child")
  }

  @Test("batch requests accept such a key, whatever objects there are", arguments: ["InMemory", "SQLiteGraph"])
  func batches(_ type: String) throws {
    let stack = try Stack(type, model: try Self.model())
    for entity in ["Person", "Clerk", "Manager"] { _ = try stack.insert(entity, ["name": entity]) }
    for object in try stack.fetch("Manager") { object["level"] = 3 }
    try stack.context.save()
    let predicate = try FetchPredicate(format: "level == 3")
    let update = BatchUpdateRequest(entityName: "Person", predicate: predicate, propertiesToUpdate: ["name": "new"])
    _ = try stack.context.execute(update)
    stack.context.refreshAllObjects()
    #expect(try stack.fetch("Person").map { $0["name"] as? String }.filter { $0 == "new" }.count == 1)
    let others = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "level == nil"))
    _ = try stack.context.execute(BatchDeleteRequest(fetchRequest: others))
    #expect(
      try ManagedObjectContext(stack.coordinator).count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 1)
  }

  @Test(
    "a key that two sub-entities declare differently is refused, with and without objects", arguments: [false, true])
  func declaredTwice(_ hasObjects: Bool) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Part", properties: [.attribute("name", .string)],
          subentities: [
            EntityDescription(
              name: "Bolt",
              properties: [
                .attribute("size", .integer16), .attribute("mark", .string), .attribute("code", .string),
              ]),
            EntityDescription(
              name: "Box",
              properties: [
                .attribute("size", .double), .toMany("mark", "Part"), .attribute("code", .integer32),
              ]),
          ])
      ]))
    let stack = try Stack(model: model)
    if hasObjects {
      _ = try stack.insert("Bolt", ["size": 2])
      _ = try stack.insert("Box", ["size": 2.0])
      _ = try stack.insert("Part")
    }
    func fetch(_ text: String) throws -> Int {
      try stack.context.fetch(
        FetchRequest<ManagedObject>(entityName: "Part", predicate: try FetchPredicate(format: text))
      ).count
    }
    // Both are numbers.
    #expect(try fetch("size == 2") == (hasObjects ? 2 : 0))
    #expect {
      _ = try fetch("code + 1 > 2")
    } throws: {
      "\($0)".contains("'code' is a string of Bolt, but a number of Box")
    }
    #expect {
      _ = try fetch("mark == 'x'")
    } throws: {
      "\($0)".contains("'mark' is a string of Bolt, but a list of Box; fetch one of them")
    }
  }
}

extension String {
  /// Whether a part of the composite `home` belongs to the object.
  fileprivate func isOf(_ object: ManagedObject) -> Bool { object.entity.slot(named: self) != nil }
}
