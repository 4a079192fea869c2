import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// `metadata.plist` of the directory: identity, entries, model, and the file of each entity.
struct FolderMetadata {
  struct Member {
    var file: String
    var entity: String
  }
  var metadata: StoreMetadata
  var members: [Member]

  static let fileName = "metadata.plist"
  static let signature = "AtomicStore Arrow"
  static let version = 1
  private static let keys = ["format", "version", "UUID", "lastReference", "metadata", "model", "members"]

  /// Whether these first bytes of a file are those of such metadata: the signature is its first string.
  static func isMetadata(_ prefix: [UInt8]) -> Bool {
    guard prefix.starts(with: "bplist00".utf8) else { return false }
    // The string's marker and its length, of up to four bytes, are in between.
    let head = prefix.dropFirst(8).prefix(64)
    return head.indices.prefix(5).contains { head[$0...].starts(with: signature.utf8) }
  }

  // MARK: Reading

  static func read(
    _ source: StoreSource, storeType: String, maximumDepth: Int
  ) throws(PersistentStoreError) -> FolderMetadata {
    do throws(PersistentStoreError) {
      let bytes = try source.bytes(ofMember: fileName)
      let list = try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
        try PropertyList.decodeBinary(raw, maximumDepth: maximumDepth)
      }
      return try FolderMetadata(list, storeType: storeType)
    } catch {
      throw error.located(StoreLocation(file: source.displayName(ofMember: fileName)))
    }
  }

  private init(_ list: PropertyListValue, storeType: String) throws(PersistentStoreError) {
    func bad(_ what: String) -> PersistentStoreError { PersistentStoreError(.malformed, what) }
    guard let top = list.dictionaryValue, top["format"]?.stringValue == Self.signature else {
      throw bad("this is not the metadata of an Arrow store")
    }
    guard let version = top["version"]?.integerValue else { throw bad("'version' is missing or not an integer") }
    guard version == Self.version else {
      throw PersistentStoreError(
        .unsupportedVersion,
        "the store is of version \(version), but this version of the kit reads version \(Self.version)")
    }
    for entry in top where !Self.keys.contains(where: { $0.utf8.elementsEqual(entry.key.utf8) }) {
      throw bad("the unknown key '\(entry.key)'")
    }
    guard let uuid = top["UUID"]?.stringValue.flatMap({ UUID(uuidString: $0) }) else {
      throw bad("'UUID' is missing or not a UUID")
    }
    guard case .integer(let number)? = top["lastReference"], let last = Int64(exactly: number) else {
      throw bad("'lastReference' is missing or not an integer")
    }
    guard let entries = top["metadata"]?.dictionaryValue else { throw bad("'metadata' is not a dictionary") }
    guard let model = top["model"] else { throw bad("'model' is missing") }
    guard let list = top["members"]?.arrayValue else { throw bad("'members' is missing or not a list") }
    metadata = StoreMetadata(
      storeType: storeType, uuid: uuid, entries: entries, lastReference: last,
      model: try ModelDescription(propertyList: model))
    members = []
    var files: Set<ScalarString> = []
    var entities: Set<ScalarString> = []
    for value in list {
      guard let member = value.dictionaryValue, let file = member["file"]?.stringValue,
        let entity = member["entity"]?.stringValue, member.count == 2
      else { throw bad("'members' contains something else than a file and its entity") }
      guard files.insert(ScalarString(file)).inserted, entities.insert(ScalarString(entity)).inserted else {
        throw bad("'members' contains '\(file)' or '\(entity)' twice")
      }
      members.append(Member(file: file, entity: entity))
    }
  }

  init(metadata: StoreMetadata, members: [Member]) {
    self.metadata = metadata
    self.members = members
  }

  // MARK: Writing

  func write(model: ModelDescription, to file: StagedFile) throws(PersistentStoreError) {
    let model = model.propertyList
    let entries = PropertyListValue.dictionary(metadata.entries)
    let list = PropertyListValue.array(
      members.map { ["file": .string($0.file), "entity": .string($0.entity)] })
    var writer = try BinaryPropertyListWriter(
      maximumObjectCount: [model, entries, list].reduce(32) { $0 + Self.objectCount($1) }
    ) { (bytes) throws(PersistentStoreError) in try file.write(bytes) }
    // Written first, so that it is among the file's first bytes.
    let signature = try writer.string(Self.signature)
    var top: [(key: BinaryPropertyListWriter.Reference, value: BinaryPropertyListWriter.Reference)] = []
    top.append((try writer.string("format"), signature))
    top.append((try writer.string("version"), try writer.integer(Int128(Self.version))))
    top.append((try writer.string("UUID"), try writer.string(metadata.uuid.uuidString)))
    top.append((try writer.string("lastReference"), try writer.integer(Int128(metadata.lastReference))))
    top.append((try writer.string("members"), try writer.value(list)))
    top.append((try writer.string("metadata"), try writer.value(entries)))
    top.append((try writer.string("model"), try writer.value(model)))
    let reference = try writer.dictionary(top)
    try writer.finish(top: reference)
  }

  private static func objectCount(_ value: PropertyListValue) -> Int {
    switch value {
    case .array(let elements): elements.reduce(1) { $0 + objectCount($1) }
    case .dictionary(let entries): entries.reduce(1) { $0 + 1 + objectCount($1.value) }
    default: 1
    }
  }
}
