import AtomicStoreSPI

/// A hash table of the values that new and changed objects have in the properties that fetches compare for equality, so
/// that a lookup takes constant time.
///
/// It is updated when it is used: the context's lists record which objects were added and removed, and an object whose
/// values are in the table (``ManagedObject/Flags/indexed``) reports when one of them is set.
final class PendingValues: PendingValueTable {
  private struct Key: Hashable {
    let model: ObjectIdentifier
    let root: Int
    let property: Int
  }

  /// The objects by their value of one property, in all entities of a hierarchy.
  ///
  /// What an object no longer has stays in the table: a lookup passes it over, and a table with more old entries than
  /// current ones is rebuilt.
  private struct Table {
    private enum Bucket {
      case one(ManagedObject)
      case several(List)
    }
    /// A reference, so that appending does not copy the list.
    private final class List {
      var objects: ContiguousArray<ManagedObject>
      init(_ objects: ContiguousArray<ManagedObject>) { self.objects = objects }
    }
    private var buckets: [UniqueKey.Part: Bucket] = [:]
    private(set) var entryCount = 0

    mutating func add(_ object: ManagedObject, _ value: UniqueKey.Part) {
      switch buckets[value] {
      case nil: buckets[value] = .one(object)
      case .one(let known):
        // Usually another property of the object changed.
        if known === object { return }
        buckets[value] = .several(List([known, object]))
      case .several(let list):
        if list.objects.last === object { return }
        list.objects.append(object)
      }
      entryCount += 1
    }

    func objects(_ value: UniqueKey.Part, where isPending: (ManagedObject) -> Bool) -> [ManagedObject] {
      switch buckets[value] {
      case nil: return []
      case .one(let object): return isPending(object) ? [object] : []
      case .several(let list):
        var seen: Set<ObjectIdentifier> = []
        return list.objects.filter { isPending($0) && seen.insert(ObjectIdentifier($0)).inserted }
      }
    }
  }

  /// A few: they are searched one by one.
  private var tables: [(key: Key, table: Table)] = []
  private var changed: ContiguousArray<ManagedObject> = []
  /// The version that the changed objects are based on.
  private weak var version: NodeVersion?
  private static let tableLimit = 16
  /// The number of objects in the tables whose changes have been saved or discarded.
  private var staleCount = 0

  func noteChange(of object: ManagedObject) { changed.append(object) }

  /// The new and changed objects that have a value in a property, and possibly others of the hierarchy.
  func objects(
    with value: UniqueKey.Part, _ property: Int, root: EntityPlan, _ context: ManagedObjectContext,
    _ version: NodeVersion
  ) -> [ManagedObject] {
    update(context, version)
    let key = Key(model: root.modelID, root: root.index, property: property)
    func found(_ table: Table) -> [ManagedObject] { table.objects(value) { Self.isPending($0, context) } }
    if let known = tables.first(where: { $0.key == key }) { return found(known.table) }
    if tables.count >= Self.tableLimit { tables = [] }
    var table = Table()
    for list in [context.inserted, context.updated] {
      for object in list {
        object.flags.insert(.indexed)
        if let value = currentValue(of: object, key) { table.add(object, value) }
      }
    }
    tables.append((key, table))
    return found(table)
  }

  private static func isPending(_ object: ManagedObject, _ context: ManagedObjectContext) -> Bool {
    object.context === context && !object.flags.isDisjoint(with: [.inserted, .updated])
      && !object.flags.contains(.deleted)
  }

  private func update(_ context: ManagedObjectContext, _ version: NodeVersion) {
    let journals = [context.inserted.takeJournal(), context.updated.takeJournal()]
    guard self.version === version, let inserted = journals[0], let updated = journals[1] else {
      tables = []
      changed = []
      self.version = version
      return
    }
    for objects in [inserted, updated, changed] {
      for object in objects {
        guard Self.isPending(object, context) else {
          object.flags.remove(.indexed)
          // Its entries keep it alive until the tables are rebuilt.
          staleCount += 1
          continue
        }
        object.flags.insert(.indexed)
        for place in tables.indices {
          if let value = currentValue(of: object, tables[place].key) { tables[place].table.add(object, value) }
        }
      }
    }
    changed = []
    let limit = 2 * (context.inserted.count + context.updated.count) + 64
    tables.removeAll { $0.table.entryCount > limit }
    if staleCount > 1024 {
      tables = []
      staleCount = 0
    }
  }

  private func currentValue(of object: ManagedObject, _ key: Key) -> UniqueKey.Part? {
    let plan = object.plan
    guard plan.root == key.root, plan.modelID == key.model, key.property < plan.properties.count else { return nil }
    let property = plan.properties[key.property]
    guard property.slot >= 0, property.attributeType != nil else { return nil }
    let value = object.storedValue(key.property)
    return value.isNull ? nil : UniqueKey.Part(value)
  }
}

extension ManagedObjectContext {
  /// The objects with changes that have a value in a property now, from the table that the context keeps.
  func pendingObjects(
    with value: StoredValue, _ property: Int, root: EntityPlan, _ version: NodeVersion
  ) -> [ManagedObject] {
    let values = fetchState.pendingValues as? PendingValues ?? PendingValues()
    fetchState.pendingValues = values
    return values.objects(with: UniqueKey.Part(value), property, root: root, self, version)
  }
}
