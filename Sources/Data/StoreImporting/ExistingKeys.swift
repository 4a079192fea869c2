import AtomicStoreSPI
import StoreCodecs

/// The references of one hierarchy of the store that records are added to. A key is read as the reference that the
/// store has, so that it finds its object.
struct ExistingKeys {
  private let nodes: NodeTable
  private let root: Int
  private var hasNumbers = false
  private var hasTexts = false
  /// Whether a reference begins with the name of an entity and a slash.
  private(set) var hasEntityNames = false

  /// Those of each hierarchy that has objects.
  static func byRoot(of nodes: NodeTable) -> [Int: ExistingKeys] {
    var found: [Int: ExistingKeys] = [:]
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let root = entity.root.index
      var keys = found[root] ?? ExistingKeys(nodes: nodes, root: root)
      let reader = nodes.reader(of: entity.index)
      let numbers = (0..<reader.count).count { reader.integerReference(row: $0) != nil }
      keys.hasNumbers = keys.hasNumbers || numbers > 0
      keys.hasTexts = keys.hasTexts || numbers < reader.count
      if numbers < reader.count, !keys.hasEntityNames {
        let names = Set(entity.root.hierarchy.map(\.name))
        keys.hasEntityNames = nodes.handles(of: entity.index).contains {
          guard case .string(let text) = nodes.reference(of: $0) else { return false }
          return text.firstIndex(of: "/").map { names.contains(String(text[..<$0])) } ?? false
        }
      }
      found[root] = keys
    }
    return found
  }

  private init(nodes: NodeTable, root: Int) {
    self.nodes = nodes
    self.root = root
  }

  /// What a key is: the reference of the object that has it; otherwise a reference like the others of the hierarchy.
  /// Where one object has it as a text and another as a number, it is the text: keys of tables became texts there, and
  /// only objects that were inserted later have numbers.
  ///
  /// - Parameter number: The key as an integer, if it is one; leading zeros do not count.
  func reference(_ text: Span<UInt8>, number: Int64?) -> ReferenceObject {
    if let number, !hasTexts { return .integer(number) }
    let string = ReferenceObject.string(ValueReader.text(ValueReader.trimmed(text)))
    guard let number, hasNumbers, nodes.handle(for: string, entity: root) == nil else { return string }
    let isKnown = nodes.handle(for: .integer(number), entity: root) != nil
    return isKnown || !ValueReader.hasLeadingZero(text) ? .integer(number) : string
  }
}
