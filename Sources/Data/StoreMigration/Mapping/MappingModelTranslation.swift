import AtomicStoreSPI
import ModelFiles
import StorePredicates

/// Translates one of Xcode's mapping models to a ``ModelMapping``.
///
/// A mapping model is complete: nothing is inferred beside it. What it does not map is lost, which is listed like any
/// other loss.
struct MappingModelTranslation {
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  private let options: ModelMapping.Options
  private(set) var entities: [ModelMapping.EntityMapping] = []
  private(set) var obstacles: [MappingObstacle] = []
  private(set) var droppedEntities: Set<String> = []
  /// The path of the mapping model that is followed.
  private(set) var path = ""
  /// By the names of mappings, their numbers in ``entities``.
  private var numbers: [ScalarString: [Int]] = [:]

  init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ options: ModelMapping.Options) {
    self.source = source
    self.destination = destination
    self.options = options
  }

  mutating func run() {
    guard let model = choose() else { return }
    let used = plan(model)
    for (number, mapping) in used.enumerated() {
      guard let mapping, let entity = destination.entity(named: entities[number].name),
        let old = entities[number].sourceName.flatMap({ source.entity(named: $0) })
      else { continue }
      map(mapping, entity, old, number)
    }
  }

  private mutating func note(_ entity: String, _ property: String? = nil, _ reason: String) {
    obstacles.append(MappingObstacle(entityName: entity, propertyName: property, reason: reason))
  }

  // MARK: Which model

  /// The mapping model whose entities have the hashes of the two models.
  private mutating func choose() -> MappingModel? {
    var rejected: [MappingObstacle] = []
    var found: [(path: String, model: MappingModel)] = []
    let hashes = (source.versionHashes, destination.versionHashes)
    for candidate in options.mappingModels {
      let mismatches = mismatches(of: candidate.model, hashes)
      if mismatches.isEmpty { found.append(candidate) }
      let isAlone = options.mappingModels.count == 1
      for mismatch in isAlone ? mismatches[...] : mismatches.prefix(1) {
        var mismatch = mismatch
        if !isAlone { mismatch.reason = "\(candidate.path): \(mismatch.reason)" }
        rejected.append(mismatch)
      }
    }
    path = found.first?.path ?? (options.mappingModels.count == 1 ? options.mappingModels[0].path : "")
    guard let first = found.first else {
      obstacles = rejected
      if path.isEmpty { path = "of the directory" }
      return nil
    }
    guard found.count == 1 else {
      note(
        "all entities", nil, "\(found.map(\.path).joined(separator: " and ")) are for the same two models: specify one")
      return nil
    }
    return first.model
  }

  private func mismatches(
    of model: MappingModel, _ hashes: (source: VersionHashes, destination: VersionHashes)
  ) -> [MappingObstacle] {
    var result: [MappingObstacle] = []
    for mapping in model.entityMappings {
      let ends = [
        ("source", source, hashes.source, mapping.sourceEntityName, mapping.sourceHash),
        ("destination", destination, hashes.destination, mapping.destinationEntityName, mapping.destinationHash),
      ]
      for (end, own, ownHashes, name, hash) in ends {
        guard let name else { continue }
        var reason: String?
        if own.entity(named: name) == nil {
          let suggestion = result.count < 10 ? Suggestion.text(for: name, among: own.entities.map(\.name)) : ""
          reason = "the mapping '\(mapping.name)' names this entity of the \(end), which does not exist" + suggestion
        } else if let hash, let actual = ownHashes[name], actual != hash.hash {
          reason =
            "the mapping '\(mapping.name)' is for another version of this entity of the \(end): "
            + "its hash is \(VersionHashes.hexadecimal(hash.hash).prefix(8))…, "
            + "that of the model is \(VersionHashes.hexadecimal(actual).prefix(8))…"
        }
        if let reason { result.append(MappingObstacle(entityName: name, reason: reason)) }
      }
    }
    return result
  }

  // MARK: Entities

  /// Adds the mappings in the order of the destination's entities.
  ///
  /// - Returns: The mapping of the file for each; nil for an entity that no objects become.
  private mutating func plan(_ model: MappingModel) -> [MappingModel.EntityMapping?] {
    var byDestination: [ScalarString: [(MappingModel.EntityMapping, ModelMapping.EntityMapping)]] = [:]
    for mapping in model.entityMappings {
      // Also of one that makes nothing, or is refused: it exists.
      numbers[ScalarString(mapping.name), default: []] += []
      guard let planned = planned(mapping), let name = mapping.destinationEntityName else { continue }
      byDestination[ScalarString(name), default: []].append((mapping, planned))
    }
    var used: [MappingModel.EntityMapping?] = []
    for entity in destination.entities {
      let nothing = ModelMapping.EntityMapping(
        name: entity.name, properties: entity.slots.map { .init(name: $0.name, origin: .constant(.null)) },
        removedProperties: [])
      let planned = byDestination[ScalarString(entity.name)] ?? []
      if planned.isEmpty {
        entities.append(nothing)
        used.append(nil)
      }
      for (mapping, planned) in planned {
        numbers[ScalarString(mapping.name), default: []].append(entities.count)
        entities.append(planned)
        used.append(mapping)
      }
    }
    return used
  }

  /// A mapping that makes objects, still without its properties; nil for others.
  private mutating func planned(_ mapping: MappingModel.EntityMapping) -> ModelMapping.EntityMapping? {
    let subject = mapping.destinationEntityName ?? mapping.sourceEntityName ?? mapping.name
    if let policy = mapping.policyClassName, policy != "NSEntityMigrationPolicy" {
      note(
        subject, nil,
        "the mapping '\(mapping.name)' needs the migration policy '\(policy)', which is code of the application")
      return nil
    }
    guard let sourceName = mapping.sourceEntityName else { return nil }
    var result = ModelMapping.EntityMapping(
      name: mapping.destinationEntityName ?? "", sourceName: sourceName, properties: [], removedProperties: [])
    do throws(MappingExpression.Refusal) {
      if mapping.isSourceUnreadable {
        throw MappingExpression.Refusal(reason: "the source expression has an unknown form")
      }
      if let text = mapping.sourceExpression {
        var expression = MappingExpression(mapping, propertyName: "")
        let selection = try expression.source(text)
        guard source.entity(named: selection.entityName) != nil else {
          throw MappingExpression.Refusal(
            reason: "the source expression names the entity '\(selection.entityName)', which does not exist")
        }
        result.sourceName = selection.entityName
        result.filter = selection.filter?.predicateFormat
      }
    } catch {
      note(subject, nil, "the mapping '\(mapping.name)': \(error.reason)")
      return nil
    }
    if mapping.destinationEntityName == nil {
      if result.filter == nil, let name = result.sourceName { droppedEntities.insert(name) }
      return nil
    }
    return result
  }

  // MARK: Properties

  private mutating func map(_ mapping: MappingModel.EntityMapping, _ entity: Entity, _ old: Entity, _ number: Int) {
    var given: [ScalarString: MappingModel.PropertyMapping] = [:]
    for property in mapping.properties {
      let isComposite = entity.slots.contains { $0.name.hasPrefix(property.name + ".") }
      guard entity.slot(named: property.name) != nil || isComposite else {
        if property.expression != nil || property.isUnreadable, !isKnownWithoutSlot(property.name, entity) {
          note(
            entity.name, property.name,
            "the mapping '\(mapping.name)' names this property, which does not exist"
              + Suggestion.text(for: property.name, among: entity.slots.map(\.name)))
        }
        continue
      }
      given[ScalarString(property.name)] = property
    }
    var properties: [ModelMapping.Property] = []
    for slot in entity.slots {
      let whole = slot.name.split(separator: ".").first.map(String.init) ?? slot.name
      let found = given[ScalarString(slot.name)] ?? given[ScalarString(whole)]
      let part = found.map { slot.name.dropFirst($0.name.count) } ?? ""
      properties.append(property(slot, found, String(part), entity, old, mapping))
    }
    entities[number].properties = properties
  }

  /// Whether an entity has a property that stores do not: a transient or fetched one.
  private func isKnownWithoutSlot(_ name: String, _ entity: Entity) -> Bool {
    var level: Entity? = entity
    while let present = level {
      if present.declaration.properties.contains(where: { ScalarString($0.name) == ScalarString(name) }) { return true }
      level = present.superentity
    }
    return false
  }

  /// - Parameter part: For a part of a composite, its key with the dot.
  private mutating func property(
    _ slot: Slot, _ given: MappingModel.PropertyMapping?, _ part: String, _ entity: Entity, _ old: Entity,
    _ mapping: MappingModel.EntityMapping
  ) -> ModelMapping.Property {
    let nothing: ModelMapping.Origin =
      slot.isRelationship
      ? slot.inverseSlot == nil ? .constant(.null) : .inverse
      : .constant(slot.attribute?.defaultValue ?? .null)
    var result = ModelMapping.Property(name: slot.name, origin: nothing)
    guard let given else { return result }
    do throws(MappingExpression.Refusal) {
      if given.isUnreadable { throw MappingExpression.Refusal(reason: "the value expression has an unknown form") }
      guard let text = given.expression else { return result }
      var expression = MappingExpression(mapping, propertyName: given.name)
      if slot.isRelationship {
        let objects = try expression.objects(text)
        result.origin = .objects(
          try checked(objects.expression, slot, old), by: try through(objects.mappingName))
        return result
      }
      var value = try expression.value(text)
      if !part.isEmpty {
        guard case .keyPath(let path) = value, path.count == 1 else {
          throw MappingExpression.Refusal(reason: "'\(text)' is not supported for a composite attribute")
        }
        value = .keyPath([path[0] + part])
      }
      result.origin = try origin(value, slot, old)
    } catch {
      note(entity.name, slot.name, "the mapping '\(mapping.name)': \(error.reason)")
    }
    return result
  }

  /// The numbers of the mappings that objects go through.
  private func through(_ name: String?) throws(MappingExpression.Refusal) -> [Int] {
    guard let name else { return entities.indices.filter { entities[$0].sourceName != nil } }
    guard let found = numbers[ScalarString(name)] else {
      throw MappingExpression.Refusal(
        reason: "the entity mapping '\(name)' does not exist"
          + Suggestion.text(for: name, among: numbers.keys.map(\.string).sorted()))
    }
    return found
  }

  private func origin(
    _ value: FetchExpression, _ slot: Slot, _ old: Entity
  ) throws(MappingExpression.Refusal) -> ModelMapping.Origin {
    if case .constant(.null) = value { return .constant(.null) }
    if case .keyPath(let path) = value,
      let found = old.slot(named: path.joined(separator: ".")).map({ old.slots[$0] }), !found.isRelationship
    {
      if found.attributeType == slot.attributeType { return .kept(found.name) }
      if options.convertsTypes, let from = found.attributeType, let to = slot.attributeType,
        ValueConversion(from: from, to: to) != nil
      {
        return .converted(found.name)
      }
    }
    return .expression(try checked(value, slot, old))
  }

  /// The text of an expression whose keys the entity has.
  private func checked(
    _ expression: FetchExpression, _ slot: Slot, _ old: Entity
  ) throws(MappingExpression.Refusal) -> String {
    if case .keyPath(let path) = expression, let first = path.first, !first.hasPrefix("@"),
      old.slot(named: first) == nil, !old.slots.contains(where: { $0.name.hasPrefix(first + ".") })
    {
      throw MappingExpression.Refusal(
        reason: "'$source.\(path.joined(separator: "."))': \(old.name) does not have the property '\(first)'"
          + Suggestion.text(for: first, among: old.slots.map(\.name)))
    }
    return expression.description
  }
}
