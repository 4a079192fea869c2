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

  /// The values of one property in all entities of a hierarchy.
  private struct Table {
    var objects: [UniqueKey.Part: [ManagedObject]] = [:]
    var values: [ObjectIdentifier: UniqueKey.Part] = [:]

    /// - Parameter value: The object's current value; nil if it is not searchable.
    mutating func set(_ value: UniqueKey.Part?, of object: ManagedObject) {
      let old = values[ObjectIdentifier(object)]
      // Usually another property changed: do not search the list of objects that share a value.
      if old == value { return }
      if let old {
        objects[old]?.removeAll { $0 === object }
        if objects[old]?.isEmpty == true { objects[old] = nil }
      }
      values[ObjectIdentifier(object)] = value
      if let value { objects[value, default: []].append(object) }
    }
  }

  private var tables: [Key: Table] = [:]
  private var changed: ContiguousArray<ManagedObject> = []
  /// The version that the changed objects are based on.
  private weak var version: NodeVersion?
  private static let tableLimit = 16

  func noteChange(of object: ManagedObject) { changed.append(object) }

  /// The new and changed objects that have a value in a property, and possibly others of the hierarchy.
  func objects(
    with value: UniqueKey.Part, _ property: Int, root: EntityPlan, _ context: ManagedObjectContext,
    _ version: NodeVersion
  ) -> [ManagedObject] {
    update(context, version)
    let key = Key(model: root.modelID, root: root.index, property: property)
    if tables[key] == nil {
      if tables.count >= Self.tableLimit { tables = [:] }
      tables[key] = Table()
      for list in [context.inserted, context.updated] {
        for object in list {
          context.objectsAskedByFetches += 1
          object.flags.insert(.indexed)
          tables[key]?.set(currentValue(of: object, key), of: object)
        }
      }
    }
    return tables[key]?.objects[value] ?? []
  }

  private func update(_ context: ManagedObjectContext, _ version: NodeVersion) {
    let journals = [context.inserted.takeJournal(), context.updated.takeJournal()]
    guard self.version === version, let inserted = journals[0], let updated = journals[1] else {
      tables = [:]
      changed = []
      self.version = version
      return
    }
    let keys = Array(tables.keys)
    for objects in [inserted, updated, changed] {
      for object in objects {
        context.objectsAskedByFetches += 1
        let isPending =
          object.context === context && !object.flags.isDisjoint(with: [.inserted, .updated])
          && !object.flags.contains(.deleted)
        if isPending { object.flags.insert(.indexed) } else { object.flags.remove(.indexed) }
        for key in keys { tables[key]?.set(isPending ? currentValue(of: object, key) : nil, of: object) }
      }
    }
    changed = []
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
  func forgetPendingValues() {
    pendingValues = nil
    inserted.endJournal()
    updated.endJournal()
  }
}
