import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Attributes that are computed when their object is saved.
extension ManagedObjectContext {
  /// Sets the derived attributes of an object that is being saved.
  ///
  /// - Returns: Whether a value that is stored changed.
  @discardableResult
  func computeDerived(_ object: ManagedObject) throws(ManagedObjectError) -> Bool {
    var isChanged = false
    for p in object.plan.derived {
      let property = object.plan.properties[p]
      guard case .attribute(let type) = property.kind, let text = property.attribute?.derivationExpression else {
        continue
      }
      func failure(_ message: String, _ cause: (any Error)?) -> ManagedObjectError {
        ManagedObjectError(
          .managedObjectValidation, "the derived attribute \(object.plan.name).\(property.name) \(message)",
          objectID: object.objectID, entityName: object.plan.name, key: property.name, rule: text, underlying: cause)
      }
      // The time of the save changes with each save: it is set once per save, if something else changed. Changes to
      // transient properties alone are not saved and do not update it.
      if text.filter({ $0 != " " }) == "now()" {
        guard object.hasPersistentChangedValues, !derivedNow.contains(object) else { continue }
        derivedNow.append(object)
      }
      let expression: FetchExpression
      switch ParsedTexts.expression(text) {
      case .success(let parsed): expression = parsed
      case .failure(let error): throw failure("has an expression that cannot be parsed", error)
      }
      let value: PredicateValue
      do throws(ManagedObjectError) {
        value = try ManagedObjectError.reporting { () throws(PredicateEvaluationError) in
          try PredicateEvaluator(object, now: savingDate).value(of: expression)
        }
      } catch {
        throw failure("cannot be computed", error)
      }
      guard case .value(let stored) = value, let fitting = type.fitting(stored) else {
        throw failure("has a result that \(type.modelName) cannot hold", nil)
      }
      if property.slot < 0 {
        object.setOverlay(p, .stored(fitting))
      } else if !object.storedValue(p).isIdentical(to: fitting) {
        // It follows from other changes, which undo reverts: it is not a change by itself.
        object.applyStoredValue(p, fitting)
        isChanged = true
      }
    }
    return isChanged
  }

  /// Computes the derived attributes of objects that did not change themselves but are derived from objects that did.
  /// Those whose values change become changed objects.
  func computeDerived(from changed: [ManagedObject]) throws(ManagedObjectError) {
    var owners = ObjectList()
    var known: [ObjectIdentifier: [[DerivationSource]]] = [:]
    for object in changed where object.context === self && !object.flags.contains(.deleted) {
      guard let edits = object.edits else { continue }
      let plan = object.plan
      let sources = known[plan.modelID] ?? ModelPlan.plan(of: plan.entity.model).derivationSources
      known[plan.modelID] = sources
      for source in sources[plan.index] where edits[source.property] != nil {
        collect(&owners, from: object, source.way[...])
      }
    }
    for owner in owners where owner.context === self && !owner.flags.contains(.deleted) && owner.isReachable {
      if try computeDerived(owner) { noteChange(of: owner) }
    }
  }

  private func collect(_ owners: inout ObjectList, from object: ManagedObject, _ way: ArraySlice<Int>) {
    guard let p = way.first else {
      owners.append(object)
      return
    }
    guard object.isReachable, p < object.plan.properties.count, object.plan.properties[p].isRelationship else { return }
    let next =
      object.plan.properties[p].kind == .toOne ? object.toOneObject(p).map { [$0] } ?? [] : object.toManyObjects(p)
    for other in next { collect(&owners, from: other, way.dropFirst()) }
  }
}
