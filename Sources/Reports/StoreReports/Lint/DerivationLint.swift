import AtomicStoreSPI
import StorePredicates

/// Derived attributes that a save cannot always compute: if what they read changes, nothing leads back to their
/// objects.
struct DerivationLint {
  private let model: ManagedObjectModel

  init(_ model: ManagedObjectModel) { self.model = model }

  func run(_ list: inout LintList) {
    checkCircles(&list)
    for entity in model.entities {
      for case .attribute(let attribute) in entity.declaration.properties {
        guard let text = attribute.derivationExpression else { continue }
        let derivation = DerivationPaths(text)
        var reasons = derivation.customFunctions.filter { !Self.knownFunctions.contains($0) }.map {
          "it calls the function '\($0)', and what that reads is not known"
        }
        reasons += derivation.paths.compactMap { reason($0, from: entity) }
        guard let first = reasons.first else { continue }
        list.add(
          "untraced-derivation", entity.name, attribute.name,
          first + ": it may show an old value until its object is saved with another change")
      }
    }
  }

  // MARK: Circles

  private struct Derived: Hashable {
    let entity: Int
    let name: ScalarString
  }

  /// Reports attributes that are derived from themselves, directly or through other objects.
  private func checkCircles(_ list: inout LintList) {
    var sources: [Derived: Set<Derived>] = [:]
    for entity in model.entities {
      for case .attribute(let attribute) in entity.declaration.properties {
        guard let text = attribute.derivationExpression else { continue }
        sources[Derived(entity: entity.index, name: ScalarString(attribute.name))] = Set(
          DerivationPaths(text).paths.flatMap { derived(on: $0, from: entity) })
      }
    }
    // What is derived from nothing that is left, or what nothing that is left is derived from, is not in a circle.
    var count = -1
    while count != sources.count {
      count = sources.count
      let read = Set(sources.values.joined())
      sources = sources.filter { read.contains($0.key) && $0.value.contains { sources[$0] != nil } }
    }
    for entity in model.entities {
      for case .attribute(let attribute) in entity.declaration.properties
      where sources[Derived(entity: entity.index, name: ScalarString(attribute.name))] != nil {
        list.add("derivation-cycle", entity.name, attribute.name, "it is derived from itself, and may keep changing")
      }
    }
  }

  /// The derived attributes on a path.
  private func derived(on path: [String], from start: Entity) -> [Derived] {
    var found: [Derived] = []
    var entity = start
    for key in path where !FetchExpression.isOperator(key) {
      var owner = entity.hierarchy.first { $0.property(named: key) != nil } ?? entity
      let property = owner.property(named: key)
      while let above = owner.superentity, above.property(named: key) != nil { owner = above }
      switch property {
      case .attribute(let attribute) where attribute.derivationExpression != nil:
        found.append(Derived(entity: owner.index, name: ScalarString(key)))
      case .relationship(let relationship):
        guard let next = model.entity(named: relationship.destinationEntityName) else { return found }
        entity = next
      default: break
      }
    }
    return found
  }

  // MARK: What is not traced

  /// Functions that read nothing but their arguments.
  private static let knownFunctions: Set<String> = [
    "length", "uppercaseString", "uppercase", "lowercaseString", "lowercase", "self",
  ]

  /// Where a path leads over something that does not lead back, before its end.
  private func reason(_ path: [String], from start: Entity) -> String? {
    var entity = start
    let keys = path.filter { !FetchExpression.isOperator($0) }
    for (place, key) in keys.enumerated() {
      let owner = entity.hierarchy.first { $0.property(named: key) != nil } ?? entity
      let isLast = place + 1 == keys.count
      switch owner.property(named: key) {
      case .fetchedProperty: return "\(owner.name).\(key) is a fetched property"
      case .relationship(let relationship):
        guard let destination = model.entity(named: relationship.destinationEntityName) else { return nil }
        let inverse = owner.slot(named: key).flatMap { owner.slots[$0].inverseSlot }.map { destination.slots[$0] }
        if let inverse, inverse.relationship?.deleteRule == .noAction {
          return "\(destination.name).\(inverse.name) has the delete rule No Action"
        }
        guard inverse != nil else { return "\(owner.name).\(key) has no inverse" }
        if isLast { return nil }
        entity = destination
      case .attribute, nil: return nil
      }
    }
    return nil
  }
}
