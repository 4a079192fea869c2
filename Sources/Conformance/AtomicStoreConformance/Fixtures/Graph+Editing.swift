import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Graph {
  init(_ model: ModelDescription, _ objects: [(label: String, entity: String)]) {
    self.init(model, objects.map { Object(label: $0.label, entity: $0.entity) })
  }

  subscript(_ label: String) -> Object? { objects.first { $0.label == label } }

  private mutating func change(_ label: String, _ body: (inout Object) -> Void) {
    if let place = objects.firstIndex(where: { $0.label == label }) { body(&objects[place]) }
  }

  /// Nil takes a value away.
  mutating func set(_ label: String, _ name: String, _ value: StoredValue?) {
    change(label) { $0.values[name] = value }
  }

  /// Makes a relationship lead to these objects, and the other ends agree, as a context does.
  mutating func relate(_ label: String, _ name: String, to targets: [String]) throws {
    let frozen = try Models.frozen(model)
    let relationship = self[label].flatMap { frozen.entity(named: $0.entity) }?.slots.first { $0.name == name }?
      .relationship
    let old = self[label]?.links[name] ?? []
    change(label) { $0.links[name] = targets }
    guard let relationship, let inverse = relationship.inverseName else { return }
    for target in old where !targets.contains(target) {
      change(target) { $0.links[inverse]?.removeAll { $0 == label } }
    }
    let fresh = Set(old)
    for target in targets where !fresh.contains(target) {
      guard let other = self[target] else { continue }
      let isToMany = frozen.entity(named: other.entity)?.slots.first { $0.name == inverse }?.isToMany ?? false
      if isToMany {
        if !(other.links[inverse] ?? []).contains(label) {
          change(target) { $0.links[inverse, default: []].append(label) }
        }
      } else {
        for previous in other.links[inverse] ?? [] where previous != label {
          change(previous) { $0.links[name]?.removeAll { $0 == target } }
        }
        change(target) { $0.links[inverse] = [label] }
      }
    }
  }

  /// Takes an object out, and what leads to it.
  mutating func remove(_ label: String) {
    objects.removeAll { $0.label == label }
    for place in objects.indices {
      for name in objects[place].links.keys { objects[place].links[name]?.removeAll { $0 == label } }
    }
  }
}
