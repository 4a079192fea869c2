import AtomicStoreSPI
import FoundationEssentials

/// What only shows over several sessions.
extension Faults {
  static let sessions: [Fault] = [
    Fault("valuesByPosition", "takes the properties of the model for those of its file, one after the other") { hooks in
      let file = Notebook<ModelDescription?>(nil)
      hooks.metadata = { metadata, _ in file.set(metadata.model) }
      hooks.loaded = { (result, builder) throws(PersistentStoreError) in
        let nodes = try result.get()
        var moved = nodes
        if let model = file.value.flatMap({ try? ManagedObjectModel($0) }) {
          try eachNode(of: &moved) { moved, node, entity throws(PersistentStoreError) in
            guard let written = model.entity(named: entity.name), written.slots.count == entity.slots.count else {
              return
            }
            for (slot, old) in zip(entity.slots, written.slots) {
              guard let type = slot.attributeType, type == old.attributeType, let place = entity.slot(named: old.name)
              else { continue }
              try moved.set(nodes.value(slot: place, of: node), slot: slot.index, of: node)
            }
          }
        }
        try copy(moved, into: builder)
      }
    },
    Fault("firstMetadataKept", "writes the metadata of a process's first save with the others") { hooks in
      let first = Notebook<PropertyListDictionary?>(nil)
      hooks.saved = { snapshot in
        if first.value == nil { first.set(snapshot.metadata.entries) }
        snapshot.metadata.entries = first.value ?? snapshot.metadata.entries
      }
    },
    Fault("firstModelKept", "writes the model that it read, whatever the store is opened with") { hooks in
      let read = Notebook<ModelDescription?>(nil)
      hooks.metadata = { metadata, _ in read.set(metadata.model) }
      hooks.saved = { snapshot in snapshot.metadata.model = read.value ?? snapshot.metadata.model }
    },
    Fault("uuidNewWhenEmpty", "takes a store without objects for a new one") { hooks in
      let wasRead = Notebook(false)
      hooks.metadata = { _, _ in wasRead.set(true) }
      hooks.saved = { snapshot in if wasRead.value, snapshot.nodes.count == 0 { snapshot.metadata.uuid = UUID() } }
    },
    Fault("largeTextsLostInFifthSave", "writes no text of more than 100,000 bytes in the fifth save of a process") {
      hooks in
      let tally = Tally()
      hooks.saved = { snapshot throws(PersistentStoreError) in
        guard tally.next() == 5 else { return }
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          for slot in entity.slots {
            guard case .string(let text) = nodes.value(slot: slot.index, of: node), text.utf8.count > 100_000 else {
              continue
            }
            try nodes.set(.null, slot: slot.index, of: node)
          }
        }
      }
    },
    // An entry of metadata, since formats may write at least the greatest reference that is in use.
    Fault("lastReferenceLate", "writes the last reference one save late") { hooks in
      let known = Notebook<Int64?>(nil)
      hooks.metadata = { metadata, _ in
        guard case .integer(let late)? = metadata.entries["late"] else { return }
        metadata.entries["late"] = nil
        metadata.lastReference = Int64(late)
        known.set(metadata.lastReference)
      }
      hooks.saved = { snapshot in
        let last = snapshot.metadata.lastReference
        snapshot.metadata.entries["late"] = .integer(Int128(known.value ?? last))
        known.set(last)
      }
    },
    Fault("lastReferenceIn32Bits", "writes 32 bits of the last reference") { hooks in
      hooks.saved = { snapshot in snapshot.metadata.lastReference &= 0xFFFF_FFFF }
    },
  ]
}
