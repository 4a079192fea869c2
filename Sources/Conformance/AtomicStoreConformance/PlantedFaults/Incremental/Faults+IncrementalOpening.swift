import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let incrementalOpening: [Fault] = [
    .incremental("inventsMetadata", "reports metadata for a place without a store") { hooks in
      hooks.metadata = { (configuration, found, failure) throws(PersistentStoreError) in
        if let failure { throw failure }
        if found == nil, configuration.isReadOnly { found = StoreMetadata(storeType: "Invented") }
      }
    },
    .incremental("newIdentifier", "makes up another identifier each time it is asked") { hooks in
      hooks.metadata = { (_, found, failure) throws(PersistentStoreError) in
        if let failure { throw failure }
        found?.uuid = UUID()
      }
    },
    .incremental("entriesLost", "creates stores without the user's entries") { hooks in
      hooks.create = { _, metadata, _ in metadata.entries = PropertyListDictionary() }
    },
    .incremental("setMetadataIgnored", "does not write metadata that is set alone") { $0.ignoresSetMetadata = true },
    .incremental("savedEntriesIgnored", "does not write metadata that is saved with objects") { hooks in
      hooks.saved = { _, changes in changes.metadataEntries = nil }
    },
    .incremental("createReplaces", "creates a store over one that is there") { hooks in
      hooks.create = { (target, _, _) throws(PersistentStoreError) in
        if try target.store.metadata() != nil { try target.store.destroy() }
      }
    },
    .incremental("destroyKeeps", "does not destroy what it is to destroy") { $0.destroy = { _ in } },
    .incremental("destroyOfNothingFails", "fails to destroy a store that is not there") { hooks in
      hooks.destroy = { (target) throws(PersistentStoreError) in
        guard try target.store.metadata() != nil else {
          throw PersistentStoreError(.notFound, "the store to destroy does not exist")
        }
        try target.store.destroy()
      }
    },
    .incremental("destroyLeavesFiles", "leaves a file behind when a store is destroyed") { hooks in
      hooks.destroy = { (target) throws(PersistentStoreError) in
        try target.store.destroy()
        Files.write([0], to: target.configuration.path + "-left")
      }
    },
    .incremental("ignoresReadOnly", "writes stores that were opened read-only") { hooks in
      hooks.configuration = { $0.isReadOnly = false }
    },
    .incremental("recognizesAnything", "takes every file for its own") { hooks in
      hooks.recognize = { _, _ in .yes }
    },
    .incremental("unreachableIsMissing", "says that there is no store where it cannot reach one") { hooks in
      hooks.metadata = { _, found, failure in if failure != nil { found = nil } }
    },
    .incremental("modelNotKept", "does not keep the model") { hooks in
      hooks.metadata = { (_, found, failure) throws(PersistentStoreError) in
        if let failure { throw failure }
        found?.model = nil
      }
    },
    .incremental("confusesNames", "takes attributes for one whose names look alike") { hooks in
      hooks.row = { row, model in
        let slots = model.entity(at: row.entity).slots
        for slot in slots {
          guard let other = slots.first(where: { $0.index < slot.index && $0.name == slot.name }) else { continue }
          row.values[slot.index] = row.values[other.index]
        }
      }
    },
  ]
}
