import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// LOD, continued: values that are read when they are asked for.
extension Checks {
  static let deferred: [CheckDefinition] = [
    CheckDefinition(
      "LOD-08", "Values that are read late are those of the file that was opened, or an error", from: loadDocument,
      by:
        "a store of long values is opened; its file is exchanged for another, cut, or removed; then the values are read; and one of them is changed and saved",
      causes: ["the file is opened again by its name", "an offset is used in another file"],
      catches: ["lazyReadsStaleOffsets", "dropsWhatWasNotRead"]
    ) { check in
      let graph = Graph.values(.string, (0..<20).map { .string("value \($0) " + String(repeating: "x", count: 5_000)) })
      var other = graph
      for position in other.objects.indices {
        other.objects[position].values["value"] = .string("other \(position) " + String(repeating: "y", count: 4_000))
      }
      let otherGraph = other
      for (number, what) in ["exchanged", "cut", "removed"].enumerated() {
        let path = check.path("store\(number)")
        let second = check.path("second\(number)")
        let names = try check.process("save a store of long values") { try $0.forge(graph, to: path) }
        let text = try graph.text(names)
        _ = try check.process("save another one") { try $0.forge(otherGraph, to: second) }
        let differences = try check.unlessRefused("open it; it is \(what); read its values") { session in
          try session.opened(path, graph.model, isReadOnly: true) { open in
            switch what {
            case "exchanged": Files.put(Files.content(second) ?? [:], at: path)
            case "cut": Files.put((Files.content(path) ?? [:]).mapValues { Array($0.prefix(100)) }, at: path)
            default: Files.remove(path)
            }
            return Array(text.differences(from: try GraphText(open.store)).prefix(GraphText.mostShown))
          }
        }
        if let differences { try check.expectNone(differences, "the values, the file \(what)") }
      }
      let path = check.path("saved")
      let names = try check.process("save a store of long values") { try $0.forge(graph, to: path) }
      var changed = graph
      changed.set("object 7", "value", .string("short"))
      let next = changed
      _ = try check.process("open it, change one value, and save") {
        try $0.edit(path, from: graph, to: next, names: names)
      }
      try check.expectHeld(try next.text(names), at: path, graph.model, "the values after the save")
    },
    CheckDefinition(
      "LOD-13", "Values that are read late are those of their object, in their store", from: loadDocument,
      by:
        "two stores with texts and data of 4 KiB to 1 MiB, whose objects have the same references in two hierarchies, are opened; the values of one are read, of the other, and of the first again; then one is converted to another store of its type",
      causes: ["values are kept by reference, for all hierarchies", "values are kept for all stores of the process"],
      catches: ["lazyMixesHierarchies", "lazyMixesStores"]
    ) { check in
      var stores: [(path: String, graph: Graph, text: GraphText)] = []
      for word in ["one", "two"] {
        let (path, graph) = (check.path(word), longValues(word, check.traits))
        var end = try check.attempt("save \(word), with equal references in two hierarchies") {
          try $0.forge(graph, to: path) { .integer(Int64($0 / 2 + 1)) }
        }
        // A format may have one number for one object only.
        if case .refused = end {
          end = .value(try check.process("save \(word), with different references") { try $0.forge(graph, to: path) })
        }
        guard case .value(let names) = end else {
          throw ExpectationFailure(expected: "\(word) is saved", actual: "\(end)")
        }
        stores.append((path, graph, try graph.text(names)))
      }
      let all = stores
      let model = all[0].graph.model
      let differences = try check.process("open both, and read one, the other, and the first again") { session in
        let open = try all.map { try session.open($0.path, model, isReadOnly: true) }
        return try withExtendedLifetime(open) {
          try [0, 1, 0].flatMap { place in
            all[place].text.differences(from: try GraphText(open[place].store)).prefix(GraphText.mostShown)
          }
        }
      }
      try check.expectNone(differences, "the values of two stores that are open at once")
      guard check.traits.writes != .none, check.traits.references == .all else { return }
      let copy = check.path("copy")
      _ = try check.convert(all[0].path, subjectName: check.name, copy, check.name, of: model)
      try check.expectSame(try check.process("read the copy") { try $0.read(copy, model) }, all[0].text, "the copy")
    },
  ]

  /// Objects of two entities in turn, with long values.
  private static func longValues(_ word: String, _ traits: StoreTraits) -> Graph {
    let hasData = !traits.unsupportedTypes.contains(AttributeType.binaryData.modelName)
    var properties: [PropertyDescription] = [.attribute("text", .string)]
    if hasData { properties.append(.attribute("data", .binaryData)) }
    let names = traits.maximumEntities ?? 2 < 2 ? ["First"] : ["First", "Second"]
    var graph = Graph(
      ModelDescription(entities: names.map { EntityDescription(name: $0, properties: properties) }))
    let sizes = [4 << 10, 5000, 16 << 10, 64 << 10, 64 << 10 + 1, 256 << 10, 1 << 20]
    for (place, size) in sizes.enumerated() {
      for name in ["First", "Second"] {
        let label = "\(word) \(name) \(place)"
        var values: [ScalarKey: StoredValue] = ["text": .string(label + String(repeating: "x", count: size))]
        if hasData { values["data"] = .data(Data((label + String(repeating: "y", count: size)).utf8)) }
        graph.objects.append(Graph.Object(label: label, entity: names.count > 1 ? name : "First", values: values))
      }
    }
    return graph
  }
}
