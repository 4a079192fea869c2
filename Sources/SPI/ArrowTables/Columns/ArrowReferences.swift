/// The references of all nodes of a table: as integers, or as texts with their kind for hierarchies in which some
/// object has a string.
///
/// In one array: relationships access them in random order, and using an entity's reader would retain and release for
/// each.
public struct ArrowReferences: Sendable {
  private let nodes: NodeTable
  private var numbers: [Int64] = []
  /// The start of each entity's part.
  private var starts: [Int] = []
  /// Whether references of the entity's hierarchy are texts, by entity.
  private var hasTexts: [Bool]

  /// Collects the references of all nodes.
  public init(_ nodes: NodeTable) {
    self.nodes = nodes
    let entities = nodes.model.entities
    numbers.reserveCapacity(nodes.count)
    hasTexts = Self.hierarchiesWithTexts(nodes)
    for entity in entities {
      let reader = nodes.reader(of: entity.index)
      starts.append(numbers.count)
      for row in 0..<reader.count { numbers.append(reader.integerReference(row: row) ?? 0) }
    }
  }

  /// Whether references of an entity's hierarchy are texts, by entity.
  package static func hierarchiesWithTexts(_ nodes: NodeTable) -> [Bool] {
    var result = [Bool](repeating: false, count: nodes.model.entities.count)
    for entity in nodes.model.entities where nodes.reader(of: entity.index).hasStringReferences {
      for other in entity.root.hierarchy { result[other.index] = true }
    }
    return result
  }

  /// Whether the references of an entity's hierarchy are texts.
  func areTexts(_ entity: Int) -> Bool { hasTexts[entity] }

  @inline(__always) func number(of node: NodeHandle) -> Int64 { numbers[starts[node.entity] + node.row] }

  func text(of node: NodeHandle) -> String { Self.text(nodes.reference(of: node)) }

  /// A reference with its kind: `integer:5`, `string:abc`.
  static func text(_ reference: ReferenceObject) -> String {
    switch reference {
    case .integer(let number): StoredValue.integer(number).typedText
    case .string(let text): StoredValue.string(text).typedText
    }
  }
}
