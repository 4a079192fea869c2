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
  func takeBackDerivedChanges(to versions: [(cache: StoreCache, version: NodeVersion)]) {
    for object in updated.elements where object.hasOnlyDerivedChanges {
      guard let version = storeVersion(of: object, versions), object.base !== version else { continue }
      keepRestorePoint()
      for p in object.plan.derived where object.edits?[p] != nil { object.setEdit(p, nil) }
      derivedNow.remove(object)
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
    let owners = derivedOwners(of: inserted.elements + updated.elements, includingThemselves: true)
    for object in derivationInputs(of: owners) {
      guard object.edits == nil, object.flags.isDisjoint(with: .changed), object.flags.contains(.realized),
        let version = storeVersion(of: object, versions), object.base !== version, node(of: object, in: version) != nil
      else { continue }
      keepRestorePoint()
      rebase(object, to: version)
      notice.refreshed.append(object)
    }
    return try computeDerived(of: owners)
  }

  /// The objects whose derived attributes depend on changed objects.
  ///
  /// - Parameter includingThemselves: Whether the changed objects that have derived attributes are among them in any
  ///   case.
  func derivedOwners(of changed: [ManagedObject], includingThemselves: Bool) -> [ManagedObject] {
    var owners = ObjectList()
    var known: [ObjectIdentifier: [[DerivationSource]]] = [:]
    for object in changed where object.context === self && !object.flags.contains(.deleted) {
      let plan = object.plan
      if includingThemselves, !plan.derived.isEmpty { owners.append(object) }
      guard let edits = object.edits else { continue }
      let sources = known[plan.modelID] ?? ModelPlan.plan(of: plan.entity.model).derivationSources
      known[plan.modelID] = sources
      for source in sources[plan.index] where edits[source.property] != nil {
        collect(&owners, from: object, source.way[...])
      }
    }
    return owners.elements.filter { $0.context === self && !$0.flags.contains(.deleted) && $0.isReachable }
  }

  /// The objects whose values the derived attributes of others are computed from, and these others.
  func derivationInputs(of owners: [ManagedObject]) -> [ManagedObject] {
    var inputs = ObjectList()
    var paths: [ObjectIdentifier: [[String]]] = [:]
    // By what is left of a path: many owners may share what is behind an object.
    var visited: [[String]: Set<ObjectIdentifier>] = [:]
    func collect(_ object: ManagedObject, _ path: [String]) {
      // A count needs no values.
      guard let key = path.first, path.dropFirst().first != "@count", object.isReachable,
        let p = object.plan.property(named: key), object.plan.properties[p].isRelationship,
        visited[path, default: []].insert(ObjectIdentifier(object)).inserted
      else { return }
      let rest = Array(path.dropFirst())
      for other in ends(object, p) {
        inputs.append(other)
        collect(other, rest)
      }
    }
    for owner in owners {
      let plan = owner.plan
      let all =
        paths[ObjectIdentifier(plan)]
        ?? plan.derived.flatMap {
          DerivationExpression(plan.properties[$0].attribute?.derivationExpression ?? "").paths
        }
      paths[ObjectIdentifier(plan)] = all
      inputs.append(owner)
      for path in all { collect(owner, path) }
    }
    return inputs.elements
  }

  private func collect(_ owners: inout ObjectList, from object: ManagedObject, _ way: ArraySlice<Int>) {
    guard let p = way.first else {
      owners.append(object)
      return
    }
    guard object.isReachable, p < object.plan.properties.count, object.plan.properties[p].isRelationship else { return }
    for other in ends(object, p) { collect(&owners, from: other, way.dropFirst()) }
  }
}
