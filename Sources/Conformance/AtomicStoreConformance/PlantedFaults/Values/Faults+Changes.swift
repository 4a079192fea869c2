import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  /// A mistake of the kit's own, as its calls would tell it.
  private static func calls(_ name: String, _ text: String, _ change: @escaping @Sendable ([SpyCall]) -> [SpyCall])
    -> Fault
  {
    Fault(name, text) { $0.calls = change }
  }

  static let changes: [Fault] = [
    calls("deletesBeforeInserts", "the kit removes nodes before it makes new ones") { calls in
      calls.filter { $0.what == .willRemove } + calls.filter { $0.what != .willRemove }
    },
    calls("nodeBeforeReference", "the kit makes nodes before it asks for references") { calls in
      calls.filter { $0.what == .newNode } + calls.filter { $0.what != .newNode }
    },
    Fault("newNodeEmpty", "makes nodes without values, and waits for an update") {
      $0.newObject = { object, model in
        var links = SlotValues()
        let slots = model.entity(at: object.entity).slots
        for (slot, value) in object.values where slots[slot].isRelationship || slots[slot].name != "weight" {
          links[slot] = value
        }
        object.values = links
      }
    },
    Fault("doubleRegistration", "registers a new node a second time, under another reference") {
      $0.newNode = { (object, node, nodes) throws(PersistentStoreError) in
        guard nodes.model.entity(at: object.entity).slots.contains(where: { $0.name == "weight" }),
          case .integer(let number) = nodes.reference(of: node)
        else { return }
        _ = try nodes.addCacheNode(entity: object.entity, reference: .integer(-number))
      }
    },
    calls("pairsWrongNode", "the kit pairs objects with other objects' nodes") { calls in
      calls.map { call in
        guard call.what == .update else { return call }
        return SpyCall(what: .update, objects: call.objects, problem: "the object is another one")
      }
    },
    Fault("updateIgnoresNil", "takes nothing for “unchanged”, where a value was") {
      $0.updatedObject = { object, model in
        var kept = SlotValues()
        for (slot, value) in object.values where !value.isNull || model.isRelationship(slot: slot, of: object.entity) {
          kept[slot] = value
        }
        object.values = kept
      }
    },
    Fault("updateSkipsRelationships", "updates attributes alone") {
      $0.updatedObject = { object, model in
        var kept = SlotValues()
        for (slot, value) in object.values where !model.isRelationship(slot: slot, of: object.entity) {
          kept[slot] = value
        }
        object.values = kept
      }
    },
    calls("updatesEverything", "the kit updates all nodes, changed or not") { calls in
      guard let save = calls.firstIndex(where: { $0.what == .save }), calls.contains(where: { $0.what == .update })
      else { return calls }
      var calls = calls
      calls.insert(SpyCall(what: .update, objects: ["Node/unchanged"]), at: save)
      return calls
    },
    Fault("persistsTransient", "writes what is transient into the metadata") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        let names = snapshot.nodes.model.description.entities.flatMap(\.properties).compactMap {
          (property: PropertyDescription) -> String? in
          if case .attribute(let attribute) = property, attribute.isTransient { attribute.name } else { nil }
        }
        // A store is never given such values: the one that checks use stands for them.
        if !names.isEmpty { snapshot.metadata.entries["transient"] = .string(Models.transientMarker) }
      }
    },
    calls("willRemoveAfterSave", "the kit reports nodes that go when the file is written") { calls in
      calls.filter { $0.what != .willRemove } + calls.filter { $0.what == .willRemove }
    },
    Fault("deletedNodeResurrected", "writes deleted objects again") {
      $0.removed = { removed, nodes in gone += removed.map { ($0.entity, nodes.reference(of: $0)) } }
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for (entity, reference) in gone where snapshot.nodes.handle(for: reference, entity: entity) == nil {
          _ = try snapshot.nodes.addCacheNode(entity: entity, reference: reference)
        }
        snapshot.nodes = try snapshot.nodes.canonical()
      }
    },
    Fault("ghostInsert", "writes an object for every reference that it gave out") {
      $0.newReference = { (object, _, metadata) throws(PersistentStoreError) in
        let reference = ReferenceObject.integer(metadata.lastReference + 1)
        metadata.lastReference += 1
        given.append((object.entity, reference))
        return reference
      }
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for (entity, reference) in given where snapshot.nodes.handle(for: reference, entity: entity) == nil {
          _ = try snapshot.nodes.addCacheNode(entity: entity, reference: reference)
        }
        snapshot.nodes = try snapshot.nodes.canonical()
      }
    },
    Fault("retainsDeletedNodes", "holds on to what hangs on nodes that are gone") {
      $0.removed = { removed, nodes in held += removed.compactMap { nodes.payload(of: $0) } }
    },
    Fault("writesForeignObjects", "writes the objects of all stores that are open into each") {
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        for (path, nodes) in written where path != configuration.path && nodes.model === snapshot.nodes.model {
          for entity in nodes.model.entities where !entity.isAbstract {
            for node in nodes.handles(of: entity.index) {
              let reference = nodes.reference(of: node)
              guard case .integer(let number) = reference else { continue }
              let copied = try snapshot.nodes.addCacheNode(
                entity: entity.index, reference: .integer(number + 1_000_000))
              for slot in entity.slots where !slot.isRelationship {
                try snapshot.nodes.set(nodes.value(slot: slot.index, of: node), slot: slot.index, of: copied)
              }
            }
          }
        }
        written[configuration.path] = snapshot.nodes
        snapshot.nodes = try snapshot.nodes.canonical()
      }
    },
    Fault("cacheAheadOfDisk", "adds what a failed save was to write to the next one again") {
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        if failing, let entity = snapshot.nodes.model.entities.first(where: { !$0.isAbstract }) {
          _ = try snapshot.nodes.addCacheNode(entity: entity.index, reference: .integer(9_000_000))
          snapshot.nodes = try snapshot.nodes.canonical()
        }
        failing = true
      }
      $0.afterSave = { (_, _) throws(PersistentStoreError) in failing = false }
    },
  ]

  // What faults remember. Each lives in one process of one check, which has one thread that touches the store.
  nonisolated(unsafe) private static var gone: [(Int, ReferenceObject)] = []
  nonisolated(unsafe) private static var given: [(Int, ReferenceObject)] = []
  nonisolated(unsafe) private static var held: [any Sendable] = []
  nonisolated(unsafe) private static var written: [String: NodeTable] = [:]
  nonisolated(unsafe) private static var failing = false
}
