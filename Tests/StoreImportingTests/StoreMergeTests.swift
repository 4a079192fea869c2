import AtomicStoreSPI
import Foundation
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Merging stores") struct StoreMergeTests {
  private static func library(_ authors: String, _ books: String = "") throws -> NodeTable {
    try LibrarySample.importer().read([
      LibrarySample.source("id,name\n" + authors, "authors.csv"),
      LibrarySample.source("id,title,author_id\n" + books, "books.csv"),
    ]).nodes
  }

  private static func isSound(_ nodes: NodeTable) -> Bool { StoreCheck(registry: StoreRegistry()).check(nodes).isSound }

  @Test("without matching all objects are there; references that collide are reassigned, with what leads to them")
  func union() throws {
    var merge = StoreMerge()
    merge.matching = .nothing
    let result = try merge.merge([
      Self.library("1,Zola\n", "1,Nana,1\n"), Self.library("1,Eliot\n2,Austen\n", "1,Emma,2\n5,Middlemarch,1\n"),
    ])
    let nodes = result.nodes
    #expect(nodes.count("Author") == 3 && nodes.count("Book") == 3 && result.renumbered == ["Author": 1, "Book": 1])
    #expect(try nodes.value("Author", 1, "name") == .string("Zola"))
    #expect(try nodes.value("Author", 2, "name") == .string("Austen"))
    #expect(try nodes.value("Book", 5, "author") == toOne("Author", 6))
    #expect(try nodes.value("Author", 6, "name") == .string("Eliot"))
    #expect(Self.isSound(nodes))
  }

  @Test("a new number is not the text of a string reference of any of the graphs", arguments: [false, true])
  func numbersAndTexts(hasBase: Bool) throws {
    // Both added an author 1; the second also has authors whose references are texts of the numbers that follow.
    let ours = try Self.library("1,Zola\n")
    let theirs = try Self.authors([.integer(1): "Eliot", .string("2"): "Austen", .string("3"): "Homer"])
    var merge = StoreMerge()
    merge.matching = .nothing
    let nodes =
      hasBase
      ? try merge.merge(base: Self.library(""), ours, theirs).nodes : try merge.merge([ours, theirs]).nodes
    #expect(nodes.count("Author") == 4)
    #expect(try nodes.value("Author", 4, "name") == .string("Eliot"))
    // Also of a graph that is added last.
    let last = try merge.merge([ours, ours, Self.authors([.string("2"): "Austen"])]).nodes
    #expect(try last.value("Author", 3, "name") == .string("Zola"))
  }

  private static func authors(_ names: KeyValuePairs<ReferenceObject, String>) throws -> NodeTable {
    let model = try LibrarySample.model()
    let entity = try #require(model.entity(named: "Author"))
    let slot = try #require(entity.slot(named: "name"))
    var nodes = try NodeTableBuilder(model: model).finish()
    for (reference, name) in names {
      try nodes.set(.string(name), slot: slot, of: nodes.addCacheNode(entity: entity.index, reference: reference))
    }
    return nodes
  }

  @Test("the same objects become one; conflicts are listed property by property, and settled by a rule")
  func conflicts() throws {
    let one = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,1\n")
    let other = try Self.library("1,Émile Zola\n2,Eliot\n", "1,Nana,2\n2,Emma,2\n")
    var merge = StoreMerge()
    let error = try #require(throws: StoreMerge.ConflictError.self) { _ = try merge.merge([one, other]) }
    #expect(
      error.conflicts.map(\.description) == [
        "Author/1.name: 'Zola' or 'Émile Zola'", "Book/1.author: Author/1 or Author/2",
      ], "\(error.conflicts)")
    merge.conflictRule = .first
    let first = try merge.merge([one, other])
    #expect(try first.nodes.value("Author", 1, "name") == .string("Zola") && first.settled.count == 2)
    #expect(try first.nodes.value("Author", 1, "books") == toMany("Book", 1))
    merge.conflictRule = .last
    let last = try merge.merge([one, other])
    #expect(try last.nodes.value("Author", 2, "books") == toMany("Book", 1, 2))
    #expect(try last.nodes.value("Author", 1, "books") == toMany("Book"))
    #expect(Self.isSound(last.nodes) && Self.isSound(first.nodes))
  }

  @Test("objects are matched by a property, whatever their references")
  func byProperty() throws {
    var merge = StoreMerge()
    merge.matching = .properties(["Author": ["name"]])
    let result = try merge.merge([
      Self.library("1,Zola\n", "1,Nana,1\n"), Self.library("1,Eliot\n7,Zola\n", "1,Germinal,7\n"),
    ])
    #expect(result.nodes.count("Author") == 2 && result.nodes.count("Book") == 2)
    #expect(try result.nodes.value("Author", 1, "books") == toMany("Book", 1, 9))
  }

  @Test("changes of two sides to a base are put together; what both changed is a conflict")
  func threeWay() throws {
    let base = try Self.library("1,Zola\n2,Eliot\n3,Homer\n", "1,Nana,1\n2,Emma,2\n")
    let ours = try Self.library("1,Émile Zola\n2,Eliot\n3,Homer\n4,Colette\n", "1,Nana,1\n2,Emma,2\n3,Chéri,4\n")
    let theirs = try Self.library("1,Zola\n2,George Eliot\n4,Sand\n", "1,Nana,2\n3,Indiana,4\n")
    let result = try StoreMerge().merge(base: base, ours, theirs)
    let nodes = result.nodes
    #expect(try nodes.value("Author", 1, "name") == .string("Émile Zola"))
    #expect(try nodes.value("Author", 2, "name") == .string("George Eliot"))
    // Both added an author 4 and a book 3: those of the other side get new references.
    #expect(try nodes.value("Author", 4, "name") == .string("Colette"))
    #expect(try nodes.value("Author", 5, "name") == .string("Sand"))
    #expect(try nodes.value("Book", 6, "author") == toOne("Author", 5))
    #expect(try nodes.value("Book", 1, "author") == toOne("Author", 2))
    // Deleted there, unchanged here.
    #expect(nodes.count("Author") == 4 && nodes.count("Book") == 3)
    #expect(result.renumbered == ["Author": 1, "Book": 1] && Self.isSound(nodes))
    let both = try Self.library("1,Zola the Great\n2,Eliot\n3,Homer\n", "1,Nana,1\n2,Emma,2\n")
    let error = try #require(throws: StoreMerge.ConflictError.self) {
      _ = try StoreMerge().merge(base: base, ours, both)
    }
    #expect(error.conflicts.map(\.description) == ["Author/1.name: 'Émile Zola' or 'Zola the Great'"])
  }

  @Test("an object that one side deleted and the other changed is a conflict")
  func deletedAndChanged() throws {
    let base = try Self.library("1,Zola\n2,Eliot\n")
    let ours = try Self.library("1,Zola\n")
    let theirs = try Self.library("1,Zola\n2,George Eliot\n")
    var merge = StoreMerge()
    let error = try #require(throws: StoreMerge.ConflictError.self) { _ = try merge.merge(base: base, ours, theirs) }
    #expect(error.conflicts.map(\.description) == ["Author/2: deleted or changed"])
    merge.conflictRule = .last
    #expect(try merge.merge(base: base, ours, theirs).nodes.value("Author", 2, "name") == .string("George Eliot"))
    merge.conflictRule = .first
    #expect(try merge.merge(base: base, ours, theirs).nodes.count("Author") == 1)
  }

  @Test(
    "a new reference to an object that the other side deleted is a conflict, and is not lost", arguments: [false, true])
  func deletedAndReferred(_ isSwapped: Bool) throws {
    let base = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,1\n2,Emma,1\n")
    let deleting = try Self.library("1,Zola\n", "1,Nana,1\n2,Emma,1\n")
    // A new book, and an old one that changes hands.
    let referring = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,1\n2,Emma,2\n3,Middlemarch,2\n")
    let sides = isSwapped ? (referring, deleting) : (deleting, referring)
    var merge = StoreMerge()
    let error = try #require(throws: StoreMerge.ConflictError.self) {
      _ = try merge.merge(base: base, sides.0, sides.1)
    }
    let use = "the value of Book/2.author"
    #expect(
      error.conflicts.map(\.description) == ["Author/2: " + (isSwapped ? "\(use) or deleted" : "deleted or \(use)")])
    merge.conflictRule = isSwapped ? .first : .last
    let kept = try merge.merge(base: base, sides.0, sides.1).nodes
    #expect(try kept.value("Author", 2, "name") == .string("Eliot"))
    #expect(try kept.value("Author", 2, "books") == toMany("Book", 2, 3))
    #expect(kept.count("Book") == 3 && Self.isSound(kept))
    merge.conflictRule = isSwapped ? .last : .first
    // The model requires an author, which the new book would lose.
    let refused = #expect(throws: StoreMerge.ConflictError.self) { try merge.merge(base: base, sides.0, sides.1) }
    #expect(refused?.conflicts.map(\.description) == ["Book/3.author: an object is needed"])
  }

  @Test(
    "a reference to an object that the decision deletes has the value of the side that deleted it",
    arguments: [false, true])
  func deletedAndMovedTo(_ isSwapped: Bool) throws {
    let base = try Self.library("1,Zola\n2,Eliot\n3,Sand\n", "1,Nana,1\n2,Emma,1\n")
    // One book goes to an author that the other side deletes; and the author that it belonged to is deleted here.
    let moving = try Self.library("2,Eliot\n3,Sand\n", "1,Nana,2\n2,Emma,3\n")
    let deleting = try Self.library("1,Zola\n3,Sand\n", "1,Nana,1\n2,Emma,1\n")
    var merge = StoreMerge()
    merge.conflictRule = isSwapped ? .first : .last
    let sides = isSwapped ? (deleting, moving) : (moving, deleting)
    let result = try merge.merge(base: base, sides.0, sides.1)
    #expect(try result.nodes.value("Book", 1, "author") == toOne("Author", 1))
    #expect(try result.nodes.value("Book", 2, "author") == toOne("Author", 3))
    #expect(try result.nodes.value("Author", 1, "name") == .string("Zola"))
    #expect(result.nodes.count("Author") == 2 && Self.isSound(result.nodes))
    let lost = "the value of Book/1.author"
    #expect(
      result.settled.map(\.description)
        == (isSwapped
          ? ["Author/2: deleted or \(lost)", "Author/1: \(lost) or deleted", "Book/1.author: Author/1 or Author/2"]
          : ["Author/2: \(lost) or deleted", "Author/1: deleted or \(lost)", "Book/1.author: Author/2 or Author/1"]),
      "\(result.settled)")
  }

  private static func pair(_ first: RelationshipDescription, _ second: RelationshipDescription) throws -> StoreImporter
  {
    let label = PropertyDescription.attribute(AttributeDescription(name: "label", type: .string))
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Note", properties: [label, .relationship(first)]),
        EntityDescription(name: "State", properties: [label, .relationship(second)]),
      ]))
    return importer
  }

  @Test("ends that contradict each other in a store are kept, also if its objects get other references")
  func keptContradictions() throws {
    let importer = try Self.pair(
      RelationshipDescription(name: "state", destinationEntityName: "State", inverseName: "note", maximumCount: 1),
      RelationshipDescription(name: "note", destinationEntityName: "Note", inverseName: "state", maximumCount: 1))
    var nodes = try importer.read([
      LibrarySample.source("id,label,state\n1,n,1\n", "notes.csv"),
      LibrarySample.source("id,label\n1,s\n", "states.csv"),
    ]).nodes
    let state = try #require(nodes.handle(for: ObjectReference(entityName: "State", reference: .integer(1))))
    let slot = try #require(nodes.model.entity(named: "State")?.slot(named: "note"))
    try nodes.set(.null, slot: slot, of: state)
    #expect(nodes.inverseDisagreements().count == 1)
    var merge = StoreMerge()
    merge.matching = .nothing
    let merged = try merge.merge([nodes, nodes]).nodes
    #expect(
      merged.inverseDisagreements().map(\.description) == [
        "Note/1.state names State/1, but State/1.note does not name Note/1",
        "Note/2.state names State/3, but State/3.note does not name Note/2",
      ])
  }

  @Test(
    "a merge leaves a required to-many without a minimum count empty only if that is allowed", arguments: [false, true])
  func emptyToMany(_ isAllowed: Bool) throws {
    var states = RelationshipDescription(
      name: "states", destinationEntityName: "State", inverseName: "note", maximumCount: 0)
    states.isOptional = false
    let importer = try Self.pair(
      states,
      RelationshipDescription(name: "note", destinationEntityName: "Note", inverseName: "states", maximumCount: 1))
    func graph(_ rows: String) throws -> NodeTable {
      try importer.read([
        LibrarySample.source("id,label\n1,n\n", "notes.csv"),
        LibrarySample.source("id,label,note\n" + rows, "states.csv"),
      ]).nodes
    }
    let base = try graph("1,a,1\n2,b,1\n")
    var merge = StoreMerge()
    merge.allowsEmptyNonOptionalToMany = isAllowed
    let sides = (try graph("1,a,\n2,b,1\n"), try graph("1,a,1\n2,b,\n"))
    if isAllowed {
      #expect(try merge.merge(base: base, sides.0, sides.1).nodes.value("Note", 1, "states") == toMany("State"))
    } else {
      let error = #expect(throws: StoreMerge.ConflictError.self) { try merge.merge(base: base, sides.0, sides.1) }
      #expect(error?.conflicts.map(\.description) == ["Note/1.states: an object is needed"])
    }
  }

  @Test("a merge that would leave a required value empty is refused, with the object and the property")
  func required() throws {
    func staff(_ depts: String, _ emps: String) throws -> NodeTable {
      var importer = StoreImporter()
      importer.model = try StaffSample.model(required: ["Emp.dept"])
      return try importer.read(StaffSample.tables(["Dept": "id,name\n" + depts, "Emp": "id,name,dept\n" + emps])).nodes
    }
    let base = try staff("1,A\n2,B\n", "1,Ann,1\n")
    let adding = try staff("1,A\n2,B\n", "1,Ann,1\n2,Bob,2\n")
    let deleting = try staff("1,A\n", "1,Ann,1\n")
    var merge = StoreMerge()
    merge.conflictRule = .last
    let error = #expect(throws: StoreMerge.ConflictError.self) { try merge.merge(base: base, adding, deleting) }
    #expect(error?.conflicts.map(\.description) == ["Emp/2.dept: an object is needed"])
    merge.conflictRule = .first
    #expect(try merge.merge(base: base, adding, deleting).nodes.count("Emp") == 2)
  }

  /// Items with tags, many to many, and with a box and a badge each.
  private static func items(_ items: String, _ tags: String, _ boxes: String = "id,label\n1,b\n") throws -> NodeTable {
    func relationship(_ name: String, _ to: String, _ inverse: String, _ count: Int) -> PropertyDescription {
      .relationship(
        RelationshipDescription(name: name, destinationEntityName: to, inverseName: inverse, maximumCount: count))
    }
    let label = PropertyDescription.attribute(AttributeDescription(name: "label", type: .string))
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [label, relationship("tags", "Tag", "items", 0), relationship("box", "Box", "items", 1)]),
        EntityDescription(name: "Tag", properties: [label, relationship("items", "Item", "tags", 0)]),
        EntityDescription(name: "Box", properties: [label, relationship("items", "Item", "box", 0)]),
      ]))
    return try importer.read([
      LibrarySample.source("id,label,tags,box\n" + items, "items.csv"),
      LibrarySample.source("id,label\n" + tags, "tags.csv"),
      LibrarySample.source(boxes, "boxes.csv"),
    ]).nodes
  }

  @Test(
    "an object that is kept although one side deleted it keeps its relationships, at both ends",
    arguments: [false, true])
  func deletedAndLinked(_ isSwapped: Bool) throws {
    let base = try Self.items("1,a,1 2,1\n2,b,1,1\n3,c,2,\n", "1,x\n2,y\n")
    let deleting = try Self.items("1,a,2,\n2,b,,\n3,c,2,\n", "2,y\n", "id,label\n")
    // It changes both, takes item 2 out of the tag and puts item 3 in.
    let changing = try Self.items("1,a,1 2,1\n2,b,,1\n3,c,1 2,\n", "1,z\n2,y\n", "id,label\n1,bb\n")
    let sides = isSwapped ? (changing, deleting) : (deleting, changing)
    var merge = StoreMerge()
    merge.conflictRule = isSwapped ? .first : .last
    let kept = try merge.merge(base: base, sides.0, sides.1)
    #expect(kept.settled.count == 2 && Self.isSound(kept.nodes))
    #expect(try kept.nodes.value("Tag", 1, "items") == toMany("Item", 1, 3))
    #expect(try kept.nodes.value("Item", 3, "tags") == toMany("Tag", 1, 2))
    #expect(try kept.nodes.value("Box", 1, "items") == toMany("Item", 1, 2))
    merge.conflictRule = isSwapped ? .last : .first
    let gone = try merge.merge(base: base, sides.0, sides.1).nodes
    #expect(gone.count("Tag") == 1 && gone.count("Box") == 0 && Self.isSound(gone))
    #expect(try gone.value("Item", 1, "tags") == toMany("Tag", 2))
  }

  @Test("an object that one side deleted, and to which nothing new leads, goes without a conflict")
  func deletedAndUnused() throws {
    let base = try Self.library("1,Zola\n2,Eliot\n", "1,Nana,1\n2,Emma,2\n")
    let deleting = try Self.library("1,Zola\n", "1,Nana,1\n")
    let other = try Self.library("1,Zola\n2,Eliot\n3,Sand\n", "1,Nana,3\n2,Emma,2\n")
    let merged = try StoreMerge().merge(base: base, deleting, other).nodes
    #expect(merged.count("Author") == 2 && merged.count("Book") == 1 && Self.isSound(merged))
    #expect(try merged.value("Book", 1, "author") == toOne("Author", 3))
  }

  @Test("stores of different models are not merged")
  func models() throws {
    let one = try Self.library("1,Zola\n")
    var importer = StoreImporter()
    importer.model = try LibrarySample.model("Library 3")
    let other = try importer.read([LibrarySample.source("id,name\n1,Zola\n", "authors.csv")]).nodes
    let error = try #require(throws: PersistentStoreError.self) { _ = try StoreMerge().merge([one, other]) }
    #expect(error.code == .modelMismatch)
  }
}
