import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

extension CheckContext {
  struct Partner: Sendable {
    var name: String
    var suffix: String
  }

  var name: String { subject.type.storeType }
  var suffix: String { traits.fileExtensions.first.map { "." + $0 } ?? "" }
  /// The other formats that can be written.
  var partners: [Partner] {
    subject.others.filter { $0.traits.writes == .all }.map {
      Partner(
        name: $0.storeType,
        suffix: $0.traits.fileExtensions.first.map { "." + $0 } ?? "")
    }
  }

  func convert(
    _ source: String, subjectName: String, _ target: String, _ targetName: String, of model: ModelDescription
  ) throws -> ConversionReport {
    try process("convert \(subjectName) to \(targetName)") { session in
      try session.convert(source, subjectName, target, targetName, of: model) { $0.allowsLoss = true }
    }
  }

  /// Relationships of several kinds, one of them in an order that no sort gives.
  static func people() throws -> Graph {
    var graph = Graph(
      Models.people,
      [
        ("ann", "Person"), ("eve", "Manager"), ("one", "Team"), ("two", "Team"), ("three", "Team"),
        (
          "desk",
          "Desk"
        ),
      ])
    for label in ["ann", "eve", "one", "two", "three"] { graph.set(label, "name", .string(label)) }
    graph.set("eve", "salary", .double(0.1))
    try graph.relate("ann", "team", to: ["one"])
    try graph.relate("ann", "queue", to: ["three", "one", "two"])
    try graph.relate("eve", "tags", to: ["one", "two"])
    try graph.relate("eve", "desk", to: ["desk"])
    return graph
  }

  func losingSource() throws -> (path: String, graph: Graph) {
    var graph = Graph(Models.attributes([("value", .double), ("note", .string), ("number", .integer64)]))
    for (place, value) in [1.5, .nan, .infinity, -.infinity, -0.0, 0].enumerated() {
      graph.objects.append(
        .init(
          label: "\(place)", entity: "Sample",
          values: [
            "value": .double(value), "note": .string(place == 0 ? "" : "note"),
            "number": .integer(5),
          ]))
    }
    let path = self.path("source")
    let made = graph
    _ = try process("save special numbers") { try $0.write(made, to: path) }
    return (path, graph)
  }

  func expectTargetsRespected() throws {
    let golden = try golden("source")
    let source = Files.stamps(golden.path)
    let home = folder + "/targets"
    Files.makeFolder(home)
    let target = home + "/taken" + suffix
    func refused(_ what: String, _ path: String, replacing: Bool, keeps before: [String: [UInt8]]?) throws {
      _ = try refusal(of: "convert to \(what)\(replacing ? ", replacing it" : "")", codes: ["alreadyExists"]) {
        session in
        try session.convert(golden.path, name, path, name, of: golden.graph.model) { $0.replacesTarget = replacing }
      }
      try expectUntouched(path, before, "what is at the target (\(what))")
      try expectEqual(Files.stamps(golden.path), source, "the source's files")
    }
    let other = Graph(Models.nodes, [("other", "Node")])
    _ = try process("save another store at the target") { try $0.write(other, to: target) }
    let before = Files.content(target)
    try refused("a store", target, replacing: false, keeps: before)
    Files.remove(target)
    Files.write(Array("no store".utf8), to: target)
    try refused("another file", target, replacing: false, keeps: ["": Array("no store".utf8)])
    _ = try process("convert, with permission to replace") {
      try $0.convert(golden.path, name, target, name, of: golden.graph.model) { $0.replacesTarget = true }
    }
    try expectSame(
      try process("read the result") { try $0.read(target, golden.graph.model) }, golden.text,
      "the result that replaced a file")
    Files.remove(target)
    Files.makeFolder(target)
    Files.write(Array("mine".utf8), to: target + "/letter.txt")
    for replacing in [false, true] {
      try refused(
        "a folder that is not a store", target, replacing: replacing,
        keeps: ["letter.txt": Array("mine".utf8)])
    }
    // The source, by any name.
    let whole = Files.content(golden.path)
    var names = [golden.path, folder + "/./source" + suffix, home + "/../source" + suffix]
    let linked = home + "/link" + suffix
    if symlink(golden.path, linked) == 0 { names.append(linked) }
    let hard = home + "/hard" + suffix
    if !Files.isFolder(golden.path), link(golden.path, hard) == 0 { names.append(hard) }
    for (place, path) in names.enumerated() {
      for replacing in [false, true] {
        let now = Files.content(path)
        _ = try refusal(
          of: "convert to the source itself, by name \(place)\(replacing ? ", with permission to replace" : "")",
          codes: ["alreadyExists"]
        ) { session in
          try session.convert(golden.path, name, path, name, of: golden.graph.model) { $0.replacesTarget = replacing }
        }
        try expect(Files.content(path) == now, "nothing changes", "it does")
        try expectUntouched(golden.path, whole, "the source")
      }
    }
  }

  func expectConversionWhole() throws {
    let old = Models.golden()
    var new = old
    new.set("node 1", "name", .string("after the conversion"))
    new.set("node 2", "number", .integer(-1))
    let made = new
    let source = folder + "/source" + suffix
    let home = folder + "/home"
    Files.makeFolder(home)
    let target = home + "/store" + suffix
    let names = try process("write the source") { try $0.forge(made, to: source) }
    _ = try process("write what is to be replaced") { try $0.forge(old, to: target) }
    guard let files = Files.content(target) else {
      throw ExpectationFailure(expected: "a store is written", actual: "nothing is there")
    }
    let typeName = name
    var saving = SaveCase(
      home: home, path: target, old: old, new: new, names: names, oldText: try old.text(names),
      newText: try new.text(names), oldFiles: files,
      keepsMetadata: false)
    saving.action = { session in
      _ = try session.convert(source, typeName, target, typeName, of: made.model) { $0.replacesTarget = true }
      return true
    }
    let before = Files.stamps(source)
    let counted = try calls(of: saving)
    for call in counted.changes {
      for path in [call.path, call.other ?? ""] {
        try expect(
          path != source && !path.hasPrefix(source + "/"), "the source is not opened for writing",
          "\(call.what) \(path)")
      }
    }
    try sweep(saving, CSF_FAIL, error: ENOSPC, "a full disk", savesAgain: false)
    try sweep(saving, CSF_KILL, "killed", savesAgain: false)
    try expectEqual(Files.stamps(source), before, "the source's files")
  }

  func expectInferredValuesKept() throws {
    let rows = [
      ["code", "size", "large", "mixed", "truth", "day"],
      ["007", "1e5", "9007199254740993", "12", "true", "2020-01-02"],
      ["010", "2.50", "18446744073709551616", "twelve", "FALSE", "2020-1-2"], ["0", "1E+05", "-0", "1,5", "yes", ""],
    ]
    func quoted(_ text: String) -> String { text.contains(",") ? "\"\(text)\"" : text }
    let path = folder + "/plain.csv"
    Files.write(Array(rows.map { $0.map { quoted($0) }.joined(separator: ",") + "\n" }.joined().utf8), to: path)
    func texts(_ path: String) throws -> [String] {
      try process("open it without a model", opening: path, nil, isReadOnly: true) { _, open in
        guard let entity = open.store.model.entities.first(where: { !$0.isAbstract }) else { return [] }
        return try open.store.nodes.handles(of: entity.index).map { node in
          try rows[0].map { column in
            guard let slot = entity.slots.first(where: { $0.name.lowercased() == column }) else {
              return "\(column) is missing"
            }
            switch try open.store.value(slot: slot.index, of: node) {
            case .null: return ""
            case .string(let text), .uri(let text): return text
            case .integer(let number): return "\(number)"
            case .double(let number): return "\(number)"
            case .decimal(let number): return "\(number)"
            case .boolean(let flag): return flag ? "true" : "false"
            case let value: return value.typedText
            }
          }.joined(separator: " | ")
        }
      }
    }
    let wanted = rows.dropFirst().map { $0.joined(separator: " | ") }
    let read = try texts(path)
    try expect(
      read == wanted, "each value's text is the file's: \(wanted.joined(separator: " // "))",
      read.joined(separator: " // "))
    let target = folder + "/converted.csvstore"
    _ = try process("convert it") {
      try $0.convert(path, name, target, name, of: ModelDescription(entities: [])) { $0.allowsLoss = true }
    }
    let after = try texts(target)
    try expect(
      after == wanted, "each value's text after a conversion: \(wanted.joined(separator: " // "))",
      after.joined(separator: " // "))
  }

  func expectSubsetsWhole() throws {
    let golden = try golden("source")
    let chosen = Set(
      golden.graph.objects.filter {
        if case .integer(let number)? = $0.values["number"] { number > 3_000_000 } else { false }
      }.map(\.label))
    var part = golden.graph
    for object in golden.graph.objects where !chosen.contains(object.label) { part.remove(object.label) }
    let names = Dictionary(
      uniqueKeysWithValues: zip(
        golden.graph.objects.map(\.label),
        try process("look up references") { session in
          let text = try session.read(golden.path, golden.graph.model)
          return golden.graph.objects.map { object in
            text.objects.first {
              $0.value[GraphText.Key("name")] == object.values["name"].flatMap { GraphText.value($0) }
            }?.key.text ?? ""
          }
        }))
    func subset(_ related: StoreSubset.RelatedObjects) throws -> StoreSubset {
      StoreSubset(entityNames: ["Node"], predicate: try FetchPredicate(format: "number > 3000000"), related: related)
    }
    for partner in [Partner(name: name, suffix: suffix)] + partners {
      let target = folder + "/part-\(partner.name)" + partner.suffix
      let report = try process("write a part to \(partner.name), cut") { session in
        let wanted = try subset(.nullify)
        return try session.convert(golden.path, name, target, partner.name, of: golden.graph.model) {
          $0.subset = wanted
        }
      }
      try expectSame(
        try process("read the part") { try $0.read(target, part.model, as: partner.name) }, try part.text(names),
        "the part")
      try expectEqual(report.objects, chosen.count, "objects that the report counts")
      for word in ["previous", "parent", "left out"] {
        try expect(
          report.selections.contains { $0.contains(word) }, "the report says what became of '\(word)'",
          report.selections.joined(separator: "; "))
      }
      let all = folder + "/all-\(partner.name)" + partner.suffix
      _ = try process("write a part to \(partner.name), with all that it leads to") { session in
        let wanted = try subset(.closure)
        return try session.convert(golden.path, name, all, partner.name, of: golden.graph.model) { $0.subset = wanted }
      }
      try expectSame(
        try process("read it") { try $0.read(all, golden.graph.model, as: partner.name) }, golden.text,
        "all that is related")
      let none = folder + "/none-\(partner.name)" + partner.suffix
      _ = try refusal(of: "write a part to \(partner.name) that leads outside", codes: ["danglingReference"]) {
        session in
        let wanted = try subset(.fail)
        return try session.convert(golden.path, name, none, partner.name, of: golden.graph.model) { $0.subset = wanted }
      }
      try expect(!Files.exists(none), "nothing is made", "\(none) is there")
    }
  }

  func expectDifferencesFound() throws {
    var base = try Self.people()
    base.set("ann", "age", .integer(7))
    guard let uuid = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E") else { return }
    let first = base
    guard hasRoom(for: base) else { throw NotApplicable(reason: "maximumEntities is \(traits.maximumEntities ?? 0)") }
    let references = Dictionary(
      uniqueKeysWithValues: base.objects.enumerated().map { ($0.element.label, Int64($0.offset) + 1) })
    let one = path("one")
    func forge(_ graph: Graph, _ path: String, _ uuid: UUID) throws {
      let numbers = graph.objects.map { references[$0.label] ?? 99 }
      _ = try process("write \(path.split(separator: "/").last ?? "")") {
        try $0.forge(
          graph, to: path,
          uuid: uuid
        ) { .integer(numbers[$0]) }
      }
    }
    try forge(base, one, uuid)
    let cases = try differingGraphs(first, uuid)
    func differences(_ other: String) throws -> [String] {
      try process("compare") { session in
        func snapshot(_ path: String) throws -> StoreSnapshot {
          try session.opened(path, first.model, isReadOnly: true) { open in
            StoreSnapshot(nodes: open.store.nodes, metadata: open.store.metadata)
          }
        }
        let found = GraphComparison.differences(try snapshot(one), try snapshot(other))
        return (FaultHooks.current.compared?(found) ?? found).map(\.description)
      }
    }
    let same = path("same")
    try forge(base, same, uuid)
    try expectEqual(try differences(same), [], "differences of equal stores")
    for (place, item) in cases.enumerated() {
      let other = path("other\(place)")
      try forge(item.graph, other, item.uuid)
      let found = try differences(other)
      try expect(
        found.contains { $0.contains(item.names) }, "\(item.what) is found, at \(item.names)",
        found.isEmpty ? "nothing is found" : found.joined(separator: "; "))
    }
    if traits.keepsMetadata {
      _ = try process("set one metadata key", opening: same, first.model) { _, open in
        var entries = open.store.metadata.entries
        entries["conformanceKey"] = .string("x")
        try open.store.setMetadata(entries)
        try open.coordinator.save(open.store)
        return true
      }
      let found = try differences(same)
      try expect(
        found.contains { $0.contains("conformanceKey") }, "one metadata key is found", found.joined(separator: "; "))
    }
  }

  /// Graphs that differ from another in one thing: what that is, what a description of it names, and the store's UUID.
  private func differingGraphs(_ first: Graph, _ uuid: UUID) throws -> [(
    what: String, names: String, graph: Graph, uuid: UUID
  )] {
    var cases: [(what: String, names: String, graph: Graph, uuid: UUID)] = []
    func add(_ what: String, _ names: String, _ change: (inout Graph) throws -> Void) rethrows {
      var graph = first
      try change(&graph)
      cases.append((what, names, graph, uuid))
    }
    add("one bit of a double", "salary") { $0.set("eve", "salary", .double((0.1).nextUp)) }
    add("an integer and one", "age") { $0.set("ann", "age", .integer(8)) }
    add("a letter composed otherwise", "name") { $0.set("ann", "name", .string("ann\u{301}")) }
    add("a blank more", "name") { $0.set("one", "name", .string("one ")) }
    add("a value that is gone", "age") { $0.set("ann", "age", nil) }
    add("0 instead of nothing", "number") { $0.set("desk", "number", .integer(0)) }
    add("an object less", "Desk") { $0.remove("desk") }
    add("an object more", "Team") { $0.objects.append(.init(label: "new", entity: "Team")) }
    try add("another target", "team") { try $0.relate("ann", "team", to: ["two"]) }
    try add("a target less", "tags") { try $0.relate("eve", "tags", to: ["one"]) }
    if traits.keepsOrder {
      try add("another order", "queue") { try $0.relate("ann", "queue", to: ["one", "three", "two"]) }
    }
    if traits.keepsMetadata { cases.append(("another UUID", "UUID", first, UUID())) }
    return cases
  }
}
