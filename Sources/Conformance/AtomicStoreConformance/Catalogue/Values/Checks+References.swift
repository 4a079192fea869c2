import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// REF: reference objects and object IDs: unique, stable, and told apart by their scalars.
extension Checks {
  static let references: [CheckDefinition] = [
    CheckDefinition(
      "REF-01", "Ten thousand objects saved at once have ten thousand references", from: unique,
      by: "one save; all references counted",
      causes: [
        "a reference is made from the time or from a small random number", "a part of a large save is not written",
      ], catches: ["refFromTimestampMillis"],
      timeLimit: 60
    ) { check in
      let path = check.path()
      let count = 10_000
      let saved = try check.process("save \(count) objects", opening: path, Models.nodes, seconds: 40) { _, open in
        var made: [ManagedObject] = []
        for _ in 0..<count { made.append(try open.context.insertNewObject(forEntityName: "Node")) }
        try open.context.save()
        return Set(made.map { GraphText.Key(StoreSession.name($0)) }).count
      }
      try check.expectEqual(saved, count, "different references after the save")
      let read = try check.process("read them in another process") { try $0.read(path, Models.nodes).count }
      try check.expectEqual(read, count, "objects in the file")
    },
    CheckDefinition(
      "REF-02", "Objects of an entity and of its sub-entities do not share references", from: unique,
      by:
        "objects of an entity and two sub-entities, made in turn; each looked up by its ID, then by the ID as if it were of the root",
      causes: ["each entity counts for itself"], catches: ["uniquePerEntityOnly"], demand: several
    ) { check in
      let path = check.path()
      let entities = ["Person", "Employee", "Manager"]
      var graph = Graph(Models.people, (0..<30).map { ("\($0)", entities[$0 % 3]) })
      for place in 0..<30 { graph.set("\(place)", "name", .string("name \(place)")) }
      let whole = graph
      let names = try check.process("save 30 objects of three entities") { try $0.write(whole, to: path) }
      let references = Set(names.values.compactMap { $0.split(separator: "/").last.map { GraphText.Key(String($0)) } })
      try check.expectEqual(references.count, 30, "different references in the hierarchy")
      let found = try check.process("look each up by its ID in another process") { session in
        try session.opened(path, Models.people) { open in
          var found: [String: String] = [:]
          for (label, name) in names {
            let object = try session.object(name, in: open)
            guard let reference = object.objectID.reference else { continue }
            let asRoot = ManagedObjectID(
              storeIdentifier: open.store.identifier, entityName: "Person", reference: reference)
            let same = try open.context.existingObject(with: asRoot)
            found[label] =
              (try object.value(forKey: "name") as? String ?? "")
              + (same === object ? "" : " (another by the root's ID)")
          }
          return found
        }
      }
      for place in 0..<30 {
        try check.expectEqual(found["\(place)"] ?? "", "name \(place)", "the object of ID \(names["\(place)"] ?? "")")
      }
    },
    CheckDefinition(
      "REF-03", "An object keeps its reference over several saves",
      from: "Atomic Store Life-cycle, Reference objects: “unchanging”",
      by: "three saves in one process, two more in others; what the context and the file call the objects is compared",
      causes: ["references are recreated for each save"], catches: ["newRefPerSave"]
    ) { check in
      let path = check.path()
      let seen = try check.process("save three times", opening: path, Models.nodes) { session, open in
        let made = try session.insert(Models.golden(), into: open.context)
        var seen: [[String]] = []
        for number in 0..<3 {
          for object in made.values { try object.setValue(Int64(number), forKey: "number") }
          try open.context.save()
          seen.append(made.keys.sorted().map { made[$0].map { StoreSession.name($0) } ?? "" })
          seen.append(try session.read(path, Models.nodes).objects.keys.map(\.text).sorted())
        }
        return seen
      }
      for names in seen { try check.expectEqual(names.sorted(), seen[0].sorted(), "what the objects are called") }
      var graph = Models.golden()
      try check.expectSteps(
        [graph]
          + (0..<2).map { number in
            graph.set("node 3", "number", .integer(Int64(number)))
            return graph
          }, "references", path: check.path("steps"))
    },
    CheckDefinition(
      "REF-04", "An object keeps its reference when the store is opened again and others were deleted",
      from: "Atomic Store Life-cycle, Reference objects",
      by: "ten objects; the second and the fifth deleted; the IDs of the others, as URIs, looked up in another process",
      causes: ["a row's place is taken for its reference"], catches: ["rowNumberRefs"]
    ) { check in
      let path = check.path()
      var graph = Graph(Models.nodes, (0..<10).map { ("\($0)", "Node") })
      for place in 0..<10 { graph.set("\(place)", "name", .string("name \(place)")) }
      var rest = graph
      rest.remove("1")
      rest.remove("4")
      let whole = graph
      let left = rest
      let uris = try check.process("save ten, delete two, save", opening: path, Models.nodes) { session, open in
        let made = try session.insert(whole, into: open.context)
        try open.context.save()
        for label in ["1", "4"] { if let object = made[label] { open.context.delete(object) } }
        try open.context.save()
        return made.mapValues { $0.objectID.uriRepresentation }.filter { left[$0.key] != nil }
      }
      for round in 0..<2 {
        let found = try check.process("look them up in another process, change one and save") { session in
          try session.opened(path, Models.nodes) { open in
            var found: [String: String] = [:]
            for (label, uri) in uris {
              guard let id = session.objectID(forURI: uri, in: open) else { continue }
              found[label] =
                try (try? open.context.existingObject(with: id))?.value(forKey: "name") as? String ?? "nothing"
            }
            if let node = open.store.nodes.handles(of: 0).first {
              let object = try open.context.existingObject(
                with: open.store.objectID(for: open.store.nodes.objectReference(of: node)))
              try object.setValue(Int64(round), forKey: "number")
              try open.context.save()
            }
            return found
          }
        }
        for (label, uri) in uris {
          try check.expectEqual(found[label] ?? "nothing", "name \(label)", "the object of \(uri)")
        }
      }
    },
    CheckDefinition(
      "REF-05", "References without any order, once given, are kept in the file",
      from: "Atomic Store Life-cycle, Reference objects: “if you save the value together with”",
      by: "random integers, and UUIDs where references may be texts; read in two processes",
      causes: ["a made-up reference is not written"],
      catches: ["uuidNotPersisted"], demand: texts
    ) { check in
      var dice = SeededRandom(check.seed)
      let references: [ReferenceObject] = (0..<40).map { place in
        let number = Int64(bitPattern: dice.next())
        return place % 2 == 0 ? .integer(number) : .string(UUID(uuid: uuid(&dice)).uuidString)
      }
      try check.expectReferencesKept(references, "random references")
    },
    CheckDefinition(
      "REF-06", "Save As keeps every object that a context holds: identity, values and relationships",
      from: "Atomic Store Life-cycle, Save As",
      by: "objects in memory while the store moves to another place; then edited and saved there",
      causes: ["references are reassigned in the new file"],
      catches: ["saveAsRenumbers"]
    ) { check in try check.expectMoved(["store", "elsewhere"], types: [check.subject.type, check.subject.type]) },
    CheckDefinition(
      "REF-07",
      "Objects in memory keep identity, values and relationships when their store becomes one of another type",
      profile: .interop,
      from: "Atomic Store Life-cycle, Save As: “same objectIDs”",
      by: "a store that moves to each other format and back while a context holds its objects; then edited and saved",
      causes: ["faults are fired in a store that is gone"], catches: ["migratedObjectsLoseValues"], timeLimit: 60
    ) { check in
      let others = check.subject.others.filter {
        $0.traits.references == .all && $0.traits.keepsMetadata && $0.traits.writes == .all
      }
      if others.isEmpty { throw NotApplicable(reason: "no other format is at hand") }
      for (place, other) in others.enumerated() {
        try check.expectMoved(
          ["from\(place)", "other\(place)", "back\(place)"], types: [check.subject.type, other, check.subject.type])
      }
    },
    CheckDefinition(
      "REF-08", "The reference of a deleted object is never given out again", level: .should,
      from: "Atomic Store Life-cycle, Reference objects",
      by: "the newest object deleted and saved; metadata saved alone; in another process a new one made",
      causes: ["the next reference is derived from those in use"],
      catches: ["maxPlusOne"]
    ) { check in
      let path = check.path()
      let graph = Graph(Models.nodes, (0..<5).map { ("\($0)", "Node") })
      let names = try check.process("save five objects") { try $0.write(graph, to: path) }
      let newest = names.sorted { ($0.value.count, $0.value) < ($1.value.count, $1.value) }.last?.key ?? ""
      var rest = graph
      rest.remove(newest)
      let left = rest
      _ = try check.process("delete the newest and save") { try $0.edit(path, from: graph, to: left, names: names) }
      if check.traits.setsMetadataAlone {
        _ = try check.process("set metadata alone") { try $0.setMetadata(["Which": "set"], path) }
      }
      rest.objects.append(.init(label: "new", entity: "Node"))
      let more = rest
      let now = try check.process("make a new one in another process") { session in
        try session.edit(path, from: left, to: more, names: names.filter { $0.key != newest })
      }
      try check.expect(
        !names.values.contains(now["new"] ?? ""), "the new object gets a reference that was never used",
        "it is \(now["new"] ?? "none")")
    },
    CheckDefinition(
      "REF-10", "What a new object is called before it is saved never reaches the file",
      from: "NSManagedObjectID: “temporary ID”",
      by: "100 new objects that all lead to each other, in one save; the file is searched, and read in another process",
      causes: ["relationships are written before their objects have references"], catches: ["writesTemporaryIDs"]
    ) { check in
      let path = check.path()
      let count = 100
      struct Seen: Codable, Sendable {
        var temporary: [String]
        var names: [String]
      }
      let seen = try check.process("save \(count) objects that lead to each other") { session in
        try session.opened(path, Models.nodes) { open in
          var made: [ManagedObject] = []
          for _ in 0..<count { made.append(try open.context.insertNewObject(forEntityName: "Node")) }
          for (place, object) in made.enumerated() {
            try object.setValue(made[(place + 1) % count], forKey: "next")
            try object.setValue(made[place / 2], forKey: "parent")
          }
          let temporary = made.map {
            $0.objectID.uriRepresentation.split(separator: "/").last.map { String($0.dropFirst()) } ?? ""
          }
          try open.context.save()
          if made.contains(where: { $0.objectID.isTemporaryID }) {
            throw ExpectationFailure(expected: "no object has a temporary ID after the save", actual: "one has")
          }
          return Seen(temporary: temporary, names: made.map { StoreSession.name($0) })
        }
      }
      for name in seen.temporary where !name.isEmpty {
        try check.expect(
          check.places(of: name, at: path).isEmpty, "the file does not hold the temporary ID \(name)", "it does")
      }
      let text = try check.process("read them in another process") { try $0.read(path, Models.nodes) }
      try check.expectEqual(Set(text.objects.keys), Set(seen.names.map { GraphText.Key($0) }), "the objects")
      for (object, values) in text.objects {
        let reference = object.text.split(separator: "/").last.map(String.init) ?? ""
        let looksTemporary = reference.hasPrefix("t") && UUID(uuidString: String(reference.dropFirst())) != nil
        try check.expect(!looksTemporary, "\(object.text) has a permanent reference", "it is a temporary one")
        try check.expect(
          values[GraphText.Key("next")] != nil && values[GraphText.Key("parent")] != nil,
          "\(object.text) has its relationships",
          "\(values.count) values")
      }
    },
    CheckDefinition(
      "REF-11", "References that look alike or are canonically equal belong to different objects", from: kit,
      by:
        "composed and decomposed letters, upper and lower case, 1, 01 and “1”, with blanks; with relationships among them",
      causes: ["Swift's == on texts takes canonically equal ones for one"], catches: ["referenceKeyCanonical"],
      demand: texts
    ) { check in
      let strings = [
        "\u{E9}", "e\u{301}", "A", "a", "1", "01", "1 ", " 1", "\u{212B}", "\u{C5}", "A\u{30A}", "p1", "-1", "1.0",
        "\u{FB01}",
        "fi",
      ]
      try check.expectReferencesKept(
        [.integer(1), .integer(-1)] + strings.map { .string($0) }, "references that look alike")
    },
    CheckDefinition(
      "REF-12", "An object ID made from a reference gives that reference; its URI leads back to the object",
      from: "Atomic Store Life-cycle, Loading: “objectIDForEntity:referenceObject:”",
      by: "the URIs of objects with integers and texts for references, resolved in another process",
      causes: ["references are put into URIs without escapes"], catches: ["uriDropsReference"], demand: texts
    ) { check in
      let strings = ["plain", "a/b", "a%2Fb", "a b", "ä€𝄞", "?q#f", "p7", "s7", "7", "..", "%", "a+b&c=d;e"]
      try check.expectResolved([.integer(7), .integer(-7), .integer(.max)] + strings.map { .string($0) })
    },
    CheckDefinition(
      "REF-13", "The store is asked for a reference once for each new object, and for no other",
      from: "NSAtomicStore, newReferenceObjectForManagedObject:",
      by: "a save with new, changed and deleted objects, the calls written down",
      causes: ["the kit asks again for what it has"],
      catches: ["askedPerAttribute"]
    ) { check in
      let (calls, new) = try check.mixedSave()
      let asked = calls.filter { $0.what == .newReference }.flatMap(\.objects)
      try check.expectEqual(asked.sorted(), new.sorted(), "the references asked for")
    },
    CheckDefinition(
      "REF-14", "A new reference costs no more in a large store than in a small one", level: .measured, profile: .scale,
      from: kit,
      by: "300 references asked for, in a store of 500 objects and in one of 20,000",
      causes: ["all objects are looked through for each"],
      catches: ["quadraticReferences"], timeLimit: 60
    ) { check in
      func time(_ count: Int) throws -> Double {
        let path = check.path("of\(count)")
        let graph = Graph(Models.nodes, (0..<count).map { ("\($0)", "Node") })
        return try check.process("ask for 300 references in a store of \(count) objects", seconds: 40) { session in
          try session.forge(graph, to: path)
          return try session.opened(path, Models.nodes) { open in
            var best = Double.infinity
            for _ in 0..<3 {
              let spent = try Stopwatch.seconds {
                for _ in 0..<100 {
                  _ = try open.coordinator.newReference(for: ManagedObjectSnapshot(entity: 0), in: open.store)
                }
              }
              best = min(best, spent)
            }
            return best
          }
        }
      }
      let small = try time(500)
      let large = try time(20_000)
      check.note("100 references: \(small) s in a store of 500, \(large) s in one of 20,000")
      // Forty times as many objects: half of that is far from noise, and a millisecond is nothing.
      try check.expect(
        large < max(small, 0.001) * 20, "less than 20 times as long in the large store", "\(large) s against \(small) s"
      )
    },
    CheckDefinition(
      "REF-15", "References with marks that mean something in some format are kept, and mean nothing", from: kit,
      by: "separators, quotes, markup, paths, queries, line ends, 4 KiB of text; the folder is looked at afterwards",
      causes: ["references are written without escapes"], catches: ["referenceNotEscaped"], demand: texts
    ) { check in
      let strings = [
        "a,b", "say \"hi\"", "line\nend", "<tag/>", "a&amp;b", "&", "#1", "/etc/passwd", "../../up", "..", ".",
        "'quoted'", "😀👩‍👩‍👧", "]]>",
        "*[@id='x']", "' or 1=1 --", "=1+1", "@SUM(A1)", "a;b\tc", "\\n", "%s%n%@", "$(id)", "`id`", "{}", "null",
        "true", "z101", " lead",
        "trail ",
        String(repeating: "long reference ", count: 273),
      ]
      let before = Set(Files.names(in: check.folder))
      try check.expectReferencesKept(strings.map { .string($0) }, "references with marks")
      let name = check.path("store").split(separator: "/").last.map(String.init) ?? ""
      try check.expectEqual(
        Set(Files.names(in: check.folder)).subtracting(before).subtracting([name]), [], "files beside the store")
    },
    CheckDefinition(
      "REF-16", "Equal references in two stores belong to different objects",
      from: "Atomic Store Life-cycle, Reference objects: “for the store”",
      by: "two stores with equal references, open in one coordinator",
      causes: ["the identity of the store is left out of object IDs"],
      catches: ["idIgnoresStoreUUID"]
    ) { check in
      let paths = [check.path("one"), check.path("two")]
      for path in paths {
        let graph = Graph(Models.nodes, [.init(label: "a", entity: "Node", values: ["name": .string(path)])])
        _ = try check.process("write a store") { try $0.forge(graph, to: path) }
      }
      let found = try check.process("open both and look up the object of the same reference in each") { session in
        let open = try session.open(paths[0], Models.nodes)
        let second = try open.coordinator.addPersistentStore(type: session.subject.type.storeType, at: paths[1])
        return try withExtendedLifetime(open) {
          let link = ObjectReference(entityName: "Node", reference: .integer(1))
          let one = try open.context.existingObject(with: open.store.objectID(for: link))
          let two = try open.context.existingObject(with: second.objectID(for: link))
          if one === two || one.objectID == two.objectID {
            throw ExpectationFailure(expected: "two objects with two IDs", actual: "\(one.objectID) is both")
          }
          return [try one.value(forKey: "name") as? String ?? "", try two.value(forKey: "name") as? String ?? ""]
        }
      }
      try check.expectEqual(found, paths, "the two objects")
    },
  ]

  static let unique = "Atomic Store Life-cycle, Reference objects: “unique”"

  private static func uuid(_ dice: inout SeededRandom) -> uuid_t {
    let one = dice.next()
    let two = dice.next()
    func byte(_ word: UInt64, _ place: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (place * 8)) }
    return (
      byte(one, 0), byte(one, 1), byte(one, 2), byte(one, 3), byte(one, 4), byte(one, 5), byte(one, 6), byte(one, 7),
      byte(two, 0), byte(two, 1), byte(two, 2), byte(two, 3), byte(two, 4), byte(two, 5), byte(two, 6), byte(two, 7)
    )
  }
}
