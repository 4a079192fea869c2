import AtomicStoreSPI
import StoreCoordination

/// An incremental store as one context sees it: the rows that the context has read.
extension StoreCache: NodeWindowSource {
  var isIncremental: Bool { store.connection != nil }
  var isOnlyWindow: Bool { !isMixed }

  /// The connection of an incremental store, after a Save As the one that it left for; nil for every other store.
  var connection: IncrementalConnection? {
    if !store.isOpen { _ = presentVersion() }
    return store.connection
  }

  func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow] {
    if let version = versionInstead() {
      var rows: [StoreRow] = []
      for reference in references {
        guard let node = version.handle(for: reference, root: root) else { continue }
        var values = SlotValues()
        for slot in store.model.entity(at: node.entity).slots where !slot.isToMany {
          values[slot.index] = try value(slot: slot.index, of: node, in: version)
        }
        rows.append(StoreRow(entity: node.entity, reference: reference, version: 0, values: values))
      }
      return rows
    }
    let connection = try openConnection()
    let rows = try connection.use { store throws(PersistentStoreError) in try store.rows(references, root: root) }
    compare(rows, with: references, root: root)
    return rows
  }

  /// Finds out whether what the store has now differs from what was read before.
  private func compare(_ rows: [StoreRow], with references: [ReferenceObject], root: Int) {
    compare(rows)
    guard !isMixed, rows.count < references.count, let window = heldWindow else { return }
    let found = Set(rows.lazy.map(\.reference))
    if references.contains(where: { !found.contains($0) && window.knownHandle(for: $0, root: root) != nil }) {
      noteChangedRows()
    }
  }

  private func compare(_ rows: [StoreRow]) {
    guard !isMixed, let window = heldWindow else { return }
    let hasNewer = rows.contains { row in
      guard let node = window.knownHandle(for: row.reference, root: roots[row.entity]) else { return false }
      let before = window.rowVersion(of: node) ?? 0
      return before != 0 && before != row.version
    }
    if hasNewer { noteChangedRows() }
  }

  func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]] {
    if let version = versionInstead() {
      let root = store.model.entity(at: entity).root.index
      var lists: [[ObjectReference]] = []
      for owner in owners {
        guard let node = version.handle(for: owner, root: root), node.entity == entity,
          case .toMany(let list) = try value(slot: slot, of: node, in: version)
        else {
          lists.append([])
          continue
        }
        lists.append(list)
      }
      return lists
    }
    let connection = try openConnection()
    return try connection.use { store throws(PersistentStoreError) in
      try store.related(owners, slot: slot, entity: entity)
    }
  }

  /// What is read instead of a database that a Save As has left for a file: nil for a database.
  private func versionInstead() -> NodeVersion? {
    if connection != nil { return nil }
    let (version, isOpen, _) = store.versionIfOpen
    return isOpen ? version : nil
  }

  private func value(
    slot: Int, of node: NodeHandle, in version: NodeVersion
  ) throws(PersistentStoreError) -> StoredValue {
    version.isDeferred(slot: slot, of: node)
      ? try store.value(slot: slot, of: node) : version.value(slot: slot, of: node)
  }

  private func openConnection() throws(PersistentStoreError) -> IncrementalConnection {
    guard let connection else {
      throw PersistentStoreError(
        .storeNotAdded, "the database that the object was read from is not open: fetch the object again",
        at: StoreLocation(file: store.path))
    }
    return connection
  }

  func failed(_ error: PersistentStoreError) {
    failure = error
    failureCount += 1
    owner?.couldNotRead(error)
  }

  /// Reads objects again that the context has read before. What has changed is in another window; objects that have not
  /// changed read that one from now on.
  ///
  /// The other ends of their one-to-ones are read again, too: those that the objects read, and those that the store has
  /// now. A save that takes an object away from its partner has to change both, though the context may have read the
  /// partner before the two were joined.
  func renew(_ objects: [ManagedObject]) throws(PersistentStoreError) {
    guard isIncremental, let window = currentVersion() else { return }
    let mine = objects.filter { $0.cache === self }
    var next = mine.compactMap { object in
      object.reference.flatMap { window.knownHandle(for: $0, root: object.plan.root) }
    }
    // What others lead to may never have been read, and be gone.
    for node in next where !window.isFilled(node) { _ = window.fill(node) }
    next += readPartners(of: mine, in: window)
    var known = Set(next)
    while !next.isEmpty {
      guard let window = currentVersion() else { return }
      try renew(next, in: window)
      guard let now = currentVersion() else { return }
      next = next.flatMap { partners(of: $0, in: now) }.filter { known.insert($0).inserted }
    }
  }

  private func renew(_ nodes: [NodeHandle], in window: NodeVersion) throws(PersistentStoreError) {
    guard !nodes.isEmpty, let fresh = try window.renewed(nodes) else { return }
    replaceWindow(by: fresh)
    _ = currentVersion()
    visit { object in
      guard object.base === window else { return }
      guard object.flags.contains(.realized) else {
        object.base = nil
        return
      }
      if fresh.rowVersion(of: object.node) == window.rowVersion(of: object.node),
        fresh.isFilled(object.node) == window.isFilled(object.node)
      {
        object.base = fresh
      }
    }
  }

  /// The other ends of a row's one-to-ones. One that was not read before leads to others that were.
  private func partners(of node: NodeHandle, in window: NodeVersion) -> [NodeHandle] {
    guard window.isFilled(node) else { return [] }
    return oneToOnes[node.entity].compactMap { slot in
      window.toOne(slot: slot.index, of: node).flatMap { window.fill($0) ? $0 : nil }
    }
  }

  /// The other ends of one-to-ones as objects read them, which may be from another version.
  private func readPartners(of objects: [ManagedObject], in window: NodeVersion) -> [NodeHandle] {
    objects.flatMap { object -> [NodeHandle] in
      guard let base = object.base, object.flags.contains(.realized), base.isFilled(object.node) else { return [] }
      return oneToOnes[object.plan.index].compactMap { slot in
        guard let partner = base.toOne(slot: slot.index, of: object.node), let destination = slot.destination,
          let known = window.knownHandle(for: base.reference(of: partner), root: roots[destination]),
          window.fill(known)
        else { return nil }
        return known
      }
    }
  }

  /// Takes over rows of a fetch. Objects that were read keep the values that they have.
  func take(_ rows: [StoreRow]) -> [NodeHandle] {
    guard let window = currentVersion() else { return [] }
    compare(rows)
    return window.take(rows) { node in
      let root = plan.entities[node.entity].root
      return object(root: root, window.reference(of: node))?.flags.contains(.realized) ?? false
    }
  }

  /// Has the values of an object read again when they are next asked for. An object of a child context reads its
  /// parent's: the row is that of the parent's object, which may have changes that are based on it.
  func forgetRow(of object: ManagedObject) {
    guard isIncremental, object.extras?.parentObject == nil, let window = heldWindow, let reference = object.reference,
      let node = window.knownHandle(for: reference, root: object.plan.root)
    else { return }
    window.forget(node)
  }
}

extension ManagedObjectContext {
  /// Records that a value could not be read from a store. Its reader went on with null, so the next save fails.
  func couldNotRead(_ error: PersistentStoreError) {
    let failure = ManagedObjectError(
      .persistentStoreOperation, "values could not be read from their store", underlying: error)
    record(failure)
    refusedAssignments.append(failure)
  }

  /// Fires a fault of an incremental store.
  func fire(_ object: ManagedObject, in cache: StoreCache, _ version: NodeVersion) throws(ManagedObjectError) {
    guard let reference = object.reference else { throw object.unavailable(.neverSaved) }
    cache.failure = nil
    // It may have been looked for before it was saved, or restored after it was deleted.
    if version.knownHandle(for: reference, root: object.plan.root).map(version.isFilled) != true {
      version.forget(reference, root: object.plan.root)
    }
    guard let node = version.handle(for: reference, root: object.plan.root), node.entity == object.plan.index else {
      object.base = nil
      if let failure = cache.failure {
        // It is thrown here, so it need not fail the next save.
        if !refusedAssignments.isEmpty { refusedAssignments.removeLast() }
        throw object.objectError(
          .persistentStoreOperation, "\(object.plan.name)/\(reference) could not be read", underlying: failure)
      }
      throw object.unavailable(.notInStore)
    }
    object.base = version
    object.node = node
  }
}

extension ManagedObject {
  /// Whether the stored to-many of an incremental store contains an object, without reading the whole list: the object
  /// itself says so where the inverse is a to-one. Nil if it has to be read.
  final func containsByInverse(_ p: Int, _ other: ManagedObject) -> Bool? {
    let property = plan.properties[p]
    guard let base, base.isWindow, property.slot >= 0, !base.isKnown(slot: property.slot, of: node) else { return nil }
    // What was never saved is in no stored list.
    guard let reference = other.reference else { return false }
    guard property.inverse >= 0, !other.flags.contains(.inserted),
      other.plan.isKind(of: property.destination)
    else { return nil }
    let back = other.plan.properties[property.inverse]
    guard !back.isToMany, back.slot >= 0, let window = other.base ?? other.cache?.currentVersion(),
      let there = window.handle(for: reference, root: other.plan.root)
    else { return nil }
    guard let owner = window.toOne(slot: back.slot, of: there) else { return false }
    return window.reference(of: owner) == self.reference
  }
}
