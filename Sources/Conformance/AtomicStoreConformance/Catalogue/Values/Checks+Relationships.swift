import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// REL: relationships, written in one process and read in another; and files whose relationships are not sound.
extension Checks {
  static let relationships: [CheckDefinition] = [
    steps(
      "REL-01", "A relationship to one object is kept when it is set, changed and set to nothing",
      catches: ["toOneNilKept"],
      causes: ["nothing is taken for “unchanged”", "an optional is unwrapped"]
    ) { _ in
      var graph = Graph(
        Models.people, [("a", "Person"), ("b", "Person"), ("c", "Person"), ("x", "Team"), ("y", "Team")])
      try graph.relate("a", "team", to: ["x"])
      try graph.relate("b", "team", to: ["y"])
      var other = graph
      try other.relate("a", "team", to: ["y"])
      try other.relate("b", "team", to: [])
      try other.relate("c", "team", to: ["x"])
      var last = other
      try last.relate("a", "team", to: [])
      return [graph, other, last]
    },
    steps(
      "REL-02", "A one-to-one relationship with an inverse says the same at both ends", catches: ["inverseNotWritten"],
      causes: ["only one end is written"]
    ) { _ in
      var graph = Graph(
        Models.people, [("a", "Person"), ("b", "Person"), ("c", "Person"), ("1", "Desk"), ("2", "Desk")])
      try graph.relate("a", "desk", to: ["1"])
      try graph.relate("2", "owner", to: ["b"])
      try graph.relate("a", "spouse", to: ["b"])
      var other = graph
      try other.relate("c", "desk", to: ["1"])
      try other.relate("b", "spouse", to: ["c"])
      return [graph, other]
    },
    steps(
      "REL-03", "Relationships to none, one, two and a thousand objects are kept", catches: ["emptySetBecomesNil"],
      causes: ["a list of one is written as a value", "an empty list is taken for a missing one"]
    ) { _ in
      var graph = Graph(Models.people, (0..<4).map { ("team \($0)", "Team") } + (0..<1003).map { ("\($0)", "Person") })
      try graph.relate("team 1", "members", to: ["0"])
      try graph.relate("team 2", "members", to: ["1", "2"])
      try graph.relate("team 3", "members", to: (3..<1003).map { "\($0)" })
      var other = graph
      try other.relate("team 1", "members", to: [])
      try other.relate("team 0", "members", to: ["2"])
      return [graph, other]
    },
    steps(
      "REL-04", "Many-to-many relationships are kept at both ends", catches: ["manyToManyOneSide"],
      causes: ["only one end is written, and read back for one object each"]
    ) { seed in
      var dice = SeededRandom(seed)
      var graph = Graph(Models.people, (0..<12).map { ("p\($0)", "Person") } + (0..<6).map { ("t\($0)", "Team") })
      for place in 0..<12 {
        try graph.relate("p\(place)", "tags", to: (0..<6).filter { _ in dice.below(2) == 0 }.map { "t\($0)" })
      }
      try graph.relate("t5", "tagged", to: ["p1", "p3", "p5"])
      var other = graph
      for place in 0..<4 {
        try other.relate("p\(place)", "tags", to: (0..<6).filter { _ in dice.below(2) == 0 }.map { "t\($0)" })
      }
      return [graph, other]
    },
    steps(
      "REL-05", "An object may be related to itself", demand: { _ in .applies }, catches: ["selfReferenceDropped"],
      causes: ["an object is not known yet while it is read"]
    ) { _ in
      var graph = Graph(Models.nodes, [("a", "Node"), ("b", "Node")])
      try graph.relate("a", "next", to: ["a"])
      try graph.relate("b", "children", to: ["a", "b"])
      return [graph]
    },
    steps(
      "REL-06", "A relationship that is its own inverse is kept once", catches: ["selfInverseDoubled"],
      causes: ["the inverse of a relationship is taken for another one"]
    ) { _ in
      var graph = Graph(Models.people, (0..<6).map { ("\($0)", "Person") })
      try graph.relate("0", "friends", to: ["1", "2", "0"])
      try graph.relate("3", "friends", to: ["1", "4"])
      var other = graph
      try other.relate("1", "friends", to: ["3", "5"])
      return [graph, other]
    },
    CheckDefinition(
      "REL-07", "An ordered relationship keeps its order over insertions, moves and removals", from: push,
      by: "20 random scripts of such edits, saved and read in another process after each",
      causes: ["objects are read back in the order of their references"],
      catches: ["orderedSortedByReference"], demand: ordered
    ) { check in
      var graph = Graph(Models.people, (0..<10).map { ("p\($0)", "Person") } + [("t", "Team")])
      // Not the order of the references, so that one edit is enough to show.
      try graph.relate("t", "queued", to: ["p7", "p2", "p5", "p0"])
      let path = check.path()
      let start = graph
      let names = try check.process("save \(graph.objects.count) objects") { try $0.write(start, to: path) }
      var dice = SeededRandom(check.seed)
      for script in 0..<20 {
        var order = graph["t"]?.links["queued"] ?? []
        var edits: [[String]] = []
        for _ in 0..<6 {
          let rest = (0..<10).map { "p\($0)" }.filter { !order.contains($0) }
          switch dice.below(3) {
          case 0 where !rest.isEmpty:
            let label = rest[dice.below(rest.count)]
            let place = dice.below(order.count + 1)
            order.insert(label, at: place)
            edits.append(["insert", label, "\(place)"])
          case 1 where order.count > 1:
            let label = order.remove(at: dice.below(order.count))
            let place = dice.below(order.count + 1)
            order.insert(label, at: place)
            edits.append(["move", label, "\(place)"])
          default:
            guard order.count > 2 else { continue }
            edits.append(["remove", order.remove(at: dice.below(order.count)), ""])
          }
        }
        try graph.relate("t", "queued", to: order)
        let script = script
        let done = edits
        _ = try check.process("script \(script): \(edits.map { $0.joined(separator: " ") }.joined(separator: ", "))") {
          session in
          try session.opened(path, Models.people) { open in
            let all = try session.objects(in: open)
            func object(_ label: String) throws -> ManagedObject {
              guard let name = names[label], let found = all[GraphText.Key(name)] else {
                throw ExpectationFailure(expected: "\(label) is in the store", actual: "it is not")
              }
              return found
            }
            let team = try object("t")
            for edit in done {
              switch edit[0] {
              case "insert": try team.add(try object(edit[1]), to: "queued", at: Int(edit[2]))
              case "move": try team.move(try object(edit[1]), in: "queued", to: Int(edit[2]) ?? 0)
              default: try team.remove(try object(edit[1]), from: "queued")
              }
            }
            try open.context.save()
            return true
          }
        }
        let actual = try check.process("read in another process") { try $0.read(path, Models.people) }
        try check.expectSame(actual, try graph.text(names), "the order after script \(script)")
      }
    },
    steps(
      "REL-08", "Where both ends of a many-to-many relationship are ordered, each keeps its own order", demand: ordered,
      catches: ["onlyOneSideOrdered"], causes: ["one end is derived from the other"]
    ) { _ in
      var graph = Graph(Models.people, (0..<4).map { ("p\($0)", "Person") } + (0..<3).map { ("t\($0)", "Team") })
      for place in 0..<4 { try graph.relate("p\(place)", "queue", to: ["t2", "t0", "t1"]) }
      try graph.relate("t0", "queued", to: ["p3", "p1", "p0", "p2"])
      try graph.relate("t1", "queued", to: ["p2", "p3", "p1", "p0"])
      var other = graph
      try other.relate("t1", "queued", to: ["p0", "p2", "p3"])
      try other.relate("p0", "queue", to: ["t1", "t2", "t0"])
      return [graph, other]
    },
    steps(
      "REL-09", "What a relationship leads to may be of a sub-entity, and comes back as that",
      catches: ["destinationEntityFromModel"],
      from: "Atomic Store Life-cycle, Loading: “objectIDForEntity:referenceObject:”",
      causes: ["the object ID is made with the entity that the model names as the destination"]
    ) { _ in
      var graph = Graph(Models.people, [("p", "Person"), ("e", "Employee"), ("m", "Manager"), ("t", "Team")])
      try graph.relate("t", "members", to: ["p", "e", "m"])
      try graph.relate("p", "idol", to: ["m"])
      try graph.relate("m", "fans", to: ["p", "e"])
      try graph.relate("t", "queued", to: ["m", "p"])
      return [graph]
    },
    CheckDefinition(
      "REL-10", "Circles and long chains are read and written without deep recursion", from: kit,
      by: "a chain of 20,000 objects whose last leads to the first; saved and read on a thread with a stack of 512 KiB",
      causes: ["an object's relationships are followed while it is written"], catches: ["recursiveSerialize"],
      timeLimit: 60
    ) { check in
      var graph = Graph(Models.nodes)
      let count = 20_000
      graph.objects.reserveCapacity(count)
      for place in 0..<count {
        graph.objects.append(
          .init(
            label: "\(place)", entity: "Node",
            links: ["next": ["\((place + 1) % count)"], "previous": ["\((place + count - 1) % count)"]]))
      }
      let path = check.path()
      let chain = graph
      _ = try check.process("write the chain", seconds: 40) { session in
        try session.onSmallStack {
          try session.forge(chain, to: path)
          return true
        }
      }
      let steps = try check.process("read the chain, follow it both ways, change one object and save", seconds: 40) {
        session in
        try session.onSmallStack {
          try session.opened(path, Models.nodes) { open in
            let steps = session.steps(open.store)
            let node = try session.object("Node/1", in: open)
            try node.setValue("first", forKey: "name")
            try open.context.save()
            return steps
          }
        }
      }
      try check.expectEqual(steps, [count, count, count], "objects, steps forward and steps back")
      let again = try check.process("follow it in another process", seconds: 40) { session in
        try session.onSmallStack {
          try session.opened(path, Models.nodes, isReadOnly: true) { open in session.steps(open.store) }
        }
      }
      try check.expectEqual(again, [count, count, count], "objects, steps forward and steps back, after the save")
    },
    CheckDefinition(
      "REL-11", "A relationship to an object that is not there is an error that names the relationship", from: kit,
      by:
        "a file that says it follows one model, with relationships of another; files in which one reference was changed, of relationships with an inverse and without, to one and to many, by integers and by texts. \(errorLines)",
      causes: ["a missing object is taken for no object", "references are looked up by the format, which skips some"],
      catches: ["danglingBecomesNil", "oneWayDanglingDropped", "laterLine"], demand: several
    ) { check in
      var graph = Graph(Models.places(home: "Club"), [("a", "Guest"), ("b", "Guest"), ("c", "Club"), ("h", "Hall")])
      graph.objects[0].links["home"] = ["c"]
      graph.objects[1].links["home"] = ["c"]
      try check.expectForgeryRefused(
        graph, claims: Models.places(home: "Hall"), "a relationship to nothing", naming: ["home"],
        references: { .integer(Int64($0) * 1000 + 7) })
      try check.expectEditedReferencesRefused { $0 == "member-b" ? "member-c" : "member-0" }
      if check.traits.references != .derived { try check.expectOneWayReferencesRefused { .integer(Int64($0)) } }
      if check.traits.references == .all { try check.expectOneWayReferencesRefused { .string("object-\($0)") } }
    },
    CheckDefinition(
      "REL-12", "A relationship to an object of another entity is an error", from: kit,
      by: "a file whose model says that a relationship leads to one sub-entity, and whose rows lead to another",
      causes: ["the entity of what is found is not compared"], catches: ["wrongEntityAccepted"], demand: several
    ) { check in
      var graph = Graph(Models.houses(home: "Castle"), [("a", "Guest"), ("c", "Castle"), ("h", "Hut")])
      graph.objects[0].links["home"] = ["c"]
      try check.expectForgeryRefused(
        graph, claims: Models.houses(home: "Hut"), "a relationship to another entity", naming: ["home"])
    },
    CheckDefinition(
      "REL-14", "A file with more or fewer related objects than the model allows is refused, or read as it is",
      level: .should,
      from: kit, by: "objects with one, three and four members where two or three are allowed",
      causes: ["members beyond the greatest count are left out"], catches: ["minCountIgnored"]
    ) { check in
      // No object is in two lists, which formats that keep a list with its members do not have.
      var graph = Graph(Models.bounded, (0..<5).map { ("\($0)", "Node") })
      graph.objects[0].links["some"] = ["4"]
      graph.objects[1].links["some"] = ["0", "1", "2", "3"]
      try check.expectReadAsIsOrRefused(graph, "counts out of bounds", nil)
    },
    CheckDefinition(
      "REL-15", "Nothing that leads to a deleted object is left in the file", from: "Atomic Store Life-cycle, Deleting",
      by:
        "deletions under the rules Nullify, Cascade, Deny and without inverse; then the file is searched for what the objects were called",
      causes: ["the other ends of a deleted object's relationships are not updated"],
      catches: ["deletedStillReferenced"], demand: several
    ) { check in
      var graph = Graph(
        Models.rules, [("a", "Owner"), ("b", "Owner"), ("n", "Thing"), ("c", "Thing"), ("d", "Thing"), ("w", "Thing")])
      for place in graph.objects.indices {
        graph.objects[place].values["name"] = .string("marker\(graph.objects[place].label)marker")
      }
      try graph.relate("a", "nullified", to: ["n"])
      try graph.relate("a", "cascaded", to: ["c"])
      try graph.relate("b", "denied", to: ["d"])
      try graph.relate("b", "watched", to: ["w", "c", "n"])
      let path = check.path()
      let first = graph
      let names = try check.process("save \(graph.objects.count) objects") { try $0.write(first, to: path) }
      _ = try check.process("delete an owner and what hangs on it, and a thing that is watched") { session in
        try session.opened(path, Models.rules) { open in
          let all = try session.objects(in: open)
          for label in ["a", "w"] {
            if let object = names[label].flatMap({ all[GraphText.Key($0)] }) { open.context.delete(object) }
          }
          try open.context.save()
          if let object = names["b"].flatMap({ all[GraphText.Key($0)] }) { open.context.delete(object) }
          do {
            try open.context.save()
            throw ExpectationFailure(
              expected: "a deletion that the rule Deny forbids is refused", actual: "it was saved")
          } catch is ManagedObjectError {}
          return true
        }
      }
      for label in ["a", "c", "w"] { graph.remove(label) }
      let actual = try check.process("read in another process") { try $0.read(path, Models.rules) }
      try check.expectSame(actual, try graph.text(names), "what is left")
      // A history may have what was deleted.
      for label in ["a", "c", "w"] where check.traits.writesEqualBytes {
        try check.expect(
          check.places(of: "marker\(label)marker", at: path).isEmpty,
          "the file does not hold the name of the deleted '\(label)'",
          "it does")
      }
    },
    steps(
      "REL-16", "Relationships without an inverse are kept", catches: ["needsInverse"],
      causes: ["an inverse is taken for granted"]
    ) { _ in
      var graph = Graph(Models.people, (0..<5).map { ("\($0)", "Person") })
      try graph.relate("0", "idol", to: ["1"])
      try graph.relate("1", "fans", to: ["0", "2", "1"])
      var other = graph
      try other.relate("0", "idol", to: ["3"])
      try other.relate("1", "fans", to: ["4"])
      return [graph, other]
    },
    CheckDefinition(
      "REL-18", "An object that a file lists twice in one relationship is an error, or counts once", level: .should,
      from: kit,
      by: "files in which one of two members was given the other's reference", causes: ["lists are not looked through"],
      catches: ["duplicateMembersKept"], demand: texts
    ) { check in try check.expectEditedReferencesRefused { $0 == "member-b" ? "member-a" : "member-b" } },
  ]

  /// For checks of several entities.
  static let several: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    (traits.maximumEntities ?? .max) > 2
      ? .applies : .notApplicable("maximumEntities is \(traits.maximumEntities ?? 0)")
  }
  static let ordered: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.keepsOrder ? several(traits) : .notApplicable("keepsOrder is false")
  }
  /// For checks whose references are texts.
  static let texts: @Sendable (StoreTraits) -> CheckDefinition.Demand = { traits in
    traits.references == .all ? .applies : .notApplicable("references are \(traits.references.rawValue)")
  }

  private static func steps(
    _ id: String, _ title: String, demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = several,
    catches: [String],
    from source: String = push, causes: [String], _ graphs: @escaping @Sendable (UInt64) throws -> [Graph]
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: source,
      by: "a graph, and changes to it, each in its own process; read in another after each", causes: causes,
      catches: catches, demand: demand
    ) { check in try check.expectSteps(try graphs(check.seed), title) }
  }
}
