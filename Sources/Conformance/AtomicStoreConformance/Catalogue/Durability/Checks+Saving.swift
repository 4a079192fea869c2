import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// SAV: what a save leaves behind, also one that is cut short at any of its calls.
extension Checks {
  static let saving: [CheckDefinition] = whereSavesWrite + cutShort + trouble + sameBytes + otherSaves

  private static let cutCauses = [
    "the file is emptied, or written in its place, before the new content is safe",
    "the result of a call is not looked at",
  ]

  private static let whereSavesWrite: [CheckDefinition] = [
    CheckDefinition(
      "SAV-01", "A save writes to the store, and for a short time beside it; nowhere else", profile: .durable,
      from: "Atomic Store Life-cycle, Saving: “to the URL specified”",
      by:
        "every call that changes something is written down; its path is in the store's folder; nothing is left there but the store",
      causes: ["a cache or a working copy was put elsewhere"], catches: ["writesElsewhere"]
    ) { check in
      let saving = try check.saveCase()
      let plan = try check.calls(of: saving)
      for call in plan.changes {
        for path in [call.path] + (call.other.map { [$0] } ?? []) {
          try check.expect(
            path == saving.home || path.hasPrefix(saving.home + "/"), "every call stays in the store's folder",
            "\(call.what) \(path)")
        }
      }
      try check.expect(saving.left.isEmpty, "nothing is beside the store", saving.left.joined(separator: ", "))
      check.note(
        "\(plan.calls) calls: "
          + plan.changes.map { "\($0.what) \(check.shortened($0.path, saving))" }.joined(separator: "; "))
    },
    CheckDefinition(
      "SAV-02", "One save brings objects and metadata to the file together", profile: .durable, from: committed,
      by: "both are changed; the process is killed when the save has returned; another process finds both",
      causes: ["metadata is written by a second write, later"], catches: ["metadataOneSaveLate"], demand: metadataIsKept
    ) { check in try check.expectSavedWhenReturned(try check.saveCase()) },
    CheckDefinition(
      "SAV-19", "When a save returns, another process sees it", profile: .durable, from: committed,
      by:
        "the process is killed when the save has returned, so that nothing can follow; another process finds the new store",
      causes: ["the write is left to a later moment"], catches: ["deferredWrite"]
    ) { check in try check.expectSavedWhenReturned(try check.saveCase()) },
  ]

  private static let cutShort: [CheckDefinition] = [
    CheckDefinition(
      "SAV-03", "A full disk at any call of a save ends it with an error, and the old store stays", profile: .durable,
      from: kit,
      by: "ENOSPC at each call in turn; another process reads; the next save must work", causes: cutCauses,
      catches: ["truncateThenWrite"],
      timeLimit: 90
    ) { check in try check.sweep(try check.saveCase(), CSF_FAIL, error: ENOSPC, "a full disk") },
    CheckDefinition(
      "SAV-04", "A disk error at any call of a save ends it with an error, another one than a full disk",
      profile: .durable, from: kit,
      by: "EIO at each call in turn, as SAV-03; the error at the first call is compared with that of a full disk",
      causes: cutCauses, catches: ["ignoresWriteResult"], timeLimit: 90
    ) { check in
      let saving = try check.saveCase()
      try check.sweep(saving, CSF_FAIL, error: EIO, "a disk error")
      let broken = try check.refusedSave(
        saving, "a disk error at the first call", try FaultPlan(CSF_FAIL, at: 1, error: EIO))
      let full = try check.refusedSave(
        saving, "a full disk at the first call", try FaultPlan(CSF_FAIL, at: 1, error: ENOSPC))
      try check.expect(
        broken.text != full.text && broken.code != full.code, "the two errors tell which it was", broken.text)
    },
    CheckDefinition(
      "SAV-05", "Killed at any call of a save, it leaves the old store or the new one", profile: .durable, from: kit,
      by: "the process is killed instead of each call in turn; another process reads; the next save must work",
      causes: cutCauses,
      catches: ["inPlaceEdit"], timeLimit: 90
    ) { check in try check.sweep(try check.saveCase(), CSF_KILL, "killed") },
    CheckDefinition(
      "SAV-06", "When the power goes at any call of a save, the old store or the new one is there", level: .should,
      profile: .durable,
      from: kit,
      by:
        "the process is killed instead of each call; what was written and not synced by then is emptied, or made zeros",
      causes: ["a file is renamed before its content is synced"], catches: ["noFsync"], timeLimit: 90
    ) { check in
      let saving = try check.saveCase()
      let count = try check.calls(of: saving).calls
      for place in 1...count + 1 {
        for zeros in [false, true] {
          let plan = try FaultPlan(CSF_KILL, at: place)
          _ = try check.save(saving, "the power goes at call \(place) of \(count)", plan)
          let lost = CheckContext.unsynced(plan.wasReached ? Array(plan.changes.dropLast()) : plan.changes)
          for path in lost {
            let size = Files.read(path)?.count ?? 0
            if Files.exists(path), !Files.isFolder(path) {
              Files.write(Array(repeating: 0, count: zeros ? size : 0), to: path)
            }
          }
          let found = try check.verdict(saving)
          check.record.mark(found.word)
          if case .other(let text) = found {
            try check.expect(
              false, "without power at call \(place) of \(count): the old store or the new one",
              "\(text), as \(lost.map { check.shortened($0, saving) }.joined(separator: ", ")) was not synced")
          }
          check.record.expected()
        }
      }
    },
    CheckDefinition(
      "SAV-20", "Stores of several files change as a whole", profile: .durable, from: kit,
      by: "a store with objects of three entities in as many files, swept as SAV-03 and SAV-05",
      causes: ["each file is replaced by itself"],
      catches: ["perFileAtomicOnly"], timeLimit: 120,
      demand: { $0.layout == .folder ? .applies : .notApplicable("layout is file") }
    ) { check in
      var old = Graph(Models.people)
      for (label, entity) in [("ann", "Person"), ("bob", "Employee"), ("red", "Team"), ("desk", "Desk")] {
        old.objects.append(
          .init(
            label: label, entity: entity, values: entity == "Desk" ? ["number": .integer(1)] : ["name": .string(label)])
        )
      }
      try old.relate("ann", "team", to: ["red"])
      var new = old
      new.set("ann", "name", .string("Ann, and more of her"))
      new.set("red", "name", .string("Red, and more of it"))
      new.set("desk", "number", .integer(2))
      try new.relate("bob", "desk", to: ["desk"])
      let saving = try check.saveCase(old: old, new: new)
      try check.sweep(saving, CSF_KILL, "killed", savesAgain: false)
      try check.sweep(saving, CSF_FAIL, error: ENOSPC, "a full disk", savesAgain: false)
    },
  ]

  private static let trouble: [CheckDefinition] = [
    CheckDefinition(
      "SAV-07", "A sync that fails makes the save fail", profile: .durable, from: kit, by: "every fsync fails with EIO",
      causes: ["the result of fsync is not looked at"], catches: ["ignoresFsyncError"], changesStore: true
    ) { check in
      _ = try check.refusedSave(
        try check.saveCase(), "each fsync fails",
        try FaultPlan(
          CSF_FAIL_KIND, error: EIO,
          kinds: Int32(CSF_SYNC.rawValue)))
    },
    CheckDefinition(
      "SAV-08", "The folder is synced when the store has its name, and before what it replaces goes", level: .should,
      profile: .durable,
      from: kit, by: "the calls of a first save and of a later one, in their order",
      causes: ["a rename is taken to be durable by itself"],
      catches: ["noFolderSync"]
    ) { check in
      let saving = try check.saveCase()
      var first = try FaultPlan(CSF_COUNT)
      let fresh = saving.home + "/first" + saving.path.dropFirst(saving.home.count + 6)
      _ = try check.attempt("save a first time", faults: first) { try $0.write(saving.old, to: fresh) }
      try check.expectFolderSynced(first.changes, fresh, saving.home, "a first save")
      first = try check.calls(of: saving)
      try check.expectFolderSynced(first.changes, saving.path, saving.home, "a later save")
    },
    CheckDefinition(
      "SAV-09", "Writes that take a part, and interrupted ones, are gone on with", profile: .durable, from: kit,
      by: "every write takes half of what it is given, and every second one is interrupted",
      causes: ["a short write is taken for a whole one"],
      catches: ["assumesFullWrite"]
    ) { check in
      let saving = try check.saveCase()
      let plan = try FaultPlan(CSF_SHORT)
      let end = try check.save(saving, "save with short writes", plan)
      guard case .value = end else { throw ExpectationFailure(expected: "the save succeeds", actual: "\(end)") }
      try check.expect(plan.wasReached, "a save writes", "no write was seen")
      let found = try check.verdict(saving)
      check.record.mark(found.word)
      try check.expect(found == .new, "the new store is there", found.text)
    },
    CheckDefinition(
      "SAV-10", "An error that closing reports makes the save fail", level: .should, profile: .durable, from: kit,
      by: "close fails for each file that was written, with EIO, ENOSPC and EDQUOT",
      causes: ["the result of close is not looked at"],
      catches: ["ignoresCloseError"], changesStore: true
    ) { check in
      let saving = try check.saveCase()
      for number in [EIO, ENOSPC, EDQUOT] {
        let error = try check.refusedSave(
          saving, "close fails with \(String(cString: strerror(number)))",
          try FaultPlan(
            CSF_FAIL_KIND, error: number,
            kinds: Int32(CSF_CLOSE.rawValue)))
        check.note(error.text)
      }
    },
    CheckDefinition(
      "SAV-11",
      "Working files lie beside the store, are new and the process's own, no wider than the store, and go with an error",
      profile: .durable, from: kit,
      by:
        "the calls of two processes; a store that only its owner may read, and a kill at each call; a full disk at each write",
      causes: ["a working file has a fixed name, or takes one that is there", "a working file is left"],
      catches: ["fixedTempName", "leavesTempOnError"], timeLimit: 60, changesStore: true
    ) { check in try check.expectGoodWorkingFiles(try check.saveCase()) },
    CheckDefinition(
      "SAV-12", "Mode, owner and extended attributes stay through a save", level: .should, profile: .durable, from: kit,
      by:
        "modes 0600, 0640 and 0664; another owner, where this process may give one; an attribute, where the file system has them",
      causes: ["the new file gets the mode of any new file"], catches: ["resetsMode"]
    ) { check in try check.expectAttributesKept(try check.saveCase()) },
    CheckDefinition(
      "SAV-13", "Another name of the same file (a hard link) keeps the old store, whole", level: .should,
      profile: .durable, from: kit,
      by: "link, save, read both", causes: ["the file is written in its place"], catches: ["inPlaceEdit"],
      demand: { $0.layout == .file ? .applies : .notApplicable("layout is folder: there are no hard links to folders") }
    ) { check in
      let saving = try check.saveCase()
      saving.reset()
      let other = check.path("other-name")
      try check.expect(link(saving.path, other) == 0, "a link can be made", String(cString: strerror(errno)))
      _ = try check.process("save") { try saving.save($0) }
      try check.expectEqual(try check.verdict(saving).word, "NEW", "the store")
      try check.expectUntouched(other, saving.oldFiles, "the other name")
    },
    CheckDefinition(
      "SAV-14",
      "A disk that may not be written, a folder that may not, a file too large and a used-up quota are distinguished",
      profile: .durable,
      from: kit,
      by:
        "EROFS, EACCES, EFBIG, EDQUOT, ENOSPC and EIO at the first call that changes something; the texts must differ",
      causes: ["every error becomes “cannot be saved”"], catches: ["genericError"], changesStore: true
    ) { check in
      let saving = try check.saveCase()
      var texts: [String: Int32] = [:]
      for number in [EROFS, EACCES, EFBIG, EDQUOT, ENOSPC, EIO] {
        let system = String(cString: strerror(number))
        let error = try check.refusedSave(
          saving, "\(system), at the first call", try FaultPlan(CSF_FAIL, at: 1, error: number))
        check.note("\(error.code ?? ""): \(error.text)")
        try check.expect(
          texts.updateValue(number, forKey: error.text) == nil, "\(system): its own error", error.text)
      }
    },
    CheckDefinition(
      "SAV-22", "Errors of a save name the file, have a code, and say what the system said", profile: .durable,
      from: kit,
      by: "each call fails in turn; each error is looked at", causes: ["an error is wrapped and what it said is lost"],
      catches: ["errorWithoutContext"], timeLimit: 60
    ) { check in try check.expectTellingErrors(try check.saveCase()) },
  ]

  private static let sameBytes: [CheckDefinition] = [
    CheckDefinition(
      "SAV-15", "A save of what is there already leaves the same bytes", profile: .durable, from: kit,
      by: "opened and saved unchanged; then changed, saved, changed back, and saved",
      causes: ["the time of the save, or a random number, is written"],
      catches: ["timestampInBytes"], demand: equalBytes
    ) { check in
      let golden = try check.golden()
      let before = Files.content(golden.path)
      _ = try check.process("open and save without a change", opening: golden.path, golden.graph.model) { _, open in
        try open.context.save()
        try open.coordinator.save(open.store)
        return true
      }
      try check.expectUntouched(golden.path, before, "after a save without a change")
      for round in 1...2 {
        try check.rewrite(golden.path, golden.graph.model)
        try check.expectUntouched(golden.path, before, "after a change that was undone, the \(round). time")
      }
    },
    CheckDefinition(
      "SAV-16", "The same objects give the same bytes, in whatever order they came and in whichever process",
      profile: .durable, from: kit,
      by:
        "ten builds in as many orders, three of them in new processes, with other hash seeds; each changes objects and deletes five, and saves again",
      causes: ["something is written in the order of a dictionary or a set"],
      catches: ["hashOrderOutput", "hashOrderOfDeletions"], demand: equalBytes
    ) { check in
      let path = check.path("build")
      var random = SeededRandom(check.seed)
      var first: String?
      for build in 0..<7 {
        var order = Array(Models.golden().objects.indices)
        order.shuffle(using: &random)
        let shuffled = build == 0 ? Array(order.indices) : order
        _ = try check.process("build \(build + 1)") { try $0.buildGolden(path, order: shuffled) }
        let digest = Files.digest(path)
        try check.expectEqual(digest, first ?? digest, "build \(build + 1), in another order")
        first = first ?? digest
      }
      for build in 0..<3 {
        let notes = try check.elsewhere("SAV-16 build")
        try check.expectEqual(notes.first, first, "build \(build + 8), in a new process")
      }
    },
    CheckDefinition(
      "SAV-17", "Repeated loads and saves are byte-stable",
      profile: .durable, from: kit,
      by:
        "two graphs, loaded and written again four times each in as many processes; the bytes are compared from the second on",
      causes: ["something is added at each save", "a value drifts between two of its texts"],
      catches: ["driftsEachSave"], demand: equalBytes
    ) { check in
      var people = Graph(
        Models.people, [("ann", "Person"), ("eve", "Manager"), ("team", "Team"), ("second", "Team"), ("desk", "Desk")])
      people.set("eve", "salary", .double(0.1))
      try people.relate("ann", "team", to: ["team"])
      try people.relate("ann", "queue", to: ["second", "team"])
      try people.relate("eve", "tags", to: ["second", "team"])
      for (place, graph) in [Models.golden(), people].enumerated() where check.hasRoom(for: graph) {
        let path = check.path("graph\(place)")
        _ = try check.process("save graph \(place)") { try $0.write(graph, to: path) }
        var before: [String: [UInt8]]?
        for round in 1...4 {
          try check.rewrite(path, graph.model)
          if let before { try check.expectUntouched(path, before, "graph \(place), written the \(round). time") }
          before = Files.content(path)
        }
      }
    },
    CheckDefinition(
      "SAV-18", "A small change changes little of the file", level: .measured, profile: .durable, from: kit,
      by: "one number of one of 200 objects; the pieces of the file that differ, in their order",
      causes: ["rows are written in another order each time"],
      catches: ["reordersOnEdit"], demand: equalBytes
    ) { check in
      var graph = Graph(Models.attributes([("name", .string), ("number", .integer64)]))
      for place in 0..<200 {
        graph.objects.append(
          .init(
            label: "\(place)", entity: "Sample",
            values: [
              "name": .string("object of the name \(place)"),
              "number": .integer(Int64(1000 + place)),
            ]))
      }
      let path = check.path()
      let old = graph
      let names = try check.process("save 200 objects") { try $0.write(old, to: path) }
      let before = Files.content(path) ?? [:]
      try check.requirePlain("object of the name 100", at: path)
      graph.set("100", "number", .integer(9999))
      let new = graph
      _ = try check.process("change one number") { try $0.edit(path, from: old, to: new, names: names) }
      let after = Files.content(path) ?? [:]
      let size = after.values.reduce(0) { $0 + $1.count }
      let changed = after.reduce(0) { $0 + CheckContext.changedBytes(before[$1.key] ?? [], $1.value) }
      check.note("\(changed) of \(size) bytes differ in pieces")
      try check.expect(changed * 2 < size, "less than half of the file differs", "\(changed) of \(size) bytes")
    },
  ]

  private static let otherSaves: [CheckDefinition] = [
    CheckDefinition(
      "SAV-21", "What cannot be written is found out before the store is touched", profile: .durable, from: kit,
      by:
        "a writer that gives up with its last byte; and the calls of a good save: the store itself is touched once, by a rename, after all writes",
      causes: ["the file is opened first, and its content made then"], catches: ["failsMidWrite"]
    ) { check in
      let saving = try check.saveCase()
      let plan = try check.calls(of: saving)
      let own = plan.changes.filter {
        [$0.path, $0.other ?? ""].contains { $0 == saving.path || $0.hasPrefix(saving.path + "/") }
      }
      try check.expect(
        own.count == 1 && (own[0].what == "rename" || own[0].what == "exchange"),
        "the store is touched once, by a rename",
        own.map { "\($0.what) \(check.shortened($0.path, saving))" }.joined(separator: "; "))
      saving.reset()
      _ = try check.refusal(of: "save with a writer that gives up at the end") { session in
        let failing = session.watched { hooks in
          hooks.afterSave = { (_, _) throws(PersistentStoreError) in
            throw PersistentStoreError(
              .unsupportedByFormat,
              "the last value cannot be written")
          }
        }
        return try saving.save(failing)
      }
      try check.expectUntouched(saving.path, saving.oldFiles, "after the failed save")
      try check.expect(saving.left.isEmpty, "nothing is beside the store", saving.left.joined(separator: ", "))
    },
    CheckDefinition(
      "SAV-24", "When the store's folder was moved away, a save fails or follows; it makes no second store",
      profile: .durable,
      from: "Atomic Store Life-cycle, Loading: “from the URL specified”",
      by:
        "the folder is renamed while the store is open, without and with a new folder in its place; then the store is saved",
      causes: ["missing folders are made at a save"], catches: ["resurrectsOldPath"]
    ) { check in
      for replaced in [false, true] {
        let saving = try check.saveCase("home\(replaced)")
        let moved = check.folder + "/moved\(replaced)"
        let home = saving.home
        let end = try check.attempt("open, move the folder\(replaced ? ", make another" : ""), change, save") {
          session in
          try session.opened(saving.path, saving.new.model) { open in
            rename(home, moved)
            if replaced { Files.makeFolder(home) }
            _ = try session.change(open, from: saving.old, to: saving.new, names: saving.names)
            try open.context.save()
            return true
          }
        }
        let there = Files.names(in: home)
        try check.expect(
          there.isEmpty && Files.exists(home) == replaced, "nothing is at the old place", there.joined(separator: ", "))
        let file = moved + saving.path.dropFirst(home.count)
        switch end {
        case .refused(let error):
          try check.expect(error.code != nil, "the save follows, or throws a store error", error.text)
          try check.expectUntouched(file, saving.oldFiles, "the store that was moved")
          check.note("the save throws: \(error.text)")
        case .value:
          try check.expectSame(
            try check.process("read the store that was moved") { try $0.read(file, saving.new.model) }, saving.newText,
            "the store that was moved")
          check.note("the save follows")
        default: throw PhaseFailure(expected: "the save follows, or throws a store error", actual: "\(end)")
        }
      }
    },
  ]

  static let committed = "Atomic Store Life-cycle, Saving: “Finally, the store receives a save: message to commit”"

  /// Parts of checks, for new processes.
  static let parts: [CheckDefinition] = [
    CheckDefinition("SAV-16 build", "", from: "", by: "") { check in
      let path = check.path("build")
      _ = try check.process("build, change and delete objects") {
        try $0.buildGolden(path, order: Array(Models.golden().objects.indices.reversed()))
      }
      check.note(Files.digest(path))
      check.record.expected()
    }
  ]
}
