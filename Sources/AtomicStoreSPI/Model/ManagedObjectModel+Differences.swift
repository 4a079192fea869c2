/// Something in which two models differ, in words.
public struct ModelDifference: Sendable, Hashable, CustomStringConvertible {
  public var entityName: String
  public var propertyName: String?
  /// `Integer 16 → Integer 32`, `only in the model`.
  public var change: String
  public var description: String {
    (propertyName.map { "\(entityName).\($0)" } ?? entityName) + ": " + change
  }
}

extension ManagedObjectModel {
  /// In what the store's model differs from this one, as far as stored data is concerned: entities and their
  /// inheritance, stored attributes and their types, relationships, their destinations and cardinality. In name order.
  ///
  /// An entity or property of this model that the store's lacks is a difference too: a store is read with the model it
  /// was written with.
  public func differences(from stored: ModelDescription) -> [ModelDifference] {
    guard let other = try? ManagedObjectModel(stored) else {
      return [ModelDifference(entityName: "model", change: "the store's own model is not valid")]
    }
    var result: [ModelDifference] = []
    let names = Set((entities + other.entities).map { ScalarString($0.name) }).sorted()
    for name in names {
      guard let mine = entity(named: name.string) else {
        result.append(ModelDifference(entityName: name.string, change: "only in the store"))
        continue
      }
      guard let theirs = other.entity(named: name.string) else {
        result.append(ModelDifference(entityName: name.string, change: "only in the model"))
        continue
      }
      func note(_ property: String?, _ change: String) {
        result.append(ModelDifference(entityName: name.string, propertyName: property, change: change))
      }
      if mine.superentity?.name != theirs.superentity?.name {
        note(nil, "super-entity \(theirs.superentity?.name ?? "none") → \(mine.superentity?.name ?? "none")")
      }
      if mine.isAbstract != theirs.isAbstract {
        note(nil, theirs.isAbstract ? "abstract → concrete" : "concrete → abstract")
      }
      let slots = Set((mine.slots + theirs.slots).map { ScalarString($0.name) }).sorted()
      for slotName in slots {
        guard let here = mine.slot(named: slotName.string).map({ mine.slots[$0] }) else {
          note(slotName.string, "only in the store")
          continue
        }
        guard let there = theirs.slot(named: slotName.string).map({ theirs.slots[$0] }) else {
          note(slotName.string, "only in the model")
          continue
        }
        if here.kindDescription != there.kindDescription {
          note(slotName.string, "\(there.kindDescription) → \(here.kindDescription)")
        }
      }
    }
    return result
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
