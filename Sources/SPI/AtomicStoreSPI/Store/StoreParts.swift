/// Rows of some entities that an incremental store reads a part at a time: see ``IncrementalStore/read(_:_:)``.
public struct StoreParts: Sendable {
  /// The numbers of the entities, which are of one hierarchy and not abstract.
  public let entities: [Int]
  /// The attributes and to-ones that are read. Of an object that a to-one leads to, only the reference is.
  public let columns: NeededColumns
  /// The file's name for errors; nil if there is none.
  public let file: String?
  private let rows: Int
  /// About how many bytes the values of a part take, unless a row alone has more.
  private static let bytes = 4 << 20

  /// - Parameter rows: How many rows a part has at most.
  package init(_ entities: [Int], only columns: NeededColumns, file: String?, rows: Int) {
    (self.entities, self.columns, self.file, self.rows) = (entities, columns, file, rows)
  }

  /// Returns whether the rows of an entity that were added to nodes are a part.
  public func isFull(_ nodes: NodeTableBuilder, entity: Int) -> Bool {
    nodes.count(of: entity) >= rows || nodes.roomAtFirst - nodes.room >= Self.bytes
  }
}

/// Some rows of an entity, with the references to which they lead.
public struct StorePart {
  package let nodes: NodeTable
  package let entity: Int
  package let count: Int

  /// Creates a part.
  ///
  /// - Parameters:
  ///   - nodes: The rows in the order of references, followed by nodes without values for the other objects to which
  ///     they lead.
  ///   - entity: The number of the rows' entity.
  ///   - count: How many rows they are. Nodes of the same entity that follow are references, too.
  public init(_ nodes: NodeTable, entity: Int, count: Int) {
    (self.nodes, self.entity, self.count) = (nodes, entity, count)
  }
}
