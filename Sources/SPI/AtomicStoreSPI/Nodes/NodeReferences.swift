import CTextVectors

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
    /// Computed once: a format asks for each entity.
    let hasTexts: Bool
    let exceedCaches: Bool

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
      let texts = tables.compactMap(\.referenceTexts?.header)
      hasTexts = !texts.isEmpty
      exceedCaches = texts.contains { $0.pointee.heapCount + $0.pointee.capacity * 8 > 6 << 20 }
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

  /// Whether any node has a string reference. A format that writes many asks for ``text(of:)`` first then.
  public var hasTexts: Bool { content.hasTexts }

  /// Whether the string references take more memory than a processor's caches usually hold, a few megabytes. Those of
  /// other rows are worth reading ahead then, see ``prefetchPlace(of:)``; otherwise that takes longer than it gains.
  public var exceedCaches: Bool { content.exceedCaches }

  /// Has the place of a node's string reference read into the processor's caches. It affects only how long reading the
  /// reference takes.
  ///
  /// The texts of nodes in any order are in as many places of memory, each of which is waited for. A format that writes
  /// many of them calls this for what it writes some rows later, and then ``prefetchText(of:)``, still before it is
  /// written.
  ///
  /// - Parameter node: A node of the table, with a reference of either kind.
  public func prefetchPlace(of node: NodeHandle) {
    guard let texts = rows(of: node).texts, node.row < texts.pointee.capacity else { return }
    atv_prefetch(texts.pointee.cells + node.row * MemoryLayout<UInt64>.size)
  }

  /// Has a node's string reference read into the processor's caches, after ``prefetchPlace(of:)``.
  ///
  /// - Parameter node: A node of the table, with a reference of either kind.
  public func prefetchText(of node: NodeHandle) {
    guard let texts = rows(of: node).texts, node.row < texts.pointee.capacity,
      let place = texts.pointee.extent(node.row)
    else { return }
    atv_prefetch(texts.pointee.heap + place.start)
  }
}

extension NodeTable {
  /// The references of all nodes.
  public var references: NodeReferences { NodeReferences(self) }
}
