/// The columns of a version as raw memory, for reads of single values that retain nothing: retaining and releasing an
/// object costs more than the read. Valid while the version is retained.
package struct NodeCells {
  private let headers: UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>>
  /// The index of each entity's first column, and behind the last entity the number of columns.
  private let starts: UnsafeMutablePointer<Int>
  private let entityCount: Int
  /// The integer references of each entity; nil for an entity with texts as references.
  private let numbers: UnsafeMutablePointer<UnsafeMutablePointer<ColumnHeader>?>

  /// - Parameters:
  ///   - columns: The columns of all entities, in their order.
  ///   - starts: The index of each entity's first column.
  ///   - nodes: The table that they belong to. The caller keeps it and the columns alive.
  init(_ columns: [Column], starts: [Int], of nodes: NodeTable) {
    headers = .allocate(capacity: max(columns.count, 1))
    for (index, column) in columns.enumerated() { (headers + index).initialize(to: column.header) }
    self.starts = .allocate(capacity: starts.count + 1)
    for (index, start) in starts.enumerated() { (self.starts + index).initialize(to: start) }
    (self.starts + starts.count).initialize(to: columns.count)
    entityCount = starts.count
    numbers = .allocate(capacity: max(starts.count, 1))
    for (index, table) in nodes.entities.enumerated() {
      (numbers + index).initialize(to: table.referenceTexts == nil ? table.referenceNumbers.header : nil)
    }
  }

  func deallocate() {
    numbers.deallocate()
    headers.deallocate()
    starts.deallocate()
  }

  @inline(__always) private func header(_ slot: Int, _ node: NodeHandle) -> UnsafeMutablePointer<ColumnHeader> {
    let entity = node.entity
    precondition(entity < entityCount && slot >= 0, "no such entity")
    let index = starts[entity] + slot
    precondition(index < starts[entity + 1], "no such slot")
    return headers[index]
  }

  /// The integer reference of a node; nil if the references of its entity are texts, or may be.
  package func number(of node: NodeHandle) -> Int64? {
    precondition(node.entity < entityCount, "no such entity")
    guard let header = numbers[node.entity] else { return nil }
    return header.pointee.cell(node.row, as: Int64.self)
  }

  /// The node that a to-one leads to; nil for null.
  package func toOne(_ slot: Int, of node: NodeHandle) -> NodeHandle? {
    let header = header(slot, node)
    guard header.pointee.layout == .toOne else { return nil }
    let bits = header.pointee.cell(node.row, as: UInt64.self)
    return bits == NodeHandle.nullBits ? nil : NodeHandle(bits: bits)
  }

  /// The value of a slot of an integer type, whatever its width; nil for null.
  package func integer(_ slot: Int, of node: NodeHandle) -> Int64? {
    let header = header(slot, node)
    guard header.pointee.isPresent(node.row) else { return nil }
    switch header.pointee.layout {
    case .integer64: return header.pointee.cell(node.row, as: Int64.self)
    case .integer32: return Int64(header.pointee.cell(node.row, as: Int32.self))
    case .integer16: return Int64(header.pointee.cell(node.row, as: Int16.self))
    default: return nil
    }
  }

  /// The bits of a slot of the type double or date; nil for null.
  package func double(_ slot: Int, of node: NodeHandle) -> Double? {
    let header = header(slot, node)
    guard header.pointee.layout == .double, header.pointee.isPresent(node.row) else { return nil }
    return Double(bitPattern: header.pointee.cell(node.row, as: UInt64.self))
  }

  /// The value of a slot of the type float; nil for null.
  package func float(_ slot: Int, of node: NodeHandle) -> Float? {
    let header = header(slot, node)
    guard header.pointee.layout == .float, header.pointee.isPresent(node.row) else { return nil }
    return Float(bitPattern: header.pointee.cell(node.row, as: UInt32.self))
  }

  /// The value of a slot of the type Boolean; nil for null.
  package func boolean(_ slot: Int, of node: NodeHandle) -> Bool? {
    let header = header(slot, node)
    guard header.pointee.layout == .boolean, header.pointee.isPresent(node.row) else { return nil }
    return header.pointee.cell(node.row, as: UInt8.self) != 0
  }

  /// The value of a slot of the type string; nil for null.
  package func text(_ slot: Int, of node: NodeHandle) -> String? {
    let header = header(slot, node)
    guard header.pointee.layout == .bytes, header.pointee.isPresent(node.row) else { return nil }
    return String(decoding: header.pointee.bytes(node.row), as: UTF8.self)
  }
}
