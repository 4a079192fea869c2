import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreMigration
import StorePredicates

/// Two stores' models side by side: what only one of them has, what was renamed, and what has another type.
struct ModelsBeside {
  /// What is to be said of an entity or property of the two models.
  struct Remark {
    enum Kind: String {
      /// Compared, by another name.
      case renamed
      /// Not compared: only the first model has it.
      case removed
      /// Not compared: only the second model has it.
      case added
      /// Not compared, and a difference: the types have no common values.
      case type
    }
    var kind: Kind
    /// The entity by its names in both models.
    var entities: [String]
    /// The name of the property, in the second model if it is there.
    var property: String?
    var text: String

    /// The line that shows it.
    var line: String {
      let mark =
        switch kind {
        case .renamed: "="
        case .removed: "-"
        case .added: "+"
        case .type: "~"
        }
      return "\(mark) \(text)"
    }

    /// What was not compared, for `--json`.
    var json: JSONValue {
      .object([
        ("kind", .string("notCompared")), ("entity", .string(entities.last ?? "")),
        ("property", property.map { .string($0) } ?? .null), ("isDifference", .boolean(kind == .type)),
        ("message", .string(text)),
      ])
    }
  }

  private let mapping: ModelMapping
  private let names: (String, String)
  /// Properties of the second model, as `Entity.property`, whose values the first store does not have.
  private var added: Set<String> = []
  private var newEntities: Set<String> = []
  /// What differs, in the order of the models.
  private(set) var remarks: [Remark] = []
  /// The first store's objects with the second one's names and types.
  private(set) var nodes: NodeTable

  init(_ first: NodeTable, store: UUID, _ second: ManagedObjectModel, names: (String, String)) throws {
    var options = ModelMapping.Options()
    options.leavesGaps = true
    mapping = ModelMapping(from: first.model, to: second, options: options)
    self.names = names
    nodes = try mapping.apply(to: first, store: store)
    for (new, old) in mapping.renamings {
      remarks.append(Remark(kind: .renamed, entities: [], text: "\(old) is \(new) in \(names.1)"))
    }
    for name in mapping.removedEntities {
      remarks.append(Remark(kind: .removed, entities: [name], text: "\(name): only in the model of \(names.0)"))
    }
    for entity in mapping.entities { try compare(entity, first) }
  }

  private mutating func compare(_ entity: ModelMapping.EntityMapping, _ first: NodeTable) throws {
    guard let sourceName = entity.sourceName else {
      newEntities.insert(entity.name)
      remarks.append(
        Remark(kind: .added, entities: [entity.name], text: "\(entity.name): only in the model of \(names.1)"))
      return
    }
    for name in entity.removedProperties {
      remarks.append(
        Remark(
          kind: .removed, entities: [entity.name, sourceName], property: name,
          text: "\(sourceName).\(name): only in the model of \(names.0)"))
    }
    for property in entity.properties {
      switch property.origin {
      case .kept, .converted: continue
      case .constant, .expression, .inverse, .objects: break
      }
      let subject = "\(entity.name).\(property.name)"
      if let old = property.mismatchedSource {
        guard let reason = try fill(property.name, of: entity.name, from: old, of: sourceName, first) else { continue }
        added.insert(subject)
        remarks.append(
          Remark(
            kind: .type, entities: [sourceName, entity.name], property: property.name, text: "\(subject): \(reason)"))
        continue
      }
      added.insert(subject)
      remarks.append(
        Remark(
          kind: .added, entities: [sourceName, entity.name], property: property.name,
          text: "\(subject): only in the model of \(names.1)"))
    }
  }

  /// Gives the objects the values of a property whose type is another one, if both types are numbers and every value
  /// has an equal.
  ///
  /// - Returns: Why the property cannot be compared; nil if it can.
  private mutating func fill(
    _ name: String, of entityName: String, from oldName: String, of sourceName: String, _ first: NodeTable
  ) throws -> String? {
    guard let entity = nodes.model.entity(named: entityName), let source = first.model.entity(named: sourceName),
      let slot = entity.slot(named: name).map({ entity.slots[$0] }),
      let old = source.slot(named: oldName).map({ source.slots[$0] })
    else { return nil }
    let types =
      "type differs: \(Self.typeName(old, first.model)) in \(names.0), \(Self.typeName(slot, nodes.model)) in \(names.1)"
    guard let from = old.attributeType, let to = slot.attributeType, from.valueKind.isNumber, to.valueKind.isNumber,
      let conversion = ValueConversion(from: from, to: to)
    else { return types + "; not compared" }
    var values: [(NodeHandle, StoredValue)] = []
    for node in first.handles(of: source.index) {
      let value = first.value(slot: old.index, of: node)
      guard let converted = conversion.convert(value) else {
        return types
          + "; \(GraphComparison.text(value)) of \(first.objectReference(of: node)) has no equal; not compared"
      }
      guard !converted.isNull, let twin = nodes.handle(for: first.reference(of: node), entity: entity.index) else {
        continue
      }
      values.append((twin, converted))
    }
    for (node, value) in values { try nodes.set(value, slot: slot.index, of: node) }
    return nil
  }

  private static func typeName(_ slot: Slot, _ model: ManagedObjectModel) -> String {
    if let type = slot.attributeType { return type.modelName }
    let destination = slot.destination.map { " " + model.entity(at: $0).name } ?? ""
    return (slot.isToMany ? "to-many" : "to-one") + destination
  }

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
