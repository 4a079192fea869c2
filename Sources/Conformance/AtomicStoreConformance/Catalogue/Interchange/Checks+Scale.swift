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
    fileprivate static let sizes = [1_000, 10_000, 100_000]
    private static let greatestList = 1_000
    private static let saves = 1_000
  #endif
  // Of many objects more is outside of caches, which others use too.
  fileprivate static let steepest = 1.35

  static let scale: [CheckDefinition] = [
    CheckDefinition(
      "SCL-01", "Time to save and to open grows with the number of objects", level: .should, profile: .scale, from: kit,
      by:
        "\(sizes.map(String.init).joined(separator: ", ")) objects; the processor's time grows with their number to the power of at most \(steepest); what is opened is compared",
      causes: ["a list is searched for each object"], catches: ["quadraticSave", "textsOfManyCut"], timeLimit: 300
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
      catches: ["quadraticRelationships", "linksOfManyLost"], timeLimit: 300
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
        "a store is opened, read, compared and removed 40 times in one process; from the 8th on what is in use does not grow steadily",
      causes: ["nodes, or the file's bytes, are held by something that stays"],
      catches: ["holdsWhatItRead", "holdsALittle"],
      timeLimit: 60
    ) { check in
      let graph = Graph.values(.string, (0..<4_000).map { .string("text of object \($0), which is not that short") })
      let path = check.path()
      _ = try check.process("save 4,000 objects") { try $0.forge(graph, to: path) }
      let size = (Files.content(path) ?? [:]).values.reduce(0) { $0 + $1.count }
      let (used, found) = try check.process("open, compare and remove it 40 times", seconds: 50) { session in
        var found: [GraphText.Difference] = []
        let used = try (0..<40).map { _ in
          let open = try session.open(path, graph.model, isReadOnly: true)
          found += try session.mismatches(open.store, graph)
          try open.coordinator.remove(open.store)
          return Memory.inUse
        }
        return Growth(used: used, found: Array(found.prefix(GraphText.mostShown + 1)))
      }.parts
      try check.expectNone(found, "what was opened each time")
      check.note("in use after each: " + used.map { "\($0 >> 10)" }.joined(separator: ", ") + " KB")
      // By halves: what a leak adds, it adds to the second as well as to the first; what is kept for reuse it does not.
      let growth = (median(used[32..<40]) - median(used[16..<24])) / 16
      check.note("\(growth) bytes more each time, for a file of \(size) bytes")
      try check.expect(
        growth < max(size / 8, 4_096), "less than an eighth of the file more each time", "\(growth) bytes")
    },
    CheckDefinition(
      "SCL-04", "Opening takes memory in proportion to the file", level: .measured, profile: .scale, from: kit,
      by: "the most memory in use while a store of \(sizes[2]) objects is opened: at most 40 times its file and 32 MB",
      causes: ["the file is held several times over"], catches: ["copiesFileManyTimes", "textsOfManyCut"],
      timeLimit: 120
    ) { check in
      let count = sizes[2]
      let graph = Graph.values(.string, (0..<count).map { .string("text of object \($0)") })
      let path = check.path()
      _ = try check.process("save \(count) objects", seconds: 60) { try $0.forge(graph, to: path) }
      let size = (Files.content(path) ?? [:]).values.reduce(0) { $0 + $1.count }
      let grown = try check.process("open it", seconds: 60) { session in
        try Memory.growth { _ = try session.open(path, graph.model, isReadOnly: true).store.nodes.count }
      }
      try check.expectNone(
        try check.process("compare it", seconds: 60) { try $0.mismatches(path, graph, model: graph.model) },
        "the objects")
      check.note("\(grown / count) bytes for an object, \(grown / max(size, 1)) times the \(size) bytes of the file")
      try check.expect(grown <= 40 * size + 32 << 20, "at most \((40 * size + 32 << 20) >> 20) MB", "\(grown >> 20) MB")
    },
    CheckDefinition(
      "SCL-05", "Saves leave no files open", profile: .scale, from: kit,
      by:
        "\(saves) saves in one process; open files after the 10th and the last; the objects are counted after each of the first 20, "
        + "and the store is compared at the end",
      causes: ["a file, or the folder that is synced, is not closed"],
      catches: ["leaksDescriptorOnSave", "losesValueAfterManySaves"],
      timeLimit: 120
    ) { check in
      let golden = try check.golden()
      let seen = try check.process("save \(saves) times", seconds: 100) { session -> [Int] in
        try session.opened(golden.path, golden.graph.model) { open in
          guard let object = try session.all(open, "Node").first else { return [] }
          var seen: [Int] = []
          for number in 1...saves {
            try object.setValue(StoredValue.integer(Int64(number)), forKey: "number")
            try open.context.save()
            if number <= 20, try session.read(golden.path, golden.graph.model).count != golden.text.objects.count {
              return [-number]
            }
            if number == 10 || number == saves { seen.append(StoreSession.descriptors().count) }
          }
          return seen
        }
      }
      try check.expect(
        seen.first ?? 0 >= 0, "every object is there after each save",
        "some are not after save \(-(seen.first ?? 0))")
      try check.expect(
        seen.count == 2 && seen[0] == seen[1], "as many files are open after the last save as after the 10th", "\(seen)"
      )
      let read = try check.process("read it in another process") { try $0.read(golden.path, golden.graph.model) }
      // One object has the number that was saved last, all else is as it was.
      let changed = golden.text.objects.keys.filter { read.objects[$0] != golden.text.objects[$0] }
      try check.expectEqual(changed.count, 1, "objects that are otherwise than they were")
      for object in changed {
        var expected = golden.text.objects[object] ?? [:]
        expected["number"] = "integer:\(saves)"
        try check.expect(
          read.objects[object] == expected, "\(object) has the number \(saves) and is as it was", "it is not")
      }
    },
  ]
}

/// What SCL-03 sees.
private struct Growth: Codable, Sendable {
  var used: [Int]
  var found: [GraphText.Difference]
  var parts: ([Int], [GraphText.Difference]) { (used, found) }
}

private func median(_ values: ArraySlice<Int>) -> Int {
  let sorted = values.sorted()
  return sorted[sorted.count / 2]
}

extension CheckContext {
  /// - Parameter make: A graph of so many objects.
  fileprivate func expectLinear(_ what: String, _ make: (Int) -> Graph) throws {
    let sizes = Checks.sizes
    let graphs = sizes.map(make)
    let paths = sizes.map { path("size\($0)") }
    try expectGrowth("saving \(what)", sizes, atMost: Checks.steepest) { session, number in
      try Stopwatch.seconds { _ = try session.forge(graphs[number], to: paths[number]) }
    }
    for (number, graph) in graphs.enumerated() {
      try expectNone(
        try process("compare \(sizes[number]) \(what)", seconds: 120) {
          try $0.mismatches(paths[number], graph, model: graph.model)
        }, "\(sizes[number]) \(what)")
    }
    try expectGrowth("opening \(what)", sizes, atMost: Checks.steepest) { session, number in
      try Stopwatch.seconds {
        _ = try session.open(paths[number], graphs[number].model, isReadOnly: true).store.nodes.count
      }
    }
  }
}
