import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

extension CheckContext {
  private struct Seen: Codable, Sendable {
    var text: GraphText
    var state: String
  }

  /// - Parameter name: The folder that it gets.
  func saveCase(_ name: String = "home", old: Graph = Models.golden(), new: Graph? = nil) throws -> SaveCase {
    let home = folder + "/" + name
    Files.makeFolder(home)
    let suffix = traits.fileExtensions.first.map { "." + $0 } ?? ""
    let path = home + "/store" + suffix
    let keeps = traits.keepsMetadata
    var after = old
    if let new {
      after = new
    } else {
      after.set("node 1", "name", .string("another name, and a longer one than before"))
      after.set("node 2", "number", .integer(-77))
      after.set("node 3", "flag", nil)
      after.remove("node 7")
    }
    let names = try process("save the old store") { session in
      var entries = PropertyListDictionary()
      if keeps { entries[SaveCase.key] = .string("old") }
      return try session.write(old, to: path, metadata: keeps ? entries : nil)
    }
    guard let files = Files.content(path) else {
      throw ExpectationFailure(expected: "a store is at \(path)", actual: "nothing is")
    }
    return SaveCase(
      home: home, path: path, old: old, new: after, names: names, oldText: try old.text(names),
      newText: try after.text(names),
      oldFiles: files, keepsMetadata: keeps)
  }

  /// Opens what is there in its own process.
  func verdict(_ saving: SaveCase) throws -> SaveVerdict {
    let end = try attempt("look what is there") { session -> Seen in
      try session.opened(saving.path, saving.new.model, isReadOnly: true) { open in
        var state = ""
        if case .string(let text)? = open.store.metadata.entries[SaveCase.key] { state = text }
        return Seen(text: try GraphText(open.store), state: state)
      }
    }
    switch end {
    case .value(let seen):
      let state = saving.keepsMetadata ? seen.state : nil
      if saving.newText.differences(from: seen.text).isEmpty, state ?? "new" == "new" { return .new }
      if saving.oldText.differences(from: seen.text).isEmpty, state ?? "old" == "old" { return .old }
      let first = saving.newText.differences(from: seen.text).first
      return .other(
        "a store of \(seen.text.count) objects that is neither: \(first.map { "\($0.actual), not \($0.expected)" } ?? "the objects are new")"
          + (state.map { "; its metadata is of the \($0) one" } ?? ""))
    case .refused(let error): return .other("a store that cannot be opened: \(error.text)")
    case .crashed(let signal): return .other("a store that makes its reader crash with signal \(signal)")
    case .exited(let code): return .other("a store that makes its reader exit with \(code)")
    case .timedOut: return .other("a store that makes its reader hang")
    }
  }

  /// Saves with the given plan, from the old store.
  func save(_ saving: SaveCase, _ what: String, _ plan: FaultPlan?) throws -> PhaseEnd<Bool> {
    saving.reset()
    return try attempt(what, faults: plan) { try saving.save($0) }
  }

  /// How many calls a save is made of; ends the check where it does not succeed when nothing is in its way.
  ///
  /// - Parameter mistakes: What the calls do of themselves, as bits of `csf_mistake`.
  func calls(of saving: SaveCase, mistakes: Int32 = 0) throws -> FaultPlan {
    let plan = try FaultPlan(CSF_COUNT, mistakes: mistakes)
    let end = try save(saving, "save the change, and count the calls that change something", plan)
    guard case .value = end else {
      throw PhaseFailure(expected: "the save succeeds when nothing is in its way", actual: "\(end)")
    }
    let verdict = try verdict(saving)
    try expect(verdict == .new, "after a save the new store is there", verdict.text)
    return plan
  }

  /// Saves once for each call that a save is made of, with that call failing or the process killed in its place; looks
  /// at each result from another process; saves again.
  ///
  /// - Parameters:
  ///   - savesAgain: Whether the next save is tried too.
  ///   - mistakes: What the calls do of themselves, as bits of `csf_mistake`.
  func sweep(
    _ saving: SaveCase, _ mode: csf_mode, error number: Int32 = 0, _ what: String, savesAgain: Bool = true,
    mistakes: Int32 = 0
  ) throws {
    let counted = try calls(of: saving, mistakes: mistakes)
    let trace = counted.changes
    try expect(counted.calls > 0, "a save makes calls that change something", "none was seen")
    var problems: [ExpectationFailure] = []
    var left: [String: Int] = [:]
    var errors: Set<String> = []
    for place in 1...counted.calls {
      let call = place <= trace.count ? trace[place - 1] : nil
      let label =
        "\(what) at call \(place) of \(counted.calls)"
        + (call.map { " (\($0.what) \(shortened($0.path, saving)))" } ?? "")
      let plan = try FaultPlan(mode, at: place, error: number, mistakes: mistakes)
      let end = try save(saving, label, plan)
      // The same save makes the same calls: a fault that did not happen proves nothing.
      guard plan.wasReached else {
        throw ExpectationFailure(
          expected: "\(label): the call is made again", actual: "the save ends before it: \(end)")
      }
      let found = try verdict(saving)
      record.mark(found.word)
      let leftFiles = saving.left
      for name in leftFiles { left[shape(name), default: 0] += 1 }
      if case .refused(let error) = end { errors.insert(error.text) }
      problems += Self.problems(of: end, mode, call?.what, found: found, leftFiles: leftFiles).map {
        ExpectationFailure(expected: "\(label): \($0.expected)", actual: $0.actual)
      }
      if savesAgain, problems.isEmpty {
        if let problem = try problemOfNextSave(saving, mistakes: mistakes) {
          problems.append(.init(expected: "\(label): \(problem.expected)", actual: problem.actual))
        }
        for name in saving.left { left["\(shape(name)) also after the next save", default: 0] += 1 }
      }
    }
    for error in errors.sorted().prefix(6) { note("said: \(error)") }
    for (name, count) in left.sorted(by: { $0.key < $1.key }) { note("left beside the store \(count) times: \(name)") }
    guard let first = problems.first else { return record.expected() }
    throw ExpectationFailure(
      expected: first.expected,
      actual: first.actual
        + (problems.count > 1 ? "; \(problems.count - 1) more of \(counted.calls) calls go wrong" : ""))
  }

  /// What is wrong with how a save ended, and with what it left, when one of its calls failed.
  ///
  /// - Parameter call: Which call it was.
  private static func problems(
    of end: PhaseEnd<Bool>, _ mode: csf_mode, _ call: String?, found: SaveVerdict, leftFiles: [String]
  ) -> [ExpectationFailure] {
    switch (end, mode) {
    case (.crashed(SIGKILL), CSF_KILL):
      guard case .other = found else { return [] }
      return [.init(expected: "the old store or the new one", actual: "it is \(found.text)")]
    case (_, CSF_KILL):
      return [.init(expected: "the process is gone", actual: "it ended otherwise: \(end)")]
    case (.value, _):
      if found == .new { return [] }
      return [
        .init(
          expected: "the save succeeds, and the new store is there", actual: "it succeeds, and there is \(found.text)")
      ]
    case (.refused(let error), _):
      var problems: [ExpectationFailure] = []
      if error.code == nil { problems.append(.init(expected: "a store error", actual: error.text)) }
      if found != .old {
        problems.append(
          .init(expected: "the save fails, and the old store is there", actual: "it fails, and there is \(found.text)"))
      }
      // What cannot be removed because just that call fails is not counted against it.
      if !leftFiles.isEmpty, call != "unlink", call != "remove folder" {
        problems.append(
          .init(expected: "nothing is left beside the store", actual: leftFiles.joined(separator: ", ")))
      }
      return problems
    default: return [.init(expected: "the save succeeds or throws", actual: "\(end)")]
    }
  }

  /// Saves once more, and reads what was saved.
  private func problemOfNextSave(_ saving: SaveCase, mistakes: Int32) throws -> ExpectationFailure? {
    let end = try attempt(
      "save again after that", faults: mistakes == 0 ? nil : FaultPlan(mistakes: mistakes), { try saving.saveAgain($0) }
    )
    guard case .value(true) = end else { return .init(expected: "the next save works", actual: "\(end)") }
    let read = try attempt("read it", { try $0.read(saving.path, saving.new.model) })
    if case .value(let text) = read,
      text.objects.values.contains(where: { $0.values.contains { $0.contains("saved again") } })
    {
      return nil
    }
    return .init(expected: "the next save is there", actual: "\(read)")
  }

  func shortened(_ path: String, _ saving: SaveCase) -> String {
    path.hasPrefix(saving.home + "/") ? shape(String(path.dropFirst(saving.home.count + 1))) : path
  }

  /// A name without the numbers that differ from process to process.
  func shape(_ name: String) -> String {
    var text = ""
    var digits = false
    for scalar in name.unicodeScalars {
      let isDigit = scalar.properties.numericType != nil
      if isDigit, !digits { text += "#" }
      if !isDigit { text.unicodeScalars.append(scalar) }
      digits = isDigit
    }
    return text
  }

  /// The text of the error that a save ends with, and what is there then.
  func refusedSave(_ saving: SaveCase, _ what: String, _ plan: FaultPlan) throws -> PhaseError {
    let end = try save(saving, what, plan)
    try expect(plan.wasReached, "\(what): a save makes such a call", "it makes none")
    guard case .refused(let error) = end else {
      throw ExpectationFailure(expected: "\(what): the save throws a store error", actual: "it ended otherwise: \(end)")
    }
    try expect(error.code != nil, "\(what): a store error", error.text)
    let found = try verdict(saving)
    record.mark(found.word)
    try expect(found == .old, "\(what): the old store is still there", "there is \(found.text)")
    return error
  }
}
