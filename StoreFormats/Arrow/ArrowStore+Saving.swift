import ArrowTables
public import AtomicStoreSPI

extension ArrowStore {
  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    let model = nodes.model
    let references = ArrowReferences(nodes)
    let configured = Set((model.entities(forConfiguration: configurationName) ?? model.entities).map(\.index))
    var members: [FolderMetadata.Member] = []
    var taken: Set<String> = [FolderMetadata.fileName]
    for entity in model.entities where !entity.isAbstract {
      guard configured.contains(entity.index) || nodes.count(of: entity.index) > 0 else { continue }
      let name = StagedFiles.memberName(for: entity.name, extension: "arrow", taken: &taken)
      let file = try staged.member(name)
      try ArrowWriter.write(.file, entity, nodes, references, leastParallelValues: leastParallelValues) {
        bytes throws(PersistentStoreError) in try file.write(bytes)
      }
      members.append(FolderMetadata.Member(file: name, entity: entity.name))
    }
    let metadata = FolderMetadata(metadata: snapshot.metadata, members: members)
    try metadata.write(
      model: snapshot.metadata.model ?? model.description, to: try staged.member(FolderMetadata.fileName))
  }
}
