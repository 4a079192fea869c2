import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// HOS: files of two factors, each of which takes few bytes: what is made of one must not be their product.
extension Checks {
  #if DEBUG
    private static let productScale = 1
    private static let entityScale = 1
  #else
    private static let productScale = 2
    // What a fast reader does in a tenth of a second cannot be measured.
    private static let entityScale = 4
  #endif

  static let hostileProducts: [CheckDefinition] = [
    CheckDefinition(
      "HOS-07", "Opening a store takes memory by its size, not by what the entities of its model inherit",
      profile: .hostile, from: kit,
      by:
        "an entity of 500 attributes with hundreds of sub-entities, with and without an object in each; at most 64 MB and 64 times the size",
      causes: ["each entity has a copy of what it inherits", "columns are made for properties that no object has"],
      catches: ["roomForInherited"], timeLimit: 120, demand: severalEntities
    ) { check in
      for withObjects in [false, true] {
        let count = withObjects ? 120 * productScale : 400 * productScale
        var model = Models.attributes((0..<500).map { ("attribute\($0)", AttributeType.integer16) })
        model.entities[0].subentities = (0..<count).map { EntityDescription(name: "Below\($0)") }
        var graph = Graph(model, [.init(label: "one", entity: "Sample")])
        if withObjects { graph.objects += (0..<count).map { .init(label: "\($0)", entity: "Below\($0)") } }
        try check.expectOpenedWithinBounds(graph, "\(count) sub-entities\(withObjects ? " with an object each" : "")")
      }
    },
    CheckDefinition(
      "HOS-08",
      "Opening a store takes memory by its size, not by its objects times the properties that any of them has",
      profile: .hostile,
      from: kit,
      by:
        "one entity, its objects with one value each, of another property; at most 64 MB and 64 times the size, or refused",
      causes: ["each object has room for each property"], catches: ["roomForEveryValue"], timeLimit: 120
    ) { check in
      for count in [500 * productScale, 1200 * productScale] {
        var graph = Graph(Models.attributes((0..<count).map { ("attribute\($0)", AttributeType.integer16) }))
        graph.objects = (0..<count).map {
          .init(label: "\($0)", entity: "Sample", values: ["attribute\($0)": .integer(1)])
        }
        try check.expectOpenedWithinBounds(graph, "\(count) objects with one of \(count) properties each")
      }
    },
    CheckDefinition(
      "HOS-09", "Opening a store takes memory by its size also where nearly all of it is its model", profile: .hostile,
      from: kit,
      by: "an entity of 20,000 attributes with two objects; at most 64 MB and 64 times the size, or refused",
      causes: ["each property has buffers of a fixed size"], catches: ["bufferForEachProperty"], timeLimit: 120
    ) { check in
      var graph = Graph(Models.attributes((0..<10_000 * productScale).map { ("attribute\($0)", AttributeType.string) }))
      let values = (0..<10_000 * productScale).map { (ScalarKey("attribute\($0)"), StoredValue.string("x")) }
      graph.objects = [
        .init(label: "all", entity: "Sample", values: Dictionary(uniqueKeysWithValues: values)),
        .init(label: "none", entity: "Sample"),
      ]
      try check.expectOpenedWithinBounds(graph, "\(10_000 * productScale) attributes")
    },
    CheckDefinition(
      "HOS-10", "Time to open a store grows with the number of its entities, not with its square", profile: .hostile,
      from: kit,
      by:
        "entities with an object each, in four sizes: the processor's time grows with their number to the power of at most 1.4",
      causes: ["for each entity all of them are gone through", "an entity is looked for in a list"],
      catches: ["quadraticEntities"], timeLimit: 180,
      demand: severalEntities
    ) { check in
      let counts = [60, 120, 240, 480].map { $0 * entityScale }
      let models = counts.map { count in
        ModelDescription(
          entities: (0..<count).map {
            EntityDescription(name: "Entity\($0)", properties: [.attribute("number", .integer32)])
          })
      }
      let paths = counts.map { check.path("entities\($0)") }
      for (number, count) in counts.enumerated() {
        let graph = Graph(
          models[number],
          (0..<count).map { .init(label: "\($0)", entity: "Entity\($0)", values: ["number": .integer(Int64($0))]) })
        _ = try check.process("save \(count) entities", seconds: 60) { try $0.write(graph, to: paths[number]) }
      }
      try check.expectGrowth("opening entities", counts, atMost: 1.4) { session, number in
        try Stopwatch.seconds {
          _ = try session.open(paths[number], session.needed(models[number]), isReadOnly: true)
        }
      }
    },
  ]

  private static let severalEntities: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.maximumEntities.map { $0 < 2 } ?? false ? .notApplicable("maximumEntities is 1") : .applies
  }
}

extension CheckContext {
  /// Saves a graph in one process and opens it in another, which may take 64 MB and 64 times the store's size. A store
  /// that refuses to save so much, or to open it, as beyond a limit keeps the promise as well.
  func expectOpenedWithinBounds(_ graph: Graph, _ what: String) throws {
    let path = path(what.split(separator: " ").joined(separator: "-"))
    switch try attempt("save \(what)", seconds: 60, { try $0.write(graph, to: path).count }) {
    case .value: break
    case .refused(let error) where ["limitExceeded", "unsupportedByFormat", "invalidModel"].contains(error.code):
      record.expected()
      return note("\(what): saving is refused: \(error.text.prefix(200))")
    case let end: throw ExpectationFailure(expected: "\(what): saved, or refused as beyond a limit", actual: "\(end)")
    }
    let size = (Files.content(path) ?? [:]).values.reduce(0) { $0 + $1.count }
    struct Seen: Codable, Sendable {
      var memory: Int
      var objects: Int?
      var code: String?
      var text = ""
    }
    let end = try attempt("open \(what)", seconds: 60, memory: 6 << 30) { session -> Seen in
      var seen = Seen(memory: 0)
      seen.memory = try Memory.growth {
        do {
          let open = try session.open(path, session.needed(graph.model), isReadOnly: true)
          seen.objects = withExtendedLifetime(open) { open.store.nodes.count }
        } catch let error as PersistentStoreError {
          seen.code = error.code.description
          seen.text = "\(error)"
        }
      }
      return seen
    }
    guard case .value(let seen) = end else {
      throw ExpectationFailure(expected: "\(what): opened or refused", actual: "\(end)")
    }
    Files.remove(path)
    let most = (64 << 20) + 64 * size
    note("\(what): \(size) bytes, \(seen.memory >> 20) of \(most >> 20) MB\(seen.code.map { ", \($0)" } ?? "")")
    try expect(
      seen.memory <= most, "\(what): at most \(most >> 20) MB for \(size) bytes", "it took \(seen.memory >> 20) MB")
    if let code = seen.code { return try expectEqual(code, "limitExceeded", "\(what): opened, or refused as") }
    try expectEqual(seen.objects, graph.objects.count, "\(what): the objects")
  }
}
