import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension ManagedObject {
  /// Whether nothing that is stored changed but derived attributes.
  fileprivate var hasOnlyDerivedChanges: Bool {
    guard !plan.derived.isEmpty, flags.contains(.updated), flags.isDisjoint(with: [.inserted, .deleted]), let edits
    else { return false }
    let stored = edits.indices.filter { edits[$0] != nil && plan.properties[$0].slot >= 0 }
    return !stored.isEmpty && stored.allSatisfy { plan.derived.contains($0) }
  }
}

/// Attributes that are computed when their object is saved.
extension ManagedObjectContext {
  /// Sets the derived attributes of an object that is being saved.
  ///
  /// - Returns: Whether a value that is stored changed.
  @discardableResult
  func computeDerived(_ object: ManagedObject) throws(ManagedObjectError) -> Bool {
    var isChanged = false
    // One may be computed from others, which come later. A circle ends after as many rounds as there are.
    for _ in object.plan.derived {
      guard try computeDerivedOnce(object) else { break }
      isChanged = true
    }
    return isChanged
  }

  private func computeDerivedOnce(_ object: ManagedObject) throws(ManagedObjectError) -> Bool {
    var isChanged = false
    for p in object.plan.derived {
      let property = object.plan.properties[p]
      guard case .attribute(let type) = property.kind, let text = property.attribute?.derivationExpression else {
        continue
      }
      func failure(_ message: String, _ cause: (any Error)?) -> ManagedObjectError {
        object.objectError(
          .managedObjectValidation, "the derived attribute \(object.plan.name).\(property.name) \(message)",
          key: property.name, rule: text, underlying: cause)
      }
      // The time of the save changes with each save: it is set once per save, if something else changed. Changes to
      // transient properties alone are not saved and do not update it.
      if text.filter({ $0 != " " }) == "now()" {
        guard object.hasPersistentChangedValues, saveSession?.derivedNow.append(object) == true else { continue }
      }
      let expression: FetchExpression
      switch ParsedTexts.expression(text) {
      case .success(let parsed): expression = parsed
      case .failure(let error): throw failure("has an expression that cannot be parsed", error)
      }
      let value: PredicateValue
      do throws(ManagedObjectError) {
        var evaluator = PredicateEvaluator(object, now: saveSession?.date ?? Date())
        evaluator.groupKeys = try values(of: storeAggregates(of: p, object), object)
        let prepared = evaluator
        value = try ManagedObjectError.reporting { () throws(PredicateEvaluationError) in
          try prepared.value(of: expression, for: type)
        }
      } catch {
        // What it needs may be gone from the parent context, or come with the rest: the parent computes it when it
        // saves.
        if parent != nil { continue }
        throw failure("cannot be computed", error)
      }
      guard case .value(let stored) = value, let fitting = type.fitting(stored) else {
        throw failure("has a result that \(type.modelName) cannot hold", nil)
      }
      if object.storedValue(p).isIdentical(to: fitting) { continue }
      if property.slot < 0 {
        object.setOverlay(p, .stored(fitting))
      } else {
        // It follows from other changes, which undo reverts: it is not a change by itself.
        object.applyStoredValue(p, fitting)
        isChanged = true
      }
      // The notice of its other changes came too early for it.
      noteTouched(object)
    }
    return isChanged
  }

  /// Computes the derived attributes of objects that did not change themselves but are derived from objects that did.
  /// Those whose values change become changed objects.
  func computeDerived(from changed: [ManagedObject]) throws(ManagedObjectError) {
    _ = try computeDerived(of: derivedOwners(of: changed, includingThemselves: false))
  }

  /// - Returns: Whether a value that is stored changed.
  private func computeDerived(of owners: [ManagedObject]) throws(ManagedObjectError) -> Bool {
    var isChanged = false
    for owner in owners where try computeDerived(owner) {
      noteChange(of: owner)
      isChanged = true
    }
    return isChanged
  }

  // MARK: What others saved meanwhile

  /// Takes back the changes of objects of which only derived attributes changed, if their stores changed as well: what
  /// they follow from is known when all conflicts are resolved. An object that its store no longer has does not come
  /// back for them.
  func undoDerivedChanges(to versions: [(cache: StoreCache, version: NodeVersion)]) {
    for object in updated.elements where object.hasOnlyDerivedChanges {
      guard let version = storeVersion(of: object, versions), object.base !== version else { continue }
      keepRestorePoint()
      for p in object.plan.derived where object.edits?[p] != nil { object.setEdit(p, nil) }
      saveSession?.derivedNow.remove(object)
      guard node(of: object, in: version) != nil else {
        updated.remove(object)
        notice.invalidated.append(object)
        object.abandon(.notInStore)
        continue
      }
      rebase(object, to: version)
      notice.refreshed.append(object)
      if object.edits?.contains(where: { $0 != nil }) ?? false { continue }
      updated.remove(object)
      object.flags.remove([.updated, .prepared])
    }
  }

  /// Computes the derived attributes of all objects that this save concerns from what the stores hold now, and from
  /// what changed here. Objects without changes from which they are computed show what the stores hold from then on.
  ///
  /// - Returns: Whether a value that is stored changed.
  func computeDerivedAgain(
    _ versions: [(cache: StoreCache, version: NodeVersion)]
  ) throws(ManagedObjectError) -> Bool {
    saveSession?.aggregates.beginAttempt()
    let changed = inserted.elements + updated.elements
    var between = ObjectList()
    var owners = derivedOwners(of: changed, includingThemselves: true, between: &between)
    // What is on the way may lead to other owners by now.
    while rebaseUnchanged(between.elements, to: versions) {
      owners = derivedOwners(of: changed, includingThemselves: true, between: &between)
    }
    let inputs = derivationInputs(of: owners).map(\.object)
    if versions.contains(where: \.cache.isIncremental) { saveSession?.heldInputs += owners + inputs + between.elements }
    rebaseUnchanged(owners + inputs, to: versions)
    return try computeDerived(of: owners)
  }

  /// Has objects without changes read what their stores hold now.
  ///
  /// - Returns: Whether one has read something else.
  @discardableResult
  private func rebaseUnchanged(
    _ objects: [ManagedObject], to versions: [(cache: StoreCache, version: NodeVersion)]
  ) -> Bool {
    var isChanged = false
    for object in objects {
      guard object.edits == nil, object.flags.isDisjoint(with: .changed), object.flags.contains(.realized),
        let version = storeVersion(of: object, versions), object.base !== version, node(of: object, in: version) != nil
      else { continue }
      keepRestorePoint()
      rebase(object, to: version)
      notice.refreshed.append(object)
      isChanged = true
    }
    return isChanged
  }
}
