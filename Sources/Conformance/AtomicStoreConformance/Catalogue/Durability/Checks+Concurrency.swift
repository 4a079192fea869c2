import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import CProcesses
import FoundationEssentials
import Glibc

/// CON: others have the file too.
extension Checks {
  #if DEBUG
    /// Fewer where the code under test is ten times slower.
    private static let rounds = 40
  #else
    private static let rounds = 120
  #endif

  static let concurrency: [CheckDefinition] = [
    CheckDefinition(
      "CON-01", "What another process saved meanwhile is not lost without a word", level: .should, from: kit,
      by: "a store is opened, saved by another process, changed and saved: the same object, and another one",
      causes: ["whether the file is still the one that was read was not asked"], catches: ["lostUpdate"],
      changesStore: true
    ) { check in
      for object in [0, 1] {
        let (path, graph, _) = try check.golden("store\(object)")
        let end = try check.attempt(
          "open it, let another process save, change \(object == 0 ? "the same" : "another") object, save"
        ) { session in
          let signal = path + ".go"
          let other = try startProcess {
            while !Files.exists(signal) { usleep(1000) }
            try session.setNumber(path, graph, object: 0, to: 77)
          }
          let open = try session.open(path, graph.model)
          return try withExtendedLifetime(open) {
            let all = try session.all(open, "Node").sorted { StoreSession.name($0) < StoreSession.name($1) }
            _ = try all.map { try $0.value(forKey: "number") }
            Files.write([], to: signal)
            var code: Int32 = 0
            guard cpr_wait(other, 10_000, &code) == 1, code == 0 else {
              throw ExpectationFailure(expected: "the other process saves", actual: "it does not")
            }
            try all[object].setValue(88, forKey: "number")
            try open.context.save()
            return true
          }
        }
        let numbers = try check.numbers(path, graph)
        switch end {
        case .value:
          try check.expect(numbers.contains(88), "what was saved last is there", "\(numbers)")
          try check.expect(
            object == 1 && numbers.contains(77), "a conflict is refused, other changes are kept", "\(numbers)")
        case .refused:
          try check.expect(
            numbers.contains(77) && !numbers.contains(88), "after the refusal the other’s change is there", "\(numbers)"
          )
        default: throw ExpectationFailure(expected: "the save is refused, or keeps both changes", actual: "\(end)")
        }
      }
    },
    CheckDefinition(
      "CON-02", "Where the file was taken away meanwhile, a save writes all of the store, or refuses", from: kit,
      by: "a store is opened, its file removed, an object changed and saved",
      causes: ["only what had changed was written"],
      catches: ["savesDeltaOnly"]
    ) { check in
      let (path, graph, text) = try check.golden()
      let end = try check.attempt("open it, remove the file, change an object, save") { session in
        try session.changeFirst(path, graph) { Files.remove(path) }
      }
      switch end {
      case .value:
        try check.expectEqual(
          try check.process("read it") { try $0.read(path, graph.model) }.count, text.count, "objects")
      case .refused(let error):
        try check.expect(error.code != nil, "a store error", error.text)
        try check.expectEqual(Files.names(in: check.folder), [], "what is in the folder")
      default: throw ExpectationFailure(expected: "all is written, or the save is refused", actual: "\(end)")
      }
    },
    CheckDefinition(
      "CON-03", "Where something of another kind appears meanwhile, a save is refused and leaves it", from: kit,
      by: "a store is opened, and replaced by a folder with a file, or by a file",
      causes: ["what lay in the way was taken away"],
      catches: ["removesOtherKind"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let isFolder = Files.isFolder(path)
      _ = try check.refusal(of: "saving where something of another kind is") { session in
        try session.changeFirst(path, graph) {
          Files.remove(path)
          Files.put(isFolder ? ["": Array("x".utf8)] : ["note.txt": Array("x".utf8)], at: path)
        }
      }
      try check.expectEqual(
        Files.content(path), isFolder ? ["": Array("x".utf8)] : ["note.txt": Array("x".utf8)], "what is there")
    },
    CheckDefinition(
      "CON-04", "Two coordinators of one process do not lose each other’s changes", level: .should, from: kit,
      by: "both open a store, both change the same object, one saves after the other",
      causes: ["whether the file is still the one that was read was not asked"],
      catches: ["lostUpdate"], changesStore: true
    ) { check in
      let (path, graph, _) = try check.golden()
      let end = try check.attempt("open it twice, change one object in both, save both") { session in
        let one = try session.open(path, graph.model)
        let two = try session.open(path, graph.model)
        return try withExtendedLifetime((one, two)) {
          for (open, number) in [(one, 77), (two, 88)] {
            try session.all(open, "Node").sorted { StoreSession.name($0) < StoreSession.name($1) }.first?.setValue(
              number, forKey: "number")
          }
          try one.context.save()
          try two.context.save()
          return true
        }
      }
      guard case .refused = end else {
        throw ExpectationFailure(expected: "the second save is refused as a conflict", actual: "\(end)")
      }
      let numbers = try check.numbers(path, graph)
      try check.expect(numbers.contains(77) && !numbers.contains(88), "the first one’s change is there", "\(numbers)")
    },
    CheckDefinition(
      "CON-05", "Two processes that save again and again leave whole states, one after the other", profile: .durable,
      from: kit,
      by:
        "each makes \(rounds) changes, of two values, to its own object, again where refused, and reads them; the file is read whole all the while",
      causes: [
        "both wrote to the same temporary file", "the file was written in its place",
        "values of an older save were kept",
      ],
      catches: ["readerSeesTruncation", "mixesValuesOfTwoSaves"], timeLimit: 90, changesStore: true
    ) { check in
      let (path, graph, text) = try check.golden()
      let seen = try check.process("save from two processes, read from a third", seconds: 60) { session in
        let writers = try (0..<2).map { writer in
          try startProcess {
            for round in 1...rounds {
              var object: String?
              while object == nil { object = try? session.setState(path, graph, object: writer, round: round) }
              // A state may last until the next save only, too short for a reader who comes by chance.
              let found = Self.troubles(at: path, in: session, graph.model, text, saved: object.map { ($0, round) })
              guard found.isEmpty else {
                Files.write(Array(found.joined(separator: "\n").utf8), to: notes(of: writer, path))
                return
              }
            }
          }
        }
        var troubles: [String] = []
        var reads = 0
        while writers.contains(where: { isRunning($0) }) {
          reads += 1
          troubles += Self.troubles(at: path, in: session, graph.model, text)
          if troubles.count > 3 { break }
          waitForWriter(afterReads: reads)
        }
        for writer in writers { kill(writer, SIGKILL) }
        for writer in writers.indices {
          guard let found = Files.read(notes(of: writer, path)) else { continue }
          troubles.append("writer \(writer) reads after its save: " + String(decoding: found, as: UTF8.self))
        }
        return ["\(reads)"] + troubles
      }
      check.note("\(seen[0]) reads")
      try check.expectEqual(Array(seen.dropFirst()), [], "troubles of who reads")
      let numbers = try check.numbers(path, graph)
      try check.expectEqual(
        numbers.filter { $0 == Int64(1_000 + rounds) }.count, 2, "objects that have the last number of their writer")
      let last = try check.process("read it at the end") { try $0.read(path, graph.model) }
      try check.expectEqual(Self.troubles(last, text), [], "troubles at the end")
    },
    CheckDefinition(
      "CON-06", "Who reads while another one saves sees one state or the other", profile: .durable, from: kit,
      by: "a process saves two graphs in turn, of other sizes; another one reads",
      causes: ["the file was written in its place"],
      catches: ["readerSeesTruncation"]
    ) { check in
      let (path, graph, text) = try check.golden()
      let counts = try check.process("read while another process adds and deletes objects") { session in
        let writer = try startProcess {
          let open = try session.open(path, graph.model)
          for round in 0..<60 {
            if round % 2 == 0 {
              for _ in 0..<200 {
                let object = try open.context.insertNewObject(forEntityName: "Node")
                try object.setValue("extra", forKey: "name")
              }
            } else {
              for object in try session.all(open, "Node") where try object.value(forKey: "name") as? String == "extra" {
                open.context.delete(object)
              }
            }
            try open.context.save()
          }
        }
        var counts: [String: Int] = [:]
        while isRunning(writer) {
          do { counts["\(try session.read(path, graph.model).count) objects", default: 0] += 1 } catch let error
            as PersistentStoreError
          {
            if error.code != .changedOnDisk { counts["\(error)", default: 0] += 1 }
          }
          if counts.count > 4 { break }
          waitForWriter(afterReads: counts.values.reduce(0, +))
        }
        kill(writer, SIGKILL)
        return counts
      }
      check.note("\(counts.sorted { $0.key < $1.key }.map { "\($0.value) times \($0.key)" }.joined(separator: ", "))")
      let states = ["\(text.count) objects", "\(text.count + 200) objects"]
      try check.expectEqual(counts.keys.filter { !states.contains($0) }.sorted(), [], "other things that were read")
      try check.expectEqual(
        try check.process("read it at the end") { try $0.read(path, graph.model) }.count, text.count,
        "objects at the end")
    },
    CheckDefinition(
      "CON-09", "Stores of one type that are open together share nothing", from: kit,
      by: "eight stores are filled and saved by turns in one process, and read in another",
      causes: ["what was written last was kept in one place for all"],
      catches: ["staticScratchBuffer"]
    ) { check in
      let graphs = (0..<8).map { number in
        var graph = Models.golden()
        for place in graph.objects.indices {
          graph.objects[place].values["name"] = .string("store \(number), object \(place)")
        }
        return graph
      }
      let made = try check.process("fill and save eight stores by turns") { session in
        let stores = try graphs.indices.map { try session.open(check.path("store\($0)"), Models.nodes) }
        return try withExtendedLifetime(stores) {
          let objects = try zip(stores, graphs).map { try session.insert($1, into: $0.context) }
          for round in 0..<2 {
            for (store, inserted) in zip(stores, objects) {
              if round == 1 { try inserted["node 0"]?.setValue(true, forKey: "flag") }
              try store.context.save()
            }
          }
          return objects.map { $0.mapValues { StoreSession.name($0) } }
        }
      }
      for (number, references) in made.enumerated() {
        let read = try check.process("read store \(number)") { try $0.read(check.path("store\(number)"), Models.nodes) }
        try check.expectSame(read, graphs[number].text(references), "store \(number)")
      }
    },
    CheckDefinition(
      "CON-10", "A process that is killed leaves nothing locked, and one that it starts gets none of its files",
      from: kit,
      by:
        "a process is killed with the store open, and while it saves; the store is opened and saved after that; descriptors close at exec",
      causes: ["a lock file was left"], catches: ["staleLockBlocks"]
    ) { check in
      let (path, graph, text) = try check.golden()
      _ = try check.attempt("be killed with the store open") { session in
        let open = try session.open(path, graph.model)
        return withExtendedLifetime(open) {
          kill(getpid(), SIGKILL)
          return true
        }
      }
      for call in [1, 3] {
        let plan = try FaultPlan(CSF_KILL, at: call)
        _ = try check.attempt("be killed while it saves, before call \(call)", faults: plan) {
          try $0.changeName(path, graph, to: "killed")
        }
      }
      check.note("opening and saving after that")
      try check.changeName(path, graph, to: "after")
      let read = try check.process("read it") { try $0.read(path, graph.model) }
      try check.expectEqual(read.count, text.count, "objects")
      let open = try check.process("look at the descriptors of an open store") { session in
        let before = Set(StoreSession.descriptors())
        let open = try session.open(path, graph.model)
        return withExtendedLifetime(open) {
          StoreSession.descriptors().filter {
            !before.contains($0) && fcntl(Int32($0) ?? -1, F_GETFD) & FD_CLOEXEC == 0
          }
        }
      }
      try check.expectEqual(open, [], "descriptors that a program would inherit")
    },
  ]

  /// Where a writer of CON-05 notes what was wrong.
  private static func notes(of writer: Int, _ path: String) -> String { path + ".writer\(writer)" }

  /// Reads a state of CON-05.
  ///
  /// - Parameter saved: The object that only this process changes, with the round that it has saved.
  /// - Returns: What is wrong in it. A refusal because the file was replaced meanwhile is said, and not guessed.
  private static func troubles(
    at path: String, in session: StoreSession, _ model: ModelDescription?, _ first: GraphText,
    saved: (object: String, round: Int)? = nil
  ) -> [String] {
    do {
      let read = try session.read(path, model)
      let name = saved.flatMap { read.objects[$0.object]?["name"] }
      let isOld = saved.map { name != "string:round \($0.round)" } ?? false
      return troubles(read, first) + (isOld ? ["\(saved?.object ?? "") has the name \(name ?? "nil")"] : [])
    } catch let error as PersistentStoreError where error.code == .changedOnDisk {
      return []
    } catch { return ["\(error)"] }
  }

  /// What is wrong in a state of CON-05: objects are as they were, or have the number and the name of one round.
  private static func troubles(_ read: GraphText, _ first: GraphText) -> [String] {
    var troubles = first.objects.keys.filter { read.objects[$0] == nil }.map { "\($0) is missing" }
    for (object, values) in read.objects.sorted(by: { $0.key < $1.key }) {
      guard var old = first.objects[object] else {
        troubles.append("\(object) is new")
        continue
      }
      guard values != old else { continue }
      let name = values["name"] ?? ""
      old["name"] = name
      old["number"] = values["number"]
      let round = name.split(separator: " ").last.flatMap { Int($0) } ?? 0
      if values != old || values["number"] != "integer:\(1_000 + round)" || !name.hasPrefix("string:round ") {
        troubles.append("\(object) has the name '\(name)' and the number \(values["number"] ?? "nil")")
      }
    }
    return troubles
  }

  /// Runs something in a copy of this process. To be made before the process has used any lock: what a lock knows of
  /// its thread is not right in a copy.
  private static func startProcess(_ body: () throws -> Void) throws -> pid_t {
    let process = csf_fork()
    if process < 0 { throw Skipped(reason: "no process can be started") }
    if process == 0 {
      do { try body() } catch { _exit(1) }
      _exit(0)
    }
    return process
  }
  /// Waits a while after many reads: a writer that waits for a busy disk needs no processor time, of which the check
  /// has so much, and reads without end would take it all.
  private static func waitForWriter(afterReads count: Int) { if count > 300 { usleep(100_000) } }
  private static func isRunning(_ process: pid_t) -> Bool {
    var code: Int32 = 0
    return cpr_wait(process, 0, &code) == 0
  }
}

extension StoreSession {
  /// Opens a store, lets something happen to its files, then changes an object and saves.
  func changeFirst(_ path: String, _ graph: Graph, after happening: () -> Void) throws -> Bool {
    let open = try open(path, graph.model)
    return try withExtendedLifetime(open) {
      let first = try all(open, "Node").first
      happening()
      try first?.setValue("changed", forKey: "name")
      try open.context.save()
      return true
    }
  }

  /// Opens a store, gives one of its nodes, in the order of their names, the name and number of a round, and saves it.
  /// Returns what the node is called.
  func setState(_ path: String, _ graph: Graph, object: Int, round: Int) throws -> String {
    let open = try open(path, graph.model)
    return try withExtendedLifetime(open) {
      let node = try all(open, "Node").sorted { StoreSession.name($0) < StoreSession.name($1) }[object]
      try node.setValue(StoredValue.integer(Int64(1_000 + round)), forKey: "number")
      try node.setValue(StoredValue.string("round \(round)"), forKey: "name")
      try open.context.save()
      return StoreSession.name(node)
    }
  }
}

extension CheckContext {
  func numbers(_ path: String, _ graph: Graph) throws -> [Int64] {
    try process("read the numbers") { session in
      let open = try session.open(path, graph.model, isReadOnly: true)
      return withExtendedLifetime(open) {
        let nodes = open.store.nodes
        guard let entity = nodes.model.entity(named: "Node"),
          let slot = entity.slots.first(where: { $0.name == "number" })
        else { return [] }
        return nodes.handles(of: entity.index).compactMap { node in
          if case .integer(let number) = nodes.value(slot: slot.index, of: node) { number } else { nil }
        }
      }
    }
  }
}
