import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// INC, continued: updates of many objects.
extension Checks {
  private static let askedUpdates: [AskedUpdate] = [
    AskedUpdate(values: ["small": "small + 1"]),
    AskedUpdate(values: ["big": "3 * small - big", "name": "'c'"], format: "small > 2"),
    AskedUpdate(values: ["name": "nil"], format: "isNew == TRUE"),
    AskedUpdate(values: ["isNew": "FALSE"], format: "owner.rank > 1"),
    AskedUpdate(values: ["weight": "nil", "ratio": "nil"], format: "name == nil"),
    AskedUpdate(values: ["small": "small * 30000"]),
    AskedUpdate(values: ["big": "small", "small": "2"], format: "NOT name BEGINSWITH 'a'"),
  ]

  static let incrementalUpdates: [CheckDefinition] = [
    incremental(
      "INC-80", "An update of many objects changes those that fulfil its condition, and no others", from: kit,
      by:
        "sets constants, columns and sums with several conditions in the store and in a property list with the same graph, and compares the objects named as changed, all values, row versions, and the history; asks for an update that must be refused",
      catches: [
        "updateIgnoresCondition", "updateSetsFirstOnly", "updateNamesOthers", "updateDoesNothing",
        "updateIgnoresRefused", "updateKeepsVersions",
      ]
    ) { check in
      let difference = try check.process("update objects in both", seconds: 60) { session in
        try session.comparedStores(seed: 11, count: 60).compareUpdates(askedUpdates) ?? ""
      }
      try check.expectEqual(difference, "", "the first difference")
    },
    incremental(
      "INC-81", "A deletion of many objects deletes those that fulfil its condition, and changes what led to them",
      from: kit,
      by:
        "deletes notes that shelves have, and one that a shelf leads to by a to-one without inverse, and reads what is left, and the history; asks for a deletion that must be refused",
      catches: [
        "deletionIgnoresCondition", "deletionNamesOthers", "deletionDoesNothing", "deletionIgnoresRefused",
      ]
    ) { check in
      let found = try check.process("delete notes", seconds: 60) { session in
        let context = try session.incrementalContext(IncrementalModels.shelves)
        try fillShelves(context)
        return try deleteNotes(context.persistentStoreCoordinator)
      }
      try check.expectList(
        found,
        ["deleted Note, Note", "delete Note", "delete Note", "update Shelf notes, top", "refused"],
        "what was deleted, and the history")
      let left = try check.process("read them in another process") { session in
        let context = try session.incrementalContext(nil)
        let shelves = try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf", sortKeys: [SortKey("name")]))
        return try shelves.map { shelf in
          let notes = try shelf.objects(forRelationshipNamed: "notes").compactMap { note in
            try note.value(forKey: "number").map { "\($0)" }
          }
          return notes.sorted().joined(separator: ", ") + (try shelf.value(forKey: "top") == nil ? "" : " top")
        } + ["\(try context.count(for: FetchRequest<ManagedObject>(entityName: "Note")))"]
      }
      try check.expectList(left, ["0, 2", "1 top", "3"], "the notes of each shelf, and the number of all")
    },
  ]

  /// Two shelves with notes: 0, 2 and 4 on the first, 1 on the second, and 3 nowhere but at the top of the first.
  private static func fillShelves(_ context: ManagedObjectContext) throws {
    let shelves = try ["a", "b"].map { name in
      let shelf = try context.insertNewObject(forEntityName: "Shelf")
      try shelf.setValue(name, forKey: "name")
      return shelf
    }
    let notes = try (0..<5).map { number in
      let note = try context.insertNewObject(forEntityName: "Note")
      try note.setValue(number, forKey: "number")
      if number != 3 { try note.setValue(shelves[number % 2], forKey: "shelf") }
      return note
    }
    try shelves[0].setValue(notes[3], forKey: "top")
    try shelves[1].setValue(notes[0], forKey: "top")
    try context.save()
  }

  /// Deletes notes, and asks for a deletion of one whose shelf must not change.
  private static func deleteNotes(_ coordinator: PersistentStoreCoordinator) throws -> [String] {
    guard let store = coordinator.persistentStores.first, let note = store.model.entity(named: "Note"),
      let shelf = store.model.entity(named: "Shelf")
    else { return ["the store is not open"] }
    let token = try coordinator.currentHistoryToken(of: store)
    var request = FetchRequest<ManagedObject>(entityName: "Note")
    request.predicate = try FetchPredicate(format: "number > 2")
    let context = ManagedObjectContext(coordinator)
    let deleted = try context.execute(BatchDeleteRequest(fetchRequest: request)).objectIDs
    var found = ["deleted " + deleted.map(\.entityName).joined(separator: ", ")]
    if token == nil, try coordinator.currentHistoryToken(of: store) == nil {
      // Some stores have no history.
      found += ["delete Note", "delete Note", "update Shelf notes, top"]
    }
    for change in try coordinator.changes(since: token, in: store).flatMap(\.changes) {
      let properties = change.properties.isEmpty ? "" : " " + change.properties.sorted().joined(separator: ", ")
      found.append("\(change.kind.rawValue) \(change.object.entityName)\(properties)")
    }
    let first = try FetchPredicate(format: "number == 1")
    let rows = StoreFetch(entity: note.index, entities: [note.index], predicate: first)
    let refused = try FetchPredicate(format: "name == 'b'")
    let answer = try coordinator.delete(
      store,
      StoreUpdate(rows: rows, values: [], refused: [(shelf.index, refused)], author: nil, contextName: nil))
    return found + [answer == nil ? "refused" : "deleted though \(refused) was refused"]
  }
}
