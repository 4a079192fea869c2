import AtomicStoreSPI
import StoreCodecs

/// The integer references of all nodes in one array: relationships access them in random order, and using an entity's
/// reader would retain and release for each.
struct ReferenceNumbers: Sendable {
  private var numbers: [Int64] = []
  /// The start of each entity's part.
  private var starts: [Int] = []
  /// Empty if all references are integers. Otherwise, readers are used for the others.
  private var readers: [EntityReader] = []

  init(of nodes: NodeTable) {
    let all = nodes.model.entities.map { nodes.reader(of: $0.index) }
    if all.contains(where: \.hasStringReferences) { readers = all }
    numbers.reserveCapacity(all.reduce(0) { $0 + $1.count })
    for reader in all {
      starts.append(numbers.count)
      for row in 0..<reader.count { numbers.append(reader.integerReference(row: row) ?? 0) }
    }
  }

  /// Returns nil if the reference is a string.
  subscript(node: NodeHandle) -> Int64? {
    guard readers.isEmpty else { return readers[node.entity].integerReference(row: node.row) }
    return numbers[starts[node.entity] + node.row]
  }

  /// Writes a string reference.
  func appendText(of node: NodeHandle, to writer: ByteWriter) {
    let reader = readers[node.entity]
    if let text = reader.textReference(row: node.row) { ReferenceText.append(text, to: writer) }
  }
}
