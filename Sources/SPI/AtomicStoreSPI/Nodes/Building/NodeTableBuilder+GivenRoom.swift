/// Room for nodes that are copied from a graph in memory.
extension NodeTableBuilder {
  /// Adds room for a copy of the nodes: that much memory is taken already. A limit that the caller set is kept.
  package func addRoom(for nodes: NodeTable) {
    guard limits.memory == nil, room < .max else { return }
    let columns = nodes.entities.flatMap { $0.columns + [$0.referenceNumbers, $0.referenceTexts].compactMap(\.self) }
    let bytes = columns.reduce(0) { sum, column in
      let header = column.header.pointee
      return sum + ColumnHeader.size(header.layout, rows: header.capacity) + header.heapCount * header.layout.heapUnit
    }
    // Columns grow by half.
    room += bytes * 2
  }
}
