import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// LOD: what is in the file becomes nodes: all of it, each once, under its own name; or none of it and an error.
extension Checks {
  static let loading: [CheckDefinition] = [
    CheckDefinition(
      "LOD-01", "As many objects of each entity come back as were saved", from: loadDocument,
      by: "objects of five entities are saved, and counted in another process",
      causes: ["the load said that it was done, and did nothing"],
      catches: ["loadReturnsTrueAndNothing"]
    ) { check in
      let path = check.path()
      let wanted =
        check.hasRoomForMany ? ["Person": 7, "Employee": 5, "Manager": 3, "Team": 2, "Desk": 1] : ["Node": 7]
      let graph = check.counted(wanted)
      _ = try check.process("save \(graph.objects.count) objects") { try $0.write(graph, to: path) }
      let text = try check.process("read them in another process") { try $0.read(path, graph.model) }
      try check.expectEqual(
        Dictionary(uniqueKeysWithValues: wanted.keys.map { ($0, text.count(of: $0)) }), wanted, "objects by entity")
      try check.expectEqual(text.count, graph.objects.count, "objects")
    },
    CheckDefinition(
      "LOD-02", "An object’s ID names its own entity, not the one above", from: loadDocument,
      by: "objects of three generations of entities; IDs and entities of what is fetched in another process",
      causes: ["only the entity at the top was written"], catches: ["idUsesRootEntity"], demand: manyEntities
    ) { check in
      let path = check.path()
      let graph = check.counted(["Person": 2, "Employee": 2, "Manager": 2])
      _ = try check.process("save them") { try $0.write(graph, to: path) }
      let seen = try check.process("fetch them in another process") { session in
        try session.opened(path, graph.model, isReadOnly: true) { open in
          try session.all(open, "Person").map {
            ["\(try $0.value(forKey: "name") ?? "")", $0.objectID.entityName, $0.entity.name]
          }
        }
      }
      try check.expectEqual(seen.count, 6, "objects")
      for object in seen {
        let wanted = object[0].split(separator: " ").first.map(String.init) ?? ""
        try check.expectEqual(object, [object[0], wanted, wanted], "name, entity in the ID, entity")
      }
    },
    CheckDefinition(
      "LOD-03", "The ID of a node is the ID of its object, as a URI too", from: loadDocument,
      by: "objects are saved in two steps; each is looked up by its ID and its URI, at once and in another process",
      causes: ["a reference was given twice, and the second one written"], catches: ["nodeIDDiffersFromObjectID"]
    ) { check in
      let path = check.path()
      let graph = Models.golden()
      let uris = try check.process("save objects, and one more; look each up") { session in
        try session.opened(path, graph.model) { open in
          let made = try session.insert(graph, into: open.context)
          try open.context.save()
          let last = try open.context.insertNewObject(forEntityName: "Node")
          try last.setValue("last", forKey: "name")
          try open.context.save()
          var uris: [String: String] = [:]
          for object in Array(made.values) + [last] {
            guard open.store.node(for: object.objectID) != nil else {
              throw ExpectationFailure(expected: "\(object.objectID) is a node of the store", actual: "there is none")
            }
            uris[object.objectID.uriRepresentation] = "\(try object.value(forKey: "name") ?? "")"
          }
          return uris
        }
      }
      try check.expectEqual(uris.count, 9, "URIs")
      let names = try check.process("look up the URIs in another process") { session in
        try session.opened(path, graph.model, isReadOnly: true) { open in
          try uris.keys.reduce(into: [String: String]()) { names, uri in
            guard let id = session.objectID(forURI: uri, in: open), open.store.node(for: id) != nil else { return }
            names[uri] = "\(try open.context.existingObject(with: id).value(forKey: "name") ?? "")"
          }
        }
      }
      try check.expectEqual(names, uris, "names by URI")
    },
    CheckDefinition(
      "LOD-04", "Each node’s values are its own, and can be set again and again",
      from: "Atomic Store Life-cycle, Loading: “a mutable property cache”",
      by: "one object is changed, to nothing, and to a value, with a save after each; the others are compared",
      causes: ["nodes shared a table of values", "a value that was taken away came back"],
      catches: ["sharedCache", "immutableCache"]
    ) { check in
      let (path, graph, text) = try check.golden()
      for value in ["one", nil, "two"] as [String?] {
        let name = try check.process("set one name to \(value ?? "nil") and save, in one process") { session in
          try session.opened(path, graph.model) { open in
            guard let object = try session.all(open, "Node").first else {
              throw ExpectationFailure(expected: "an object", actual: "none")
            }
            try object.setValue("before", forKey: "name")
            try open.context.save()
            try object.setValue(value, forKey: "name")
            try open.context.save()
            return StoreSession.name(object)
          }
        }
        var wanted = text
        wanted.objects[GraphText.Key(name)]?[GraphText.Key("name")] = value.flatMap { GraphText.value(.string($0)) }
        try check.expectSame(
          try check.process("read it") { try $0.read(path, graph.model) }, wanted,
          "the one that was changed, and the others")
      }
    },
    CheckDefinition(
      "LOD-05", "Every node can be found by its ID",
      from: "Atomic Store Life-cycle, Loading: “register them with the store”",
      by: "a thousand objects; each reference that was given is looked up in another process",
      causes: ["the last part of a batch was left out"],
      catches: ["forgetsToRegister"]
    ) { check in
      let path = check.path()
      let graph = Graph.values(.integer32, (0..<1000).map { .integer($0) })
      let references = try check.process("save a thousand objects") { try $0.write(graph, to: path) }
      let uris = try check.process("look each up in another process") { session in
        try session.opened(path, graph.model, isReadOnly: true) { open in
          let nodes = open.store.nodes
          let entity = nodes.model.entity(named: "Sample")?.index ?? 0
          let names = Set(nodes.handles(of: entity).map { "Sample/\(nodes.reference(of: $0))" })
          let found = nodes.handles(of: entity).filter {
            nodes.handle(for: nodes.reference(of: $0), entity: entity) == $0
          }.count
          return [references.values.filter { names.contains($0) }.count, found]
        }
      }
      try check.expectEqual(uris, [1000, 1000], "objects that are there, and found by their references")
    },
    CheckDefinition(
      "LOD-06", "Two objects of one reference are an error", profile: .hostile, from: loadDocument,
      by: "one object’s reference is written over another’s in the file, wherever it is",
      causes: ["the later one took the place of the earlier one"],
      catches: ["renumbersDuplicates"],
      demand: { traits in
        traits.references == .derived ? .notApplicable("references are derived") : .applies
      }
    ) { check in
      let path = check.path()
      let graph = Graph.values(.integer16, [.integer(7), .integer(8)])
      _ = try check.process("save two objects of references that can be told") { session in
        let given = Notebook<[Int64]>([1_111_111, 2_000_003])
        return try session.watched { hooks in
          hooks.newReference = { _, _, metadata in
            guard let next = given.value.first else { return nil }
            given.change { $0.removeFirst() }
            metadata.lastReference = max(metadata.lastReference, next)
            return .integer(next)
          }
        }.write(graph, to: path)
      }
      let files = Files.content(path) ?? [:]
      let payload = check.payload(of: files)
      let written = payload ?? files
      let crafted = check.subject.duplicate?(files)
      var content = written
      var found = crafted != nil
      for (member, bytes) in written where crafted == nil {
        for (old, new) in zip(ReferenceForms.all(2_000_003), ReferenceForms.all(1_111_111)) {
          // A form in which the file has one number and not the other is a count, or the greatest reference.
          guard Files.replacing(new, by: new, in: bytes) != nil,
            let changed = Files.replacing(old, by: new, in: content[member] ?? bytes)
          else { continue }
          content[member] = changed
          found = true
        }
      }
      guard found else {
        throw Untested(
          reason: "payload not tested: references are neither text nor bytes in the file; ChecksummedStore.duplicate")
      }
      let before = try check.process("read the references") { try $0.read(path, graph.model) }
      guard let valid = crafted ?? (payload == nil ? content : check.valid(content)) else {
        throw NotApplicable(reason: "the author's function makes no files of this payload")
      }
      Files.put(valid, at: path)
      let end = try check.attempt("read the references that were written over") { session in
        Set(try session.read(path, graph.model, options: check.handmade).objects.keys) == Set(before.objects.keys)
      }
      // What was found is something else, or a reference is more than this one form.
      if crafted == nil, case .value(true) = end {
        throw Untested(
          reason: "payload not tested: no reference changed with the file; ChecksummedStore.duplicate")
      }
      _ = try check.refusal(of: "a file with two objects of one reference") { session in
        try session.read(path, graph.model, options: check.handmade).count
      }
    },
    CheckDefinition(
      "LOD-07", "Loading a store again gives its objects once",
      from: "Atomic Store Life-cycle, Initialization: load: follows",
      by: "a store that another one saved meanwhile is read again by the save of the first",
      causes: ["nodes of the first load were still there"],
      catches: ["loadTwiceDoubles"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let counts = try check.process("open it twice, save in one, then in the other") { session in
        let one = try session.open(path, graph.model)
        let two = try session.open(path, graph.model)
        return try withExtendedLifetime((one, two)) {
          _ = try two.context.insertNewObject(forEntityName: "Node")
          try two.context.save()
          _ = try one.context.insertNewObject(forEntityName: "Node")
          do { try one.context.save() } catch let error as ManagedObjectError
            where error.underlying is PersistentStoreError
          {
            return [two.store.nodes.count, try session.all(two, "Node").count + 1]
          }
          return [one.store.nodes.count, try session.all(one, "Node").count]
        }
      }
      try check.expectEqual(counts, counts[0] == 9 ? [9, 10] : [10, 10], "objects")
      let text = try check.process("read it in another process") { try $0.read(path, graph.model) }
      try check.expectEqual(text.count, counts[0], "objects in another process")
    },
    CheckDefinition(
      "LOD-09", "Every property can be read and set by its name, inherited ones too; another name is an error",
      from: "Atomic Store Life-cycle, Loading: “key-value coding compliant access”",
      by: "each property of an entity of the third generation",
      causes: ["properties of entities above were left out"], catches: ["kvcMissesInherited"], demand: manyEntities
    ) { check in
      let path = check.path()
      var graph = check.counted(["Manager": 2])
      for place in graph.objects.indices {
        graph.objects[place].values = [
          "name": .string("n\(place)"), "age": .integer(40), "salary": .double(1.5), "title": .string("t"),
        ]
      }
      let made = graph
      _ = try check.process("save two managers") { try $0.write(made, to: path) }
      let seen = try check.process("read and set each property by its name") { session in
        try session.opened(path, made.model) { open in
          var lines: [String] = []
          for object in try session.all(open, "Manager") {
            for slot in object.entity.slots {
              let value = try object.value(forKey: slot.name)
              if slot.attribute != nil { lines.append("\(slot.name)=\(value.map { "\($0)" } ?? "nil")") }
              try object.setValue(slot.attribute == nil ? nil : value, forKey: slot.name)
            }
            do throws(ManagedObjectError) {
              _ = try object.value(forKey: "unknown")
              lines.append("read a name that there is not")
            } catch { if error.code != .undefinedKey { lines.append("\(error)") } }
          }
          try open.context.save()
          return lines.sorted()
        }
      }
      try check.expectEqual(
        seen, ["age=40", "age=40", "name=n0", "name=n1", "salary=1.5", "salary=1.5", "title=t", "title=t"],
        "values by name")
    },
    CheckDefinition(
      "LOD-10", "A load that fails leaves the coordinator without the store, and the error names the file",
      from: "Atomic Store Life-cycle, Removal",
      by: "a store that was cut short is added; coordinator and error are looked at",
      causes: ["the error was written to a log and forgotten"],
      catches: ["swallowsLoadError"]
    ) { check in
      let (path, graph, _) = try check.unlinked()
      let isText = (Files.content(path) ?? [:]).values.allSatisfy { String(validating: $0, as: UTF8.self) != nil }
      try check.cutShort(path)
      let left = try check.process("add it, and look at the coordinator") { session in
        let coordinator = try session.coordinator(graph.model)
        do { try coordinator.addPersistentStore(type: session.subject.type.storeType, at: path) } catch {}
        return coordinator.persistentStores.count
      }
      try check.expectEqual(left, 0, "stores of the coordinator")
      let error = try check.refusal(of: "a store that was cut short") { try $0.open(path, graph.model).store.type }
      try check.expect(error.hasFile, "the error names the file", error.text)
      if isText, !Files.isFolder(path) {
        try check.expect(error.hasPlace, "the error names the line or the byte", error.text)
      }
    },
    CheckDefinition(
      "LOD-11", "Of a load that failed nothing is left for the next one", from: kit,
      by: "a store that was cut short is added, then the intact one at the same path by the same coordinator",
      causes: ["nodes were registered one by one"], catches: ["partialLoad", "swallowsLoadError"]
    ) { check in
      let (path, graph, text) = try check.unlinked()
      let intact = Files.content(path) ?? [:]
      try check.cutShort(path)
      let seen = try check.process("add it damaged, put the intact one there, add it again") { session in
        let coordinator = try session.coordinator(graph.model)
        let type = session.subject.type.storeType
        do {
          let store = try coordinator.addPersistentStore(type: type, at: path)
          throw ExpectationFailure(
            expected: "the damaged store is refused", actual: "it has \(store.nodes.count) objects")
        } catch is PersistentStoreError {}
        Files.put(intact, at: path)
        return try GraphText(try coordinator.addPersistentStore(type: type, at: path))
      }
      try check.expectSame(seen, text, "the intact store")
    },
    CheckDefinition(
      "LOD-12", "The order of objects does not matter: relationships lead forward and back", from: loadDocument,
      by: "one graph, its objects made in ten different orders",
      causes: ["what an object leads to had to be there already"],
      catches: ["forwardReferencesDropped"]
    ) { check in
      var state = check.seed
      for round in 0..<10 {
        var graph = Models.golden()
        for place in graph.objects.indices.reversed() {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          graph.objects.swapAt(place, Int((state >> 33) % UInt64(place + 1)))
        }
        try check.expectKept(graph, "order \(round)", path: check.path("order\(round)"))
      }
    },
  ]

  static let loadDocument = "Atomic Store Life-cycle, Loading"

  static let manyEntities: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.maximumEntities.map { $0 < 5 } ?? false
      ? .notApplicable("maximumEntities is \(traits.maximumEntities ?? 0)") : .applies
  }
}

extension CheckContext {
  var hasRoomForMany: Bool { traits.maximumEntities.map { $0 >= 5 } ?? true }

  /// A store of objects that are dangling: half of them make a graph as well.
  func unlinked() throws -> (path: String, graph: Graph, text: GraphText) {
    var graph = Models.golden()
    for place in graph.objects.indices { graph.objects[place].links = [:] }
    let made = graph
    let path = self.path()
    let references = try process("save a store of \(graph.objects.count) objects") { try $0.write(made, to: path) }
    return (path, graph, try graph.text(references))
  }

  /// So many objects of each entity, named after it.
  func counted(_ counts: [String: Int]) -> Graph {
    var graph = Graph(counts["Node"] == nil ? Models.people : Models.nodes)
    for (entity, count) in counts.sorted(by: { $0.key < $1.key }) {
      for number in 0..<count {
        graph.objects.append(
          .init(
            label: "\(entity) \(number)", entity: entity,
            values: entity == "Desk" ? ["number": .integer(Int64(number))] : ["name": .string("\(entity) \(number)")]))
      }
    }
    return graph
  }
}
