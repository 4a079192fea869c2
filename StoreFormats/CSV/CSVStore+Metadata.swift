public import AtomicStoreSPI

/// Changing the metadata alone.
extension CSVStore {
  /// Rewrites `metadata.plist` and copies the other files byte for byte. Files that were edited are still detected as
  /// edited: their digests are not updated.
  ///
  /// - Returns: False for a single file, which does not have metadata.
  public mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to staged: StagedFiles
  ) throws(PersistentStoreError) -> Bool {
    guard layout == .folder, source.isFolder else { return false }
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
