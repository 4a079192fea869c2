import AtomicStoreSPI
import StoreJSON
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
      for (property, rule) in rules.properties.sorted(by: { $0.key < $1.key }) {
        if let slot = entity.slot(named: property).map({ entity.slots[$0] }) {
          if let reason = Self.refusal(of: rule, for: slot) { self.note(entity, property, reason) }
        } else if let part = entity.firstPart(ofComposite: property) {
          guard rule.expression != nil || rule.defaultValue != nil else { continue }
          self.note(
            entity, property,
            "the mapping file may name the source of a composite attribute; give expressions and defaults for its "
              + "parts, such as '\(part.name)'")
        } else {
          note(name, property, "names this property of the destination", property, entity.slots.map(\.name))
        }
      }
      let old = rules.from.map { source.entity(named: $0) } ?? former(of: entity, byIdentifier)
      for property in rules.drop {
        guard let old else {
          note(name, property, "drops this property of an entity of the source", property, [])
          continue
        }
        if old.slot(named: property) == nil, old.firstPart(ofComposite: property) == nil {
          note(name, property, "drops this property of the source", property, old.slots.map(\.name))
        }
      }
    }
  }

  /// Why a slot cannot have the default that a mapping file gives it; nil if it can.
  private static func refusal(of rule: MappingFile.Property, for slot: Slot) -> String? {
    guard let given = rule.defaultValue else { return nil }
    let start = "the mapping file has the default \(given.line)"
    guard let type = slot.attributeType else { return start + " for a relationship" }
    switch rule.value(slot) {
    case nil: return start + ", which is not of type \(type.modelName)"
    case .null? where !slot.isOptional: return start + " for a required attribute"
    default: return nil
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

  /// The slots of the source by those of the destination.
  private mutating func matchSlots(_ entity: Entity, _ old: Entity) -> [Int: Slot] {
    var result: [Int: Slot] = [:]
    var used: Set<Int> = []
    let paths = entity.slots.map { SlotPath($0, of: entity) }
    let formerPaths = old.slots.map { SlotPath($0, of: old) }
    let ordered = entity.slots.filter { paths[$0.index].isRenamed } + entity.slots.filter { !paths[$0.index].isRenamed }
    let known = Dictionary(grouping: old.slots) { formerPaths[$0.index].formerName }
    var missing: Set<String> = []
    for slot in ordered {
      let path = paths[slot.index]
      if let (rule, depth) = rules.source(of: path, in: entity) {
        guard let named = rule.from else { continue }
        if depth < path.names.count, old.slot(named: named) == nil {
          let parts = old.slots.filter { formerPaths[$0.index].depth(of: named) != nil }
          guard let found = part(path, depth, of: parts, formerPaths, named) else {
            if parts.isEmpty, missing.insert(path.prefix(depth)).inserted {
              note(entity, path.prefix(depth), "the mapping file says that it was '\(named)', which does not exist")
            }
            continue
          }
          result[slot.index] = found
          used.insert(found.index)
          continue
        }
        guard depth == path.names.count, let found = old.slot(named: named) else {
          let part = old.firstPart(ofComposite: named)?.name
          let reason =
            part.map { "is a composite attribute: name its parts, such as '\($0)'" }
            ?? (old.slot(named: named) == nil ? "does not exist" : "is not a composite attribute")
          if missing.insert(path.prefix(depth)).inserted {
            note(entity, path.prefix(depth), "the mapping file says that it was '\(named)', which \(reason)")
          }
          continue
        }
        result[slot.index] = old.slots[found]
        used.insert(found)
        continue
      }
      func free(named name: ScalarString) -> Slot? {
        old.slot(named: name.string).flatMap { used.contains($0) ? nil : old.slots[$0] }
      }
      var byCanonical = (known[path.formerName] ?? []).filter { !used.contains($0.index) }
      if let same = byCanonical.first(where: { ScalarString($0.name) == ScalarString(slot.name) }) {
        byCanonical = [same]
      }
      if byCanonical.count > 1 {
        note(entity, slot.name, "it may have been \(byCanonical.map(\.name).joined(separator: " or "))")
        continue
      }
      guard let found = byCanonical.first ?? free(named: path.formerName) ?? free(named: ScalarString(slot.name)) else {
        continue
      }
      result[slot.index] = found
      used.insert(found.index)
    }
    return result
  }

  /// Which part of a composite attribute of the source a part of one of the destination was, of which a mapping file
  /// says that it was that composite: by canonical names within both, as for whole attributes.
  private func part(
    _ path: SlotPath, _ depth: Int, of parts: [Slot], _ formerPaths: [SlotPath], _ composite: String
  ) -> Slot? {
    func rest(_ slot: Slot, _ names: KeyPath<SlotPath, [String]>) -> [ScalarString] {
      let path = formerPaths[slot.index]
      return path[keyPath: names].dropFirst(path.depth(of: composite) ?? 0).map { ScalarString($0) }
    }
    let wanted = path.names.dropFirst(depth).map { ScalarString($0) }
    let former = path.formerNames.dropFirst(depth).map { ScalarString($0) }
    let canonical = parts.filter { rest($0, \.formerNames) == former }
    return canonical.first { rest($0, \.names) == wanted } ?? canonical.first
      ?? parts.first { rest($0, \.names) == former } ?? parts.first { rest($0, \.names) == wanted }
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
      // A new to-many may get its objects by a handler, and what it demands is checked afterwards.
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
    let name = named ?? inverse.relationship?.renamingIdentifier ?? inverse.name
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
    let replacement = given.map { $0.isNull ? nil : $0 } ?? (slot.isOptional ? nil : slot.attribute?.defaultValue)
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
