import AtomicStoreSPI

/// A merge whose winner a resolver chose.
struct ChosenMerge {
  let merge: RowMerge
  let values: [String: Any?]
}

/// Decisions about conflicts, by the context's merge policy or its resolver.
extension ManagedObjectContext {
  func decision(about object: ManagedObject, _ conflict: MergeConflict) throws(ManagedObjectError) -> DecidedConflict {
    guard let resolver = conflictResolver else {
      return DecidedConflict(object: object, conflict: conflict, policy: mergePolicy, values: [:])
    }
    do {
      let resolution = try asking { try resolver.resolve(ObjectConflict(object: object, snapshots: conflict)) }
      return DecidedConflict(object: object, conflict: conflict, policy: resolution.policy, values: resolution.values)
    } catch {
      throw failure(of: resolver, error, object)
    }
  }

  /// - Parameter storedCount: How many of the objects are in the store with the values of the constraint.
  func decision(
    about objects: [ManagedObject], _ constraint: [Int], _ storedCount: Int
  ) throws(ManagedObjectError) -> ConstraintResolution {
    guard let resolver = conflictResolver, let first = objects.first else { return .by(mergePolicy) }
    let conflict = ConstraintConflict(
      keys: constraint.map { first.plan.properties[$0].name }, objects: objects, storedCount: storedCount)
    do { return try asking { try resolver.resolve(conflict) } } catch { throw failure(of: resolver, error, first) }
  }

  /// Sets the values that a resolver chose, and lets it change what depends on its decisions.
  func finishResolving(_ found: [DecidedConflict]) throws(ManagedObjectError) {
    guard !found.isEmpty else { return }
    logConflicts(found, isFailing: false)
    guard conflictResolver != nil else { return }
    for item in found { try set(item.values, in: item.object) }
    try didResolve(found.map(\.object))
  }

  func mergeChosen(_ chosen: [ChosenMerge], in cache: StoreCache) throws(ManagedObjectError) -> [MergedRows] {
    // An object that is in several merges takes part in the first; the next pass finds the others.
    var taken: Set<ObjectIdentifier> = []
    let possible = chosen.filter { item in
      guard taken.isDisjoint(with: item.merge.members) else { return false }
      taken.formUnion(item.merge.members)
      return true
    }
    let merged = try merge(possible.map(\.merge), in: cache)
    for item in possible { try set(item.values, in: item.merge.survivor) }
    try didResolve(possible.map(\.merge.survivor))
    return merged
  }

  func didResolve(_ objects: [ManagedObject]) throws(ManagedObjectError) {
    let remaining = objects.filter { $0.context === self && !$0.flags.contains(.deleted) }
    guard let resolver = conflictResolver, let first = remaining.first else { return }
    do { try asking { try resolver.didResolve(remaining, in: self) } } catch {
      throw failure(of: resolver, error, first)
    }
  }

  private func set(_ values: [String: Any?], in object: ManagedObject) throws(ManagedObjectError) {
    guard object.context === self, !object.flags.contains(.deleted) else { return }
    for key in values.keys.sorted() {
      let property = object.plan.properties[try object.number(of: key)]
      guard property.attribute != nil else {
        throw object.objectError(
          .invalidValue,
          "\(object.plan.name).\(key): a conflict resolver sets attributes; change relationships in didResolve(_:in:)",
          key: key)
      }
      try object.setValue(values[key] ?? nil, forKey: key)
    }
  }

  private func asking<Result>(_ body: () throws -> Result) rethrows -> Result {
    calloutDepth += 1
    defer { calloutDepth -= 1 }
    return try body()
  }

  private func failure(
    of resolver: any ConflictResolver, _ error: any Error, _ object: ManagedObject
  ) -> ManagedObjectError {
    if let error = error as? ManagedObjectError { return error }
    return object.objectError(
      .managedObjectMerge, "the conflict resolver \(type(of: resolver)) failed for \(object.rowName)",
      underlying: error)
  }
}
