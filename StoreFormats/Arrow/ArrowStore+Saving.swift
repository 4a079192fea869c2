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
      try write(entity, nodes, references, to: try staged.member(name))
      members.append(FolderMetadata.Member(file: name, entity: entity.name))
    }
    let metadata = FolderMetadata(metadata: snapshot.metadata, members: members)
    try metadata.write(
      model: snapshot.metadata.model ?? model.description, to: try staged.member(FolderMetadata.fileName))
  }

  /// Writes the objects of an entity as one record batch, so that readers have each column in one piece. The columns of
  /// a large table are encoded at the same time.
  private func write(
    _ entity: Entity, _ nodes: NodeTable, _ references: ArrowReferences, to file: StagedFile
  ) throws(PersistentStoreError) {
    let rows = ArrowRows(nodes.reader(of: entity.index))
    let maker = ArrowNodeColumns(of: entity, references, [rows])
    let columns = ParallelResults<(field: ArrowField, data: ArrowColumnData)>(entity.slots.count + 1)
    let isLarge = rows.count * columns.count >= leastParallelValues
    ParallelWork.forEach(columns.count, jobs: isLarge ? ParallelWork.jobs : 1) { number in
      let column =
        number == 0
        ? maker.identifiers(named: ArrowNodeColumns.identifierName(for: entity))
        : maker.column(entity.slots[number - 1])
      columns[number] = (column.field, column.data(batch: 0))
    }
    let schema = ArrowSchema(
      columns.all.map(\.field), metadata: [ArrowMetadataEntry(ArrowKey.entity, entity.name)])
    var writer = try ArrowWriter(.file, schema) { bytes throws(PersistentStoreError) in try file.write(bytes) }
    if rows.count > 0 { try writer.write(count: rows.count, columns.all.map(\.data)) }
    try writer.finish()
  }
}
