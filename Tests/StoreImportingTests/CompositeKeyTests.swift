import AtomicStoreSPI
import StoreImporting
import TestSupport
import Testing

@Suite("Importing keys of several columns") struct CompositeKeyTests {
  private static let weather = "airport,hour,temp\nJFK,1,20\nJFK,2,21\nLGA,1,19\n"

  /// Flights whose weather has a key of two columns, one of which is the flight's airport as well.
  private static func importer() -> StoreImporter {
    var importer = StoreImporter()
    importer.keyColumns = ["Weather": ["airport", "hour"]]
    importer.relationshipColumns = [
      .init(
        entityName: "Flight", relationshipName: "weather", columns: ["origin", "time_hour"],
        destinationEntityName: "Weather")
    ]
    return importer
  }

  private static func tables(_ flights: String, _ name: String = "Flight.csv", weather: String = weather)
    -> [ImportSource]
  {
    [LibrarySample.source(weather, "Weather.csv"), LibrarySample.source(flights, name)]
  }

  private static func weather(_ nodes: NodeTable, _ flight: Int64) throws -> String? {
    guard case .toOne(let object) = try nodes.value("Flight", flight, "weather") else { return nil }
    return object.reference.description
  }

  @Test("several columns are one relationship, and stay attributes", arguments: ["csv", "tsv", "json", "ndjson"])
  func several(format: String) throws {
    let records = [
      "1": ["JFK", "2"], "2": ["LGA", "1"],
    ].sorted { $0.key < $1.key }
    let objects = records.map { "{\"id\": \($0.key), \"origin\": \"\($0.value[0])\", \"time_hour\": \($0.value[1])}" }
    let separator = format == "tsv" ? "\t" : ","
    let text =
      switch format {
      case "json": "[" + objects.joined(separator: ",") + "]"
      case "ndjson": objects.joined(separator: "\n")
      default:
        (["id,origin,time_hour"] + records.map { "\($0.key),\($0.value.joined(separator: ","))" })
          .map { $0.replacing(",", with: separator) + "\n" }.joined()
      }
    let nodes = try Self.importer().read(Self.tables(text, "Flight.\(format)")).nodes
    #expect(try Self.weather(nodes, 1) == "JFK|2" && Self.weather(nodes, 2) == "LGA|1")
    #expect(try nodes.value("Flight", 1, "origin") == .string("JFK"))
    #expect(try nodes.value("Flight", 1, "timeHour") == .integer(2))
    let place = ObjectReference(entityName: "Weather", reference: .string("JFK|2"))
    let node = try #require(nodes.handle(for: place))
    #expect(nodes.value(forKey: "flights", of: node) == toMany("Flight", 1))
    #expect(nodes.value(forKey: "temp", of: node) == .integer(21))
  }

  @Test("a key with a part missing refers to nothing, which is noted", arguments: [false, true])
  func missingParts(isJSON: Bool) throws {
    let flights =
      isJSON
      ? """
      {"id": 1, "origin": "JFK", "time_hour": null}
      {"id": 2, "time_hour": 1}
      {"id": 3}
      {"id": 4, "origin": "LGA", "time_hour": 1}
      """ : "id,origin,time_hour\n1,JFK,\n2,,1\n3,,\n4,LGA,1\n"
    let result = try Self.importer().read(Self.tables(flights, isJSON ? "Flight.ndjson" : "Flight.csv"))
    #expect(try (1...4).map { try Self.weather(result.nodes, $0) } == [nil, nil, nil, "LGA|1"])
    #expect(
      result.notes.map(\.description).contains(
        "Flight.weather: no object, because a column of the key has no value: origin, time_hour (2)"),
      "\(result.notes)")
    #expect(try result.nodes.value("Flight", 1, "origin") == .string("JFK"))
  }

  @Test("an object of the store keeps its relationship where a record lacks a part of the key, which is noted")
  func partsOfUpdate() throws {
    var importer = Self.importer()
    // The last one makes the hour optional.
    let flights = "id,origin,time_hour\n1,JFK,2\n2,JFK,2\n3,JFK,2\n9,JFK,\n"
    importer.existing = try importer.read(Self.tables(flights)).nodes
    importer.existingObjects = .update
    let records = """
      {"id": 1, "origin": "LGA"}
      {"id": 2, "origin": "LGA", "time_hour": 1}
      {"id": 3, "origin": "LGA", "time_hour": null}
      {"id": 4, "origin": "LGA"}
      """
    let result = try importer.read(Self.tables(records, "Flight.ndjson"))
    #expect(try (1...4).map { try Self.weather(result.nodes, $0) } == ["JFK|2", "LGA|1", nil, nil])
    #expect(try result.nodes.value("Flight", 1, "origin") == .string("LGA"))
    #expect(
      result.notes.map(\.description).filter { $0.contains("of the key") } == [
        "Flight.weather: no object, because a column of the key has no value: origin, time_hour (2)",
        "Flight.weather: kept, because records lack a column of the key: origin, time_hour (1)",
      ], "\(result.notes)")
  }

  @Test("a column may be a relationship and a part of others")
  func shared() throws {
    var importer = Self.importer()
    importer.relationshipColumns.append(
      .init(entityName: "Flight", relationshipName: "airport", columns: ["origin"], destinationEntityName: "Airport"))
    let airports = LibrarySample.source("id,name\nJFK,Kennedy\nLGA,LaGuardia\n", "Airport.csv")
    let nodes = try importer.read(Self.tables("id,origin,time_hour\n1,JFK,2\n2,LGA,\n") + [airports]).nodes
    #expect(try Self.weather(nodes, 1) == "JFK|2" && Self.weather(nodes, 2) == nil)
    for (flight, code) in [(1, "JFK"), (2, "LGA")] as [(Int64, String)] {
      let airport = ObjectReference(entityName: "Airport", reference: .string(code))
      #expect(try nodes.value("Flight", flight, "airport") == .toOne(airport))
    }
  }

  @Test("where the key is a number, other spellings of it are the same key")
  func numbers() throws {
    let nodes = try Self.importer().read(Self.tables("id,origin,time_hour\n1,JFK,2.0\n2, LGA ,1\n")).nodes
    #expect(try Self.weather(nodes, 1) == "JFK|2" && Self.weather(nodes, 2) == "LGA|1")
    // Codes with leading zeros are texts.
    let codes = "airport,hour,temp\nJFK,01,20\nJFK,1,21\n"
    let other = try Self.importer().read(Self.tables("id,origin,time_hour\n1,JFK,01\n2,JFK,1\n", weather: codes)).nodes
    #expect(try Self.weather(other, 1) == "JFK|01" && Self.weather(other, 2) == "JFK|1")
  }

  @Test("parts with bars and backslashes make different keys")
  func bars() throws {
    let weather = "airport,hour,temp\na|,b,1\na,|b,2\na\\,b,3\na,\\b,4\n"
    let flights = "id,origin,time_hour\n1,a|,b\n2,a,|b\n3,a\\,b\n4,a,\\b\n"
    let nodes = try Self.importer().read(Self.tables(flights, weather: weather)).nodes
    #expect(nodes.count("Weather") == 4)
    for flight in 1...4 as ClosedRange<Int64> {
      guard case .toOne(let object) = try nodes.value("Flight", flight, "weather") else { continue }
      let node = try #require(nodes.handle(for: object))
      #expect(nodes.value(forKey: "temp", of: node) == .integer(flight))
    }
  }

  @Test("records may refer to others of their table by several columns")
  func selfReference() throws {
    var importer = StoreImporter()
    importer.keyColumns = ["Person": ["team", "nr"]]
    importer.relationshipColumns = [
      .init(
        entityName: "Person", relationshipName: "boss", columns: ["boss_team", "boss_nr"],
        destinationEntityName: "Person")
    ]
    let text = "team,nr,boss_team,boss_nr\nA,1,B,1\nA,2,A,1\nB,1,,\n"
    let nodes = try importer.read([LibrarySample.source(text, "Person.csv")]).nodes
    func person(_ key: String) -> ObjectReference { ObjectReference(entityName: "Person", reference: .string(key)) }
    let one = try #require(nodes.handle(for: person("A|1")))
    #expect(nodes.value(forKey: "boss", of: one) == .toOne(person("B|1")))
    #expect(
      nodes.value(forKey: "personsByBoss", of: one) == .toMany([person("A|2")])
        || nodes.value(forKey: "peopleByBoss", of: one) == .toMany([person("A|2")]))
  }

  @Test("dangling keys are treated as those of one column", arguments: StoreImporter.DanglingKeys.allCases)
  func dangling(_ choice: StoreImporter.DanglingKeys) throws {
    var importer = Self.importer()
    importer.danglingKeys = choice
    importer.rejectsBadRecords = choice != .refuse
    let flights = "id,origin,time_hour\n1,JFK,9\n2,JFK,1\n"
    guard choice != .refuse else {
      #expect(
        try problems(importer, Self.tables(flights)).map(\.description) == [
          "Flight.csv:2:3 (Flight/1.weather): there is no Weather with the key 'JFK|9'"
        ])
      return
    }
    let result = try importer.read(Self.tables(flights))
    #expect(result.nodes.count("Flight") == (choice == .reject ? 1 : 2))
    #expect(try Self.weather(result.nodes, 2) == "JFK|1")
    #expect(
      String(decoding: result.tables[1].rejected, as: UTF8.self)
        == (choice == .reject ? "id,origin,time_hour\n1,JFK,9\n" : ""))
    #expect(result.danglingReferences == (choice == .keepAsText ? ["Flight/1.weather": ["Weather/JFK|9"]] : [:]))
  }

  @Test("records that are added to a store find its objects, by key and by property")
  func existing() throws {
    var importer = Self.importer()
    importer.existing = try importer.read(Self.tables("id,origin,time_hour\n1,JFK,1\n")).nodes
    // The weather is in the store alone.
    importer.keyColumns = [:]
    let appended = try importer.read([LibrarySample.source("id,origin,time_hour\n2,JFK,2\n", "Flight.csv")]).nodes
    #expect(try Self.weather(appended, 1) == "JFK|1" && Self.weather(appended, 2) == "JFK|2")
    importer.existingObjects = .update
    importer.keyColumns = ["Weather": ["airport", "hour"]]
    let updated = try importer.read(
      Self.tables("id,origin,time_hour\n1,SFO,7\n", weather: "airport,hour,temp\nSFO,7,9\nJFK,1,30\n")
    ).nodes
    #expect(try Self.weather(updated, 1) == "SFO|7" && updated.count("Weather") == 4)
    let kept = try importer.read([
      LibrarySample.source("airport,hour,temp\nSFO,7,9\n", "Weather.csv"),
      LibrarySample.source("{\"id\": 1}\n{\"id\": 3, \"origin\": \"SFO\", \"time_hour\": 7}", "Flight.ndjson"),
    ]).nodes
    #expect(try Self.weather(kept, 1) == "JFK|1" && Self.weather(kept, 3) == "SFO|7")
    // Objects found by a property have other references than the keys of the tables.
    importer.existingObjects = .updateByProperty(["Weather": "temp"])
    let found = try importer.read(
      Self.tables("id,origin,time_hour\n5,X,1\n6,Y,2\n", weather: "airport,hour,temp\nX,1,21\nY,2,50\n")
    ).nodes
    #expect(try Self.weather(found, 5) == "JFK|2" && found.count("Weather") == 4)
    #expect(try Self.weather(found, 6) != nil)
  }

  @Test("join tables take keys of several columns at either end")
  func joins() throws {
    var importer = StoreImporter()
    func many(_ name: String, _ destination: String, _ inverse: String) -> PropertyDescription {
      .relationship(
        RelationshipDescription(name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: 0))
    }
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "A", properties: [many("bs", "B", "as")]),
        EntityDescription(name: "B", properties: [many("as", "A", "bs")]),
      ]))
    importer.keyColumns = ["A": ["x", "y"]]
    importer.joinTables = [
      .init(
        entityName: "A", relationshipName: "bs", source: LibrarySample.source("x,y,b\np,1,7\np,2,7\np,2,8\n", "j.csv"),
        columns: ["x", "y", "b"])
    ]
    let tables = [
      LibrarySample.source("x,y\np,1\np,2\n", "A.csv"), LibrarySample.source("id\n7\n8\n", "B.csv"),
    ]
    func pairs(_ nodes: NodeTable) throws -> [String] {
      try [7, 8].flatMap { (b: Int64) -> [String] in
        guard case .toMany(let list) = try nodes.value("B", b, "as") else { return [] }
        return list.map { "\($0.reference) \(b)" }
      }
    }
    #expect(Set(try pairs(importer.read(tables).nodes)) == ["p|1 7", "p|2 7", "p|2 8"])
    importer.keyColumns = ["A": ["x"]]
    #expect(throws: PersistentStoreError.self) { try importer.read(tables) }
  }

  @Test("what cannot be asked of columns is refused", arguments: ["width", "toMany", "column", "twice"])
  func refused(_ what: String) throws {
    var importer = Self.importer()
    switch what {
    case "width": importer.keyColumns = ["Weather": ["airport"]]
    case "column":
      importer.relationshipColumns = [
        .init(
          entityName: "Flight", relationshipName: "weather", columns: ["origin", "hour"],
          destinationEntityName: "Weather")
      ]
    case "twice":
      importer.model = try importer.read(Self.tables("id,origin,time_hour\n1,JFK,2\n")).nodes.model
      importer.relationshipColumns.append(importer.relationshipColumns[0])
    default:
      importer = try LibrarySample.importer()
      importer.relationshipColumns = [
        .init(entityName: "Author", relationshipName: "books", columns: ["id", "name"])
      ]
    }
    let tables =
      what == "toMany"
      ? [LibrarySample.source("id,name\n1,a\n", "authors.csv")] : Self.tables("id,origin,time_hour\n1,JFK,2\n")
    let error = #expect(throws: PersistentStoreError.self) { try importer.read(tables) }
    let expected = [
      "width": "Flight.weather has the columns origin, time_hour, but the key of Weather is airport",
      "column": "hour", "twice": "named twice", "toMany": "is a to-many relationship",
    ]
    #expect(error?.message.contains(expected[what] ?? "?") ?? false, "\(String(describing: error))")
  }
}
