public import AtomicStoreSPI

/// Changing the metadata alone.
extension CSVStore {
  /// Rewrites `metadata.plist` and copies the other files byte for byte.
  ///
  /// - Returns: False for a single file, which does not have metadata; and where edits were accepted: the numbers of
  ///   rows and the digests in the metadata may be those of other tables, and are only right after a whole save.
  public mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to staged: StagedFiles
  ) throws(PersistentStoreError) -> Bool {
    guard layout == .folder, source.isFolder, options["edited"] != "accept" else { return false }
    let folder = try FolderMetadata.read(source, storeType: Self.storeType, maximumDepth: maximumDepth)
    guard let model = folder.metadata.model else { return false }
    var changed = folder.metadata
    changed.entries = metadata.entries
    for member in folder.members {
      let bytes = try source.bytes(ofMember: member.file)
      let file = try staged.member(member.file)
      try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in try file.write(raw) }
    }
    try staged.member(FolderMetadata.fileName).write(try FolderMetadata.encode(changed, model, folder.members))
    return true
  }
}
