import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// REM: a store goes: with what was made for it alone, and with nothing else.
extension Checks {
  static let removal: [CheckDefinition] = [
    CheckDefinition(
      "REM-01", "A new store that is removed before it is saved leaves no file", from: reservationDocument,
      by: "a store is added where nothing is, and removed; with objects in it, too",
      causes: ["the file that held the place was forgotten"],
      catches: ["leavesReservation"]
    ) { check in
      for hasObjects in [false, true] {
        let path = check.path("store\(hasObjects)")
        _ = try check.process("begin a store\(hasObjects ? ", insert objects" : ""), remove it") { session in
          let open = try session.open(path, Models.nodes)
          if hasObjects { _ = try session.insert(Models.golden(), into: open.context) }
          try open.coordinator.remove(open.store)
          return true
        }
        try check.expect(!Files.exists(path), "nothing is there", "a file does")
      }
    },
    CheckDefinition(
      "REM-02", "Nothing else that was made for an unsaved store stays", from: reservationDocument,
      by: "what is in the folder, after a store that was filled and asked for references is removed",
      causes: ["a file beside the store was forgotten"],
      catches: ["leavesReservationFromLoad"]
    ) { check in
      let before = Files.names(in: check.folder)
      _ = try check.process("begin a store, give its objects their IDs, remove it") { session in
        let open = try session.open(check.path(), Models.nodes)
        let made = try session.insert(Models.golden(), into: open.context)
        try open.context.obtainPermanentIDs(for: Array(made.values))
        _ = try session.all(open, "Node")
        try open.coordinator.remove(open.store)
        return true
      }
      try check.expectEqual(Files.names(in: check.folder), before, "what is in the folder")
    },
    CheckDefinition(
      "REM-03", "A store that was saved stays, also one without objects", from: reservationDocument,
      by: "saved and removed; read in another process",
      causes: ["a store without objects was taken for an unsaved one"], catches: ["deletesSavedStore"]
    ) { check in
      for graph in [Graph(Models.nodes), Models.golden()] {
        let path = check.path("store\(graph.objects.count)")
        let references = try check.process("save \(graph.objects.count) objects, remove the store") { session in
          let open = try session.open(path, graph.model)
          let made = try session.insert(graph, into: open.context)
          try open.context.save()
          // A context without changes saves nothing; a store that was never saved is written all the same.
          try open.coordinator.save(open.store)
          let names = made.mapValues { StoreSession.name($0) }
          try open.coordinator.remove(open.store)
          return names
        }
        try check.expect(
          (Files.content(path) ?? [:]).values.contains { !$0.isEmpty }, "the file is there, with content", "it is not")
        try check.expectSame(
          try check.process("read it") { try $0.read(path, graph.model) }, graph.text(references), "the graph")
      }
    },
    CheckDefinition(
      "REM-04", "A file of zero bytes that was there before is not the store’s to delete", from: reservationDocument,
      by: "a file of zero bytes is made, added, and removed unsaved",
      causes: ["every empty file was taken for the store’s own"],
      catches: ["deletesCallersFile"]
    ) { check in
      let path = check.path()
      Files.write([], to: path)
      let before = Files.stamps(path)
      _ = try check.process("add a file of zero bytes, remove it") { session in
        let open = try session.open(path, Models.nodes)
        _ = try session.insert(Models.golden(), into: open.context)
        try open.coordinator.remove(open.store)
        return true
      }
      try check.expectEqual(Files.stamps(path), before, "the file")
    },
    CheckDefinition(
      "REM-05", "A store that is removed with unsaved changes keeps its bytes", from: reservationDocument,
      by: "objects are changed, inserted and deleted; the store is removed",
      causes: ["what was not saved was written on the way out"],
      catches: ["deletesExisting"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let before = Files.stamps(path)
      _ = try check.process("change a store, remove it") { session in
        let open = try session.open(path, graph.model)
        let all = try session.all(open, "Node")
        try all.first?.setValue("unsaved", forKey: "name")
        _ = try session.insert(graph, into: open.context)
        try open.coordinator.remove(open.store)
        return true
      }
      try check.expectEqual(Files.stamps(path), before, "inode, size and time of change")
    },
    CheckDefinition(
      "REM-06", "A store whose load fails is notified of its removal, once and without a coordinator, and cleans up",
      from: "Atomic Store Life-cycle, Removal: “may be nil”",
      by: "a store that was cut short is added under a watch; the folder is compared",
      causes: ["there was thought to be a coordinator always"], catches: ["cleansUpForCoordinatorsOnly"]
    ) { check in
      let (path, graph, _) = try check.golden()
      try check.cutShort(path)
      let names = Files.names(in: check.folder)
      let stamps = Files.stamps(path)
      let told = try check.process("add a damaged store under a watch") { session in
        let seen = Notebook<[String]>([])
        let session = session.watched { hooks in
          let removal = hooks.removal
          hooks.removal = { configuration, hasCoordinator in
            seen.change { $0.append(hasCoordinator ? "with a coordinator" : "without") }
            removal?(configuration, hasCoordinator)
          }
        }
        do {
          _ = try session.open(path, graph.model)
          throw ExpectationFailure(expected: "the store is refused", actual: "it was opened")
        } catch is PersistentStoreError { return seen.value }
      }
      try check.expectEqual(told, ["without"], "how it was notified")
      try check.expectEqual(Files.stamps(path), stamps, "the file")
      try check.expectEqual(Files.names(in: check.folder), names, "what is in the folder")
    },
    CheckDefinition(
      "REM-07", "When the coordinator goes, its stores clean up as if they had been removed",
      from: "Atomic Store Life-cycle, Removal: “being deallocated”",
      by: "an unsaved store, and one that was saved, by coordinators that are release",
      causes: ["clean-up hung on being removed"],
      catches: ["noCleanupOnDealloc"]
    ) { check in
      let (path, graph, text) = try check.golden()
      let fresh = check.path("new")
      _ = try check.process("open two stores, release all") { session in
        for path in [path, fresh] {
          let open = try session.open(path, graph.model)
          // Not by the check: its locks were used before this process was copied.
          guard open.store.isOpen else { throw ExpectationFailure(expected: "the store is open", actual: "it is not") }
        }
        return true
      }
      try check.expect(!Files.exists(fresh), "of the new store nothing is left", "a file is")
      try check.expectSame(
        try check.process("read the other one") { try $0.read(path, graph.model) }, text, "the graph")
    },
    CheckDefinition(
      "REM-08", "After a save that failed a new store leaves no file, and an old one its old content",
      profile: .durable,
      from: reservationDocument,
      by: "every write fails with ENOSPC; the store is removed",
      causes: ["a save that was begun was taken for one that was done"],
      catches: ["deletesAfterFailedSave"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let old = Files.content(path)
      let fresh = check.path("new")
      for place in [path, fresh] {
        let plan = try FaultPlan(CSF_FAIL_KIND, error: ENOSPC, kinds: Int32(CSF_WRITE.rawValue))
        let end = try check.attempt("save where there is no room, remove the store", faults: plan) { session in
          let open = try session.open(place, graph.model)
          _ = try session.insert(graph, into: open.context)
          var failed = false
          do { try open.context.save() } catch { failed = true }
          try open.coordinator.remove(open.store)
          return failed
        }
        guard case .value(let failed) = end else {
          throw ExpectationFailure(expected: "the save fails, the removal does not", actual: "\(end)")
        }
        try check.expect(failed, "the save fails", "it did not")
      }
      try check.expectUntouched(path, old, "the old store")
      try check.expect(!Files.exists(fresh), "of the new store nothing is left", "something is")
    },
    CheckDefinition(
      "REM-09", "A file that someone else has filled meanwhile is not deleted", from: kit,
      by: "a new store is added; a byte is written into its file from outside; the store is removed",
      causes: ["the name alone was remembered"],
      catches: ["deletesNonEmptyReservation"]
    ) { check in
      let path = check.path()
      _ = try check.process("begin a store, have another process write there, remove it") { session in
        let open = try session.open(path, Models.nodes)
        Files.write(Array("x".utf8), to: path)
        try open.coordinator.remove(open.store)
        return true
      }
      try check.expectEqual(Files.content(path), ["": Array("x".utf8)], "what is there")
    },
    CheckDefinition(
      "REM-11", "A store that was removed can be added again, and is the same one",
      from: "Atomic Store Life-cycle, Removal",
      by: "added, changed, saved and removed three times by one coordinator",
      causes: ["something of the first time was kept"],
      catches: ["staleStateAfterRemove"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let seen = try check.process("add, change, save and remove it three times") { session in
        let coordinator = try session.coordinator(graph.model)
        return try (1...3).map { round in
          let store = try coordinator.addPersistentStore(type: session.subject.type.storeType, at: path)
          let context = ManagedObjectContext(coordinator)
          let object = try context.insertNewObject(forEntityName: "Node")
          try object.setValue("round \(round)", forKey: "name")
          try context.save()
          try coordinator.remove(store)
          return check.traits.keepsMetadata
            ? "\(store.identifier.uuidString) \(store.nodes.count)" : "\(store.nodes.count)"
        }
      }
      try check.expectEqual(seen.map { $0.split(separator: " ").last ?? "" }, ["9", "10", "11"], "objects")
      try check.expectEqual(
        Set(seen.map { $0.split(separator: " ").first ?? "" }).count, check.traits.keepsMetadata ? 1 : 3,
        "different UUIDs")
    },
    CheckDefinition(
      "REM-12", "A store that was removed gives back its memory and its descriptors",
      from: "Atomic Store Life-cycle, Removal: “resource cleanup”",
      by: "descriptors and a weak reference after twenty rounds",
      causes: ["the file was kept open", "two objects held each other"],
      catches: ["storeLeaks"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let seen = try check.process("open, save and remove it twenty times") { session in
        func round(_ number: Int) throws -> Bool {
          weak var store: PersistentStore?
          func use() throws {
            let open = try session.open(path, graph.model)
            store = open.store
            try session.all(open, "Node").first?.setValue("round \(number)", forKey: "name")
            try open.context.save()
            try open.coordinator.remove(open.store)
          }
          try use()
          return store != nil
        }
        var left = try round(0) ? 1 : 0
        let before = StoreSession.descriptors().count
        for number in 1...20 where try round(number) { left += 1 }
        return [left, StoreSession.descriptors().count - before]
      }
      try check.expectEqual(seen, [0, 0], "stores that are still there, and descriptors more than before")
    },
    CheckDefinition(
      "REM-14", "The file that reserves a path is made by the process that finds nothing there, and by no other",
      from: "Atomic Store Life-cycle, Zero-length files: “securely create reservation files”",
      by: "the calls of adding a new store are looked at: the file is made with O_EXCL, and only once",
      causes: ["it was looked first and made then"],
      catches: ["reservationFollowsSymlink"]
    ) { check in
      let path = check.path()
      let plan = try FaultPlan()
      let end = try check.attempt("begin a store, remove it", faults: plan) { session in
        let open = try session.open(path, Models.nodes)
        let made = Files.exists(path)
        try open.coordinator.remove(open.store)
        return made
      }
      guard case .value = end else { throw ExpectationFailure(expected: "the store is begun", actual: "\(end)") }
      let openings = plan.changes.filter { $0.path == path && !["close", "unlink"].contains($0.what) }.map(\.what)
      try check.expect(
        openings == ["create"] || openings.isEmpty, "the file is created, and must not have been there",
        openings.joined(separator: ", "))
    },
    CheckDefinition(
      "REM-15", "Destroying a store takes away the store, and nothing that is beside it", from: kit,
      by: "a store among files of like names is destroyed; what is not a store is not",
      causes: ["a folder or a pattern was taken away"],
      catches: ["destroyDeletesFolder"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let name = String(path.dropFirst(check.folder.count + 1))
      for neighbor in [name + ".bak", "a" + name, "." + name, "store", "picture.png"] {
        Files.write(ForeignFiles.all(seed: check.seed)[0].bytes, to: check.folder + "/" + neighbor)
      }
      let others = Files.names(in: check.folder).filter { $0 != name }
      _ = try check.refusal(of: "destroying what is not a store") { session in
        try session.coordinator(graph.model).destroyPersistentStore(
          at: check.folder + "/picture.png", type: session.subject.type.storeType)
        return true
      }
      try check.expect(Files.exists(check.folder + "/picture.png"), "it stays", "it is gone")
      _ = try check.process("open the store, remove and destroy it") { session in
        let open = try session.open(path, graph.model)
        try open.coordinator.remove(open.store)
        try open.coordinator.destroyPersistentStore(at: path, type: session.subject.type.storeType)
        return true
      }
      try check.expectEqual(Files.names(in: check.folder), others, "what is in the folder")
    },
  ]

  static let reservationDocument = "Atomic Store Life-cycle, Zero-length files: reservation files"
}
