import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension CheckContext {
  /// What the checks of binary property lists work on: a store that is one, and the place of a metadata entry in it.
  struct ListSubject {
    var graph: Graph
    var text: GraphText
    var bytes: [UInt8]
    var craft: PropertyListCraft
    /// The object that is the entry's value: whatever takes its place is a metadata entry.
    var place: Int

    /// The list with something else in the place.
    func with(_ item: PropertyListCraft.Item) -> PropertyListCraft {
      var changed = craft
      changed.items[place] = item
      return changed
    }
  }

  /// What was read of a list: the graph, and the entry, in words.
  struct ListReading: Codable, Sendable {
    var text: GraphText
    var value: String
  }

  func listSubject() throws -> ListSubject {
    let graph = Models.golden()
    let path = self.path("golden")
    var metadata = PropertyListDictionary()
    metadata["craft"] = .string("CRAFT-HERE")
    metadata["other"] = .array([.string("one"), .integer(2)])
    guard traits.keepsMetadata
    else { throw NotApplicable(reason: "keepsMetadata is false: there is no place for an object of another's making") }
    let references = try process("save a store of \(graph.objects.count) objects") {
      try $0.write(graph, to: path, metadata: metadata)
    }
    guard !Files.isFolder(path), let bytes = Files.read(path), bytes.starts(with: "bplist00".utf8) else {
      throw NotApplicable(reason: "the store is not a binary property list")
    }
    guard let craft = PropertyListCraft(bytes),
      let place = craft.items.indices.first(where: { craft.text($0) == "CRAFT-HERE" })
    else {
      throw ExpectationFailure(
        expected: "the store's property list can be taken apart, and holds the metadata entry",
        actual: "it cannot, or does not")
    }
    let subject = ListSubject(graph: graph, text: try graph.text(references), bytes: bytes, craft: craft, place: place)
    // What is changed afterwards must not be refused for how it was put together.
    try expectValue(craft.bytes(), "put together again", in: subject, "string CRAFT-HERE")
    return subject
  }

  func read(_ bytes: [UInt8], _ what: String, in store: ListSubject) throws -> PhaseEnd<ListReading> {
    let path = try lay(bytes)
    return try attempt("read a property list \(what)", seconds: 15, memory: 3 << 30, cpuSeconds: 15) {
      session -> ListReading in
      let open = try session.open(path, store.graph.model, isReadOnly: true)
      let entry = open.store.metadata.entries["craft"]
      return ListReading(text: try GraphText(open.store), value: entry.map { Self.shape($0) } ?? "nothing")
    }
  }

  /// Where it is read it must hold the graph and this entry.
  func expectValue(_ bytes: [UInt8], _ what: String, in store: ListSubject, _ value: String, mayBeRefused: Bool = false)
    throws
  {
    let end = try read(bytes, what, in: store)
    if mayBeRefused, case .refused(let error) = end {
      return try expectProper(error, "a property list \(what)", needsPlace: false)
    }
    let reading = try settle(end, "read a property list \(what)")
    try expectSame(reading.text, store.text, "a property list \(what) has the same objects")
    try expect(reading.value == value, "a property list \(what): the entry is \(value)", reading.value)
  }

  func expectRefused(_ bytes: [UInt8], _ what: String, in store: ListSubject, needsPlace: Bool = true) throws {
    let error = try refusal(in: read(bytes, what, in: store), "a property list \(what)") {
      "it was read; the entry is \($0.value)"
    }
    try expectProper(error, "a property list \(what)", needsPlace: needsPlace)
  }

  /// A value in a line. Of arrays only how deep the first elements go, so that sharing costs nothing.
  static func shape(_ value: PropertyListValue) -> String {
    var depth = 0
    var value = value
    while case .array(let elements) = value, let first = elements.first {
      depth += 1
      value = first
    }
    let name =
      switch value {
      case .string(let text): "string \(text)"
      case .integer(let number): "integer \(number)"
      case .real(let number): "real \(number)"
      case .boolean(let flag): "boolean \(flag)"
      case .date(let date): "date \(date.timeIntervalSinceReferenceDate)"
      case .data(let data): "data of \(data.count)"
      case .array: "an empty array"
      case .dictionary(let entries): "dictionary of \(entries.count)"
      case .uid(let number): "uid \(number)"
      }
    return depth == 0 ? name : "\(depth) arrays deep: \(name)"
  }
}
