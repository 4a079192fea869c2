import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension CheckContext {
  /// A file that breaks a rule of its model, which a store may refuse: if it reads it, then as it is, and again so
  /// after a save of something else.
  func expectReadAsIsOrRefused(_ graph: Graph, _ what: String, _ edit: ((inout Graph) -> Void)?) throws {
    let path = self.path()
    let names = try process("write \(what)") { try $0.forge(graph, to: path) }
    guard let text = try unlessRefused("read \(what)", { try $0.read(path, graph.model) }) else { return }
    try expectSame(text, try graph.text(names), what)
    try expectSame(
      try process("read them again") { try $0.read(path, graph.model) }, try graph.text(names), what + ", read again")
    guard let edit else { return }
    var other = graph
    edit(&other)
    let next = other
    _ = try process("change something else and save") { try $0.edit(path, from: graph, to: next, names: names) }
    try expectSame(
      try process("read them again") { try $0.read(path, graph.model) }, try next.text(names), what + ", saved again")
  }

  /// In a file with references that are texts each one is changed alone: either the file is refused, or it means the
  /// same with another name.
  func expectEditedReferencesRefused(_ change: (String) -> String) throws {
    guard traits.references == .all else { return }
    var graph = Graph(Models.nodes, [("member-a", "Node"), ("member-b", "Node"), ("member-p", "Node")])
    graph.objects[2].links["children"] = ["member-a", "member-b"]
    graph.objects[0].links["parent"] = ["member-p"]
    graph.objects[1].links["parent"] = ["member-p"]
    let path = self.path("members")
    let whole = graph
    let labels = graph.objects.map(\.label)
    _ = try process("write a file with references that are texts") { session in
      try session.forge(whole, to: path, references: { .string(labels[$0]) })
    }
    let expected = try process("read it") { try $0.read(path, Models.nodes) }
    if record.expectations == 0 { try requirePlain("member-a", at: path) }
    for label in ["member-a", "member-b"] {
      let new = change(label)
      for place in places(of: label, at: path) {
        let copy = self.path("edited")
        self.copy(path, to: copy, replacing: label, at: place, with: new)
        let text = try unlessRefused("read it with \(label) at byte \(place.offset) as \(new)") {
          try $0.read(copy, Models.nodes, options: handmade)
        }
        guard let text else { continue }
        // The format names each text once: all that led there leads there still.
        let renamed = expected.renamed(label, new)
        try expectSame(
          text, renamed, "\(label) at byte \(place.offset) changed to \(new): refused, or the same under another name")
      }
    }
  }

  /// Of relationships without inverse, each reference in the files is changed alone into that of an object that is not
  /// there: either the file is refused, or it means the same, perhaps with another name.
  ///
  /// - Parameter reference: What an object with a number is called.
  func expectOneWayReferencesRefused(_ reference: (UInt32) -> ReferenceObject) throws {
    // Of 21 bits, as are those that they are changed into.
    let numbers: [UInt32] = [1_100_003, 1_100_029, 1_100_061, 2_000_003, 2_000_029]
    let changes: [(owner: String, old: UInt32, new: UInt32)] = [
      ("one", numbers[3], 2_000_009), ("many", numbers[4], 2_000_039),
    ]
    var graph = Graph(Models.oneWay, ["one", "many", "member", "idol", "fan"].map { ($0, "Node") })
    for place in graph.objects.indices {
      graph.objects[place].values["name"] = .string(graph.objects[place].label)
    }
    try graph.relate("one", "idol", to: ["idol"])
    try graph.relate("many", "fans", to: ["member", "fan"])
    let (uuid, whole, path) = (UUID(), graph, self.path("oneway\(record.nextFile())"))
    let names = try process("write relationships without inverse") {
      try $0.forge(whole, to: path, uuid: uuid, references: { reference(numbers[$0]) })
    }
    let expected = try graph.text(names)
    try expectSame(try process("read it") { try $0.read(path, whole.model) }, expected, "the file as it was")
    let intact = Files.content(path) ?? [:]
    for (owner, old, new) in changes {
      let others = try files(of: graph, without: owner, uuid) { reference(numbers[$0]) }
      let renamed = expected.renamed("\(reference(old))", "\(reference(new))")
      for (before, after) in zip(ReferenceForms.all(old), ReferenceForms.all(new)) {
        for place in Files.places(of: before, in: intact) {
          Files.put(Files.replacing(before, by: after, at: place, in: intact), at: path)
          let what = "\(reference(old)) at byte \(place.offset) changed to \(reference(new))"
          let end = try attempt("read it with \(what)") { try $0.read(path, whole.model, options: handmade) }
          guard case .refused(let error) = end else {
            let text = try settle(end, what)
            guard !renamed.differences(from: text).isEmpty else { continue }
            // What was changed may be another number, such as the greatest reference.
            try expectSame(text, expected, "\(what): refused, or the same, perhaps under another name")
            continue
          }
          try expect(error.code != nil, "\(what): refused with a store error", error.text)
          // Not where the object's own reference was changed, so that what led to it is dangling.
          guard error.code == "danglingReference", error.text.contains("\(new)") else { continue }
          try expectLine(of: error, about: place, in: intact, without: others, what)
        }
      }
    }
  }
}

extension GraphText {
  /// The same graph with one object called otherwise.
  func renamed(_ old: String, _ new: String) -> GraphText {
    var other = GraphText()
    for (object, values) in objects {
      other.objects[Key(object.text.replacing("/" + old, with: "/" + new))] = values.mapValues {
        $0.replacing("/" + old, with: "/" + new)
      }
    }
    return other
  }
}

extension StoreSession {
  /// How many nodes there are, and how many steps lead from the first back to it, by 'next' and by 'previous'.
  func steps(_ store: PersistentStore) -> [Int] {
    let nodes = store.nodes
    guard let entity = nodes.model.entity(named: "Node"), let first = nodes.handles(of: entity.index).first else {
      return [0, 0, 0]
    }
    let reader = nodes.reader(of: entity.index)
    var result = [nodes.count]
    for name in ["next", "previous"] {
      guard let slot = entity.slot(named: name) else { continue }
      var count = 0
      var node: NodeHandle? = first
      repeat {
        node = node.flatMap { reader.toOne(slot: slot, row: $0.row) }
        count += 1
      } while node != nil && node != first && count <= nodes.count
      result.append(node == first ? count : 0)
    }
    return result
  }

  /// Runs a closure on a thread with little room for its stack.
  func onSmallStack<Value>(_ body: () throws -> Value) throws -> Value {
    try withoutActuallyEscaping(body) { body in
      let work = SmallStackWork(body)
      var attributes = pthread_attr_t()
      pthread_attr_init(&attributes)
      defer { pthread_attr_destroy(&attributes) }
      pthread_attr_setstacksize(&attributes, 512 * 1024)
      var thread = pthread_t()
      let started = pthread_create(
        &thread, &attributes,
        { raw in
          guard let raw else { return nil }
          Unmanaged<SmallStackRunner>.fromOpaque(raw).takeUnretainedValue().run()
          return nil
        }, Unmanaged.passUnretained(work as SmallStackRunner).toOpaque())
      guard started == 0 else { throw Skipped(reason: "no thread can be started") }
      pthread_join(thread, nil)
      guard let result = work.result else { throw Skipped(reason: "the thread said nothing") }
      return try result.get()
    }
  }
}

private class SmallStackRunner {
  func run() {}
}

private final class SmallStackWork<Value>: SmallStackRunner {
  private let body: () throws -> Value
  var result: Result<Value, any Error>?
  init(_ body: @escaping () throws -> Value) { self.body = body }
  override func run() { result = Result { try body() } }
}
