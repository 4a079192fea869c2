import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// CHG: what a save reports to the store, in which order, and what it leaves behind.
extension Checks {
  static let changes: [CheckDefinition] = [
    CheckDefinition(
      "CHG-01", "A save reports new objects, then changed ones, then deleted ones, and then writes once",
      from: "Atomic Store Life-cycle, Saving: “in this order”", by: "a save with all three, the calls written down",
      causes: ["the file is written for each kind of change"], catches: ["deletesBeforeInserts"]
    ) { check in
      let (calls, _) = try check.mixedSave()
      let ranks: [SpyCall.What: Int] = [.newReference: 0, .newNode: 0, .update: 1, .willRemove: 2, .save: 3]
      let order = calls.compactMap { ranks[$0.what] }
      try check.expect(
        order == order.sorted(), "new, changed, deleted, then the file",
        calls.map(\.what.rawValue).joined(separator: ", "))
      try check.expectEqual(order.filter { $0 == 3 }.count, 1, "times that the file is written")
      try check.expectEqual(Set(order), [0, 1, 2, 3], "kinds of calls")
    },
    CheckDefinition(
      "CHG-02", "A new object has its reference before its node is made",
      from: "Atomic Store Life-cycle, Inserting: “After the reference data is returned”",
      by: "a save of 100 new objects of two entities, the calls written down",
      causes: ["references are given out while the file is written"],
      catches: ["nodeBeforeReference"], demand: several
    ) { check in
      let path = check.path()
      let graph = Graph(Models.people, (0..<100).map { ("\($0)", $0 % 2 == 0 ? "Person" : "Team") })
      let calls = try check.process("save 100 new objects of two entities, every call written down") { session in
        try session.spied.write(graph, to: path)
        return Spy.calls
      }
      var known: Set<String> = []
      for call in calls {
        if call.what == .newReference { known.formUnion(call.objects) }
        if call.what == .newNode, let name = call.objects.first {
          try check.expect(
            known.contains(name), "the reference of \(name) was asked for before its node is made", "it was not")
        }
      }
      try check.expectEqual(calls.filter { $0.what == .newNode }.count, 100, "nodes made")
    },
    listened(
      "CHG-03", "A new node has the reference and the values of its object", .newNode,
      from: "Atomic Store Life-cycle, Inserting and updating: “push the persisted values”", catches: ["newNodeEmpty"],
      causes: ["values are pushed with the first update"]),
    listened(
      "CHG-04", "A new node is registered once", .newNode, from: "NSAtomicStore, newCacheNodeForManagedObject:",
      catches: ["doubleRegistration"],
      causes: ["store and kit both register it"]),
    listened(
      "CHG-05", "A changed object is paired with its own node", .update,
      from: "Atomic Store Life-cycle, Updating: “share the same object ID”",
      catches: ["pairsWrongNode"], causes: ["nodes are found by their place"]),
    CheckDefinition(
      "CHG-06", "Changes reach the file: values taken away, and changed relationships too", from: push,
      by: "edits, each in its own process; read in another after each",
      causes: ["only values that are there are pushed"],
      catches: ["updateIgnoresNil", "updateSkipsRelationships"]
    ) { check in
      var graph = Models.golden()
      var graphs = [graph]
      graph.set("node 1", "name", nil)
      graph.set("node 2", "number", nil)
      graph.set("node 3", "flag", nil)
      graph.set("node 4", "weight", nil)
      graphs.append(graph)
      try graph.relate("node 5", "parent", to: ["node 1"])
      try graph.relate("node 2", "next", to: [])
      graphs.append(graph)
      try graph.relate("node 1", "children", to: ["node 5", "node 6", "node 7"])
      graph.set("node 1", "name", .string("back"))
      graph.set("node 3", "flag", .boolean(false))
      graphs.append(graph)
      try check.expectSteps(graphs, "changes")
    },
    CheckDefinition(
      "CHG-07", "Only objects that were changed are updated", level: .should, from: "Atomic Store Life-cycle, Updating",
      by: "a save with all kinds of changes, the calls written down", causes: ["whatever was read is written"],
      catches: ["updatesEverything"]
    ) { check in
      let (calls, new) = try check.mixedSave()
      let updated = calls.filter { $0.what == .update }.flatMap(\.objects)
      // Two were changed; two more by what was deleted behind them.
      try check.expectEqual(Set(updated).count, updated.count, "updates, each object once")
      try check.expect(
        (2...4).contains(updated.count), "two objects and the neighbors of what was deleted are updated", "\(updated)")
      try check.expect(
        !updated.contains { new.contains($0) || $0.hasSuffix("unchanged") }, "no other object is updated", "\(updated)")
    },
    CheckDefinition(
      "CHG-08", "The values of transient attributes never reach the file", from: kit,
      by: "a marker in a transient attribute; the file is searched for it",
      causes: ["all attributes of the entity are written"], catches: ["persistsTransient"],
      demand: { traits in
        // Some fault must be able to write it somewhere.
        traits.keepsMetadata ? .applies : .notApplicable("keepsMetadata is false")
      }
    ) { check in
      let path = check.path()
      var model = Models.attributes([("name", .string)])
      model.entities[0].properties.append(
        .attribute("passing", .string, isTransient: true))
      let transient = model
      _ = try check.process("save an object with a transient value, change that and save again") { session in
        try session.opened(path, transient) { open in
          let object = try open.context.insertNewObject(forEntityName: "Sample")
          try object.setValue("kept", forKey: "name")
          try object.setValue(Models.transientMarker, forKey: "passing")
          try open.context.save()
          try object.setValue("kept still", forKey: "name")
          try object.setValue(Models.transientMarker + "2", forKey: "passing")
          try open.context.save()
          return true
        }
      }
      try check.expect(
        check.places(of: Models.transientMarker, at: path).isEmpty, "the file does not hold the transient value",
        "it does")
      let text = try check.process("read it in another process") { try $0.read(path, transient) }
      try check.expectEqual(
        text.objects.values.first?[GraphText.Key("name")] ?? "", "string:kept still", "the other value")
    },
    CheckDefinition(
      "CHG-09", "The store is notified of removed nodes before it writes, while they can be read",
      from: "Atomic Store Life-cycle, Deleting: “willRemoveCacheNodes:”",
      by: "a save with deletions, the calls written down",
      causes: ["nodes are taken out first"], catches: ["willRemoveAfterSave"]
    ) { check in
      let (calls, _) = try check.mixedSave()
      let told = calls.filter { $0.what == .willRemove }
      try check.expectEqual(told.flatMap(\.objects).count, 2, "nodes told of")
      try check.expect(
        told.allSatisfy { $0.problem == nil },
        "the nodes are there and can be read", told.compactMap(\.problem).joined(separator: "; "))
      let last = calls.lastIndex { $0.what == .willRemove } ?? .max
      let save = calls.firstIndex { $0.what == .save } ?? -1
      try check.expect(
        last < save, "told before the file is written", calls.map(\.what.rawValue).joined(separator: ", "))
    },
    CheckDefinition(
      "CHG-10", "A deleted object is gone when the store is opened again", from: "Atomic Store Life-cycle, Deleting",
      by: "objects deleted one by one, then all; read in another process after each",
      causes: ["nodes are taken out of the lookup, and not of what is written"],
      catches: ["deletedNodeResurrected"]
    ) { check in
      var graph = Models.golden()
      var graphs = [graph]
      for label in ["node 3", "node 0", "node 7"] {
        graph.remove(label)
        graphs.append(graph)
      }
      graphs.append(Graph(graph.model))
      try check.expectSteps(graphs, "deletions")
    },
    CheckDefinition(
      "CHG-11", "An object made and deleted before the save leaves nothing; one changed and deleted is deleted",
      from: kit,
      by: "both in one save, with permanent IDs asked for before",
      causes: ["a deletion cancels the update, and not the insertion"],
      catches: ["ghostInsert"]
    ) { check in
      let path = check.path()
      let graph = Models.golden()
      let names = try check.process("save \(graph.objects.count) objects") { try $0.write(graph, to: path) }
      _ = try check.process("make one, ask for its ID and delete it; change another and delete it; save") { session in
        try session.opened(path, graph.model) { open in
          let ghost = try open.context.insertNewObject(forEntityName: "Node")
          try ghost.setValue("ghost", forKey: "name")
          let other = try open.context.insertNewObject(forEntityName: "Node")
          try open.context.obtainPermanentIDs(for: [other])
          open.context.delete(ghost)
          open.context.delete(other)
          let all = try session.objects(in: open)
          if let object = names["node 7"].flatMap({ all[GraphText.Key($0)] }) {
            try object.setValue("changed", forKey: "name")
            open.context.delete(object)
          }
          try open.context.save()
          return true
        }
      }
      var rest = graph
      rest.remove("node 7")
      try check.expectSame(
        try check.process("read in another process") { try $0.read(path, graph.model) }, try rest.text(names),
        "what is left")
      try check.expect(
        check.places(of: "ghost", at: path).isEmpty, "the file holds nothing of the object that was never saved",
        "it does")
    },
    CheckDefinition(
      "CHG-12", "What hangs on deleted nodes is release",
      from: "Atomic Store Life-cycle, Deleting: “break any strong reference cycles”",
      by: "an object hung on each new node; three of five nodes deleted and saved",
      causes: ["the store keeps the nodes that it removed"],
      catches: ["retainsDeletedNodes"]
    ) { check in
      let path = check.path()
      let graph = Graph(Models.nodes, (0..<5).map { ("\($0)", "Node") })
      let living = try check.process("save five objects, delete three and save") { session in
        let session = session.spied
        Spy.attaches = true
        return try session.opened(path, graph.model) { open in
          let made = try session.insert(graph, into: open.context)
          try open.context.save()
          let before = Spy.living.count
          for label in ["0", "2", "3"] { if let object = made[label] { open.context.delete(object) } }
          try open.context.save()
          // The version before the save belongs to those who still hold one of its objects.
          open.context.reset()
          return [before, Spy.living.count]
        }
      }
      try check.expectEqual(living, [5, 2], "what hangs on nodes, before and after")
    },
    CheckDefinition(
      "CHG-13", "Of two stores each is given its own objects alone",
      from: "Atomic Store Life-cycle, Saving: “assigned to it”",
      by: "objects of one entity assigned to two stores, saved at once, changed, and saved again",
      causes: ["a store asks its coordinator for all objects"],
      catches: ["writesForeignObjects"]
    ) { check in
      let paths = [check.path("one"), check.path("two")]
      _ = try check.process("save three objects in one store and two in another") { session in
        let open = try session.open(paths[0], Models.nodes)
        let second = try open.coordinator.addPersistentStore(type: session.subject.type.storeType, at: paths[1])
        return try withExtendedLifetime(open) {
          var made: [ManagedObject] = []
          for place in 0..<5 {
            let object = try open.context.insertNewObject(forEntityName: "Node")
            try object.setValue("\(place < 3 ? "one" : "two")", forKey: "name")
            try open.context.assign(object, to: place < 3 ? open.store : second)
            made.append(object)
          }
          try open.context.save()
          for object in made { try object.setValue(Int64(5), forKey: "number") }
          try open.context.save()
          return true
        }
      }
      for (place, name) in ["one", "two"].enumerated() {
        let text = try check.process("read store \(name) in another process") {
          try $0.read(paths[place], Models.nodes)
        }
        let names = text.objects.values.map { $0[GraphText.Key("name")] ?? "" }
        try check.expectEqual(
          names, Array(repeating: "string:\(name)", count: place == 0 ? 3 : 2), "the objects of store \(name)")
      }
    },
    CheckDefinition(
      "CHG-14", "After a failed save the same save can be tried again, or undone; nothing comes twice", from: kit,
      by:
        "a write that fails for want of room, at several places; then the save again, in the same process; or a rollback and another save",
      causes: ["nodes are changed before the file is written"], catches: ["cacheAheadOfDisk"], timeLimit: 60
    ) { check in
      let start = Models.golden()
      var more = start
      for place in 0..<3 {
        more.objects.append(.init(label: "new \(place)", entity: "Node", values: ["name": .string("new \(place)")]))
      }
      more.set("node 1", "name", .string("changed"))
      more.remove("node 7")
      var other = start
      other.set("node 2", "name", .string("after the rollback"))
      let next = more
      let mild = other
      for isRollback in [false, true] {
        for at in [1, 2, 3] {
          let path = check.path("at\(at)\(isRollback)")
          let names = try check.process("save \(start.objects.count) objects") { try $0.write(start, to: path) }
          let then = isRollback ? "roll back and save another" : "the same again"
          let end = try check.attempt("save changes with call \(at) failing, then \(then)") { session in
            try session.opened(path, start.model) { open in
              let made = try session.change(open, from: start, to: next, names: names)
              let plan = try FaultPlan(CSF_FAIL, at: at, error: ENOSPC)
              csf_arm(plan.state)
              var failed = false
              do { try open.context.save() } catch { failed = true }
              csf_disarm()
              guard failed else { return [String: String]() }
              guard isRollback else {
                try open.context.save()
                return made.mapValues { StoreSession.name($0) }
              }
              open.context.rollback()
              let made2 = try session.change(open, from: start, to: mild, names: names)
              try open.context.save()
              return made2.mapValues { StoreSession.name($0) }
            }
          }
          let made = try check.settle(end, "the second save")
          if made.isEmpty {
            check.note("a save with call \(at) failing succeeds")
            continue
          }
          let wanted = isRollback ? mild : next
          let actual = try check.process("read in another process") { try $0.read(path, start.model) }
          try check.expectSame(actual, try wanted.text(made), "after the second save")
          for (label, name) in names where made[label] != nil {
            try check.expectEqual(made[label] ?? "", name, "what '\(label)' is called")
          }
        }
      }
    },
  ]

  /// A check of what is seen at one kind of call.
  private static func listened(
    _ id: String, _ title: String, _ what: SpyCall.What, from source: String, catches: [String], causes: [String]
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: source, by: "a save with all kinds of changes; node and object compared in each call",
      causes: causes, catches: catches
    ) { check in
      let (calls, _) = try check.mixedSave()
      let heard = calls.filter { $0.what == what }
      try check.expect(!heard.isEmpty, "the store is called", "it is not")
      for call in heard {
        try check.expect(call.problem == nil, "\(call.objects.joined()): node and object agree", call.problem ?? "")
      }
    }
  }
}

extension CheckContext {
  /// A save with three new, two changed and two deleted objects, and what the store was asked.
  ///
  /// - Returns: The calls of that save, and what the new objects are called.
  func mixedSave() throws -> (calls: [SpyCall], new: [String]) {
    struct Seen: Codable, Sendable {
      var calls: [SpyCall]
      var new: [String]
    }
    let path = self.path()
    let graph = Models.golden()
    let names = try process("save \(graph.objects.count) objects") { try $0.write(graph, to: path) }
    var other = graph
    other.set("node 2", "name", .string("changed"))
    other.set("node 3", "number", nil)
    for label in ["new 1", "new 2", "new 3"] {
      other.objects.append(
        .init(
          label: label, entity: "Node",
          values: ["name": .string(label), "flag": .boolean(true), "weight": .double(1.5)]))
    }
    other.remove("node 7")
    other.remove("node 6")
    let next = other
    let seen = try process("make, change and delete some and save once, every call to the store written down") {
      session in
      let session = session.spied
      return try session.opened(path, graph.model) { open in
        Spy.forget()
        let made = try session.change(open, from: graph, to: next, names: names)
        try open.context.save()
        return Seen(
          calls: Spy.calls, new: ["new 1", "new 2", "new 3"].compactMap { made[$0].map { StoreSession.name($0) } })
      }
    }
    return (seen.calls, seen.new)
  }
}
