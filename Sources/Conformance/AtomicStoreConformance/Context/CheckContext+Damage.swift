import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension CheckContext {
  func path(plain name: String) -> String { folder + "/" + name }

  func expectNoChanges(_ plan: FaultPlan) throws {
    let changes = plan.changes.map { "\($0.what) \($0.path)" }.joined(separator: ", ")
    try expect(changes.isEmpty, "no call that changes something", changes)
  }

  /// A store of three objects, small enough to be damaged byte by byte.
  func small(_ name: String = "store") throws -> (path: String, graph: Graph, text: GraphText) {
    var graph = Models.golden()
    graph.objects.removeLast(5)
    graph.objects[0].links["children"] = ["node 1", "node 2"]
    graph.objects[2].links["next"] = nil
    let path = self.path(name)
    let made = graph
    let references = try process("save a store of \(graph.objects.count) objects") { try $0.write(made, to: path) }
    return (path, graph, try graph.text(references))
  }

  enum DamageEnd: Codable, Sendable {
    case refused(String)
    case same
    case other(objects: Int, difference: String)
    case untyped(String)
  }

  /// Calls `look` once for each damage that is done to a store, 200 in a process. Ends the check with the first damage
  /// that makes a process crash or hang.
  ///
  /// - Parameters:
  ///   - seconds: The time limit for a damage that is looked at alone.
  ///   - isLast: Whether what `look` returned is enough, and the damages after it need not be tried.
  private func sweep<End: Codable & Sendable>(
    _ path: String, _ all: [Damage], of payload: [String: [UInt8]]? = nil, seconds: Int, memory: Int64 = 0,
    until isLast: (End) -> Bool = { _ in false }, _ look: (StoreSession, _ place: Int, Damage) -> End
  ) throws -> [End] {
    let intact = Files.content(path) ?? [:]
    func run(_ part: ArraySlice<Damage>, seconds: Int) throws -> PhaseEnd<[End]> {
      defer { Files.put(intact, at: path) }
      let what = "open it with \(part.first?.label ?? "")" + (part.count > 1 ? ", and \(part.count - 1) others" : "")
      return try attempt(what, seconds: seconds, memory: memory) { session in
        var ends: [End] = []
        for (place, damage) in zip(part.indices, part) {
          lay(damage, of: payload, at: path)
          defer { if payload == nil, !damage.member.isEmpty { restore(damage.member, of: intact, at: path) } }
          let end = look(session, place, damage)
          ends.append(end)
          if isLast(end) { break }
        }
        return ends
      }
    }
    /// Files that take too long together are tried in halves, which have more time for each: the machine may be busy.
    func tried(_ part: ArraySlice<Damage>) throws -> [End] {
      let end = try run(part, seconds: max(seconds, min(20, part.count / 4)))
      if case .value(let seen) = end { return seen }
      guard part.count > 1 else {
        putCulprit(part[part.startIndex], of: payload, path)
        throw ExpectationFailure(
          expected: "\(part[part.startIndex].label): opened, or refused with a store error",
          actual: "the process crashed or hung: \(end)")
      }
      var seen: [End] = []
      for half in [part.prefix(part.count / 2), part.dropFirst(part.count / 2)] {
        let more = try tried(half)
        seen += more
        if more.count < half.count { return seen }
      }
      guard case .timedOut = end else {
        throw ExpectationFailure(
          expected: "\(part.count) files are opened or refused in one process, from \(part[part.startIndex].label)",
          actual: "\(end), and each half of them is opened or refused")
      }
      note("\(part.count) files took too long together, and were opened in halves, from \(part[part.startIndex].label)")
      return seen
    }
    var ends: [End] = []
    for start in stride(from: 0, to: all.count, by: 200) {
      let part = all[start..<min(start + 200, all.count)]
      let seen = try tried(part)
      ends += seen
      if seen.count < part.count { break }
    }
    return ends
  }

  /// Keeps what ended a process, or was refused with another error, for inspection.
  ///
  /// - Parameter path: The intact store's.
  private func putCulprit(_ damage: Damage, of payload: [String: [UInt8]]?, _ path: String) {
    let culprit = folder + "/culprit"
    Files.put(Files.content(path) ?? [:], at: culprit)
    lay(damage, of: payload, at: culprit)
  }

  /// Writes a damaged file of a store, or all files of a damaged payload.
  private func lay(_ damage: Damage, of payload: [String: [UInt8]]?, at path: String) {
    guard let payload else {
      Files.write(damage.bytes, to: damage.member.isEmpty ? path : path + "/" + damage.member)
      return
    }
    // If the author's function refuses the payload, the damaged bytes themselves are written.
    Files.put(files(of: payload, with: damage) ?? [damage.member: damage.bytes], at: path)
  }
  private func restore(_ member: String, of intact: [String: [UInt8]], at path: String) {
    if let old = intact[member] { Files.write(old, to: path + "/" + member) }
  }

  /// Opens a store once for each damage, which may take 64 times a size and 64 MB.
  ///
  /// - Parameter payload: What the damages are made to; nil for the files.
  func expectMemory(
    of damages: [Damage], in payload: [String: [UInt8]]?, _ store: (path: String, graph: Graph, text: GraphText),
    size: Int
  ) throws {
    let options = handmade
    let most = 64 * size + 64 << 20
    // One that takes too much is enough: where each does, so much memory takes longer than all of them may.
    let grown = try sweep(store.path, damages, of: payload, seconds: 5, memory: 3 << 30, until: { $0 > most }) {
      session, _, _ in
      (try? Memory.growth { _ = try? session.read(store.path, store.graph.model, options: options) }) ?? -1
    }
    guard !grown.contains(-1) else { throw Skipped(reason: "this system does not tell how much memory is used") }
    for (damage, bytes) in zip(damages, grown) {
      try expect(bytes <= most, "\(damage.label): at most \(most >> 20) MB", "it took \(bytes >> 20) MB")
    }
    note("\(damages.count) files of \(size) bytes: at most \((grown.max() ?? 0) >> 10) KB each")
  }

  /// Opens a store once for each damage that is done to it. Ends the check where one makes the process crash, hang, or
  /// throw what is not a store error.
  ///
  /// - Parameter payload: What the damages are made to; nil for the files.
  func open(
    _ path: String, _ graph: Graph, _ text: GraphText, damaged all: [Damage], of payload: [String: [UInt8]]? = nil
  ) throws -> [(Damage, DamageEnd)] {
    let ends = try sweep(path, all, of: payload, seconds: 3) { session, _, damage -> DamageEnd in
      do {
        let read = try session.read(path, graph.model)
        let differences = text.differences(from: read)
        return differences.first.map {
          .other(objects: read.count, difference: "\($0.expected); it has: \($0.actual)")
        } ?? .same
      } catch let error as PersistentStoreError where !error.isProgramFailure {
        return .refused(error.code.description)
      } catch { return .untyped("\(error)") }
    }
    for (damage, end) in zip(all, ends) {
      guard case .untyped(let error) = end else { continue }
      try expect(false, "\(damage.label): refused with a store error", "another error: \(error)")
    }
    record.expected()
    return Array(zip(all, ends))
  }

  /// The same for rules that allow an error and the same graph, and nothing else.
  func expectRefusedOrSame(_ path: String, _ graph: Graph, _ text: GraphText, damaged all: [Damage]) throws {
    var same = 0
    for (damage, end) in try open(path, graph, text, damaged: all) {
      if case .same = end { same += 1 }
      if case .other(let objects, let difference) = end {
        try expect(
          false, "\(damage.label): refused, or the same graph",
          "\(objects) objects of \(text.count) were loaded: \(difference)")
      }
    }
    note("\(all.count) files: \(all.count - same) refused, \(same) give the same graph")
  }
}

extension CheckContext {
  /// Opens a store once for each damage: as a file that was changed by hand, and with no model every other time.
  ///
  /// - Parameter payload: What the damages are made to; nil for the files.
  /// - Returns: What came of each: `opened`, or the error's code.
  func openHostile(
    _ path: String, _ model: ModelDescription, _ all: [Damage], of payload: [String: [UInt8]]? = nil
  ) throws -> [String] {
    let options = handmade
    let ends = try sweep(path, all, of: payload, seconds: 5, memory: 3 << 30) { session, place, _ in
      do {
        _ = try session.read(path, place % 2 == 0 ? model : nil, options: place % 4 < 2 ? options : [:])
        return "opened"
      } catch let error as PersistentStoreError where !error.isProgramFailure { return error.code.description } catch {
        return "! \(error)"
      }
    }
    for (damage, end) in zip(all, ends) where end.hasPrefix("!") {
      putCulprit(damage, of: payload, path)
      throw ExpectationFailure(
        expected: "\(damage.label): opened, or refused with a store error", actual: String(end.dropFirst(2)))
    }
    record.expected()
    return ends
  }
}
