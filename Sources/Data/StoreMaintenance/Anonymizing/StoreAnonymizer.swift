package import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Replaces personal data by other values, equal values by equal ones, so that stores can be shared and still be joined
/// and tested.
package struct StoreAnonymizer: Sendable {
  /// How the values of a property are replaced. Null stays null.
  package enum Rule: Sendable, Hashable, CustomStringConvertible {
    /// Sixteen hexadecimal digits, or a number or UUID, computed from the value and the salt: equal values stay equal.
    case hash
    /// Letters become x or X, digits 0; length and everything else stay.
    case mask
    /// The same value everywhere, read as the property's type.
    case fixed(String)
    /// A text with the object's number among those of the entity and its sub-entities, from 1 in the order of
    /// references; or the number itself.
    case sequence(String)

    /// As the command line writes it: `fixed:TEXT`.
    package var description: String {
      switch self {
      case .hash: "hash"
      case .mask: "mask"
      case .fixed(let text): "fixed:\(text)"
      case .sequence(let prefix): "sequence:\(prefix)"
      }
    }
  }

  /// Mixed into every hash: without it no one can find out a value by trying.
  package var salt: String
  /// By entity, inherited properties included, and by property. That of a sub-entity takes precedence.
  package var rules: [String: [String: Rule]] = [:]

  /// Creates an anonymizer that changes nothing.
  ///
  /// - Parameter salt: A text that is kept secret. The same one gives the same hashes in another store.
  package init(salt: String) { self.salt = salt }

  /// Replaces the values, and computes all derived attributes: none keeps a text that was replaced.
  ///
  /// - Returns: The new objects, and how many values were replaced, by `Entity.property`.
  /// - Throws: `.invalidOption` for an entity or property that does not exist, a derived attribute, a rule that its
  ///   type does not take, and a new value that breaks a rule of the model; `.invalidValue` or `.invalidModel` for a
  ///   derived attribute that cannot be computed.
  package func anonymize(
    _ nodes: NodeTable
  ) throws(PersistentStoreError) -> (nodes: NodeTable, counts: [(property: String, count: Int)]) {
    var result = try nodes.canonical()
    var counts: [(property: String, count: Int)] = []
    for (entityName, properties) in rules.sorted(by: { $0.key < $1.key }) {
      let entity = try result.model.entity(specified: entityName)
      for (name, rule) in properties.sorted(by: { $0.key < $1.key }) {
        let count = try replace(name, rule, entity, &result)
        counts.append(("\(entityName).\(name)", count))
      }
    }
    try DerivedAttributes(result.model).update(&result)
    try AnonymizedValueCheck(old: nodes, new: result).run()
    return (result, counts)
  }

  private func replace(
    _ name: String, _ rule: Rule, _ entity: Entity, _ nodes: inout NodeTable
  ) throws(PersistentStoreError) -> Int {
    let place = StoreLocation(entity: entity.name, property: name)
    guard let slot = entity.slot(named: name), let type = entity.slots[slot].attributeType else {
      throw PersistentStoreError(
        .invalidOption,
        "\(entity.name) has no attribute '\(name)'"
          + Suggestion.text(for: name, among: entity.slots.filter { !$0.isRelationship }.map(\.name)), at: place)
    }
    if let derivation = entity.slots[slot].attribute?.derivationExpression {
      throw PersistentStoreError(
        .invalidOption,
        "the attribute is derived from \(derivation) and follows from it: give rules for what it is derived from",
        at: place)
    }
    var count = 0
    let ruled = Set(entity.hierarchy.filter { nearest(to: $0, with: name) == entity }.map(\.index))
    // Objects of all entities of the hierarchy are numbered together.
    let objects = entity.hierarchy.flatMap { nodes.handles(of: $0.index) }
      .sorted { nodes.reference(of: $0) < nodes.reference(of: $1) }
    for (number, node) in objects.enumerated() {
      let value = nodes.value(slot: slot, of: node)
      if value.isNull || !ruled.contains(node.entity) { continue }
      guard let new = replacement(of: value, type, rule, number + 1) else {
        throw PersistentStoreError(.invalidOption, "\(rule) cannot replace values of type \(type.modelName)", at: place)
      }
      try nodes.set(new, slot: slot, of: node)
      count += 1
    }
    return count
  }

  /// The entity whose rule applies to objects of an entity: a value is replaced once.
  private func nearest(to entity: Entity, with name: String) -> Entity? {
    var next: Entity? = entity
    while let here = next, rules[here.name]?[name] == nil { next = here.superentity }
    return next
  }

  private func replacement(of value: StoredValue, _ type: AttributeType, _ rule: Rule, _ number: Int) -> StoredValue? {
    switch rule {
    case .fixed(let text): return ValueConversion.written(text, as: type)
    case .sequence(let prefix):
      if type == .string { return .string(prefix + String(number)) }
      return prefix.isEmpty && type.accepts(.integer(Int64(number))) ? .integer(Int64(number)) : nil
    case .mask:
      guard case .string(let text) = value else { return nil }
      return .string(Self.masked(text))
    case .hash: return hashed(value, type)
    }
  }

  private static func masked(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar.properties.numericType != nil {
        result.append("0")
      } else if scalar.properties.isAlphabetic {
        result.append(scalar.properties.isUppercase ? "X" : "x")
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  private func hashed(_ value: StoredValue, _ type: AttributeType) -> StoredValue? {
    let digest = SHA2.sha256((salt + "\u{0}" + value.typedText).utf8)
    let bits = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    switch type.valueKind {
    case .string:
      let text = String(bits, radix: 16)
      return .string(String(repeating: "0", count: 16 - text.count) + text)
    case .integer:
      return .integer(
        type.integerBits == 64 ? Int64(bits >> 1) : Int64(truncatingIfNeeded: bits) & type.integerRange.upperBound)
    case .uuid:
      let bytes = Array(digest.prefix(16))
      return bytes.withUnsafeBytes { .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self))) }
    default: return nil
    }
  }
}
