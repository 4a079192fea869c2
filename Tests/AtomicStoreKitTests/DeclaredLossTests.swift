import AtomicStoreKit
import FoundationEssentials
import StoreCodecs
import Testing

/// A test format that keeps no order and says so, and that can be told to lose more than it says: an object, a value, a
/// friend, an entry of its metadata.
struct ForgetfulStore: AtomicStore {
  static let storeType = "Forgetful"
  static let traits = StoreTraits(
    summary: "Loses what it says, and more where a test asks for it", fileExtensions: ["forgetful"],
    keepsOrder: false,
    writeOptions: [
      StoreOption(name: "lose", help: "What else to lose.", values: ["object", "value", "friend", "entry", "nothing"])
    ])

  let lost: String?
  var keepsOrder = false

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "FORGETFUL") ? .yes : .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { lost = configuration.options["lose"] }

  private func lines(_ source: StoreSource) throws(PersistentStoreError) -> [[String]] {
    let bytes = try source.bytes().withUnsafeBytes { Array($0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    guard let head = try lines(source).first, head.count == 4, let uuid = UUID(uuidString: head[1]),
      let last = Int64(head[2])
    else {
      throw PersistentStoreError(.malformed, "no head")
    }
    var entries = PropertyListDictionary()
    if let bytes = Data(base64Encoded: head[3]), let list = try PropertyList.decodeBinary(Array(bytes)).dictionaryValue
    {
      entries = list
    }
    return StoreMetadata(storeType: Self.storeType, uuid: uuid, entries: entries, lastReference: last)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for fields in try lines(source).dropFirst() {
      guard fields.count == 3, let reference = Int64(fields[0]) else {
        throw PersistentStoreError(.malformed, "three fields")
      }
      try nodes.beginNode(entity: 0, reference: reference)
      if !fields[1].isEmpty { try nodes.set(.string(fields[1]), slot: 0) }
      for friend in fields[2].split(separator: ",") {
        if let friend = Int64(friend) { try nodes.append(toMany: friend, slot: 1) }
      }
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    var entries = snapshot.metadata.entries
    if lost == "entry" { entries["note"] = nil }
    let kept = Data(try PropertyList.encodeBinary(.dictionary(entries))).base64EncodedString()
    var text = "FORGETFUL\t\(snapshot.metadata.uuid)\t\(snapshot.metadata.lastReference)\t\(kept)\n"
    let reader = snapshot.nodes.reader(of: 0)
    for row in 0..<reader.count where lost != "object" || row != reader.count - 1 {
      let value = lost == "value" && row == 1 ? "" : reader.string(slot: 0, row: row)
      var friends: [ReferenceObject] = []
      let many = reader.toMany(slot: 1, row: row)
      for index in many.indices { friends.append(snapshot.nodes.reference(of: many[index])) }
      if !keepsOrder { friends.sort() }
      if lost == "friend", !friends.isEmpty { friends.removeLast() }
      text += "\(reader.reference(row: row))\t\(value)\t\(friends.map(\.description).joined(separator: ","))\n"
    }
    try staged.file().write(Array(text.utf8))
  }
}

/// The same, with nothing lost.
struct CarefulStore: AtomicStore {
  static let storeType = "Careful"
  static let traits = StoreTraits(summary: "Loses nothing, for tests", fileExtensions: ["careful"])
  private var base: ForgetfulStore

  static func recognize(_ probe: StoreProbe) -> Recognition { .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    base = try ForgetfulStore(configuration)
    base.keepsOrder = true
  }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try base.metadata(in: source)
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try base.load(source, into: nodes)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    try base.save(snapshot, to: staged)
  }
}

@Suite("Permission to lose one thing is not permission to lose another") struct DeclaredLossTests {
  static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string),
        .toMany("friends", "Person", isOrdered: true),
      ])
  ])

  /// Converts four people, of whom the first has the next two as friends, the last one first.
  private func convert(
    in folder: borrowing Folder, losing lost: String, allowsLoss: Bool, friends: [Int64] = [3, 2]
  ) throws -> StoreConverter.Report {
    var registry = StoreRegistry()
    try registry.register(ForgetfulStore.self)
    try registry.register(CarefulStore.self)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.model), registry: registry)
    let store = try coordinator.addPersistentStore(type: "Careful", at: folder("source.careful"))
    try store.setMetadata(["note": "kept"])
    try coordinator.save(
      store,
      changes: StoreChanges(
        inserted: ["Ada", "Bob", "Cyd", "Dan"].map { ManagedObjectSnapshot(entity: 0, values: [0: .string($0)]) }))
    var changed = ManagedObjectSnapshot(
      entity: 0, values: [1: .toMany(friends.map { ObjectReference(entityName: "Person", reference: .integer($0)) })])
    changed.reference = .integer(1)
    try coordinator.save(store, changes: StoreChanges(updated: [changed]))
    var converter = StoreConverter(registry: registry)
    converter.targetType = "Forgetful"
    converter.allowsLoss = allowsLoss
    converter.writeOptions = ["lose": lost]
    return try converter.convert(store, to: folder("target.forgetful"))
  }

  @Test("the declared loss is reported, and explains its difference")
  func declared() throws {
    let folder = try Folder()
    let report = try convert(in: folder, losing: "nothing", allowsLoss: true)
    #expect(report.losses.map(\.kind) == [.order] && report.losses.first?.subject == "Person.friends")
    #expect(folder.names == ["source.careful", "target.forgetful"])
  }

  @Test("without permission to lose it, nothing is written")
  func noLeave() throws {
    let folder = try Folder()
    #expect(throws: StoreConverter.LossError.self) { try convert(in: folder, losing: "nothing", allowsLoss: false) }
    #expect(folder.names == ["source.careful"])
  }

  @Test(
    "any other loss is detected, and the target is not replaced",
    arguments: [("object", "Person/4"), ("value", "Person/2.name"), ("entry", "note")])
  func undeclared(_ lost: String, _ words: String) throws {
    let folder = try Folder()
    let error = #expect(throws: StoreConverter.VerificationError.self) {
      try convert(in: folder, losing: lost, allowsLoss: true)
    }
    let told = error?.differences.map(\.description) ?? []
    #expect(told.contains { $0.contains(words) }, "\(told)")
    // The order was declared: it is not held against the result.
    #expect(told.count == 1, "\(told)")
    #expect(folder.names == ["source.careful"])
  }

  @Test("a removed friend is a different loss than the order of the remaining ones")
  func member() throws {
    let folder = try Folder()
    #expect(throws: StoreConverter.VerificationError.self) {
      try convert(in: folder, losing: "friend", allowsLoss: true)
    }
    #expect(folder.names == ["source.careful"])
  }

  @Test(
    "a save that is verified finds what the format loses, and the old store stays",
    arguments: [("value", "Person/2.name"), ("object", "Person/4"), ("entry", "note"), ("nothing", nil)])
  func verifiedSave(_ lost: String, _ words: String?) throws {
    let folder = try Folder()
    let path = folder("store.forgetful")
    func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }
    var registry = StoreRegistry()
    try registry.register(ForgetfulStore.self)
    let known = registry
    func open(_ lost: String) throws -> (PersistentStoreCoordinator, PersistentStore) {
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(Self.model), registry: known)
      let store = try coordinator.addPersistentStore(
        type: "Forgetful", at: path, options: ["lose": lost])
      return (coordinator, store)
    }
    let people = ["Ada", "Bob", "Cyd", "Dan"].map { ManagedObjectSnapshot(entity: 0, values: [0: .string($0)]) }
    let (first, old) = try open("nothing")
    try old.setMetadata(["note": "kept"])
    try first.save(old, changes: StoreChanges(inserted: people))
    try first.remove(old)
    let before = try bytes()

    let (coordinator, store) = try open(lost)
    coordinator.verifiesSaves = true
    var changed = ManagedObjectSnapshot(entity: 0, values: [0: .string("Eve")])
    changed.reference = .integer(1)
    let changes = StoreChanges(updated: [changed])
    guard let words else {
      try coordinator.save(store, changes: changes)
      #expect(try bytes() != before)
      return
    }
    let error = #expect(throws: PersistentStoreError.self) { try coordinator.save(store, changes: changes) }
    #expect(error?.code == .unsupportedByFormat)
    #expect(error?.message.contains(words) == true && error?.message.contains("Forgetful") == true, "\(error as Any)")
    #expect(try bytes() == before && folder.names == ["store.forgetful"])
    // Without, it would be lost.
    coordinator.verifiesSaves = false
    try coordinator.save(store, changes: changes)
    #expect(try bytes() != before)
  }
}
