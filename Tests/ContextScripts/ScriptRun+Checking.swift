import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats

extension ScriptRun {
  /// Reads the file again and compares both ends of everything in it.
  @discardableResult
  func checkFile() throws -> NodeTable {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: ScriptModel.model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: script.setup.type, at: path, isReadOnly: true)
    let nodes = try store.nodesWithDeferredValues()
    for entity in ScriptModel.model.entities where !entity.isAbstract {
      for node in nodes.handles(of: entity.index) {
        for relationship in relationships(of: entity.name) {
          guard let inverse = relationship.inverseName else { continue }
          for other in Self.references(nodes.value(forKey: relationship.name, of: node)) {
            guard let partner = nodes.handle(for: other) else {
              throw Wrong(description: "\(other) is not in the file")
            }
            let back = Self.references(nodes.value(forKey: inverse, of: partner))
            guard back.contains(where: { nodes.handle(for: $0) == node }) else {
              throw Wrong(
                description: "in the file \(nodes.objectReference(of: node)).\(relationship.name) names \(other), "
                  + "whose \(inverse) does not name it")
            }
          }
        }
      }
    }
    return nodes
  }

  /// All objects and values by the names of the script, the same for equal graphs of stores of all types.
  func text(of nodes: NodeTable) -> String {
    var lines: [String] = []
    for entity in ScriptModel.model.entities where !entity.isAbstract {
      for node in nodes.handles(of: entity.index) {
        var line = "\(name(of: nodes.objectReference(of: node))) n=\(nodes.value(forKey: "n", of: node) ?? .null)"
        for relationship in relationships(of: entity.name) {
          var names = Self.references(nodes.value(forKey: relationship.name, of: node)).map { self.name(of: $0) }
          if !relationship.isOrdered { names.sort() }
          if !names.isEmpty { line += " \(relationship.name)=\(names.joined(separator: ","))" }
        }
        lines.append(line)
      }
    }
    return lines.sorted().joined(separator: "; ")
  }

  static func references(_ value: StoredValue?) -> [ObjectReference] {
    switch value {
    case .toOne(let reference)?: [reference]
    case .toMany(let references)?: references
    default: []
    }
  }

  /// Compares both ends of everything that a context has read. Faults stay faults.
  func checkContext(_ context: ManagedObjectContext) throws {
    context.processPendingChanges()
    func isRead(_ object: ManagedObject) -> Bool {
      object.managedObjectContext === context && !object.isFault && !object.isDeleted
    }
    for object in context.registeredObjects where isRead(object) {
      for relationship in relationships(of: object.entity.name) {
        guard let inverse = relationship.inverseName else { continue }
        for other in try object.objects(forRelationshipNamed: relationship.name) where isRead(other) {
          guard try !other.objects(forRelationshipNamed: inverse).contains(object) else { continue }
          throw Wrong(
            description: "in context \(context.name ?? "") \(name(of: object.objectID)).\(relationship.name) has "
              + "\(name(of: other.objectID)), whose \(inverse) does not have it")
        }
      }
    }
  }

  /// What was taken over names nothing that the context itself deletes, and inserts are reported as inserts.
  func checkMerged(_ context: ManagedObjectContext, _ changes: [ObjectIDChanges]) throws {
    for id in Set(changes.flatMap(\.updated)) {
      guard let object = context.registeredObject(for: id), !object.isFault, !object.isDeleted else { continue }
      for relationship in relationships(of: object.entity.name) where relationship.inverseName != nil {
        guard let destination = ScriptModel.model.entity(named: relationship.destinationEntityName),
          case .relationship(let inverse)? = destination.properties.first(where: { $0.name == relationship.inverseName }
          ),
          inverse.deleteRule != .noAction, inverse.deleteRule != .deny
        else { continue }
        for other in try object.objects(forRelationshipNamed: relationship.name) where other.isDeleted {
          throw Wrong(
            description:
              "after a merge \(name(of: id)).\(relationship.name) names \(name(of: other.objectID)), which is deleted here"
          )
        }
      }
    }
  }
}

/// What a save promises, taken before it: the values of each object that the context changed, by the merge policy.
struct SavePromise {
  private struct Value {
    let reference: ObjectReference
    let property: String
    let value: StoredValue
    let why: String
  }
  private var values: [Value] = []

  init(_ context: ManagedObjectContext) {
    context.processPendingChanges()
    let policy = context.mergePolicy
    var contested: Set<ManagedObjectID> = []
    let conflicts = context.conflicts()
    let staying = Self.objectsThatStay(conflicts, policy)
    for conflict in conflicts {
      contested.insert(conflict.objectID)
      guard !conflict.isDeletedHere, let persisted = conflict.persistedSnapshot else { continue }
      for slot in ScriptModel.model.entity(named: conflict.objectID.entityName)?.slots ?? [] where !slot.isToMany {
        let here = conflict.keysChangedHere.contains(slot.name)
        let there = conflict.keysChangedInStore.contains(slot.name)
        let takesStore =
          switch policy {
          case .error, .rollback: true
          case .mergeByPropertyStoreTrump: there || !here
          case .mergeByPropertyObjectTrump: !here
          case .overwrite: !here && !there
          }
        // A one-to-one is the partner's as well, whom the policy may have decided otherwise about.
        let isSettled = policy == .rollback || policy == .mergeByPropertyStoreTrump && there
        if !isSettled, Self.isOneToOne(slot) { continue }
        // A to-one that was not changed here follows what was changed at the other end.
        if policy == .mergeByPropertyObjectTrump, !here, slot.relationship?.inverseName != nil { continue }
        // What was cut by the deletion of an object that comes to stay is joined again.
        if !takesStore, conflict.objectSnapshot[slot.name] == nil || conflict.objectSnapshot[slot.name] == .null,
          case .toOne(let owner)? = persisted[slot.name], staying.contains(owner)
        {
          note(conflict.objectID, slot, .toOne(owner), "deletion undone, \(policy)")
          continue
        }
        // What is new here has no reference before the save.
        if !takesStore, slot.isRelationship, Self.leadsToNewObject(conflict.objectID, slot.name, context) { continue }
        note(
          conflict.objectID, slot, (takesStore ? persisted : conflict.objectSnapshot)[slot.name], "conflict, \(policy)")
      }
    }
    for object in context.updatedObjects.union(context.insertedObjects) where !contested.contains(object.objectID) {
      for slot in object.entity.slots where !slot.isRelationship {
        note(
          object.objectID, slot, object["n"].map { _ in .integer(Int64(object["n"] as? Int ?? 0)) } ?? .null,
          "no conflict, \(policy)")
      }
    }
  }

  /// What is deleted here, changed in the store, and kept by the policy.
  private static func objectsThatStay(_ conflicts: [MergeConflict], _ policy: MergePolicy) -> Set<ObjectReference> {
    guard policy == .mergeByPropertyStoreTrump || policy == .rollback else { return [] }
    return Set(
      conflicts.compactMap { conflict in
        guard conflict.isDeletedHere, conflict.persistedSnapshot != nil, let reference = conflict.objectID.reference
        else { return nil }
        return ObjectReference(entityName: conflict.objectID.entityName, reference: reference)
      })
  }

  private static func isOneToOne(_ slot: Slot) -> Bool {
    guard let relationship = slot.relationship, let inverse = relationship.inverseName,
      let back = ScriptModel.model.entity(named: relationship.destinationEntityName)?.slots.first(where: {
        $0.name == inverse
      })
    else { return false }
    return !slot.isToMany && !back.isToMany
  }

  private static func leadsToNewObject(_ id: ManagedObjectID, _ key: String, _ context: ManagedObjectContext) -> Bool {
    guard let end = context.registeredObject(for: id)?[key] as? ManagedObject else { return false }
    return end.objectID.reference == nil
  }

  private mutating func note(_ id: ManagedObjectID, _ slot: Slot, _ value: StoredValue?, _ why: String) {
    guard let reference = id.reference else { return }
    values.append(
      Value(
        reference: ObjectReference(entityName: id.entityName, reference: reference), property: slot.name,
        value: value ?? .null, why: why))
  }

  func check(_ nodes: NodeTable, _ name: (ManagedObjectID?) -> String) throws {
    for entry in values {
      guard let node = nodes.handle(for: entry.reference) else { continue }
      let found = nodes.value(forKey: entry.property, of: node) ?? .null
      if found == entry.value { continue }
      // What was deleted meanwhile cannot be led to.
      if case .toOne(let wanted) = entry.value, nodes.handle(for: wanted) == nil { continue }
      throw ScriptRun.Wrong(
        description: "\(entry.reference).\(entry.property) is \(found), not \(entry.value) (\(entry.why))")
    }
  }
}
