import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// SCH: files and models that do not fit each other, and models of every shape.
extension Checks {
  static let schema: [CheckDefinition] = [
    forged(
      "SCH-01", "Objects of an entity that the model does not have are an error that names it", holds: Models.two,
      naming: ["other"],
      catches: ["skipsUnknownEntity"], causes: ["what is not known is skipped"],
      claims: Models.attributes([("name", .string)]),
      demand: several
    ) { graph in graph.objects = [.init(label: "a", entity: "Sample"), .init(label: "b", entity: "Other")] },
    forged(
      "SCH-02", "An attribute that the model does not have is an error that names it",
      holds: Models.attributes([("name", .string), ("extra", .string)]),
      naming: ["extra"], catches: ["dropsUnknownAttribute"],
      causes: ["what is not known is skipped, and lost with the next save"],
      claims: Models.attributes([("name", .string)]), countsLoss: true
    ) { graph in
      graph.objects = [.init(label: "a", entity: "Sample", values: ["name": .string("x"), "extra": .string("y")])]
    },
    CheckDefinition(
      "SCH-03", "An attribute that the file does not have is nothing, or its default, or an error; never zero",
      from: kit,
      by: "a file without attributes that its model has: optional ones, mandatory ones, ones with a default",
      causes: ["a value is made up for what is not there"], catches: ["missingBecomesZero"]
    ) { check in
      let path = check.path()
      let graph = Graph(
        Models.attributes([("name", .string)]), [.init(label: "a", entity: "Sample", values: ["name": .string("x")])])
      for isOptional in [true, false] {
        var claims = graph.model
        for (name, type) in [
          ("count", AttributeType.integer32), ("flag", .boolean), ("text", .string), ("when", .date),
        ] {
          claims.entities[0].properties.append(
            .attribute(name, type, isOptional: isOptional))
        }
        claims.entities[0].properties.append(
          .attribute("given", .integer32, isOptional: isOptional, defaultValue: .integer(7)))
        let model = claims
        _ = try check.process("write a file without the attributes") { try $0.forge(graph, to: path, claims: model) }
        let which = isOptional ? "optional" : "mandatory"
        guard let text = try check.unlessRefused("read it with \(which) ones", { try $0.read(path, model) }) else {
          continue
        }
        let values = text.objects.values.first ?? [:]
        try check.expectEqual(values[GraphText.Key("name")] ?? "", "string:x", "what the file has")
        for name in ["count", "flag", "text", "when"] {
          try check.expectEqual(values[GraphText.Key(name)] ?? "nil", "nil", "\(which) '\(name)'")
        }
        let given = values[GraphText.Key("given")] ?? "nil"
        try check.expect(["nil", "integer:7"].contains(given), "'given' is nothing or its default", given)
        check.note("\(which) attributes that are missing are nil; one with a default is \(given)")
      }
    },
    CheckDefinition(
      "SCH-04", "A value of another type than the model's is an error that names the attribute", from: kit,
      by: "files with texts where integers, truth values and dates are expected, and the other way round",
      causes: ["what cannot be read is taken for zero"],
      catches: ["coercesToZero"]
    ) { check in
      // Not text where data is expected: a format may keep both as the same bytes.
      let cases: [(AttributeType, StoredValue, AttributeType)] = [
        (.string, .string("abc"), .integer32), (.string, .string("maybe"), .boolean),
        (.string, .string("2020-13-45"), .date),
        (.string, .string("zz"), .uuid), (.string, .string("1.5"), .integer64), (.string, .string("x"), .decimal),
        (.double, .double(1.5), .integer16),
        (.string, .string("abc"), .double),
      ]
      for (held, value, wanted) in cases {
        try check.expectForgeryRefused(
          Graph.values(held, [value]), claims: Models.attributes([("value", wanted)]),
          "\(held.modelName) where the model says \(wanted.modelName)",
          naming: ["value"])
      }
    },
    forged(
      "SCH-05", "An object of an abstract entity is an error", holds: Models.attributes([("name", .string)]),
      naming: ["sample"],
      catches: ["abstractInstantiated"], causes: ["abstract entities are not checked"],
      claims: {
        var model = Models.attributes([("name", .string)])
        model.entities[0].isAbstract = true
        model.entities[0].subentities = [EntityDescription(name: "Concrete")]
        return model
      }()
    ) { graph in graph.objects = [.init(label: "a", entity: "Sample", values: ["name": .string("x")])] },
    CheckDefinition(
      "SCH-06", "A store that is opened with a configuration holds objects of its entities alone",
      from: "NSPersistentStore: “must respect the configuration specified”",
      by: "a store for one of two entities; an object of the other; a file that has both",
      causes: ["the configuration is not looked at"],
      catches: ["ignoresConfiguration", "writesNoValuesInConfigurations"], demand: several
    ) { check in
      let path = check.path()
      let model = Models.configured
      _ = try check.process("save an object of the configuration's entity") { session in
        try session.opened(path, model, configuration: "left") { open in
          let object = try open.context.insertNewObject(forEntityName: "Left")
          try object.setValue("x", forKey: "name")
          try open.context.save()
          return true
        }
      }
      for configuration in ["left", nil] {
        let read = try check.process("open it again \(configuration == nil ? "without" : "with") the configuration") {
          session in
          try session.opened(path, model, configuration: configuration) { open in try GraphText(open.store) }
        }
        try check.expectEqual(read.count, 1, "objects")
        for (object, values) in read.objects {
          try check.expect(object.text.hasPrefix("Left/"), "an object of Left", object.text)
          try check.expect(values == ["name": "string:x"], "its name is x", "\(values)")
        }
      }
      let refused = try check.process("save an object of the other entity") { session in
        try session.opened(path, model, configuration: "left") { open in
          do {
            _ = try open.context.insertNewObject(forEntityName: "Right")
            try open.context.save()
            return false
          } catch is ManagedObjectError { return true }
        }
      }
      try check.expect(refused, "saving an object of another entity is refused", "it was saved")
      let both = Graph(model, [("l", "Left"), ("r", "Right")])
      let other = check.path("both")
      _ = try check.process("write a file that has both") { try $0.forge(both, to: other) }
      let names = try check.unlessRefused("open it with the configuration") { session in
        try session.opened(other, model, configuration: "left") { open in
          try GraphText(open.store).objects.keys.map(\.text)
        }
      }
      try check.expect(
        !(names ?? []).contains { $0.hasPrefix("Right/") }, "no object of another entity is loaded", "\(names ?? [])")
    },
    CheckDefinition(
      "SCH-07", "Without a configuration a store holds objects of all entities",
      from: "NSPersistentStore, configurationName",
      by: "a model with two configurations, opened without one", causes: ["no name is looked up as a name"],
      catches: ["nilConfigurationEmpty"], demand: several
    ) { check in
      try check.expectKept(Graph(Models.configured, [("l", "Left"), ("r", "Right")]), "objects of both configurations")
    },
    CheckDefinition(
      "SCH-08", "That a store was written with another model shows before its objects are read",
      from: "NSPersistentStoreCoordinator, version hashes",
      by: "a store opened with a model in which an attribute is of another type, the calls written down",
      causes: ["models are compared after the load"], catches: ["loadsBeforeHashCheck"],
      demand: { $0.isSelfDescribing ? .applies : .notApplicable("isSelfDescribing is false") }
    ) { check in
      let path = check.path()
      let graph = Graph.values(.string, [.string("x")])
      _ = try check.process("save an object") { try $0.write(graph, to: path) }
      struct Seen: Codable, Sendable {
        var code: String?
        var calls: [String]
      }
      let seen = try check.process("open it with another model, every call written down") { session in
        var code: String?
        do { _ = try session.spied.open(path, Models.attributes([("value", .integer64)])) } catch let error
          as PersistentStoreError
        {
          code = error.code.description
        }
        return Seen(code: code, calls: Spy.calls.map(\.what.rawValue))
      }
      try check.expectEqual(seen.code ?? "no error", "modelMismatch", "the error")
      try check.expect(!seen.calls.contains("load"), "no objects are read", seen.calls.joined(separator: ", "))
    },
    CheckDefinition(
      "SCH-10", "Objects of sub-entities keep their own attributes and those they inherit, over three levels",
      from: "Atomic Store Life-cycle, Loading", by: "objects of each level; then changed; then of the last level alone",
      causes: ["only an entity's own properties are written"],
      catches: ["inheritedAttributesLost"], demand: several
    ) { check in
      var graph = Graph(Models.people, [("p", "Person"), ("e", "Employee"), ("m", "Manager"), ("n", "Manager")])
      for (place, object) in graph.objects.enumerated() {
        graph.set(object.label, "name", .string("name \(place)"))
        graph.set(object.label, "age", .integer(Int64(place)))
        if object.entity != "Person" { graph.set(object.label, "salary", .double(Double(place) + 0.5)) }
        if object.entity == "Manager" { graph.set(object.label, "title", .string("title \(place)")) }
      }
      var other = graph
      other.set("m", "age", nil)
      other.set("m", "title", .string("new"))
      other.set("e", "name", .string("new"))
      try check.expectSteps([graph, other], "inherited attributes")
      graph.objects.removeAll { $0.entity != "Manager" }
      try check.expectKept(graph, "inherited attributes of the last level", path: check.path("alone"))
    },
    CheckDefinition(
      "SCH-11", "Attributes of one name and different types in sibling entities stay apart", from: kit,
      by: "siblings whose 'value' is an integer, a text, a date and data",
      causes: ["columns are found by name, not by entity and name"],
      catches: ["columnTypeByName"], demand: several
    ) { check in
      let types: [(String, AttributeType, StoredValue)] = [
        ("One", .integer32, .integer(5)), ("Two", .string, .string("5")), ("Three", .date, date(5)),
        ("Four", .boolean, .boolean(true)),
        ("Five", .double, .double(5)),
      ]
      let model = ModelDescription(entities: [
        EntityDescription(
          name: "Base", isAbstract: true, properties: [.attribute("name", .string)],
          subentities: types.map { name, type, _ in
            EntityDescription(name: name, properties: [.attribute("value", type)])
          })
      ])
      var graph = Graph(model)
      for (name, _, value) in types {
        graph.objects.append(.init(label: name, entity: name, values: ["name": .string(name), "value": value]))
        graph.objects.append(.init(label: name + " empty", entity: name))
      }
      try check.expectKept(graph, "attributes of one name")
    },
    CheckDefinition(
      "SCH-12", "Values that the model's rules forbid are refused, or read as they stand; never made to fit",
      level: .should, from: kit,
      by: "a file with a number beyond its bounds and a text too long; then such a value saved by a context",
      causes: ["values are cut to the bounds"],
      catches: ["validationBypassed"]
    ) { check in
      var model = Models.attributes([("name", .string)])
      model.entities[0].properties = [
        .attribute("number", .integer32, minimum: .integer(1), maximum: .integer(10)),
        .attribute("text", .string, maximumLength: 3),
      ]
      let rules = model
      let graph = Graph(
        rules,
        [
          .init(label: "a", entity: "Sample", values: ["number": .integer(11), "text": .string("long")]),
          .init(label: "b", entity: "Sample"),
        ])
      try check.expectReadAsIsOrRefused(graph, "values beyond their bounds") {
        $0.set("b", "number", .integer(5))
      }
      let path = check.path("valid")
      let refused = try check.process("save a value beyond its bounds", opening: path, rules) { _, open in
        let object = try open.context.insertNewObject(forEntityName: "Sample")
        try object.setValue(Int64(11), forKey: "number")
        do {
          try open.context.save()
          return false
        } catch { return true }
      }
      try check.expect(refused, "the save is refused", "it succeeds")
    },
    CheckDefinition(
      "SCH-13", "A file of a newer version of the format is refused as such", from: kit,
      by:
        "each place in the file that says “version” with a number behind it, one at a time, made to say a greater one, or if nothing does, each of the first 64 bytes; and what the author supplies as a newer version",
      causes: ["the version is written and never read"], catches: ["ignoresFormatVersion"]
    ) { check in
      let (path, _, text) = try check.golden()
      let newer = check.subject.newerVersion.flatMap { $0(Files.content(path) ?? [:]) }
      if let newer {
        let copy = check.path("newer")
        Files.put(newer, at: copy)
        _ = try check.refusal(of: "the author's newer version", codes: ["unsupportedVersion"]) {
          try $0.read(copy, Models.nodes, options: check.handmade)
        }
      }
      let edits = check.versions(at: path)
      if edits.isEmpty {
        guard newer == nil else { return }
        if try check.refusesNewerVersion(at: path) { return }
        throw Untested(
          reason:
            "newer version not tested: files contain no version that is refused as unsupportedVersion once it is greater; ChecksummedStore.newerVersion"
        )
      }
      var refusals = 0
      for (number, edit) in edits.enumerated() {
        let copy = check.path("newer\(number)")
        Files.copy(path, to: copy)
        Files.write(edit.bytes, to: edit.file.isEmpty ? copy : copy + "/" + edit.file)
        switch try check.attempt(
          "read it with the number at byte \(edit.offset) made greater",
          { try $0.read(copy, Models.nodes, options: check.handmade) })
        {
        case .refused(let error):
          try check.expect(
            error.code == "unsupportedVersion", "refused as unsupportedVersion",
            "\(error.code ?? "another error"): \(error.text)")
          check.note(error.text)
          refusals += 1
        case .value(let read): try check.expectSame(read, text, "a number that means nothing")
        case let end: try check.settle(end, "read it")
        }
      }
      try check.expect(
        refusals > 0 || newer != nil, "one of \(edits.count) places is the format's version",
        "the file was read with each of them changed")
    },
    CheckDefinition(
      "SCH-15",
      "What a file holds under the name of a transient or derived attribute is an error or skipped; it never shows",
      from: kit,
      by: "a file with a value where the model says transient; one where it says derived",
      causes: ["values are set by name, whatever the model says"],
      catches: ["derivedOverwritten"]
    ) { check in
      let graph = Graph(
        Models.attributes([("name", .string), ("odd", .string)]),
        [.init(label: "a", entity: "Sample", values: ["name": .string("x"), "odd": .string("stale")])])
      for isTransient in [true, false] {
        var claims = Models.attributes([("name", .string)])
        claims.entities[0].properties.append(
          .attribute(
            "odd", .string, isTransient: isTransient, derivationExpression: isTransient ? nil : "uppercase:(name)"))
        let model = claims
        let path = check.path(isTransient ? "transient" : "derived")
        let names = try check.process("write the file") { try $0.forge(graph, to: path, claims: model) }
        let what = isTransient ? "transient" : "derived"
        let values = try check.unlessRefused("read what is \(what) there") { session in
          try session.opened(path, model) { open in
            let object = try session.object(names["a"] ?? "", in: open)
            let name = try object.value(forKey: "name") as? String ?? ""
            if !isTransient {
              try object.setValue("y", forKey: "name")
              try open.context.save()
            }
            return [name, try object.value(forKey: "odd") as? String ?? "nil"]
          }
        }
        if let values { try check.expectEqual(values, ["x", isTransient ? "nil" : "Y"], "the values, \(what)") }
      }
    },
  ]

  private static func forged(
    _ id: String, _ title: String, holds: ModelDescription, naming: [String], catches: [String], causes: [String],
    claims: ModelDescription, countsLoss: Bool = false,
    demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = { _ in .applies },
    _ fill: @escaping @Sendable (inout Graph) -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: kit, by: "a file that says it follows one model, with objects of another", causes: causes,
      catches: catches,
      demand: demand
    ) { check in
      var graph = Graph(holds)
      fill(&graph)
      try check.expectForgeryRefused(graph, claims: claims, "such a file", naming: naming, countsLoss: countsLoss)
    }
  }
}

extension CheckContext {
  /// The files of a store with a 9 for the 1 that begins the number behind the word “version”, one for each such place:
  /// as text, or as a byte behind the mark of a one-byte integer.
  func versions(at path: String) -> [(file: String, offset: Int, bytes: [UInt8])] {
    var found: [(file: String, offset: Int, bytes: [UInt8])] = []
    let all = Files.content(path) ?? [:]
    for place in places(of: "version", at: path) {
      guard var bytes = all[place.file] else { continue }
      let start = place.offset + 7
      for offset in start..<min(start + 60, bytes.count - 1) {
        let isBinary = offset == start + 1 && PropertyListCraft.isSmallInteger(bytes, at: offset)
        // An element's text, or a number as other texts have it: `version: 1`, `"version":1`. Not the 1.0 of a
        // declaration.
        let next = bytes[offset + 1]
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
        let isAlone =
          !isDigit && next != UInt8(ascii: ".") && !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next | 0x20)
        let before = bytes[offset - 1]
        let isText =
          (UInt8(ascii: "1")..<UInt8(ascii: "9")).contains(bytes[offset])
          && (before == UInt8(ascii: ">") && (next == UInt8(ascii: "<") || isDigit)
            || ":= \t".utf8.contains(before) && isAlone)
        guard isBinary || isText else { continue }
        bytes[offset] = isText ? UInt8(ascii: "9") : 99
        found.append((place.file, offset, bytes))
        break
      }
    }
    return found
  }

  /// Whether one of the first bytes is a version: made greater, it is refused as a newer one.
  fileprivate func refusesNewerVersion(at path: String) throws -> Bool {
    let damages = (Files.content(path) ?? [:]).sorted { $0.key < $1.key }.flatMap { member, bytes in
      bytes.indices.prefix(64).map { offset in
        Damage(
          label: "byte \(offset) greater", member: member, of: bytes, at: offset, byte: bytes[offset] &+ 1)
      }
    }
    let refusal = PersistentStoreError.Code.unsupportedVersion.description
    return try openHostile(path, Models.nodes, damages).contains(refusal)
  }
}
