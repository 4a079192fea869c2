import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// SCL: many objects, many saves, many stores one after the other.
extension Checks {
  #if DEBUG
    /// A tenth, where the code under test is ten times slower.
    fileprivate static let sizes = [1_000, 3_000, 10_000]
    private static let greatestList = 100
    private static let saves = 300
  #else
    fileprivate static let sizes = [10_000, 30_000, 100_000]
    private static let greatestList = 1_000
    private static let saves = 1_000
  #endif

  static let scale: [CheckDefinition] = [
    CheckDefinition(
      "SCL-01", "Time to save and to open grows with the number of objects", level: .should, profile: .scale, from: kit,
      by:
        "\(sizes.map(String.init).joined(separator: ", ")) objects; the slope of time over number, both as logarithms, is at most 1.25",
      causes: ["a list is searched for each object"], catches: ["quadraticSave"], timeLimit: 300
    ) { check in
      try check.expectLinear("objects") { size in
        var graph = Graph(Models.attributes([("name", .string), ("number", .integer64), ("weight", .double)]))
        graph.objects = (0..<size).map { place in
          .init(
            label: "\(place)", entity: "Sample",
            values: [
              "name": .string("object of the name \(place)"), "number": .integer(Int64(place)),
              "weight": .double(Double(place) / 7),
            ])
        }
        return graph
      }
    },
    CheckDefinition(
      "SCL-02", "Time to save and to open grows with the number of objects where each leads to many", level: .should,
      profile: .scale,
      from: kit,
      by: "as SCL-01, with lists of 1 to \(greatestList) objects", causes: ["lists are searched, or built one by one"],
      catches: ["quadraticRelationships"], timeLimit: 300
    ) { check in
      let seed = check.seed
      try check.expectLinear("objects in lists") { size in
        var random = SeededRandom(seed)
        var graph = Graph(Models.nodes)
        graph.objects = (0..<size).map {
          .init(label: "\($0)", entity: "Node", values: ["number": .integer(Int64($0))])
        }
        var place = 0
        while place < size {
          let end = min(size, place + 2 + random.below(greatestList))
          graph.objects[place].links["children"] = (place + 1..<end).map { "\($0)" }
          for child in place + 1..<end { graph.objects[child].links["parent"] = ["\(place)"] }
          place = end
        }
        return graph
      }
    },
    CheckDefinition(
      "SCL-03", "Memory comes back when stores are removed", profile: .scale, from: kit,
      by:
        "a store is opened, read and removed 24 times in one process; from the 8th to the last, what is in use grows by less than 3 MB",
      causes: ["nodes, or the file's bytes, are held by something that stays"], catches: ["holdsWhatItRead"],
      timeLimit: 60
    ) { check in
      let graph = Graph.values(.string, (0..<1_000).map { .string("text of object \($0), which is not that short") })
      let path = check.path()
      _ = try check.process("save 1000 objects") { try $0.forge(graph, to: path) }
      let used = try check.process("open and remove it 24 times", seconds: 50) { session in
        try (0..<24).map { _ in
          let open = try session.open(path, graph.model, isReadOnly: true)
          _ = try GraphText(open.store)
          try open.coordinator.remove(open.store)
          return Memory.inUse
        }
      }
      check.note("in use after each: " + used.map { "\($0 >> 10)" }.joined(separator: ", ") + " KB")
      let growth = used[used.count - 1] - used[7]
      try check.expect(growth < 3 << 20, "less than 3 MB more after 16 more times", "\(growth >> 10) KB more")
    },
    CheckDefinition(
      "SCL-04", "Opening takes memory in proportion to the file", level: .measured, profile: .scale, from: kit,
      by: "the most memory in use while a store of \(sizes[2]) objects is opened: at most 40 times its file and 32 MB",
      causes: ["the file is held several times over"], catches: ["copiesFileManyTimes"], timeLimit: 120
    ) { check in
      let count = sizes[2]
      let graph = Graph.values(.string, (0..<count).map { .string("text of object \($0)") })
      let path = check.path()
      _ = try check.process("save \(count) objects", seconds: 60) { try $0.forge(graph, to: path) }
      let size = (Files.content(path) ?? [:]).values.reduce(0) { $0 + $1.count }
      let grown = try check.process("open it", seconds: 60) { session in
        try Memory.growth { _ = try session.open(path, graph.model, isReadOnly: true).store.nodes.count }
      }
      check.note("\(grown / count) bytes for an object, \(grown / max(size, 1)) times the \(size) bytes of the file")
      try check.expect(grown <= 40 * size + 32 << 20, "at most \((40 * size + 32 << 20) >> 20) MB", "\(grown >> 20) MB")
    },
    CheckDefinition(
      "SCL-05", "Saves leave no files open", profile: .scale, from: kit,
      by: "\(saves) saves in one process; open files after the 10th and the last",
      causes: ["a file, or the folder that is synced, is not closed"], catches: ["leaksDescriptorOnSave"],
      timeLimit: 120
    ) { check in
      let golden = try check.golden()
      let seen = try check.process("save \(saves) times", seconds: 100) { session -> [Int] in
        let open = try session.open(golden.path, golden.graph.model)
        return try withExtendedLifetime(open) {
          guard let object = try session.all(open, "Node").first else { return [] }
          var seen: [Int] = []
          for number in 1...saves {
            try object.setValue(StoredValue.integer(Int64(number)), forKey: "number")
            try open.context.save()
            if number == 10 || number == saves { seen.append(StoreSession.descriptors().count) }
          }
          return seen
        }
      }
      try check.expect(
        seen.count == 2 && seen[0] == seen[1], "as many files are open after the last save as after the 10th", "\(seen)"
      )
    },
  ]
}

extension CheckContext {
  private struct Times: Codable, Sendable {
    var save: Double
    var open: Double
  }

  /// - Parameter make: A graph of so many objects.
  fileprivate func expectLinear(_ what: String, _ make: (Int) -> Graph) throws {
    var all: [(size: Int, times: Times)] = []
    for size in Checks.sizes {
      let graph = make(size)
      let path = self.path("size\(size)")
      let save = try process("save \(size) \(what)", seconds: 120) { session in
        try (0..<2).map { _ in try Stopwatch.seconds { _ = try session.forge(graph, to: path) } }.min() ?? 0
      }
      let open = try process("open \(size) \(what)", seconds: 120) { session in
        try (0..<2).map { _ in
          try Stopwatch.seconds { _ = try session.open(path, graph.model, isReadOnly: true).store.nodes.count }
        }.min() ?? 0
      }
      all.append((size, Times(save: save, open: open)))
      note("\(size) \(what): saved in \(Int(save * 1000)) ms, opened in \(Int(open * 1000)) ms of the processor")
    }
    guard let first = all.first, let last = all.last else { return }
    for (name, one, other) in [
      ("saving", first.times.save, last.times.save), ("opening", first.times.open, last.times.open),
    ] {
      let slope = log(max(other, 1e-4) / max(one, 1e-4)) / log(Double(last.size) / Double(first.size))
      note("\(name): slope \(Double(Int(slope * 100)) / 100)")
      // What takes no time has no slope.
      try expect(other < 0.1 || slope <= 1.25, "\(name): a slope of at most 1.25", "\(Double(Int(slope * 100)) / 100)")
    }
  }
}
