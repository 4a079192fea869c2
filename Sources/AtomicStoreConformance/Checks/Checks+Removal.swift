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
      by: "a store is added where nothing lies, and removed; with objects in it, too",
      causes: ["the file that held the place was forgotten"],
      catches: ["leavesReservation"]
    ) { lab in
      for hasObjects in [false, true] {
        let path = lab.path("store\(hasObjects)")
        _ = try lab.process("begin a store\(hasObjects ? ", insert objects" : ""), remove it") { bench in
          let open = try bench.open(path, Models.nodes)
          if hasObjects { _ = try bench.insert(Models.golden(), into: open.context) }
          try open.coordinator.remove(open.store)
          return true
        }
        try lab.expect(!Files.exists(path), "nothing lies there", "a file does")
      }
    },
    CheckDefinition(
      "REM-02", "Nothing else that was made for an unsaved store stays", from: reservationDocument,
      by: "what lies in the folder, after a store that was filled and asked for references is removed",
      causes: ["a file beside the store was forgotten"],
      catches: ["leavesReservationFromLoad"]
    ) { lab in
      let before = Files.names(in: lab.folder)
      _ = try lab.process("begin a store, give its objects their IDs, remove it") { bench in
        let open = try bench.open(lab.path(), Models.nodes)
        let made = try bench.insert(Models.golden(), into: open.context)
        try open.context.obtainPermanentIDs(for: Array(made.values))
        _ = try bench.all(open, "Node")
        try open.coordinator.remove(open.store)
        return true
      }
      try lab.expectEqual(Files.names(in: lab.folder), before, "what lies in the folder")
    },
    CheckDefinition(
      "REM-03", "A store that was saved stays, also one without objects", from: reservationDocument,
      by: "saved and removed; read in another process",
      causes: ["a store without objects was taken for an unsaved one"], catches: ["deletesSavedStore"]
    ) { lab in
      for graph in [Graph(Models.nodes), Models.golden()] {
        let path = lab.path("store\(graph.objects.count)")
        let references = try lab.process("save \(graph.objects.count) objects, remove the store") { bench in
          let open = try bench.open(path, graph.model)
          let made = try bench.insert(graph, into: open.context)
          try open.context.save()
          // A context without changes saves nothing; a store that was never saved is written all the same.
          try open.coordinator.save(open.store)
          let names = made.mapValues { Bench.name($0) }
          try open.coordinator.remove(open.store)
          return names
        }
        try lab.expect((Files.content(path) ?? [:]).values.contains { !$0.isEmpty }, "the file is there, with content", "it is not")
        try lab.expectSame(try lab.process("read it") { try $0.read(path, graph.model) }, graph.text(references), "the graph")
      }
    },
    CheckDefinition(
      "REM-04", "A file of zero bytes that was there before is not the store’s to delete", from: reservationDocument,
      by: "a file of zero bytes is made, added, and removed unsaved", causes: ["every empty file was taken for the store’s own"],
      catches: ["deletesCallersFile"]
    ) { lab in
      let path = lab.path()
      Files.write([], to: path)
      let before = Files.stamps(path)
      _ = try lab.process("add a file of zero bytes, remove it") { bench in
        let open = try bench.open(path, Models.nodes)
        _ = try bench.insert(Models.golden(), into: open.context)
        try open.coordinator.remove(open.store)
        return true
      }
      try lab.expectEqual(Files.stamps(path), before, "the file")
    },
    CheckDefinition(
      "REM-05", "A store that is removed with unsaved changes keeps its bytes", from: reservationDocument,
      by: "objects are changed, inserted and deleted; the store is removed", causes: ["what was not saved was written on the way out"],
      catches: ["deletesExisting"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let before = Files.stamps(path)
      _ = try lab.process("change a store, remove it") { bench in
        let open = try bench.open(path, graph.model)
        let all = try bench.all(open, "Node")
        try all.first?.setValue("unsaved", forKey: "name")
        _ = try bench.insert(graph, into: open.context)
        try open.coordinator.remove(open.store)
        return true
      }
      try lab.expectEqual(Files.stamps(path), before, "inode, size and time of change")
    },
    CheckDefinition(
      "REM-06", "A store whose load fails is told that it goes, once and without a coordinator, and cleans up",
      from: "Atomic Store Life-cycle, Removal: “may be nil”",
      by: "a store that was cut short is added under a watch; the folder is compared",
      causes: ["there was thought to be a coordinator always"], catches: ["cleansUpForCoordinatorsOnly"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      try lab.cutShort(path)
      let names = Files.names(in: lab.folder)
      let stamps = Files.stamps(path)
      let told = try lab.process("add a damaged store under a watch") { bench in
        let seen = Notebook<[String]>([])
        let bench = bench.watched { hooks in
          let removal = hooks.removal
          hooks.removal = { configuration, hasCoordinator in
            seen.change { $0.append(hasCoordinator ? "with a coordinator" : "without") }
            removal?(configuration, hasCoordinator)
          }
        }
        do {
          _ = try bench.open(path, graph.model)
          throw Disappointment(expected: "the store is refused", actual: "it was opened")
        } catch is PersistentStoreError { return seen.value }
      }
      try lab.expectEqual(told, ["without"], "how it was told")
      try lab.expectEqual(Files.stamps(path), stamps, "the file")
      try lab.expectEqual(Files.names(in: lab.folder), names, "what lies in the folder")
    },
    CheckDefinition(
      "REM-07", "When the coordinator goes, its stores clean up as if they had been removed",
      from: "Atomic Store Life-cycle, Removal: “being deallocated”",
      by: "an unsaved store, and one that was saved, by coordinators that are let go of", causes: ["clean-up hung on being removed"],
      catches: ["noCleanupOnDealloc"]
    ) { lab in
      let (path, graph, text) = try lab.golden()
      let fresh = lab.path("new")
      _ = try lab.process("open two stores, let go of all") { bench in
        for path in [path, fresh] {
          let open = try bench.open(path, graph.model)
          // Not by the lab: its locks were used before this process was copied.
          guard open.store.isOpen else { throw Disappointment(expected: "the store is open", actual: "it is not") }
        }
        return true
      }
      try lab.expect(!Files.exists(fresh), "of the new store nothing is left", "a file is")
      try lab.expectSame(try lab.process("read the other one") { try $0.read(path, graph.model) }, text, "the graph")
    },
    CheckDefinition(
      "REM-08", "After a save that failed a new store leaves no file, and an old one its old content", profile: .durable,
      from: reservationDocument,
      by: "every write fails with ENOSPC; the store is removed", causes: ["a save that was begun was taken for one that was done"],
      catches: ["deletesAfterFailedSave"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let old = Files.content(path)
      let fresh = lab.path("new")
      for place in [path, fresh] {
        let plan = try FaultPlan(CSF_FAIL_KIND, error: ENOSPC, kinds: Int32(CSF_WRITE.rawValue))
        let end = try lab.attempt("save where there is no room, remove the store", faults: plan) { bench in
          let open = try bench.open(place, graph.model)
          _ = try bench.insert(graph, into: open.context)
          var failed = false
          do { try open.context.save() } catch { failed = true }
          try open.coordinator.remove(open.store)
          return failed
        }
        guard case .value(let failed) = end else { throw Disappointment(expected: "the save fails, the removal does not", actual: "\(end)") }
        try lab.expect(failed, "the save fails", "it did not")
      }
      try lab.expectUntouched(path, old, "the old store")
      try lab.expect(!Files.exists(fresh), "of the new store nothing is left", "something is")
    },
    CheckDefinition(
      "REM-09", "A file that somebody else has filled meanwhile is not deleted", from: kit,
      by: "a new store is added; a byte is written into its file from outside; the store is removed",
      causes: ["the name alone was remembered"],
      catches: ["deletesNonEmptyReservation"]
    ) { lab in
      let path = lab.path()
      _ = try lab.process("begin a store, have somebody write there, remove it") { bench in
        let open = try bench.open(path, Models.nodes)
        Files.write([0x78], to: path)
        try open.coordinator.remove(open.store)
        return true
      }
      try lab.expectEqual(Files.content(path), ["": [0x78]], "what lies there")
    },
    CheckDefinition(
      "REM-11", "A store that was removed can be added again, and is the same one", from: "Atomic Store Life-cycle, Removal",
      by: "added, changed, saved and removed three times by one coordinator", causes: ["something of the first time was kept"],
      catches: ["staleStateAfterRemove"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let seen = try lab.process("add, change, save and remove it three times") { bench in
        let coordinator = try bench.coordinator(graph.model)
        return try (1...3).map { round in
          let store = try coordinator.addPersistentStore(type: bench.subject.type.storeType, at: path)
          let context = ManagedObjectContext(coordinator)
          let object = try context.insertNewObject(forEntityName: "Node")
          try object.setValue("round \(round)", forKey: "name")
          try context.save()
          try coordinator.remove(store)
          return lab.traits.keepsMetadata ? "\(store.identifier.uuidString) \(store.nodes.count)" : "\(store.nodes.count)"
        }
      }
      try lab.expectEqual(seen.map { $0.split(separator: " ").last ?? "" }, ["9", "10", "11"], "objects")
      try lab.expectEqual(Set(seen.map { $0.split(separator: " ").first ?? "" }).count, lab.traits.keepsMetadata ? 1 : 3, "different UUIDs")
    },
    CheckDefinition(
      "REM-12", "A store that was removed gives back its memory and its descriptors",
      from: "Atomic Store Life-cycle, Removal: “resource cleanup”",
      by: "descriptors and a weak reference after twenty rounds", causes: ["the file was kept open", "two objects held each other"],
      catches: ["storeLeaks"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let seen = try lab.process("open, save and remove it twenty times") { bench in
        func round(_ number: Int) throws -> Bool {
          weak var store: PersistentStore?
          func use() throws {
            let open = try bench.open(path, graph.model)
            store = open.store
            try bench.all(open, "Node").first?.setValue("round \(number)", forKey: "name")
            try open.context.save()
            try open.coordinator.remove(open.store)
          }
          try use()
          return store != nil
        }
        var left = try round(0) ? 1 : 0
        let before = Bench.descriptors().count
        for number in 1...20 where try round(number) { left += 1 }
        return [left, Bench.descriptors().count - before]
      }
      try lab.expectEqual(seen, [0, 0], "stores that are still there, and descriptors more than before")
    },
    CheckDefinition(
      "REM-14", "The file that holds a place is made by whoever finds nothing there, and by nobody else",
      from: "Atomic Store Life-cycle, Zero-length files: “securely create reservation files”",
      by: "the calls of adding a new store are looked at: the file is made with O_EXCL, and only once",
      causes: ["it was looked first and made then"],
      catches: ["reservationFollowsSymlink"]
    ) { lab in
      let path = lab.path()
      let plan = try FaultPlan()
      let end = try lab.attempt("begin a store, remove it", faults: plan) { bench in
        let open = try bench.open(path, Models.nodes)
        let made = Files.exists(path)
        try open.coordinator.remove(open.store)
        return made
      }
      guard case .value = end else { throw Disappointment(expected: "the store is begun", actual: "\(end)") }
      let openings = plan.changes.filter { $0.path == path && !["close", "unlink"].contains($0.what) }.map(\.what)
      try lab.expect(openings == ["create"] || openings.isEmpty, "the file is created, and must not have been there", openings.joined(separator: ", "))
    },
    CheckDefinition(
      "REM-15", "Destroying a store takes away the store, and nothing that lies beside it", from: kit,
      by: "a store among files of like names is destroyed; what is no store is not", causes: ["a folder or a pattern was taken away"],
      catches: ["destroyDeletesFolder"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let name = String(path.dropFirst(lab.folder.count + 1))
      for neighbour in [name + ".bak", "a" + name, "." + name, "store", "picture.png"] {
        Files.write(foreign(seed: lab.seed)[0].1, to: lab.folder + "/" + neighbour)
      }
      let others = Files.names(in: lab.folder).filter { $0 != name }
      _ = try lab.refusal(of: "destroying what is no store") { bench in
        try bench.coordinator(graph.model).destroyPersistentStore(at: lab.folder + "/picture.png", type: bench.subject.type.storeType)
        return true
      }
      try lab.expect(Files.exists(lab.folder + "/picture.png"), "it stays", "it is gone")
      _ = try lab.process("open the store, remove and destroy it") { bench in
        let open = try bench.open(path, graph.model)
        try open.coordinator.remove(open.store)
        try open.coordinator.destroyPersistentStore(at: path, type: bench.subject.type.storeType)
        return true
      }
      try lab.expectEqual(Files.names(in: lab.folder), others, "what lies in the folder")
    },
  ]

  static let reservationDocument = "Atomic Store Life-cycle, Zero-length files: reservation files"
}
