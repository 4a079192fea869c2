import AtomicStoreKit
import AtomicStoreSPI
import CStoreFaults
import FoundationEssentials
import Glibc

/// A store, a change to it, and what lies there when the save of that change is cut.
struct Sweep {
  let lab: Lab
  /// Where the store is that is saved over, in a folder of its own, so that what else lies there is litter.
  let path: String
  private let folder: String
  private let original: String
  let old: GraphText
  let new: GraphText
  private let model = Models.nodes

  init(_ lab: Lab) throws {
    self.lab = lab
    let name = URL(fileURLWithPath: lab.path("store")).lastPathComponent
    original = lab.path("original")
    let graph = Models.golden()
    let original = original
    let references = try lab.process("save a store of \(graph.objects.count) objects") { try $0.write(graph, to: original) }
    old = try graph.text(references)
    folder = lab.folder + "/sweep"
    path = folder + "/" + name
    // What the change makes of it, where nothing is cut.
    let changed = lab.path("changed")
    Files.copy(original, to: changed)
    _ = try lab.process("save a change to a copy of it") { try Self.change($0, changed) }
    new = try lab.process("read that copy") { try $0.read(changed, Models.nodes) }
    try lab.expect(!old.differences(from: new).isEmpty, "the change changes something", "the copy is as it was")
  }

  /// A value, a new object, an object less.
  @discardableResult static func change(_ bench: Bench, _ path: String) throws -> Bool {
    let open = try bench.open(path, Models.nodes)
    return try withExtendedLifetime(open) {
      let all = try open.context.fetch(FetchRequest<ManagedObject>(entityName: "Node", sortKeys: [SortKey("number")]))
      guard all.count > 3 else { throw Disappointment(expected: "the store's objects are there", actual: "\(all.count) are") }
      try all[0].setValue("changed", forKey: "name")
      open.context.delete(all[3])
      let made = try open.context.insertNewObject(forEntityName: "Node")
      try made.setValue("new", forKey: "name")
      try made.setValue(all[1], forKey: "parent")
      try open.context.save()
      return true
    }
  }

  /// Puts the store back as it was, alone in its folder.
  func restore() {
    Files.remove(folder)
    Files.makeFolder(folder)
    Files.copy(original, to: path)
  }

  /// How many calls one save makes that change something, and which.
  func count() throws -> FaultPlan {
    restore()
    let plan = try FaultPlan()
    let path = path
    guard case .value = try lab.attempt("count the calls of one save", faults: plan, { try Self.change($0, path) }) else {
      throw Disappointment(expected: "a save with its calls counted succeeds", actual: "it failed")
    }
    try lab.expect(plan.calls > 2, "a save makes calls that are seen", "\(plan.calls) were")
    return plan
  }

  /// What lies there now, read by a process that knows nothing.
  func judge() throws -> String {
    let path = path
    guard Files.exists(path) else { return "GONE" }
    switch try lab.attempt("read what lies there", { try $0.read(path, Models.nodes) }) {
    case .value(let text):
      if old.differences(from: text).isEmpty { return "OLD" }
      if new.differences(from: text).isEmpty { return "NEW" }
      return text.count == 0 ? "EMPTY" : "OTHER"
    case .refused: return "CORRUPT"
    case .crashed, .exited: return "CRASH"
    case .timedOut: return "HANG"
    }
  }

  /// What lies beside the store.
  var litter: [String] {
    let name = URL(fileURLWithPath: path).lastPathComponent
    return Files.names(in: folder).filter { $0 != name }
  }

  /// Cuts the save at each of its calls in turn. After each: the old store or the new one, whole, and the next save works.
  ///
  /// - Parameter accepts: Whether what was found fits how the save ended; the words are those of ``judge()``.
  func run(
    _ mode: csf_mode, error: Int32 = 0, leavesLitter: Bool = false, _ accepts: (_ found: String, _ failed: Bool) -> Bool
  ) throws {
    let plan = try count()
    let calls = plan.changes
    let path = path
    for number in 1...plan.calls {
      restore()
      let cut = try FaultPlan(mode, at: number, error: error)
      let call = number <= calls.count ? calls[number - 1] : nil
      let what = "cut call \(number) of \(plan.calls), \(call?.what ?? "?")"
      let end = try lab.attempt(what, faults: cut) { try Self.change($0, path) }
      var failed = true
      switch end {
      case .value: failed = false
      case .refused(let refusal):
        try lab.expect(refusal.code != nil, "\(what): a store error", refusal.text)
        try lab.expect(refusal.hasFile, "\(what): the error names the file", refusal.text)
      case .crashed(let signal):
        try lab.expect(mode == CSF_KILL && signal == SIGKILL, "\(what): no crash", "signal \(signal)")
      case .exited(let code): throw Disappointment(expected: "\(what): no end of the process", actual: "it ended with \(code)")
      case .timedOut: throw Disappointment(expected: "\(what): no hang", actual: "it hung")
      }
      let left = litter
      let found = try judge()
      lab.record.mark(found)
      try lab.expect(
        cut.wasReached || mode == CSF_SHORT, "\(what): the call was reached", "it was not: the save is another one each time")
      try lab.expect(
        accepts(found, failed), "\(what): the old store or the new one, whole",
        "\(found), after a save that \(failed ? "failed" : "said that it succeeded")")
      // A file that cannot be removed stays until the next save.
      if !leavesLitter, call?.what != "unlink", call?.what != "remove folder" {
        try lab.expect(left.isEmpty, "\(what): nothing is left beside the store", left.joined(separator: ", "))
      }
      // And the next save works, and clears away.
      if found == "OLD" || found == "NEW" {
        if found == "NEW" { restoreStore() }
        _ = try lab.process("save again") { try Self.change($0, path) }
        try lab.expectEqual(try judge(), "NEW", "\(what), then a save that is not cut")
        try lab.expect(litter.isEmpty, "\(what): the next save leaves nothing beside the store", litter.joined(separator: ", "))
      }
    }
  }

  /// Puts the store back and leaves what lies beside it.
  private func restoreStore() {
    Files.remove(path)
    Files.copy(original, to: path)
  }
}
