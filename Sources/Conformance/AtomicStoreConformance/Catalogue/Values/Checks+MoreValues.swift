import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// VAL, continued: numbers and texts that a file should not hold, the place where a program runs, names, types, random
/// models.
extension Checks {
  #if DEBUG
    /// Fewer where the code under test is ten times slower.
    private static let randomRuns = 100
  #else
    private static let randomRuns = 1_000
  #endif

  static let furtherValues: [CheckDefinition] = [
    CheckDefinition(
      "VAL-04", "A number in the file that does not fit its attribute is an error", from: kit,
      by:
        "wide numbers in a file whose model says narrow ones; a number in the file made greater by hand. \(errorLines)",
      causes: ["a number is cut to its last bits", "line breaks in texts are not counted"],
      catches: ["wrapsInt16", "laterLine"]
    ) { check in
      let cases: [(AttributeType, Int64, AttributeType)] = [
        (.integer32, 40_000, .integer16), (.integer64, -32_769, .integer16), (.integer64, 5_000_000_000, .integer32),
      ]
      for (held, number, wanted) in cases {
        try check.expectForgeryRefused(
          Graph.values(held, [.integer(number)]), claims: Models.attributes([("value", wanted)]),
          "\(number) where the model says \(wanted.modelName)")
      }
      try check.expectEditedValueRefused(.integer16, .integer(30_123), "30123", to: ["40123", "99999"])
      try check.expectEditedValueRefused(.integer32, .integer(2_012_345_678), "2012345678", to: ["3012345678", "1e3"])
    },
    CheckDefinition(
      "VAL-11", "Decimals of any size keep their digits and their power of ten", from: push,
      by: "the least and greatest powers, 38 nines, zeros at the end; not-a-number comes back, or the save refuses",
      causes: ["a decimal is written with a fixed number of places"],
      catches: ["decimalExponentLost", "decimalZerosDropped"], demand: decimals
    ) { check in
      let nines = "99999999999999999999999999999999999999"
      let values = ["0.1", "1.10", "1e-127", nines + "e89", nines + "e127", "1.50", "100", "-1e-128", "0", "-0.00"]
        .compactMap { DecimalNumber($0).map { StoredValue.decimal($0) } }
      let graph = Graph.values(.decimal, values)
      if check.isRefusal { return try check.expectRefusedSave(graph, "decimals") }
      try check.expectKept(graph, "decimals", path: check.path("decimals"))
      try check.expectKeptOrRefused(Graph.values(.decimal, [.decimal(.nan)]), "a decimal that is not a number")
    },
    CheckDefinition(
      "VAL-12", "Numbers with leading or trailing characters are rejected", from: kit,
      by: "such texts in a file whose model says numbers; a number in the file edited by hand. \(errorLines)",
      causes: ["a number is read as far as it goes"], catches: ["lenientNumberParse"]
    ) { check in
      for text in ["12abc", "1,5", "", " 1", "0x10", "\u{661}\u{662}", "1 2", "--1", "+-1", "1e", ".", "1_000"] {
        for wanted in [AttributeType.integer32, .double, .decimal] {
          try check.expectForgeryRefused(
            Graph.values(.string, [.string(text)]), claims: Models.attributes([("value", wanted)]),
            "the text '\(text)' where the model says \(wanted.modelName)")
        }
      }
      try check.expectEditedValueRefused(
        .integer32, .integer(123_456_789), "123456789",
        to: ["12345abcd", "12345,789", "0x1234567", "12345 789", "1234\u{661}789"])
      try check.expectEditedValueRefused(
        .decimal, .decimal(DecimalNumber(987_654_321)), "987654321", to: ["98765abcd", "98765,321", "9876 4321"])
      try check.expectEditedValueRefused(
        .double, .double(123_456.5), "123456.5", to: ["12345abc", "123456,5", "0x12345x"])
    },
    elsewhere(
      "VAL-15", "A file does not depend on time zone, language and calendar of the place where it is written",
      values: [date(0), date(700_000_000.25), date(-1e10)], .date,
      places: [
        ["TZ": "Asia/Kathmandu", "LC_ALL": "ar_SA.UTF-8", "LANG": "ar_SA.UTF-8"],
        ["TZ": "America/St_Johns", "LC_ALL": "th_TH", "LANG": "th_TH"],
      ],
      catches: ["dateLocaleFormatter"], causes: ["dates are written by a formatter that follows the place"]),
    elsewhere(
      "VAL-16", "Numbers in a file do not depend on how the place writes them",
      values: [.double(1.5), .double(-1234.5678), .double(1e-7)], .double,
      places: [
        ["LC_NUMERIC": "de_DE.UTF-8", "LC_ALL": "", "LANG": "de_DE.UTF-8"],
        ["LC_NUMERIC": "fr_FR.UTF-8", "LC_ALL": "", "LANG": "fr_FR.UTF-8"],
      ],
      catches: ["localeDecimalComma"], causes: ["numbers are written by a function of C that follows the place"]),
    CheckDefinition(
      "VAL-31",
      "Values that a transformer makes bytes of come back through it; without it they stay bytes; where it fails nothing is written",
      from: "NSAttributeDescription: “transformable”", by: "a transformer, none, and one that throws",
      causes: ["what the object describes itself as is written"],
      catches: ["transformableAsDescription"], demand: type("Transformable")
    ) { check in
      let path = check.path()
      var model = Models.attributes([("name", .string)])
      model.entities[0].properties.append(
        .attribute("list", .transformable, valueTransformerName: "LabTransformer"))
      let lists = model
      if check.isRefusal {
        return try check.expectRefusedSave(
          Graph.values(.transformable, [.data(Data([1, 2]))]), "a transformable value")
      }
      _ = try check.process("save a list through a transformer") { session in
        let open = try session.open(path, lists)
        open.coordinator.setTransformer(ListTransformer(), forName: "LabTransformer")
        return try withExtendedLifetime(open) {
          let object = try open.context.insertNewObject(forEntityName: "Sample")
          try object.setValue(["b", "", "ä"], forKey: "list")
          try open.context.save()
          return true
        }
      }
      let before = Files.content(path)
      let read = try check.process("read it through the transformer in another process") { session in
        let open = try session.open(path, lists)
        open.coordinator.setTransformer(ListTransformer(), forName: "LabTransformer")
        return try withExtendedLifetime(open) {
          try session.objects(in: open).values.first?.value(forKey: "list") as? [String] ?? []
        }
      }
      try check.expectEqual(read, ["b", "", "ä"], "the list")
      let bytes = try check.process("read it without a transformer", opening: path, lists) { session, open in
        try session.objects(in: open).values.first?.value(forKey: "list") as? Data ?? Data()
      }
      try check.expectEqual(bytes, try ListTransformer().data(from: ["b", "", "ä"]), "its bytes")
      for fails in [false, true] {
        let words = try check.process(
          fails ? "set a list where the transformer throws" : "set a list without a transformer"
        ) { session in
          let open = try session.open(path, lists)
          if fails { open.coordinator.setTransformer(ListTransformer(fails: true), forName: "LabTransformer") }
          return try withExtendedLifetime(open) {
            do {
              if let object = try session.objects(in: open).values.first { try object.setValue(["c"], forKey: "list") }
              try open.context.save()
              return "no error"
            } catch let error as ManagedObjectError { return "refused: \(error)" }
          }
        }
        try check.expect(words.hasPrefix("refused"), "it is refused", words)
        if !fails { try check.expect(words.contains("LabTransformer"), "the error names the transformer", words) }
        try check.expectUntouched(path, before, "after the refusal")
      }
    },
    CheckDefinition(
      "VAL-32",
      "Values of every attribute type are kept, or refused where the traits do not list the type as supported",
      from: kit,
      by: "each type, each kind of value in attributes of no type",
      causes: ["what a format has no word for is left out"],
      catches: ["unsupportedTypeDropped", "refusesPromisedValues", "dropsPromisedValues"]
    ) { check in
      let some: [(AttributeType, StoredValue)] = [
        (.integer16, .integer(1)), (.integer32, .integer(2)), (.integer64, .integer(3)),
        (.decimal, .decimal(DecimalNumber(4))),
        (.double, .double(5)),
        (.float, .float(6)), (.string, .string("7")), (.boolean, .boolean(true)), (.date, date(9)),
        (.binaryData, .data(Data([10]))),
        (.uuid, .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))), (.uri, .uri("a:b")),
        (.transformable, .data(Data([11]))),
      ]
      for (place, (type, value)) in some.enumerated() {
        let isSupported = !check.traits.unsupportedTypes.contains(type.modelName)
        for (attribute, what) in [(type, "typed"), (.undefined, "untyped")]
        where type != .transformable || attribute == type {
          let graph = Graph.values(attribute, [value])
          guard isSupported && check.supports(attribute) || check.isPromised(value, attribute) else {
            _ = try check.refusal(
              of: "save \(type.modelName), \(what)", codes: ["unsupportedByFormat", "invalidValue"]
            ) { session in
              try session.write(graph, to: check.path("refused\(place)\(what)"))
            }
            continue
          }
          try check.expectKept(graph, "\(type.modelName), \(what)", path: check.path("\(place)\(what)"))
        }
      }
    },
    CheckDefinition(
      "VAL-33", "Attributes may be called anything that a model allows", from: kit,
      by: "names with marks of XML and CSV, names that differ in case or composition, long ones; one value under each",
      causes: ["names are changed to fit, and then are one"],
      catches: ["attributeNameSanitised"]
    ) { check in
      let names = [
        "id", "class", "type", "name", "Name", "NAME", "xml:lang", "a b", "a.b", "a,b", "ab", "é", "e\u{301}", "1abc",
        "\"q\"", "<x>",
        "a&b", "count", "nil", "_", "-", "a:b",
        "a=b", "#", "object", "reference", "value", "@id", "naïve", "名前", "😀", " lead", "a\tb", "a\nb",
        String(repeating: "long", count: 64),
      ]
      try check.expectNamesKept(names) { allowed in
        var graph = Graph(Models.attributes(allowed.map { ($0, .string) }))
        var object = Graph.Object(label: "all", entity: "Sample")
        for name in allowed { object.values[name] = .string("value of \(name)") }
        graph.objects = [object]
        for (place, name) in allowed.enumerated() {
          graph.objects.append(
            .init(label: "only \(place)", entity: "Sample", values: [ScalarKey(name): .string("alone")]))
        }
        return graph
      }
    },
    CheckDefinition(
      "VAL-34", "Entities may be called anything that a model allows, and no file comes to lie outside of the store",
      from: kit,
      by: "names that are paths, devices, very long or differ in case; an object of each; the folder is looked at",
      causes: ["a file is called what an entity is called"],
      catches: ["entityNameIsPath"], demand: several
    ) { check in
      let names = [
        "../x", "a/b", "..", ".", "CON", "nul.txt", "Name", "name", "NAME", "a b", "é", "e\u{301}", "-rf", "*", "~",
        "a\\b", "C:", "%2e%2e",
        "metadata", "metadata.plist",
        ".hidden", "名前", "Entity.csv", "<x>", "\"q\"", String(repeating: "n", count: 300),
      ]
      let before = Set(Files.names(in: check.folder))
      try check.expectNamesKept(names) { allowed in
        var graph = Graph(
          ModelDescription(
            entities: allowed.map {
              EntityDescription(name: $0, properties: [.attribute("name", .string)])
            }))
        graph.objects = allowed.enumerated().map {
          .init(label: "\($0)", entity: $1, values: ["name": .string("object of \($1)")])
        }
        return graph
      }
      let own = check.path("names").split(separator: "/").last.map(String.init) ?? ""
      let strange = Set(Files.names(in: check.folder)).subtracting(before).filter { !$0.hasPrefix("name") && $0 != own }
      try check.expectEqual(strange, [], "files beside the store")
    },
    CheckDefinition(
      "VAL-35", "Random graphs of random models are kept over random edits", from: kit,
      by:
        "\(randomRuns) models of up to four entities, graphs of up to 40 objects with ordered relationships of up to 30, two edits each; --runs makes more; the seed makes the same again",
      causes: ["an unforeseen case"],
      catches: ["swapsTwoAttributes", "offByOneRow", "orderBeyondTenLost"], timeLimit: 120
    ) { check in
      func graphs(_ run: Int) throws -> [Graph] {
        var dice = SeededRandom(check.seed &* 1_000_000 &+ UInt64(run))
        return try RandomGraphs.make(
          &dice, entities: check.traits.maximumEntities ?? 4, isOrdered: check.traits.keepsOrder, check.traits,
          isLarge: run % 8 == 7)
      }
      let runs = check.subject.runs ?? randomRuns
      for start in stride(from: 0, to: runs, by: 50) {
        let numbers = start..<min(start + 50, runs)
        guard let wrong = try check.firstWrong(numbers, graphs) else { continue }
        // Again by itself, step by step, and with fewer objects.
        let steps = try graphs(wrong.run)
        do {
          try check.expectSteps(steps, "run \(wrong.run)", path: check.path("run\(wrong.run)"))
        } catch let error as ExpectationFailure { throw try check.shrunk(steps, wrong.run, error) }
        try check.expectNone(wrong.differences, "run \(wrong.run), after others in the same process")
      }
      check.note("\(runs) runs")
    },
    CheckDefinition(
      "VAL-36", "Texts that have broken other programs are kept, as values and as references", level: .should,
      from: kit,
      by: "texts of formats, markup, queries, scripts and terminals",
      causes: ["a text is handed on as a format or a command"],
      catches: ["usesValueAsFormatString"]
    ) { check in
      try check.expectKeptOrRefused(Graph.values(.string, naughty.map { .string($0) }), "such texts")
      guard check.traits.references == .all else { return }
      let path = check.path("references")
      let graph = Graph(Models.attributes([("name", .string)]), naughty.indices.map { ("\($0)", "Sample") })
      let names = try check.process("write them as references") {
        try $0.forge(graph, to: path, references: { .string(naughty[$0]) })
      }
      try check.expectSame(
        try check.process("read them") { try $0.read(path, graph.model) }, try graph.text(names), "such references")
    },
    CheckDefinition(
      "VAL-37", "Entities without attributes, with one, and with five hundred are kept", level: .should, from: kit,
      by: "three objects of each",
      causes: ["an object without values is left out", "attributes are counted in a byte"], catches: ["noColumnsNoRow"]
    ) { check in
      for count in [0, 1, 500] {
        var graph = Graph(Models.attributes((0..<count).map { ("attribute\($0)", .string) }))
        for place in 0..<3 {
          var object = Graph.Object(label: "\(place)", entity: "Sample")
          for number in 0..<count where (number + place) % 3 != 0 {
            object.values["attribute\(number)"] = .string("\(place)/\(number)")
          }
          graph.objects.append(object)
        }
        try check.expectKept(graph, "objects with \(count) attributes", path: check.path("with\(count)"))
      }
    },
  ]

  static let naughty = [
    "%n%n%n", "%s%s%s", "%@", "%d", "%x", "%%", "%1$s", "{0}", "${HOME}", "$(touch x)", "`touch x`", "; rm x", "| cat",
    "&& ls", "> x",
    "undefined", "NaN", "Infinity", "-Infinity",
    "None", "nil", "null", "NULL", "true", "TRUE", "0", "-0", "1.0", "1E+02", "0x0", "0xffff", "1,000.00", "1/0",
    "' OR 1=1 -- 1",
    "1;DROP TABLE users", "\"; --",
    "<script>alert(1)</script>", "<!-- -->", "-->", "]]>", "<![CDATA[", "&lt;", "&#x0;", "&amp;amp;",
    "<?xml version=\"1.0\"?>",
    "<!DOCTYPE x [<!ENTITY a 'b'>]>", "=1+1", "+1", "@SUM(1)",
    "-1+1", "\\", "\\\\", "\\n", "\\u0000", "\"", "'", "\"\"", ",", ";", "\t", ",,", "a\"b", "\u{202E}gnirts",
    "\u{200B}",
    "\u{2066}\u{2069}", "\u{FEFF}", "ｆｕｌｌ", "Ⅷ", "🏳️‍🌈", "👾 🙇", "ÅÍÎÏ", "田中さんにあげて下さい",
    "ﷺ", "Z̮̞̠͙͔ͅ", "../../../etc/passwd", "CON", "C:\\x", "file:///etc/passwd", "http://a/%%30%30", "System.out", "[1,2]",
    "{\"a\":1}",
    "key=value&x=y", "#comment", "//", "/*", "--", "::1", "1970-01-01T00:00:00Z",
  ]

  private static func elsewhere(
    _ id: String, _ title: String, values: [StoredValue], _ type: AttributeType, places: [[String: String]],
    catches: [String], causes: [String]
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: kit, by: "the same file written in several places, then read in each; bytes and values compared",
      causes: causes,
      catches: catches,
      demand: self.type(type.modelName)
    ) { check in
      let graph = Graph.values(type, values)
      let uuid = UUID(uuid: (15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
      let all = [["TZ": "UTC", "LC_ALL": "C", "LANG": "C", "LC_NUMERIC": "C"]] + places
      @Sendable func move(_ place: [String: String]) -> Bool {
        for (name, value) in place { if value.isEmpty { unsetenv(name) } else { setenv(name, value, 1) } }
        tzset()
        return setlocale(LC_ALL, "") != nil
      }
      var first: [String: [UInt8]]?
      for (number, place) in all.enumerated() {
        // The same path, since some formats write their name.
        let path = check.path()
        Files.remove(path)
        let words = place.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
        if check.isRefusal { return try check.expectRefusedSave(graph, "such values") }
        let (names, isKnown) = try check.process("write with \(words)") { session in
          let isKnown = move(place)
          return Pair(names: try session.forge(graph, to: path, uuid: uuid), isKnown: isKnown)
        }.both
        if !isKnown { check.note("this machine has no such language: \(words)") }
        let bytes = Files.content(path)
        if number == 0 { first = bytes }
        if check.traits.writesEqualBytes {
          try check.expect(bytes == first, "with \(words): the same bytes", CheckContext.difference(first, bytes))
        }
        for other in all {
          let text = try check.process("read in another place") { session in
            _ = move(other)
            return try session.read(path, graph.model)
          }
          try check.expectSame(text, try graph.text(names), "values written with \(words)")
        }
      }
    }
  }

  private struct Pair: Codable, Sendable {
    var names: [String: String]
    var isKnown: Bool
    var both: ([String: String], Bool) { (names, isKnown) }
  }
}

/// Lists of texts as bytes.
private struct ListTransformer: AttributeTransformer {
  var fails = false
  struct Trouble: Error {}
  func data(from value: Any) throws -> Data {
    guard !fails, let list = value as? [String] else { throw Trouble() }
    return Data(list.joined(separator: "\0").utf8)
  }
  func value(from data: Data) throws -> Any {
    String(decoding: data, as: UTF8.self).split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
  }
}

extension CheckContext {
  /// Names that a model takes are kept all at once; where the format refuses some, each is tried alone.
  func expectNamesKept(_ names: [String], _ graph: ([String]) -> Graph) throws {
    let allowed = names.filter { (try? Models.frozen(graph([$0]).model)) != nil }
    for name in names where !allowed.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      note("no model can have '\(GraphText.shown(name))'")
    }
    // Stores in memory stay: each of this check's calls needs its own paths.
    let call = "names\(record.nextFile())"
    if try areNamesKept(graph(allowed), at: path(call)) { return }
    var accepted: [String] = []
    defer { record.expected() }
    for (place, name) in allowed.enumerated() {
      let one = graph([name])
      let path = self.path("\(call)-\(place)")
      let what = "'\(GraphText.shown(name))'"
      guard let made = try unlessRefused("save \(what) alone", { try $0.write(one, to: path) }) else { continue }
      try expectSame(
        try process("read it in another process") { try $0.read(path, one.model) }, try one.text(made),
        "the name \(what)")
      accepted.append(name)
    }
    // Of names that were accepted one by one, two may still be taken for one.
    if !accepted.isEmpty, accepted.count < allowed.count {
      try expect(
        try areNamesKept(graph(accepted), at: path(call + "-accepted")),
        "names that are kept one by one are kept together", "they are refused")
    }
  }

  /// False where saving all at once is refused.
  private func areNamesKept(_ graph: Graph, at path: String) throws -> Bool {
    let end = try attempt("save objects of such names") { try $0.write(graph, to: path) }
    guard case .value(let made) = end else { return false }
    try expectHeldAndOverChanges(graph, made, at: path, "names", isMoved: false)
    return true
  }

  /// What came out otherwise in one of many runs.
  struct WrongRun: Codable, Sendable {
    var run: Int
    var differences: [GraphText.Difference]
  }

  /// Makes many stores and changes them in one process, and reads each state of them in another.
  func firstWrong(_ runs: Range<Int>, _ graphs: (Int) throws -> [Graph]) throws -> WrongRun? {
    let all = try runs.map { try graphs($0) }
    func place(_ run: Int, _ step: Int) -> String { path("random\(run)-\(step)") }
    let names = try process("make \(runs.count) random stores, and change each twice", seconds: 60) { session in
      try zip(runs, all).map { run, graphs in
        var names = [try session.write(graphs[0], to: place(run, 0))]
        for step in graphs.indices.dropFirst() {
          Files.copy(place(run, step - 1), to: place(run, step))
          names.append(
            try session.edit(place(run, step), from: graphs[step - 1], to: graphs[step], names: names[step - 1]))
        }
        return names
      }
    }
    let wanted = try zip(all, names).map { graphs, names in try zip(graphs, names).map { try $0.text($1) } }
    let wrong = try process("read them in another process", seconds: 60) { session -> WrongRun? in
      for (position, run) in runs.enumerated() {
        for (step, text) in wanted[position].enumerated() {
          let read = try session.read(place(run, step), all[position][step].model)
          let differences = text.differences(from: read)
          if !differences.isEmpty {
            return WrongRun(run: run, differences: Array(differences.prefix(GraphText.mostShown + 1)))
          }
        }
      }
      return nil
    }
    record.expected()
    if wrong == nil {
      for run in runs { for step in all[run - runs.lowerBound].indices { Files.remove(place(run, step)) } }
    }
    return wrong
  }

  /// A random failure with as few objects as still fail.
  func shrunk(_ graphs: [Graph], _ run: Int, _ error: ExpectationFailure) throws -> ExpectationFailure {
    var last = graphs
    var found = error
    var tries = 0
    for object in graphs.first?.objects ?? [] {
      tries += 1
      guard tries < 15 else { break }
      let fewer = last.map { graph in
        var graph = graph
        graph.remove(object.label)
        return graph
      }
      let path = self.path("shrink\(tries)")
      defer { Files.remove(path) }
      // Nothing at all is not a store; and what goes wrong in another way is not what is being looked for.
      guard fewer.allSatisfy({ !$0.objects.isEmpty }) else { continue }
      do { try expectSteps(fewer, "run \(run), with fewer objects", path: path) } catch {
        guard let error = error as? ExpectationFailure else { continue }
        last = fewer
        found = error
      }
    }
    found.expected += "\n(\(last.first?.objects.count ?? 0) objects are left of \(graphs.first?.objects.count ?? 0))"
    return found
  }
}
