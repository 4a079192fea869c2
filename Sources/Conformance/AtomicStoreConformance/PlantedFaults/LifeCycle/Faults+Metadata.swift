import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

extension Faults {
  static let metadata: [Fault] = [
    Fault("metadataOnlyAfterLoad", "reports a UUID before the load that is not the one of the file") { hooks in
      let isLoaded = Notebook(false)
      hooks.load = { _, _ in
        isLoaded.set(true)
        return false
      }
      hooks.metadata = { metadata, _ in if !isLoaded.value { metadata.uuid = UUID() } }
    },
    Fault("constantUUID", "gives every store the same UUID") { hooks in
      hooks.saved = { $0.metadata.uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16)) }
    },
    Fault("newUUIDEachOpen", "makes a UUID each time it is asked") { hooks in
      hooks.metadata = { metadata, _ in metadata.uuid = UUID() }
    },
    Fault("uuidChangesAtFirstSave", "makes another UUID for the first save of a new store") { hooks in
      let wasRead = Notebook(false)
      hooks.metadata = { metadata, _ in wasRead.set(true) }
      hooks.saved = { if !wasRead.value { $0.metadata.uuid = UUID() } }
    },
    Fault("dropsCustomMetadata", "writes type and UUID, and no other metadata") { hooks in
      hooks.saved = { $0.metadata.entries = PropertyListDictionary() }
    },
    Fault("staticWriteDropsData", "writes the objects without their texts where metadata was set") { hooks in
      let read = Notebook<PropertyListDictionary?>(nil)
      hooks.metadata = { metadata, _ in read.set(metadata.entries) }
      hooks.saved = { snapshot throws(PersistentStoreError) in
        guard let old = read.value, old != snapshot.metadata.entries else { return }
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          for slot in entity.slots where slot.attribute?.type == .string {
            try nodes.set(.null, slot: slot.index, of: node)
          }
        }
      }
    },
    Fault("staticReadCreatesFile", "makes a file beside a store whose metadata is asked for") { hooks in
      hooks.initialize = { configuration in
        if configuration.isReadOnly { Files.write([], to: configuration.path + ".info") }
      }
    },
    Fault("metadataLostWithoutChanges", "writes the metadata that was read where no object changed") { hooks in
      let read = Notebook<PropertyListDictionary?>(nil)
      let hasChanges = Notebook(false)
      hooks.metadata = { metadata, _ in read.set(metadata.entries) }
      hooks.newObject = { object, _ in hasChanges.set(true) }
      hooks.updatedObject = hooks.newObject
      hooks.saved = { snapshot in if !hasChanges.value, let old = read.value { snapshot.metadata.entries = old } }
    },
    Fault("dropsVersionHashes", "leaves out the metadata about the model’s version") { hooks in
      hooks.saved = { snapshot in
        for key in snapshot.metadata.entries.keys where key.hasPrefix("NSStoreModelVersion") {
          snapshot.metadata.entries[key] = nil
        }
      }
    },
    Fault("metadataNamespaceClash", "keeps no metadata that is named as an attribute is") { hooks in
      hooks.saved = { snapshot in
        for entity in snapshot.nodes.model.entities {
          for slot in entity.slots { snapshot.metadata.entries[slot.name] = nil }
        }
      }
    },
    Fault("metadataNonAtomic", "writes into the file that is there", mistakes: Int32(CSF_RENAME_BY_COPY.rawValue)),
  ]
}
