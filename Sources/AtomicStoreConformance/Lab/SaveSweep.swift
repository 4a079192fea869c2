import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// A store, a change to be saved to it, and what it holds on either side of the change.
struct SaveCase: Sendable {
  /// A folder with nothing in it but the store: what else lies there afterwards is litter.
  let home: String
  let path: String
  let old: Graph
  let new: Graph
  let names: [String: String]
  let oldText: GraphText
  let newText: GraphText
  let oldFiles: [String: [UInt8]]
  let keepsMetadata: Bool
  /// What is done instead of a save, where that is another thing.
  var action: (@Sendable (Bench) throws -> Bool)?

  static let key = "conformanceState"

  /// Puts the old store back, and nothing else.
  func reset() {
    Files.remove(home)
    Files.makeFolder(home)
    Files.put(oldFiles, at: path)
  }

  /// What lies beside the store.
  var litter: [String] {
    let own = path.dropFirst(home.count + 1)
    return Files.names(in: home).filter { $0 != own }
  }

  /// Opens the store, makes the change, saves.
  func save(_ bench: Bench) throws -> Bool {
    if let action { return try action(bench) }
    let open = try bench.open(path, new.model)
    return try withExtendedLifetime(open) {
      _ = try bench.change(open, from: old, to: new, names: names)
      if keepsMetadata {
        var entries = open.store.metadata.entries
        entries[Self.key] = .string("new")
        try open.store.setMetadata(entries)
      }
      try open.context.save()
      return true
    }
  }

  /// Opens what is there and saves another change.
  func saveAgain(_ bench: Bench) throws -> Bool {
    let open = try bench.open(path, new.model)
    return try withExtendedLifetime(open) {
      guard let name = names.sorted(by: { $0.key < $1.key }).first?.value else { return false }
      let object = try bench.object(name, in: open)
      try object.setValue("saved again", forKey: "name")
      try open.context.save()
      return true
    }
  }
}

/// What a process that had no part in a save finds afterwards.
enum SaveVerdict: Sendable, Equatable {
  case old
  case new
  case other(String)

  var word: String {
    switch self {
    case .old: "OLD"
    case .new: "NEW"
    case .other: "ELSE"
    }
  }
  var text: String {
    switch self {
    case .old: "the old store"
    case .new: "the new store"
    case .other(let text): text
    }
  }
}

extension Lab {
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
    if let new { after = new } else {
      after.set("node 1", "name", .string("another name, and a longer one than before"))
      after.set("node 2", "number", .integer(-77))
      after.set("node 3", "flag", nil)
      after.remove("node 7")
    }
    let names = try process("save the old store") { bench in
      var entries = PropertyListDictionary()
      if keeps { entries[SaveCase.key] = .string("old") }
      return try bench.write(old, to: path, metadata: keeps ? entries : nil)
    }
    guard let files = Files.content(path) else {
      throw Disappointment(expected: "a store lies at \(path)", actual: "nothing does")
    }
    return SaveCase(
      home: home, path: path, old: old, new: after, names: names, oldText: try old.text(names), newText: try after.text(names),
      oldFiles: files, keepsMetadata: keeps)
  }

  /// Opens what is there in a process of its own.
  func verdict(_ saving: SaveCase) throws -> SaveVerdict {
    let end = try attempt("look what is there") { bench -> Seen in
      let open = try bench.open(saving.path, saving.new.model, isReadOnly: true)
      return try withExtendedLifetime(open) {
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
    guard case .value = end else { throw PhaseTrouble(expected: "the save succeeds when nothing is in its way", actual: "\(end)") }
    let verdict = try verdict(saving)
    try expect(verdict == .new, "after a save the new store is there", verdict.text)
    return plan
  }

  /// Saves once for each call that a save is made of, with that call failing or the process killed in its place; looks at each
  /// result from another process; saves again.
  ///
  /// - Parameters:
  ///   - savesAgain: Whether the next save is tried too.
  ///   - mistakes: What the calls do of themselves, as bits of `csf_mistake`.
  func sweep(
    _ saving: SaveCase, _ mode: csf_mode, error number: Int32 = 0, _ what: String, savesAgain: Bool = true, mistakes: Int32 = 0
  ) throws {
    let counted = try calls(of: saving, mistakes: mistakes)
    let trace = counted.changes
    try expect(counted.calls > 0, "a save makes calls that change something", "none was seen")
    var problems: [Disappointment] = []
    var left: [String: Int] = [:]
    var errors: Set<String> = []
    for place in 1...counted.calls {
      let call = place <= trace.count ? trace[place - 1] : nil
      let label = "\(what) at call \(place) of \(counted.calls)" + (call.map { " (\($0.what) \(shortened($0.path, saving)))" } ?? "")
      let plan = try FaultPlan(mode, at: place, error: number, mistakes: mistakes)
      let end = try save(saving, label, plan)
      // The same save makes the same calls: a fault that did not happen proves nothing.
      guard plan.wasReached else {
        throw Disappointment(expected: "\(label): the call is made again", actual: "the save ends before it: \(end)")
      }
      let found = try verdict(saving)
      record.mark(found.word)
      let litter = saving.litter
      for name in litter { left[shape(name), default: 0] += 1 }
      switch (end, mode) {
      case (.crashed(SIGKILL), CSF_KILL):
        if case .other = found { problems.append(.init(expected: "\(label): the old store or the new one", actual: "it is \(found.text)")) }
      case (_, CSF_KILL): problems.append(.init(expected: "\(label): the process is gone", actual: "it ended otherwise: \(end)"))
      case (.value, _):
        if found != .new { problems.append(.init(expected: "\(label): the save succeeds, and the new store is there",
          actual: "it succeeds, and there is \(found.text)")) }
      case (.refused(let error), _):
        errors.insert(error.text)
        if error.code == nil { problems.append(.init(expected: "\(label): a store error", actual: error.text)) }
        if found != .old { problems.append(.init(expected: "\(label): the save fails, and the old store is there",
          actual: "it fails, and there is \(found.text)")) }
        // What cannot be taken away because just that call fails is not held against it.
        if !litter.isEmpty, call?.what != "unlink", call?.what != "remove folder" {
          problems.append(.init(expected: "\(label): nothing lies beside the store", actual: litter.joined(separator: ", ")))
        }
      default: problems.append(.init(expected: "\(label): the save succeeds or throws", actual: "\(end)"))
      }
      if savesAgain, problems.isEmpty {
        switch try attempt("save again after that", faults: mistakes == 0 ? nil : FaultPlan(mistakes: mistakes), { try saving.saveAgain($0) }) {
        case .value(true):
          let read = try attempt("read it", { try $0.read(saving.path, saving.new.model) })
          if case .value(let text) = read, text.objects.values.contains(where: { $0.values.contains { $0.contains("saved again") } }) {} else {
            problems.append(.init(expected: "\(label): the next save is there", actual: "\(read)"))
          }
        case let other: problems.append(.init(expected: "\(label): the next save works", actual: "\(other)"))
        }
        for name in saving.litter { left["\(shape(name)) also after the next save", default: 0] += 1 }
      }
    }
    for error in errors.sorted().prefix(6) { note("said: \(error)") }
    for (name, count) in left.sorted(by: { $0.key < $1.key }) { note("left beside the store \(count) times: \(name)") }
    guard let first = problems.first else { return record.expected() }
    throw Disappointment(
      expected: first.expected,
      actual: first.actual + (problems.count > 1 ? "; \(problems.count - 1) more of \(counted.calls) calls go wrong" : ""))
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
      throw Disappointment(expected: "\(what): the save throws a store error", actual: "it ended otherwise: \(end)")
    }
    try expect(error.code != nil, "\(what): a store error", error.text)
    let found = try verdict(saving)
    record.mark(found.word)
    try expect(found == .old, "\(what): the old store is still there", "there is \(found.text)")
    return error
  }
}
