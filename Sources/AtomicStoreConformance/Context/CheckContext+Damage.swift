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

  /// Opens a store once for each damage that is done to it. Ends the check where one makes the process crash, hang, or
  /// throw what is not a store error.
  func open(_ path: String, _ graph: Graph, _ text: GraphText, damaged all: [Damage]) throws -> [(Damage, DamageEnd)] {
    let intact = Files.content(path) ?? [:]
    defer { Files.put(intact, at: path) }
    var ends: [(Damage, DamageEnd)] = []
    func run(_ part: ArraySlice<Damage>, seconds: Int) throws -> PhaseEnd<[DamageEnd]> {
      let what = "open it with \(part.first?.label ?? "")" + (part.count > 1 ? ", and \(part.count - 1) others" : "")
      return try attempt(what, seconds: seconds) { session in
        part.map { damage in
          Files.write(damage.bytes, to: damage.member.isEmpty ? path : path + "/" + damage.member)
          defer {
            if !damage.member.isEmpty, let old = intact[damage.member] {
              Files.write(old, to: path + "/" + damage.member)
            }
          }
          do {
            let read = try session.read(path, graph.model)
            let differences = text.differences(from: read)
            return differences.first.map {
              .other(objects: read.count, difference: "\($0.expected); it has: \($0.actual)")
            } ?? .same
          } catch let error as PersistentStoreError { return .refused(error.code.description) } catch {
            return .untyped("\(error)")
          }
        }
      }
    }
    for start in stride(from: 0, to: all.count, by: 200) {
      let part = all[start..<min(start + 200, all.count)]
      guard case .value(let seen) = try run(part, seconds: 20) else {
        // One of them ends the process: which?
        Files.put(intact, at: path)
        for place in part.indices {
          let end = try run(all[place...place], seconds: 3)
          if case .value = end { continue }
          try expect(false, "\(all[place].label): opened or refused", "the process crashed or hung: \(end)")
        }
        throw PhaseFailure(
          expected: "the files are opened or refused, one after the other", actual: "the process ended", isCrash: true)
      }
      for (damage, end) in zip(part, seen) {
        if case .untyped(let error) = end {
          try expect(false, "\(damage.label): refused with a store error", "an error of another type: \(error)")
        }
        ends.append((damage, end))
      }
    }
    record.expected()
    return ends
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
  /// - Returns: What came of each: `opened`, or the error's code.
  func openHostile(_ path: String, _ model: ModelDescription, _ all: [Damage]) throws -> [String] {
    let intact = Files.content(path) ?? [:]
    let options = handmade
    var ends: [String] = []
    func run(_ part: ArraySlice<Damage>, seconds: Int) throws -> PhaseEnd<[String]> {
      defer { Files.put(intact, at: path) }
      return try attempt(
        "open \(part.count) changed files, from \(part.first?.label ?? "")", seconds: seconds, memory: 3 << 30
      ) { session in
        part.enumerated().map { place, damage in
          Files.write(damage.bytes, to: damage.member.isEmpty ? path : path + "/" + damage.member)
          defer {
            if !damage.member.isEmpty, let old = intact[damage.member] {
              Files.write(old, to: path + "/" + damage.member)
            }
          }
          do {
            _ = try session.read(path, place % 2 == 0 ? model : nil, options: place % 4 < 2 ? options : [:])
            return "opened"
          } catch let error as PersistentStoreError { return error.code.description } catch { return "! \(error)" }
        }
      }
    }
    for start in stride(from: 0, to: all.count, by: 200) {
      let part = all[start..<min(start + 200, all.count)]
      guard case .value(let seen) = try run(part, seconds: 20) else {
        for place in part.indices {
          let end = try run(all[place...place], seconds: 5)
          if case .value = end { continue }
          Files.put([all[place].member: all[place].bytes], at: folder + "/culprit")
          throw ExpectationFailure(
            expected: "\(all[place].label): opened, or refused with a store error", actual: "\(end)")
        }
        throw ExpectationFailure(
          expected: "\(part.count) files are opened or refused within 20 s", actual: "they are not, in one process")
      }
      for (damage, end) in zip(part, seen) {
        try expect(!end.hasPrefix("!"), "\(damage.label): opened, or refused with a store error", end)
        ends.append(end)
      }
    }
    return ends
  }
}
