import AtomicStoreSPI
import StoreImporting
import Testing

@Suite("Importing several tables of one entity, and join tables without a model") struct TablePartTests {
  private static func part(_ text: String, _ name: String, entity: String = "Flight") -> ImportSource {
    LibrarySample.source(text, name, entity: entity)
  }

  @Test("types are those of all tables; a table without a column has no values of it, which is noted")
  func parts() throws {
    let result = try StoreImporter().read([
      Self.part("id,delay,carrier\n1,5,AA\n2,7,UA\n", "a.csv"),
      Self.part("id,carrier,delay,note\n3,AA,2.5,late\n", "b.csv"),
      Self.part("{\"id\": 4, \"carrier\": \"AA\"}\n", "c.ndjson"),
    ])
    let nodes = result.nodes
    #expect(nodes.model.entities.map(\.name) == ["Flight"] && nodes.count("Flight") == 4)
    let entity = try #require(nodes.model.entity(named: "Flight"))
    #expect(entity.slots.map(\.name) == ["delay", "carrier", "note"])
    #expect(entity.attributesByName["delay"]?.type == .decimal && entity.attributesByName["delay"]?.isOptional == true)
    #expect(entity.attributesByName["carrier"]?.isOptional == false)
    #expect(try nodes.value("Flight", 1, "note").isNull && nodes.value("Flight", 4, "delay").isNull)
    #expect(try nodes.value("Flight", 3, "note") == .string("late"))
    let end = "does not have the column, which another table of Flight has"
    #expect(
      result.notes.map(\.description) == [
        "Flight.note: a.csv \(end) (2)", "Flight.delay: c.ndjson \(end) (1)", "Flight.note: c.ndjson \(end) (1)",
      ], "\(result.notes)")
  }

  @Test("keys are unique over all tables, and problems name the file and line")
  func keys() throws {
    let found = try problems(
      StoreImporter(), [Self.part("id,n\n1,a\n", "a.csv"), Self.part("id,n\n2,b\n1,c\n", "b.csv")])
    #expect(
      found.map(\.description) == ["b.csv:3:1 (Flight.id): another record has the key '1': a.csv, line 2"], "\(found)"
    )
  }

  @Test("the pairs of a join table are those of records of all tables of the entity", arguments: [false, true])
  func joinedParts(rejects: Bool) throws {
    var importer = StoreImporter()
    importer.rejectsBadRecords = rejects
    importer.joinTables = [
      .init(
        entityName: "Person", relationshipName: "tags", source: LibrarySample.source("p,t\n1,1\n3,2\n4,1\n", "j.csv"),
        columns: ["p", "t"], destinationEntityName: "Tag")
    ]
    let result = try importer.read([
      Self.part("id,name\n1,a\n2,b\n" + (rejects ? "1,again\n" : ""), "p1.csv", entity: "Person"),
      Self.part("id,name\n3,c\n4,d\n", "p2.csv", entity: "Person"),
      Self.part("id,tag\n1,x\n2,y\n", "tag.csv", entity: "Tag"),
    ])
    #expect(try result.nodes.value("Person", 1, "tags") == toMany("Tag", 1))
    #expect(try result.nodes.value("Person", 3, "tags") == toMany("Tag", 2))
    #expect(try result.nodes.value("Person", 4, "tags") == toMany("Tag", 1))
    #expect(result.problems.count == (rejects ? 1 : 0))
  }

  @Test("a table without a key beside one with a key is refused: foreign keys could name its numbers")
  func keyless() throws {
    let tables = [
      Self.part("id,name\n10,a\n", "pk.csv", entity: "Person"), Self.part("name\nc\n", "pn.csv", entity: "Person"),
    ]
    for order in [tables, tables.reversed()] {
      let error = #expect(throws: PersistentStoreError.self) { _ = try StoreImporter().read(order) }
      #expect(error?.location.file == "pn.csv" && error?.message.contains("'id', which pk.csv has") == true, "\(order)")
    }
  }

  @Test("a relationship whose column only some tables have is kept, at both ends", arguments: [false, true])
  func relationships(hasModel: Bool) throws {
    var importer = StoreImporter()
    let authors = Self.part("id,name\n1,Zola\n", "authors.csv", entity: "Author")
    let books = [
      Self.part("id,title,author_id\n1,Nana,1\n", "a.csv", entity: "Book"),
      Self.part("id,title\n2,Emma\n", "b.csv", entity: "Book"),
    ]
    if hasModel { importer.model = try importer.read([authors] + books).nodes.model }
    for order in [[authors] + books, books.reversed() + [authors]] {
      let result = try importer.read(order)
      #expect(try result.nodes.value("Book", 1, "author") == toOne("Author", 1))
      #expect(try result.nodes.value("Author", 1, "books") == toMany("Book", 1))
      #expect(try result.nodes.value("Book", 2, "author").isNull)
      #expect(result.notes.contains { $0.subject == "Book.author" && $0.text.hasPrefix("b.csv does not") })
    }
    importer.relationshipColumns = [
      .init(entityName: "Book", relationshipName: "author", columns: ["author_id"], destinationEntityName: "Author")
    ]
    #expect(try importer.read([authors] + books).nodes.value("Book", 1, "author") == toOne("Author", 1))
  }

  @Test("tables of one entity may spell the column of a relationship in several ways")
  func spellings() throws {
    let nodes = try StoreImporter().read([
      Self.part("id,name\n1,a\n", "person.csv", entity: "Person"),
      Self.part("id,person_id\n1,1\n", "q1.csv", entity: "Item"),
      Self.part("id,personId\n2,1\n", "q2.csv", entity: "Item"),
    ]).nodes
    #expect(try nodes.value("Person", 1, "items") == toMany("Item", 1, 2))
  }

  @Test("tables of one entity that no one named are refused, with what to say")
  func unnamed() throws {
    let error = #expect(throws: PersistentStoreError.self) {
      try StoreImporter().read([
        LibrarySample.source("id\n1\n", "t.csv"), LibrarySample.source("id\n1\n", "t.tsv"),
      ])
    }
    #expect(error?.message.contains("say T=t.csv,t.tsv") ?? false, "\(String(describing: error))")
  }

  @Test("a join table makes a many-to-many relationship, whose entity is that of its column")
  func joins() throws {
    var importer = StoreImporter()
    let tables = [
      LibrarySample.source("id,name\n1,a\n2,b\n", "playlists.csv"),
      LibrarySample.source("id,title\n7,x\n8,y\n", "tracks.csv"),
    ]
    importer.joinTables = [
      .init(
        entityName: "Playlist", relationshipName: "tracks",
        source: LibrarySample.source("playlist_id,track_id\n1,7\n2,7\n1,8\n", "pt.csv"),
        columns: ["playlist_id", "track_id"])
    ]
    let nodes = try importer.read(tables).nodes
    #expect(try nodes.value("Playlist", 1, "tracks") == toMany("Track", 7, 8))
    #expect(try nodes.value("Track", 7, "playlists") == toMany("Playlist", 1, 2))
    // A second one between the same entities, and one whose column is called otherwise.
    importer.joinTables.append(
      .init(
        entityName: "Playlist", relationshipName: "favorites", source: LibrarySample.source("p,t\n2,8\n", "f.csv"),
        columns: ["p", "t"], destinationEntityName: "Track"))
    let both = try importer.read(tables).nodes
    #expect(try both.value("Playlist", 2, "favorites") == toMany("Track", 8))
    #expect(try both.value("Track", 8, "playlistsByFavorites") == toMany("Playlist", 2))
    importer.joinTables[1].destinationEntityName = nil
    let error = #expect(throws: PersistentStoreError.self) { try importer.read(tables) }
    #expect(error?.message.contains("'Playlist.favorites' needs the entity") ?? false, "\(String(describing: error))")
    // Of one entity with itself.
    importer.joinTables = [
      .init(
        entityName: "Track", relationshipName: "similar", source: LibrarySample.source("a,b\n7,8\n", "s.csv"),
        columns: ["a", "b"], destinationEntityName: "Track")
    ]
    #expect(try importer.read(tables).nodes.value("Track", 8, "tracksBySimilar") == toMany("Track", 7))
  }
}
