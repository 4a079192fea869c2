/// The references of all nodes of a table, for formats that write relationships: those of other rows, in any order.
///
/// Readers of all entities have them, too, but a reader in an array is retained and released at each access, at which
/// threads that write at the same time wait for each other.
public struct NodeReferences: Sendable {
  /// The references of one entity's rows.
  private struct Rows {
    let count: Int
    let numbers: UnsafePointer<Int64>
    /// Nil if all references are integers.
    let texts: UnsafeMutablePointer<ColumnHeader>?
  }
  /// Owns what the pointers lead to.
  ///
  /// `@unchecked Sendable`: everything is constant, and memory behind the pointers is only read: a column that belongs
  /// to the tables and another one is copied before it is written to.
  private final class Content: @unchecked Sendable {
    let tables: [EntityTable]
    let rows: UnsafeMutableBufferPointer<Rows>

    init(_ tables: [EntityTable]) {
      self.tables = tables
      rows = .allocate(capacity: tables.count)
      _ = rows.initialize(
        from: tables.lazy.map { table in
          Rows(
            count: table.count,
            numbers: UnsafePointer(table.referenceNumbers.header.pointee.cells.assumingMemoryBound(to: Int64.self)),
            texts: table.referenceTexts?.header)
        })
    }

    deinit { rows.deallocate() }
  }
  private let content: Content

  init(_ nodes: NodeTable) { content = Content(nodes.entities) }

  @inline(__always) private func rows(of node: NodeHandle) -> Rows {
    precondition(node.entity >= 0 && node.entity < content.rows.count, "the entity does not exist")
    let rows = content.rows[node.entity]
    precondition(node.row >= 0 && node.row < rows.count, "row out of range")
    return rows
  }

  /// The integer reference of a node, or nil if it is a string.
  public func integer(of node: NodeHandle) -> Int64? {
    let rows = rows(of: node)
    if let texts = rows.texts, node.row < texts.pointee.capacity, texts.pointee.isPresent(node.row) { return nil }
    return rows.numbers[node.row]
  }

  /// The UTF-8 of a node's string reference, or nil if it is an integer.
  @_lifetime(borrow self)
  public func text(of node: NodeHandle) -> Span<UInt8>? {
    guard let texts = rows(of: node).texts, node.row < texts.pointee.capacity, texts.pointee.isPresent(node.row) else {
      return nil
    }
    // The heap belongs to a column that this value retains, and a column with two owners is never written to.
    return _overrideLifetime(Span(_unsafeElements: texts.pointee.bytes(node.row)), borrowing: self)
  }
}

extension NodeTable {
  /// The references of all nodes.
  public var references: NodeReferences { NodeReferences(self) }
}
