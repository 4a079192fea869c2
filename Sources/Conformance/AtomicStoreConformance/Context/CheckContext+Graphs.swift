import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension CheckContext {
  /// Whether the format has room for the entities of a graph's objects, as it declares.
  func hasRoom(for graph: Graph) -> Bool {
    Set(graph.objects.map { ScalarKey($0.entity) }).count <= traits.maximumEntities ?? .max
  }

  /// Writes a graph in one process, reads it in another, and compares what came back with what was asked for. "Kept" in
  /// every rule means this.
  func expectKept(_ graph: Graph, _ what: String, path: String? = nil, seconds: Int = 20) throws {
    let path = path ?? self.path()
    let references = try process("save \(graph.objects.count) objects", seconds: seconds) {
      try $0.write(graph, to: path)
    }
    try expectHeld(try graph.text(references), at: path, graph.model, what, seconds: seconds)
  }

  /// As ``expectKept(_:_:path:seconds:)``, and again where each object got the values of the next one.
  func expectKeptOverChanges(_ graph: Graph, _ what: String, path: String) throws {
    let names = try process("save \(graph.objects.count) objects") { try $0.write(graph, to: path) }
    try expectHeldAndOverChanges(graph, names, at: path, what)
  }

  /// A store holds a graph, and holds it over another save.
  func expectHeldAndOverChanges(
    _ graph: Graph, _ names: [String: String], at path: String, _ what: String, isMoved: Bool = true
  ) throws {
    try expectHeld(try graph.text(names), at: path, graph.model, what)
    try expectHeldOverChanges(graph, names, at: path, what, isMoved: isMoved)
  }

  /// What was read is kept by the next save too, in which an object is new; and what is set on objects that are there.
  ///
  /// - Parameters:
  ///   - names: What the store calls the objects.
  ///   - isMoved: Whether each object gets the values of the next one. All are of one entity then.
  func expectHeldOverChanges(
    _ graph: Graph, _ names: [String: String], at path: String, _ what: String, isMoved: Bool = true, seconds: Int = 20
  ) throws {
    guard traits.writes == .all, let entity = graph.objects.last?.entity else { return }
    var next = graph
    if isMoved {
      for position in graph.objects.indices {
        next.objects[position].values = graph.objects[(position + 1) % graph.objects.count].values
      }
    }
    next.objects.append(.init(label: "one more", entity: entity))
    let changed = next
    let now = try process("\(isMoved ? "move the values by one object, " : "")add an object and save", seconds: seconds)
    {
      try $0.edit(path, from: graph, to: changed, names: names)
    }
    try expectHeld(try changed.text(now), at: path, graph.model, "\(what), saved again", seconds: seconds)
  }

  /// Reads a store in its own process, and compares all of it there.
  ///
  /// - Parameter model: Nil for the one that the store carries.
  func expectHeld(
    _ expected: GraphText, at path: String, _ model: ModelDescription?, _ what: String, seconds: Int = 20
  ) throws {
    let differences = try process("read them in another process", seconds: seconds) { session in
      Array(expected.differences(from: try session.read(path, model)).prefix(GraphText.mostShown + 1))
    }
    try expectNone(differences, what)
  }

  /// Where the store declares that it cannot keep something: saving it must be refused, and what was there must stay.
  func expectRefusedSave(_ graph: Graph, _ what: String) throws {
    let path = self.path()
    let first = Models.golden()
    _ = try process("save a store") { try $0.write(first, to: path) }
    let before = Files.content(path)
    // Another model is another store: it takes the place of a new one.
    let other = self.path("refused")
    _ = try refusal(of: "save \(what)", codes: ["unsupportedByFormat", "invalidValue", "limitExceeded"]) { session in
      try session.opened(other, graph.model) { open in
        _ = try session.insert(graph, into: open.context)
        try open.context.save()
        return true
      }
    }
    try expectUntouched(path, before, "after the refusal")
    try expect(
      Files.content(other).map { $0.values.allSatisfy(\.isEmpty) } ?? true, "nothing of what was refused is written",
      "\(Files.content(other)?.mapValues(\.count) ?? [:]) bytes lie there")
  }

  /// A store that holds a graph of a little of everything, and what it holds.
  func golden(_ name: String = "store") throws -> (path: String, graph: Graph, text: GraphText) {
    let graph = Models.golden()
    let path = self.path(name)
    let references = try process("save a store of \(graph.objects.count) objects") { try $0.write(graph, to: path) }
    return (path, graph, try graph.text(references))
  }
}

extension CheckContext {
  /// Brings a store from one graph to the next, each change in its own process, and reads it after each in
  /// another.
  ///
  /// - Returns: What the objects that are left are called.
  @discardableResult func expectSteps(
    _ graphs: [Graph], _ what: String, path given: String? = nil
  ) throws -> [String: String] {
    guard let first = graphs.first else { return [:] }
    let path = given ?? self.path()
    var names = try process("save \(first.objects.count) objects") { try $0.write(first, to: path) }
    var last = first
    try expectSame(
      try process("read them in another process") { try $0.read(path, first.model) }, try first.text(names),
      "\(what), at first")
    for (place, graph) in graphs.enumerated().dropFirst() {
      let known = names
      let from = last
      let now = try process("make change \(place) and save") { try $0.edit(path, from: from, to: graph, names: known) }
      for (label, name) in now {
        if let old = known[label] {
          try expect(
            old.utf8.elementsEqual(name.utf8), "\(what), after change \(place): '\(label)' keeps the reference \(old)",
            "it is \(name)")
        }
      }
      names = now
      let actual = try process("read them in another process") { try $0.read(path, graph.model) }
      try expectSame(actual, try graph.text(names), "\(what), after change \(place)")
      last = graph
    }
    return names
  }
}
