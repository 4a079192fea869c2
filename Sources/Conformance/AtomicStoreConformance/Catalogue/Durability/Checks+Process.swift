import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// PRO, continued: what a format leaves of the process that it runs in, and how deep it reads.
extension Checks {
  static let process: [CheckDefinition] = [
    CheckDefinition(
      "PRO-04", "A store leaves the process as it was: directory, masks, signals, locale, environment, streams",
      from: kit,
      by:
        "a store is begun, saved, read, changed, asked for its metadata, given other metadata, and refused; the state of the process is compared after each, and its threads are counted after each of four rounds",
      causes: ["a library changes what belongs to the program", "a setting is changed for a call and not put back"],
      catches: [
        "changesDirectory", "changesUmask", "blocksSignals", "changesLocale", "changesEnvironment",
        "takesStandardInput",
      ]
    ) { check in
      let (path, graph, _) = try check.golden()
      let damaged = check.path("damaged")
      Files.copy(path, to: damaged)
      try check.cutShort(damaged)
      let found = try check.process("do everything that is done to a store", seconds: 60) { session in
        try session.disturbances(path, graph, fresh: check.path("fresh"), damaged: damaged)
      }
      try check.expect(found.isEmpty, "the process is as it was", found.prefix(8).joined(separator: "; "))
    },
    CheckDefinition(
      "HOS-15", "Metadata deeper than the limit “maximumDepth” is refused, and no deeper is", profile: .hostile,
      from: kit,
      by: "lists in each other, 40 deep, opened with limits of 8 and of 100; and 600 deep",
      causes: ["nested values are read without counting"], catches: ["ignoresDepth"], demand: metadataIsKept
    ) { check in
      try check.expectDepthLimited()
    },
  ]
}

/// What belongs to a process, and not to a store.
struct ProcessState: Sendable {
  private var parts: [ScalarKey: String] = [:]

  /// As it is now.
  static var now: ProcessState {
    var state = ProcessState()
    state.parts["directory"] = Files.target(ofLink: "/proc/self/cwd") ?? "none"
    let status = String(decoding: Files.read("/proc/thread-self/status") ?? [], as: UTF8.self)
    for line in status.split(separator: "\n") {
      for key in ["Umask", "SigBlk", "SigIgn", "SigCgt", "Uid", "Gid", "Groups", "Name"]
      where line.hasPrefix(key + ":") {
        state.parts["\(key)"] = String(line.dropFirst(key.count + 1))
      }
    }
    state.parts["locale"] = setlocale(LC_ALL, nil).map { String(cString: $0) } ?? "none"
    state.parts["rounding"] = "\(fegetround())"
    state.parts["priority"] = "\(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))"
    for (name, value) in ProcessInfo.processInfo.environment { state.parts["environment \(name)"] = value }
    for stream in 0...2 as ClosedRange<Int32> {
      var info = stat()
      let isOpen = fstat(stream, &info) == 0
      state.parts["stream \(stream)"] =
        isOpen ? "device \(info.st_dev), file \(info.st_ino), flags \(fcntl(stream, F_GETFL))" : "closed"
    }
    let limits = String(decoding: Files.read("/proc/self/limits") ?? [], as: UTF8.self)
    for line in limits.split(separator: "\n").dropFirst() { state.parts["limit \(line.prefix(26))"] = String(line) }
    var timer = itimerval()
    getitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer)
    state.parts["timer"] = timer.it_value.tv_sec > 0 || timer.it_value.tv_usec > 0 ? "set" : "none"
    var child = siginfo_t()
    let hasChild = waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0
    state.parts["child processes"] = hasChild ? "some" : "none"
    state.parts["open files"] = StoreSession.descriptors().joined(separator: " ")
    return state
  }

  /// What is otherwise than it was.
  func differences(since before: ProcessState) -> [String] {
    Set(parts.keys).union(before.parts.keys).sorted().compactMap { key in
      let (old, new) = (before.parts[key] ?? "none", parts[key] ?? "none")
      return ScalarKey(old) == ScalarKey(new) ? nil : "\(key.text) was \(old), and is \(new)"
    }
  }
}

extension StoreSession {
  /// Does what can be done to a store, and compares the state of the process before and after each.
  fileprivate func disturbances(_ path: String, _ graph: Graph, fresh: String, damaged: String) throws -> [String] {
    var found: [String] = []
    held.isWanted = false
    // Flags belong to what was opened, which is shared with the process that this one was forked from.
    let input = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
    dup2(input, 0)
    close(input)
    // The first thread of a process lets the library of C handle a signal: a format may use threads.
    Self.joinThread()
    try compareStates(path, graph, fresh: fresh, damaged: damaged, &found)
    // Threads of a pool stay; those that come with each round pile up.
    var threads: [Int] = []
    for _ in 2...4 {
      try compareStates(path, graph, fresh: fresh, damaged: damaged, &found)
      threads.append(Files.names(in: "/proc/self/task").count)
    }
    if threads[0] < threads[1], threads[1] < threads[2] {
      found.append("threads after each round: \(threads.map(String.init).joined(separator: ", "))")
    }
    return found
  }

  private static func joinThread() {
    var thread = pthread_t()
    guard pthread_create(&thread, nil, { _ in nil }, nil) == 0 else { return }
    pthread_join(thread, nil)
  }

  /// One round of everything that is done to a store.
  private func compareStates(
    _ path: String, _ graph: Graph, fresh: String, damaged: String, _ found: inout [String]
  ) throws {
    Files.remove(fresh)
    func watch(_ what: String, _ body: () throws -> Void) rethrows {
      let before = ProcessState.now
      try body()
      found += ProcessState.now.differences(since: before).map { "after \(what): \($0)" }
    }
    try watch("a store was begun, saved and closed") {
      let open = try open(fresh, graph.model)
      _ = try insert(graph, into: open.context)
      try open.context.save()
      try open.coordinator.remove(open.store)
    }
    try watch("it was read") {
      let open = try open(path, graph.model, isReadOnly: true)
      _ = try GraphText(open.store)
      try open.coordinator.remove(open.store)
    }
    try watch("an object was changed") { _ = try setNumberAndRemove(path, graph) }
    try watch("the metadata was read") { _ = try metadata(path) }
    if subject.type.traits.setsMetadataAlone {
      try watch("metadata was set") { try setMetadata(["Which": .string("set")], path) }
    }
    watch("a damaged store was refused") { _ = try? read(damaged, graph.model) }
  }

  private func setNumberAndRemove(_ path: String, _ graph: Graph) throws -> Bool {
    let open = try open(path, graph.model)
    try all(open, "Node").first?.setValue(StoredValue.integer(7), forKey: "number")
    try open.context.save()
    try open.coordinator.remove(open.store)
    return true
  }
}

extension CheckContext {
  fileprivate func expectDepthLimited() throws {
    let path = path()
    func nested(_ depth: Int) -> PropertyListValue {
      (0..<depth).reduce(PropertyListValue.integer(1)) { value, level in
        level % 2 == 0 ? .array([value]) : .dictionary(["key": value])
      }
    }
    let graph = Models.golden()
    _ = try process("save metadata of 40 lists in each other") {
      try $0.write(graph, to: path, metadata: ["deep": nested(40)])
    }
    let name = "maximumDepth"
    _ = try refusal(of: "reading it with a depth of 8", codes: ["limitExceeded"]) { session in
      try session.read(path, graph.model, options: [name: "8"])
    }
    let read = try process("read it with a depth of 100") { session in
      try session.opened(path, graph.model, isReadOnly: true, options: [name: "100"]) { open in
        open.store.metadata.entries["deep"] == nested(40)
      }
    }
    try expect(read, "the metadata is as it was saved", "it is not")
    // Beyond what any reader takes: refused when it is written, or when it is read.
    let far = self.path("far")
    let saved = try unlessRefused("save metadata of 600 lists in each other") {
      try $0.write(graph, to: far, metadata: ["deep": nested(600)])
    }
    guard saved != nil else { return }
    note(
      try refusal(of: "reading it", codes: ["limitExceeded", "malformed"]) { try $0.read(far, graph.model) }.text)
  }
}
