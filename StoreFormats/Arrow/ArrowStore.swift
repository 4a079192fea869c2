import ArrowTables
public import AtomicStoreSPI

/// A store in Arrow files: a directory with an IPC file for each concrete entity, and metadata.
///
/// Any reader of Arrow opens the files, without copying their columns; `FORMAT.md` describes them.
public struct ArrowStore: AtomicStore {
  public static let storeType = "Arrow"
  public static let traits = StoreTraits(
    summary: "Arrow files, one for each entity, that data-analysis tools read without conversion",
    fileExtensions: ["arrowstore"], layout: .folder)

  /// A store opened with a configuration has files only for the entities of that configuration.
  let configurationName: String?
  private let depth: Int
  /// The number of values of a table for which a further thread is worth starting.
  var leastParallelValues = 1 << 18

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    configurationName = configuration.configurationName
    depth = configuration.limits.depth
  }

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    guard probe.isFolder else { return .no }
    return FolderMetadata.isMetadata(probe.prefix(ofMember: FolderMetadata.fileName)) ? .yes : .no
  }

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try folderMetadata(in: source).metadata
  }

  func folderMetadata(in source: StoreSource) throws(PersistentStoreError) -> FolderMetadata {
    guard source.isFolder else {
      throw PersistentStoreError(
        .unsupportedFileKind, "an Arrow store is a directory", at: StoreLocation(file: source.name))
    }
    return try FolderMetadata.read(source, storeType: Self.storeType, maximumDepth: depth)
  }

  /// Writes `metadata.plist` and copies the tables byte for byte.
  public mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to staged: StagedFiles
  ) throws(PersistentStoreError) -> Bool {
    var folder = try folderMetadata(in: source)
    folder.metadata.entries = metadata.entries
    guard let model = folder.metadata.model else { return false }
    for member in folder.members {
      let bytes = try source.bytes(ofMember: member.file)
      let file = try staged.member(member.file)
      try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in try file.write(raw) }
    }
    try folder.write(model: model, to: try staged.member(FolderMetadata.fileName))
    return true
  }
}
