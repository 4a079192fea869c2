import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StoreCoordination

/// INC: stores that are read and written in parts. First their creation, metadata and end.
extension Checks {
  static let contract = "IncrementalStore"

  /// A check of incremental stores.
  static func incremental(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, from source: String = contract,
    by procedure: String, catches: [String], timeLimit: Int = 60,
    demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = { _ in .applies },
    _ body: @escaping @Sendable (CheckContext) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: .incremental, from: source, by: procedure, catches: catches,
      timeLimit: timeLimit, demand: demand, body)
  }

  private static let entries: PropertyListDictionary = {
    var entries = PropertyListDictionary()
    entries["note"] = .string("kept")
    entries["number"] = .integer(7)
    return entries
  }()

  /// Metadata as text.
  private static func text(_ metadata: StoreMetadata?) -> String {
    guard let metadata else { return "no store" }
    let model = metadata.model.map { "\($0.entities.count) entities" } ?? "no model"
    return "\(metadata.storeType) \(metadata.uuid) \(GraphComparison.text(.dictionary(metadata.entries))) \(model)"
  }

  static let incrementalOpening: [CheckDefinition] = [
    incremental(
      "INC-01", "Asking for the metadata of a missing store returns nil and creates nothing",
      by: "the metadata of a place without a store is read, by a writable and a read-only store",
      catches: ["inventsMetadata"]
    ) { check in
      for isReadOnly in [true, false] {
        let found = try check.process("ask for metadata, \(isReadOnly ? "read-only" : "with the right to write")") {
          session in
          var store = try session.store(isReadOnly: isReadOnly)
          defer { store.close() }
          return text(try store.metadata())
        }
        try check.expectEqual(found, "no store", "the metadata of a place without a store")
      }
      if check.subject.url == nil { try check.expectList(Files.names(in: check.folder), [], "the files afterwards") }
    },
    incremental(
      "INC-02", "A new store has the identifier, the model and the entries that it was created with",
      by: "a store is created, and its metadata is read in another process", catches: ["newIdentifier", "entriesLost"]
    ) { check in
      let given = try check.process("create a store") { session in
        let connection = try session.connect(entries: entries)
        return text(try connection.store.metadata())
      }
      try check.expect(given.contains("kept"), "the entries are there at once", given)
      let found = try check.process("read its metadata in another process") { session in
        var store = try session.store()
        defer { store.close() }
        return text(try store.metadata())
      }
      try check.expectEqual(found, given, "the metadata in another process")
      try check.expect(
        found.contains("\(ItemGraph.description.entities.count) entities"), "the model is there", found)
    },
    incremental(
      "INC-03", "Entries that are set, or saved with objects, are there for the next connection",
      by: "entries are set alone, then saved with an object, and read in other processes",
      catches: ["setMetadataIgnored", "savedEntriesIgnored"]
    ) { check in
      func note() throws -> String {
        try check.connected("read the metadata") { connection in
          try connection.store.metadata()?.entries["note"].map { GraphComparison.text($0) } ?? "nothing"
        }
      }
      _ = try check.connected("set an entry") { connection in
        guard var metadata = try connection.store.metadata() else { return false }
        metadata.entries["note"] = .string("one")
        try connection.store.setMetadata(metadata)
        return true
      }
      try check.expectEqual(try note(), "\"one\"", "an entry that was set")
      _ = try check.connected("save an entry with an object") { connection in
        let tag = try connection.new(1, "Tag")[0]
        var changes = StoreSave(inserted: [try connection.snapshot(tag, [:])])
        var entries = PropertyListDictionary()
        entries["note"] = .string("two")
        changes.metadataEntries = entries
        try connection.mustSave(changes)
        return true
      }
      try check.expectEqual(try note(), "\"two\"", "an entry that was saved with an object")
    },
    incremental(
      "INC-04", "A store that is there is not created again",
      by: "a store with an object is created again", catches: ["createReplaces"]
    ) { check in
      _ = try check.connected("create a store with an object") { try $0.insert("Tag", [[:]]).count }
      _ = try check.refusal(of: "creating it again", codes: ["alreadyExists"]) { session in
        let connection = StoreConnection(try session.store(), try Models.frozen(ItemGraph.description))
        let metadata = StoreMetadata(
          storeType: try session.incrementalType().storeType, model: ItemGraph.description)
        try connection.store.create(metadata, for: connection.model)
        return true
      }
      let count = try check.connected("count the objects") { try $0.names($0.request("Tag")).count }
      try check.expectEqual(count, 1, "objects afterwards")
    },
    incremental(
      "INC-05", "A store that was destroyed is gone, and destroying where there is none does nothing",
      by: "a store is destroyed twice", catches: ["destroyKeeps", "destroyOfNothingFails", "destroyLeavesFiles"]
    ) { check in
      _ = try check.connected("create a store with objects") { try $0.insert("Tag", [[:], [:]]).count }
      for turn in ["destroy it", "destroy it again"] {
        let left = try check.process(turn) { session in
          var store = try session.store()
          defer { store.close() }
          try store.destroy()
          var other = try session.store()
          defer { other.close() }
          return text(try other.metadata())
        }
        try check.expectEqual(left, "no store", "after: \(turn)")
      }
      if check.subject.url == nil { try check.expectList(Files.names(in: check.folder), [], "the files afterwards") }
    },
    incremental(
      "INC-06", "A store that is open read-only is read, and not changed",
      by: "a store is opened read-only, read, and asked to save objects, metadata and new references",
      catches: ["ignoresReadOnly"]
    ) { check in
      let objects = try check.connected("create a store with an object") { connection in
        try connection.insert("Tag", [["name": .string("old")]]).map(\.description)
      }
      let read = try check.process("read it read-only") { session in
        let connection = try session.connect(isReadOnly: true)
        return try connection.names(connection.request("Tag"))
      }
      try check.expectList(read, objects, "what is read")
      let attempts: [(String, (StoreConnection) throws -> Void)] = [
        (
          "saving an object",
          { connection in
            let tag = ObjectReference(entityName: "Tag", reference: .integer(1_000_000))
            _ = try connection.save(StoreSave(inserted: [try connection.snapshot(tag, [:])]))
          }
        ),
        (
          "setting metadata",
          { connection in
            if let metadata = try connection.store.metadata() { try connection.store.setMetadata(metadata) }
          }
        ),
        ("taking references", { connection in _ = try connection.new(1, "Tag") }),
      ]
      for (what, attempt) in attempts {
        _ = try check.refusal(of: "\(what) of a read-only store", codes: ["readOnly"]) { session in
          try attempt(try session.connect(isReadOnly: true))
          return true
        }
      }
      let count = try check.connected("count the objects") { try $0.names($0.request("Tag")).count }
      try check.expectEqual(count, 1, "objects afterwards")
    },
    incremental(
      "INC-07", "The type recognizes its own files, and no others",
      by: "its own store, an empty file, a text and the beginning of one of its files are looked at",
      catches: ["recognizesAnything"]
    ) { check in
      try check.requireFiles()
      _ = try check.connected("create a store") { try $0.insert("Tag", [[:]]).count }
      let answers = try check.process("have files recognized") { session in
        let type = try session.incrementalType()
        let own = session.filePath(type)
        let others: [(String, [UInt8])] = [
          ("empty", []), ("text", Array("name,number\n".utf8)), ("part", Array((Files.read(own) ?? []).prefix(10))),
        ]
        var answers = ["\(type.recognize(try StorePath.inspect(own).probe()))"]
        for (name, bytes) in others {
          let path = session.filePath(type, name)
          Files.write(bytes, to: path)
          answers.append("\(type.recognize(try StorePath.inspect(path).probe()))")
        }
        return answers
      }
      try check.expectList(
        answers, ["yes", "no", "no", "no"], "its own file, an empty one, a text, a part of its file")
    },
    incremental(
      "INC-08", "A store that cannot be reached is not taken for one that is not there",
      by: "the path is that of a directory, or the URL that of a server that does not answer",
      catches: ["unreachableIsMissing"]
    ) { check in
      if check.subject.url == nil, check.traits.layout == .folder {
        throw NotApplicable(reason: "an empty directory is a place for a new store of this type")
      }
      _ = try check.refusal(
        of: "asking for the metadata of a store that cannot be reached",
        codes: check.subject.url == nil ? [] : ["unavailable", "timedOut"]
      ) { session in
        let type = try session.incrementalType()
        var place = session.filePath(type, "directory")
        if let url = session.subject.url { place = unreachable(url) } else { Files.makeFolder(place) }
        var store = try type.init(StoreConfiguration(path: place))
        defer { store.close() }
        return text(try store.metadata())
      }
    },
    incremental(
      "INC-09", "A store is not opened with another model than it was created with", from: kit,
      by: "a store is opened with a model in which one attribute has another type", catches: ["modelNotKept"]
    ) { check in
      _ = try check.connected("create a store with an object") { try $0.insert("Tag", [["name": .string("a")]]).count }
      _ = try check.refusal(of: "opening it with another model", codes: ["modelMismatch"]) { session in
        try session.incrementalContext(IncrementalModels.changed).hasChanges
      }
      let entities = try check.process("open it without a model") { session in
        try session.incrementalContext(nil).managedObjectModel?.entities.count ?? 0
      }
      try check.expectEqual(
        entities, try Models.frozen(ItemGraph.description).entities.count, "entities of the model that it has")
    },
    incremental(
      "INC-10", "Names that differ in case, accents or their ends, and words of query languages, are kept apart",
      by: "an entity with such attributes gets a different value in each", catches: ["confusesNames"]
    ) { check in
      let names = IncrementalModels.lookAlikes + IncrementalModels.longNames + IncrementalModels.wordNames
      let values = try check.process("save a value in each of them") { session in
        let connection = try session.connect(IncrementalModels.names)
        // Not a dictionary: some of the names are equal as strings.
        let object = try connection.new(1, "table")[0]
        var snapshot = try connection.snapshot(object, [:])
        for (index, name) in names.enumerated() {
          snapshot.values[try connection.slot(name, of: "table")] = .string("value \(index)")
        }
        try connection.mustSave(StoreSave(inserted: [snapshot]))
        try connection.insert("Table", [["where": .string("there"), "from": .toOne(object)]])
        return try names.map { try connection.value($0, of: object) ?? "nil" }
      }
      try check.expectList(
        values, names.indices.map { GraphText.value(.string("value \($0)")) ?? "" }, "the value of each")
      let found = try check.process("find the object by each") { session in
        let connection = try session.connect(IncrementalModels.names)
        return try names.enumerated().map { index, name in
          var request = try connection.request("table")
          request.predicate = .comparison(
            .init(.keyPath([name]), .equal, .constant(.string("value \(index)"))))
          return try connection.names(request).count
        }
      }
      try check.expectEqual(found, names.map { _ in 1 }, "objects found by each")
    },
  ]

  /// The URL with a port that nothing listens at.
  private static func unreachable(_ url: String) -> String {
    guard let start = url.firstRange(of: "://")?.upperBound else { return url }
    let rest = url[start...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    return String(url[..<start]) + "127.0.0.1:1" + rest[end...]
  }
}
