import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let removal: [Fault] = [
    Fault("leavesReservation", "lets the file stay that holds the place of a store") { hooks in
      let made = Notebook<Set<String>>([])
      hooks.initialize = { configuration in
        if !Files.exists(configuration.path) { made.change { $0.insert(configuration.path) } }
      }
      hooks.removal = { configuration, _ in if made.value.contains(configuration.path) { recreate(configuration.path) }
      }
    },
    Fault("leavesReservationFromLoad", "lets a file stay beside a new store") { hooks in
      hooks.initialize = { configuration in
        if !Files.exists(configuration.path) { Files.write([], to: configuration.path + ".reserved") }
      }
    },
    Fault("deletesSavedStore", "deletes a store without objects when it goes") { hooks in
      let isEmpty = Notebook(false)
      hooks.saved = { isEmpty.set($0.nodes.count == 0) }
      hooks.removal = { configuration, _ in if isEmpty.value { Files.remove(configuration.path) } }
    },
    Fault("deletesCallersFile", "deletes an empty file when it goes, whose ever it is") { hooks in
      hooks.removal = { configuration, _ in
        if Files.content(configuration.path) == ["": []] { Files.remove(configuration.path) }
      }
    },
    Fault("deletesExisting", "deletes a store that it did not save when it is removed") { hooks in
      let isSaved = Notebook(false)
      hooks.beforeSave = { _, _ in isSaved.set(true) }
      hooks.removal = { configuration, hasCoordinator in
        if hasCoordinator, !isSaved.value, !configuration.isReadOnly { Files.remove(configuration.path) }
      }
    },
    Fault("noCleanupOnDealloc", "lets the file stay that holds a place where there is no coordinator") { hooks in
      let made = Notebook<Set<String>>([])
      hooks.initialize = { configuration in
        if !Files.exists(configuration.path) { made.change { $0.insert(configuration.path) } }
      }
      hooks.removal = { configuration, hasCoordinator in
        if !hasCoordinator, made.value.contains(configuration.path) { recreate(configuration.path) }
      }
    },
    Fault("deletesAfterFailedSave", "deletes the store when it goes after a save that failed") { hooks in
      let isSaving = Notebook(false)
      hooks.beforeSave = { _, _ in isSaving.set(true) }
      hooks.afterSave = { _, _ in isSaving.set(false) }
      hooks.removal = { configuration, _ in if isSaving.value { Files.remove(configuration.path) } }
    },
    Fault("deletesNonEmptyReservation", "deletes the file of an unsaved store when it goes, whatever is in it") {
      hooks in
      let made = Notebook<Set<String>>([])
      hooks.initialize = { configuration in
        if !Files.exists(configuration.path) { made.change { $0.insert(configuration.path) } }
      }
      hooks.beforeSave = { _, configuration in made.change { $0.remove(configuration.path) } }
      hooks.removal = { configuration, _ in
        if made.value.contains(configuration.path) { Files.remove(configuration.path) }
      }
    },
    Fault("staleStateAfterRemove", "cannot be added again after it was removed") { hooks in
      let removed = Notebook<Set<String>>([])
      hooks.removal = { configuration, hasCoordinator in
        if hasCoordinator { removed.change { $0.insert(configuration.path) } }
      }
      hooks.initialize = { configuration throws(PersistentStoreError) in
        if removed.value.contains(configuration.path) {
          throw PersistentStoreError(.internalInconsistency, "the store is still there")
        }
      }
    },
    Fault("storeLeaks", "keeps the file open for good") { hooks in
      hooks.initialize = { configuration in _ = open(configuration.path, O_RDONLY | O_CLOEXEC) }
    },
    Fault("reservationFollowsSymlink", "makes the file that holds its place without asking whether there is one") {
      hooks in
      hooks.initialize = { configuration in
        guard !Files.exists(configuration.path) else { return }
        close(open(configuration.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644))
      }
    },
    Fault("destroysUnrelatedFiles", "takes what else is in its directory away when it goes") { hooks in
      hooks.removal = { configuration, hasCoordinator in
        if !hasCoordinator { Files.remove(configuration.path + "/.control") }
      }
    },
    Fault("claimsUnrelatedFiles", "does not say which files in its directory are not its own") { hooks in
      // It reports what it skips to its own source.
      hooks.source = { source throws(PersistentStoreError) in
        guard source.isFolder else { return source }
        var members: [(name: String, bytes: [UInt8])] = []
        for name in source.memberNames {
          members.append((name, try source.bytes(ofMember: name).withUnsafeBytes { Array($0) }))
        }
        return StoreSource(members: members, name: source.name)
      }
    },
    Fault("destroyDeletesFolder", "takes files of like names away when it goes") { hooks in
      hooks.removal = { configuration, hasCoordinator in if hasCoordinator { Files.remove(configuration.path + ".bak") }
      }
    },
  ]

  /// Another empty file in the place of one.
  private static func recreate(_ path: String) {
    guard Files.content(path) == ["": []] else { return }
    // While the old one is there the new one is not given its number.
    rename(path, path + ".old")
    Files.write([], to: path)
    unlink(path + ".old")
  }
}
