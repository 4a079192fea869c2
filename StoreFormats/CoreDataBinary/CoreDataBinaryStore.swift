public import AtomicStoreSPI
import StoreCodecs

/// Core Data's binary store (`NSBinaryStoreType`): two keyed archives behind a header.
///
/// The archives are read as data; no class is looked up by its name. What is written was not verified with Core Data:
/// see FORMAT.md.
public struct CoreDataBinaryStore: AtomicStore {
  public static let storeType = StoreKeys.storeType
  public static let traits = StoreTraits(
    summary: "Core Data's binary store (NSBinaryStoreType); what is written is not verified with Core Data",
    fileExtensions: ["binary"], references: .integersOnly, trustedHashes: .ofInferredLayouts,
    unsupportedTypes: ["Undefined", "Transformable"],
    keptValue: { ArchivedObject.kept($0, of: $1) })

  private let depth: Int
  private let skipsDamagedObjects: Bool
  private let path: String
  /// Whether the model was inferred from the store.
  private var isInferred = false
  /// What the metadata say, for the load that follows.
  private var ownModel: ModelDescription?

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    depth = configuration.limits.depth
    path = configuration.path
    skipsDamagedObjects = configuration.skipsDamagedObjects
  }

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    !probe.isFolder && probe.prefix.starts(with: BinaryHeader.signature + [0, 0, 0]) ? .yes : .no
  }

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let depth = depth
    let metadata = try Self.read(source) { (bytes, header) throws(PersistentStoreError) in
      try BinaryMetadata.read(try Self.archive(bytes, header.metadata, source), header, maximumDepth: depth)
    }
    ownModel = metadata.model
    return metadata
  }

  public mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    let skipsDamage = skipsDamagedObjects
    let model = try Self.read(source) { (bytes, header) throws(PersistentStoreError) in
      BinaryRawView(try BinaryMap(try Self.archive(bytes, header.map, source), skippingDamage: skipsDamage)).model()
    }
    isInferred = true
    return model
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let loader = BinaryLoader(nodes, ownModel: ownModel)
    if isInferred {
      source.report(
        LoadNote(
          subject: "model",
          text: "guessed from the objects: attributes are named by their position, and typed by their values"))
    }
    let skipsDamage = skipsDamagedObjects
    try Self.read(source) { (bytes, header) throws(PersistentStoreError) in
      try loader.load(try BinaryMap(try Self.archive(bytes, header.map, source), skippingDamage: skipsDamage))
    }
  }

  public mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    try BinaryWriter(snapshot, path: path).write(to: try files.file())
  }

  private static func read<Result>(
    _ source: StoreSource, _ body: (UnsafeRawBufferPointer, BinaryHeader) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    let bytes = try source.bytes()
    return try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      do throws(PersistentStoreError) { return try body(raw, try BinaryHeader(raw)) } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
  }

  /// A part of the file as an archive. An error's offset is one of the file.
  private static func archive(
    _ bytes: UnsafeRawBufferPointer, _ part: Range<Int>, _ source: StoreSource
  ) throws(PersistentStoreError) -> KeyedArchive {
    do throws(PersistentStoreError) {
      return try KeyedArchive(UnsafeRawBufferPointer(rebasing: bytes[part]), file: source.name)
    } catch {
      var error = error
      if error.code == .foreignFormat || error.code == .notSupported { error.code = .malformed }
      error.location.offset = part.lowerBound + (error.location.offset ?? 0)
      throw error
    }
  }
}
