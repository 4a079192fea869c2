import ArgumentParser
import CommandSupport
import FoundationEssentials
import ModelFiles
import StoreCoordination
import StoreMaintenance

struct Inspect: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Describe a store: type, identity, entities with their counts, metadata; or describe a model file.",
    discussion: """
        atomicstore inspect Company.xml
        atomicstore inspect App.sqlite --model App.xcdatamodeld
        find stores -name '*.xml' | atomicstore inspect --files-from -

      The whole store is read, so all errors in it are found and reported; nothing is written. Relationships whose two ends contradict each
      other, because of which other commands refuse a store, are counted.

      --stats adds, for each property, the numbers of values, nulls and distinct values, minimum and maximum, the
      mean of numbers, and the length of the longest text or data. Not-a-number is a value, but no minimum, maximum or
      part of the mean; to 'fetch', whose min: and sorts have all values in order, it comes before all numbers.
      """)
  @Argument(help: ArgumentHelp("The store; - for standard input.", valueName: "store")) var path: String?
  @Flag(help: "Print statistics of each property: values, nulls, distinct values, range, mean, longest.")
  var stats = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup var fleet: FleetOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      if fleet.isUsed { return try inspectAll() }
      let store = try fleet.onlyStore(path)
      if let found = try modelFile(store) { return try show(found, store) }
      let (coordinator, opened) = try source.open(store, describes: true)
      defer { withExtendedLifetime(coordinator) {} }
      let nodes = opened.nodes
      MemoryUntilExit.keep(nodes)
      let metadata = opened.metadata
      let size = try Self.size(store)
      if common.json {
        return try Diagnostics.put(json(store, opened, size).text + "\n")
      }
      var text = "\(Input.shown(store)): \(opened.type) store"
      if let size { text += ", " + Diagnostics.count(size, "byte") }
      text += "\n  UUID     \(metadata.uuid.uuidString)\n  objects  \(nodes.count)\n"
      text +=
        "  model    \(nodes.model.description.isInferred ? "inferred from the data" : source.models.isEmpty ? "the store's own" : source.models.joined(separator: ", "))\n"
      let width = nodes.model.entities.map(\.name.count).max() ?? 0
      for entity in nodes.model.entities {
        let count = nodes.count(of: entity.index)
        text += "  " + entity.name + String(repeating: " ", count: width - entity.name.count) + "  "
        text += entity.isAbstract ? "abstract" : "\(count)"
        if let parent = entity.superentity { text += ", sub-entity of \(parent.name)" }
        text += "\n"
      }
      for note in opened.readNotes { text += "  read     \(note)\n" }
      let disagreements = nodes.inverseDisagreements()
      if let first = disagreements.first {
        text += "  inverses \(disagreements.count) that contradict each other, the first: \(first)\n"
      }
      for note in opened.loadNotes { text += "  \(note.isLoss ? "loss" : "note")     \(note)\n" }
      for entry in metadata.entries { text += "  metadata \(entry.key): \(GraphComparison.summary(entry.value))\n" }
      text += "  next: \(next(store, opened))\n"
      if stats { text += StoreStatistics(try opened.nodesWithDeferredValues()).table(nodes) }
      try Diagnostics.put(text)
    }
  }

  /// Describes each store of a list.
  private func inspectAll() throws {
    let stores = try fleet.list(besides: path)
    let model = try source.loadCommonModel()
    try FleetRun(stores, json: common.json).run { _, store in
      if let found = try modelFile(store) { return FleetAnswer(json(found, store)) }
      let (coordinator, opened) = try source.open(store, describes: true, commonModel: model)
      defer { withExtendedLifetime(coordinator) {} }
      return FleetAnswer(try json(store, opened, Self.size(store)))
    }
  }

  /// The command that is of most use with this store.
  private func next(_ store: String, _ opened: PersistentStore) -> String {
    let store = Input.shown(store)
    let name = store.utf8.allSatisfy { Self.isPlain($0) } ? store : "'" + store.replacingBytes("'", with: "'\\''") + "'"
    // What is inferred from the data of a store with hashes has a model somewhere.
    guard opened.model.description.isInferred, VersionHashes(metadata: opened.metadata.entries) != nil,
      source.models.isEmpty
    else { return "atomicstore dump \(name)" }
    return "atomicstore inspect \(name) --model DIRECTORY (of the application or its sources: its model is found there)"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "@"):
      true
    default: byte >= 0x80
    }
  }

  /// The description of a model file; nil for everything else.
  private func modelFile(_ store: String) throws -> ModelFile.Inspection? {
    let input = try Input.path(for: store)
    if source.from != nil || Input.isIncremental(input) { return nil }
    let path = try StorePath.inspect(input)
    // A mapping model is also an XML store, which contains objects of the mapping editor.
    if path.holdsContent, let type = try? InstalledFormats.registry.recognize(try path.probe()) {
      guard type.storeType == "XML", try MappingModel.read(at: input) != nil else { return nil }
    }
    return try ModelFile.inspect(input)
  }

  private func json(_ found: ModelFile.Inspection, _ store: String) -> JSONValue {
    .object([
      ("path", .string(store)), ("kind", .string(found.kind)), ("facts", .array(found.facts.map { .string($0) })),
      ("next", found.next.map { .string($0) } ?? .null),
    ])
  }

  /// Describes a model file and suggests the next command.
  private func show(_ found: ModelFile.Inspection, _ store: String) throws {
    defer { Input.discard() }
    if common.json { return try Diagnostics.put(json(found, store).text + "\n") }
    var text = "\(store): \(found.kind)\n"
    for fact in found.facts { text += "  \(fact)\n" }
    if let next = found.next { text += "  next: \(next)\n" }
    try Diagnostics.put(text)
  }

  private static func size(_ path: String) throws -> Int? {
    guard path != "-", !Input.isURL(path) else { return nil }
    return try StoreSource(opening: try StorePath.inspect(path)).totalSize()
  }

  private func json(_ store: String, _ opened: PersistentStore, _ size: Int?) throws -> JSONValue {
    let nodes = opened.nodes
    let metadata = opened.metadata
    let statistics = stats ? StoreStatistics(try opened.nodesWithDeferredValues()) : nil
    let entities = nodes.model.entities.map { entity -> JSONValue in
      let reader = nodes.reader(of: entity.index)
      let properties = entity.slots.map { slot -> JSONValue in
        var fields: [(String, JSONValue)] = [("name", .string(slot.name)), ("type", .string(slot.kindDescription))]
        let values = (0..<reader.count).filter { !reader.isNull(slot: slot.index, row: $0) }
        if slot.isToMany {
          fields.append(
            ("references", .integer(values.reduce(0) { $0 + reader.toMany(slot: slot.index, row: $1).count })))
        } else {
          fields.append((slot.isRelationship ? "references" : "values", .integer(values.count)))
        }
        if let statistics = statistics?.properties.first(where: {
          $0.entityName == entity.name && $0.propertyName == slot.name
        }) {
          fields.append(("statistics", statistics.json))
        }
        return .object(fields)
      }
      return .object([
        ("name", .string(entity.name)), ("superentity", entity.superentity.map { .string($0.name) } ?? .null),
        ("isAbstract", .boolean(entity.isAbstract)), ("count", .integer(nodes.count(of: entity.index))),
        ("properties", .array(properties)),
      ])
    }
    return .object([
      ("path", .string(Input.shown(store))), ("type", .string(opened.type)),
      ("uuid", .string(metadata.uuid.uuidString)),
      ("size", size.map { .integer($0) } ?? .null), ("objects", .integer(nodes.count)),
      ("lastReference", .integer(Int(metadata.lastReference))),
      ("inverseDisagreements", .integer(nodes.inverseDisagreements().count)),
      ("modelIsInferred", .boolean(nodes.model.description.isInferred)), ("entities", .array(entities)),
      ("metadata", .object(metadata.entries.map { ($0.key, $0.value.json) })),
      ("notes", .array(opened.loadNotes.map(\.json))), ("next", .string(next(store, opened))),
    ])
  }
}

extension LoadNote {
  /// As `--json` prints it.
  var json: JSONValue {
    .object([
      ("subject", .string(subject)), ("text", .string(text)), ("count", .integer(count)),
      ("example", example.map { .string($0) } ?? .null), ("isLoss", .boolean(isLoss)),
      ("isWarning", .boolean(isWarning)),
    ])
  }
}
