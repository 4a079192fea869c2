import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What saves do wrong. The kit writes in a format's stead: then the fault does to the file what a format of that kind
/// would, and gives it back its time of change, so that no one sees that it was there.
extension Faults {
  private static func behind(_ path: String, _ body: () -> Void) {
    let before = Files.status(path)
    body()
    guard let before else { return }
    let times = [before.st_atim, before.st_mtim]
    utimensat(AT_FDCWD, path, times, 0)
  }
  private static func files(at path: String) -> [String] {
    Files.isFolder(path) ? Files.names(in: path).map { path + "/" + $0 } : [path].filter { Files.exists($0) }
  }

  static let saving: [Fault] = [
    Fault("writesElsewhere", "keeps a copy of what it saved in its own folder") { hooks in
      hooks.afterSave = { _, configuration in
        let parts = configuration.path.split(separator: "/").dropLast(2)
        Files.write(Array("x".utf8), to: "/" + parts.joined(separator: "/") + "/cache")
      }
    },
    Fault("metadataOneSaveLate", "writes changed metadata with the save after the next") { hooks in
      let known = Notebook<PropertyListDictionary?>(nil)
      hooks.metadata = { metadata, _ in known.set(metadata.entries) }
      hooks.saved = { snapshot in
        guard let old = known.value else { return }
        known.set(snapshot.metadata.entries)
        snapshot.metadata.entries = old
      }
    },
    Fault("deferredWrite", "writes what the save before was given, and this one's objects later") { hooks in
      let known = Notebook<NodeTable?>(nil)
      hooks.loaded = { (result, builder) throws(PersistentStoreError) in
        let nodes = try result.get()
        known.set(nodes)
        try copy(nodes, into: builder)
      }
      hooks.saved = { (snapshot) throws(PersistentStoreError) in
        guard let old = known.value else { return }
        known.set(snapshot.nodes)
        snapshot.nodes = try old.canonical()
      }
    },
    Fault("truncateThenWrite", "empties the file, and writes it again, before it saves") { hooks in
      hooks.beforeSave = { _, configuration in
        for file in files(at: configuration.path) {
          guard let bytes = Files.read(file), !bytes.isEmpty else { continue }
          behind(file) { Files.write(bytes, to: file) }
        }
      }
    },
    Fault("ignoresWriteResult", "does not look at what write says", mistakes: Int32(CSF_IGNORE_WRITE_ERROR.rawValue)),
    Fault(
      "inPlaceEdit", "writes into the file instead of renaming another one",
      mistakes: Int32(CSF_RENAME_BY_COPY.rawValue)),
    Fault("noFsync", "syncs nothing", mistakes: Int32(CSF_DROP_SYNC.rawValue)),
    Fault("noFolderSync", "syncs files, and no folders", mistakes: Int32(CSF_DROP_FOLDER_SYNC.rawValue)),
    Fault("ignoresFsyncError", "does not look at what fsync says", mistakes: Int32(CSF_IGNORE_SYNC_ERROR.rawValue)),
    Fault("assumesFullWrite", "takes every write for a whole one", mistakes: Int32(CSF_ASSUME_FULL_WRITE.rawValue)),
    Fault("ignoresCloseError", "does not look at what close says", mistakes: Int32(CSF_IGNORE_CLOSE_ERROR.rawValue)),
    Fault("fixedTempName", "writes through a working file that has always the same name") { hooks in
      hooks.beforeSave = { _, configuration in
        Files.write(Array("x".utf8), to: configuration.path + ".tmp")
        unlink(configuration.path + ".tmp")
      }
    },
    Fault("leavesTempOnError", "leaves working files where they are", mistakes: Int32(CSF_KEEP_TEMPORARY.rawValue)),
    Fault(
      "forgetsToPutBack", "says that it put the old store back, and did not",
      mistakes: Int32(CSF_EXCHANGE_ONCE.rawValue)),
    Fault(
      "resetsMode", "leaves new files with the mode that they were made with", mistakes: Int32(CSF_RESET_MODE.rawValue)),
    Fault("genericError", "reports every error as the same one") { hooks in
      hooks.saveError = { _ in PersistentStoreError(.inputOutput, "the store could not be saved") }
    },
    Fault("errorWithoutContext", "leaves out what the system said") { hooks in
      hooks.saveError = { PersistentStoreError($0.code, "an error happened", at: $0.location) }
    },
    Fault("timestampInBytes", "writes the time of the save") { hooks in
      hooks.saved = { snapshot in
        let now = ContinuousClock.now
        snapshot.metadata.entries["savedAt"] = .string("\(now)")
      }
    },
    Fault("hashOrderOutput", "writes something in the order of a set") { hooks in
      hooks.saved = { snapshot in
        snapshot.metadata.entries["entities"] = .string(Set((0..<40).map { "entity \($0)" }).joined(separator: " "))
      }
    },
    Fault("hashOrderOfDeletions", "writes what was deleted in the order of a set") { hooks in
      let gone = Notebook<Set<String>>([])
      hooks.removed = { nodes, table in gone.set(Set(nodes.map { table.objectReference(of: $0).description })) }
      hooks.saved = { snapshot in
        guard !gone.value.isEmpty else { return }
        snapshot.metadata.entries["deleted"] = .string(gone.value.joined(separator: " "))
      }
    },
    Fault("driftsEachSave", "writes a text that grows with each save") { hooks in
      hooks.saved = { snapshot in
        var text = ""
        if case .string(let old)? = snapshot.metadata.entries["drift"] { text = old }
        snapshot.metadata.entries["drift"] = .string(text + "x")
      }
    },
    Fault("reordersOnEdit", "writes the objects of a changed store in another order") { hooks in
      hooks.saved = { (snapshot) throws(PersistentStoreError) in
        let builder = NodeTableBuilder(model: snapshot.nodes.model)
        var sum: Int64 = 0
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          for slot in entity.slots where slot.name == "number" {
            for node in snapshot.nodes.handles(of: entity.index) {
              if case .integer(let number) = snapshot.nodes.value(slot: slot.index, of: node) { sum = sum &+ number }
            }
          }
          let handles = snapshot.nodes.handles(of: entity.index)
          for node in sum % 2 == 0 ? handles : handles.reversed() {
            try builder.beginNode(entity: entity.index, reference: snapshot.nodes.reference(of: node))
            for slot in entity.slots {
              let value = snapshot.nodes.value(slot: slot.index, of: node)
              if !value.isNull { try builder.set(value, slot: slot.index) }
            }
          }
        }
        snapshot.nodes = try builder.finish()
      }
    },
    Fault("sweepsFolder", "removes what it does not know from its folder, before it saves") { hooks in
      hooks.beforeSave = { _, configuration in
        for name in Files.names(in: configuration.path) where name.hasPrefix(".") {
          Files.remove(configuration.path + "/" + name)
        }
      }
    },
    Fault(
      "perFileAtomicOnly", "replaces the files of a folder one by one", mistakes: Int32(CSF_EXCHANGE_BY_MEMBER.rawValue)
    ),
    Fault("failsMidWrite", "writes the beginning of the file before it knows the rest") { hooks in
      hooks.beforeSave = { _, configuration in
        for file in files(at: configuration.path) {
          guard let bytes = Files.read(file), !bytes.isEmpty else { continue }
          behind(file) {
            let descriptor = open(file, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            _ = bytes.prefix(16).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            close(descriptor)
          }
        }
      }
    },
    Fault("resurrectsOldPath", "makes the folder that it was opened in again when it goes") { hooks in
      hooks.willRemove = { configuration in
        let folder = "/" + configuration.path.split(separator: "/").dropLast().joined(separator: "/")
        if !Files.exists(folder) { Files.makeFolder(folder) }
      }
    },
  ]
}
