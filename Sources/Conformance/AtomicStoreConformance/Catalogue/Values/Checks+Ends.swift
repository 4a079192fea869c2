import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Files whose relationships are not sound, and the options that decide about them; sequences that no model
/// explains; options and their direction.
extension Checks {
  static let ends: [CheckDefinition] = [
    CheckDefinition(
      "REL-13", "A file whose ends of a relationship disagree is refused, or repaired as the option says", from: kit,
      by: "a parent that names two children of which one does not name it; read without an option, and with each",
      causes: ["one end is dropped in silence", "one end is derived from the other, though the file has both"],
      catches: ["asymmetricGraph", "oneEndDerived"]
    ) { check in
      var graph = Graph(Models.nodes, [("a", "Node"), ("b", "Node"), ("c", "Node")])
      graph.objects[0].links["children"] = ["b", "c"]
      graph.objects[1].links["parent"] = ["a"]
      let whole = graph
      let path = check.path()
      let uuid = UUID()
      let names = try check.process("write ends that disagree") { try $0.forge(whole, to: path, uuid: uuid) }
      try check.requireBothEnds(of: graph, at: path, uuid)
      let error = try check.refusal(of: "read ends that disagree", codes: ["inverseMismatch"]) {
        try $0.read(path, Models.nodes)
      }
      for word in ["parent", "children"] {
        try check.expect(error.text.contains(word), "the error names '\(word)'", error.text)
      }
      var byOne = graph
      byOne.objects[0].links["children"] = ["b"]
      var byMany = graph
      byMany.objects[2].links["parent"] = ["a"]
      for (rule, expected) in [("from-to-one", byOne), ("from-to-many", byMany)] {
        let text = try check.process("read with inverses=\(rule)") {
          try $0.read(path, Models.nodes, options: ["inverses": rule])
        }
        try check.expectSame(text, try expected.text(names), "inverses=\(rule)")
      }
    },
    CheckDefinition(
      "REL-19", "A dangling reference is left out, or kept as text, as the option says", from: kit,
      by:
        "a file whose rows lead to a sub-entity's object that, by its model, is none, or in which a reference was changed; refused, and read with each option",
      causes: ["references are looked up by the format, which skips what it does not find"],
      catches: ["wrongEntityAccepted"],
      demand: several
    ) { check in
      var graph = Graph(Models.houses(home: "House"), [("a", "Guest"), ("c", "Castle"), ("h", "House")])
      graph.objects[0].links["home"] = ["c"]
      let whole = graph
      let claims = Models.separateHouses
      let path = check.path()
      let names = try check.process("write a relationship to another entity") {
        try $0.forge(whole, to: path, claims: claims)
      }
      let error = try check.refusal(of: "read it", codes: ["danglingReference", "modelMismatch"]) {
        try $0.read(path, claims)
      }
      guard error.code == "danglingReference" else {
        check.note("the file itself says which entity is whose sub-entity: \(error.text)")
        return try check.expectEditedReferencesTakenAway()
      }
      try check.expectTakenAway(path, Graph(claims, graph.objects), names)
    },
    CheckDefinition(
      "REL-20", "The sequence of a relationship of which the model does not know whether it is ordered is kept",
      from: kit,
      by:
        "members in no order of their references; saved, read in another process, and read again after a change of metadata",
      causes: ["what is not called ordered is sorted"], catches: ["unknownOrderSorted"],
      demand: { $0.keepsOrder ? .applies : .notApplicable("keepsOrder is false") }
    ) { check in
      var graph = Graph(Models.sequences, [("owner", "Item"), ("a", "Item"), ("b", "Item"), ("c", "Item")])
      graph.objects[0].links["list"] = ["c", "a", "b"]
      let whole = graph
      let path = check.path()
      let names = try check.process("save a sequence") { try $0.forge(whole, to: path) }
      let expected = ["c", "a", "b"].compactMap { names[$0] }
      let model = check.traits.isSelfDescribing ? nil : Models.sequences
      try check.expectEqual(try check.process("read it") { try $0.sequence(path, model) }, expected, "the sequence")
      guard check.traits.setsMetadataAlone else { return }
      _ = try check.process("set metadata alone") { try $0.setMetadata(["Which": .string("set")], path) }
      try check.expectEqual(
        try check.process("read it again") { try $0.sequence(path, model) }, expected,
        "the sequence after a change of metadata")
    },
    CheckDefinition(
      "OPT-01", "An option changes what it is for, and is refused where it is for the other direction", level: .should,
      from: "\(kit): an option has an effect or is refused",
      by:
        "each option of one direction alone is given for the other; a graph is written with each value of each option, and the bytes compared",
      causes: ["options were not looked at"], catches: ["ignoresOptions"],
      demand: { $0.readOptions.isEmpty && $0.writeOptions.isEmpty ? .notApplicable("there are none") : .applies }
    ) { check in
      try check.expectOtherDirectionRefused()
      let uuid = UUID()
      for option in check.traits.writeOptions where check.traits.writesEqualBytes {
        guard let values = option.values else { continue }
        var hasEffect = values.count < 2
        // What an option is for may be large values alone.
        for graph in [Models.golden(), Models.largeValue(check.traits)] where !hasEffect {
          hasEffect = try check.outcomes(of: option.name, values, graph, uuid).count > 1
        }
        try check.expect(hasEffect, "\(option.name): not all values write the same bytes", "they do")
      }
    },
    CheckDefinition(
      "OPT-02", "What is written with an option, or with two of them, reads back the same", from: kit,
      by:
        "an object for each adversarial value of each type, written with each value of each option, and with each two values of two options",
      causes: ["a value is written in a form that the reader takes for another one"], catches: ["optionChangesValues"],
      timeLimit: 120,
      demand: {
        $0.writeOptions.contains { $0.values != nil } ? .applies : .notApplicable("no option has a list of values")
      }
    ) { check in
      let graph = Models.everyType(check.traits)
      for options in check.optionCombinations {
        let shown = options.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        let path = check.path()
        let end = try check.attempt("write and read with \(shown)") { session in
          let names = try session.forge(graph, to: path, options: options)
          // A reader needs an option that is one of reading too.
          let read = options.filter { option in check.traits.readOptions.contains { $0.name == option.key } }
          return [try session.read(path, graph.model, options: read), try graph.text(names)]
        }
        // What a value cannot store at all, such as letters that an encoding lacks, is refused.
        if case .refused(let error) = end, error.code == "unsupportedByFormat" {
          check.note("\(shown): \(error.text)")
          Files.remove(path)
          continue
        }
        // Two options may exclude each other, which is refused.
        if case .refused(let error) = end, options.count > 1, error.code == "invalidOption" { continue }
        let texts = try check.settle(end, "write and read with \(shown)")
        try check.expectSame(texts[0], texts[1], shown)
        Files.remove(path)
      }
    },
  ]

  /// A value as part of a file's name.
  fileprivate static func record(_ value: String) -> String {
    String(value.unicodeScalars.filter { $0.properties.isAlphabetic }.map { Character($0) })
  }
}

extension CheckContext {
  /// Each value of each write option, and each two values of two options.
  fileprivate var optionCombinations: [StoreOptions] {
    let choices = traits.writeOptions.flatMap { option in (option.values ?? []).map { (option.name, $0) } }
    var all: [StoreOptions] = []
    for (index, first) in choices.enumerated() {
      all.append([first.0: first.1])
      for second in choices[(index + 1)...] where second.0 != first.0 {
        all.append([first.0: first.1, second.0: second.1])
      }
    }
    return all
  }

  /// The files of a graph that was written with each value of an option, those that differ.
  fileprivate func outcomes(of option: String, _ values: [String], _ graph: Graph, _ uuid: UUID) throws -> Set<String> {
    var outcomes: Set<String> = []
    for value in values {
      let path = self.path("\(option)-\(Checks.record(value))-\(record.nextFile())")
      let end = try attempt("write with \(option)=\(value)") {
        try $0.forge(graph, to: path, uuid: uuid, options: [option: value])
      }
      guard case .value = end else {
        outcomes.insert("refused")
        continue
      }
      let content = (Files.content(path) ?? [:]).sorted { $0.key < $1.key }
      outcomes.insert(
        content.map { "\($0.key): \($0.value.map { String($0) }.joined(separator: " "))" }.joined(separator: "\n"))
    }
    return outcomes
  }

  /// Whether files hold both ends of relationships: the ends of a graph cannot disagree in a file that holds one.
  ///
  /// - Throws: `NotApplicable` where a file is the same with the other end repaired.
  fileprivate func requireBothEnds(of graph: Graph, at path: String, _ uuid: UUID) throws {
    var repaired = graph
    repaired.objects[0].links["children"] = ["b"]
    let other = repaired
    let otherPath = self.path("repaired")
    _ = try process("write them with one end repaired") { try $0.forge(other, to: otherPath, uuid: uuid) }
    func sorted(_ content: [String: [UInt8]]) -> [[UInt8]] { content.sorted { $0.key < $1.key }.map(\.value) }
    guard let one = Files.content(path), let two = Files.content(otherPath), sorted(one) == sorted(two) else { return }
    throw NotApplicable(reason: "the file holds one end of each relationship")
  }

  fileprivate func expectOtherDirectionRefused() throws {
    let (path, graph, _) = try golden()
    for (option, isForReading) in traits.oneWayOptions {
      let value = option.values?.first ?? "1"
      guard isForReading else {
        _ = try refusal(of: "read with \(option.name)", codes: ["invalidOption"]) {
          try $0.read(path, graph.model, options: [option.name: value])
        }
        continue
      }
      let target = self.path("copy")
      _ = try refusal(of: "write with \(option.name)", codes: ["invalidOption"]) {
        try $0.copy(path, to: target, options: [option.name: value])
      }
      try expect(!Files.exists(target), "nothing is written", "something is")
    }
  }
}

extension StoreTraits {
  /// Options that are for reading or for writing alone.
  fileprivate var oneWayOptions: [(option: StoreOption, isForReading: Bool)] {
    let reading = Set(readOptions.map(\.name))
    let writing = Set(writeOptions.map(\.name))
    return readOptions.filter { !writing.contains($0.name) }.map { ($0, true) }
      + writeOptions.filter { !reading.contains($0.name) }.map { ($0, false) }
  }
}

extension StoreSession {
  /// What the first object's list names, in its sequence.
  func sequence(_ path: String, _ model: ModelDescription?) throws -> [String] {
    try opened(path, model, isReadOnly: true) { open in
      let nodes = open.store.nodes
      for entity in nodes.model.entities {
        for node in nodes.handles(of: entity.index) {
          guard case .toMany(let list)? = nodes.value(forKey: "list", of: node), !list.isEmpty else { continue }
          return list.map { GraphText.name($0.entityName, $0.reference) }
        }
      }
      throw ExpectationFailure(expected: "an object has a list", actual: "none has")
    }
  }

  /// Converts a store to another of the same type.
  @discardableResult func copy(_ path: String, to target: String, options: StoreOptions) throws -> Bool {
    var converter = StoreConverter(registry: try registry())
    converter.model = try Models.frozen(Models.nodes)
    converter.targetType = subject.type.storeType
    converter.writeOptions = options
    _ = try converter.convert(from: path, to: target)
    return true
  }
}

// What REL-19 does.
extension CheckContext {
  /// With the options for it, a store is read without the relationship of its first object, and what that led to is
  /// kept as text.
  ///
  /// - Parameter graph: What the store holds otherwise.
  fileprivate func expectTakenAway(_ path: String, _ graph: Graph, _ names: [String: String]) throws {
    var expected = graph
    expected.objects[0].links = [:]
    let model = graph.model
    let text = try process("read with dangling=nullify") {
      try $0.read(path, model, options: handmade.merging(["dangling": "nullify"]) { $1 })
    }
    try expectSame(text, try expected.text(names), "dangling=nullify")
    guard traits.keepsMetadata else { return note("no metadata to keep texts in") }
    let kept = try process("read with dangling=keep-as-text") { session in
      let options = handmade.merging(["dangling": "keep-as-text"]) { $1 }
      return try session.opened(path, model, isReadOnly: true, options: options) { open in
        open.store.metadata.entries[RelationshipRules.danglingReferencesKey].map { GraphComparison.text($0) }
          ?? "nothing"
      }
    }
    try expect(
      kept.contains(".home") && kept.contains("House/"), "the metadata name the relationship and what it led to", kept)
  }

  /// The same with files in which a reference was changed, as text or as bytes: where that leaves a relationship
  /// dangling.
  fileprivate func expectEditedReferencesTakenAway() throws {
    let path = path("edited")
    var graph = Graph(Models.separateHouses, [("a", "Guest"), ("h", "House")])
    graph.objects[0].links["home"] = ["h"]
    // Each of 21 bits.
    let numbers: [UInt32] = [1_111_111, 2_000_003, 2_000_009]
    let whole = graph
    let names = try process("write a relationship") {
      try $0.forge(whole, to: path, references: { .integer(Int64(numbers[$0])) })
    }
    let forms = zip(ReferenceForms.all(numbers[1]), ReferenceForms.all(numbers[2])).map { (old: $0, new: $1) }
    let intact = Files.content(path) ?? [:]
    var found = 0
    for form in forms {
      for place in Files.places(of: form.old, in: intact) {
        Files.put(Files.replacing(form.old, by: form.new, at: place, in: intact), at: path)
        let end = try attempt("read it with the reference at byte \(place.offset) changed") {
          try $0.read(path, whole.model, options: handmade)
        }
        guard case .refused(let error) = end, error.code == "danglingReference" else { continue }
        found += 1
        // Either the relationship's end was changed, or the object's own reference.
        var given = names
        if !error.text.contains("\(numbers[2])") { given["h"] = GraphText.name("House", .integer(Int64(numbers[2]))) }
        try expectTakenAway(path, whole, given)
      }
    }
    guard found > 0 else { throw NotApplicable(reason: "no change of its bytes makes a reference are dangling") }
    note("\(found) files with a relationship to nothing")
  }
}
