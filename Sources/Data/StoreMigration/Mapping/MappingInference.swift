import AtomicStoreSPI
import StorePredicates

/// Infers a mapping by Core Data's rules for lightweight migration.
///
/// Entities and properties are matched by canonical name: the renaming identifier, or else the name. So a property that
/// was renamed twice is found from any version.
struct MappingInference {
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  private let options: ModelMapping.Options
  private(set) var mappings: [ModelMapping.EntityMapping] = []
  private(set) var removedEntities: [String] = []
  private(set) var obstacles: [MappingObstacle] = []
  /// By the destination's index.
  private var sources: [Int: Entity] = [:]
  private let rules: MappingRules
  /// The expressions of the mapping file that were parsed, or what is wrong with them.
  private var parsed: [String: Result<FetchExpression, PredicateFormatError>] = [:]
  /// Expressions that an obstacle names: sub-entities have the same.
  private var refused: Set<String> = []

  init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ options: ModelMapping.Options) {
    self.source = source
    self.destination = destination
    self.options = options
    rules = MappingRules(options.file, destination)
  }

  mutating func run() {
    if let file = options.file { checkNames(file) }
    matchEntities()
    checkHierarchies()
    for entity in destination.entities { mappings.append(mapping(of: entity)) }
    let used = Set(sources.values.map(\.index))
    removedEntities = source.entities.filter { !used.contains($0.index) }.map(\.name)
  }

  private mutating func note(_ entity: Entity, _ property: String?, _ reason: String) {
    obstacles.append(MappingObstacle(entityName: entity.name, propertyName: property, reason: reason))
  }

  /// Refuses names in a mapping file that neither model has: they would have no effect.
  private mutating func checkNames(_ file: MappingFile) {
    func note(
      _ entity: String, _ property: String?, _ what: String, _ name: String, _ known: @autoclosure () -> [String]
    ) {
      // A name is compared with all others: for each of thousands that would take minutes.
      let suggestion = obstacles.count < 10 ? Suggestion.text(for: name, among: known()) : ""
      let reason = "the mapping file \(what), which does not exist" + suggestion
      obstacles.append(MappingObstacle(entityName: entity, propertyName: property, reason: reason))
    }
    for name in file.drop where source.entity(named: name) == nil {
      note(name, nil, "drops this entity of the source", name, source.entities.map(\.name))
    }
    let byIdentifier = Dictionary(
      source.entities.compactMap { entity in entity.declaration.renamingIdentifier.map { (ScalarString($0), entity) } },
      uniquingKeysWith: { first, _ in first })
    for (name, rules) in file.entities.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      guard let entity = destination.entity(named: name) else {
        note(name, nil, "names this entity of the destination", name, destination.entities.map(\.name))
        continue
      }
      for property in rules.properties.keys.sorted() where entity.slot(named: property) == nil {
        note(name, property, "names this property of the destination", property, entity.slots.map(\.name))
      }
      let old = rules.from.map { source.entity(named: $0) } ?? former(of: entity, byIdentifier)
      for property in rules.drop {
        guard let old else {
          note(name, property, "drops this property of an entity of the source", property, [])
          continue
        }
        if old.slot(named: property) == nil {
          note(name, property, "drops this property of the source", property, old.slots.map(\.name))
        }
      }
    }
  }

  /// The entity of the source that an entity was, by its name or renaming identifier.
  private func former(of entity: Entity, _ byIdentifier: [ScalarString: Entity]) -> Entity? {
    let identifier = entity.declaration.renamingIdentifier ?? entity.name
    return byIdentifier[ScalarString(identifier)] ?? source.entity(named: identifier)
      ?? source.entity(named: entity.name)
  }

  // MARK: Entities

  private mutating func matchEntities() {
    var used: Set<Int> = []
    func canonical(_ entity: Entity) -> ScalarString {
      ScalarString(entity.declaration.renamingIdentifier ?? entity.name)
    }
    // Those that say what they were called first: another one may have taken the old name since.
    let ordered =
      destination.entities.filter { $0.declaration.renamingIdentifier != nil }
      + destination.entities.filter { $0.declaration.renamingIdentifier == nil }
    let known = Dictionary(grouping: source.entities, by: canonical)
    for entity in ordered {
      if let named = options.file?.entities[entity.name]?.from {
        guard let found = source.entity(named: named) else {
          note(entity, nil, "the mapping file says that it was '\(named)', which does not exist")
          continue
        }
        sources[entity.index] = found
        used.insert(found.index)
        continue
      }
      func free(named name: ScalarString) -> Entity? {
        source.entity(named: name.string).flatMap { used.contains($0.index) ? nil : $0 }
      }
      var byCanonical = (known[canonical(entity)] ?? []).filter { !used.contains($0.index) }
      // Of several the one that has kept its name.
      if let same = byCanonical.first(where: { ScalarString($0.name) == ScalarString(entity.name) }) {
        byCanonical = [same]
      }
      if byCanonical.count > 1 {
        note(entity, nil, "it may have been \(byCanonical.map(\.name).joined(separator: " or "))")
        continue
      }
      guard
        let found = byCanonical.first ?? free(named: canonical(entity)) ?? free(named: ScalarString(entity.name))
      else { continue }
      sources[entity.index] = found
      used.insert(found.index)
    }
  }

  /// References are unique within a hierarchy: two hierarchies cannot become one.
  private mutating func checkHierarchies() {
    for root in destination.entities where root.superentity == nil {
      let roots = Set(root.hierarchy.compactMap { sources[$0.index]?.root.index }).sorted()
      guard roots.count > 1 else { continue }
      let names = roots.map { source.entity(at: $0).name }
      note(root, nil, "the hierarchies of \(names.joined(separator: " and ")) cannot be merged")
    }
  }

  // MARK: Properties

  private mutating func mapping(of entity: Entity) -> ModelMapping.EntityMapping {
    guard let old = sources[entity.index] else {
      let properties = entity.slots.map { ModelMapping.Property(name: $0.name, origin: .constant(.null)) }
      return ModelMapping.EntityMapping(name: entity.name, properties: properties, removedProperties: [])
    }
    if entity.isAbstract, !old.isAbstract { note(entity, nil, "becomes abstract, which can have no objects") }
    let matched = matchSlots(entity, old)
    var properties: [ModelMapping.Property] = []
    var used = Set(matched.values.map(\.index))
    for slot in entity.slots {
      properties.append(property(slot, matched[slot.index], entity, old))
      if let expression = rules.rule(for: slot.name, of: entity)?.expression {
        used.formUnion(rules.slots(in: expression, of: old))
      }
    }
    return ModelMapping.EntityMapping(
      name: entity.name, sourceName: old.name, properties: properties,
      removedProperties: old.slots.filter { !used.contains($0.index) }.map(\.name))
  }

  /// What the slot was called before; nil where it had the name that it has. A part of a composite may have had another
  /// name, or a composite that it is in.
  private func renamingIdentifier(_ slot: Slot, _ entity: Entity) -> String? {
    guard let part = slot.attribute, part.name != slot.name else {
      return slot.attribute?.renamingIdentifier ?? slot.relationship?.renamingIdentifier
    }
    var attributes = Array(entity.attributesByName.values)
    var rest = Substring(slot.name)
    var names: [String] = []
    var isRenamed = false
    while let attribute = attributes.first(where: { rest == $0.name || rest.hasPrefix($0.name + ".") }) {
      names.append(attribute.renamingIdentifier ?? attribute.name)
      isRenamed = isRenamed || attribute.renamingIdentifier != nil
      rest = rest.dropFirst(attribute.name.count + 1)
      guard case .composite(let name) = attribute.type else { break }
      attributes = entity.model.description.composites.first { $0.name.hasSameScalars(as: name) }?.attributes ?? []
    }
    return isRenamed && rest.isEmpty ? names.joined(separator: ".") : nil
  }

  /// The slots of the source by those of the destination.
  private mutating func matchSlots(_ entity: Entity, _ old: Entity) -> [Int: Slot] {
    var result: [Int: Slot] = [:]
    var used: Set<Int> = []
    func canonical(_ slot: Slot, _ entity: Entity) -> ScalarString {
      ScalarString(renamingIdentifier(slot, entity) ?? slot.name)
    }
    let ordered =
      entity.slots.filter { renamingIdentifier($0, entity) != nil }
      + entity.slots.filter { renamingIdentifier($0, entity) == nil }
    let known = Dictionary(grouping: old.slots) { canonical($0, old) }
    for slot in ordered {
      // A rule with a default alone says nothing of where the values come from.
      if let rule = rules.rule(for: slot.name, of: entity), rule.from != nil || rule.expression != nil {
        guard let named = rule.from else { continue }
        guard let found = old.slot(named: named) else {
          note(entity, slot.name, "the mapping file says that it was '\(named)', which does not exist")
          continue
        }
        result[slot.index] = old.slots[found]
        used.insert(found)
        continue
      }
      func free(named name: ScalarString) -> Slot? {
        old.slot(named: name.string).flatMap { used.contains($0) ? nil : old.slots[$0] }
      }
      var byCanonical = (known[canonical(slot, entity)] ?? []).filter { !used.contains($0.index) }
      if let same = byCanonical.first(where: { ScalarString($0.name) == ScalarString(slot.name) }) {
        byCanonical = [same]
      }
      if byCanonical.count > 1 {
        note(entity, slot.name, "it may have been \(byCanonical.map(\.name).joined(separator: " or "))")
        continue
      }
      guard
        let found = byCanonical.first ?? free(named: canonical(slot, entity)) ?? free(named: ScalarString(slot.name))
      else { continue }
      result[slot.index] = found
      used.insert(found.index)
    }
    return result
  }

  private mutating func property(
    _ slot: Slot, _ old: Slot?, _ entity: Entity, _ oldEntity: Entity
  ) -> ModelMapping.Property {
    let rule = rules.rule(for: slot.name, of: entity)
    if let expression = rule?.expression {
      check(expression, slot, entity, oldEntity)
      return ModelMapping.Property(
        name: slot.name, origin: .expression(expression), replacementForNull: rule?.value(slot))
    }
    let gap = ModelMapping.Property(name: slot.name, origin: .constant(.null))
    guard let old else {
      let value = rule?.value(slot) ?? slot.attribute?.defaultValue
      if let value { return ModelMapping.Property(name: slot.name, origin: .constant(value)) }
      if hasOldInverse(slot) {
        return ModelMapping.Property(name: slot.name, origin: .inverse)
      }
      // A new to-many that is not optional stays empty, as in Core Data; a minimum count is checked afterwards.
      if !slot.isOptional, !slot.isToMany, !options.leavesGaps, slot.attribute?.derivationExpression == nil {
        note(entity, slot.name, slot.isRelationship ? "new, required relationship" : "new, required, no default")
      }
      return gap
    }
    var unfilled = gap
    unfilled.mismatchedSource = old.name
    guard slot.isRelationship == old.isRelationship else {
      if !options.leavesGaps {
        note(entity, slot.name, slot.isRelationship ? "attribute → relationship" : "relationship → attribute")
      }
      return unfilled
    }
    return slot.isRelationship
      ? relationship(slot, old, entity, unfilled) : attribute(slot, old, entity, rule?.value(slot), unfilled)
  }

  /// Refuses an expression that cannot be parsed, or names what the source does not have.
  private mutating func check(_ text: String, _ slot: Slot, _ entity: Entity, _ old: Entity) {
    guard !refused.contains(text) else { return }
    let expression = parsed[text] ?? Result { () throws(PredicateFormatError) in try FetchExpression(format: text) }
    parsed[text] = expression
    do throws(PredicateFormatError) { try expression.get().check(old) } catch {
      refused.insert(text)
      let hint = error.suggestion.map { "; \($0)" } ?? ""
      note(entity, slot.name, "the expression '\(text)' of the mapping file: \(error.message)\(hint)")
    }
  }

  /// Whether the other end of a new relationship is an old one: then its values follow from that.
  private func hasOldInverse(_ slot: Slot) -> Bool {
    guard let number = slot.destination, let inverseSlot = slot.inverseSlot, let old = sources[number] else {
      return false
    }
    let other = destination.entity(at: number)
    let inverse = other.slots[inverseSlot]
    let named = rules.rule(for: inverse.name, of: other)?.from
    let name = named ?? renamingIdentifier(inverse, other) ?? inverse.name
    return old.slot(named: name) != nil || old.slot(named: inverse.name) != nil
  }

  private mutating func relationship(
    _ slot: Slot, _ old: Slot, _ entity: Entity, _ gap: ModelMapping.Property
  ) -> ModelMapping.Property {
    guard let number = slot.destination, let oldNumber = old.destination else { return gap }
    let to = destination.entity(at: number)
    let from = source.entity(at: oldNumber)
    var isKept = true
    if old.isToMany, !slot.isToMany {
      isKept = false
      if !options.leavesGaps { note(entity, slot.name, "to-many → to-one") }
    }
    if sources[to.index] != from {
      isKept = false
      if !options.leavesGaps { note(entity, slot.name, "destination \(from.name) → \(to.name)") }
    }
    return isKept ? ModelMapping.Property(name: slot.name, origin: .kept(old.name)) : gap
  }

  private mutating func attribute(
    _ slot: Slot, _ old: Slot, _ entity: Entity, _ given: StoredValue?, _ gap: ModelMapping.Property
  ) -> ModelMapping.Property {
    let replacement = given ?? (slot.isOptional ? nil : slot.attribute?.defaultValue)
    let isDerived = slot.attribute?.derivationExpression != nil
    if !slot.isOptional, old.isOptional, replacement == nil, !isDerived, !options.leavesGaps {
      note(entity, slot.name, "optional → required, no default")
    }
    guard let type = slot.attributeType, let oldType = old.attributeType, type != oldType else {
      return ModelMapping.Property(name: slot.name, origin: .kept(old.name), replacementForNull: replacement)
    }
    if options.convertsTypes, ValueConversion(from: oldType, to: type) != nil {
      return ModelMapping.Property(name: slot.name, origin: .converted(old.name), replacementForNull: replacement)
    }
    if !options.leavesGaps { note(entity, slot.name, "\(oldType.modelName) → \(type.modelName)") }
    return gap
  }
}
