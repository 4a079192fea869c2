import AtomicStoreKit

/// Which differences between two stores a user wants to see.
struct DiffRequest {
  /// The entities that are compared, with their sub-entities; nil for all.
  var entities: Set<ScalarString>?
  /// Properties as `property` and `Entity.property`, and metadata keys.
  private var ignored: Set<ScalarString> = []

  /// Adds a property, `PROPERTY` or `ENTITY.PROPERTY`, that is not compared; one of an entity is not compared in the
  /// entity's sub-entities either.
  mutating func ignore(_ text: String, _ models: [ManagedObjectModel]) {
    ignored.insert(ScalarString(text))
    guard let dot = text.firstIndex(of: ".") else { return }
    for model in models {
      guard let entity = model.entity(named: String(text[..<dot])) else { continue }
      for member in entity.hierarchy { ignored.insert(ScalarString(member.name + text[dot...])) }
    }
  }

  private func ignores(_ name: String) -> Bool { ignored.contains(ScalarString(name)) }

  /// Whether a difference is of what is to be compared.
  func includes(_ difference: GraphDifference) -> Bool {
    guard let object = difference.object else {
      guard difference.kind == .metadata else { return entities == nil }
      return entities == nil && !ignores(difference.keyPath) && !ignores(difference.key ?? "")
    }
    guard entities?.contains(ScalarString(object.entityName)) ?? true else { return false }
    guard difference.kind == .changed, let key = difference.key else { return true }
    return !ignores(key) && !ignores("\(object.entityName).\(key)")
  }

  /// Whether a remark about the models is of what is to be compared.
  func includes(_ remark: ModelsBeside.Remark) -> Bool {
    if remark.kind == .type, let property = remark.property {
      guard !ignores(property), !remark.entities.contains(where: { ignores("\($0).\(property)") }) else { return false }
    }
    guard let entities, !remark.entities.isEmpty else { return true }
    return remark.entities.contains { entities.contains(ScalarString($0)) }
  }
}
