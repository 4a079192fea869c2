import AtomicStoreSPI
import FoundationEssentials

/// Files that no program should have written, made without knowing the format: its own `save` is given rows that follow
/// one model and metadata that claim another, or rows that break the rules of their model.
extension StoreSession {
  /// References that are 1, 2, 3 in the graph's order.
  static func counting(_ place: Int) -> ReferenceObject { .integer(Int64(place) + 1) }

  /// Writes a graph as it is: nothing is validated, and no inverse follows.
  ///
  /// - Parameters:
  ///   - claims: The model that the file says it follows; nil for the graph's own.
  ///   - uuid: The store's; so that two files can be equal.
  ///   - options: The options that the format receives.
  ///   - references: What each object is called, by its place in the graph.
  /// - Returns: What each object is called there.
  @discardableResult func forge(
    _ graph: Graph, to path: String, claims: ModelDescription? = nil, uuid: UUID = UUID(),
    options: StoreOptions = [:], references: (Int) -> ReferenceObject = StoreSession.counting
  ) throws -> [String: String] {
    let model = try Models.frozen(graph.model)
    var nodes = NodeTable(model: model)
    var made: [String: NodeHandle] = [:]
    for (place, object) in graph.objects.enumerated() {
      guard let entity = model.entity(named: object.entity) else {
        throw ExpectationFailure(
          expected: "the check's own graph is sound", actual: "there is no entity \(object.entity)")
      }
      let node = try nodes.addCacheNode(entity: entity.index, reference: references(place))
      for (name, value) in object.values { try nodes.setValue(value, forKey: name.text, of: node) }
      made[object.label] = node
    }
    for object in graph.objects {
      guard let node = made[object.label] else { continue }
      for (name, labels) in object.links {
        let targets = labels.compactMap { made[$0] }.map { nodes.objectReference(of: $0) }
        let isToMany =
          model.entity(at: node.entity).slots.first { ScalarKey($0.name) == name }?.isToMany
          ?? false
        try nodes.setValue(
          isToMany ? .toMany(targets) : targets.first.map { .toOne($0) } ?? .null, forKey: name.text, of: node)
      }
    }
    var format = try subject.type.init(StoreConfiguration(path: path, options: options)) as any AtomicStore
    let last = graph.objects.indices.reduce(Int64(0)) { last, place in
      if case .integer(let number) = references(place) { max(last, number) } else { last }
    }
    let metadata = StoreMetadata(
      storeType: subject.type.storeType, uuid: uuid, lastReference: last, model: claims ?? graph.model)
    let names = made.mapValues { GraphText.name(model.entity(at: $0.entity).name, nodes.reference(of: $0)) }
    let staged = try StagedStore(target: path, layout: format.layout, policy: .replaceAny)
    try format.save(StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata), to: staged.files)
    try staged.finish()
    try staged.commit()
    return names
  }
}

extension CheckContext {
  /// What makes the format take files that were changed by hand, where it has an option for that.
  var handmade: StoreOptions {
    traits.readOptions.contains { $0.name == "edited" && $0.values?.contains("accept") ?? false }
      ? ["edited": "accept"] : [:]
  }

  /// A file whose rows do not fit the model that it claims must be refused, naming the place.
  ///
  /// - Parameter countsLoss: Whether a loss that the format reports is as good as an error.
  func expectForgeryRefused(
    _ graph: Graph, claims: ModelDescription, _ what: String, naming words: [String] = [],
    countsLoss: Bool = false, references: @escaping @Sendable (Int) -> ReferenceObject = { StoreSession.counting($0) }
  ) throws {
    let path = self.path("forged\(record.nextFile())")
    _ = try process("write \(what)") { session in
      try session.forge(graph, to: path, claims: claims, references: references)
    }
    let before = Files.content(path)
    let error = try refusal(of: "open \(what)") { session in
      countsLoss
        ? try session.readWithoutLoss(path, claims, options: handmade)
        : try session.read(path, claims, options: handmade)
    }
    // What the file does not hold no error can name.
    for word in words {
      guard !places(of: word, at: path).isEmpty || !places(of: word.uppercased(), at: path).isEmpty else {
        note("\(what): the file does not hold '\(word)', so that the error need not name it")
        continue
      }
      try expect(error.text.lowercased().contains(word), "\(what): the error names '\(word)'", error.text)
    }
    note("\(what): \(error.text)")
    try expectUntouched(path, before, "after the refusal")
  }

  /// The places of a text in the files of a store.
  func places(of text: String, at path: String) -> [(file: String, offset: Int)] {
    Files.places(of: Array(text.utf8), in: Files.content(path) ?? [:])
  }

  /// What changes texts in a file is not about a store that is compressed or encrypted.
  func requirePlain(_ text: String, at path: String) throws {
    guard places(of: text, at: path).isEmpty else { return }
    throw NotApplicable(reason: "the store’s file does not hold its texts as they are")
  }

  /// Writes a copy of a store in which some bytes are others.
  func copy(
    _ path: String, to other: String, replacing text: String, at place: (file: String, offset: Int), with new: String
  ) {
    Files.put(
      Files.replacing(Array(text.utf8), by: Array(new.utf8), at: place, in: Files.content(path) ?? [:]), at: other)
  }
}
