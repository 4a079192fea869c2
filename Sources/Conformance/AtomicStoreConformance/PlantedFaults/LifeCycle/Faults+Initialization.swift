import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What stores do wrong at the beginning of their life. Most of it the kit does in a format's stead: then the fault
/// does with the file by itself what a format of that kind would.
extension Faults {
  static let initialization: [Fault] = [
    Fault("failsOnMissingFile", "begins no store where nothing is, unless the name has an extension") { hooks in
      hooks.initialize = { configuration throws(PersistentStoreError) in
        guard !Files.exists(configuration.path), !(configuration.path.split(separator: "/").last ?? "").contains(".")
        else { return }
        throw PersistentStoreError(.notFound, "there is no file")
      }
    },
    Fault("parsesZeroLength", "takes a file of zero bytes for a broken one") { hooks in
      hooks.initialize = { configuration throws(PersistentStoreError) in
        guard Files.content(configuration.path) == ["": []] else { return }
        throw PersistentStoreError(.malformed, "the file ends before it begins")
      }
    },
    Fault("zeroLengthNeverInitialized", "writes other metadata where it found a file of zero bytes") { hooks in
      let found = Notebook(false)
      hooks.initialize = { configuration in if Files.content(configuration.path) == ["": []] { found.set(true) } }
      hooks.saved = { snapshot in
        guard found.value else { return }
        snapshot.metadata.uuid = UUID()
        snapshot.metadata.entries = PropertyListDictionary()
      }
    },
    Fault("truncatesExisting", "cuts an existing file to nothing in init, and writes it again") { hooks in
      hooks.initialize = { configuration in
        guard !configuration.isReadOnly, let content = Files.content(configuration.path) else { return }
        for (name, bytes) in content where !bytes.isEmpty {
          Files.write(bytes, to: name.isEmpty ? configuration.path : configuration.path + "/" + name)
        }
      }
    },
    Fault("createsParents", "makes the folders that are missing") { hooks in
      hooks.initialize = { configuration in
        let parts = configuration.path.split(separator: "/")
        for depth in parts.indices.dropFirst() { Files.makeFolder("/" + parts[..<depth].joined(separator: "/")) }
      }
    },
    Fault("replacesDirectory", "takes a folder away that is in its place") { hooks in
      hooks.recognize = { probe, answer in probe.isFolder && answer == .no ? .yes : answer }
      hooks.initialize = { configuration in
        if Files.exists(configuration.path + "/note.txt") { Files.remove(configuration.path) }
      }
    },
    Fault("blindToLinks", "does not see that a name is a symbolic link", mistakes: Int32(CSF_BLIND_TO_LINKS.rawValue)),
    Fault("danglingLinkHalfDone", "takes a link away that leads to a store that is yet to be saved") { hooks in
      hooks.beforeSave = { _, configuration in
        let folder = configuration.path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        for name in Files.names(in: folder) where Files.target(ofLink: folder + "/" + name) == configuration.path {
          unlink(folder + "/" + name)
        }
      }
    },
    Fault(
      "takesPipesForFiles", "takes pipes and devices for empty files", mistakes: Int32(CSF_SPECIAL_IS_FILE.rawValue)),
    Fault("unlinksReadOnly", "makes a file that is protected against writing one that is not") { hooks in
      hooks.initialize = { configuration in
        if !configuration.isReadOnly, let info = Files.status(configuration.path), info.st_mode & 0o222 == 0 {
          chmod(configuration.path, 0o755)
        }
      }
    },
    Fault("writesUnderReadOnly", "makes a lock file, also for reading only") { hooks in
      hooks.initialize = { configuration in
        guard Files.exists(configuration.path) else { return }
        Files.write([], to: configuration.path + ".lock")
        Files.remove(configuration.path + ".lock")
      }
    },
    Fault(
      "unreadableMeansEmpty", "takes a file that cannot be opened for an empty one",
      mistakes: Int32(CSF_UNREADABLE_IS_EMPTY.rawValue)),
    Fault("readErrorIsEOF", "takes a read that fails for the end of the file") { hooks in
      hooks.load = { source, _ in
        do throws(PersistentStoreError) {
          for member in source.isFolder ? source.memberNames : [] { _ = try source.bytes(ofMember: member) }
          if !source.isFolder { _ = try source.bytes() }
          return false
        } catch { return true }
      }
    },
    Fault("inventsFromDamage", "makes an object of what it cannot read") { hooks in
      hooks.swallowsLoadErrors = true
      hooks.load = { source, nodes throws(PersistentStoreError) in
        guard !source.isFolder, let bytes = try? source.bytes().withUnsafeBytes({ Array($0) }),
          bytes.contains(0xFF) || bytes.contains(0)
        else { return false }
        for entity in nodes.model.entities.prefix(1) {
          for number in 0..<100 { try nodes.beginNode(entity: entity.index, reference: Int64(1_000_000 + number)) }
        }
        return true
      }
    },
    silent(
      "silentGarbage", "reads nothing where a file is damaged", about: [.malformed, .invalidValue, .limitExceeded]),
    Fault("crashesOnCorrupt", "ends the process where a file is damaged") { hooks in
      hooks.loadFailed = { error in if error.code == .malformed { abort() } }
    },
    Fault("acceptsTruncated", "takes what it has read when the file ends too early") { $0.swallowsLoadErrors = true },
    Fault("trailingGarbageIsData", "takes what follows a store for one more object") { hooks in
      hooks.swallowsLoadErrors = true
      hooks.afterLoad = { source, nodes throws(PersistentStoreError) in
        guard !source.isFolder, let last = try? source.bytes().withUnsafeBytes({ $0.last }),
          last == UInt8(ascii: "x") || last == 0
        else { return }
        for entity in nodes.model.entities.prefix(1) { try nodes.beginNode(entity: entity.index, reference: 1_000_000) }
      }
    },
    Fault("overwritesForeignFile", "takes a file that is not its own for a broken one, and empties it") { hooks in
      let foreign = Notebook(false)
      hooks.recognize = { probe, answer in
        foreign.set(answer == .no)
        return answer == .no && !probe.isFolder ? .yes : answer
      }
      hooks.initialize = { configuration in
        if foreign.value, !Files.isFolder(configuration.path) { Files.write([], to: configuration.path) }
      }
    },
    Fault("lossyDecoding", "puts U+FFFD in the place of bytes that it cannot decode") { hooks in
      hooks.source = { source throws(PersistentStoreError) in
        guard !source.isFolder else { return source }
        let bytes = try source.bytes().withUnsafeBytes { Array($0) }
        let text = String(decoding: bytes, as: UTF8.self)
        return StoreSource(bytes: Array(text.utf8), name: source.name)
      }
    },
    Fault("mixesTwoVersions", "keeps the metadata of a path for the process's life") { hooks in
      let known = Notebook<[String: StoreMetadata]>([:])
      hooks.metadata = { metadata, source in
        if let old = known.value[source.name] { metadata = old } else { known.change { $0[source.name] = metadata } }
      }
    },
    Fault("percentEncodesPath", "writes beside, under a name with percent escapes") { hooks in
      hooks.initialize = { configuration in
        guard !configuration.isReadOnly, configuration.path.contains(" ") else { return }
        Files.write(Array("x".utf8), to: configuration.path.split(separator: " ").joined(separator: "%20"))
      }
    },
    Fault("relativePathAfterChdir", "looks the name up again when it saves") { hooks in
      hooks.beforeSave = { _, configuration in
        guard let name = configuration.path.split(separator: "/").last, name.hasPrefix("relative") else { return }
        Files.write(Array("x".utf8), to: String(name))
      }
    },
    Fault("takesAnyOption", "takes options that it does not have") { hooks in
      hooks.traits = { traits in traits.readOptions.append(StoreOption(name: "no-such-option", help: "none")) }
    },
    Fault("leaksDescriptorOnError", "leaves the file open where it cannot be loaded") { hooks in
      hooks.loadFailed = { _ in _ = open("/", O_RDONLY | O_CLOEXEC) }
      hooks.metadata = { metadata, _ in _ = open("/", O_RDONLY | O_CLOEXEC) }
    },
    Fault("cleansUpForCoordinatorsOnly", "cleans up where a coordinator removes it, and at no other time") { hooks in
      hooks.initialize = { configuration in
        if !configuration.isReadOnly, Files.exists(configuration.path) {
          Files.write([], to: configuration.path + ".work")
        }
      }
      hooks.removal = { configuration, hasCoordinator in
        if hasCoordinator { Files.remove(configuration.path + ".work") }
      }
    },
  ]
}
