import AtomicStoreKit
import FoundationEssentials
import StoreMigration

/// Two stores' models side by side: what only one of them has, and what was renamed.
struct ModelsBeside {
  private let mapping: ModelMapping
  /// Properties of the second model, as `Entity.property`, whose values the first store does not have.
  private let added: Set<String>
  private let newEntities: Set<String>
  /// What differs, a line for each.
  let lines: [String]

  init(_ first: ManagedObjectModel, _ second: ManagedObjectModel, names: (String, String)) {
    var options = ModelMapping.Options()
    options.leavesGaps = true
    mapping = ModelMapping(from: first, to: second, options: options)
    var added: Set<String> = []
    var lines: [String] = []
    for (new, old) in mapping.renamings { lines.append("= \(old) is \(new) in \(names.1)") }
    for name in mapping.removedEntities { lines.append("- \(name): only in the model of \(names.0)") }
    var newEntities: Set<String> = []
    for entity in mapping.entities {
      guard let sourceName = entity.sourceName else {
        newEntities.insert(entity.name)
        lines.append("+ \(entity.name): only in the model of \(names.1)")
        continue
      }
      for name in entity.removedProperties { lines.append("- \(sourceName).\(name): only in the model of \(names.0)") }
      for property in entity.properties {
        switch property.origin {
        case .kept, .converted: continue
        case .constant, .expression, .inverse: break
        }
        added.insert("\(entity.name).\(property.name)")
        lines.append("+ \(entity.name).\(property.name): only in the model of \(names.1)")
      }
    }
    self.added = added
    self.newEntities = newEntities
    self.lines = lines
  }

  /// The first store's objects with the second one's names.
  func aligned(_ nodes: NodeTable, store: UUID) throws -> NodeTable { try mapping.apply(to: nodes, store: store) }

  /// Whether a difference is one of what both models have.
  func concerns(_ difference: GraphDifference) -> Bool {
    switch difference.kind {
    case .metadata: return !VersionHashes.derivedMetadataKeys.contains(difference.key ?? "")
    case .inserted: return !newEntities.contains(difference.object?.entityName ?? "")
    case .changed: return !added.contains("\(difference.object?.entityName ?? "").\(difference.key ?? "")")
    case .deleted, .identity, .model: return true
    }
  }
}
