import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// HOS: files that were made to do harm, of whatever format: made from the store's own by changing their pieces.
extension Checks {
  #if DEBUG
  /// Fewer where the code under test is ten times slower.
  private static let mutations = 1_000
  #else
  private static let mutations = 10_000
  #endif

  static let hostile: [CheckDefinition] = [
    CheckDefinition(
      "HOS-01", "Whatever a file's bytes are, opening it ends: with its objects or with a store error, within bounds of memory and time",
      profile: .hostile, from: kit,
      by: "\(mutations) changes of a small store's file: bits, bytes, pieces left out, doubled, exchanged, other numbers; 3 GB, 20 s for 200 files",
      causes: ["a length or an index from the file is used unchecked", "a count is taken for a promise"], catches: ["indexOutOfRange"],
      timeLimit: 180
    ) { lab in
      let store = try lab.small()
      var random = LabRandom(lab.seed)
      let damages = Mutation.some(mutations, of: Files.content(store.path) ?? [:], &random)
      let ends = try lab.openHostile(store.path, store.graph.model, damages)
      let opened = ends.filter { $0 == "opened" }.count
      lab.note("\(ends.count) files: \(opened) opened, \(ends.count - opened) refused")
      for (code, all) in Dictionary(grouping: ends, by: { $0 }).sorted(by: { $0.key < $1.key }) { lab.note("\(code): \(all.count)") }
    },
    CheckDefinition(
      "HOS-02", "Opening a hostile file takes memory by its size, not by what it says of itself", profile: .hostile, from: kit,
      by: "numbers in the file, and bytes at its beginning and end, become very large; at most 64 times the size and 64 MB",
      causes: ["room is made for as much as the file announces"], catches: ["trustsDeclaredSize"], timeLimit: 120
    ) { lab in
      let store = try lab.small()
      let intact = Files.content(store.path) ?? [:]
      let size = intact.values.reduce(0) { $0 + $1.count }
      let damages = Mutation.large(intact, limit: 300)
      let options = lab.handmade
      var worst = 0
      for start in stride(from: 0, to: damages.count, by: 100) {
        let part = Array(damages[start..<min(start + 100, damages.count)])
        let end = try lab.attempt("open \(part.count) files of large numbers", seconds: 30, memory: 3 << 30) { bench -> [Int] in
          try part.map { damage in
            Files.write(damage.bytes, to: damage.member.isEmpty ? store.path : store.path + "/" + damage.member)
            defer { if !damage.member.isEmpty, let old = intact[damage.member] { Files.write(old, to: store.path + "/" + damage.member) } }
            return try Memory.growth { _ = try? bench.read(store.path, store.graph.model, options: options) }
          }
        }
        Files.put(intact, at: store.path)
        guard case .value(let grown) = end else {
          throw Disappointment(expected: "the files are opened or refused", actual: "with \(part.first?.label ?? "") and the next: \(end)")
        }
        worst = max(worst, grown.max() ?? 0)
        for (damage, bytes) in zip(part, grown) {
          try lab.expect(
            bytes <= 64 * size + 64 << 20, "\(damage.label): at most \((64 * size + 64 << 20) >> 20) MB", "it took \(bytes >> 20) MB")
        }
      }
      lab.note("\(damages.count) files of \(size) bytes: at most \(worst >> 10) KB each")
    },
    CheckDefinition(
      "HOS-03", "Time to open grows with the file's size, not with its square, also for files that are refused", profile: .hostile, from: kit,
      by: "many objects, a long text, a text of marks, and long runs of one byte in the middle of a store, each in four sizes: eight times the size takes at most 24 times as long",
      causes: ["the rest of the file is copied or searched again for each piece"], catches: ["quadraticParse"], timeLimit: 180
    ) { lab in
      let options = lab.handmade
      func time(_ path: String, _ model: ModelDescription?) throws -> Double {
        try lab.process("open \(path.split(separator: "/").last ?? "")", seconds: 60) { bench in
          (0..<2).map { _ in
            Stopwatch.seconds { _ = try? bench.read(path, model, options: options) }
          }.min() ?? 0
        }
      }
      func judge(_ what: String, _ times: [Double]) throws {
        lab.note("\(what): " + times.map { "\(Int($0 * 1000)) ms" }.joined(separator: ", "))
        guard let first = times.first, let last = times.last else { return }
        // Less than that is noise.
        try lab.expect(last < 0.1 || last <= first * 24, "\(what): eight times the size takes at most 24 times as long",
          "\(Int(first * 1000)) ms became \(Int(last * 1000)) ms")
      }
      #if DEBUG
      let unit = 500
      #else
      let unit = 4_000
      #endif
      let factors = [1, 2, 4, 8]
      try judge(
        "many objects",
        try factors.map { factor in
          let graph = Graph.values(.string, (0..<unit * factor).map { .string("text of object \($0)") })
          let path = lab.path("objects\(factor)")
          _ = try lab.process("write \(unit * factor) objects") { try $0.forge(graph, to: path) }
          return try time(path, graph.model)
        })
      for (what, piece) in [("a long text", "word "), ("a text of marks", "\"<&,\n")] {
        try judge(
          what,
          try factors.map { factor in
            let graph = Graph.values(.string, [.string(String(repeating: piece, count: unit * 50 * factor)), .string("end")])
            let path = lab.path("text\(factor)")
            _ = try lab.process("write \(what)") { try $0.forge(graph, to: path) }
            return try time(path, graph.model)
          })
      }
      let store = try lab.small("runs")
      let intact = Files.content(store.path) ?? [:]
      guard let (member, bytes) = intact.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }) else { return }
      for byte in "<&\"',;{[( \n\0".utf8 {
        var times: [Double] = []
        for factor in factors {
          let crafted = Array(bytes.prefix(bytes.count / 2)) + Array(repeating: byte,
            count: unit * 50 * factor) + bytes.suffix(bytes.count / 2)
          Files.write(crafted, to: member.isEmpty ? store.path : store.path + "/" + member)
          times.append(try time(store.path, store.graph.model))
        }
        try judge("a run of byte \(byte)", times)
      }
    },
    CheckDefinition(
      "HOS-04", "Whatever a file says, no other file is read", profile: .hostile, from: kit,
      by: "texts, URIs and bytes that look like paths; for folders, links that lead out; every file that is opened is written down",
      causes: ["a value is taken for the place of more data", "a link in a store is followed"], catches: ["followsExternalPath"]
    ) { lab in
      Files.write(Array("secret".utf8), to: lab.folder + "/secret.txt")
      var model = Models.attributes([("text", .string), ("place", .uri), ("bytes", .binaryData)])
      if lab.traits.unsupportedTypes.contains("URI") || lab.traits.unsupportedTypes.contains("Binary") { model = Models.attributes([("text", .string)]) }
      var graph = Graph(model)
      let paths = ["secret.txt", "../secret.txt", lab.folder + "/secret.txt", "file://" + lab.folder + "/secret.txt", "/etc/hostname",
        "@/etc/hostname", "|cat /etc/hostname"]
      for path in paths {
        var object = Graph.Object(label: path, entity: "Sample", values: ["text": .string(path)])
        if model.entities.first?.properties.count ?? 0 > 1 {
          object.values["place"] = .uri(path)
          object.values["bytes"] = .data(Data(path.utf8))
        }
        graph.objects.append(object)
      }
      let made = graph
      let path = lab.path()
      _ = try lab.process("save texts that look like paths") { try $0.write(made, to: path) }
      if Files.isFolder(path) {
        for name in Files.names(in: path) { symlink(lab.folder + "/secret.txt", path + "/linked-" + name) }
      }
      for options in [lab.handmade, [:]] {
        let plan = try FaultPlan(CSF_COUNT)
        _ = try lab.attempt("open it", faults: plan) { try $0.read(path, made.model, options: options) }
        try lab.expect(plan.trace.contains { $0.path == path || $0.path.hasPrefix(path + "/") }, "the store is read", "it is not")
        for call in plan.trace {
          let isOwn = call.path == path || call.path.hasPrefix(path + "/") && Files.target(ofLink: call.path) == nil
          try lab.expect(isOwn, "nothing but \(path) is opened", "\(call.what) \(call.path)")
        }
      }
    },
    CheckDefinition(
      "HOS-06", "A hostile file leaves nothing behind in the process: the next store is read as ever", profile: .hostile, from: kit,
      by: "100 changed files, then the intact one, in one process", causes: ["a parser's state, or a cache, is shared and not reset"],
      catches: ["poisonedStaticState"], timeLimit: 60
    ) { lab in
      let store = try lab.small()
      let intact = Files.content(store.path) ?? [:]
      var random = LabRandom(lab.seed)
      let damages = Mutation.some(60, of: intact, &random) + Mutation.large(intact, limit: 40)
      let options = lab.handmade
      let text = try lab.process("open \(damages.count) changed files, then the intact one", seconds: 30) { bench in
        for damage in damages {
          Files.write(damage.bytes, to: damage.member.isEmpty ? store.path : store.path + "/" + damage.member)
          _ = try? bench.read(store.path, store.graph.model, options: options)
          if !damage.member.isEmpty { Files.put(intact, at: store.path) }
        }
        Files.put(intact, at: store.path)
        return try bench.read(store.path, store.graph.model)
      }
      try lab.expectSame(text, store.text, "the intact store, after \(damages.count) others")
    },
  ]
}

/// Changes of a file's bytes, of any format.
enum Mutation {
  /// Runs of letters and digits, and of everything else.
  static func pieces(_ bytes: [UInt8]) -> [Range<Int>] {
    func kind(_ byte: UInt8) -> Int {
      switch byte {
      case 0x30...0x39: 0
      case 0x41...0x5A, 0x61...0x7A: 1
      default: 2
      }
    }
    var all: [Range<Int>] = []
    var start = 0
    for place in bytes.indices.dropFirst() where kind(bytes[place]) != kind(bytes[place - 1]) {
      all.append(start..<place)
      start = place
    }
    if start < bytes.count { all.append(start..<bytes.count) }
    return all
  }

  private static let numbers = ["0", "-1", "1", "255", "65536", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
    "1e999", "999999999999", "00", ""]
  private static let bytes: [UInt8] = [0, 1, 0x7F, 0x80, 0xC0, 0xFE, 0xFF, 0x22, 0x27, 0x3C, 0x3E, 0x26, 0x2C, 0x0A, 0x0D, 0x5C]

  static func some(_ count: Int, of files: [String: [UInt8]], _ random: inout LabRandom) -> [Lab.Damage] {
    let all = files.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
    guard !all.isEmpty else { return [] }
    let cut = all.map { pieces($0.value) }
    return (0..<count).map { number in
      let place = random.below(all.count)
      let (member, intact) = all[place]
      let ranges = cut[place]
      var bytes = intact
      var label = ""
      // Now and then several at once.
      for _ in 0...(random.below(4) == 0 ? random.below(6) : 0) { label = change(&bytes, ranges, &random) }
      return Lab.Damage(label: "change \(number + 1) (\(label))", member: member, bytes: bytes)
    }
  }

  private static func change(_ bytes: inout [UInt8], _ ranges: [Range<Int>], _ random: inout LabRandom) -> String {
    guard !bytes.isEmpty else { return "nothing" }
    let at = random.below(bytes.count)
    let valid = ranges[random.below(ranges.count)].clamped(to: 0..<bytes.count)
    let other = ranges[random.below(ranges.count)].clamped(to: 0..<bytes.count)
    switch random.below(10) {
    case 0:
      bytes[at] ^= 1 << UInt8(random.below(8))
      return "a bit of byte \(at)"
    case 1:
      bytes[at] = Self.bytes[random.below(Self.bytes.count)]
      return "byte \(at) is \(bytes[at])"
    case 2:
      bytes.removeSubrange(valid)
      return "without bytes \(valid)"
    case 3:
      bytes.insert(contentsOf: Array(bytes[valid]), at: valid.upperBound)
      return "bytes \(valid) twice"
    case 4:
      let piece = Array(bytes[other])
      bytes.replaceSubrange(valid, with: piece)
      return "bytes \(other) for \(valid)"
    case 5:
      let start = random.below(bytes.count)
      let end = min(bytes.count, start + 1 + random.below(64))
      bytes.removeSubrange(start..<end)
      return "without bytes \(start)..<\(end)"
    case 6:
      bytes.removeLast(bytes.count - at)
      return "cut at byte \(at)"
    case 7:
      let start = random.below(bytes.count)
      let end = min(bytes.count, start + 1 + random.below(200))
      bytes.insert(contentsOf: Array(bytes[start..<end]), at: at)
      return "bytes \(start)..<\(end) again at \(at)"
    case 8:
      let digits = ranges.filter { $0.upperBound <= bytes.count && (0x30...0x39).contains(bytes[$0.lowerBound]) }
      guard !digits.isEmpty else {
        bytes[at] = bytes[at] &+ 1
        return "byte \(at) and one"
      }
      let number = Self.numbers[random.below(Self.numbers.count)]
      let range = digits[random.below(digits.count)]
      bytes.replaceSubrange(range, with: Array(number.utf8))
      return "number \(number) at byte \(range.lowerBound)"
    default:
      let end = min(bytes.count, at + 1 << random.below(4))
      let value: UInt8 = random.below(2) == 0 ? 0xFF : 0
      for place in at..<end { bytes[place] = value }
      return "bytes \(at)..<\(end) are \(value)"
    }
  }

  /// Files that announce more than they hold.
  static func large(_ files: [String: [UInt8]], limit: Int) -> [Lab.Damage] {
    var all: [Lab.Damage] = []
    for (member, intact) in files.sorted(by: { $0.key < $1.key }) where !intact.isEmpty {
      for range in pieces(intact) where (0x30...0x39).contains(intact[range.lowerBound]) {
        for number in ["2147483647", "999999999999", "9223372036854775807"] {
          var bytes = intact
          bytes.replaceSubrange(range, with: Array(number.utf8))
          all.append(.init(label: "number \(number) at byte \(range.lowerBound)", member: member, bytes: bytes))
        }
      }
      for value in [UInt8(0xFF), 0x7F] {
        for width in [1, 4, 8] {
          for start in Array(0..<min(48, intact.count)) + Array(max(0,
            intact.count - 48)..<intact.count) where start + width <= intact.count {
            var bytes = intact
            for place in start..<start + width { bytes[place] = value }
            all.append(.init(label: "bytes \(start)..<\(start + width) are \(value)", member: member, bytes: bytes))
          }
        }
      }
    }
    // From everywhere, where there are too many.
    let step = max(1, all.count / max(limit, 1))
    return stride(from: 0, to: all.count, by: step).map { all[$0] }
  }
}

/// What a process has of the machine's memory.
enum Memory {
  static func status(_ key: String) -> Int {
    let text = String(decoding: Files.read("/proc/self/status") ?? [], as: UTF8.self)
    for line in text.split(separator: "\n") where line.hasPrefix(key + ":") {
      return (Int(line.dropFirst(key.count + 1).filter(\.isNumber)) ?? 0) << 10
    }
    return 0
  }

  /// How much more than before was in use at a time while this ran.
  static func growth(_ body: () throws -> Void) throws -> Int {
    guard Files.write(Array("5".utf8), to: "/proc/self/clear_refs") else { throw Blockage(reason: "this system does not tell how much memory is used") }
    let before = status("VmRSS")
    try body()
    return max(0, status("VmHWM") - before)
  }

  static var inUse: Int {
    csf_trim()
    return status("VmRSS")
  }
}

/// The processor's time that this process used.
enum Stopwatch {
  static func seconds(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    let start = now()
    try body()
    return now() - start
  }
}

extension Lab {
  /// Opens a store once for each damage: as a file that was changed by hand, and with no model every other time.
  ///
  /// - Returns: What came of each: `opened`, or the error's code.
  func openHostile(_ path: String, _ model: ModelDescription, _ all: [Damage]) throws -> [String] {
    let intact = Files.content(path) ?? [:]
    let options = handmade
    var ends: [String] = []
    func run(_ part: ArraySlice<Damage>, seconds: Int) throws -> PhaseEnd<[String]> {
      defer { Files.put(intact, at: path) }
      return try attempt("open \(part.count) changed files, from \(part.first?.label ?? "")", seconds: seconds, memory: 3 << 30) { bench in
        part.enumerated().map { place, damage in
          Files.write(damage.bytes, to: damage.member.isEmpty ? path : path + "/" + damage.member)
          defer { if !damage.member.isEmpty, let old = intact[damage.member] { Files.write(old, to: path + "/" + damage.member) } }
          do {
            _ = try bench.read(path, place % 2 == 0 ? model : nil, options: place % 4 < 2 ? options : [:])
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
          throw Disappointment(expected: "\(all[place].label): opened, or refused with a store error", actual: "\(end)")
        }
        throw Disappointment(expected: "\(part.count) files are opened or refused within 20 s", actual: "they are not, in one process")
      }
      for (damage, end) in zip(part, seen) {
        try expect(!end.hasPrefix("!"), "\(damage.label): opened, or refused with a store error", end)
        ends.append(end)
      }
    }
    return ends
  }
}
