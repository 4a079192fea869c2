/// A difference between two models, as text.
package struct ModelDifference: Sendable, Hashable, CustomStringConvertible {
  /// The entity; `model` for a difference of the model as a whole.
  package var entityName: String
  /// The property that differs; nil if the entity itself does.
  package var propertyName: String?
  /// `Integer 16 → Integer 32`, `only in the model`.
  package var change: String
  /// Creates a difference of an entity, or of one of its properties.
  init(entityName: String, propertyName: String? = nil, change: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.change = change
  }
  package var description: String {
    (propertyName.map { "\(entityName).\($0)" } ?? entityName) + ": " + change
  }
}

extension ManagedObjectModel {
  /// Returns how the model of a store differs from this one, as far as stored data is concerned: entities and their
  /// inheritance, stored attributes and their types, relationships, their destinations and cardinality. Sorted by name;
  /// an inherited property is listed once, at the entity that declares it.
  ///
  /// An entity or property of this model that the store's model lacks is a difference too: a store is read with the
  /// model that it was written with.
  ///
  /// - Parameters:
  ///   - stored: The model that the store was written with.
  ///   - includingEverything: Whether to include what does not affect stored data: optionality, defaults, bounds,
  ///     inverses, user info, fetch requests, configurations, and the order of lists.
  package func differences(
    from stored: ModelDescription, includingEverything: Bool = false
  ) -> [ModelDifference] {
    guard let other = try? ManagedObjectModel(stored) else {
      return [ModelDifference(entityName: "model", change: "the store's own model is not valid")]
    }
    return differences(from: other, includingEverything: includingEverything)
  }

  /// As above, for a model that is compiled.
  package func differences(
    from other: ManagedObjectModel, includingEverything: Bool = false
  ) -> [ModelDifference] {
    var result: [ModelDifference] = []
    for name in Self.names(entities.map(\.name), other.entities.map(\.name)) {
      switch (entity(named: name), other.entity(named: name)) {
      case (let mine?, let theirs?):
        result += mine.differences(from: theirs)
        if includingEverything { result += mine.furtherDifferences(from: theirs) }
      case (_?, nil): result.append(ModelDifference(entityName: name, change: "only in the model"))
      default: result.append(ModelDifference(entityName: name, change: "only in the store"))
      }
    }
    if includingEverything {
      let mine = description.propertyListOfTheRest
      result += Self.differences(mine, other.description.propertyListOfTheRest).map {
        ModelDifference(entityName: "model", change: $0)
      }
    }
    return result
  }

  /// The union of the names, sorted by their bytes.
  fileprivate static func names(_ mine: [String], _ theirs: [String]) -> [String] {
    Set((mine + theirs).map { ScalarString($0) }).sorted().map(\.string)
  }

  /// The differences of two dictionaries as text: `required true → none`.
  fileprivate static func differences(_ mine: PropertyListDictionary, _ theirs: PropertyListDictionary) -> [String] {
    names(mine.keys, theirs.keys).compactMap { key in
      let (here, there) = (mine[key], theirs[key])
      if here == there { return nil }
      switch (here?.shortText, there?.shortText) {
      case (let here?, let there?): return here == there ? "\(key) differs" : "\(key) \(there) → \(here)"
      case (let here?, nil): return "\(key) none → \(here)"
      case (nil, let there?): return "\(key) \(there) → none"
      case (nil, nil): return "\(key) differs"
      }
    }
  }
}

extension Entity {
  fileprivate func differences(from theirs: Entity) -> [ModelDifference] {
    var result: [ModelDifference] = []
    func note(_ property: String?, _ change: String) {
      result.append(ModelDifference(entityName: name, propertyName: property, change: change))
    }
    let isBelowTheSame = superentity.map { ScalarString($0.name) } == theirs.superentity.map { ScalarString($0.name) }
    if !isBelowTheSame {
      note(nil, "super-entity \(theirs.superentity?.name ?? "none") → \(superentity?.name ?? "none")")
    }
    if isAbstract != theirs.isAbstract { note(nil, theirs.isAbstract ? "abstract → concrete" : "concrete → abstract") }
    for slotName in ManagedObjectModel.names(slots.map(\.name), theirs.slots.map(\.name)) {
      let here = slot(named: slotName).map { slots[$0] }
      let there = theirs.slot(named: slotName).map { theirs.slots[$0] }
      // Differences in what both inherit are already listed.
      let isInherited = superentity?.slot(named: slotName) != nil || here == nil
      let isInheritedThere = theirs.superentity?.slot(named: slotName) != nil || there == nil
      if isBelowTheSame, isInherited, isInheritedThere { continue }
      switch (here?.kindDescription, there?.kindDescription) {
      case (let here?, let there?): if here != there { note(slotName, "\(there) → \(here)") }
      case (_?, nil): note(slotName, "only in the model")
      default: note(slotName, "only in the store")
      }
    }
    return result
  }

  /// Everything that ``differences(from:)`` leaves out, for what the entities themselves declare.
  fileprivate func furtherDifferences(from theirs: Entity) -> [ModelDifference] {
    var result = ManagedObjectModel.differences(
      declaration.propertyListOfTheRest, theirs.declaration.propertyListOfTheRest
    ).map { ModelDifference(entityName: name, change: $0) }
    let mine = declaration.propertyListsByName
    let others = theirs.declaration.propertyListsByName
    for name in ManagedObjectModel.names(mine.keys, others.keys) {
      guard let here = mine[name]?.dictionaryValue, let there = others[name]?.dictionaryValue else {
        // Stored properties are already listed.
        if slot(named: name) == nil, theirs.slot(named: name) == nil {
          result.append(
            ModelDifference(
              entityName: self.name, propertyName: name,
              change: mine[name] == nil ? "only in the store" : "only in the model"))
        }
        continue
      }
      let isStored = slot(named: name) != nil && theirs.slot(named: name) != nil
      var (mineLeft, theirsLeft) = (here, there)
      if isStored {
        for key in ["type", "destination", "maximumCount", "ordered"] {
          // A bound of 2 instead of none does not affect stored data, so it is not listed yet.
          if key == "maximumCount", (here[key]?.integerValue == 1) == (there[key]?.integerValue == 1) { continue }
          mineLeft[key] = nil
          theirsLeft[key] = nil
        }
      }
      result += ManagedObjectModel.differences(mineLeft, theirsLeft).map {
        ModelDifference(entityName: self.name, propertyName: name, change: $0)
      }
    }
    return result
  }
}

extension PropertyListValue {
  /// The text of a single value; nil if it is too long for a line.
  fileprivate var shortText: String? {
    switch self {
    case .string(let text): text.isEmpty ? "''" : text
    case .integer(let number): String(number)
    case .boolean(let flag): flag ? "true" : "false"
    // A type and a value, as defaults and bounds are stored; values stored as bits are not readable.
    case .array(let list) where list.count == 2:
      switch list[0].stringValue {
      case "boolean", "integer", "decimal", "uuid": list[1].shortText
      case "string", "uri": list[1].stringValue.map { "'\($0)'" }
      default: nil
      }
    default: nil
    }
  }
}

extension Slot {
  /// `Integer 16`, `to-one Department`, `ordered to-many Project`.
  public var kindDescription: String {
    switch kind {
    case .attribute(let type): type.modelName
    case .toOne: "to-one \(relationship?.destinationEntityName ?? "")"
    case .toMany(let ordered): (ordered ? "ordered " : "") + "to-many \(relationship?.destinationEntityName ?? "")"
    }
  }
}
