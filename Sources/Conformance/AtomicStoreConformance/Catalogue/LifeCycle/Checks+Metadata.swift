import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// MET: what a store says about itself, beside its objects.
extension Checks {
  static let metadata: [CheckDefinition] = [
    CheckDefinition(
      "MET-01", "The metadata is right before the objects are loaded", from: metadataDocument,
      by: "metadata and load are watched while a store is opened; a new store is asked right after it was added",
      causes: ["type or UUID were known after the load only"], catches: ["metadataOnlyAfterLoad"],
      demand: identityIsKept
    ) { check in
      let (path, graph, _) = try check.golden()
      let uuid = try check.process("ask for the metadata alone") { try $0.metadata(path).uuid.uuidString }
      let steps = try check.process("watch it being opened") { session in
        let seen = Notebook<[String]>([])
        let session = session.watched { hooks in
          let metadata = hooks.metadata
          hooks.metadata = { read, source throws(PersistentStoreError) in
            try metadata?(&read, source)
            let told = "metadata \(read.storeType) \(read.uuid.uuidString)"
            seen.change { $0.append(told) }
          }
          let load = hooks.load
          hooks.load = { source, nodes throws(PersistentStoreError) in
            seen.change { $0.append("load") }
            return try load?(source, nodes) ?? false
          }
        }
        _ = try session.read(path, graph.model)
        return seen.value
      }
      try check.expectEqual(steps, ["metadata \(check.subject.type.storeType) \(uuid)", "load"], "the steps")
      let fresh = try check.process("begin a new store", opening: check.path("new"), graph.model) { _, open in
        [open.store.metadata.storeType, open.store.metadata.uuid.uuidString, open.store.identifier.uuidString]
      }
      try check.expectEqual(fresh[0], check.subject.type.storeType, "the new store’s type")
      try check.expect(fresh[1] == fresh[2] && fresh[1] != noUUID, "the new store has a UUID", "\(fresh)")
    },
    CheckDefinition(
      "MET-02", "New stores have their own UUIDs", from: metadataDocument,
      by: "a hundred stores are saved; their metadata is read",
      causes: ["a UUID was written into the program", "what it is made from is the same for all"],
      catches: ["constantUUID"],
      demand: identityIsKept
    ) { check in
      let uuids = try check.process("save a hundred stores") { session in
        try (0..<100).map { number in
          let path = check.path("store\(number)")
          try session.write(Graph.values(.integer16, [.integer(1)]), to: path)
          return try session.metadata(path).uuid.uuidString
        }
      }
      try check.expectEqual(Set(uuids).count, 100, "different UUIDs")
      try check.expect(!uuids.contains(noUUID), "UUIDs", noUUID)
    },
    CheckDefinition(
      "MET-03", "A store keeps its UUID, no matter who opens and saves it", from: metadataDocument,
      by: "saved three times, each time in another process; the UUID is noted each time",
      causes: ["a UUID was made where one was to be read"],
      catches: ["newUUIDEachOpen"], demand: identityIsKept
    ) { check in
      let (path, graph, _) = try check.golden()
      var seen: [String] = []
      for round in 1...3 {
        seen += try check.process("open it, change an object, save: \(round)") { session in
          try session.opened(path, graph.model) { open in
            let before = open.store.identifier.uuidString
            try session.all(open, "Node").first?.setValue("round \(round)", forKey: "name")
            try open.context.save()
            return [before, open.store.metadata.uuid.uuidString]
          }
        }
        seen.append(try check.process("ask for the metadata alone") { try $0.metadata(path).uuid.uuidString })
      }
      try check.expectEqual(Set(seen).count, 1, "different UUIDs")
    },
    CheckDefinition(
      "MET-04", "The UUID that a new store reports is the one that is written", from: metadataDocument,
      by: "noted before the first save, after it, and in another process", causes: ["the first save made one"],
      catches: ["uuidChangesAtFirstSave"],
      demand: identityIsKept
    ) { check in
      let path = check.path()
      let told = try check.process("begin a store, note its UUID, save", opening: path, Models.nodes) { session, open in
        let before = open.store.identifier.uuidString
        _ = try session.insert(Models.golden(), into: open.context)
        try open.context.save()
        return [before, open.store.metadata.uuid.uuidString]
      }
      let written = try check.process("ask for the metadata alone") { try $0.metadata(path).uuid.uuidString }
      try check.expectEqual(told, [written, written], "the UUID before and after the save")
    },
    CheckDefinition(
      "MET-05", "Metadata of the application comes back by type and to the bit", from: savingDocument,
      by:
        "texts, integers, doubles, truth values, dates, bytes, lists and tables; empty ones too; read in another process",
      causes: ["a value became a text", "empty and missing were taken for one"], catches: ["dropsCustomMetadata"],
      demand: metadataIsKept
    ) { check in
      let path = check.path()
      let wanted = sampleEntries
      _ = try check.process("save a store with metadata") { try $0.write(Models.golden(), to: path, metadata: wanted) }
      let read = try check.process("read it in another process") { session in shown(try session.metadata(path).entries)
      }
      for (key, text) in shown(wanted).sorted(by: { $0.key < $1.key }) {
        try check.expectEqual(read[key] ?? "missing", text, "\(key)")
      }
    },
    CheckDefinition(
      "MET-06", "Metadata can be read alone: no model, no objects, nothing written, and what was saved last",
      from: "NSPersistentStore, metadataForPersistentStoreWithURL",
      by: "read alone under a watch; and after a save in the same process",
      causes: ["the store was opened for it", "an earlier answer was kept"],
      catches: ["writesUnderReadOnly", "mixesTwoVersions"],
      demand: metadataIsKept
    ) { check in
      let path = check.path()
      let graph = Models.golden()
      _ = try check.process("save a store with metadata") {
        try $0.write(graph, to: path, metadata: entries(["Which": .string("first")]))
      }
      let before = Files.stamps(check.folder)
      let plan = try FaultPlan()
      let end = try check.attempt("read the metadata alone", faults: plan) { session in
        let loads = Notebook(0)
        let session = session.watched { hooks in
          let load = hooks.load
          hooks.load = { source, nodes throws(PersistentStoreError) in
            loads.change { $0 += 1 }
            return try load?(source, nodes) ?? false
          }
        }
        let metadata = try session.metadata(path)
        return shown(metadata.entries).merging(["loads": "\(loads.value)", "type": metadata.storeType]) { one, _ in one
        }
      }
      guard case .value(let read) = end else {
        throw ExpectationFailure(expected: "the metadata is read", actual: "\(end)")
      }
      try check.expectEqual(read["Which"], "string first", "the entry")
      try check.expectEqual(read["type"], check.subject.type.storeType, "the type")
      try check.expectEqual(read["loads"], "0", "loads")
      try check.expectNoChanges(plan)
      try check.expectEqual(Files.stamps(check.folder), before, "inodes, sizes and times of change")
      let both = try check.process("read it alone, save other metadata, read it alone") { session in
        _ = try session.metadata(path)
        return try session.opened(path, graph.model) { open in
          try open.store.setMetadata(entries(["Which": .string("second")]))
          try open.context.save()
          if open.store.hasUnsavedMetadata { try open.coordinator.save(open.store) }
          return [
            shown(open.store.metadata.entries)["Which"] ?? "", shown(try session.metadata(path).entries)["Which"] ?? "",
          ]
        }
      }
      try check.expectEqual(both, ["string second", "string second"], "the entry of the open store, and read alone")
    },
    CheckDefinition(
      "MET-07", "Setting metadata alone changes nothing else",
      from: "NSPersistentStore, setMetadata:forPersistentStoreWithURL",
      by: "the graph and the UUID before and after", causes: ["the store was written without its objects"],
      catches: ["staticWriteDropsData"], demand: metadataIsSetAlone
    ) { check in
      let (path, graph, text) = try check.golden()
      let uuid = try check.process("ask for the metadata alone") { try $0.metadata(path).uuid.uuidString }
      _ = try check.process("set metadata alone") { try $0.setMetadata(["Which": .string("set")], path) }
      let after = try check.process("ask for it again") { session in
        let metadata = try session.metadata(path)
        return [metadata.uuid.uuidString, shown(metadata.entries)["Which"] ?? "missing"]
      }
      try check.expectEqual(after, [uuid, "string set"], "UUID and entry")
      try check.expectSame(try check.process("read the graph") { try $0.read(path, graph.model) }, text, "the graph")
    },
    CheckDefinition(
      "MET-08", "Asking nothing, an empty file and a damaged one for metadata is an error that leaves no file",
      from: "NSPersistentStore, metadataForPersistentStoreWithURL",
      by: "each is asked; what is in the folder is compared",
      causes: ["the file was made to have something to read"], catches: ["staticReadCreatesFile"]
    ) { check in
      let (path, _, _) = try check.golden()
      try check.cutShort(path)
      let content = Files.content(path) ?? [:]
      // So short that nothing of the metadata is left.
      Files.put(content.mapValues { Array($0.prefix(48)) }, at: path)
      Files.write([], to: check.path("empty"))
      let before = Files.stamps(check.folder)
      for (what, at) in [
        ("nothing", check.path("nothing")), ("an empty file", check.path("empty")), ("a damaged store", path),
      ] {
        _ = try check.refusal(of: "asking \(what) for metadata") { try $0.metadata(at).storeType }
      }
      try check.expectEqual(Files.stamps(check.folder), before, "what is in the folder")
    },
    CheckDefinition(
      "MET-09", "Metadata that is set on an open store is saved, even where no object changed", from: savingDocument,
      by: "set, saved, read in another process", causes: ["a save without changed objects was left out"],
      catches: ["metadataLostWithoutChanges"],
      demand: metadataIsKept
    ) { check in
      let (path, graph, text) = try check.golden()
      _ = try check.process("set metadata and save, without changing an object") { session in
        try session.opened(path, graph.model) { open in
          try open.store.setMetadata(entries(["Which": .string("set")]))
          try open.coordinator.save(open.store)
          return true
        }
      }
      let read = try check.process("read it in another process") { session in
        shown(try session.metadata(path).entries)["Which"] ?? "missing"
      }
      try check.expectEqual(read, "string set", "the entry")
      try check.expectSame(try check.process("read the graph") { try $0.read(path, graph.model) }, text, "the graph")
    },
    CheckDefinition(
      "MET-10", "Version hashes and identifiers go through untouched",
      from: "NSPersistentStore, “store versioning information”",
      by: "a table of 32-byte hashes by entity is saved and compared by bytes",
      causes: ["keys that are not known were left out"],
      catches: ["dropsVersionHashes"], demand: metadataIsKept
    ) { check in
      let path = check.path()
      // Computed without the model's lock: the processes of a check are forked, and a lock belongs to the thread that
      // took it.
      let hashes = try ManagedObjectModel(Models.golden().model).versionHashes(changing: { _, _ in })
      // Those of the model: the kit writes them with each save, and would write over others.
      let wanted = entries([
        VersionHashes.metadataKey: hashes.propertyList,
        VersionHashes.versionMetadataKey: .integer(Int128(VersionHashes.version)),
        VersionHashes.digestMetadataKey: .string(hashes.digest),
        VersionHashes.checksumMetadataKey: .string(hashes.checksum),
        VersionHashes.identifiersMetadataKey: .array([.string("1.0"), .string("")]),
        "NSPersistenceFrameworkVersion": .integer(1_500),
      ])
      _ = try check.process("save a store with version hashes") {
        try $0.write(Models.golden(), to: path, metadata: wanted)
      }
      _ = try check.process("save it again in another process") {
        try $0.changeName(path, Models.golden(), to: "changed")
      }
      let read = try check.process("read the metadata") { session in shown(try session.metadata(path).entries) }
      for (key, text) in shown(wanted).sorted(by: { $0.key < $1.key }) {
        try check.expectEqual(read[key] ?? "missing", text, "\(key)")
      }
    },
    CheckDefinition(
      "MET-12", "Names of metadata and names of data do not meet", from: kit,
      by: "an entity and attributes named as metadata is, and entries named as they are",
      causes: ["both were kept in one table"],
      catches: ["metadataNamespaceClash"], demand: metadataIsKept
    ) { check in
      let names = [
        "NSStoreUUID", "NSStoreType", "version", "metadata", "type", "uuid", "id", "entity", "model", "lastReference",
        "Origin",
      ]
      var graph = Graph(Models.attributes(names.map { ($0, .string) }, entity: "metadata"))
      for number in 0..<3 {
        graph.objects.append(
          .init(
            label: "\(number)", entity: "metadata",
            values: names.reduce(into: [:]) { $0[ScalarKey($1)] = .string("\($1) \(number)") }))
      }
      let path = check.path()
      let made = graph
      let wanted = names.filter { !StoreMetadata.reservedKeys.contains($0) }
        .reduce(into: PropertyListDictionary()) { $0[$1] = .string("entry \($1)") }
      let references = try check.process("save objects and metadata of the same names") {
        try $0.write(made, to: path, metadata: wanted)
      }
      try check.expectSame(
        try check.process("read the objects") { try $0.read(path, made.model) }, made.text(references), "the graph")
      let read = try check.process("read the metadata") { session in shown(try session.metadata(path).entries) }
      for (key, text) in shown(wanted).sorted(by: { $0.key < $1.key }) {
        try check.expectEqual(read[key], text, "the entry \(key)")
      }
    },
    CheckDefinition(
      "MET-13", "Setting metadata is done whole or not at all", profile: .durable, from: kit,
      by: "the process is killed before each of its calls in turn; the store is read after each",
      causes: ["the file was written in its place"],
      catches: ["metadataNonAtomic"], changesStore: true, demand: metadataIsSetAlone
    ) { check in
      let (path, graph, text) = try check.golden()
      let intact = Files.content(path) ?? [:]
      var number = 1
      while number < 200 {
        let plan = try FaultPlan(CSF_KILL, at: number)
        _ = try check.attempt("set metadata, and be killed before call \(number)", faults: plan) {
          try $0.setMetadata(["Which": .string("set")], path)
        }
        guard plan.wasReached else { break }
        let seen = try check.process("read it after that", opening: path, graph.model, isReadOnly: true) { _, open in
          Seen(uuid: "", origin: shown(open.store.metadata.entries)["Which"], text: try GraphText(open.store))
        }
        try check.expectSame(seen.text, text, "killed before call \(number): the graph")
        try check.expect(
          seen.origin == nil || seen.origin == "string set", "the entry is there or not", seen.origin ?? "")
        check.record.mark(seen.origin == nil ? "old" : "new")
        Files.put(intact, at: path)
        number += 1
      }
      try check.expect(number > 1, "setting metadata changes the file", "no call was seen")
    },
  ]

  static let metadataDocument = "Atomic Store Life-cycle, Initialization: “at this point the metadata must be correct”"
  static let savingDocument = "Atomic Store Life-cycle, Saving: “the data (the cache nodes) and the metadata”"

  static let sampleEntries = entries([
    "Text": .string("ä <&\"'> \u{1F600}"), "Empty text": .string(""), "Least": .integer(Int128(Int64.min)),
    "Greatest": .integer(Int128(Int64.max)),
    "Zero": .integer(0), "Negative zero": .real(-0.0), "Tenth": .real(0.1), "Tiny": .real(.leastNonzeroMagnitude),
    "True": .boolean(true),
    "False": .boolean(false), "Date": .date(Date(timeIntervalSinceReferenceDate: 700_000_000)),
    "Bytes": .data(Data((0...255).map { UInt8($0) })),
    "No bytes": .data(Data()), "No list": .array([]), "No table": .dictionary(PropertyListDictionary()),
    "List": .array([.string("a"), .integer(1), .array([.boolean(true), .dictionary(entries(["x": .real(1)]))])]),
    "Table": .dictionary(entries(["": .string("empty key"), "b": .array([.data(Data([1]))])])),
  ])

  /// Each entry as a text with its type and its bits.
  static func shown(_ entries: PropertyListDictionary) -> [ScalarKey: String] {
    entries.reduce(into: [:]) { $0[$1.key] = shown($1.value) }
  }
  static func shown(_ value: PropertyListValue) -> String {
    switch value {
    case .string(let text): "string \(text)"
    case .integer(let number): "integer \(number)"
    case .real(let number): "real bits \(String(number.bitPattern, radix: 16))"
    case .boolean(let flag): "boolean \(flag)"
    case .date(let date):
      "date \(date.timeIntervalSinceReferenceDate) bits \(String(date.timeIntervalSinceReferenceDate.bitPattern, radix: 16))"
    case .data(let data): "data \(data.map { String($0, radix: 16) }.joined(separator: " "))"
    case .array(let list): "[" + list.map { shown($0) }.joined(separator: ", ") + "]"
    case .dictionary(let table):
      "{" + table.map { "\(shown(.string($0.key))): \(shown($0.value))" }.joined(separator: ", ") + "}"
    case .uid(let number): "uid \(number)"
    }
  }
}
