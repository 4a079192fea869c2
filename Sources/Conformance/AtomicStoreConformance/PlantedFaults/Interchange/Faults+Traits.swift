import AtomicStoreSPI
import Glibc
import StoreCoordination

/// Stores that are better than they say, and stores that talk.
extension Faults {
  static let traits: [Fault] = [
    lie("deniesOrder", "says that it keeps no order, and keeps it") { $0.keepsOrder = false },
    lie("deniesEmpty", "says that it has no empty texts, and has") { $0.keepsNilApartFromEmpty = false },
    lie("deniesDecimals", "says that it does not keep all digits of decimals, and keeps them") {
      $0.keepsDecimals = false
    },
    lie("deniesMetadata", "says that it keeps no metadata, and keeps them") { $0.keepsMetadata = false },
    lie("deniesIdentity", "says that it keeps no UUID, and keeps it") { $0.keepsIdentity = false },
    lie("deniesModel", "says that it needs a model, and needs none") { $0.isSelfDescribing = false },
    lie("deniesEntities", "says that it holds one entity, and holds more") { $0.maximumEntities = 1 },
    lie("deniesReferences", "says that its references are numbers, and keeps texts too") {
      $0.references = .integersOnly
    },
    lie("declaresOtherLayout", "says file for folder and folder for file") {
      $0.layout = $0.layout == .file ? .folder : .file
    },
    lie("deniesWriting", "says that it cannot write, and writes") { $0.canWrite = false },
    Fault("refusesExistingStores", "refuses to save a store that is there already") { hooks in
      hooks.beforeSave = { _, configuration throws(PersistentStoreError) in
        guard Files.read(configuration.path)?.isEmpty == false || Files.isFolder(configuration.path) else { return }
        throw PersistentStoreError(.notSupported, "\(StoreTraits.changeRefusal)")
      }
    },
    again("refusesNewStores", "says that it writes new stores, and refuses those too") { hooks in
      hooks.beforeSave = { _, _ throws(PersistentStoreError) in
        throw PersistentStoreError(.notSupported, "\(StoreTraits.changeRefusal)")
      }
    },
    again("losesWhatItWritesWhole", "says that it only writes new stores, and leaves out their texts") { hooks in
      hooks.savedValue = { value, type in type == .string ? .null : value }
    },
    again("touchesWhatItRefuses", "writes into a store that it says it does not change") { hooks in
      hooks.willRemove = { configuration in
        guard !configuration.isReadOnly, let bytes = Files.read(configuration.path) else { return }
        Files.write(bytes + [UInt8(ascii: "\n")], to: configuration.path)
      }
    },
    again("leavesFilesWhereItRefuses", "leaves a file beside a store that it says it does not change") { hooks in
      hooks.initialize = { configuration in
        if Files.exists(configuration.path) { Files.write([1], to: configuration.path + "~") }
      }
    },
    again("savesWhatItRefuses", "is called for a save that its traits refuse") { hooks in
      hooks.calls = { $0 + [SpyCall(what: .save)] }
    },
    partial("refusesToLeaveOut", "says that it leaves properties out, and refuses a store that has them") {
      () throws(PersistentStoreError) in
      throw PersistentStoreError(.modelMismatch, "the store has a property that the model does not have")
    },
    partial("leavesObjectsOut", "leaves the objects out with the properties") {},
    promising("refusesPromisedValues", "says which UUIDs it keeps, and refuses all") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        let nodes = snapshot.nodes
        for entity in nodes.model.entities where entity.slots.contains(where: { $0.attributeType == .uuid }) {
          guard nodes.count(of: entity.index) == 0 else {
            throw PersistentStoreError(.unsupportedByFormat, "this format has no UUIDs")
          }
        }
      }
    },
    promising("dropsPromisedValues", "says which UUIDs it keeps, and leaves them out") { hooks in
      hooks.savedValue = { value, type in type == .uuid ? .null : value }
    },
    Fault("writesTrustedHashes", "gives a store of an inferred model hashes that Core Data trusts") { hooks in
      hooks.traits = { traits in traits.trustedHashes = .ofKnownModels }
      hooks.metadata = { metadata, _ in
        metadata.entries[VersionHashes.metadataKey] = .dictionary(PropertyListDictionary())
      }
    },
    Fault("losesInferredHashes", "leaves out version hashes that no program trusts") { hooks in
      hooks.traits = { traits in traits.trustedHashes = .no }
      hooks.metadata = { metadata, _ in metadata.entries[VersionHashes.metadataKey] = nil }
    },
    Fault("refusesEmptyRequired", "refuses a required to-many that is empty") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        let nodes = snapshot.nodes
        for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
          for slot in entity.slots where slot.isToMany && !slot.isOptional {
            for node in nodes.handles(of: entity.index) where nodes.value(slot: slot.index, of: node).isEmptyList {
              throw PersistentStoreError(.invalidValue, "an object is needed")
            }
          }
        }
      }
    },
    Fault("talksOnStandardOutput", "says on standard output that it saves") { hooks in
      hooks.beforeSave = { _, _ in _ = write(1, "saving\n", 7) }
    },
    Fault("closesStandardOutput", "closes standard output at a save") { hooks in hooks.beforeSave = { _, _ in close(1) }
    },
  ]

  /// A fault of a store that says it writes new stores and does not change any.
  private static func again(_ name: String, _ text: String, _ set: (inout FaultHooks) -> Void) -> Fault {
    Fault(name, text) { hooks in
      hooks.traits = { traits in traits.writes = .newOnly }
      set(&hooks)
    }
  }

  /// A fault of a store that says it reads some properties without the others: what it does instead.
  private static func partial(
    _ name: String, _ text: String, _ load: @escaping @Sendable () throws(PersistentStoreError) -> Void
  ) -> Fault {
    Fault(name, text) { hooks in
      hooks.traits = { traits in traits.leavesOutProperties = true }
      hooks.load = { _, nodes throws(PersistentStoreError) in
        guard nodes.wholeModel != nil else { return false }
        try load()
        return true
      }
    }
  }

  /// A fault of a store that says it has no UUIDs and keeps them all the same.
  private static func promising(_ name: String, _ text: String, _ set: (inout FaultHooks) -> Void) -> Fault {
    Fault(name, text) { hooks in
      hooks.traits = { traits in
        traits.unsupportedTypes = ["UUID"]
        traits.keptValue = { value, _ in value }
      }
      set(&hooks)
    }
  }

  static func lie(_ name: String, _ text: String, _ change: @escaping @Sendable (inout StoreTraits) -> Void) -> Fault {
    Fault(name, text) { hooks in
      hooks.traits = { traits in change(&traits) }
    }
  }
}

extension StoredValue {
  /// Whether it is a to-many without objects.
  fileprivate var isEmptyList: Bool {
    if case .toMany(let list) = self { list.isEmpty } else { isNull }
  }
}
