import ArrowTables
public import AtomicStoreSPI

extension ArrowStore {
  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let folder = try folderMetadata(in: source)
    let expected = Set(folder.members.map { ScalarString($0.file) })
    for name in source.memberNames where name != FolderMetadata.fileName && !expected.contains(ScalarString(name)) {
      // A table that was added would be lost with the next save; other files are kept.
      guard name.lowercased().hasSuffix(".arrow") else {
        source.passOver(member: name)
        continue
      }
      throw PersistentStoreError(
        .malformed, "the file is not listed in \(FolderMetadata.fileName)",
        at: StoreLocation(file: source.displayName(ofMember: name), entity: String(name.dropLast(6))))
    }
    for member in folder.members {
      let name = source.displayName(ofMember: member.file)
      guard let entity = nodes.model.entity(named: member.entity), !entity.isAbstract else {
        throw PersistentStoreError(
          .modelMismatch, "the store contains \(member.entity), which the model does not have, or only as abstract",
          at: StoreLocation(file: name, entity: member.entity))
      }
      nodes.setMember(name, entity: entity.index)
      let bytes = try source.bytes(ofMember: member.file)
      do throws(PersistentStoreError) {
        try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
          try ArrowFile(raw).load(entity, ofBytes: raw.count, into: nodes)
        }
      } catch {
        throw error.located(StoreLocation(file: name, entity: entity.name))
      }
    }
  }
}
