import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// CNV: what becomes of a store that is turned into another type and back.
extension Checks {
  static let conversion: [CheckDefinition] = [
    conversion(
      "CNV-01", "A store that goes through another format and back is the same: objects, references, order, metadata, UUID",
      from: "Atomic Store Life-cycle, References: “Save As and migration operations will not work correctly”",
      by: "two graphs, to each other format and back; then once more: the other format's files are equal to the byte",
      causes: ["something is not among what a format keeps, and nobody says so"], catches: ["convertDropsOrder"], timeLimit: 90
    ) { lab in
      guard !lab.partners.isEmpty else { throw Inapplicable(reason: "no other format was given, with others:") }
      var compared = 0
      for (place, graph) in [Models.golden(), try Lab.people()].enumerated() {
        let source = lab.path("source\(place)")
        let names = try lab.process("save graph \(place)") { bench in
          var entries = PropertyListDictionary()
          if lab.traits.keepsMetadata { entries["author"] = .string("ä & b") }
          return try bench.write(graph, to: source, metadata: entries)
        }
        let text = try graph.text(names)
        for partner in lab.partners {
          let there = lab.folder + "/there\(place)" + partner.suffix
          let back = lab.path("back\(place)\(partner.name)")
          let out = try lab.convert(source, subjectName: lab.name, there, partner.name)
          let home = try lab.convert(there, subjectName: partner.name, back, lab.name)
          lab.note("graph \(place) to \(partner.name) and back: \((out.losses + home.losses).isEmpty ? "no losses" : (out.losses + home.losses).joined(separator: "; "))")
          guard out.losses.isEmpty, home.losses.isEmpty else { continue }
          compared += 1
          try lab.expectSame(try lab.process("read what came back") { try $0.read(back, graph.model) }, text,
            "through \(partner.name) and back")
          if lab.traits.keepsMetadata {
            let one = try lab.process("look at the metadata before") { try $0.identity(source) }
            let other = try lab.process("look at the metadata after") { try $0.identity(back) }
            try lab.expectEqual(other, one, "UUID and metadata, through \(partner.name) and back")
          }
          let again = lab.folder + "/again\(place)" + partner.suffix
          _ = try lab.convert(back, subjectName: lab.name, again, partner.name)
          try lab.expectEqual(Files.digest(again), Files.digest(there), "the \(partner.name) store made of what came back")
        }
      }
      guard compared > 0 else { throw Inapplicable(reason: "each way there and back declares losses, which CNV-02 holds it to") }
    },
    conversion(
      "CNV-02", "A report of losses names all that is lost, and nothing else",
      by: "a format that declares that it has no special numbers; what differs after the conversion, found by reading both, against the report",
      causes: ["a loss is not declared", "a loss is declared that is none"], catches: ["underReportsLoss", "overReportsLoss"], demand: losing
    ) { lab in
      let losing = try lab.losingSource()
      let target = lab.path("converted")
      let report = try lab.process("convert to a format without special numbers, and allow it") { bench in
        try bench.withoutSpecialNumbers.convert(losing.path, lab.name, target, lab.name) { $0.allowsLoss = true }
      }
      let before = try lab.process("read the source") { try $0.read(losing.path, losing.graph.model) }
      let after = try lab.process("read the result") { try $0.read(target, losing.graph.model) }
      var differing: [String: Int] = [:]
      for (object, values) in before.objects {
        let others = after.objects[object] ?? [:]
        try lab.expect(after.objects[object] != nil, "\(object.text) is in the result", "it is missing")
        for name in Set(values.keys).union(others.keys) where values[name] != others[name] { differing["Sample.\(name.text)",
          default: 0] += 1 }
      }
      let found = differing.map { "\($0.key), \($0.value)" }.sorted()
      let told = report.losses.map { $0.split(separator: "|").dropFirst().joined(separator: ", ") }.sorted()
      try lab.expect(found == told, "the report names what differs: \(found.joined(separator: "; "))",
        "it names: \(told.joined(separator: "; "))")
    },
    conversion(
      "CNV-03", "Where something would be lost and nobody allowed it, nothing is made", by: "as CNV-02, without permission",
      causes: ["the loss is found out while writing"], catches: ["losesThenWarns"], demand: losing
    ) { lab in
      let losing = try lab.losingSource()
      let home = lab.folder + "/target"
      Files.makeFolder(home)
      let target = home + "/converted" + lab.suffix
      let end = try lab.attempt("convert to a format without special numbers") { bench in
        try bench.withoutSpecialNumbers.convert(losing.path, lab.name, target, lab.name)
      }
      guard case .refused(let error) = end else { throw Disappointment(expected: "the conversion is refused", actual: "\(end)") }
      try lab.expect(error.text.contains("special-float") && error.text.contains("Sample.value"), "the error names what would be lost",
        error.text)
      try lab.expect(Files.names(in: home).isEmpty, "nothing is made", Files.names(in: home).joined(separator: ", "))
    },
    conversion(
      "CNV-04", "What lies at the target is not replaced unless that is asked for; the source never is, by whatever name",
      by: "a store, another file and a folder at the target, without and with leave to replace; the source itself, by another path, a link and a hard link",
      causes: ["the target is opened for writing first, and looked at then", "paths are compared, not files"], catches: ["overwritesSilently"]
    ) { lab in try lab.expectTargetsRespected() },
    conversion(
      "CNV-05", "A conversion that is cut short leaves the target as it was; the source is never opened for writing",
      by: "a store is replaced by a converted one: ENOSPC at each call in turn, and a kill; the source's state is looked at",
      causes: ["the result is written in its place", "a store is opened for writing where reading would do"],
        catches: ["convertsInPlace"], timeLimit: 120
    ) { lab in try lab.expectConversionWhole() },
    conversion(
      "CNV-06", "A converted store has the source's UUID, or a new one where that is asked for; references stay in both", level: .must,
      by: "converted within the format and to others, both ways", causes: ["a copy keeps an identity that is to be its own"],
        catches: ["copySharesUUID"],
      demand: Lab.metadataIsKept
    ) { lab in
      let golden = try lab.golden("source")
      let before = try lab.process("look at the metadata before") { try $0.identity(golden.path) }
      for (place, partner) in ([(lab.name, lab.suffix)] + lab.partners.map { ($0.name, $0.suffix) }).enumerated() {
        for isNew in [false, true] {
          let target = lab.folder + "/copy\(place)\(isNew)" + partner.1
          let report = try lab.process("convert to \(partner.0)\(isNew ? ", with a new UUID" : "")") { bench in
            try bench.convert(golden.path, lab.name, target, partner.0) {
              $0.makesNewIdentifier = isNew
              $0.allowsLoss = true
            }
          }
          guard report.losses.isEmpty else { continue }
          let (after, text) = try lab.process("read the copy") { bench in Pair(try bench.identity(target), try bench.read(target,
            golden.graph.model, as: partner.0)) }.parts
          let same = after.split(separator: " ").first == before.split(separator: " ").first
          try lab.expect(same != isNew, isNew ? "the copy has a UUID of its own" : "the copy has the source's UUID", after)
          try lab.expectSame(text, golden.text, "the copy")
        }
      }
    },
    conversion(
      "CNV-07", "Two conversions of a store give the same bytes",
        by: "in two processes, to two folders, and in a program that was started anew",
      causes: ["something is written in the order of a dictionary or a set", "the path or the time is written"], catches: ["hashOrderOutput"]
    ) { lab in
      let golden = try lab.golden("source")
      let source: (path: String, name: String)
      if let partner = lab.partners.first {
        source = (lab.folder + "/source" + partner.suffix, partner.name)
        _ = try lab.convert(golden.path, subjectName: lab.name, source.path, source.name)
      } else {
        source = (golden.path, lab.name)
      }
      var digests: [String] = []
      for place in 1...2 {
        Files.makeFolder(lab.folder + "/\(place)")
        let target = lab.folder + "/\(place)/result" + lab.suffix
        _ = try lab.convert(source.path, subjectName: source.name, target, lab.name)
        digests.append(Files.digest(target))
      }
      setenv(conversionSource, source.path, 1)
      digests += try lab.elsewhere("CNV-07 convert")
      try lab.expect(digests.count == 3 && Set(digests).count == 1, "the bytes are the same", digests.joined(separator: "; "))
    },
    conversion(
      "CNV-08", "A model that is worked out from plain values changes none of them, and opens the result again",
      by: "leading zeros, exponents, numbers beyond a double, columns of several kinds; each value's text after opening, and after a conversion",
      causes: ["what looks like a number is made one"], catches: ["inferenceRewrites"],
      demand: { $0.fileExtensions.contains("csv") ? .applies : .notApplicable("its files say what their values are") }
    ) { lab in try lab.expectInferredValuesKept() },
    conversion(
      "CNV-10", "A part of a store refers to nothing outside, and what was cut is told", level: .must,
      by: "the objects that fulfil a predicate: related ones cut away, taken along, or refused",
        causes: ["references are copied as they are"],
      catches: ["filterDangles"]
    ) { lab in try lab.expectSubsetsWhole() },
    conversion(
      "CNV-11", "A comparison of two stores finds one bit, one object, one place in an order, one metadata key",
      by: "a dozen pairs of stores that differ in one thing", causes: ["only numbers of objects are compared"],
        catches: ["verifyComparesCountsOnly"]
    ) { lab in try lab.expectDifferencesFound() },
  ]

  private static func conversion(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, from source: String = kit, by procedure: String, causes: [String],
    catches: [String], timeLimit: Int = 60, demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = { _ in .applies },
    _ body: @escaping @Sendable (Lab) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: .interop, from: source, by: procedure, causes: causes, catches: catches, timeLimit: timeLimit,
      demand: { $0.canWrite ? demand($0) : .notApplicable("canWrite is false") }, body)
  }

  private static let losing: @Sendable (StoreTraits) -> CheckDefinition.Demand = {
    $0.keepsSpecialFloats ? .applies : .notApplicable("keepsSpecialFloats is false: there is nothing to take away")
  }

  static let conversionSource = "ATOMICSTORE_CONFORMANCE_SOURCE"

  /// What CNV-07 does in a program that is started anew.
  static let conversionPart = CheckDefinition("CNV-07 convert", "", from: "", by: "") { lab in
    guard let source = getenv(conversionSource).map({ String(cString: $0) }) else { throw Blockage(reason: "no source is named") }
    let target = lab.folder + "/result" + lab.suffix
    _ = try lab.process("convert") { try $0.convert(source, nil, target, lab.name) }
    lab.note(Files.digest(target))
    lab.record.expected()
  }
}

/// What a conversion told, as it crosses from one process to another.
struct ConversionReport: Codable, Sendable {
  /// `kind|subject|count`.
  var losses: [String]
  var selections: [String]
  var objects: Int
}

private struct Pair<One: Codable & Sendable, Other: Codable & Sendable>: Codable, Sendable {
  var one: One
  var other: Other
  init(_ one: One, _ other: Other) {
    self.one = one
    self.other = other
  }
  var parts: (One, Other) { (one, other) }
}

extension Bench {
  func wideRegistry() throws -> StoreRegistry {
    var registry = try registry()
    for other in subject.others { try registry.register(other) }
    return registry
  }

  func convert(
    _ source: String, _ sourceType: String?, _ target: String, _ targetType: String, _ set: (inout StoreConverter) -> Void = { _ in }
  ) throws -> ConversionReport {
    var converter = StoreConverter(registry: try wideRegistry())
    converter.sourceType = sourceType
    converter.targetType = targetType
    set(&converter)
    let report: StoreConverter.Report
    do { report = try converter.convert(from: source, to: target) } catch let error as StoreConverter.LossError {
      throw PersistentStoreError(.unsupportedByFormat, "\(error)")
    }
    return ConversionReport(
      losses: report.losses.map { "\($0.kind.rawValue)|\($0.subject)|\($0.count)" }, selections: report.selections.map(\.description),
      objects: report.counts.reduce(0) { $0 + $1.count })
  }

  /// UUID and metadata, of any type.
  func identity(_ path: String) throws -> String {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: nil, registry: try wideRegistry())
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    return withExtendedLifetime(coordinator) {
      "\(store.metadata.uuid) " + store.metadata.entries.map { "\($0.key): \(GraphComparison.summary($0.value))" }.joined(separator: ", ")
    }
  }

  func read(_ path: String, _ model: ModelDescription?, as type: String) throws -> GraphText {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try model.map { try Models.frozen($0) }, registry: try wideRegistry())
    let store = try coordinator.addPersistentStore(type: type, at: path, isReadOnly: true)
    return try withExtendedLifetime(coordinator) { try GraphText(store) }
  }

  /// The same format, and it has no special numbers: it says so, and writes nothing in their place.
  var withoutSpecialNumbers: Bench {
    let before = FaultHooks.current
    return watched { hooks in
      hooks.traits = { traits in
        var traits = before.traits?(traits) ?? traits
        traits.keepsSpecialFloats = false
        return traits
      }
      hooks.savedValue = { value, type in
        let value = before.savedValue?(value, type) ?? value
        if case .double(let number) = value, !number.isFinite || (number == 0 && number.sign == .minus) { return .null }
        return value
      }
    }
  }
}

extension Lab {
  struct Partner: Sendable {
    var name: String
    var suffix: String
  }

  var name: String { subject.type.storeType }
  var suffix: String { traits.fileExtensions.first.map { "." + $0 } ?? "" }
  /// The other formats that can be written.
  var partners: [Partner] {
    subject.others.filter { $0.traits.writes == .all }.map { Partner(name: $0.storeType,
      suffix: $0.traits.fileExtensions.first.map { "." + $0 } ?? "") }
  }

  func convert(_ source: String, subjectName: String, _ target: String, _ targetName: String) throws -> ConversionReport {
    try process("convert \(subjectName) to \(targetName)") { bench in
      try bench.convert(source, subjectName, target, targetName) { $0.allowsLoss = true }
    }
  }

  /// Relationships of several kinds, one of them in an order that no sort gives.
  static func people() throws -> Graph {
    var graph = Graph(Models.people, [("ann", "Person"), ("eve", "Manager"), ("one", "Team"), ("two", "Team"), ("three", "Team"), ("desk",
      "Desk")])
    for label in ["ann", "eve", "one", "two", "three"] { graph.set(label, "name", .string(label)) }
    graph.set("eve", "salary", .double(0.1))
    try graph.relate("ann", "team", to: ["one"])
    try graph.relate("ann", "queue", to: ["three", "one", "two"])
    try graph.relate("eve", "tags", to: ["one", "two"])
    try graph.relate("eve", "desk", to: ["desk"])
    return graph
  }

  fileprivate func losingSource() throws -> (path: String, graph: Graph) {
    var graph = Graph(Models.attributes([("value", .double), ("note", .string), ("number", .integer64)]))
    for (place, value) in [1.5, .nan, .infinity, -.infinity, -0.0, 0].enumerated() {
      graph.objects.append(
        .init(label: "\(place)", entity: "Sample", values: ["value": .double(value), "note": .string(place == 0 ? "" : "note"),
          "number": .integer(5)]))
    }
    let path = self.path("source")
    let made = graph
    _ = try process("save special numbers") { try $0.write(made, to: path) }
    return (path, graph)
  }

  fileprivate func expectTargetsRespected() throws {
    let golden = try golden("source")
    let source = Files.stamps(golden.path)
    let home = folder + "/targets"
    Files.makeFolder(home)
    let target = home + "/taken" + suffix
    func refused(_ what: String, _ path: String, replacing: Bool, keeps before: [String: [UInt8]]?) throws {
      _ = try refusal(of: "convert to \(what)\(replacing ? ", with leave to replace" : "")", codes: ["alreadyExists"]) { bench in
        try bench.convert(golden.path, name, path, name) { $0.replacesTarget = replacing }
      }
      try expectUntouched(path, before, "what lies at the target (\(what))")
      try expectEqual(Files.stamps(golden.path), source, "the source's files")
    }
    let other = Graph(Models.nodes, [("other", "Node")])
    _ = try process("save another store at the target") { try $0.write(other, to: target) }
    let before = Files.content(target)
    try refused("a store", target, replacing: false, keeps: before)
    Files.remove(target)
    Files.write(Array("no store".utf8), to: target)
    try refused("another file", target, replacing: false, keeps: ["": Array("no store".utf8)])
    _ = try process("convert, with leave to replace") { try $0.convert(golden.path, name, target, name) { $0.replacesTarget = true } }
    try expectSame(try process("read the result") { try $0.read(target, golden.graph.model) }, golden.text, "the result that replaced a file")
    Files.remove(target)
    Files.makeFolder(target)
    Files.write(Array("mine".utf8), to: target + "/letter.txt")
    for replacing in [false, true] { try refused("a folder that is no store", target, replacing: replacing,
      keeps: ["letter.txt": Array("mine".utf8)]) }
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
        _ = try refusal(of: "convert to the source itself, by name \(place)\(replacing ? ", with leave to replace" : "")",
          codes: ["alreadyExists"]) { bench in
          try bench.convert(golden.path, name, path, name) { $0.replacesTarget = replacing }
        }
        try expect(Files.content(path) == now, "nothing changes", "it does")
        try expectUntouched(golden.path, whole, "the source")
      }
    }
  }

  fileprivate func expectConversionWhole() throws {
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
    guard let files = Files.content(target) else { throw Disappointment(expected: "a store is written", actual: "nothing is there") }
    let typeName = name
    var saving = SaveCase(
      home: home, path: target, old: old, new: new, names: names, oldText: try old.text(names), newText: try new.text(names), oldFiles: files,
      keepsMetadata: false)
    saving.action = { bench in
      _ = try bench.convert(source, typeName, target, typeName) { $0.replacesTarget = true }
      return true
    }
    let before = Files.stamps(source)
    let counted = try calls(of: saving)
    for call in counted.changes {
      for path in [call.path, call.other ?? ""] {
        try expect(path != source && !path.hasPrefix(source + "/"), "the source is not opened for writing", "\(call.what) \(path)")
      }
    }
    try sweep(saving, CSF_FAIL, error: ENOSPC, "a full disk", savesAgain: false)
    try sweep(saving, CSF_KILL, "killed", savesAgain: false)
    try expectEqual(Files.stamps(source), before, "the source's files")
  }

  fileprivate func expectInferredValuesKept() throws {
    let rows = [
      ["code", "size", "large", "mixed", "truth", "day"], ["007", "1e5", "9007199254740993", "12", "true", "2020-01-02"],
      ["010", "2.50", "18446744073709551616", "twelve", "FALSE", "2020-1-2"], ["0", "1E+05", "-0", "1,5", "yes", ""],
    ]
    func quoted(_ text: String) -> String { text.contains(",") ? "\"\(text)\"" : text }
    let path = folder + "/plain.csv"
    Files.write(Array(rows.map { $0.map { quoted($0) }.joined(separator: ",") + "\n" }.joined().utf8), to: path)
    func texts(_ path: String) throws -> [String] {
      try process("open it without a model") { bench in
        let open = try bench.open(path, nil, isReadOnly: true)
        return try withExtendedLifetime(open) {
          guard let entity = open.store.model.entities.first(where: { !$0.isAbstract }) else { return [] }
          return try open.store.nodes.handles(of: entity.index).map { node in
            try rows[0].map { column in
              guard let slot = entity.slots.first(where: { $0.name.lowercased() == column }) else { return "\(column) is missing" }
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
    }
    let wanted = rows.dropFirst().map { $0.joined(separator: " | ") }
    let read = try texts(path)
    try expect(read == wanted, "each value's text is the file's: \(wanted.joined(separator: " // "))", read.joined(separator: " // "))
    let target = folder + "/converted.csvstore"
    _ = try process("convert it") { try $0.convert(path, name, target, name) { $0.allowsLoss = true } }
    let after = try texts(target)
    try expect(after == wanted, "each value's text after a conversion: \(wanted.joined(separator: " // "))", after.joined(separator: " // "))
  }

  fileprivate func expectSubsetsWhole() throws {
    let golden = try golden("source")
    let chosen = Set(golden.graph.objects.filter { if case .integer(let number)? = $0.values["number"] { number > 3_000_000 } else { false } }.map(\.label))
    var part = golden.graph
    for object in golden.graph.objects where !chosen.contains(object.label) { part.remove(object.label) }
    let names = Dictionary(uniqueKeysWithValues: zip(golden.graph.objects.map(\.label), try process("look up references") { bench in
      let text = try bench.read(golden.path, golden.graph.model)
      return golden.graph.objects.map { object in
        text.objects.first { $0.value[GraphText.Key("name")] == object.values["name"].flatMap { GraphText.value($0) } }?.key.text ?? ""
      }
    }))
    func subset(_ related: StoreSubset.RelatedObjects) throws -> StoreSubset {
      StoreSubset(entityNames: ["Node"], predicate: try FetchPredicate(format: "number > 3000000"), related: related)
    }
    for partner in [Partner(name: name, suffix: suffix)] + partners {
      let target = folder + "/part-\(partner.name)" + partner.suffix
      let report = try process("write a part to \(partner.name), cut") { bench in
        let wanted = try subset(.nullify)
        return try bench.convert(golden.path, name, target, partner.name) { $0.subset = wanted }
      }
      try expectSame(try process("read the part") { try $0.read(target, part.model, as: partner.name) }, try part.text(names), "the part")
      try expectEqual(report.objects, chosen.count, "objects that the report counts")
      for word in ["previous", "parent", "left out"] {
        try expect(report.selections.contains { $0.contains(word) }, "the report tells what became of '\(word)'",
          report.selections.joined(separator: "; "))
      }
      let all = folder + "/all-\(partner.name)" + partner.suffix
      _ = try process("write a part to \(partner.name), with all that it leads to") { bench in
        let wanted = try subset(.closure)
        return try bench.convert(golden.path, name, all, partner.name) { $0.subset = wanted }
      }
      try expectSame(try process("read it") { try $0.read(all, golden.graph.model, as: partner.name) }, golden.text, "all that is related")
      let none = folder + "/none-\(partner.name)" + partner.suffix
      _ = try refusal(of: "write a part to \(partner.name) that leads outside", codes: ["danglingReference"]) { bench in
        let wanted = try subset(.fail)
        return try bench.convert(golden.path, name, none, partner.name) { $0.subset = wanted }
      }
      try expect(!Files.exists(none), "nothing is made", "\(none) is there")
    }
  }

  fileprivate func expectDifferencesFound() throws {
    var base = try Self.people()
    base.set("ann", "age", .integer(7))
    guard let uuid = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E") else { return }
    let first = base
    let references = Dictionary(uniqueKeysWithValues: base.objects.enumerated().map { ($0.element.label, Int64($0.offset) + 1) })
    let one = path("one")
    func forge(_ graph: Graph, _ path: String, _ uuid: UUID) throws {
      let numbers = graph.objects.map { references[$0.label] ?? 99 }
      _ = try process("write \(path.split(separator: "/").last ?? "")") { try $0.forge(graph, to: path,
        uuid: uuid) { .integer(numbers[$0]) } }
    }
    try forge(base, one, uuid)
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
    if traits.keepsOrder { try add("another order", "queue") { try $0.relate("ann", "queue", to: ["one", "three", "two"]) } }
    if traits.keepsMetadata { cases.append(("another UUID", "UUID", first, UUID())) }
    func differences(_ other: String) throws -> [String] {
      try process("compare") { bench in
        func snapshot(_ path: String) throws -> StoreSnapshot {
          let open = try bench.open(path, first.model, isReadOnly: true)
          return withExtendedLifetime(open) { StoreSnapshot(nodes: open.store.nodes, metadata: open.store.metadata) }
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
      try expect(found.contains { $0.contains(item.names) }, "\(item.what) is found, at \(item.names)",
        found.isEmpty ? "nothing is found" : found.joined(separator: "; "))
    }
    if traits.keepsMetadata {
      _ = try process("set one metadata key") { bench in
        let open = try bench.open(same, first.model)
        return try withExtendedLifetime(open) {
          var entries = open.store.metadata.entries
          entries["conformanceKey"] = .string("x")
          try open.store.setMetadata(entries)
          try open.coordinator.save(open.store)
          return true
        }
      }
      let found = try differences(same)
      try expect(found.contains { $0.contains("conformanceKey") }, "one metadata key is found", found.joined(separator: "; "))
    }
  }
}
