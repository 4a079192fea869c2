import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// INC, continued: saves, and other connections.
extension Checks {
  /// The name of every tag, by request.
  private static func tags(_ connection: StoreConnection) throws -> [String] {
    try connection.store.fetch(connection.request("Tag")).rows.map { connection.text("name", of: $0) ?? "nil" }
  }
  private static func shown(_ texts: [String]) -> [String] { texts.map { GraphText.value(.string($0)) ?? "" } }

  static let incrementalSaving: [CheckDefinition] = [
    incremental(
      "INC-49", "A save that fails leaves nothing of itself, and the connection can be used",
      by:
        "a save inserts, changes and deletes objects, adds members, sets metadata, and inserts an object whose reference is taken; another one leads to an object that is not there",
      catches: ["halfTransactionStays", "deletesFirst", "metadataFirst", "errorEndsConnection"]
    ) { check in
      let problem = try check.connected("save what cannot be saved, then something else") { connection in
        let objects = try connection.insert("Tag", ["a", "b", "d"].map { ["name": .string($0)] })
        let member = try connection.insert("Item", [[:]])[0]
        let new = try connection.new(1, "Tag")[0]
        var taken = try connection.change(objects[0], ["name": .string("changed")])
        taken.inserted = [try connection.snapshot(new, [:]), try connection.snapshot(objects[1], [:])]
        taken.deleted = [objects[2]]
        taken.members = [
          .init(owner: objects[1], slot: try connection.slot("items", of: "Tag"), added: [member], removed: [])
        ]
        taken.metadataEntries = ["half": .string("a save")]
        var dangling = taken
        let nowhere = ObjectReference(entityName: "Owner", reference: .integer(1_000_000))
        let item = try connection.new(1, "Item")[0]
        dangling.inserted = [
          try connection.snapshot(new, [:]), try connection.snapshot(item, ["owner": .toOne(nowhere)]),
        ]
        dangling.expected.append((nowhere, nil))
        for (what, changes) in [
          ("a reference that is taken", taken), ("an object that is not there", dangling),
        ] {
          do {
            if try connection.save(changes) { return "a save with \(what) was carried out" }
          } catch is PersistentStoreError {}
          let names = try tags(connection).sorted()
          guard names == shown(["a", "b", "d"]) else { return "after a save with \(what): \(names)" }
          guard try connection.related([objects[1]], "items")[0].isEmpty else {
            return "after a save with \(what), its member is there"
          }
          guard try connection.store.metadata()?.entries["half"] == nil else {
            return "after a save with \(what), its metadata is there"
          }
        }
        try connection.mustSave(try connection.change(objects[0], ["name": .string("c")]))
        return ""
      }
      try check.expectEqual(problem, "", "what is wrong")
      try check.expectList(
        try check.connected("read in another process") { try tags($0).sorted() }, shown(["b", "c", "d"]),
        "the names afterwards")
    },
    incremental(
      "INC-50", "A save based on a version that has changed since is not carried out, not even in part",
      by: "two connections read an object, one saves it, the other changes it and inserts another, or deletes it",
      catches: ["staleAccepted", "staleDeleted", "overtakenIsSaved"]
    ) { check in
      let problem = try check.process("save the same object from two connections") { session in
        let (one, two) = (try session.connect(), try session.connect())
        let object = try one.insert("Tag", [["name": .string("a")]])[0]
        let read = try two.row(object)?.version
        try one.mustSave(try one.change(object, ["name": .string("first")]))
        var changes = try two.change(object, ["name": .string("second")], expecting: read)
        changes.inserted = [try two.snapshot(try two.new(1, "Tag")[0], ["name": .string("with it")])]
        if try two.save(changes) { return "the second save was carried out" }
        guard try tags(two) == shown(["first"]) else { return "\(try tags(two))" }
        if try two.save(StoreSave(deleted: [object], expected: [(object, read)])) {
          return "the object was deleted though it was changed since"
        }
        guard try tags(two) == shown(["first"]) else { return "after the deletion: \(try tags(two))" }
        let again = try two.change(object, ["name": .string("second")])
        return try two.save(again) ? "" : "the second save is refused though it is based on what is there"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
    incremental(
      "INC-51", "A save that changes, deletes or leads to an object that was deleted since is not carried out",
      by: "two connections read an object, one deletes it", catches: ["missingOverlooked"]
    ) { check in
      let problems = try check.process("delete an object under another connection") { session in
        let (one, two) = (try session.connect(), try session.connect())
        var problems: [String] = []
        for what in ["change", "delete", "lead to"] {
          let object = try one.insert("Tag", [["name": .string("a")]])[0]
          let version = try two.row(object)?.version
          var changes = StoreSave()
          switch what {
          case "change": changes = try two.change(object, ["name": .string("b")], expecting: version)
          case "delete": changes = StoreSave(deleted: [object], expected: [(object, version)])
          default:
            let item = try two.new(1, "Item")[0]
            changes = StoreSave(
              inserted: [try two.snapshot(item, ["alone": .toOne(object)])], expected: [(object, nil)])
          }
          try one.mustSave(StoreSave(deleted: [object]))
          if try two.save(changes) { problems.append("the save that would \(what) it was carried out") }
        }
        return problems + (try one.names(one.request("Tag")) + one.names(one.request("Item")))
      }
      try check.expectList(problems, [], "what is wrong, and what is there")
    },
    incremental(
      "INC-52", "What one connection has saved, another that is open sees when it asks",
      by: "two connections save in turn, and each asks in every way after the other has saved",
      catches: ["connectionCaches"]
    ) { check in
      let problems = try check.process("save and ask in turn") { session in
        let (one, two) = (try session.connect(), try session.connect())
        let owner = try one.insert("Owner", [[:]])[0]
        var problems: [String] = []
        for turn in 1...4 {
          let (writer, reader) = turn % 2 == 0 ? (one, two) : (two, one)
          let item = try writer.insert("Item", [["owner": .toOne(owner)]])[0]
          let request = try reader.request("Item")
          let seen = [
            try reader.names(request).count, try reader.store.count(request) ?? turn,
            try reader.related([owner], "items")[0].count, try reader.row(item) == nil ? 0 : turn,
          ]
          if seen != [turn, turn, turn, turn] { problems.append("after save \(turn): \(seen)") }
        }
        return problems
      }
      try check.expectList(problems, [], "what is not seen: by a request, a count, a list, a reference")
    },
    incremental(
      "INC-53", "A unique value that another connection has saved meanwhile is not saved again",
      by: "two connections save the same unique value, and one saves it for another object",
      catches: ["overtakenIsSaved"]
    ) { check in
      let found = try check.process("save the same unique value twice") { session in
        let (one, two) = (
          try session.connect(IncrementalModels.unique), try session.connect(IncrementalModels.unique)
        )
        _ = try two.names(two.request("Badge"))
        let first = try one.insert("Badge", [["number": .string("1")], ["number": .string("2")]])
        let inserted = try two.save(
          StoreSave(inserted: [try two.snapshot(try two.new(1, "Badge")[0], ["number": .string("1")])]))
        let changed = try two.save(try two.change(first[1], ["number": .string("1")]))
        // A store may leave conditions to the kit: so all badges are asked for.
        let rows = try two.store.fetch(two.request("Badge")).rows
        let taken = GraphText.value(.string("1"))
        return ["\(inserted)", "\(changed)"] + rows.compactMap { two.text("number", of: $0) == taken ? "1" : nil }
      }
      try check.expectList(found, ["false", "false", "1"], "whether each was saved, and the objects with the value")
    },
    incremental(
      "INC-54", "Objects exchange unique values in one save",
      by: "three objects pass their unique values on in a circle",
      catches: ["savesOneByOne"]
    ) { check in
      let found = try check.process("exchange unique values") { session in
        let connection = try session.connect(IncrementalModels.unique)
        let badges = try connection.insert("Badge", ["1", "2", "3"].map { ["number": .string($0)] })
        var changes = StoreSave()
        for (badge, number) in zip(badges, ["2", "3", "1"]) {
          let one = try connection.change(badge, ["number": .string(number)])
          changes.updated += one.updated
          changes.expected += one.expected
        }
        try connection.mustSave(changes)
        return try badges.map { try connection.value("number", of: $0) ?? "nil" }
      }
      try check.expectList(found, shown(["2", "3", "1"]), "the values")
    },
    incremental(
      "INC-55", "Two processes that change the same object at the same time lose none of their changes",
      by: "each reads a number and saves one more, twenty times, again where it was overtaken or told to retry",
      catches: ["savesBlindly"]
    ) { check in
      let turns = 20
      let number = try check.process("count from two processes", seconds: 60) { session -> String in
        let report = session.filePath(try session.incrementalType(), "problem")
        let object = try session.connect().insert("Item", [["big": .integer(0)]])[0]
        func count() throws {
          let connection = try session.connect()
          let slot = try connection.slot("big", of: "Item")
          var saved = 0
          while saved < turns {
            do {
              guard let row = try connection.row(object), case .integer(let now)? = row.values[slot] else { continue }
              if try connection.save(
                connection.change(object, ["big": .integer(now + 1)], expecting: row.version))
              {
                saved += 1
              }
            } catch let error as PersistentStoreError where error.code == .retry {}
          }
        }
        let other = csf_fork()
        if other < 0 { throw Skipped(reason: "no process can be started") }
        if other == 0 {
          do { try count() } catch {
            Files.write(Array("\(error)".utf8), to: report)
            _exit(1)
          }
          _exit(0)
        }
        try count()
        if let problem = try session.problem(of: other, report) { return problem }
        return try session.connect().value("big", of: object) ?? "nil"
      }
      try check.expectEqual(number, GraphText.value(.integer(Int64(2 * turns))) ?? "", "the number in the end")
    },
    incremental(
      "INC-56", "A save of 3,000 objects is carried out whole",
      by: "3,000 objects with values and an owner are inserted, and half of them deleted", catches: ["savesThousand"]
    ) { check in
      let counts = try check.connected("save 3,000 objects", seconds: 60) { connection in
        let owner = try connection.insert("Owner", [[:]])[0]
        let items = try connection.insert(
          "Item", (0..<3000).map { ["big": .integer(Int64($0)), "owner": .toOne(owner)] })
        let inserted = try connection.names(connection.request("Item")).count
        try connection.mustSave(StoreSave(deleted: Array(items.prefix(1500))))
        return [
          inserted, try connection.names(connection.request("Item", "big >= 0")).count,
          try connection.related([owner], "items")[0].count,
        ]
      }
      try check.expectEqual(counts, [3000, 1500, 1500], "objects inserted, left, and in the owner's list")
    },
    incremental(
      "INC-57", "A connection that was open when the store was replaced changes nothing in the new one", level: .should,
      by: "a store is replaced as a whole under an open connection, which then saves",
      catches: ["goesOnAfterReplacement"]
    ) { check in
      let problem = try check.process("replace a store under a connection") { session -> String in
        let (one, two) = (try session.connect(), try session.connect())
        let object = try one.insert("Tag", [["name": .string("old")]])[0]
        let changes = try one.change(object, ["name": .string("changed")])
        var nodes = NodeTable(model: two.model)
        let node = try nodes.addCacheNode(entity: try two.entity("Tag").index, reference: object.reference)
        try nodes.setValue(.string("new"), forKey: "name", of: node)
        let metadata = StoreMetadata(
          storeType: try session.incrementalType().storeType, lastReference: 100, model: ItemGraph.description)
        try two.store.replaceAll(
          with: StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata), mayReplace: true
        ) { _ in }
        do {
          if try one.save(changes) { return "the save was carried out" }
        } catch is PersistentStoreError {}
        let found = try tags(try session.connect())
        return found == shown(["new"]) ? "" : "\(found)"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
    incremental(
      "INC-58", "New objects and changes of one save lead to each other in any order",
      by: "objects that lead to each other, in a circle and by ordered and unordered lists, are inserted in one save",
      catches: ["insertsOneByOne"]
    ) { check in
      let found = try check.connected("insert objects that lead to each other") { connection in
        let owners = try connection.new(2, "Owner")
        let items = try connection.new(3, "Item")
        let tags = try connection.new(1, "Tag")
        try connection.mustSave(
          StoreSave(
            inserted: [
              try connection.snapshot(
                owners[0], ["favourite": .toOne(items[2]), "queue": .toMany([items[1], items[0]])]),
              try connection.snapshot(owners[1], [:]),
              try connection.snapshot(
                items[0],
                ["owner": .toOne(owners[1]), "waitsFor": .toOne(owners[0]), "parts": .toMany([items[2], items[0]])]),
              try connection.snapshot(items[1], ["alone": .toOne(tags[0]), "waitsFor": .toOne(owners[0])]),
              try connection.snapshot(items[2], [:]), try connection.snapshot(tags[0], [:]),
            ],
            members: [
              .init(owner: tags[0], slot: try connection.slot("items", of: "Tag"), added: items, removed: [])
            ]))
        return [
          try connection.related([owners[0]], "queue")[0] == [items[1], items[0]].map(\.description),
          try connection.related([items[0]], "parts")[0] == [items[2], items[0]].map(\.description),
          try connection.related([owners[1]], "items")[0] == [items[0].description],
          try connection.related([tags[0]], "items")[0]
            == items.sorted { $0.reference < $1.reference }.map(\.description),
        ]
      }
      try check.expectEqual(found, [true, true, true, true], "whether queue, parts, items and tagged items are right")
    },
    incremental(
      "INC-78", "An object that is saved without any value has another version afterwards",
      by: "two connections read an object, and one saves it without a value", catches: ["emptyChangeIgnored"]
    ) { check in
      let problem = try check.process("save an object without a value") { session in
        let (one, two) = (try session.connect(), try session.connect())
        let object = try one.insert("Tag", [["name": .string("a")]])[0]
        let version = try two.row(object)?.version
        try one.mustSave(try one.change(object, [:]))
        if try two.row(object)?.version == version { return "the version is the same" }
        if try two.save(try two.change(object, ["name": .string("b")], expecting: version)) {
          return "a save based on the version before is carried out"
        }
        return try one.value("name", of: object) == GraphText.value(.string("a")) ? "" : "the name is another one"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
  ]
}
