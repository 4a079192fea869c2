import AtomicStoreKit
import AtomicStoreSPI
import CStoreFaults
import FoundationEssentials
import Glibc

/// SAV: what a save leaves behind, when it succeeds and when it is cut.
extension Checks {
  private static let commit = "Atomic Store Life-cycle, Saving: write the data and the metadata to the URL"

  static let saving: [CheckDefinition] = [
    CheckDefinition(
      "SAV-01", "A save writes to the store’s place and to short-lived files beside it, and nowhere else", profile: .durable, from: commit,
      by: "every call that changes something is listed, and its path looked at", causes: ["a cache is kept elsewhere"],
      catches: ["writesElsewhere"]
    ) { lab in
      let sweep = try Sweep(lab)
      let folder = URL(fileURLWithPath: sweep.path).deletingLastPathComponent().path
      let plan = try sweep.count()
      for call in plan.changes {
        for path in [call.path, call.other ?? folder] where path.hasPrefix("/") {
          try lab.expect(path.hasPrefix(folder), "\(call.what) stays in the store’s folder", path)
        }
      }
      try lab.expect(sweep.litter.isEmpty, "nothing is left beside the store", sweep.litter.joined(separator: ", "))
    },
    CheckDefinition(
      "SAV-02", "One save writes data and metadata together", profile: .durable, from: commit,
      by: "a value and a metadata entry are changed; the process is killed as soon as the save returns",
      causes: ["metadata is written in a step of its own"], catches: ["metadataInSecondWrite"],
      demand: { $0.keepsMetadata ? .applies : .notApplicable("keepsMetadata is false") }
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let end = try lab.attempt("save a value and an entry, and be killed") { bench -> Bool in
        let open = try bench.open(path, graph.model)
        return try withExtendedLifetime(open) {
          let object = try open.context.fetch(FetchRequest<ManagedObject>(entityName: "Node", sortKeys: [SortKey("number")]))[0]
          try object.setValue("together", forKey: "name")
          try open.store.setMetadata(["note": "together"])
          try open.context.save()
          kill(getpid(), SIGKILL)
          return true
        }
      }
      guard case .crashed(SIGKILL) = end else { throw Disappointment(expected: "the process is killed after its save", actual: "\(end)") }
      let note = try lab.process("read the entry") { bench -> String in
        let open = try bench.open(path, graph.model)
        return withExtendedLifetime(open) { open.store.metadata.entries["note"]?.stringValue ?? "nothing" }
      }
      try lab.expectEqual(note, "together", "the entry")
      let text = try lab.process("read the value") { try $0.read(path, graph.model) }
      try lab.expect(
        text.objects.values.contains { $0[GraphText.Key("name")] == "string:together" }, "the value is there", "it is not")
    },
    sweep("SAV-03", "No space on the disk, wherever in a save, leaves the store as it was", CSF_FAIL, ENOSPC, catches: ["inPlaceEdit"],
      causes: ["the store itself is written into", "a temporary file takes its place before it is whole"]),
    sweep("SAV-04", "An error of the disk, wherever in a save, leaves the store as it was", CSF_FAIL, EIO, catches: ["ignoresWriteResult"],
      causes: ["what a call gives back is not looked at"]),
    CheckDefinition(
      "SAV-05", "A process that is killed, wherever in a save, leaves the old store or the new one", profile: .durable, from: kit,
      by: "the process is killed before each call of a save in turn; another one reads what lies there, and saves again",
      causes: ["the store itself is written into", "what a killed process left is in the way, or is never cleared away"],
      catches: ["inPlaceEdit"], timeLimit: 120
    ) { lab in
      try Sweep(lab).run(CSF_KILL, leavesLitter: true) { found, _ in found == "OLD" || found == "NEW" }
    },
    CheckDefinition(
      "SAV-06", "What is renamed into place has been synced", level: .should, profile: .durable, from: kit,
      by: "the calls of a save are listed: each file that is written is synced after its last write, before the store is renamed",
      causes: ["a rename can reach the disk before the data do"], catches: ["renameWithoutFsync"]
    ) { lab in
      let sweep = try Sweep(lab)
      let trace = try sweep.count().changes
      guard let rename = trace.lastIndex(where: { ["rename", "exchange"].contains($0.what) }) else {
        throw Disappointment(expected: "a save ends with a rename", actual: trace.map(\.what).joined(separator: ", "))
      }
      for path in Set(trace[..<rename].filter { $0.what == "write" }.map(\.path)) {
        let last = trace[..<rename].lastIndex { $0.what == "write" && $0.path == path } ?? 0
        try lab.expect(
          trace[last..<rename].contains { $0.what == "sync" && $0.path == path }, "\(path) is synced before the rename", "it is not")
      }
    },
    CheckDefinition(
      "SAV-07", "A sync that fails fails the save", profile: .durable, from: kit, by: "every fsync fails with EIO",
      causes: ["the result of fsync is not looked at"], catches: ["ignoresFsyncError"]
    ) { lab in
      let sweep = try Sweep(lab)
      sweep.restore()
      let path = sweep.path
      let plan = try FaultPlan(CSF_FAIL_KIND, error: EIO, kinds: Int32(CSF_SYNC.rawValue))
      let end = try lab.attempt("save, every sync failing", faults: plan) { try Sweep.change($0, path) }
      try lab.expect(plan.wasReached, "a save syncs something", "it never does")
      guard case .refused = end else { throw Disappointment(expected: "the save fails", actual: "it says that it succeeded") }
      try lab.expectEqual(try sweep.judge(), "OLD", "the store")
    },
    CheckDefinition(
      "SAV-08", "The folder is synced after the rename", level: .should, profile: .durable, from: kit, by: "the calls of a save are listed",
      causes: ["a new name can be lost with the power"], catches: ["noDirectoryFsync"]
    ) { lab in
      let trace = try Sweep(lab).count().changes
      guard let rename = trace.lastIndex(where: { ["rename", "exchange"].contains($0.what) }) else {
        throw Disappointment(expected: "a save ends with a rename", actual: trace.map(\.what).joined(separator: ", "))
      }
      try lab.expect(
        trace[rename...].contains { $0.what == "sync folder" }, "the folder is synced after the rename",
        trace[rename...].map(\.what).joined(separator: ", "))
    },
    CheckDefinition(
      "SAV-09", "Short and interrupted writes lose nothing", profile: .durable, from: kit,
      by: "every write writes half of what it is given, every second one is interrupted first",
      causes: ["a write is taken to have written all"], catches: ["assumesFullWrite"]
    ) { lab in
      let sweep = try Sweep(lab)
      sweep.restore()
      let path = sweep.path
      let plan = try FaultPlan(CSF_SHORT)
      let end = try lab.attempt("save, every write cut short", faults: plan) { try Sweep.change($0, path) }
      try lab.expect(plan.wasReached, "a save writes something", "it never does")
      let found = try sweep.judge()
      if case .value = end { try lab.expectEqual(found, "NEW", "the store") } else { try lab.expectEqual(found, "OLD", "the store") }
    },
    CheckDefinition(
      "SAV-11", "Files on the way are made anew, nobody else’s to read, and go when a save fails", profile: .durable, from: kit,
      by: "the calls of a save that fails at its last write; what lies beside the store afterwards",
      causes: ["a temporary file is left behind", "a temporary name can be guessed, and taken before"], catches: ["leavesTempOnError"]
    ) { lab in
      let sweep = try Sweep(lab)
      let trace = try sweep.count().changes
      for call in trace where call.what == "truncate" || call.what == "open or create" {
        try lab.expect(false, "files are made with O_EXCL", "\(call.what): \(call.path)")
      }
      guard let last = trace.lastIndex(where: { $0.what == "write" }) else {
        throw Disappointment(expected: "a save writes", actual: "it never does")
      }
      sweep.restore()
      let path = sweep.path
      let plan = try FaultPlan(CSF_FAIL, at: last + 1, error: ENOSPC)
      _ = try lab.attempt("save, the last write failing", faults: plan) { try Sweep.change($0, path) }
      try lab.expect(plan.wasReached, "the write is reached", "it is not")
      try lab.expect(sweep.litter.isEmpty, "nothing is left beside the store", sweep.litter.joined(separator: ", "))
    },
    CheckDefinition(
      "SAV-12", "A file’s mode survives a save", level: .should, profile: .durable, from: kit, by: "0600, 0640 and 0755 before a save; looked at after it",
      causes: ["the new file has the mode that new files have"], catches: ["resetsMode"],
      demand: { $0.layout == .file ? .applies : .notApplicable("the layout is a folder") }
    ) { lab in
      let sweep = try Sweep(lab)
      let path = sweep.path
      for mode in [0o600, 0o640, 0o755] as [mode_t] {
        sweep.restore()
        chmod(path, mode)
        _ = try lab.process("save a store of mode \(String(mode, radix: 8))") { try Sweep.change($0, path) }
        let now = Files.status(path).map { $0.st_mode & 0o7777 } ?? 0
        try lab.expectEqual(String(now, radix: 8), String(mode, radix: 8), "the mode after the save")
      }
    },
    CheckDefinition(
      "SAV-14", "Different troubles are different errors", profile: .durable, from: kit,
      by: "the first call of a save fails with EROFS, EACCES, EFBIG, EDQUOT, EIO, ENOSPC in turn",
      causes: ["every error is told as one"], catches: ["genericError"]
    ) { lab in
      let sweep = try Sweep(lab)
      let path = sweep.path
      var texts: [String] = []
      for number in [EROFS, EACCES, EFBIG, EDQUOT, EIO, ENOSPC] {
        sweep.restore()
        let plan = try FaultPlan(CSF_FAIL, at: 1, error: number)
        guard case .refused(let error) = try lab.attempt("save, errno \(number)", faults: plan, { try Sweep.change($0, path) }) else {
          throw Disappointment(expected: "the save fails", actual: "it says that it succeeded")
        }
        try lab.expect(!texts.contains(error.text), "errno \(number) has a text of its own", error.text)
        texts.append(error.text)
        try lab.expectEqual(try sweep.judge(), "OLD", "the store after errno \(number)")
      }
    },
    CheckDefinition(
      "SAV-15", "A save without changes leaves the same bytes", from: kit, by: "opened, saved, compared; then with a change and its undoing",
      causes: ["the time of the save is written into the file"], catches: ["timestampInBytes"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let before = Files.content(path)
      _ = try lab.process("save without changes") { bench -> Bool in
        let open = try bench.open(path, graph.model)
        return try withExtendedLifetime(open) {
          try open.context.save()
          let object = try open.context.fetch(FetchRequest<ManagedObject>(entityName: "Node", sortKeys: [SortKey("number")]))[0]
          let name = object["name"]
          try object.setValue("another", forKey: "name")
          try open.context.save()
          try object.setValue(name, forKey: "name")
          try open.context.save()
          return true
        }
      }
      try lab.expectUntouched(path, before, "after three saves that change nothing in the end")
    },
    CheckDefinition(
      "SAV-16", "Equal graphs make equal bytes", from: kit,
      by: "the same graph is inserted in five orders, in five processes; the files are compared, but for the UUID that is copied over",
      causes: ["rows are written in the order of a dictionary or a set"], catches: ["hashOrderOutput"]
    ) { lab in
      var first: [String: [UInt8]]?
      for round in 0..<5 {
        let path = lab.path("same\(round)")
        let model = Models.nodes
        _ = try lab.process("save the graph, in order \(round)") { bench -> Bool in
          let open = try bench.open(path, model)
          return try withExtendedLifetime(open) {
            // Objects first, for references that do not depend on what follows.
            let objects = try (0..<12).map { _ in try open.context.insertNewObject(forEntityName: "Node") }
            try open.context.obtainPermanentIDs(for: objects)
            for step in 0..<12 {
              let place = (step * 5 + round) % 12
              try objects[place].setValue("node \(place)", forKey: "name")
              try objects[place].setValue(place * 3, forKey: "number")
              if place > 0 { try objects[place].setValue(objects[0], forKey: "parent") }
            }
            try open.context.save()
            return true
          }
        }
        // Each store has a UUID of its own, wherever that stands: it is made one and the same.
        let uuid = try lab.process("read its UUID") { bench -> String in
          let open = try bench.open(path, model)
          return withExtendedLifetime(open) { open.store.metadata.uuid.uuidString }
        }
        let content = Files.content(path)?.mapValues { Self.without(uuid, $0) }
        if let first {
          try lab.expect(content?.mapValues(\.count) == first.mapValues(\.count), "the files have equal lengths", Lab.difference(first, content))
          // Digests of members cover the UUID, so these may differ, and nothing else.
          for (name, bytes) in first {
            let others = content?[name] ?? []
            let count = zip(bytes, others).filter { $0 != $1 }.count
            try lab.expect(count <= 64 * max(1, first.count), "\(name): equal bytes, but for digests", "\(count) bytes differ")
          }
        } else {
          first = content
        }
      }
    },
    CheckDefinition(
      "SAV-17", "Saving what was loaded comes to rest", from: kit, by: "loaded and saved four times, in four processes; the bytes of the last ones are equal",
      causes: ["something grows, or is counted up, with each save"], catches: ["driftsEachSave"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      var contents: [[String: [UInt8]]?] = []
      for round in 0..<4 {
        _ = try lab.process("load and save, round \(round)") { bench -> Bool in
          let open = try bench.open(path, graph.model)
          return try withExtendedLifetime(open) {
            // Something has to be saved, or no file is touched.
            let object = try open.context.fetch(FetchRequest<ManagedObject>(entityName: "Node", sortKeys: [SortKey("number")]))[0]
            try object.setValue(round % 2 == 0 ? "even" : "odd", forKey: "name")
            try open.context.save()
            return true
          }
        }
        contents.append(Files.content(path))
      }
      try lab.expect(contents[3] == contents[1], "the second and the fourth save leave equal bytes", Lab.difference(contents[1], contents[3]))
      try lab.expect(contents[2] == contents[0], "the first and the third save leave equal bytes", Lab.difference(contents[0], contents[2]))
    },
    CheckDefinition(
      "SAV-19", "When a save returns, others see it", from: "Atomic Store Life-cycle, Saving: “commit”",
      by: "two saves in one process; what lies there right after each is read by another process",
      causes: ["the writing is put off"], catches: ["deferredWrite"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let copies = (0..<2).map { lab.path("seen\($0)") }
      _ = try lab.process("save twice, and copy what lies there after each, as another program would") { bench -> Bool in
        let open = try bench.open(path, graph.model)
        return try withExtendedLifetime(open) {
          for round in 0..<2 {
            let object = try open.context.fetch(FetchRequest<ManagedObject>(entityName: "Node", sortKeys: [SortKey("number")]))[0]
            try object.setValue("round \(round)", forKey: "name")
            try open.context.save()
            Files.copy(path, to: copies[round])
          }
          return true
        }
      }
      for round in 0..<2 {
        let text = try lab.process("read the copy made after save \(round)") { try $0.read(copies[round], graph.model) }
        try lab.expect(
          text.objects.values.contains { $0[GraphText.Key("name")] == "string:round \(round)" }, "what lies there is what save \(round) wrote",
          "it is what was before")
      }
    },
    CheckDefinition(
      "SAV-20", "A store of several files is saved as one", profile: .durable, from: kit,
      by: "the process is killed before each call; what lies there is the old folder or the new one, never some of each",
      causes: ["the files are renamed one by one"], catches: ["perFileAtomicOnly"], timeLimit: 120,
      demand: { $0.layout == .folder ? .applies : .notApplicable("the layout is a file") }
    ) { lab in
      try Sweep(lab).run(CSF_KILL, leavesLitter: true) { found, _ in found == "OLD" || found == "NEW" }
    },
    CheckDefinition(
      "SAV-24", "A folder that is moved away while a store is open gets no second store in its old place", profile: .durable,
      from: "Atomic Store Life-cycle, Loading: “from the URL specified”", by: "the folder is renamed between load and save",
      causes: ["missing folders are made"], catches: ["resurrectsOldPath"]
    ) { lab in
      let home = lab.folder + "/home"
      Files.makeFolder(home)
      let path = home + "/" + URL(fileURLWithPath: lab.path()).lastPathComponent
      let graph = Models.golden()
      _ = try lab.process("save a store") { try $0.write(graph, to: path) }
      let before = Files.content(path)
      let moved = lab.folder + "/moved"
      _ = try lab.attempt("move its folder, and save") { bench -> Bool in
        let open = try bench.open(path, graph.model)
        return try withExtendedLifetime(open) {
          let object = try open.context.fetch(FetchRequest<ManagedObject>(entityName: "Node"))[0]
          try object.setValue("moved", forKey: "name")
          guard rename(home, moved) == 0 else { throw Blockage(reason: "a folder cannot be renamed here") }
          try open.context.save()
          return true
        }
      }
      try lab.expect(!Files.exists(path), "there is no second store in the old place", "there is one")
      try lab.expect(Files.content(moved + "/" + URL(fileURLWithPath: path).lastPathComponent) == before || !Files.exists(home), "the store is whole", "it is not")
    },
  ]

  private static func sweep(
    _ id: String, _ title: String, _ mode: csf_mode, _ error: Int32, catches: [String], causes: [String]
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, profile: .durable, from: kit,
      by: "each call of a save that changes something fails in turn with errno \(error); another process reads what lies there, and saves again",
      causes: causes, catches: catches, timeLimit: 120
    ) { lab in
      try Sweep(lab).run(mode, error: error) { found, failed in failed ? found == "OLD" : found == "NEW" }
    }
  }

  /// Bytes with a UUID blanked, in each of the spellings that files have.
  private static func without(_ uuid: String, _ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    var spellings = [Array(uuid.utf8), Array(uuid.lowercased().utf8)]
    if let value = UUID(uuidString: uuid) { spellings.append(withUnsafeBytes(of: value.uuid) { Array($0) }) }
    for spelling in spellings where bytes.count >= spelling.count {
      for start in 0...(result.count - spelling.count) where result[start] == spelling[0] && result[start..<start + spelling.count].elementsEqual(spelling) {
        for place in start..<start + spelling.count { result[place] = 0 }
      }
    }
    return result
  }
}
