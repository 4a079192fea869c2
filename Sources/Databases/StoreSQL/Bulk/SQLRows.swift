import AtomicStoreSPI

/// The rows of a snapshot: their readers and their row numbers.
struct SQLRows {
  let readers: [EntityReader]
  /// By entity: the row number of each row, where references are texts; empty where they are numbers themselves.
  let textNumbers: [[Int64]]
  /// The rows' own references. Valid while the readers are retained.
  private let references: [ReferenceView]

  init(_ readers: [EntityReader], _ textNumbers: [[Int64]]) {
    (self.readers, self.textNumbers) = (readers, textNumbers)
    references = readers.map(\.references)
  }

  @inline(__always) func id(_ node: NodeHandle) -> Int64 {
    textNumbers[node.entity].isEmpty ? references[node.entity].number(node.row) : textNumbers[node.entity][node.row]
  }

  /// The rows of an entity in the order of their numbers; empty if they are in that order.
  func order(of entity: Int) -> [Int] {
    func id(_ row: Int) -> Int64 { self.id(NodeHandle(entity: entity, row: row)) }
    let rows = 0..<readers[entity].count
    guard rows.dropFirst().contains(where: { id($0 - 1) > id($0) }) else { return [] }
    return rows.sorted { id($0) < id($1) }
  }

  func different(_ entity: Entity, _ id: Int64, _ slot: Int) -> PersistentStoreError {
    Self.different("\(entity.name), row \(id): '\(entity.slots[slot].name)' has a different value")
  }

  static func different(_ what: String) -> PersistentStoreError {
    PersistentStoreError(.internalInconsistency, "the result is not what was written: \(what)")
  }
}
