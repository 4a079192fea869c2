import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let loading: [Fault] = [
    Fault("loadReturnsTrueAndNothing", "loads nothing of a model of several entities, and says that all is well") {
      hooks in
      hooks.load = { _, nodes in nodes.model.entities.count > 1 }
    },
    Fault("idUsesRootEntity", "writes objects as ones of the entity at the top") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        var moved = false
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          guard entity.root.index != entity.index, !entity.root.isAbstract else { return }
          let reference = nodes.reference(of: node)
          let values = entity.root.slots.filter { $0.attribute != nil }.map {
            ($0.index, nodes.value(slot: $0.index, of: node))
          }
          nodes.remove(node)
          let new = try nodes.addCacheNode(entity: entity.root.index, reference: reference)
          for (slot, value) in values { try nodes.set(value, slot: slot, of: new) }
          moved = true
        }
        if moved { snapshot.nodes = try snapshot.nodes.canonical() }
      }
    },
    Fault("nodeIDDiffersFromObjectID", "renumbers the nodes that are added to a store with objects") { hooks in
      let isSecond = Notebook(false)
      hooks.newReference = { _, nodes, _ in
        isSecond.set(nodes.count > 0)
        return nil
      }
      hooks.newObject = { object, _ in
        guard isSecond.value, case .integer(let number) = object.reference else { return }
        object.reference = .integer(number + 1000)
      }
    },
    Fault("sharedCache", "sets a value on the next object too") { hooks in
      let changed = Notebook<[ManagedObjectSnapshot]>([])
      hooks.updatedObject = { object, _ in changed.change { $0.append(object) } }
      hooks.saved = { snapshot throws(PersistentStoreError) in
        for object in changed.value {
          for node in snapshot.nodes.handles(of: object.entity).prefix(2) {
            for slot in object.values.slots where !snapshot.nodes.model.isRelationship(slot: slot, of: object.entity) {
              if let value = object.values[slot] { try snapshot.nodes.set(value, slot: slot, of: node) }
            }
          }
        }
        changed.set([])
      }
    },
    Fault("immutableCache", "does not set an object’s values a second time") { hooks in
      let changed = Notebook<Set<String>>([])
      hooks.updatedObject = { object, _ in
        let name = "\(object.entity)/\(object.reference.map(\.description) ?? "")"
        if changed.value.contains(name) {
          object = ManagedObjectSnapshot(entity: object.entity, reference: object.reference)
        }
        changed.change { $0.insert(name) }
      }
    },
    Fault("forgetsToRegister", "leaves out what remains after the last whole batch of 256") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        var removed = false
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          let all = snapshot.nodes.handles(of: entity.index)
          guard all.count > 256 else { continue }
          for node in all.suffix(all.count % 256) { snapshot.nodes.remove(node) }
          removed = true
        }
        if removed { snapshot.nodes = try snapshot.nodes.canonical() }
      }
    },
    Fault("renumbersDuplicates", "gives an object another reference where the file has one twice") { hooks in
      hooks.source = { source throws(PersistentStoreError) in
        guard !source.isFolder else { return source }
        let bytes = try source.bytes().withUnsafeBytes { Array($0) }
        let mark = Array("id=\"z".utf8)
        var seen: Set<[UInt8]> = []
        var result = bytes
        var place = 0
        while place + mark.count < bytes.count {
          guard bytes[place] == mark[0], bytes[place..<place + mark.count].elementsEqual(mark) else {
            place += 1
            continue
          }
          place += mark.count
          let digits = Array(bytes[place...].prefix { $0 != .quote })
          if !seen.insert(digits).inserted, let last = digits.last {
            result[place + digits.count - 1] = last == UInt8(ascii: "9") ? UInt8(ascii: "0") : last + 1
          }
        }
        return StoreSource(bytes: result, name: source.name)
      }
    },
    Fault("loadTwiceDoubles", "keeps an object of an earlier load of the same file") { hooks in
      let loads = Notebook<[String: Int]>([:])
      hooks.load = { source, nodes throws(PersistentStoreError) in
        let count = loads.value[source.name] ?? 0
        loads.change { $0[source.name] = count + 1 }
        // Two stores of one file are two loads.
        guard count > 1 else { return false }
        for entity in nodes.model.entities.prefix(1) {
          try nodes.beginNode(entity: entity.index, reference: Int64(1_000_000 + count))
        }
        return false
      }
    },
    Fault("kvcMissesInherited", "writes no values of properties that an entity inherits") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          guard entity.root.index != entity.index else { return }
          for slot in entity.root.slots where slot.attribute != nil { try nodes.set(.null, slot: slot.index, of: node) }
        }
      }
    },
    Fault("swallowsLoadError", "goes on with what it has where a load fails") { $0.swallowsLoadErrors = true },
    Fault("partialLoad", "keeps something of a load that failed for the next one") { hooks in
      let failed = Notebook(false)
      hooks.loadFailed = { _ in failed.set(true) }
      hooks.metadata = { metadata, _ in if failed.value { metadata.lastReference += 1 } }
      hooks.load = { _, nodes throws(PersistentStoreError) in
        if failed.value {
          for entity in nodes.model.entities.prefix(1) {
            try nodes.beginNode(entity: entity.index, reference: 1_000_000)
          }
        }
        return false
      }
    },
    Fault("forwardReferencesDropped", "writes no relationship to an object that comes later") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          for slot in entity.slots where slot.relationship != nil {
            guard case .toOne(let target) = nodes.value(slot: slot.index, of: node),
              let other = nodes.handle(for: target),
              other.entity == node.entity, other.row > node.row
            else { continue }
            try nodes.set(.null, slot: slot.index, of: node)
          }
        }
      }
    },
  ]
}
