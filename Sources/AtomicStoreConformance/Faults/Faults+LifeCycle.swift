import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What stores do wrong at the beginning of their life. Most of it the kit does in a format's stead: then the fault does with the
/// file by itself what a format of that kind would.
extension Faults {
  static let initialisation: [Fault] = [
    Fault("failsOnMissingFile", "begins no store where nothing lies, unless the name has an extension") { hooks in
      hooks.initialize = { configuration throws(PersistentStoreError) in
        guard !Files.exists(configuration.path), !(configuration.path.split(separator: "/").last ?? "").contains(".") else { return }
        throw PersistentStoreError(.notFound, "there is no file")
      }
    },
    Fault("parsesZeroLength", "takes a file of zero bytes for a broken one") { hooks in
      hooks.initialize = { configuration throws(PersistentStoreError) in
        guard Files.content(configuration.path) == ["": []] else { return }
        throw PersistentStoreError(.malformed, "the file ends before it begins")
      }
    },
    Fault("zeroLengthNeverInitialised", "writes other metadata where it found a file of zero bytes") { hooks in
      let found = Notebook(false)
      hooks.initialize = { configuration in if Files.content(configuration.path) == ["": []] { found.set(true) } }
      hooks.saved = { snapshot in
        guard found.value else { return }
        snapshot.metadata.uuid = UUID()
        snapshot.metadata.entries = PropertyListDictionary()
      }
    },
    Fault("truncatesExisting", "cuts an existing file to nothing in init, and writes it anew") { hooks in
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
      hooks.initialize = { configuration in if Files.exists(configuration.path + "/note.txt") { Files.remove(configuration.path) } }
    },
    Fault("blindToLinks", "does not see that a name is a symbolic link", mistakes: Int32(CSF_BLIND_TO_LINKS.rawValue)),
    Fault("danglingLinkHalfDone", "takes a link away that leads to a store that is yet to be saved") { hooks in
      hooks.beforeSave = { _, configuration in
        let folder = configuration.path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        for name in Files.names(in: folder) where Files.target(ofLink: folder + "/" + name) == configuration.path { unlink(folder + "/" + name) }
      }
    },
    Fault("takesPipesForFiles", "takes pipes and devices for empty files", mistakes: Int32(CSF_SPECIAL_IS_FILE.rawValue)),
    Fault("unlinksReadOnly", "makes a file that is protected against writing one that is not") { hooks in
      hooks.initialize = { configuration in
        if !configuration.isReadOnly, let info = Files.status(configuration.path), info.st_mode & 0o222 == 0 { chmod(configuration.path, 0o755) }
      }
    },
    Fault("writesUnderReadOnly", "makes a lock file, also for reading only") { hooks in
      hooks.initialize = { configuration in
        guard Files.exists(configuration.path) else { return }
        Files.write([], to: configuration.path + ".lock")
        Files.remove(configuration.path + ".lock")
      }
    },
    Fault("unreadableMeansEmpty", "takes a file that cannot be opened for an empty one", mistakes: Int32(CSF_UNREADABLE_IS_EMPTY.rawValue)),
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
        guard !source.isFolder, let bytes = try? source.bytes().withUnsafeBytes({ Array($0) }), bytes.contains(0xFF) || bytes.contains(0)
        else { return false }
        for entity in nodes.model.entities.prefix(1) {
          for number in 0..<100 { try nodes.beginNode(entity: entity.index, reference: Int64(1_000_000 + number)) }
        }
        return true
      }
    },
    Fault("acceptsTruncated", "takes what it has read when the file ends too early") { $0.swallowsLoadErrors = true },
    Fault("trailingGarbageIsData", "takes what follows a store for one more object") { hooks in
      hooks.swallowsLoadErrors = true
      hooks.afterLoad = { source, nodes throws(PersistentStoreError) in
        guard !source.isFolder, let last = try? source.bytes().withUnsafeBytes({ $0.last }), last == 0x78 || last == 0 else { return }
        for entity in nodes.model.entities.prefix(1) { try nodes.beginNode(entity: entity.index, reference: 1_000_000) }
      }
    },
    Fault("overwritesForeignFile", "takes a file that is not its own for a broken one, and empties it") { hooks in
      let foreign = Notebook(false)
      hooks.recognize = { probe, answer in
        foreign.set(answer == .no)
        return answer == .no && !probe.isFolder ? .yes : answer
      }
      hooks.initialize = { configuration in if foreign.value, !Files.isFolder(configuration.path) { Files.write([], to: configuration.path) } }
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
        if let old = known.value[source.name] { return old }
        known.change { $0[source.name] = metadata }
        return metadata
      }
    },
    Fault("percentEncodesPath", "writes beside, under a name with percent escapes") { hooks in
      hooks.initialize = { configuration in
        guard !configuration.isReadOnly, configuration.path.contains(" ") else { return }
        Files.write([0x78], to: configuration.path.split(separator: " ").joined(separator: "%20"))
      }
    },
    Fault("relativePathAfterChdir", "looks the name up again when it saves") { hooks in
      hooks.beforeSave = { _, configuration in
        guard let name = configuration.path.split(separator: "/").last, name.hasPrefix("relative") else { return }
        Files.write([0x78], to: String(name))
      }
    },
    Fault("takesAnyOption", "takes options that it does not have") { hooks in
      hooks.traits = { traits in
        var traits = traits
        traits.readOptions.append(StoreOption(name: "no-such-option", help: "none"))
        return traits
      }
    },
    Fault("leaksDescriptorOnError", "leaves the file open where it cannot be loaded") { hooks in
      hooks.loadFailed = { _ in _ = open("/", O_RDONLY | O_CLOEXEC) }
      hooks.metadata = { metadata, _ in
        _ = open("/", O_RDONLY | O_CLOEXEC)
        return metadata
      }
    },
    Fault("cleansUpForCoordinatorsOnly", "cleans up where a coordinator removes it, and at no other time") { hooks in
      hooks.initialize = { configuration in
        if !configuration.isReadOnly, Files.exists(configuration.path) { Files.write([], to: configuration.path + ".work") }
      }
      hooks.removal = { configuration, hasCoordinator in if hasCoordinator { Files.remove(configuration.path + ".work") } }
    },
  ]

  static let metadata: [Fault] = [
    Fault("metadataOnlyAfterLoad", "tells a UUID before the load that is not the one of the file") { hooks in
      let isLoaded = Notebook(false)
      hooks.load = { _, _ in
        isLoaded.set(true)
        return false
      }
      hooks.metadata = { metadata, _ in
        var metadata = metadata
        if !isLoaded.value { metadata.uuid = UUID() }
        return metadata
      }
    },
    Fault("constantUUID", "gives every store the same UUID") { hooks in
      hooks.saved = { $0.metadata.uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16)) }
    },
    Fault("newUUIDEachOpen", "makes a UUID each time it is asked") { hooks in
      hooks.metadata = { metadata, _ in
        var metadata = metadata
        metadata.uuid = UUID()
        return metadata
      }
    },
    Fault("uuidChangesAtFirstSave", "makes another UUID for the first save of a new store") { hooks in
      let wasRead = Notebook(false)
      hooks.metadata = { metadata, _ in
        wasRead.set(true)
        return metadata
      }
      hooks.saved = { if !wasRead.value { $0.metadata.uuid = UUID() } }
    },
    Fault("dropsCustomMetadata", "writes type and UUID, and no other metadata") { hooks in
      hooks.saved = { $0.metadata.entries = PropertyListDictionary() }
    },
    Fault("staticWriteDropsData", "writes the objects without their texts where metadata was set") { hooks in
      let read = Notebook<PropertyListDictionary?>(nil)
      hooks.metadata = { metadata, _ in
        read.set(metadata.entries)
        return metadata
      }
      hooks.saved = { snapshot throws(PersistentStoreError) in
        guard let old = read.value, old != snapshot.metadata.entries else { return }
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          for slot in entity.slots where slot.attribute?.type == .string { try nodes.set(.null, slot: slot.index, of: node) }
        }
      }
    },
    Fault("staticReadCreatesFile", "makes a file beside a store whose metadata is asked for") { hooks in
      hooks.initialize = { configuration in if configuration.isReadOnly { Files.write([], to: configuration.path + ".info") } }
    },
    Fault("metadataLostWithoutChanges", "writes the metadata that was read where no object changed") { hooks in
      let read = Notebook<PropertyListDictionary?>(nil)
      let hasChanges = Notebook(false)
      hooks.metadata = { metadata, _ in
        read.set(metadata.entries)
        return metadata
      }
      hooks.newObject = { object, _ in
        hasChanges.set(true)
        return object
      }
      hooks.updatedObject = hooks.newObject
      hooks.saved = { snapshot in if !hasChanges.value, let old = read.value { snapshot.metadata.entries = old } }
    },
    Fault("dropsVersionHashes", "leaves out the metadata that tells the model’s version") { hooks in
      hooks.saved = { snapshot in
        for key in snapshot.metadata.entries.keys where key.hasPrefix("NSStoreModelVersion") { snapshot.metadata.entries[key] = nil }
      }
    },
    Fault("metadataNamespaceClash", "keeps no metadata that is named as an attribute is") { hooks in
      hooks.saved = { snapshot in
        for entity in snapshot.nodes.model.entities { for slot in entity.slots { snapshot.metadata.entries[slot.name] = nil } }
      }
    },
    Fault("metadataNonAtomic", "writes into the file that is there", mistakes: Int32(CSF_RENAME_BY_COPY.rawValue)),
  ]

  static let loading: [Fault] = [
    Fault("loadReturnsTrueAndNothing", "loads nothing of a model of several entities, and says that all is well") { hooks in
      hooks.load = { _, nodes in nodes.model.entities.count > 1 }
    },
    Fault("idUsesRootEntity", "writes objects as ones of the entity at the top") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        var moved = false
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          guard entity.root.index != entity.index, !entity.root.isAbstract else { return }
          let reference = nodes.reference(of: node)
          let values = entity.root.slots.filter { $0.attribute != nil }.map { ($0.index, nodes.value(slot: $0.index, of: node)) }
          nodes.remove(node)
          let new = try nodes.addCacheNode(entity: entity.root.index, reference: reference)
          for (slot, value) in values { try nodes.set(value, slot: slot, of: new) }
          moved = true
        }
        if moved { snapshot.nodes = try snapshot.nodes.canonical() }
      }
    },
    Fault("nodeIDDiffersFromObjectID", "numbers the nodes anew that come to a store with objects") { hooks in
      let isSecond = Notebook(false)
      hooks.newReference = { _, nodes, _ in
        isSecond.set(nodes.count > 0)
        return nil
      }
      hooks.newObject = { object, _ in
        guard isSecond.value, case .integer(let number) = object.reference else { return object }
        var object = object
        object.reference = .integer(number + 1000)
        return object
      }
    },
    Fault("sharedCache", "sets a value on the next object too") { hooks in
      let changed = Notebook<[ManagedObjectSnapshot]>([])
      hooks.updatedObject = { object, _ in
        changed.change { $0.append(object) }
        return object
      }
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
        guard !changed.value.contains(name) else { return ManagedObjectSnapshot(entity: object.entity, reference: object.reference) }
        changed.change { $0.insert(name) }
        return object
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
          let digits = Array(bytes[place...].prefix { $0 != 0x22 })
          if !seen.insert(digits).inserted, let last = digits.last { result[place + digits.count - 1] = last == 0x39 ? 0x30 : last + 1 }
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
        for entity in nodes.model.entities.prefix(1) { try nodes.beginNode(entity: entity.index, reference: Int64(1_000_000 + count)) }
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
      hooks.metadata = { metadata, _ in
        var metadata = metadata
        if failed.value { metadata.lastReference += 1 }
        return metadata
      }
      hooks.load = { _, nodes throws(PersistentStoreError) in
        if failed.value { for entity in nodes.model.entities.prefix(1) { try nodes.beginNode(entity: entity.index, reference: 1_000_000) } }
        return false
      }
    },
    Fault("forwardReferencesDropped", "writes no relationship to an object that comes later") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          for slot in entity.slots where slot.relationship != nil {
            guard case .toOne(let target) = nodes.value(slot: slot.index, of: node), let other = nodes.handle(for: target),
              other.entity == node.entity, other.row > node.row
            else { continue }
            try nodes.set(.null, slot: slot.index, of: node)
          }
        }
      }
    },
  ]

  static let removal: [Fault] = [
    Fault("leavesReservation", "lets the file stay that holds the place of a store") { hooks in
      let made = Notebook<Set<String>>([])
      hooks.initialize = { configuration in if !Files.exists(configuration.path) { made.change { $0.insert(configuration.path) } } }
      hooks.removal = { configuration, _ in if made.value.contains(configuration.path) { makeAnew(configuration.path) } }
    },
    Fault("leavesReservationFromLoad", "lets a file stay beside a new store") { hooks in
      hooks.initialize = { configuration in if !Files.exists(configuration.path) { Files.write([], to: configuration.path + ".reserved") } }
    },
    Fault("deletesSavedStore", "deletes a store without objects when it goes") { hooks in
      let isEmpty = Notebook(false)
      hooks.saved = { isEmpty.set($0.nodes.count == 0) }
      hooks.removal = { configuration, _ in if isEmpty.value { Files.remove(configuration.path) } }
    },
    Fault("deletesCallersFile", "deletes an empty file when it goes, whose ever it is") { hooks in
      hooks.removal = { configuration, _ in if Files.content(configuration.path) == ["": []] { Files.remove(configuration.path) } }
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
      hooks.initialize = { configuration in if !Files.exists(configuration.path) { made.change { $0.insert(configuration.path) } } }
      hooks.removal = { configuration, hasCoordinator in
        if !hasCoordinator, made.value.contains(configuration.path) { makeAnew(configuration.path) }
      }
    },
    Fault("deletesAfterFailedSave", "deletes the store when it goes after a save that failed") { hooks in
      let isSaving = Notebook(false)
      hooks.beforeSave = { _, _ in isSaving.set(true) }
      hooks.afterSave = { _, _ in isSaving.set(false) }
      hooks.removal = { configuration, _ in if isSaving.value { Files.remove(configuration.path) } }
    },
    Fault("deletesNonEmptyReservation", "deletes the file of an unsaved store when it goes, whatever is in it") { hooks in
      let made = Notebook<Set<String>>([])
      hooks.initialize = { configuration in if !Files.exists(configuration.path) { made.change { $0.insert(configuration.path) } } }
      hooks.beforeSave = { _, configuration in made.change { $0.remove(configuration.path) } }
      hooks.removal = { configuration, _ in if made.value.contains(configuration.path) { Files.remove(configuration.path) } }
    },
    Fault("staleStateAfterRemove", "cannot be added again after it was removed") { hooks in
      let removed = Notebook<Set<String>>([])
      hooks.removal = { configuration, hasCoordinator in if hasCoordinator { removed.change { $0.insert(configuration.path) } } }
      hooks.initialize = { configuration throws(PersistentStoreError) in
        if removed.value.contains(configuration.path) { throw PersistentStoreError(.internalInconsistency, "the store is still there") }
      }
    },
    Fault("storeLeaks", "keeps the file open for good") { hooks in
      hooks.initialize = { configuration in _ = open(configuration.path, O_RDONLY | O_CLOEXEC) }
    },
    Fault("reservationFollowsSymlink", "makes the file that holds its place without asking whether there is one") { hooks in
      hooks.initialize = { configuration in
        guard !Files.exists(configuration.path) else { return }
        close(open(configuration.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644))
      }
    },
    Fault("destroysUnrelatedFiles", "takes what else is in its directory away when it goes") { hooks in
      hooks.removal = { configuration, hasCoordinator in if !hasCoordinator { Files.remove(configuration.path + "/.control") } }
    },
    Fault("claimsUnrelatedFiles", "does not say which files in its directory are not its own") { hooks in
      // What it passes over it says to a source of its own.
      hooks.source = { source throws(PersistentStoreError) in
        guard source.isFolder else { return source }
        var members: [(name: String, bytes: [UInt8])] = []
        for name in source.memberNames { members.append((name, try source.bytes(ofMember: name).withUnsafeBytes { Array($0) })) }
        return StoreSource(members: members, name: source.name)
      }
    },
    Fault("destroyDeletesFolder", "takes files of like names away when it goes") { hooks in
      hooks.removal = { configuration, hasCoordinator in if hasCoordinator { Files.remove(configuration.path + ".bak") } }
    },
  ]

  static let registration: [Fault] = [
    Fault("claimsEveryExtension", "takes new files for its own that have another extension") { hooks in
      hooks.traits = { traits in
        var traits = traits
        traits.fileExtensions.append("nobodys-extension")
        return traits
      }
    },
    Fault("typeNameMismatch", "tells another type where there is metadata of the application") { hooks in
      hooks.metadata = { metadata, _ in
        var metadata = metadata
        if metadata.entries["Origin"] != nil { metadata.storeType += "Store" }
        return metadata
      }
    },
    Fault("metadataTypeMissing", "tells no type where there is metadata of the application") { hooks in
      hooks.metadata = { metadata, _ in
        var metadata = metadata
        if metadata.entries["Origin"] != nil { metadata.storeType = "" }
        return metadata
      }
    },
    Fault("typeNameChanges", "is called otherwise once, when it was asked often enough") { hooks in
      // Asked before the process is copied as well, and a lock that was held then is of no use to the copy.
      let asked = Tally()
      hooks.storeType = { asked.next() == 8001 ? $0 + " again" : $0 }
    },
    Fault("greedyProbe", "takes any text for its own") { hooks in
      hooks.recognize = { probe, answer in
        answer != .yes && !probe.isFolder && String(validating: probe.prefix, as: UTF8.self) != nil ? .yes : answer
      }
    },
  ]

  static let concurrency: [Fault] = [
    Fault("lostUpdate", "does not see that a file was replaced", mistakes: Int32(CSF_BLIND_TO_CHANGES.rawValue)),
    Fault("savesDeltaOnly", "writes what has changed to a new file where the old one is missing") { hooks in
      let missing = Notebook<String?>(nil)
      hooks.metadata = { metadata, source in
        missing.set(source.name)
        return metadata
      }
      hooks.updatedObject = { object, _ in
        if let path = missing.value, !Files.exists(path) { Files.write(Array("delta".utf8), to: path) }
        return object
      }
      hooks.removal = { configuration, _ in
        if missing.value != nil, !Files.exists(configuration.path) { Files.write(Array("delta".utf8), to: configuration.path) }
      }
    },
    Fault("removesOtherKind", "takes a folder away that lies in its place") { hooks in
      hooks.removal = { configuration, _ in if Files.exists(configuration.path + "/note.txt") { Files.remove(configuration.path) } }
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
          if let other = last.value, other.store != snapshot.metadata.uuid { try nodes.set(other.name, slot: slot.index, of: node) }
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

  /// Another empty file in the place of one.
  private static func makeAnew(_ path: String) {
    guard Files.content(path) == ["": []] else { return }
    // While the old one is there the new one is not given its number.
    rename(path, path + ".old")
    Files.write([], to: path)
    unlink(path + ".old")
  }

  /// Each node that a save is to write.
  static func eachNode(
    of nodes: inout NodeTable, _ body: (inout NodeTable, NodeHandle, Entity) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    for entity in nodes.model.entities where !entity.isAbstract {
      for node in nodes.handles(of: entity.index) { try body(&nodes, node, entity) }
    }
  }
}
