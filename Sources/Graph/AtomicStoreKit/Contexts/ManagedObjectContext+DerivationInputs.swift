import AtomicStoreSPI

/// An object from whose values a derived attribute of another one is computed.
struct DerivationInput {
  let object: ManagedObject
  let owner: ManagedObject
  /// Whether the owner itself leads to it, by a relationship with an inverse: each save that changes the object then
  /// knows the owner, and changes the version of its row.
  let isDirect: Bool
}

/// What the derived values of a save depend on in one incremental store, apart from the objects that it changes.
struct DerivationBase {
  /// The objects with the derived attributes. A save changes the versions of their rows even where the values stay, so
  /// that of two programs that change inputs of the same value at the same time, one has to compute it again.
  var owners: [ManagedObject] = []
  /// Other objects whose rows must be unchanged.
  var witnesses: [ManagedObject] = []
}

/// The objects that derived attributes are computed from.
extension ManagedObjectContext {
  /// The objects whose derived attributes depend on changed objects.
  ///
  /// - Parameter includingThemselves: Whether the changed objects that have derived attributes are among them in any
  ///   case.
  func derivedOwners(of changed: [ManagedObject], includingThemselves: Bool) -> [ManagedObject] {
    var between = ObjectList()
    return derivedOwners(of: changed, includingThemselves: includingThemselves, between: &between)
  }

  /// - Parameter between: Gets the objects on the way from changed objects to the owners.
  func derivedOwners(
    of changed: [ManagedObject], includingThemselves: Bool, between: inout ObjectList
  ) -> [ManagedObject] {
    var owners = ObjectList()
    var known: [ObjectIdentifier: [[DerivationSource]]] = [:]
    for object in changed where object.context === self && !object.flags.contains(.deleted) {
      let plan = object.plan
      if includingThemselves, !plan.derived.isEmpty { owners.append(object) }
      guard let edits = object.edits else { continue }
      let sources = known[plan.modelID] ?? ModelPlan.plan(of: plan.entity.model).derivations.sources
      known[plan.modelID] = sources
      for source in sources[plan.index] where edits[source.property] != nil {
        collect(&owners, from: object, source.way[...], &between)
      }
    }
    return owners.elements.filter { $0.context === self && !$0.flags.contains(.deleted) && $0.isReachable }
  }

  private func collect(
    _ owners: inout ObjectList, from object: ManagedObject, _ way: ArraySlice<Int>, _ between: inout ObjectList
  ) {
    guard let p = way.first else {
      owners.append(object)
      return
    }
    guard object.isReachable, p < object.plan.properties.count, object.plan.properties[p].isRelationship else { return }
    for other in object.ends(p) {
      if way.count > 1 { between.append(other) }
      collect(&owners, from: other, way.dropFirst(), &between)
    }
  }

  /// The objects whose values the derived attributes of others are computed from, without those of which a store
  /// computes what is needed.
  func derivationInputs(of owners: [ManagedObject]) -> [DerivationInput] {
    var inputs: [DerivationInput] = []
    // By what is left of a path: many owners may share what is behind an object.
    var visited: [[String]: Set<ObjectIdentifier>] = [:]
    func collect(_ object: ManagedObject, _ path: [String], of owner: ManagedObject, isFirst: Bool) {
      // A count needs no values.
      guard let key = path.first, path.dropFirst().first != "@count", object.isReachable,
        let p = object.plan.property(named: key), object.plan.properties[p].isRelationship,
        visited[path, default: []].insert(ObjectIdentifier(object)).inserted
      else { return }
      let rest = Array(path.dropFirst())
      let isDirect = isFirst && object.plan.properties[p].inverse >= 0
      for other in object.ends(p) {
        inputs.append(DerivationInput(object: other, owner: owner, isDirect: isDirect))
        collect(other, rest, of: owner, isFirst: false)
      }
    }
    for owner in owners {
      let plans = ModelPlan.plan(of: owner.plan.entity.model).derivations.plans[owner.plan.index]
      for p in owner.plan.derived {
        guard let plan = plans[p] else { continue }
        for path in storeAggregates(of: p, owner).isEmpty ? plan.paths : plan.pathsBeside {
          collect(owner, path, of: owner, isFirst: true)
        }
      }
    }
    return inputs
  }

  // MARK: Incremental stores

  /// Retains what the derived attributes of a save are computed from until it has ended: the row of an object that is
  /// released is read again, and another program may have changed it meanwhile.
  func holdDerivationInputs(of changed: [ManagedObject]) {
    guard parent == nil,
      caches.contains(where: { $0.isIncremental && $0.plan.entities.contains { !$0.derived.isEmpty } })
    else { return }
    var between = ObjectList()
    let owners = derivedOwners(of: changed, includingThemselves: true, between: &between)
    saveSession?.heldInputs += owners + between.elements + derivationInputs(of: owners).map(\.object)
  }

  /// Reads the rows again that the derived values of a save depend on, as far as others may have changed them.
  ///
  /// - Returns: What the derived values depend on; nil if it has changed, so that they have to be computed again.
  func derivationBase(in cache: StoreCache) throws(PersistentStoreError) -> DerivationBase? {
    guard cache.isIncremental, cache.plan.entities.contains(where: { !$0.derived.isEmpty }) else {
      return DerivationBase()
    }
    var between = ObjectList()
    let owners = derivedOwners(
      of: inserted.elements + updated.elements, includingThemselves: true, between: &between
    ).filter { $0.cache === cache }
    let way = between.elements.filter { $0.cache === cache }
    guard !owners.isEmpty || !way.isEmpty, let window = cache.currentVersion() else { return DerivationBase() }
    // First the owners: their inputs are then known to be read after them.
    try cache.renew((owners + way).filter { !isSeen($0, in: window, after: cache.requestsBeforeSave) })
    guard cache.currentVersion() === window else { return nil }
    let inputs = derivationInputs(of: owners).filter { $0.object.cache === cache }
    try cache.renew(inputs.filter { mayHaveChanged($0, in: window, cache) }.map(\.object))
    guard cache.currentVersion() === window else { return nil }
    return DerivationBase(owners: owners, witnesses: way + inputs.filter { !$0.isDirect }.map(\.object))
  }

  private func storedNode(of object: ManagedObject, in window: NodeVersion) -> NodeHandle? {
    guard !object.flags.contains(.inserted), let reference = object.reference else { return nil }
    return window.knownHandle(for: reference, root: object.plan.root)
  }

  private func isSeen(_ object: ManagedObject, in window: NodeVersion, after request: Int) -> Bool {
    guard let node = storedNode(of: object, in: window) else { return object.flags.contains(.inserted) }
    return window.isFilled(node) && window.isSeen(node, after: request)
  }

  /// Whether another program may have changed an input since its row was read.
  private func mayHaveChanged(_ input: DerivationInput, in window: NodeVersion, _ cache: StoreCache) -> Bool {
    guard input.isDirect, let node = storedNode(of: input.object, in: window), window.isFilled(node),
      let owner = storedNode(of: input.owner, in: window), window.isFilled(owner)
    else { return !isSeen(input.object, in: window, after: cache.requestsBeforeSave) }
    return !window.isSeen(node, inTimeOf: owner)
  }

  /// Adds the versions of the rows that derived values depend on to what a save is based on.
  func complete(_ changes: inout StoreChanges, for cache: StoreCache, _ base: DerivationBase) {
    guard cache.isIncremental, let version = cache.currentVersion() else { return }
    func expect(_ object: ManagedObject) -> ReferenceObject? {
      guard let reference = object.reference, let node = storedNode(of: object, in: version), version.isFilled(node)
      else { return nil }
      changes.expected.append(
        (ObjectReference(entityName: object.plan.name, reference: reference), version.rowVersion(of: node)))
      return reference
    }
    for owner in base.owners where owner.context === self && !owner.hasPersistentChangedValues {
      guard !owner.flags.contains(.deleted), let reference = expect(owner) else { continue }
      changes.updated.append(ManagedObjectSnapshot(entity: owner.plan.index, reference: reference))
    }
    var known: Set<ObjectIdentifier> = []
    for object in base.witnesses where object.flags.isDisjoint(with: .changed) {
      if known.insert(ObjectIdentifier(object)).inserted { _ = expect(object) }
    }
  }
}
