import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// HOS: hostile files of any format: made from the store's own by changing their pieces.
extension Checks {
  #if DEBUG
    /// Fewer where the code under test is ten times slower.
    private static let mutations = 1_000
    private static let objects = 500
  #else
    private static let mutations = 10_000
    private static let objects = 4_000
  #endif

  static let hostile: [CheckDefinition] = [
    CheckDefinition(
      "HOS-01",
      "Whatever a file's bytes are, opening it ends: with its objects or with a store error, within bounds of memory and time",
      profile: .hostile, from: kit,
      by:
        "\(mutations) changes of a small store's file: bits, bytes, pieces left out, doubled, exchanged, other numbers; 3 GB, 20 s for 200 files",
      causes: ["a length or an index from the file is used unchecked", "a count is taken for a promise"],
      catches: ["indexOutOfRange"],
      timeLimit: 180
    ) { check in
      let store = try check.small()
      var random = SeededRandom(check.seed)
      let damages = Mutation.some(mutations, of: Files.content(store.path) ?? [:], &random)
      let ends = try check.openHostile(store.path, store.graph.model, damages)
      let opened = ends.filter { $0 == "opened" }.count
      check.note("\(ends.count) files: \(opened) opened, \(ends.count - opened) refused")
      for (code, all) in Dictionary(grouping: ends, by: { $0 }).sorted(by: { $0.key < $1.key }) {
        check.note("\(code): \(all.count)")
      }
    },
    CheckDefinition(
      "HOS-02", "Opening a hostile file takes memory by its size, not by what it says of itself", profile: .hostile,
      from: kit,
      by:
        "numbers in the file, and bytes at its beginning and end, become very large; at most 64 times the size and 64 MB",
      causes: ["room is made for as much as the file announces"], catches: ["trustsDeclaredSize"], timeLimit: 120
    ) { check in
      let store = try check.small()
      let intact = Files.content(store.path) ?? [:]
      let size = intact.values.reduce(0) { $0 + $1.count }
      try check.expectMemory(of: Mutation.large(intact, limit: 300), in: nil, store, size: size)
    },
    CheckDefinition(
      "HOS-03", "Time to open grows with the file's size, not with its square, also for files that are refused",
      profile: .hostile, from: kit,
      by:
        "many objects, a long text, a text of marks, and long runs of one byte in the middle of a store, each in four sizes: the processor's time grows with the size to the power of at most 1.5",
      causes: ["the rest of the file is copied or searched again for each piece"], catches: ["quadraticParse"],
      timeLimit: 180
    ) { check in
      let options = check.handmade
      let unit = objects
      let factors = [1, 2, 4, 8]
      func judge(_ what: String, _ paths: [String], _ model: ModelDescription?) throws {
        try check.expectGrowth("opening \(what)", factors, atMost: 1.5) { session, number in
          Stopwatch.seconds { _ = try? session.read(paths[number], model, options: options) }
        }
      }
      func judge(_ what: String, _ graphs: [Graph]) throws {
        let paths = factors.map { check.path("size\($0)") }
        for (path, graph) in zip(paths, graphs) {
          _ = try check.process("write \(what)") { try $0.forge(graph, to: path) }
        }
        try judge(what, paths, graphs[0].model)
      }
      try judge(
        "many objects",
        factors.map { factor in Graph.values(.string, (0..<unit * factor).map { .string("text of object \($0)") }) })
      for (what, piece) in [("a long text", "word "), ("a text of marks", "\"<&,\n")] {
        try judge(
          what,
          factors.map { factor in
            Graph.values(.string, [.string(String(repeating: piece, count: unit * 50 * factor)), .string("end")])
          })
      }
      let store = try check.small("runs")
      let intact = Files.content(store.path) ?? [:]
      guard let (member, bytes) = intact.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }) else {
        return
      }
      let half = bytes.count / 2
      for byte in "<&\"',;{[( \n\0".utf8 {
        let paths = factors.map { check.path("run\($0)") }
        for (path, factor) in zip(paths, factors) {
          var crafted = intact
          crafted[member] = Array(bytes[..<half]) + [UInt8](repeating: byte, count: unit * 50 * factor) + bytes[half...]
          Files.put(crafted, at: path)
        }
        try judge("a run of byte \(byte)", paths, store.graph.model)
      }
    },
    CheckDefinition(
      "HOS-04", "Whatever a file says, no other file is read", profile: .hostile, from: kit,
      by:
        "texts, URIs and bytes that look like paths; for folders, links that lead out; every file that is opened is written down",
      causes: ["a value is taken for the place of more data", "a link in a store is followed"],
      catches: ["followsExternalPath"]
    ) { check in
      Files.write(Array("secret".utf8), to: check.folder + "/secret.txt")
      var model = Models.attributes([("text", .string), ("place", .uri), ("bytes", .binaryData)])
      if check.traits.unsupportedTypes.contains("URI") || check.traits.unsupportedTypes.contains("Binary") {
        model = Models.attributes([("text", .string)])
      }
      var graph = Graph(model)
      let paths = [
        "secret.txt", "../secret.txt", check.folder + "/secret.txt", "file://" + check.folder + "/secret.txt",
        "/etc/hostname",
        "@/etc/hostname", "|cat /etc/hostname",
      ]
      for path in paths {
        var object = Graph.Object(label: path, entity: "Sample", values: ["text": .string(path)])
        if model.entities.first?.properties.count ?? 0 > 1 {
          object.values["place"] = .uri(path)
          object.values["bytes"] = .data(Data(path.utf8))
        }
        graph.objects.append(object)
      }
      let made = graph
      let path = check.path()
      _ = try check.process("save texts that look like paths") { try $0.write(made, to: path) }
      if Files.isFolder(path) {
        for name in Files.names(in: path) { symlink(check.folder + "/secret.txt", path + "/linked-" + name) }
      }
      for options in [check.handmade, [:]] {
        let plan = try FaultPlan(CSF_COUNT)
        _ = try check.attempt("open it", faults: plan) { try $0.read(path, made.model, options: options) }
        try check.expect(
          plan.trace.contains { $0.path == path || $0.path.hasPrefix(path + "/") }, "the store is read", "it is not")
        for call in plan.trace {
          let isOwn = call.path == path || call.path.hasPrefix(path + "/") && Files.target(ofLink: call.path) == nil
          try check.expect(isOwn, "nothing but \(path) is opened", "\(call.what) \(call.path)")
        }
      }
    },
    CheckDefinition(
      "HOS-06", "A hostile file leaves nothing behind in the process: the next store is read as ever",
      profile: .hostile, from: kit,
      by: "100 changed files, then the intact one, in one process",
      causes: ["a parser's state, or a cache, is shared and not reset"],
      catches: ["poisonedStaticState"], timeLimit: 60
    ) { check in
      let store = try check.small()
      let intact = Files.content(store.path) ?? [:]
      var random = SeededRandom(check.seed)
      let damages = Mutation.some(60, of: intact, &random) + Mutation.large(intact, limit: 40)
      let options = check.handmade
      let text = try check.process("open \(damages.count) changed files, then the intact one", seconds: 30) { session in
        for damage in damages {
          Files.write(damage.bytes, to: damage.member.isEmpty ? store.path : store.path + "/" + damage.member)
          _ = try? session.read(store.path, store.graph.model, options: options)
          if !damage.member.isEmpty { Files.put(intact, at: store.path) }
        }
        Files.put(intact, at: store.path)
        return try session.read(store.path, store.graph.model)
      }
      try check.expectSame(text, store.text, "the intact store, after \(damages.count) others")
    },
  ]
}
