import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("The two ends of a relationship") struct InverseTests {
  /// One-to-many (one of them ordered), one-to-one, many-to-many, a relationship that mirrors itself, and a hierarchy.
  static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        relationship("team", to: "Team", inverse: "members"), relationship("queue", to: "Team", inverse: "waiting"),
        relationship("desk", to: "Desk", inverse: "owner"),
        relationship("tags", to: "Tag", inverse: "tagged", isToMany: true),
        relationship("friends", to: "Person", inverse: "friends", isToMany: true),
        relationship("spouse", to: "Person", inverse: "spouse"),
      ], subentities: [EntityDescription(name: "Manager")]),
    EntityDescription(
      name: "Team",
      properties: [
        relationship("members", to: "Person", inverse: "team", isToMany: true),
        relationship("waiting", to: "Person", inverse: "queue", isToMany: true, isOrdered: true),
      ]),
    EntityDescription(name: "Desk", properties: [relationship("owner", to: "Person", inverse: "desk")]),
    EntityDescription(name: "Tag", properties: [relationship("tagged", to: "Person", inverse: "tags", isToMany: true)]),
  ])

  static func relationship(
    _ name: String, to destination: String, inverse: String, isToMany: Bool = false, isOrdered: Bool = false
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: isToMany ? 0 : 1,
        isOrdered: isOrdered))
  }

  /// `Person`, of which 3 is a manager, 1 to 3; `Team` 4 and 5; `Desk` 6; `Tag` 7.
  static let sound: [String: [Int: [Int]]] = [
    "team": [1: [4], 2: [4], 3: [5]], "members": [4: [1, 2], 5: [3]], "queue": [1: [5], 3: [5]],
    "waiting": [5: [3, 1]],
    "desk": [2: [6]], "owner": [6: [2]], "tags": [1: [7], 3: [7]], "tagged": [7: [1, 3]],
    "friends": [1: [2], 2: [1], 3: [3]],
    "spouse": [1: [3], 3: [1]],
  ]
  static let entityNames = [1: "Person", 2: "Person", 3: "Manager", 4: "Team", 5: "Team", 6: "Desk", 7: "Tag"]

  /// Writes a store of a type as it is, whether its ends agree or not.
  static func write(_ links: [String: [Int: [Int]]], _ type: String, in folder: UnknownOrderTests.Folder) throws
    -> String
  {
    let path = "\(folder.path)/store.\(try StoreRegistry.builtIn.storeType(named: type).traits.fileExtensions[0])"
    // Of dangling references a table can hold none: objects that are there while it is made stand for them.
    let model = try ManagedObjectModel(model)
    var nodes = NodeTable(model: model)
    for (number, name) in entityNames.sorted(by: { $0.key < $1.key }) {
      let entity = try #require(model.entity(named: name))
      _ = try nodes.addCacheNode(entity: entity.index, reference: .integer(Int64(number)))
    }
    func reference(_ number: Int) throws -> ObjectReference {
      ObjectReference(entityName: try #require(entityNames[number]), reference: .integer(Int64(number)))
    }
    for (property, owners) in links {
      for (owner, targets) in owners {
        let node = try #require(nodes.handle(for: try reference(owner)))
        let isToMany = model.entity(at: node.entity).slots.first { $0.name == property }?.isToMany ?? false
        let named = try targets.map { try reference($0) }
        try nodes.setValue(isToMany ? .toMany(named) : .toOne(named[0]), forKey: property, of: node)
      }
    }
    var format: any AtomicStore = try StoreRegistry.builtIn.storeType(named: type).init(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: format.layout, policy: .replaceAny)
    let metadata = StoreMetadata(storeType: type, lastReference: 7, model: model.description)
    try format.save(StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata), to: staged.files)
    try staged.finish()
    try staged.commit()
    return path
  }

  static func open(_ path: String, _ options: StoreOptions = [:]) throws -> PersistentStore {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    return try coordinator.addPersistentStore(at: path, options: options, isReadOnly: true)
  }

  /// All relationships that are not empty, as in ``sound``.
  static func links(_ store: PersistentStore) throws -> [String: [Int: [Int]]] {
    var result: [String: [Int: [Int]]] = [:]
    func number(_ reference: ObjectReference) throws -> Int { try #require(Int(reference.reference.description)) }
    for entity in store.model.entities {
      for node in store.nodes.handles(of: entity.index) {
        for slot in entity.slots {
          let owner = try number(store.nodes.objectReference(of: node))
          switch store.nodes.value(slot: slot.index, of: node) {
          case .toOne(let target): result[slot.name, default: [:]][owner] = [try number(target)]
          case .toMany(let list) where !list.isEmpty:
            result[slot.name, default: [:]][owner] = try list.map { try number($0) }
          default: break
          }
        }
      }
    }
    return result
  }

  static func changed(_ property: String, _ owner: Int, _ targets: [Int]?) -> [String: [Int: [Int]]] {
    var links = sound
    links[property]?[owner] = targets
    return links
  }

  static let types = ["XML", "BinaryPropertyList", "CSV", "Arrow"]

  @Test("a store whose ends agree is read unchanged", arguments: types)
  func agreeing(_ type: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let store = try Self.open(try Self.write(Self.sound, type, in: folder))
    #expect(try Self.links(store) == Self.sound)
    #expect(store.readNotes.isEmpty)
    #expect(store.nodes.inverseDisagreements().isEmpty)
  }

  /// A change to one end, and what the error's two places name.
  static let contradictions: [(property: String, owner: Int, targets: [Int]?, here: String, there: String)] = [
    ("team", 2, [5], "Person/2.team", "Team/5.members"), ("team", 2, nil, "Team/4.members", "Person/2.team"),
    ("members", 4, [1], "Person/2.team", "Team/4.members"), ("members", 5, [2, 3], "Team/5.members", "Person/2.team"),
    ("queue", 3, [4], "Manager/3.queue", "Team/4.waiting"), ("waiting", 5, [1], "Manager/3.queue", "Team/5.waiting"),
    ("desk", 2, nil, "Desk/6.owner", "Person/2.desk"), ("desk", 1, [6], "Person/1.desk", "Desk/6.owner"),
    ("owner", 6, [3], "Desk/6.owner", "Manager/3.desk"), ("tags", 2, [7], "Person/2.tags", "Tag/7.tagged"),
    ("tagged", 7, [1], "Manager/3.tags", "Tag/7.tagged"), ("tagged", 7, [1, 2], "Manager/3.tags", "Tag/7.tagged"),
    ("friends", 1, [2, 3], "Person/1.friends", "Manager/3.friends"),
    ("friends", 1, [3], "Person/1.friends", "Manager/3.friends"),
    ("spouse", 3, nil, "Person/1.spouse", "Manager/3.spouse"),
    ("spouse", 3, [2], "Manager/3.spouse", "Person/2.spouse"),
  ]

  @Test("ends that contradict each other are refused on request, with both locations", arguments: types, contradictions)
  func contradicting(
    _ type: String, _ change: (property: String, owner: Int, targets: [Int]?, here: String, there: String)
  ) throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.write(Self.changed(change.property, change.owner, change.targets), type, in: folder)
    let error = try XMLSupport.failure { _ = try Self.open(path, ["inverses": "refuse"]) }
    #expect(error.code == .inverseMismatch)
    let place = "\(error.location.entity ?? "")/\(error.location.reference ?? "").\(error.location.property ?? "")"
    #expect(place == change.here, "\(error)")
    #expect(error.message.contains(change.there), "\(error)")
    if type != "BinaryPropertyList" {
      // A table of columns has no lines: the file, the object and the property say where.
      #expect((error.location.line != nil) == (type != "Arrow"))
      let line = ["CSV": ".csv:", "Arrow": ".arrow"][type] ?? "store.xml:"
      #expect(error.message.contains(line), "the line of the other end: \(error)")
    }
    var converter = StoreConverter(registry: .builtIn)
    converter.readOptions = ["inverses": "refuse"]
    #expect(throws: PersistentStoreError.self) { try converter.convert(from: path, to: folder.path + "/copy.xml") }
    let unchecked = try PersistentStoreCoordinator(registry: .builtIn)
      .addPersistentStoreUnchecked(type: nil, at: path, options: [:])
    let first = try #require(unchecked.nodes.inverseDisagreements().first)
    #expect(["\(first.object).\(first.property)", "\(first.other).\(first.inverse)"] == [change.here, change.there])
  }

  @Test("the option inverses says which end is right", arguments: types)
  func repaired(_ type: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.write(Self.changed("team", 2, [5]), type, in: folder)
    let byOne = try Self.open(path, ["inverses": "from-to-one"])
    #expect(try Self.links(byOne) == Self.changed("team", 2, [5]).merging(["members": [4: [1], 5: [2, 3]]]) { $1 })
    #expect(byOne.readNotes.map { "\($0)" } == ["Team.members: changed to agree with 'team' (2)"])
    #expect(try Self.links(try Self.open(path, ["inverses": "from-to-many"])) == Self.sound)
  }

  @Test("a repaired ordered end keeps the order of the remaining objects", arguments: types)
  func repairedOrder(_ type: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.write(Self.changed("queue", 2, [5]), type, in: folder)
    #expect(try Self.links(try Self.open(path, ["inverses": "from-to-one"]))["waiting"] == [5: [3, 1, 2]])
    let other = try Self.write(Self.changed("queue", 3, nil), type, in: folder)
    #expect(try Self.links(try Self.open(other, ["inverses": "from-to-one"]))["waiting"] == [5: [1]])
  }

  static let oneToOnes: [(String, Int, [Int]?)] = [
    ("spouse", 3, [2]), ("spouse", 3, nil), ("desk", 2, nil), ("owner", 6, [3]),
  ]

  @Test("without an option, two to-one ends are read as they are stored, with a note", arguments: types, oneToOnes)
  func toOneAsStored(_ type: String, _ change: (String, Int, [Int]?)) throws {
    let folder = try UnknownOrderTests.Folder()
    let links = Self.changed(change.0, change.1, change.2)
    let path = try Self.write(links, type, in: folder)
    let store = try Self.open(path)
    #expect(try Self.links(store) == links.filter { !$0.value.isEmpty })
    let notes = store.loadNotes.filter(\.isWarning)
    #expect(
      !notes.isEmpty && notes.allSatisfy { $0.text.contains("read as stored") && !$0.isLoss }, "\(store.loadNotes)")
    #expect(notes.reduce(0) { $0 + $1.count } == store.nodes.inverseDisagreements().count)
    // What states both ends keeps both.
    for target in ["copy.xml", "copy.plist", "copy.csvstore", "copy.sqlite", "copy.sqlgraph", "copy.binary"] {
      let report = try StoreConverter(registry: .builtIn).convert(from: path, to: folder.path + "/" + target)
      #expect(report.selections.isEmpty, "\(target): \(report.selections)")
      #expect(try Self.links(try Self.open(folder.path + "/" + target)) == Self.links(store), "\(target)")
    }
  }

  @Test("a save of something else keeps a contradiction that it does not touch", arguments: types)
  func untouched(_ type: String) throws {
    let folder = try UnknownOrderTests.Folder()
    var links = Self.changed("spouse", 3, [2])
    let path = try Self.write(links, type, in: folder)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.verifiesSaves = true
    try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    let tag = try #require(try context.fetch(FetchRequest(entityName: "Tag")).first)
    let people = try context.fetch(FetchRequest(entityName: "Person"))
    try tag.setValue(Set(people), forKey: "tagged")
    try context.save()
    for person in 1...3 { links["tags", default: [:]][person] = [7] }
    links["tagged"] = [7: [1, 2, 3]]
    #expect(try Self.links(try Self.open(path)) == links)
  }

  @Test("an object in two lists stays with the one that it names, otherwise with the first", arguments: types)
  func claimedTwice(_ type: String) throws {
    let folder = try UnknownOrderTests.Folder()
    // Team 5 names 2 and 3; team 4 names 1 and 2; 2 names team 4.
    let twice = try Self.write(Self.changed("members", 5, [2, 3]), type, in: folder)
    let store = try Self.open(twice, ["inverses": "from-to-many"])
    #expect(try Self.links(store) == Self.sound)
    #expect(store.readNotes.map { "\($0)" } == ["Team.members: changed to agree with 'team' (1)"])
    var neither = Self.changed("members", 5, [2, 3])
    neither["team"]?[2] = nil
    let path = try Self.write(neither, type, in: folder)
    #expect(try Self.links(try Self.open(path, ["inverses": "from-to-many"])) == Self.sound)
  }

  @Test(
    "of two to-many ends, both rules keep the links that either has", arguments: types, ["from-to-many", "from-to-one"])
  func union(_ type: String, _ rule: String) throws {
    let folder = try UnknownOrderTests.Folder()
    for (property, owner, targets) in [("tags", 2, [7]), ("tagged", 7, [1]), ("friends", 1, [2, 3])] {
      var links = Self.changed(property, owner, targets)
      let path = try Self.write(links, type, in: folder)
      #expect(try XMLSupport.failure { _ = try Self.open(path) }.code == .inverseMismatch)
      let store = try Self.open(path, ["inverses": rule])
      #expect(store.nodes.inverseDisagreements().isEmpty)
      // The other end of each link is added where it is missing.
      let inverse = ["tags": "tagged", "tagged": "tags", "friends": "friends"][property] ?? ""
      for (name, other) in [(property, inverse), (inverse, property)] {
        for (source, list) in links[name] ?? [:] {
          for target in list where !(links[other]?[target] ?? []).contains(source) {
            links[other, default: [:]][target, default: []].append(source)
          }
        }
      }
      let found = try Self.links(store)
      for name in [property, inverse] {
        #expect(found[name]?.mapValues { $0.sorted() } == links[name]?.mapValues { $0.sorted() }, "\(property)")
      }
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test("a relationship whose inverse names a third is one-way")
  func oneWay() throws {
    var description = Self.model
    let desk = try #require(description.entities.firstIndex { $0.name == "Desk" })
    description.entities[desk].properties.append(
      Self.relationship("heirs", to: "Person", inverse: "desk", isToMany: true))
    let pairs = ManagedObjectModel(unchecked: description).inversePairs.map { "\($0.first.name)-\($0.second.name)" }
    #expect(
      pairs == ["owner-desk", "team-members", "queue-waiting", "tags-tagged", "friends-friends", "spouse-spouse"])
  }

  // MARK: Ends that the file leaves out

  /// A CSV folder without some columns, of all files.
  static func csv(
    leavingOut columns: Set<String>, _ links: [String: [Int: [Int]]] = sound, in folder: UnknownOrderTests.Folder
  ) throws -> String {
    let path = try write(links, "CSV", in: folder)
    for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasSuffix(".csv") {
      let file = URL(filePath: path + "/" + name)
      let records = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
        $0.split(separator: ",", omittingEmptySubsequences: false)
      }
      let kept = records[0].indices.filter { place in !columns.contains { records[0][place].hasPrefix($0 + "-") } }
      let text = records.map { record in kept.map { String(record[$0]) }.joined(separator: ",") + "\n" }.joined()
      try text.write(to: file, atomically: false, encoding: .utf8)
    }
    return path
  }

  @Test(
    "an end without a column is taken from the other end",
    arguments: ["team", "members", "desk", "owner", "tags", "tagged", "queue"])
  func absentColumn(_ property: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let store = try Self.open(try Self.csv(leavingOut: [property], in: folder), ["edited": "accept"])
    #expect(try Self.links(store) == Self.sound)
    #expect(!store.readNotes.isEmpty)
    #expect(
      store.readNotes.allSatisfy { $0.subject.hasSuffix("." + property) && $0.text.contains("the store omits it") }
    )
  }

  @Test("an ordered end without a column is in ascending order, because its order is unknown")
  func absentOrder() throws {
    let folder = try UnknownOrderTests.Folder()
    let store = try Self.open(try Self.csv(leavingOut: ["waiting"], in: folder), ["edited": "accept"])
    #expect(try Self.links(store)["waiting"] == [5: [1, 3]])
  }

  @Test("if both ends have no column nothing is derived, and empty cells are not a missing column")
  func bothAbsent() throws {
    let folder = try UnknownOrderTests.Folder()
    let neither = try Self.open(try Self.csv(leavingOut: ["team", "members"], in: folder), ["edited": "accept"])
    #expect(try Self.links(neither)["members"] == nil)
    var empty = Self.sound
    empty["members"] = nil
    let path = try Self.write(empty, "CSV", in: folder)
    #expect(try XMLSupport.failure { _ = try Self.open(path) }.code == .inverseMismatch)
  }

  @Test("a to-one without a column cannot be taken from two lists that name one object")
  func absentToOneTwice() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.csv(leavingOut: ["team"], Self.changed("members", 5, [2, 3]), in: folder)
    let error = try XMLSupport.failure { _ = try Self.open(path, ["edited": "accept"]) }
    #expect(error.code == .inverseMismatch)
    #expect(
      error.message.contains("Person/2 is named here and at") && error.message.contains("Team/5.members"), "\(error)")
  }

  @Test("XML without any element of a relationship, and a property list without its column, derive it")
  func absentElements() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.write(Self.sound, "XML", in: folder)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    for property in ["members", "team", "tags"] {
      let without = text.split(separator: "\n", omittingEmptySubsequences: false).filter {
        !$0.contains("<relationship name=\"\(property)\"")
      }
      try without.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
      #expect(try Self.links(try Self.open(path)) == Self.sound, "\(property)")
      #expect(try Self.links(try Self.open(path, ["parser": "libxml2"])) == Self.sound, "\(property)")
    }
    // One element that is there, if empty, makes the end one that is there.
    var isFirst = true
    let one = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      guard line.contains("<relationship name=\"members\"") else { return true }
      defer { isFirst = false }
      return isFirst
    }
    try one.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
    #expect(try XMLSupport.failure { _ = try Self.open(path) }.code == .inverseMismatch)
  }

  @Test("without a model nothing is derived and nothing refused")
  func withoutModel() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try folder.write(
      XMLSupport.document(
        """
            <object type="A" id="z1">
                <relationship name="bs" type="0/0" destination="B" idrefs="z2"></relationship>
            </object>
            <object type="B" id="z2">
                <relationship name="a" type="0/1" destination="A"></relationship>
            </object>
        """), to: "store.xml")
    let store = try Self.open(path)
    #expect(try Self.links(store) == ["bs": [1: [2]]])
    let given = ModelDescription(entities: [
      EntityDescription(name: "A", properties: [Self.relationship("bs", to: "B", inverse: "a", isToMany: true)]),
      EntityDescription(name: "B", properties: [Self.relationship("a", to: "A", inverse: "bs")]),
    ])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(given), registry: .builtIn)
    let error = try XMLSupport.failure { _ = try coordinator.addPersistentStore(at: path) }
    #expect(error.code == .inverseMismatch)
    #expect(error.location.line == 11 && error.message.contains("store.xml:14"), "\(error)")
  }

  @Test("one edited cell of a CSV is refused, and taken over at both ends where the option says so")
  func editedCell() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = folder.path + "/Company.csvstore"
    try FileManager.default.copyItem(atPath: SampleStores.folder + "/Company/Company.csvstore", toPath: path)
    let file = URL(filePath: path + "/Employee.csv")
    let text = try String(contentsOf: file, encoding: .utf8)
    let header = try #require(text.split(separator: "\n").first?.split(separator: ","))
    let column = try #require(header.firstIndex { $0.hasPrefix("department->") })
    var records = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let row = try #require(records.firstIndex { $0.hasPrefix("6,") })
    var cells = records[row].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    try #require(cells.count == header.count && cells[column] == "2")
    cells[column] = "1"
    records[row] = cells.joined(separator: ",")
    try records.joined(separator: "\n").write(to: file, atomically: false, encoding: .utf8)

    let target = folder.path + "/Company.xml"
    var converter = StoreConverter(registry: .builtIn)
    converter.readOptions = ["edited": "accept"]
    let error = try XMLSupport.failure { _ = try converter.convert(from: path, to: target) }
    #expect(error.code == .inverseMismatch && !FileManager.default.fileExists(atPath: target))
    #expect(
      error.description.contains("Employee.csv:")
        && error.message.contains("Department.csv:2 (Department/1.employees)"), "\(error)")
    converter.readOptions["inverses"] = "from-to-one"
    let report = try converter.convert(from: path, to: target)
    #expect(report.selections.map { "\($0)" } == ["Department.employees: changed to agree with 'department' (2)"])
    let store = try Self.open(target)
    let department = try #require(
      store.nodes.handle(for: ObjectReference(entityName: "Department", reference: .integer(1))))
    guard case .toMany(let employees)? = store.nodes.value(forKey: "employees", of: department) else { return }
    #expect(employees.map(\.reference.description) == ["3", "4", "5", "6", "8"])
  }

  // MARK: References that are dangling

  /// As ``sound``, with a desk, a team and a member that are not there.
  static func dangling(_ type: String, in folder: UnknownOrderTests.Folder) throws -> String {
    let path = try write(sound, type, in: folder)
    if type == "CSV" {
      let file = URL(filePath: path + "/Tag.csv")
      try String(contentsOf: file, encoding: .utf8).replacing("7,1 3", with: "7,1 99 3 s:x").write(
        to: file, atomically: false, encoding: .utf8)
    } else {
      try String(contentsOfFile: path, encoding: .utf8).replacing("idrefs=\"z1 z3\"", with: "idrefs=\"z1 z99 z3 sx\"")
        .write(toFile: path, atomically: false, encoding: .utf8)
    }
    return path
  }

  @Test("a reference to nothing is refused, left out, or left out with its text kept", arguments: ["XML", "CSV"])
  func danglingReferences(_ type: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.dangling(type, in: folder)
    let options = type == "CSV" ? ["edited": "accept"] : [:]
    #expect(try XMLSupport.failure { _ = try Self.open(path, options) }.code == .danglingReference)
    let cut = try Self.open(path, options.merging(["dangling": "nullify"]) { $1 })
    #expect(try Self.links(cut) == Self.sound)
    #expect(cut.readNotes.map { "\($0)" } == ["Tag.tagged: references to objects that do not exist, removed (2)"])
    #expect(cut.metadata.entries[RelationshipRules.danglingReferencesKey] == nil)
    let kept = try Self.open(path, options.merging(["dangling": "keep-as-text"]) { $1 })
    #expect(try Self.links(kept) == Self.sound)
    let texts: PropertyListValue = ["Tag/7.tagged": ["Person/99", "Person/x"]]
    #expect(kept.metadata.entries[RelationshipRules.danglingReferencesKey] == texts)
    // It goes where the store goes, and stays when it is read again.
    var converter = StoreConverter(registry: .builtIn)
    converter.readOptions = options.merging(["dangling": "keep-as-text"]) { $1 }
    _ = try converter.convert(from: path, to: folder.path + "/copy.plist")
    #expect(
      try Self.open(folder.path + "/copy.plist", ["dangling": "keep-as-text"]).metadata.entries[
        RelationshipRules.danglingReferencesKey] == texts)
  }

  @Test("what was removed or repaired is written with the next save, also a save of metadata only")
  func repairedIsSaved() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try Self.dangling("XML", in: folder)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path, options: ["dangling": "nullify"])
    try store.setMetadata(["Key": "value"])
    try coordinator.save(store)
    #expect(try Self.links(try Self.open(path)) == Self.sound)
  }

  @Test("a store without metadata cannot store texts, and unknown values are refused")
  func refusedOptions() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try folder.write("id:Reference Person,friend->Person\n1,9\n", to: "Person.csv")
    #expect(try XMLSupport.failure { _ = try Self.open(path, ["dangling": "keep-as-text"]) }.code == .invalidOption)
    #expect(try Self.links(try Self.open(path, ["dangling": "nullify"])).isEmpty)
    for options in [["dangling": "ignore"], ["inverses": "both"]] {
      #expect(try XMLSupport.failure { _ = try Self.open(path, options) }.code == .invalidOption)
    }
  }
}
