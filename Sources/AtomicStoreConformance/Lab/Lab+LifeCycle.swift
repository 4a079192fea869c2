import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc
import Synchronization

/// What checks of a store's life need: files of every kind, looks into the steps between two calls, and files that were damaged.
extension Files {
  /// Puts what ``content(_:)`` gave at a path, in the place of all that lies there.
  static func put(_ content: [String: [UInt8]], at path: String) {
    remove(path)
    if let bytes = content[""] {
      write(bytes, to: path)
    } else {
      makeFolder(path)
      for (name, bytes) in content {
        let parts = name.split(separator: "/").map(String.init)
        for depth in parts.indices.dropFirst() { makeFolder(path + "/" + parts[..<depth].joined(separator: "/")) }
        write(bytes, to: path + "/" + name)
      }
    }
  }

  /// Which files lie at a path, and in which state: whoever wrote, even the same bytes, shows.
  static func stamps(_ path: String) -> [String: String] {
    guard let info = status(path) else { return [:] }
    var all = ["": "inode \(info.st_ino), \(info.st_size) bytes, \(info.st_mtim.tv_sec).\(info.st_mtim.tv_nsec)"]
    guard info.st_mode & S_IFMT == S_IFDIR else { return all }
    for name in names(in: path) {
      for (inner, stamp) in stamps(path + "/" + name) { all[inner.isEmpty ? name : name + "/" + inner] = stamp }
    }
    return all
  }

  static func target(ofLink path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let length = buffer.withUnsafeMutableBytes { raw in
      raw.baseAddress.map { readlink(path, $0.assumingMemoryBound(to: CChar.self), raw.count) } ?? -1
    }
    return length < 0 ? nil : String(decoding: buffer[..<length], as: UTF8.self)
  }

  /// Bytes with all places of some replaced by others; nil where they are not there.
  static func replacing(_ old: [UInt8], by new: [UInt8], in bytes: [UInt8]) -> [UInt8]? {
    guard !old.isEmpty, bytes.count >= old.count else { return nil }
    var result: [UInt8] = []
    var place = 0
    var found = false
    while place < bytes.count {
      if bytes[place] == old[0], place + old.count <= bytes.count, bytes[place..<place + old.count].elementsEqual(old) {
        result += new
        place += old.count
        found = true
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return found ? result : nil
  }
}

/// Something that is noted on one thread or several, and looked at later.
final class Notebook<Value: Sendable>: Sendable {
  private let state: Mutex<Value>
  init(_ value: Value) { state = Mutex(value) }
  var value: Value { state.withLock { $0 } }
  func set(_ value: Value) { state.withLock { $0 = value } }
  func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}

/// Counts without a lock, so that it counts on in a copy of the process.
final class Tally: Sendable {
  private let count = Atomic(0)
  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension Bench {
  /// The same bench with a format that can be looked into: for the rest of this process. What a planted fault does at a step
  /// stays, where the hook calls the one before it.
  func watched(_ set: (inout FaultHooks) -> Void) -> Bench {
    set(&FaultHooks.current)
    guard subject.fault == nil else { return self }
    func wrapped<Base: AtomicStore>(_: Base.Type) -> any AtomicStore.Type { FaultyStore<Base>.self }
    return Bench(subject: ConformanceSubject(wrapped(subject.type), others: subject.others), folder: folder)
  }

  /// The file descriptors of this process.
  static func descriptors() -> [String] { Files.names(in: "/proc/self/fd").filter { Files.exists("/proc/self/fd/" + $0) } }

  func all(_ open: Open, _ entity: String) throws -> [ManagedObject] {
    try open.context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }
}

extension Lab {
  func path(plain name: String) -> String { folder + "/" + name }

  func expectNoChanges(_ plan: FaultPlan) throws {
    let changes = plan.changes.map { "\($0.what) \($0.path)" }.joined(separator: ", ")
    try expect(changes.isEmpty, "no call that changes something", changes)
  }

  static let metadataIsKept: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.keepsMetadata ? .applies : .notApplicable("keepsMetadata is false")
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

  /// One file of a store with other bytes.
  struct Damage: Sendable {
    var label: String
    /// Empty for a store of one file.
    var member: String
    private let original: [UInt8]
    private let change: (position: Int, byte: UInt8)?

    init(label: String, member: String, bytes: [UInt8]) {
      self.label = label
      self.member = member
      original = bytes
      change = nil
    }

    /// One byte replaced. The copy of the file is made when it is asked for: there may be thousands of damages to one file.
    init(label: String, member: String, of original: [UInt8], at position: Int, byte: UInt8) {
      self.label = label
      self.member = member
      self.original = original
      change = (position, byte)
    }

    var bytes: [UInt8] {
      guard let change else { return original }
      var bytes = original
      bytes[change.position] = change.byte
      return bytes
    }
  }
  enum DamageEnd: Codable, Sendable {
    case refused(String)
    case same
    case other(objects: Int, difference: String)
    case untyped(String)
  }

  /// Opens a store once for each damage that is done to it. Ends the check where one makes the process crash, hang, or throw
  /// what is no store error.
  func open(_ path: String, _ graph: Graph, _ text: GraphText, damaged all: [Damage]) throws -> [(Damage, DamageEnd)] {
    let intact = Files.content(path) ?? [:]
    defer { Files.put(intact, at: path) }
    var ends: [(Damage, DamageEnd)] = []
    func run(_ part: ArraySlice<Damage>, seconds: Int) throws -> PhaseEnd<[DamageEnd]> {
      let what = "open it with \(part.first?.label ?? "")" + (part.count > 1 ? ", and \(part.count - 1) others" : "")
      return try attempt(what, seconds: seconds) { bench in
        part.map { damage in
          Files.write(damage.bytes, to: damage.member.isEmpty ? path : path + "/" + damage.member)
          defer { if !damage.member.isEmpty, let old = intact[damage.member] { Files.write(old, to: path + "/" + damage.member) } }
          do {
            let read = try bench.read(path, graph.model)
            let differences = text.differences(from: read)
            return differences.first.map { .other(objects: read.count, difference: "\($0.expected); it has: \($0.actual)") } ?? .same
          } catch let error as PersistentStoreError { return .refused(error.code.description) } catch { return .untyped("\(error)") }
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
        throw PhaseTrouble(expected: "the files are opened or refused, one after the other", actual: "the process ended", isCrash: true)
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
        try expect(false, "\(damage.label): refused, or the same graph", "\(objects) objects of \(text.count) were loaded: \(difference)")
      }
    }
    note("\(all.count) files: \(all.count - same) refused, \(same) give the same graph")
  }
}
