import AtomicStoreSPI
import CStoreFaults
import FoundationEssentials
import Glibc
import Synchronization

extension Faults {
  private static func calls(_ name: String, _ text: String, _ mistake: csf_mistake) -> Fault {
    Fault(name, text, mistakes: Int32(mistake.rawValue))
  }

  /// What a store that puts its writing off would still have to write.
  private static let putOff = Mutex<StoreSnapshot?>(nil)

  /// The store that was opened last.
  private static let openPath = Mutex("")

  static let saving: [Fault] = [
    Fault("writesElsewhere", "keeps a copy of what it saves in another folder") { hooks in
      hooks.beforeSave = { _, configuration throws(PersistentStoreError) in
        let folder = URL(fileURLWithPath: configuration.path).deletingLastPathComponent().path
        Files.write([1], to: URL(fileURLWithPath: folder).deletingLastPathComponent().path + "/elsewhere.cache")
      }
    },
    Fault("metadataInSecondWrite", "leaves metadata for a second step that comes too late") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in snapshot.metadata.entries = PropertyListDictionary() }
    },
    calls("inPlaceEdit", "copies into the store instead of renaming", CSF_RENAME_BY_COPY),
    calls("ignoresWriteResult", "takes a write that failed for one that succeeded", CSF_IGNORE_WRITE_ERROR),
    calls("renameWithoutFsync", "never syncs", CSF_DROP_SYNC),
    calls("ignoresFsyncError", "takes a sync that failed for one that succeeded", CSF_IGNORE_SYNC_ERROR),
    calls("noDirectoryFsync", "never syncs folders", CSF_DROP_FOLDER_SYNC),
    calls("assumesFullWrite", "takes a short write for a whole one", CSF_ASSUME_FULL_WRITE),
    calls("leavesTempOnError", "never removes a file", CSF_KEEP_TEMPORARY),
    calls("resetsMode", "leaves new files with the mode that they were made with", CSF_RESET_MODE),
    calls("genericError", "tells every error as one", CSF_GENERIC_ERROR),
    calls("perFileAtomicOnly", "puts a folder in place file by file", CSF_FOLDER_BY_FILES),
    Fault("timestampInBytes", "writes the time into the file") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        snapshot.metadata.entries["saved"] = .string("\(ContinuousClock.now)")
      }
    },
    Fault("hashOrderOutput", "writes a list in the order of a set") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        snapshot.metadata.entries["order"] = .array((0..<200).map { PropertyListValue.string("entry \($0)") }.shuffled())
      }
    },
    Fault("driftsEachSave", "counts its saves in the file") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        snapshot.metadata.entries["saves"] = .integer(Int128((snapshot.metadata.entries["saves"]?.integerValue ?? 0) + 1))
      }
    },
    Fault("deferredWrite", "writes what the save before had to write") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        let now = snapshot
        if let before = putOff.withLock({ $0 }), before.metadata.uuid == now.metadata.uuid { snapshot = before }
        putOff.withLock { $0 = now }
      }
    },
    Fault("resurrectsOldPath", "makes the folder that is missing") { hooks in
      hooks.initialize = { configuration throws(PersistentStoreError) in openPath.withLock { $0 = configuration.path } }
      hooks.updatedObject = { object, _ in
        let path = openPath.withLock { $0 }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        if !path.isEmpty, !Files.exists(folder) {
          Files.makeFolder(folder)
          Files.write([1], to: path)
        }
        return object
      }
    },
  ]
}
