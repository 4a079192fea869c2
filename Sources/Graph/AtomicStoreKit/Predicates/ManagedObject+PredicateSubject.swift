package import AtomicStoreSPI
package import StorePredicates

/// Predicates are evaluated on an object with its unsaved changes.
extension ManagedObject: PredicateSubject {
  package final var predicateEntityName: String { plan.name }
  package final var predicateEntity: Entity? { plan.entity }
  package final var predicatePropertyNames: [String] { plan.properties.map(\.name) }
  package final var stepBudget: StepBudget? { context?.fetchState.stepBudget }
  package final var customFunctions: CustomFunctions? { context?.customFunctions }

  package final func precedes(_ other: any PredicateSubject) -> Bool {
    (other as? ManagedObject).map { ManagedObject.precedes(self, $0) } ?? false
  }

  /// Whether an ID is one that the object had before it was saved.
  package final func isKnown(by id: ManagedObjectID) -> Bool {
    guard case .temporary(let name) = id.form else { return false }
    return extras?.temporaryName == name || (extras?.parentObject?.isKnown(by: id) ?? false)
  }

  package final func predicateProperty(named name: String) -> PredicateProperty? {
    plan.property(named: name).map { PredicateProperty(index: $0, isComposite: plan.properties[$0].kind == .composite) }
  }

  package final func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue {
    do throws(ManagedObjectError) { return try predicateValue(property.index) } catch {
      throw PredicateEvaluationError(error)
    }
  }

  private final func predicateValue(_ p: Int) throws(ManagedObjectError) -> PredicateValue {
    let property = plan.properties[p]
    // A fetch that examines an object does not fire a fault: stored values are read from the columns. Transient values
    // are created when an object awakes. A composite is read part by part.
    if property.kind != .composite, property.slot < 0 || !isPeekable() { try realize() }
    switch property.kind {
    case .attribute:
      if property.holdsAnyValue, case .transient(let value)? = layered(p) {
        guard let value else { return .null }
        return StoredValue(guessing: value).map { .value($0) } ?? .null
      }
      return .value(storedValue(p))
    case .toOne: return toOneObject(p).map { .object($0) } ?? .null
    case .toMany, .orderedToMany: return .list(toManyObjects(p).map { .object($0) })
    case .fetched: return .list(try fetches.fetchedObjects(p).map { .object($0) })
    case .composite:
      var parts: [(name: String, value: PredicateValue)] = []
      for part in property.parts where plan.properties[part].kind != .composite {
        parts.append((plan.properties[part].name, try predicateValue(part)))
      }
      return .composite(PredicateComposite(name: property.name, parts: parts))
    }
  }
}
