import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Puts the objects of a binary store into the node table.
struct BinaryLoader {
  private struct Plan {
    let entity: Entity
    let layout: ValueLayout
  }
  private let nodes: NodeTableBuilder
  /// The model that the store carries, which can name what the given one lacks.
  private let ownModel: ModelDescription?

  init(_ nodes: NodeTableBuilder, ownModel: ModelDescription?) {
    self.nodes = nodes
    self.ownModel = ownModel
  }

  func load(_ map: BinaryMap) throws(PersistentStoreError) {
    var plans: [ScalarString: Plan] = [:]
    // Before one value is set: a count that differs means that the positions mean something else.
    for node in map.nodes {
      let name = ScalarString(node.entityName)
      let plan: Plan
      if let known = plans[name] { plan = known } else { plan = try makePlan(node) }
      plans[name] = plan
      guard let expected = plan.layout.count, node.values.count != expected else { continue }
      let (attributes, relationships) = (plan.layout.slots.count, expected - plan.layout.slots.count)
      throw PersistentStoreError(
        .modelMismatch,
        "the object has \(node.values.count) values, and \(node.entityName) has \(expected) in the model"
          + (plan.layout.isCarried ? "" : ": \(attributes) attributes and \(relationships) relationships")
          + difference(plan.entity), at: place(node))
    }
    for error in map.damage { try nodes.skipPart(because: error) }
    for node in map.nodes {
      guard let plan = plans[ScalarString(node.entityName)] else { continue }
      try nodes.beginNode(entity: plan.entity.index, reference: node.key)
      do throws(PersistentStoreError) { try load(node, plan) } catch { try nodes.skipNode(because: error) }
    }
  }

  private func load(_ node: BinaryMap.Node, _ plan: Plan) throws(PersistentStoreError) {
    for (index, value) in node.values.enumerated() where !value.isNull {
      if index < plan.layout.slots.count, let slot = plan.layout.slots[index] {
        try set(value, slot)
      } else if plan.layout.isCarried {
        throw PersistentStoreError(
          .modelMismatch,
          "position \(index + 1) holds a value, but the inferred model has no attribute there: read the store with the application's model",
          at: place(node))
      } else {
        throw PersistentStoreError(.malformed, "a relationship's position holds a value", at: place(node))
      }
    }
    for (name, keys, _) in node.related { try relate(name, keys, plan.entity) }
  }

  private func makePlan(_ node: BinaryMap.Node) throws(PersistentStoreError) -> Plan {
    guard let entity = nodes.model.entity(named: node.entityName) else {
      throw PersistentStoreError(
        .modelMismatch, "the store holds objects of \(node.entityName), which the model does not have",
        at: StoreLocation(entity: node.entityName))
    }
    return Plan(entity: entity, layout: try ValueLayout(of: entity))
  }

  /// What the store's own model has of an entity and the given one does not, and the other way round.
  private func difference(_ entity: Entity) -> String {
    guard let ownModel, let own = try? ManagedObjectModel(ownModel), let known = own.entity(named: entity.name) else {
      return ""
    }
    let here = Set(entity.slots.map { ScalarString($0.name) })
    let there = Set(known.slots.map { ScalarString($0.name) })
    func list(_ names: Set<ScalarString>) -> String { names.sorted().map { "'\($0.string)'" }.joined(separator: ", ") }
    let missing = there.subtracting(here)
    let added = here.subtracting(there)
    return (missing.isEmpty ? "" : "; the store's own model also has \(list(missing))")
      + (added.isEmpty ? "" : "; it does not have \(list(added))")
  }

  private func place(_ node: BinaryMap.Node) -> StoreLocation {
    StoreLocation(entity: node.entityName, reference: String(node.key))
  }

  private func relate(_ name: String, _ keys: [Int64], _ entity: Entity) throws(PersistentStoreError) {
    guard let index = entity.slot(named: name), entity.slots[index].isRelationship else {
      throw PersistentStoreError(
        .modelMismatch, "the object has a relationship '\(name)', which the model does not have",
        at: nodes.location().filled(from: StoreLocation(property: name)))
    }
    if entity.slots[index].isToMany {
      for key in keys { try nodes.append(toMany: key, slot: index) }
    } else {
      guard keys.count <= 1 else {
        throw PersistentStoreError(
          .malformed, "a to-one relationship names \(keys.count) objects", at: nodes.location(index))
      }
      if let key = keys.first { try nodes.set(toOne: key, slot: index) }
    }
  }

  private func set(_ value: KeyedArchive.Value, _ slot: Slot) throws(PersistentStoreError) {
    let stored: StoredValue? =
      switch slot.valueKind {
      case .integer: value.isReal ? nil : value.integerValue.map { .integer(Int64($0)) }
      case .boolean:
        value.isReal ? nil : value.integerValue.flatMap { $0 == 0 ? .boolean(false) : $0 == 1 ? .boolean(true) : nil }
      case .float: value.realValue.map { .float(WideFloat.narrow($0)) }
      case .double: value.realValue.map { .double($0) }
      case .decimal: try Self.decimal(value)
      case .string: value.stringValue.map { .string($0) }
      case .date: value.dateValue.map { .date($0) }
      case .data where slot.attributeType == .transformable: .data(Data(try value.archived()))
      case .data: value.dataValue.map { .data($0) }
      case .uuid: value.uuidValue.map { .uuid($0) }
      case .uri: try value.isRelativeURL ? nil : value.urlText.map { .uri($0) }
      case .undefined: try untyped(value)
      case .toOne, .toMany: nil
      }
    guard let stored else {
      throw PersistentStoreError(
        .invalidValue, "\(value.className ?? "a plain value") is not a \(nodes.typeName(slot: slot.index))",
        at: nodes.location(slot.index))
    }
    try nodes.set(stored, slot: slot.index)
  }

  /// A number that was made as an NSNumber is one too, if it is whole.
  private static func decimal(_ value: KeyedArchive.Value) throws(PersistentStoreError) -> StoredValue? {
    if let number = value.decimalValue {
      // Zero has no digits; its power of ten, as in 0.00, is there all the same.
      guard !number.isNaN, number.mantissa == 0, let power = Int8(exactly: try value.integer("NS.exponent") ?? 0) else {
        return .decimal(number)
      }
      return .decimal(DecimalNumber(mantissa: 0, exponent: power))
    }
    guard !value.isReal, let number = value.integerValue else { return nil }
    return .decimal(DecimalNumber(Int64(number)))
  }

  private func untyped(_ value: KeyedArchive.Value) throws(PersistentStoreError) -> StoredValue {
    if let text = value.stringValue { return .string(text) }
    if let flag = value.booleanValue { return .boolean(flag) }
    if let number = value.decimalValue { return .decimal(number) }
    if let data = value.dataValue { return .data(data) }
    if let date = value.dateValue { return .date(date) }
    if let uuid = value.uuidValue { return .uuid(uuid) }
    if let text = value.urlText, try !value.isRelativeURL { return .uri(text) }
    if value.classNames.isEmpty {
      if let number = value.integerValue, !value.isReal { return .integer(Int64(number)) }
      if let number = value.realValue { return .double(number) }
    }
    return .data(Data(try value.archived()))
  }
}

extension KeyedArchive.Value {
  /// Whether the value was archived as a number with a fraction, be that nothing.
  var isReal: Bool { classNames.isEmpty && integerValue == nil && realValue != nil || isPlainReal }

  /// Whether a URL has a base that it is relative to.
  var isRelativeURL: Bool {
    get throws(PersistentStoreError) {
      guard classNames.contains("NSURL") else { return false }
      return try self["NS.base"] != nil
    }
  }
}

/// Floats as doubles and back, to the bit: a conversion would make a signalling not-a-number a quiet one.
enum WideFloat {
  static func widen(_ number: Float) -> Double {
    guard number.isNaN else { return Double(number) }
    let bits = UInt64(number.bitPattern)
    return Double(bitPattern: (bits & 0x8000_0000) << 32 | 0x7FF0_0000_0000_0000 | (bits & 0x007F_FFFF) << 29)
  }
  static func narrow(_ number: Double) -> Float {
    guard number.isNaN else { return Float(number) }
    let bits = number.bitPattern
    let fraction = UInt32(truncatingIfNeeded: bits >> 29) & 0x007F_FFFF
    return Float(
      bitPattern: UInt32(truncatingIfNeeded: bits >> 32) & 0x8000_0000 | 0x7F80_0000
        | (fraction == 0 ? 0x0040_0000 : fraction))
  }
}
