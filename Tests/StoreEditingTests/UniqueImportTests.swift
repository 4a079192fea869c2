import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import TestSupport
import Testing

/// JSON finds objects by every uniqueness constraint, however the text says what a relationship leads to.
@Suite("JSON by unique values") struct UniqueImportTests {
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Project",
      properties: [
        .attribute("key", .string), .attribute("name", .string), .toMany("issues", "Issue", inverse: "project"),
      ],
      uniquenessConstraints: [["key"]]),
    EntityDescription(
      name: "Issue",
      properties: [
        .attribute("number", .integer64), .attribute("title", .string), .attribute("code", .string),
        .attribute("status", .string, defaultValue: .string("open")),
        .toOne("project", "Project", inverse: "issues"), .toMany("steps", "Step", inverse: "issue"),
      ], subentities: [EntityDescription(name: "Bug", properties: [.attribute("severity", .integer16)])],
      uniquenessConstraints: [["project", "number"], ["code"]]),
    EntityDescription(
      name: "Step",
      properties: [
        .attribute("kind", .string, defaultValue: .string("planned")), .attribute("text", .string),
        .attribute("note", .string), .toOne("issue", "Issue", inverse: "steps"), .toOne("before", "Step"),
      ], uniquenessConstraints: [["issue", "kind"], ["before", "text"]]),
  ])

  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory("unique-import") }

  private func coordinator(_ type: String) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.model), registry: .builtIn)
    try coordinator.addPersistentStore(
      type: type, at: type == "InMemory" ? "memory:" : directory.path + "/store.\(type.lowercased())")
    return coordinator
  }

  private func insertIssue(_ context: ManagedObjectContext) throws {
    let project = try context.insertNewObject(forEntityName: "Project")
    project["key"] = "A"
    let issue = try context.insertNewObject(forEntityName: "Issue")
    for (key, value) in ["number": 4, "project": project, "status": "closed", "code": "A-4", "title": "old"]
      as [String: Any]
    { issue[key] = value }
    try context.save()
  }

  @Test(
    "an object is found by each constraint, and keeps what the JSON lacks, under every policy",
    arguments: [
      #"{"code": "A-4", "title": "new"}"#, #"{"number": 4, "project": {"key": "A"}, "title": "new"}"#,
      #"{"project": {"key": "A"}, "number": 4, "title": "new"}"#,
      #"[{"number": 4, "project": {"$ref": "p"}, "title": "new"}]"#,
    ], [MergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump])
  func found(_ json: String, _ policy: MergePolicy) throws {
    let coordinator = try coordinator("InMemory")
    let context = ManagedObjectContext(coordinator)
    try insertIssue(context)
    let project = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Project")).first)
    let other = ManagedObjectContext(coordinator)
    other.mergePolicy = policy
    let text = json.replacingOccurrences(of: #""p""#, with: #""\#(project.objectID.uriRepresentation)""#)
    let issue = try #require(try other.importJSON(Data(text.utf8), entityName: "Issue").first)
    #expect(!issue.isInserted)
    try other.save()
    let reader = ManagedObjectContext(coordinator)
    defer { withExtendedLifetime(reader) {} }
    let all = try reader.fetch(FetchRequest<ManagedObject>(entityName: "Issue"))
    #expect(all.count == 1)
    #expect(all.map { $0["title"] as? String } == ["new"] && all.map { $0["status"] as? String } == ["closed"])
    #expect(all.map { $0["code"] as? String } == ["A-4"] && all.map { $0["number"] as? Int } == [4])
  }

  @Test("an object inside a list is found by the list's owner, and one without a value by the model's default")
  func implied() throws {
    let coordinator = try coordinator("InMemory")
    let context = ManagedObjectContext(coordinator)
    try insertIssue(context)
    let json = #"{"key": "A", "issues": [{"number": 4, "steps": [{"text": "s"}]}]}"#
    for title in ["one", "two"] {
      let text = json.replacingOccurrences(of: #""number""#, with: #""title": "\#(title)", "number""#)
      _ = try context.importJSON(Data(text.utf8), entityName: "Project")
      try context.save()
    }
    let issues = try context.fetch(FetchRequest<ManagedObject>(entityName: "Issue"))
    #expect(issues.map { $0["title"] as? String } == ["two"] && issues.map { $0["status"] as? String } == ["closed"])
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Step")) == 1)
  }

  @Test("objects of a long chain of constraints, and of a circle, are found and made without recursion")
  func chain() throws {
    let context = ManagedObjectContext(try coordinator("InMemory"))
    let count = 20_000
    var text = "["
    for number in 0..<count {
      text +=
        #"{"$id": "\#(number)", "text": "t", "note": "\#(number)", "before": {"$ref": "\#((number + 1) % count)"}},"#
    }
    text.removeLast()
    let made = try context.importJSON(Data((text + "]").utf8), entityName: "Step")
    #expect(Set(made.map(\.objectID)).count == count)
    #expect(made.map { ($0["before"] as? ManagedObject)?["note"] as? String }.prefix(2) == ["1", "2"])
  }

  @Test("a text that does not fit changes nothing")
  func whole() throws {
    let context = ManagedObjectContext(try coordinator("InMemory"))
    try insertIssue(context)
    #expect(throws: PersistentStoreError.self) {
      try context.importJSON(Data(#"[{"code": "A-4", "title": "x"}, {"number": "y"}]"#.utf8), entityName: "Issue")
    }
    #expect(!context.hasChanges)
  }

  @Test("an object of another entity with the same unique values is an error that names it")
  func otherEntity() throws {
    let context = ManagedObjectContext(try coordinator("InMemory"))
    try insertIssue(context)
    #expect {
      try context.importJSON(Data(#"{"$entity": "Bug", "code": "A-4", "severity": 1}"#.utf8), entityName: "Issue")
    } throws: {
      "\($0)".contains("is not of the entity")
    }
  }

  // MARK: Random records

  /// What an issue is to be, by plain values.
  private struct Record {
    var project: String
    var number: Int
    var fields: [String: String]
  }

  @Test(
    "random records, in every form of text, give what a table of plain values gives",
    arguments: [UInt64](1...6), ["InMemory", "SQLiteGraph"])
  func random(_ seed: UInt64, _ type: String) throws {
    var random = SeededGenerator(seed: seed)
    let coordinator = try coordinator(type)
    var table: [String: [String: String]] = [:]
    for _ in 0..<8 {
      let context = ManagedObjectContext(coordinator)
      context.mergePolicy = [.error, .mergeByPropertyObjectTrump].randomElement(using: &random) ?? .error
      let records = (0..<Int.random(in: 1...12, using: &random)).map { _ in
        var fields: [String: String] = [:]
        for key in ["title", "status"] where Bool.random(using: &random) {
          fields[key] = "\(key)\(Int.random(in: 0..<9, using: &random))"
        }
        return Record(
          project: ["A", "B", "C"].randomElement(using: &random) ?? "A",
          number: Int.random(in: 0..<5, using: &random), fields: fields)
      }
      for record in records {
        table["\(record.project)-\(record.number)", default: ["status": "open"]].merge(record.fields) { $1 }
      }
      _ = try context.importJSON(try text(of: records, context, &random), entityName: "Issue")
      try context.save()
      let reader = ManagedObjectContext(coordinator)
      defer { withExtendedLifetime(reader) {} }
      let all = try reader.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Issue", predicate: try FetchPredicate(format: "code != 'carrier'")))
      var found: [String: [String: String]] = [:]
      for issue in all {
        let project = (issue["project"] as? ManagedObject)?["key"] as? String ?? "none"
        var fields: [String: String] = [:]
        for key in ["title", "status"] { fields[key] = issue[key] as? String }
        found["\(project)-\(issue["number"] as? Int ?? -1)"] = fields
      }
      #expect(found == table && all.count == table.count)
    }
  }

  /// The records as JSON, each project written in a random form: inside, by an ID elsewhere in the text, or by that of
  /// an object in a store; with and without the code.
  private func text(
    of records: [Record], _ context: ManagedObjectContext, _ random: inout SeededGenerator
  ) throws -> Data {
    var items: [String] = []
    for (index, record) in records.enumerated() {
      var members = record.fields.map { #""\#($0)": "\#($1)""# }.sorted()
      members.append(#""number": \#(record.number)"#)
      let stored = try context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Project", predicate: try FetchPredicate(format: "key == %@", record.project))
      ).first
      let inside = #"{"key": "\#(record.project)"}"#
      let whole = #"{"$id": "id\#(index)", "key": "\#(record.project)"}"#
      switch Int.random(in: 0..<4, using: &random) {
      case 0: members.append(#""project": \#(inside)"#)
      case 1: members.append(#""project": \#(whole)"#)
      case 2 where stored?.isInserted == false:
        members.append(#""project": {"$ref": "\#(stored?.objectID.uriRepresentation ?? "")"}"#)
      default:
        // Said by another issue of the text, before or after this one.
        members.append(#""project": {"$ref": "other\#(index)"}"#)
        let other = #"{"code": "carrier", "project": {"$id": "other\#(index)", "key": "\#(record.project)"}}"#
        items.insert(other, at: Int.random(in: 0...items.count, using: &random))
      }
      if Bool.random(using: &random) { members.append(#""code": "\#(record.project)-\#(record.number)""#) }
      members.shuffle(using: &random)
      items.append("{\(members.joined(separator: ", "))}")
    }
    return Data("[\(items.joined(separator: ", "))]".utf8)
  }
}
