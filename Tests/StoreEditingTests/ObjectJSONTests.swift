import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import TestSupport
import Testing

@Suite("Objects as JSON") struct ObjectJSONTests {
  private static let model = ModelDescription(
    entities: [
      EntityDescription(
        name: "Author",
        properties: [
          .attribute("name", .string), .attribute("born", .date), .attribute("photo", .binaryData),
          .attribute("rating", .decimal), .attribute("home", .composite("Home")), .attribute("any", .undefined),
          .toMany("books", "Book", inverse: "author", isOrdered: true),
          .toOne("friend", "Author", inverse: "friend"),
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Book",
        properties: [.attribute("title", .string), .toOne("author", "Author", inverse: "books")],
        subentities: [EntityDescription(name: "Novel", properties: [.attribute("pages", .integer32)])]),
    ],
    composites: [CompositeDescription(name: "Home", attributes: [AttributeDescription(name: "city", type: .string)])])

  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory("json") }

  private func context(_ name: String = "a") throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.model), registry: .builtIn)
    try coordinator.addPersistentStore(type: "XML", at: "\(directory.path)/\(name).xml")
    return ManagedObjectContext(coordinator)
  }

  private func fill(_ context: ManagedObjectContext) throws -> ManagedObject {
    let author = try context.insertNewObject(forEntityName: "Author")
    try author.setValuesForKeys([
      "name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 1.5), "photo": Data([1, 2, 255]),
      "rating": DecimalNumber("1.10") as Any, "home.city": "Bern", "any": Data([7]), "friend": author,
    ])
    for title in ["B", "A"] {
      let book = try context.insertNewObject(forEntityName: title == "A" ? "Novel" : "Book")
      try book.setValue(title, forKey: "title")
      if title == "A" { try book.setValue(300, forKey: "pages") }
      try author.add(book, to: "books")
    }
    return author
  }

  private func authors(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortKeys: [SortKey("name")]))
  }

  @Test("a graph with a cycle goes to JSON and back into another store, with equal bytes again", arguments: [1, 2, 5])
  func roundTrip(_ depth: Int) throws {
    let source = try context()
    let author = try fill(source)
    try source.save()
    let json = try author.json(depth: depth)
    #expect(try author.json(depth: depth) == json)
    let target = try context("b")
    let made = try #require(try target.importJSON(json, entityName: "Author").first)
    try target.save()
    #expect(made["name"] as? String == "Ada" && made["home.city"] as? String == "Bern")
    #expect(made["born"] as? Date == Date(timeIntervalSinceReferenceDate: 1.5))
    #expect(made["photo"] as? Data == Data([1, 2, 255]) && made["any"] as? Data == Data([7]))
    #expect((made["rating"] as? DecimalNumber)?.description == "1.10")
    #expect(made["friend"] as? ManagedObject === made)
    let books = try made.objects(forRelationshipNamed: "books")
    #expect(books.map { $0["title"] as? String } == ["B", "A"])
    #expect(books[1].entity.name == "Novel" && books[1]["pages"] as? Int == 300)
  }

  @Test("depth 0 writes references, which lead to the objects of the same store")
  func references() throws {
    let source = try context()
    let author = try fill(source)
    try source.save()
    let json = try author.json()
    #expect(!String(decoding: json, as: UTF8.self).contains("\"title\""))
    _ = try source.importJSON(json, entityName: "Author")
    #expect(try author.objects(forRelationshipNamed: "books").count == 2)
    #expect(!source.hasChanges)
  }

  @Test("an import finds objects by unique keys, and creates the others once")
  func findOrCreate() throws {
    let context = try context()
    _ = try fill(context)
    try context.save()
    let json = Data(#"[{"name": "Ada", "rating": 2}, {"name": "Ben"}, {"name": "Ben", "rating": 3.25}]"#.utf8)
    let found = try context.importJSON(json, entityName: "Author")
    #expect(found.count == 3 && found[1] === found[2])
    try context.save()
    #expect(try authors(context).map { ($0["rating"] as? DecimalNumber)?.description } == ["2", "3.25"])
    #expect(try authors(context)[0].objects(forRelationshipNamed: "books").count == 2)
  }

  @Test(
    "what does not fit is refused, with item and property",
    arguments: [
      (#"[{"name": "A"}, {"name": 3}]"#, "item 2"), (#"{"nam": "A"}"#, "did you mean 'name'"),
      (#"{"books": {"title": "x"}}"#, "list"), (#"{"books": [{"pages": 1}]}"#, "books[0]"),
      (#"{"friend": {"$ref": "x-coredata://nowhere/Author/p1"}}"#, "does not exist"),
      (#"{"$entity": "Book"}"#, "sub-entity"), (#"{"friend": {"$ref": 12}}"#, "$ref"),
      (#"{"friend": {"$ref": null}}"#, "$ref"),
      (#"{"friend": {"$ref": "a", "name": "B"}}"#, "$ref"), (#"{"name": }"#, "1:10"), ("3", "not a JSON object"),
    ])
  func refused(_ json: String, _ reason: String) throws {
    let context = try context()
    #expect {
      try context.importJSON(Data(json.utf8), entityName: "Author")
    } throws: {
      "\($0)".contains(reason)
    }
  }

  @Test("unknown keys are ignored if that is asked for")
  func unknownKeys() throws {
    let context = try context()
    let json = Data(#"{"name": "A", "more": [1, {"x": null}]}"#.utf8)
    #expect(try context.importJSON(json, entityName: "Author", ignoresUnknownKeys: true)[0]["name"] as? String == "A")
  }

  private struct AuthorValue: Codable, Equatable {
    struct BookValue: Codable, Equatable { var title: String }
    var name: String
    var born: Date
    var photo: Data
    var books: [BookValue]
  }

  @Test("Codable values are imported by unique keys, and objects decode as them")
  func codable() throws {
    let context = try context()
    let value = AuthorValue(
      name: "Ada", born: Date(timeIntervalSinceReferenceDate: 0.1), photo: Data([9]),
      books: [.init(title: "X"), .init(title: "Y")])
    let object = try context.importObjects([value], entityName: "Author")[0]
    try context.save()
    #expect(try object.decoded(as: AuthorValue.self, depth: 1) == value)
    #expect(throws: DecodingError.self) { try object.decoded(as: AuthorValue.self) }
  }

  @Test("a fetch becomes an array in its order")
  func fetch() throws {
    let context = try context()
    for name in ["B", "A"] { try context.insertNewObject(forEntityName: "Author").setValue(name, forKey: "name") }
    try context.save()
    let json = try context.json(FetchRequest<ManagedObject>(entityName: "Author", sortKeys: [SortKey("name")]))
    let list = try #require(try JSONSerialization.jsonObject(with: json) as? [[String: Any]])
    #expect(list.map { $0["name"] as? String } == ["A", "B"])
  }

  @Test("a greater depth has all that a smaller one has: objects stand where they are reached in the fewest steps")
  func shortestWay() throws {
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Team", properties: [.attribute("name", .string), .toMany("members", "Person", inverse: "team")]),
      EntityDescription(
        name: "Person",
        properties: [
          .attribute("name", .string), .toOne("team", "Team", inverse: "members"),
          .toOne("badge", "Badge", inverse: "person"), .toOne("next", "Person"),
        ]),
      EntityDescription(
        name: "Badge", properties: [.attribute("name", .string), .toOne("person", "Person", inverse: "badge")]),
    ])
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(model), registry: .builtIn)
    try coordinator.addPersistentStore(type: "XML", at: directory.path + "/teams.xml")
    let context = ManagedObjectContext(coordinator)
    let team = try context.insertNewObject(forEntityName: "Team")
    var last: ManagedObject?
    for number in 0..<4 {
      let person = try context.insertNewObject(forEntityName: "Person")
      let badge = try context.insertNewObject(forEntityName: "Badge")
      try badge.setValue("badge \(number)", forKey: "name")
      try person.setValue(badge, forKey: "badge")
      try person.setValue(last, forKey: "next")
      try person.setValue(team, forKey: "team")
      last = person
    }
    try context.save()
    var before = 0
    for depth in 0...6 {
      let text = String(decoding: try team.json(depth: depth), as: UTF8.self)
      let badges = text.components(separatedBy: "\"badge ").count - 1
      #expect(badges == (depth < 2 ? 0 : 4), "depth \(depth)")
      let objects = text.components(separatedBy: "\"$id\"").count - 1
      #expect(objects >= before && objects == [1, 5][min(depth, 1)] + badges, "depth \(depth)")
      before = objects
    }
  }
}
