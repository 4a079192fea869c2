import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

extension Faults {
  static let concurrency: [Fault] = [
    Fault("lostUpdate", "does not see that a file was replaced", mistakes: Int32(CSF_BLIND_TO_CHANGES.rawValue)),
    Fault("savesDeltaOnly", "writes what has changed to a new file where the old one is missing") { hooks in
      let missing = Notebook<String?>(nil)
      hooks.metadata = { metadata, source in missing.set(source.name) }
      hooks.updatedObject = { object, _ in
        if let path = missing.value, !Files.exists(path) { Files.write(Array("delta".utf8), to: path) }
      }
      hooks.removal = { configuration, _ in
        if missing.value != nil, !Files.exists(configuration.path) {
          Files.write(Array("delta".utf8), to: configuration.path)
        }
      }
    },
    Fault("removesOtherKind", "takes a folder away that is in its place") { hooks in
      hooks.removal = { configuration, _ in
        if Files.exists(configuration.path + "/note.txt") { Files.remove(configuration.path) }
      }
    },
    Fault("mixesValuesOfTwoSaves", "writes a number of the save before with the name of this one") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          guard let name = entity.slot(named: "name"), let slot = entity.slot(named: "number"),
            case .string(let text) = nodes.value(slot: name, of: node), text == "round 20"
          else { return }
          try nodes.set(.integer(1_019), slot: slot, of: node)
        }
      }
    },
    Fault("readerSeesTruncation", "writes into the file that is there", mistakes: Int32(CSF_RENAME_BY_COPY.rawValue)),
    Fault("staticScratchBuffer", "keeps what it wrote last in one place for all stores") { hooks in
      let last = Notebook<(store: UUID, name: StoredValue)?>(nil)
      hooks.saved = { snapshot throws(PersistentStoreError) in
        var isFirst = true
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          guard isFirst, let slot = entity.slots.first(where: { $0.attribute?.type == .string }) else { return }
          isFirst = false
          let name = nodes.value(slot: slot.index, of: node)
          if let other = last.value, other.store != snapshot.metadata.uuid {
            try nodes.set(other.name, slot: slot.index, of: node)
          }
          last.set((snapshot.metadata.uuid, name))
        }
      }
    },
    Fault("staleLockBlocks", "makes a lock file, and is blocked by one that was left") { hooks in
      hooks.initialize = { configuration throws(PersistentStoreError) in
        guard !configuration.isReadOnly, Files.exists(configuration.path) else { return }
        let lock = open(configuration.path + ".lock", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard lock >= 0 else { throw PersistentStoreError(.permissionDenied, "the store is locked") }
        close(lock)
      }
      hooks.removal = { configuration, _ in if !configuration.isReadOnly { unlink(configuration.path + ".lock") } }
    },
  ]
}
