import AtomicStoreSPI
import Foundation
import StoreCoordination
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Patches, keys and statistics") struct StorePatchTests {
  private static func library(_ authors: String, _ books: String, note: PropertyListValue? = nil) throws
    -> StoreSnapshot
  {
    let nodes = try LibrarySample.importer().read([
      LibrarySample.source("id,name\n" + authors, "authors.csv"),
      LibrarySample.source("id,title,author_id,price\n" + books, "books.csv"),
    ]).nodes
    var metadata = StoreMetadata(storeType: "XML")
    if let note { metadata.entries["note"] = note }
    return StoreSnapshot(nodes: nodes, metadata: metadata)
  }

  private static func differences(
    _ one: StoreSnapshot, _ other: StoreSnapshot, names: KeyedNames? = nil
  ) -> [GraphDifference] {
    GraphComparison.differences(one, other, options: .init(comparesIdentity: false), names: names)
  }

  private static let nested: PropertyListValue = ["a": ["b": 1, "date": "x"], "c": [1, 2]]
  private static func old() throws -> StoreSnapshot {
    try library("1,Zola\n2,Eliot\n", "1,Nana,1,9.90\n2,Emma,2,1.10\n", note: nested)
  }
  private static func new() throws -> StoreSnapshot {
    try library(
      "1,Émile Zola\n3,Sand\n2,Eliot\n", "1,Nana,3,9.9\n4,Indiana,3,\n",
      note: ["a": ["b": 2, "date": "x"], "d": .date(Date(timeIntervalSinceReferenceDate: 0.1))])
  }

  @Test("a patch makes the new graph of the old one, through JSON, and its reverse makes the old one")
  func roundTrip() throws {
    let (old, new) = (try Self.old(), try Self.new())
    let patch = try StorePatch(from: old, to: new)
    let json = patch.json(old.nodes.model)
    #expect(json == patch.json(old.nodes.model))
    // 9.90 and 9.9 are other spellings.
    #expect(String(decoding: json, as: UTF8.self).contains(#""old": 9.90,"#))
    let read = try StorePatch(json: json, name: "p.json", model: old.nodes.model)
    #expect(Self.differences(try read.apply(to: old), new) == [])
    #expect(Self.differences(try read.reversed.apply(to: new), old) == [])
  }

  /// People, and bosses among them, by reference; `friend` is a one-way reference to a person.
  private static func people(_ rows: [(boss: Bool, number: Int64, name: String, friend: Int64?)]) throws
    -> StoreSnapshot
  {
    let person = EntityDescription(
      name: "Person", properties: [.attribute("name", .string), .toOne("friend", "Person")],
      subentities: [EntityDescription(name: "Boss")])
    let nodes = NodeTableBuilder(model: try ManagedObjectModel(ModelDescription(entities: [person])))
    func entity(_ boss: Bool) throws -> Entity {
      try #require(nodes.model.entity(named: boss ? "Boss" : "Person"))
    }
    for row in rows {
      try nodes.beginNode(entity: try entity(row.boss).index, reference: .integer(row.number))
      try nodes.set(.string(row.name), slot: 0)
      guard let friend = row.friend, let other = rows.first(where: { $0.number == friend }) else { continue }
      try nodes.set(
        .toOne(ObjectReference(entityName: try entity(other.boss).name, reference: .integer(friend))), slot: 1)
    }
    return StoreSnapshot(nodes: try nodes.finish(), metadata: StoreMetadata(storeType: "XML"))
  }

  @Test("an object that moved to another entity of its hierarchy keeps its reference through a patch and its reverse")
  func movedInHierarchy() throws {
    let old = try Self.people([(false, 1, "Ann", 2), (false, 2, "Bob", nil), (true, 3, "Cid", 1)])
    let new = try Self.people([(false, 1, "Ann", 2), (true, 2, "Bob", 3), (true, 3, "Cid", 1)])
    let patch = try StorePatch(from: old, to: new)
    #expect(Self.differences(try patch.apply(to: old), new) == [])
    #expect(Self.differences(try patch.reversed.apply(to: new), old) == [])
    // Without a decision about Ann's friend, it does not fit.
    let part = try StorePatch(from: old, to: new) { $0.kind != .changed }
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try part.apply(to: old) }
    #expect(error.conflicts.map(\.description) == ["Person/1.friend: names Person/2, which the patch deletes"])
  }

  @Test("a key that looks like a numbered one stays apart, in both graphs; a sub-entity has its parent's key")
  func numberedKeys() throws {
    let graph = try Self.people([
      (false, 1, "Emma", nil), (false, 2, "Emma", nil), (false, 3, "Emma (2)", nil), (true, 4, "Emma", nil),
    ])
    let keys = try ObjectKeys([("Person", ["name"])], models: [graph.nodes.model])
    let named = try KeyedNames(keys, graph.nodes, graph.nodes)
    let names = graph.nodes.model.entities.flatMap { entity in
      graph.nodes.handles(of: entity.index).map { "\(named.reference(of: $0, in: .one))" }
    }
    #expect(names.sorted() == ["Emma", "Emma (2)", "Emma (3)", "Emma (4)"], "\(names)")
    // The most specific key counts, in whatever order the keys are given.
    for order in [[0, 1], [1, 0]] {
      let all: [(entity: String?, keyPaths: [String])] = [("Person", ["name"]), ("Boss", ["friend.name"])]
      let both = try ObjectKeys(order.map { all[$0] }, models: [graph.nodes.model])
      let keyless = try KeyedNames(both, graph.nodes, graph.nodes).other.keyless
      #expect(keyless.map(\.entity) == ["Boss"] && keyless.map(\.count) == [1])
    }
  }

  @Test(
    "a member of a patch that is not a metadata value is refused, and does not remove the entry",
    arguments: [#"[1, null]"#, #"{"a": null}"#, #"{"date": "2009-13-40"}"#, #"{"base64": "%%"}"#, #"{"uid": -1}"#])
  func invalidMetadata(_ value: String) throws {
    let model = try Self.old().nodes.model
    let text = String(
      decoding: StorePatch(changes: [.metadata(key: "k", path: [], old: "OLD", new: "NEW")])
        .json(model), as: UTF8.self)
    func read(_ new: String) throws -> StorePatch {
      try StorePatch(json: Array(text.replacing("\"NEW\"", with: new).utf8), name: "p.json", model: model)
    }
    #expect(try read("null").changes.count == 1)
    #expect(throws: (any Error).self) { _ = try read(value) }
  }

  @Test("everything that does not fit is found in one pass")
  func conflicts() throws {
    let (old, new) = (try Self.old(), try Self.new())
    let patch = try StorePatch(from: old, to: new)
    let other = try Self.library("1,Zola\n2,Eliot\n3,Taken\n", "1,Nana,1,8\n", note: ["a": ["b": 7], "c": [1, 2]])
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try patch.apply(to: other) }
    #expect(
      error.conflicts.map(\.description) == [
        "metadata note.a.b: is 7, the patch expects 1",
        "Author/2.books: is [], the patch expects [Book/2]",
        "Author/3: the reference is that of Author/3 already",
        "Book/1.price: is 8, the patch expects 9.90",
        "Book/2: the object does not exist",
      ], "\(error.conflicts)")
  }

  @Test("a patch of the to-one ends alone changes both ends; one of a to-many alone does not last, and says so")
  func oneEnd() throws {
    let old = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,1,\n")
    let new = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,2,\n")
    let books = try StorePatch(from: old, to: new) { $0.object?.entityName == "Book" }
    #expect(books.changes.count == 1)
    #expect(Self.differences(try books.apply(to: old), new) == [])
    let authors = try StorePatch(from: old, to: new) { $0.object?.entityName == "Author" }
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try authors.apply(to: old) }
    #expect(error.conflicts.map(\.object?.description) == ["Author/1", "Author/2"])
  }

  @Test("an object that another still names is not deleted")
  func deletion() throws {
    let old = try Self.library("1,Zola\n", "1,Nana,1,\n")
    let patch = StorePatch(changes: [
      .deleted(
        ObjectReference(entityName: "Author", reference: .integer(1)),
        values: [("name", .string("Zola")), ("books", toMany("Book", 1))])
    ])
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try patch.apply(to: old) }
    #expect(error.conflicts.map(\.description) == ["Book/1.author: names Author/1, which the patch deletes"])
  }

  @Test(
    "a file that is not a patch is malformed",
    arguments: [
      ("", "a value is missing"), ("[]", "this is not a patch"),
      (#"{"atomicstorePatch": 2, "changes": []}"#, "version 2"),
      (
        #"{"atomicstorePatch": 1, "changes": [{"kind": "x", "entity": "Book", "reference": 1, "values": {}}]}"#,
        "changes[0]"
      ),
      (#"{"atomicstorePatch": 1, "changes": [{"kind": "changed", "entity": "Book", "reference": 1}]}"#, "needed"),
      (#"{"atomicstorePatch": 1, "changes": [{"kind": "changed", "nme": 1}]}"#, "'nme'"),
      (#"{"atomicstorePatch": 1, "atomicstorePatch": 1}"#, "twice"), ("{\n  oops", "name of a member"),
      (
        #"{"atomicstorePatch": 1, "changes": [{"kind": "metadata", "key": "NSStoreUUID", "old": null, "new": 1}]}"#,
        "manages"
      ),
    ])
  func malformed(_ text: String, _ message: String) throws {
    let model = try LibrarySample.model()
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try StorePatch(json: Array(text.utf8), name: "p.json", model: model)
    }
    #expect(error.code == .malformed && error.message.contains(message) && error.location.file == "p.json", "\(error)")
  }

  @Test("names and types that the model does not have are conflicts, all listed")
  func unknownNames() throws {
    let text = """
      {"atomicstorePatch": 1, "changes": [
        {"kind": "deleted", "entity": "Unknown", "reference": 1, "values": {}},
        {"kind": "changed", "entity": "Book", "reference": 1, "property": "prize", "old": 1, "new": 2},
        {"kind": "changed", "entity": "Book", "reference": 1, "property": "price", "old": 1, "new": "much"},
        {"kind": "changed", "entity": "Book", "reference": 1, "property": "author", "old": null, "new": "Author/1"}]}
      """
    let model = try LibrarySample.model()
    let error = try #require(throws: StorePatch.ConflictError.self) {
      _ = try StorePatch(json: Array(text.utf8), name: "p.json", model: model)
    }
    #expect(
      error.conflicts.map(\.description) == [
        "Unknown/1: the model has no entity 'Unknown'", "Book/1.prize: the model has no such property",
        "Book/1.price: \"much\" is not a value of the type Decimal",
        "Book/1.author: \"Author/1\" is not a value of the type to-one Author",
      ], "\(error.conflicts)")
  }

  // MARK: Keys

  @Test("objects are compared by values: the same graph under other references is equal")
  func keys() throws {
    let one = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,1,9.90\n2,Emma,2,1\n")
    let other = try Self.library("20,Eliot\n7,Zola\n", "5,Emma,20,1\n9,Nana,7,9.90\n")
    #expect(!Self.differences(one, other).isEmpty)
    func named(_ keys: [(String?, [String])]) throws -> [GraphDifference] {
      let keys = try ObjectKeys(keys.map { (entity: $0, keyPaths: $1) }, models: [one.nodes.model, other.nodes.model])
      return Self.differences(one, other, names: try KeyedNames(keys, one.nodes, other.nodes))
    }
    #expect(try named([(nil, ["name"]), ("Book", ["title", "author.name"])]) == [])
    #expect(try !named([(nil, ["name"])]).isEmpty)
    for key in [(nil, ["nme"]), ("Bok", ["title"]), ("Book", ["author"]), ("Book", ["title.name"])]
      as [(String?, [String])]
    {
      #expect(throws: PersistentStoreError.self, "\(key)") { try named([key]) }
    }
  }

  @Test("a key of several attributes distinguishes what looks alike when it is joined")
  func joinedKeys() throws {
    let graph = try Self.library("1,\"b, c\"\n2,c\n", "1,a,1,\n2,\"a, b\",2,\n")
    let keys = try ObjectKeys([("Book", ["title", "author.name"])], models: [graph.nodes.model])
    let named = try KeyedNames(keys, graph.nodes, graph.nodes)
    #expect(named.one.repeated.isEmpty && named.other.repeated.isEmpty)
    let book = try #require(graph.nodes.model.entity(named: "Book"))
    #expect(
      graph.nodes.handles(of: book.index).map { named.reference(of: $0, in: .one).description } == [
        "a, \"b, c\"", "\"a, b\", c",
      ])
  }

  @Test("a reference that is the name of another object is refused, also a name with a number", arguments: 1...3)
  func takenNames(_ number: Int) throws {
    let reference = number == 1 ? "Emma" : "Emma (\(number))"
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person", properties: [.attribute("name", .string)], subentities: [EntityDescription(name: "Student")])
      ]))
    let builder = NodeTableBuilder(model: model)
    for (entity, reference) in [("Person", reference), ("Student", "a"), ("Student", "b")] {
      let entity = try #require(model.entity(named: entity))
      try builder.beginNode(entity: entity.index, reference: .string(reference))
      try builder.set(.string("Emma"), slot: try #require(entity.slot(named: "name")))
    }
    let nodes = try builder.finish()
    let keys = try ObjectKeys([("Student", ["name"])], models: [model])
    let isRefused = (try? KeyedNames(keys, nodes, nodes)) == nil
    #expect(isRefused == (number < 3))
  }

  @Test(
    "a key may be a part of a composite, and an attribute whose name has a dot, also of the object at a to-one",
    arguments: ["home.city", "x.y", "friend.home.city", "friend.x.y"])
  func dottedKeys(_ key: String) throws {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Person",
            properties: [
              .attribute("home", .composite("Home")), .attribute("x.y", .string), .toOne("friend", "Person"),
            ])
        ], composites: [CompositeDescription(name: "Home", attributes: [.init(name: "city", type: .string)])]))
    let person = try #require(model.entity(named: "Person"))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: person.index, reference: .integer(1))
    for name in ["home.city", "x.y"] { try builder.set(.string("Oslo"), slot: try #require(person.slot(named: name))) }
    try builder.set(
      .toOne(ObjectReference(entityName: "Person", reference: .integer(1))),
      slot: try #require(person.slot(named: "friend")))
    let nodes = try builder.finish()
    let named = try KeyedNames(ObjectKeys([("Person", [key])], models: [model]), nodes, nodes)
    #expect(named.one.nodes.handles(of: person.index).map { named.reference(of: $0, in: .one) } == [.string("Oslo")])
    #expect(named.one.keyless.isEmpty)
  }

  @Test("objects with one key are distinguished, those without a key too; both are counted")
  func repeatedKeys() throws {
    let graph = try Self.library("1,Zola\n2,Zola\n3,Sand\n", "1,Nana,1,\n2,Emma,2,3\n")
    let keys = try ObjectKeys([(nil, ["name"]), (nil, ["price"])], models: [graph.nodes.model])
    let named = try KeyedNames(keys, graph.nodes, graph.nodes)
    for (side, number) in [(named.one, KeyedNames.Graph.one), (named.other, .other)] {
      #expect(side.repeated.map { "\($0)" } == [#"(entity: "Author", count: 1)"#])
      #expect(side.keyless.map { "\($0)" } == [#"(entity: "Book", count: 1)"#])
      let names = graph.nodes.model.entities.flatMap { entity in
        graph.nodes.handles(of: entity.index).map { "\(entity.name)/\(named.reference(of: $0, in: number))" }
      }
      #expect(names == ["Author/Zola", "Author/Zola (2)", "Author/Sand", "Book/(no key) 1", "Book/3"], "\(names)")
    }
  }

  @Test("metadata that is a dictionary is compared key by key")
  func keyPaths() throws {
    let texts = Self.differences(try Self.old(), try Self.new()).filter { $0.kind == .metadata }.map(\.description)
    #expect(
      texts == [
        "~ metadata note.a.b: 1 → 2", "~ metadata note.c: [1, 2] → (none)",
        "~ metadata note.d: (none) → 2001-01-01T00:00:00.1Z",
      ], "\(texts)")
  }

  // MARK: Statistics

  @Test("statistics count values, nulls, different values, and know range, mean and length")
  func statistics() throws {
    let graph = try Self.library("1,Zola\n2,Élie\n3,Sand\n", "1,Nana,1,1.10\n2,Emma,1,1.1\n3,X,2,\n4,Ä,2,4\n")
    let all = StoreStatistics(graph.nodes).properties
    func find(_ entity: String, _ property: String) throws -> PropertyStatistics {
      try #require(all.first { $0.entityName == entity && $0.propertyName == property })
    }
    let price = try find("Book", "price")
    #expect(price.valueCount == 3 && price.nullCount == 1 && price.distinctCount == 2)
    #expect(
      price.minimum == .decimal(try #require(DecimalNumber("1.1"))) && price.maximum == .decimal(DecimalNumber(4)))
    #expect(abs(try #require(price.mean) - 6.2 / 3) < 1e-12)
    let name = try find("Author", "name")
    #expect(name.minimum == .string("Sand") && name.maximum == .string("Élie") && name.longest == 4)
    let books = try find("Author", "books")
    #expect(books.valueCount == 2 && books.nullCount == 1 && books.distinctCount == 4)
    #expect(books.minimum == .integer(0) && books.maximum == .integer(2) && books.mean == 4.0 / 3)
    let author = try find("Book", "author")
    #expect(author.valueCount == 4 && author.distinctCount == 2 && author.mean == nil)
  }

  /// Persons whose names have to be unique and need three letters.
  private static func unique(_ names: [String]) throws -> StoreSnapshot {
    var person = EntityDescription(name: "Person", properties: [.attribute("name", .string)])
    person.uniquenessConstraints = [["name"]]
    let nodes = NodeTableBuilder(model: try ManagedObjectModel(ModelDescription(entities: [person])))
    let entity = try #require(nodes.model.entity(named: "Person"))
    for (index, name) in names.enumerated() {
      try nodes.beginNode(entity: entity.index, reference: .integer(Int64(index + 1)))
      try nodes.set(.string(name), slot: 0)
    }
    return StoreSnapshot(nodes: try nodes.finish(), metadata: StoreMetadata(storeType: "XML"))
  }

  @Test(
    "objects that shared unique values may go on to share others; a new object among them may not",
    arguments: [
      (["Ann", "Ann", "Bob"], ["Cid", "Cid", "Bob"], []),
      (["Ann", "Ann", "Bob"], ["Ann", "Ann", "Ann"], ["Person/3"]),
      (["Ann", "Ann", "Bob"], ["Ann", "Bob", "Bob"], ["Person/3"]),
      (["Ann", "Ann", "Bob", "Bob"], ["Ann", "Ann", "Ann", "Ann"], ["Person/3", "Person/4"]),
      (["Ann", "Bob", "Cid"], ["Bob", "Ann", "Cid"], []),
      (["Ann", "Bob"], ["Ann", "Bob", "Ann"], ["Person/3"]),
    ] as [([String], [String], [String])])
  func sharedBefore(_ old: [String], _ new: [String], _ refused: [String]) throws {
    let (before, after) = (try Self.unique(old), try Self.unique(new))
    let patch = try StorePatch(from: before, to: after)
    guard !refused.isEmpty else {
      #expect(Self.differences(try patch.apply(to: before), after) == [])
      return
    }
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try patch.apply(to: before) }
    #expect(error.conflicts.map(\.object?.description) == refused)
    #expect(error.conflicts.allSatisfy { $0.property == "name" && $0.message.contains("must be unique") })
  }
}
