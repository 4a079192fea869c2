import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreMaintenance
import Testing

@Suite("Stores as relational tables") struct RelationalFormTests {
  private static func differences(_ one: StoreSnapshot, _ other: StoreSnapshot) -> [GraphDifference] {
    GraphComparison.differences(one, other, options: .init(comparesUnknownOrder: true, limit: 10))
  }

  /// What differs after tables of a store were written and read.
  private static func throughFiles(_ snapshot: StoreSnapshot, _ type: String) throws -> [GraphDifference] {
    let folder = try CoreDataSQLiteWritingTests.Scratch()
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = type
    if type == "CSV" { converter.writeOptions = ["headers": "plain"] }
    let path = folder.path + "/tables"
    _ = try converter.write(try snapshot.asTables(try RelationalForm(snapshot.nodes.model)), to: path)
    let store = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    return differences(snapshot, try StoreSnapshot(nodes: store.nodes, metadata: store.metadata).ofTables().store)
  }

  @Test(
    "tables in CSV and Arrow files hold every value, reference and link of a random graph",
    arguments: ["CSV", "Arrow"], [UInt64](1...24))
  func files(_ type: String, _ seed: UInt64) throws {
    var snapshot = try RandomGraphs.make(seed: seed)
    snapshot.nodes = try snapshot.nodes.canonical()
    snapshot.metadata.entries["note"] = ["a": [1, "\u{202E}x"]]
    let found = try Self.throughFiles(snapshot, type)
    #expect(found.isEmpty, "seed \(seed): \(found)")
  }

  @Test(
    "tables of random models with inheritance and inverses of all kinds become the same graph",
    arguments: [UInt64](1...80))
  func models(_ seed: UInt64) throws {
    var graph = RandomModelGraph(seed: seed)
    let snapshot = try graph.snapshot(type: "XML")
    let back = try snapshot.asTables(try RelationalForm(snapshot.nodes.model)).ofTables().store
    let found = Self.differences(snapshot, back)
    #expect(found.isEmpty, "seed \(seed): \(found)")
  }

  @Test("names may be anything, also those that files, CSV and SQL treat otherwise", arguments: ["CSV", "Arrow"])
  func names(_ type: String) throws {
    let names = [
      "a b", "a,b", "a\"b", "\u{202E}ab", "a/b", "a:b->c", "é", "e\u{301}", "A b", "id", "owner", "'; DROP--", "..",
      "=1+1",
    ]
    let entities = names.map { name in
      EntityDescription(
        name: name,
        properties: names.map { .attribute($0 + "!", .string) } + [
          .attribute("id", .integer64), .attribute("reference", .string), .toMany(name + "s", name, isOrdered: true),
          .toOne("to \(name)", name),
        ], subentities: [EntityDescription(name: name + "_sub", properties: [.attribute("entity", .boolean)])])
    }
    let model = try ManagedObjectModel(ModelDescription(entities: entities))
    let builder = NodeTableBuilder(model: model)
    for entity in model.entities {
      for (number, text) in ["", "\u{0}", "'"].enumerated() {
        try builder.beginNode(entity: entity.index, reference: .string("\(entity.name) \(number)"))
        for slot in entity.slots {
          switch slot.kind {
          case .attribute(.string) where number != 1: try builder.set(.string(text), slot: slot.index)
          case .attribute(.boolean): try builder.set(boolean: number == 1, slot: slot.index)
          case .toMany:
            for other in [2, 0] { try builder.append(toMany: .string("\(entity.name) \(other)"), slot: slot.index) }
          default: break
          }
        }
      }
    }
    let snapshot = StoreSnapshot(nodes: try builder.finish().canonical(), metadata: StoreMetadata(storeType: "XML"))
    #expect(try Self.throughFiles(snapshot, type) == [])
  }

  private static func form(_ entities: [EntityDescription]) throws -> RelationalForm {
    try RelationalForm(try ManagedObjectModel(ModelDescription(entities: entities)))
  }

  private static func columns(_ form: RelationalForm) -> [String: [String]] {
    Dictionary(uniqueKeysWithValues: form.model.entities.map { ($0.name, $0.slots.map(\.name)) })
  }

  @Test("to-manys that follow from a to-one have no table, many-to-manys one, and two if both ends have an order")
  func joins() throws {
    let form = try Self.form([
      EntityDescription(
        name: "Author",
        properties: [
          .toMany("books", "Book", inverse: "author"), .toMany("tags", "Tag", inverse: "authors"),
          .toMany("first", "Tag", inverse: "second", isOrdered: true), .toMany("friends", "Author", inverse: "friends"),
          .toMany("list", "Tag", inverse: "listed", isOrdered: true),
        ]),
      EntityDescription(
        name: "Book",
        properties: [
          .toOne("author", "Author", inverse: "books"), .toMany("pages", "Page", inverse: "book", isOrdered: true),
        ]),
      EntityDescription(name: "Page", properties: [.toOne("book", "Book", inverse: "pages")]),
      EntityDescription(
        name: "Tag",
        properties: [
          .toMany("authors", "Author", inverse: "tags"),
          .toMany("second", "Author", inverse: "first", isOrdered: true), .toMany("listed", "Author", inverse: "list"),
        ]),
    ])
    let columns = Self.columns(form)
    #expect(
      columns.keys.sorted() == [
        "Author", "Author_first", "Author_friends", "Author_list", "Author_tags", "Book", "Book_pages", "Page", "Tag",
        "Tag_second",
      ])
    #expect(columns["Author_tags"] == ["owner", "member"])
    #expect(columns["Book_pages"]?.sorted() == ["member", "owner", "position"])
    #expect(columns["Book"] == ["author"] && columns["Author"] == [])
  }

  @Test("sub-entities share a table, and properties of one name a column if they are of one type")
  func inheritance() throws {
    let form = try Self.form([
      EntityDescription(
        name: "Person", properties: [.attribute("entity", .string)],
        subentities: [
          EntityDescription(name: "Guest", properties: [.attribute("code", .string), .attribute("note", .string)]),
          EntityDescription(
            name: "Employee", properties: [.attribute("code", .integer16), .attribute("note", .string)],
            subentities: [EntityDescription(name: "Boss", properties: [.attribute("Guest_code", .date)])]),
        ]),
      EntityDescription(name: "Person_list"),
      EntityDescription(name: "Group", properties: [.toMany("owner", "Person")]),
    ])
    let columns = try #require(Self.columns(form)["Person"])
    #expect(
      Set(columns) == ["entity_", "entity", "code", "note", "Employee_code", "Guest_code"]
        || columns.contains("Guest_code_"))
    #expect(Set(columns).count == columns.count)
    #expect(form.roots.first { $0.entity.name == "Person" }?.entityName?.name == "entity_")
    #expect(form.roots.first { $0.entity.name == "Group" }?.entityName == nil)
  }

  @Test("a column that got another name is not that of a property with this name")
  func generatedNames() throws {
    let form = try Self.form([
      EntityDescription(
        name: "P",
        subentities: [
          EntityDescription(name: "A", properties: [.attribute("x", .integer64)]),
          EntityDescription(name: "B", properties: [.attribute("x", .string), .attribute("B_x", .string)]),
        ])
    ])
    #expect(Set(try #require(Self.columns(form)["P"])) == ["entity", "x", "B_x", "B_x_"])
    let builder = NodeTableBuilder(model: form.source)
    let entity = try #require(form.source.entity(named: "B"))
    try builder.beginNode(entity: entity.index, reference: 1)
    for name in ["x", "B_x"] { try builder.set(.string(name), slot: try #require(entity.slot(named: name))) }
    let nodes = try builder.finish().canonical()
    let snapshot = StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "XML"))
    #expect(Self.differences(snapshot, try snapshot.asTables(form).ofTables().store) == [])
  }

  @Test("metadata that was added to the tables is the store's, and tables of another model are named")
  func added() throws {
    let nodes = NodeTable(model: try ManagedObjectModel(ModelDescription(entities: Self.zoo)))
    var metadata = StoreMetadata(storeType: "XML", entries: ["old": "1", "both": "1"])
    metadata.model = nodes.model.description
    var tables = try StoreSnapshot(nodes: nodes, metadata: metadata).asTables(try RelationalForm(nodes.model))
    tables.metadata.entries["new"] = "2"
    tables.metadata.entries["both"] = "2"
    let back = try tables.ofTables().store.metadata.entries
    #expect(back == ["old": "1", "both": "2", "new": "2"])
    let other = [EntityDescription(name: "Animal", properties: [.attribute("entity", .string)])]
    tables.nodes = NodeTable(model: try ManagedObjectModel(ModelDescription(entities: other)))
    let error = #expect(throws: PersistentStoreError.self) { try tables.ofTables() }
    #expect("\(try #require(error))".contains("the column Animal.name is missing"))
  }

  @Test("a table of very many sub-entities, almost all of whose cells would be null, is refused beyond a size")
  func size() throws {
    let entities = (0..<70).map { EntityDescription(name: "E\($0)", properties: [.attribute("p\($0)", .string)]) }
    var form = try Self.form([EntityDescription(name: "Root", subentities: entities)])
    let builder = NodeTableBuilder(model: form.source)
    for number in 0..<3 {
      try builder.beginNode(
        entity: try #require(form.source.entity(named: "E\(number)")).index, reference: Int64(number + 1))
    }
    let nodes = try builder.finish().canonical()
    let tables = try form.tables(of: nodes)
    form.maximumCells = 100
    #expect(throws: PersistentStoreError.self) { try form.tables(of: nodes) }
    #expect(throws: PersistentStoreError.self) { try form.graph(of: tables) }
    form.maximumCells = 300
    _ = try form.tables(of: nodes)
  }

  // MARK: Changed tables

  private static let zoo = [
    EntityDescription(
      name: "Animal", properties: [.attribute("name", .string)],
      subentities: [
        EntityDescription(name: "Bird", properties: [.attribute("wings", .integer16), .toMany("eggs", "Egg")])
      ]),
    EntityDescription(name: "Egg"),
  ]

  /// The tables of an animal, a bird and an egg, with a change.
  private static func changed(
    _ change: (inout NodeTable, (String, Int64) throws -> NodeHandle) throws -> Void
  ) throws -> NodeTable {
    let form = try Self.form(zoo)
    let builder = NodeTableBuilder(model: form.source)
    func entity(_ name: String) throws -> Int { try #require(form.source.entity(named: name)).index }
    try builder.beginNode(entity: try entity("Animal"), reference: 1)
    try builder.beginNode(entity: try entity("Bird"), reference: 2)
    let eggs = try #require(form.source.entity(named: "Bird")?.slot(named: "eggs"))
    try builder.append(toMany: 3, slot: eggs)
    try builder.beginNode(entity: try entity("Egg"), reference: 3)
    var tables = try form.tables(of: try builder.finish().canonical())
    let before = tables
    try change(&tables) { name, number in
      let table = try #require(form.model.entity(named: name)).index
      return try #require(before.handle(for: .integer(number), entity: table))
    }
    return try form.graph(of: tables)
  }

  @Test("a row that an object cannot have is refused with its table, key and column")
  func refused() throws {
    func message(_ change: (inout NodeTable, (String, Int64) throws -> NodeHandle) throws -> Void) throws -> String {
      do {
        _ = try Self.changed(change)
        return "nothing"
      } catch let error as PersistentStoreError {
        return "\(error.code): \(error)"
      }
    }
    #expect(try message { _, _ in } == "nothing")
    #expect(
      try message { tables, node in try tables.setValue(.integer(2), forKey: "wings", of: try node("Animal", 1)) }
        == "invalidValue: Animal/1.wings: an object of Animal does not have this property")
    #expect(
      try message { tables, node in try tables.setValue(.string("Brid"), forKey: "entity", of: try node("Animal", 2)) }
        == "invalidValue: Animal/2.entity: unknown entity 'Brid'; did you mean 'Bird'?")
    #expect(
      try message { tables, node in try tables.setValue(.null, forKey: "entity", of: try node("Animal", 2)) }
        == "invalidValue: Animal/2.entity: a value is needed: the name of the row's entity")
    #expect(
      try message { tables, node in
        let animal = ObjectReference(entityName: "Animal", reference: .integer(1))
        try tables.setValue(.toOne(animal), forKey: "owner", of: try node("Bird_eggs", 1))
      } == "invalidValue: Bird_eggs.owner: the owner 1 is not an object of Bird")
    for end in ["owner", "member"] {
      #expect(
        try message { tables, node in try tables.setValue(.null, forKey: end, of: try node("Bird_eggs", 1)) }
          == "invalidValue: Bird_eggs/1.\(end): a value is needed")
    }
  }

  @Test("metadata of tables that is damaged or newer is refused")
  func metadata() throws {
    let nodes = NodeTable(model: try ManagedObjectModel(ModelDescription(entities: Self.zoo)))
    let tables = try StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "XML")).asTables(
      try RelationalForm(nodes.model))
    _ = try tables.ofTables()
    let whole = try #require(tables.metadata.entries[StoreSnapshot.tablesKey]?.dictionaryValue)
    func code(_ change: (inout PropertyListDictionary) -> Void) -> PersistentStoreError.Code? {
      var (entry, changed) = (whole, tables)
      change(&entry)
      changed.metadata.entries[StoreSnapshot.tablesKey] = .dictionary(entry)
      do { _ = try changed.ofTables() } catch { return error.code }
      return nil
    }
    #expect(code { $0["version"] = 2 } == .unsupportedVersion)
    for key in ["version", "model", "metadata", "lastReference"] {
      #expect(code { $0[key] = nil } == .malformed, "\(key)")
    }
    let other = ModelDescription(entities: [EntityDescription(name: "Other")])
    #expect(code { $0["model"] = other.propertyList } == .modelMismatch)
  }
}
