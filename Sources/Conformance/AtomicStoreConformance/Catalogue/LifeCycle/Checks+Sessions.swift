import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// CHG and REF, continued: the life of a store over many processes, compared with a plain model after each save.
extension Checks {
  static let sessions: [CheckDefinition] = [
    CheckDefinition(
      "CHG-15", "Over many sessions a store is what was saved last: objects, UUID, metadata and model", from: kit,
      by:
        "a random model; 26 saves in ten processes, up to eight in one; objects come, change and go, all of them twice; other metadata for each save, the model in another order for each process; read after each save, and with the model that the store carries",
      causes: [
        "values are found by the position of their property", "something of the first save or load is written again",
        "a store without objects is taken for a new one",
      ],
      catches: [
        "valuesByPosition", "firstMetadataKept", "firstModelKept", "uuidNewWhenEmpty", "largeTextsLostInFifthSave",
      ], timeLimit: 120, changesStore: true
    ) { check in try check.expectLife() },
    CheckDefinition(
      "REF-19", "No reference is given twice in the life of a file, wherever its numbers begin", level: .should,
      from: unique,
      by:
        "objects are made, and the newest deleted, each in another process, then at random, and once all of them; from the references 0, 2^31, 2^32 and 2^53 on; at 2^63 - 2 the last references are given, and then none",
      causes: ["the last reference is written one save late, in fewer bits, or not without objects"],
      catches: ["lastReferenceLate", "lastReferenceIn32Bits"], timeLimit: 120, changesStore: true,
      demand: { $0.references == .derived ? .notApplicable("references are derived") : .applies }
    ) { check in
      for bits in [0, 31, 32, 53] { try check.expectReferencesGivenOnce(from: max(1, Int64(1) << bits - 1)) }
      try check.expectReferencesUsedUp()
    },
  ]
}

extension CheckContext {
  fileprivate func expectLife() throws {
    var dice = SeededRandom(seed)
    let path = path()
    let model = try StoreLife.random(&dice, traits).model
    var life = StoreLife(graph: Graph(model))
    var save = 0
    for (session, count) in [1, 2, 1, 3, 2, 1, 8, 2, 1, 5].enumerated() {
      var graphs: [Graph] = []
      for _ in 0..<count {
        graphs.append(graphs.last ?? life.graph)
        try StoreLife.change(&graphs[graphs.count - 1], save: save, &dice)
        save += 1
      }
      let entries = traits.keepsMetadata ? graphs.map { _ in StoreLife.entries(&dice) } : nil
      let permuted = StoreLife.permuted(model, &dice)
      let (before, all) = (life, graphs)
      let what = "open it in process \(session + 1), and save \(count) times"
      let seen = try process(what, seconds: 60) {
        try $0.live(path, before, all, metadata: entries, model: permuted, isNew: session == 0, isRead: true)
      }
      try expectNone(seen.differences, "\(what): the store \(seen.when)")
      life = StoreLife(
        graph: all[count - 1], names: seen.names[count - 1], entries: entries?.last ?? PropertyListDictionary(),
        uuid: seen.uuid, carried: permuted)
      try expectRead(life, at: path)
    }
  }

  /// A store is read in another process as its plain model is, and carries the model that it was saved with.
  private func expectRead(_ life: StoreLife, at path: String) throws {
    let differences = try process("read it in another process") { session -> [GraphText.Difference] in
      try session.opened(path, session.needed(life.graph.model), isReadOnly: true) { open in
        guard let carried = open.store.metadata.model, !carried.isInferred else {
          return try session.opened(path, life.graph.model, isReadOnly: true) { open in
            try session.differences(open, from: life)
          }
        }
        var found = try session.differences(open, from: life)
        if session.subject.type.traits.isSelfDescribing, let wanted = life.carried {
          found += ModelComparison.differences(wanted, carried).prefix(GraphText.mostShown).map {
            .init("\($0.path) = ", $0.old ?? "missing", "\($0.path) = ", $0.new ?? "missing")
          }
        }
        return found
      }
    }
    try expectNone(differences, "the store in another process")
  }

  /// Objects are made and deleted, each in another session, first in turn, then at random.
  fileprivate func expectReferencesGivenOnce(from first: Int64) throws {
    var dice = SeededRandom(seed &+ UInt64(first))
    let path = path("from\(first)")
    let entities = (traits.maximumEntities ?? .max) > 2 ? ["Person", "Employee", "Manager"] : ["Node"]
    var life = StoreLife(graph: Graph(entities.count > 1 ? Models.people : Models.nodes))
    life.graph.objects = (0..<3).map { .init(label: "first \($0)", entity: entities[0]) }
    let start = life.graph
    let names = try unlessRefused("write objects with the references \(first) and on") {
      try $0.forge(start, to: path, references: { .integer(first &+ Int64($0)) })
    }
    guard let names else { return }
    life.names = names
    var given = Set(names.values.map { reference(in: $0) })
    for session in 0..<14 {
      var graph = life.graph
      let isDeletion = session < 6 ? session % 2 == 1 : dice.below(2) == 0
      if isDeletion, let newest = graph.objects.last?.label { graph.remove(newest) }
      if session == 8 {
        for label in graph.objects.map(\.label) { graph.remove(label) }
      } else if !isDeletion || graph.objects.isEmpty || session >= 6 && dice.below(3) == 0 {
        graph.objects.append(.init(label: "new \(session)", entity: entities[dice.below(entities.count)]))
      }
      let (before, next) = (life, graph)
      let what = session == 8 ? "delete all objects" : isDeletion ? "delete the newest object" : "make an object"
      let seen = try process("\(what) in process \(session + 1)") {
        try $0.live(path, before, [next], metadata: nil, model: next.model, isNew: true, isRead: false)
      }
      (life.graph, life.names) = (graph, seen.names[0])
      for (label, name) in life.names where before.names[label] == nil {
        try expect(
          given.insert(reference(in: name)).inserted, "a new object gets a reference that was never given",
          "\(name), in process \(session + 1), after those from \(first) on")
      }
    }
    try expectHeld(try life.graph.text(life.names), at: path, life.graph.model, "the objects, from \(first) on")
  }

  /// The entities are of one hierarchy.
  private func reference(in name: String) -> ScalarKey {
    ScalarKey(String(name.drop { $0 != "/" }.dropFirst()))
  }

  /// A format that numbers its objects has no reference after the greatest.
  fileprivate func expectReferencesUsedUp() throws {
    let path = path("end")
    let start = Graph(Models.nodes, [("first", "Node")])
    let names = try unlessRefused("write an object with the reference 2^63 - 2") {
      try $0.forge(start, to: path, references: { _ in .integer(.max - 1) })
    }
    guard let names else { return }
    var life = StoreLife(graph: start, names: names)
    for number in 1...3 {
      var graph = life.graph
      graph.objects.append(.init(label: "new \(number)", entity: "Node"))
      let (before, next) = (life, graph)
      let seen = try unlessRefused("make object \(number) after the reference 2^63 - 2") {
        try $0.live(path, before, [next], metadata: nil, model: next.model, isNew: true, isRead: false)
      }
      if let seen {
        let name = seen.names[0]["new \(number)"] ?? ""
        try expect(
          !life.names.values.contains(name), "a new object gets a reference that was never given", name)
        life = StoreLife(graph: graph, names: seen.names[0])
      }
      try expectHeld(try life.graph.text(life.names), at: path, start.model, "the objects about 2^63")
    }
  }
}
