import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// INC, continued: relationships and references.
extension Checks {
  /// Objects in the order of their references, which a store may assign in any order.
  private static func inOrder(_ objects: some Sequence<ObjectReference>) -> [ObjectReference] {
    objects.sorted { $0.reference < $1.reference }
  }

  static let incrementalRelationships: [CheckDefinition] = [
    incremental(
      "INC-38",
      "Each owner that is asked about has one list, in the order of the question; an unknown one has an empty one",
      by: "four owners with two, one and no members, and one that is not there, are asked about at once",
      catches: ["listsSwapped", "emptyListsOmitted"]
    ) { check in
      let problem = try check.connected("ask for the members of four owners") { connection in
        let owners = try connection.insert("Owner", [[:], [:], [:]])
        let items = try connection.insert("Item", [0, 0, 1].map { ["owner": .toOne(owners[$0])] })
        let unknown = ObjectReference(entityName: "Owner", reference: .integer(1_000_000))
        let found = try connection.related([owners[1], owners[2], unknown, owners[0]], "items")
        let expected = [[items[2]], [], [], inOrder(items.prefix(2))].map { $0.map(\.description) }
        let none = try connection.store.related(
          [], slot: connection.slot("items", of: "Owner"), entity: connection.entity("Owner").index)
        return found == expected && none.isEmpty ? "" : "\(found) instead of \(expected)"
      }
      try check.expectEqual(problem, "", "what is wrong with the lists")
    },
    incremental(
      "INC-39",
      "An ordered list has its order, and a changed order; at both ends of a relationship that is ordered at one",
      by: "lists with an inverse to-one and with an inverse to-many are saved, turned and saved again",
      catches: ["listOrderLost"]
    ) { check in
      for (entity, name) in [("Owner", "queue"), ("Item", "parts")] {
        let (found, expected) = try check.connectedPair("save \(name), turn it, and read it") { connection in
          let owner = try connection.insert(entity, [[:]])[0]
          let items = try connection.insert("Item", (0..<5).map { _ in [:] })
          var (found, expected): ([String], [String]) = ([], [])
          for order in [[3, 1, 4, 0, 2], [0, 2, 4], [4, 3, 2, 1, 0]] {
            let list = order.map { items[$0] }
            var changes = try connection.change(owner, [name: .toMany(list)])
            // Both ends of a relationship change.
            if name == "queue" {
              changes.updated += try items.map { item in
                try connection.snapshot(item, ["waitsFor": list.contains(item) ? .toOne(owner) : .null])
              }
            }
            try connection.mustSave(changes)
            found += try connection.related([owner], name)[0] + ["|"]
            expected += list.map(\.description) + ["|"]
          }
          return (found, expected)
        }
        try check.expectList(found, expected, "\(name) after each save")
      }
    },
    incremental(
      "INC-40", "An unordered list is in the order of its members' references",
      by: "members are added in several saves, from both ends", catches: ["relatedUnsorted"]
    ) { check in
      let (found, expected) = try check.connectedPair("add members in any order") { connection in
        let tag = try connection.insert("Tag", [[:]])[0]
        let items = try connection.insert("Item", (0..<6).map { _ in [:] })
        let slot = try connection.slot("items", of: "Tag")
        for order in [[4, 1], [5], [0, 3, 2]] {
          try connection.mustSave(
            StoreSave(members: [.init(owner: tag, slot: slot, added: order.map { items[$0] }, removed: [])]))
        }
        return (try connection.related([tag], "items")[0], inOrder(items).map(\.description))
      }
      try check.expectList(found, expected, "the members")
    },
    incremental(
      "INC-41", "Members that are added and removed at one end are so at the other",
      by: "members of a many-to-many are added and removed at either end, and read at both in another process",
      catches: ["removedMembersStay", "addedMembersLost"]
    ) { check in
      _ = try check.connected("add and remove members") { connection in
        let tags = try connection.insert("Tag", [["name": .string("t0")], ["name": .string("t1")]])
        let items = try connection.insert("Item", (0..<4).map { ["name": .string("i\($0)")] })
        let (here, there) = (try connection.slot("items", of: "Tag"), try connection.slot("tags", of: "Item"))
        try connection.mustSave(
          StoreSave(members: [
            .init(owner: tags[0], slot: here, added: items, removed: []),
            .init(owner: items[0], slot: there, added: [tags[1]], removed: []),
          ]))
        try connection.mustSave(
          StoreSave(members: [
            .init(owner: tags[0], slot: here, added: [], removed: [items[1]]),
            .init(owner: items[2], slot: there, added: [tags[1]], removed: [tags[0]]),
          ]))
        return true
      }
      let found = try check.connected("read both ends") { connection -> [String] in
        var lines: [String] = []
        for (entity, name) in [("Tag", "items"), ("Item", "tags")] {
          for row in try connection.store.fetch(connection.request(entity)).rows {
            let object = ObjectReference(entityName: entity, reference: row.reference)
            let members = try connection.related([object], name)[0].count
            lines.append("\(connection.text("name", of: row) ?? "nil") \(members)")
          }
        }
        return lines
      }
      func line(_ name: String, _ count: Int) -> String { "\(GraphText.value(.string(name)) ?? "") \(count)" }
      try check.expectList(
        found, [line("t0", 2), line("t1", 2), line("i0", 2), line("i1", 0), line("i2", 1), line("i3", 1)],
        "members at both ends")
    },
    incremental(
      "INC-42", "A to-one names the entity of the object that it leads to",
      by: "to-ones lead to objects of an entity and of its sub-entity, and are changed", catches: ["destinationIsRoot"]
    ) { check in
      let (found, expected) = try check.connectedPair("read to-ones") { connection in
        let ends = try connection.insert("Item", [[:]]) + connection.insert("Special", [[:]])
        let owners = try connection.insert("Owner", ends.map { ["favourite": .toOne($0)] })
        var found = try owners.map { try connection.value("favourite", of: $0) ?? "nil" }
        for (owner, end) in zip(owners, ends.reversed()) {
          try connection.mustSave(try connection.change(owner, ["favourite": .null]))
          try connection.mustSave(try connection.change(owner, ["favourite": .toOne(end)]))
        }
        found += try owners.map { try connection.value("favourite", of: $0) ?? "nil" }
        return (found, (ends + ends.reversed()).map { GraphText.value(.toOne($0)) ?? "" })
      }
      try check.expectList(found, expected, "the objects at the end")
    },
    incremental(
      "INC-43", "Nothing leads to an object that was deleted",
      by:
        "an object at the end of to-ones, ordered and unordered lists is deleted, and these are read in another process",
      catches: ["deletedStayAtTheEnd"]
    ) { check in
      let gone = try check.connected("delete an object that others lead to") { connection in
        let item = try connection.insert("Item", [[:]])[0]
        let other = try connection.insert("Item", [["parts": .toMany([item])]])[0]
        try connection.insert("Owner", [["favourite": .toOne(item), "queue": .toMany([item])]])
        let tag = try connection.insert("Tag", [[:]])[0]
        try connection.mustSave(
          StoreSave(members: [
            .init(owner: tag, slot: try connection.slot("items", of: "Tag"), added: [item, other], removed: [])
          ]))
        try connection.mustSave(StoreSave(deleted: [item], expected: [(item, try connection.row(item)?.version)]))
        return item.description
      }
      let left = try check.connected("read what led to it") { connection in
        let builder = NodeTableBuilder(model: connection.model)
        try connection.store.load(into: builder)
        _ = try builder.finish()
        var left = try connection.names(connection.request("Item")).filter { $0 == gone }
        for (entity, name) in [("Item", "parts"), ("Owner", "queue"), ("Tag", "items")] {
          let rows = try connection.store.fetch(connection.request(entity)).rows
          let owners = rows.map { ObjectReference(entityName: entity, reference: $0.reference) }
          left += try connection.related(owners, name).flatMap { $0 }.filter { $0 == gone }
        }
        for row in try connection.store.fetch(connection.request("Owner")).rows {
          if let end = connection.text("favourite", of: row) { left.append(end) }
        }
        return left
      }
      try check.expectList(left, [], "what leads to \(gone)")
    },
    incremental(
      "INC-44", "Lists that a row brings along are those that the store returns when it is asked for them",
      by: "rows of objects with members are compared with their lists", catches: ["emptyListsInRows"]
    ) { check in
      let wrong = try check.connected("compare rows with lists") { connection in
        let items = try connection.insert("Item", [[:], [:]])
        try connection.insert("Item", [["parts": .toMany(items)]])
        return try connection.store.fetch(connection.request("Item")).rows.flatMap { row in
          try connection.model.entity(at: row.entity).slots.compactMap { slot -> String? in
            guard slot.isToMany, case .toMany(let list)? = row.values[slot.index] else { return nil }
            let asked = try connection.store.related([row.reference], slot: slot.index, entity: row.entity)
            return asked == [list] ? nil : "\(connection.name(row)).\(slot.name): \(list), and \(asked) when asked"
          }
        }
      }
      try check.expectEqual(wrong.joined(separator: "; "), "", "lists that differ")
      // Also as the kit reads it.
      try check.expectSameAnswers([AskedRequest(keys: [SortKey("small")]), AskedRequest(format: "parts.@count > 0")])
    },
    incremental(
      "INC-45", "A list of 1,500 members is returned whole",
      by: "1,500 objects lead to one; the lists of 1,200 objects are asked for at once",
      catches: ["listsCut", "listsOfThousand"]
    ) { check in
      let count = try check.connected("insert 1,500 members", seconds: 60) { connection in
        let owner = try connection.insert("Owner", [[:]])[0]
        try connection.insert("Item", (0..<1500).map { _ in ["owner": .toOne(owner)] })
        return try connection.related([owner], "items")[0].count
      }
      try check.expectEqual(count, 1500, "members")
      let lists = try check.connected("ask for 1,200 lists", seconds: 60) { connection in
        let owners = try connection.insert("Owner", (0..<1200).map { _ in [:] })
        let items = try connection.insert("Item", owners.map { ["owner": .toOne($0)] })
        let found = try connection.related(owners, "items")
        return zip(found, items).count { $0 == [$1.description] }
      }
      try check.expectEqual(lists, 1200, "lists with the one member that they have")
    },
    incremental(
      "INC-46", "An object that gets another owner is in the new one's list, and not in the old one's", from: kit,
      by: "to-ones with inverse lists are changed, also ordered ones, and read in another process",
      catches: ["toOneUpdateLost"]
    ) { check in
      _ = try check.process("save owners with items, then move one") { session in
        let context = try session.incrementalContext()
        let owners = try (0..<2).map { index in
          let owner = try context.insertNewObject(forEntityName: "Owner")
          try owner.setValue("o\(index)", forKey: "name")
          return owner
        }
        let items = try (0..<3).map { _ in try context.insertNewObject(forEntityName: "Item") }
        for item in items { try item.setValue(owners[0], forKey: "owner") }
        try owners[0].setValue(items, forKey: "queue")
        try context.save()
        try items[1].setValue(owners[1], forKey: "owner")
        try items[1].setValue(owners[1], forKey: "waitsFor")
        try context.save()
        return true
      }
      let found = try check.process("read them in another process") { session in
        let context = try session.incrementalContext()
        let owners = try context.fetch(FetchRequest<ManagedObject>(entityName: "Owner", sortKeys: [SortKey("name")]))
        return try owners.flatMap { owner in
          try ["items", "queue"].map { try owner.objects(forRelationshipNamed: $0).count }
        }
      }
      try check.expectEqual(found, [2, 2, 1, 1], "items and queues of both owners")
    },
    incremental(
      "INC-47",
      "References of new objects are given once: by two connections, after a deletion, and after another opening",
      by:
        "references are taken from two connections in turn, objects are saved and deleted, and more are taken in another process",
      catches: ["referencesStartAgain", "referencesOfDeletedObjects"]
    ) { check in
      var seen: [String] = []
      for turn in 1...2 {
        seen += try check.process("take references, turn \(turn)") { session in
          let (one, two) = (try session.connect(), try session.connect())
          var taken: [String] = []
          for connection in [one, two, one, two] {
            let objects = try connection.new(3, "Tag")
            try connection.mustSave(
              StoreSave(inserted: try objects.map { try connection.snapshot($0, [:]) }))
            taken += objects.map(\.description)
            try connection.mustSave(StoreSave(deleted: Array(objects.dropFirst())))
          }
          taken += try one.new(200, "Tag").map(\.description)
          return taken
        }
      }
      let repeated = Dictionary(grouping: seen) { $0 }.filter { $1.count > 1 }.keys.sorted()
      try check.expectList(repeated, [], "references that were given twice")
    },
    incremental(
      "INC-48", "References that are texts are kept, and found",
      by: "a graph whose references are texts, some of them numbers, is written whole and read in parts",
      catches: ["textReferencesNumbered"],
      demand: { $0.references == .all ? .applies : .notApplicable("references are \($0.references.rawValue)") }
    ) { check in
      let texts = ["7", "", "ä", "a\u{308}", "a\0b", "'", "A", "a"]
      let names = texts.map { ReferenceObject.string($0) } + [.integer(7)]
      let found = try check.process("write and read such references") { session in
        let model = try Models.frozen(ItemGraph.description)
        var nodes = NodeTable(model: model)
        let tag = model.entity(named: "Tag")?.index ?? 0
        let owner = model.entity(named: "Owner")?.index ?? 0
        for name in names { _ = try nodes.addCacheNode(entity: tag, reference: name) }
        for name in names { _ = try nodes.addCacheNode(entity: owner, reference: name) }
        let connection = StoreConnection(try session.store(), model)
        let metadata = StoreMetadata(
          storeType: try session.incrementalType().storeType, lastReference: 7, model: ItemGraph.description)
        try connection.store.replaceAll(
          with: StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata), mayReplace: false
        ) { _ in }
        try connection.store.prepare(for: model)
        let fetched = try connection.names(connection.request("Tag"))
        let rows = try connection.store.rows(names, root: tag).map(connection.name)
        return [fetched, rows]
      }
      // The text 7 is another reference than the number 7.
      func lines(_ list: [String]) -> [ScalarKey] { list.map { ScalarKey($0) }.sorted() }
      let expected = lines(names.map { "Tag/\($0)" })
      try check.expectEqual(lines(found[0]), expected, "what a request finds")
      try check.expectEqual(lines(found[1]), expected, "what is found by references")
    },
  ]
}
