extension ArrowWriter {
  /// Writes the objects of an entity as one record batch, so that readers have each column in one piece. The columns of
  /// a large table are encoded at the same time.
  ///
  /// - Parameters:
  ///   - form: A file or a stream.
  ///   - entity: Their entity.
  ///   - nodes: Contains them.
  ///   - references: Those of `nodes`.
  ///   - leastParallelValues: The number of values for which a further thread is worth starting.
  ///   - sink: Receives the bytes.
  public static func write(
    _ form: Form, _ entity: Entity, _ nodes: NodeTable, _ references: ArrowReferences,
    leastParallelValues: Int = 1 << 18, to sink: @escaping Sink
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
    var writer = try ArrowWriter(form, schema, to: sink)
    if rows.count > 0 { try writer.write(count: rows.count, columns.all.map(\.data)) }
    try writer.finish()
  }
}
