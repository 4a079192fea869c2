import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// What a store must be after its last save: a plain model of it.
struct StoreLife: Sendable {
  var graph: Graph
  /// What each object is called.
  var names: [String: String] = [:]
  var entries = PropertyListDictionary()
  var uuid: String?
  /// The model that it was saved with last; nil where the store carries none.
  var carried: ModelDescription?

  /// The entities and properties in another order, and what does not belong to the version hash changed: still the same
  /// model for a store.
  static func permuted(_ model: ModelDescription, _ dice: inout SeededRandom) -> ModelDescription {
    func permuted(_ entity: EntityDescription) -> EntityDescription {
      var entity = entity
      entity.properties.shuffle(using: &dice)
      entity.subentities = entity.subentities.map { permuted($0) }.shuffled(using: &dice)
      entity.userInfo = [UserInfoEntry(key: "note", value: "\(dice.below(1_000_000))")]
      return entity
    }
    var model = model
    model.entities = model.entities.map { permuted($0) }.shuffled(using: &dice)
    return model
  }

  /// Entries of metadata that differ from those of other saves.
  static func entries(_ dice: inout SeededRandom) -> PropertyListDictionary {
    var entries = Checks.entries(["save": .integer(Int128(dice.next()))])
    for place in 0..<dice.below(4) { entries["entry \(place)"] = .string("text \(dice.next())") }
    return entries
  }

  /// A random model, with two attributes of one type in each entity, and an entity that has few objects or none.
  static func random(_ dice: inout SeededRandom, _ traits: StoreTraits) throws -> Graph {
    let most = traits.maximumEntities ?? 5
    var graph = try RandomGraphs.make(&dice, entities: max(most - 1, 1), isOrdered: traits.keepsOrder, traits)[0]
    if most > 4 { graph.model.entities.append(EntityDescription(name: "Rare")) }
    for place in graph.model.entities.indices {
      graph.model.entities[place].properties += [.attribute("first", .string), .attribute("second", .string)]
    }
    return graph
  }

  /// The graph of the next save: objects come, change and go; in each eleventh save all go.
  static func change(_ graph: inout Graph, save: Int, _ dice: inout SeededRandom) throws {
    guard save % 11 != 6 else {
      graph.objects = []
      return
    }
    let names = try Models.frozen(graph.model).entities.map(\.name).filter { $0 != "Rare" }
    for _ in 0..<dice.below(4) where graph.objects.count > 4 {
      if let gone = graph.objects.randomElement(using: &dice)?.label { graph.remove(gone) }
    }
    for place in 0..<(graph.objects.isEmpty ? 6 : 1 + dice.below(2)) {
      graph.objects.append(.init(label: "\(save).\(place)", entity: names[dice.below(names.count)]))
    }
    for object in graph.objects where object.entity == "Rare" { graph.remove(object.label) }
    if graph.model.entities.contains(where: { $0.name == "Rare" }) {
      graph.objects += (0..<[0, 1, 0, 3][save % 4]).map { .init(label: "rare \($0) of \(save)", entity: "Rare") }
    }
    if graph["large"] == nil { graph.objects.append(.init(label: "large", entity: names[0])) }
    try RandomGraphs.change(&graph, &dice, all: false, longest: 5)
    graph.set("large", "first", .string(String(repeating: "large ", count: 25_000)))
  }
}

/// What a process reports of the saves that it made.
struct SavesSeen: Codable, Sendable {
  var uuid = ""
  /// After each save, what each object is called.
  var names: [[String: String]] = []
  /// What was not as it should be, and when.
  var differences: [GraphText.Difference] = []
  var when = ""
}

extension StoreSession {
  /// What an open store has otherwise than its plain model.
  func differences(_ open: Open, from life: StoreLife) throws -> [GraphText.Difference] {
    let traits = subject.type.traits
    var found = try life.graph.text(life.names).differences(from: GraphText(open.store))
    if traits.keepsMetadata { found += Self.differences(life.entries, open.store.metadata.entries) }
    if traits.keepsIdentity, let uuid = life.uuid, uuid != open.store.identifier.uuidString {
      found.append(.init(expected: "UUID \(uuid)", actual: open.store.identifier.uuidString))
    }
    return Array(found.prefix(GraphText.mostShown + 1))
  }

  /// Opens a store, compares it with what was saved last, and makes each of the graphs of it in turn. After each save
  /// the store is read once more.
  ///
  /// - Parameter metadata: For each save; nil where the store keeps none.
  func live(
    _ path: String, _ life: StoreLife, _ graphs: [Graph], metadata: [PropertyListDictionary]?, model: ModelDescription,
    isNew: Bool, isRead: Bool
  ) throws -> SavesSeen {
    try opened(path, model) { open in
      var (seen, life) = (SavesSeen(), life)
      func look(_ when: String, _ open: Open) throws {
        guard seen.differences.isEmpty else { return }
        (seen.differences, seen.when) = (try differences(open, from: life), when)
      }
      if !isNew { try look("when it is opened", open) }
      life.uuid = open.store.identifier.uuidString
      for (place, graph) in graphs.enumerated() {
        let made = try change(open, from: life.graph, to: graph, names: life.names)
        if let metadata {
          life.entries = metadata[place]
          try open.store.setMetadata(metadata[place])
        }
        try open.context.save()
        if open.store.hasUnsavedMetadata { try open.coordinator.save(open.store) }
        life.names = made.mapValues { Self.name($0) }
        life.graph = graph
        seen.names.append(life.names)
        if isRead { try look("after save \(place + 1)", try self.open(path, model, isReadOnly: true)) }
      }
      seen.uuid = open.store.identifier.uuidString
      return seen
    }
  }
}
