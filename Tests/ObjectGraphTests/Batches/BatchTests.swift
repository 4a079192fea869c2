import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Batch requests") struct BatchTests {
  static let model: ModelDescription = ModelDescription(entities: [
    EntityDescription(
      name: "User",
      properties: [
        .attribute("mail", .string, isOptional: false), .attribute("code", .integer32), .attribute("note", .string),
        .attribute("level", .integer16, defaultValue: .integer(1)), .attribute("price", .decimal),
        .toMany("notes", "Note", inverse: "user", deleteRule: .cascade),
      ],
      subentities: [EntityDescription(name: "Admin")], uniquenessConstraints: [["mail"], ["code"]]),
    EntityDescription(
      name: "Note",
      properties: [.attribute("text", .string), .toOne("user", "User", inverse: "notes", isOptional: false)]),
    EntityDescription(
      name: "Line",
      properties: [
        .attribute("a", .integer32),
        .attribute("twice", .integer32, derivationExpression: "a * 2"),
      ], uniquenessConstraints: [["a"]]),
  ])

  /// Two entities with a constraint on their own property, at the same place; and one that adds a property.
  private static let goods = ModelDescription(entities: [
    EntityDescription(
      name: "Item", isAbstract: true, properties: [.attribute("title", .string)],
      subentities: [
        EntityDescription(
          name: "Book", properties: [.attribute("isbn", .string)],
          subentities: [EntityDescription(name: "Rare", properties: [.attribute("year", .integer16)])],
          uniquenessConstraints: [["isbn"]]),
        EntityDescription(
          name: "Disc", properties: [.attribute("ean", .string), .attribute("minutes", .integer16)],
          uniquenessConstraints: [["ean"]]),
      ])
  ])

  @Test(
    "unique values of another entity that has its own constraint are not in the way",
    arguments: [BatchInsertRequest.ConstraintRule.fail, .skip, .update])
  func otherConstraint(_ rule: BatchInsertRequest.ConstraintRule) throws {
    let stack = try Stack("BinaryPropertyList", model: try ManagedObjectModel(Self.goods))
    _ = try stack.context.execute(BatchInsertRequest(entityName: "Disc", objects: [["ean": "1", "title": "disc"]]))
    var request = BatchInsertRequest(entityName: "Book", objects: [["isbn": "1", "title": "book"]])
    request.constraintRule = rule
    #expect(try stack.context.execute(request).skippedCount == 0)
    let context = ManagedObjectContext(try stack.reopened().coordinator)
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    #expect(all.map { "\($0.entity.name) \($0["title"] ?? "-")" }.sorted() == ["Book book", "Disc disc"])
  }

  @Test("a row does not update an object of a super-entity, which has not its attributes")
  func superentity() throws {
    let stack = try Stack("BinaryPropertyList", model: try ManagedObjectModel(Self.goods))
    _ = try stack.context.execute(BatchInsertRequest(entityName: "Book", objects: [["isbn": "1"]]))
    var request = BatchInsertRequest(entityName: "Rare", objects: [["isbn": "1", "year": 1900]])
    request.constraintRule = .update
    #expect { try stack.context.execute(request) } throws: {
      ($0 as? ManagedObjectError)?.code == .managedObjectConstraintMerge
    }
  }

  @Test("an update that gives several objects one unique value fails, and deletes none")
  func uniqueUpdate() throws {
    let stack = try stack()
    _ = try stack.context.execute(
      BatchInsertRequest(entityName: "User", objects: [["mail": "a", "code": 1], ["mail": "b", "code": 2]]))
    let before = try users(stack)
    #expect {
      try stack.context.execute(BatchUpdateRequest(entityName: "User", propertiesToUpdate: ["code": 7]))
    } throws: {
      ($0 as? ManagedObjectError)?.code == .managedObjectConstraintMerge
    }
    #expect(try users(stack) == before)
  }

  private func stack(_ type: String = "BinaryPropertyList") throws -> Stack {
    try Stack(type, model: try ManagedObjectModel(Self.model))
  }

  private func users(_ stack: Stack) throws -> [String] {
    let context = ManagedObjectContext(try stack.reopened().coordinator)
    return try context.fetch(FetchRequest<ManagedObject>(entityName: "User", sortKeys: [SortKey("mail")])).map {
      "\($0["mail"] ?? "-") \($0["code"] ?? "-") \($0["note"] ?? "-") \($0["level"] ?? "-")"
    }
  }

  @Test("rows become objects with defaults, on every kind of store", arguments: Stack.types)
  func inserting(_ type: String) throws {
    let stack = try stack(type)
    let result = try stack.context.execute(
      BatchInsertRequest(entityName: "User", objects: [["mail": "a", "code": 1], ["mail": "b", "level": nil]]))
    #expect(result.count == 2)
    #expect(try users(stack) == ["a 1 - 1", "b - - -"])
    #expect(stack.context.existingObjects(with: result.objectIDs).map { $0["mail"] as? String } == ["a", "b"])
    #expect(!stack.context.hasChanges)
  }

  @Test("a generator is asked until it ends, and its error inserts nothing")
  func generator() throws {
    struct Stop: Error {}
    let stack = try stack()
    var next = 0
    let result = try stack.context.execute(
      BatchInsertRequest(entityName: "User") { row in
        if next == 100 { return true }
        row["mail"] = "m\(next)"
        next += 1
        return false
      })
    #expect(result.count == 100)
    #expect(throws: Stop.self) {
      try stack.context.execute(
        BatchInsertRequest(entityName: "User") { row in
          row["mail"] = "x"
          next += 1
          if next > 103 { throw Stop() }
          return false
        })
    }
    #expect(try users(stack).count == 100)
  }

  @Test(
    "a wrong row is named, and nothing is inserted",
    arguments: [
      ["mail": "b", "cod": 1], ["mail": "b", "code": "one"], ["code": 3], ["mail": "b", "notes": "x"],
      ["mail": "b", "level": 70_000],
    ] as [[String: any Sendable]])
  func wrongRow(_ row: [String: any Sendable]) throws {
    let stack = try stack()
    #expect {
      try stack.context.execute(BatchInsertRequest(entityName: "User", objects: [["mail": "a"], row]))
    } throws: {
      "\($0)".contains("row 2")
    }
    #expect(try users(stack).isEmpty)
  }

  @Test("an abstract or unknown entity, and one with a mandatory relationship, are refused")
  func wrongEntity() throws {
    let stack = try stack()
    #expect { try stack.context.execute(BatchInsertRequest(entityName: "Usr", objects: [])) } throws: {
      "\($0)".contains("did you mean 'User'")
    }
    #expect { try stack.context.execute(BatchInsertRequest(entityName: "Note", objects: [[:]])) } throws: {
      ($0 as? ManagedObjectError)?.code == .validationMissingMandatoryProperty
    }
  }

  @Test(
    "rows with the unique values of an object fail, update it, or are skipped",
    arguments: [(.fail, nil), (.update, ["a 1 new 1", "b - - 1"]), (.skip, ["a 1 old 7", "b - - 1"])]
      as [(BatchInsertRequest.ConstraintRule, [String]?)])
  func constraints(_ rule: BatchInsertRequest.ConstraintRule, _ expected: [String]?) throws {
    let stack = try stack()
    let old = try stack.insert("Admin", ["mail": "a", "code": 1, "note": "old", "level": 7])
    try stack.context.save()
    var request = BatchInsertRequest(
      entityName: "User",
      objects: [["mail": "b"], ["mail": "a", "note": "first"], ["mail": "a", "note": "new", "level": 1]])
    request.constraintRule = rule
    guard let expected else {
      #expect { try stack.context.execute(request) } throws: {
        ($0 as? ManagedObjectError)?.code == .managedObjectConstraintMerge
      }
      #expect(try users(stack) == ["a 1 old 7"])
      return
    }
    let result = try stack.context.execute(request)
    #expect(try users(stack) == expected)
    #expect(result.skippedCount == (rule == .skip ? 2 : 0))
    #expect(result.changes.updated == (rule == .update ? [old.objectID] : []))
  }

  @Test("an update may change one unique value, but not take another object's")
  func changedKeys() throws {
    let stack = try stack()
    _ = try stack.insert("User", ["mail": "a", "code": 1])
    _ = try stack.insert("User", ["mail": "b", "code": 2])
    try stack.context.save()
    var request = BatchInsertRequest(
      entityName: "User", objects: [["mail": "a", "code": 3], ["mail": "c", "code": 1]])
    request.constraintRule = .update
    #expect(try stack.context.execute(request).count == 2)
    #expect(try users(stack) == ["a 3 - 1", "b 2 - 1", "c 1 - 1"])
    var taking = BatchInsertRequest(entityName: "User", objects: [["mail": "a", "code": 2]])
    taking.constraintRule = .update
    #expect(throws: ManagedObjectError.self) { try stack.context.execute(taking) }
  }

  @Test("derived attributes are computed")
  func derived() throws {
    let stack = try stack()
    _ = try stack.context.execute(BatchInsertRequest(entityName: "Line", objects: [["a": 2], ["a": 3]]))
    #expect(try stack.fetch("Line").map { $0["twice"] as? Int } == [4, 6])
  }

  @Test("an update evaluates expressions on each object, and reports those that changed")
  func updating() throws {
    let stack = try stack()
    for (mail, level) in [("a", 1), ("b", 5), ("c", 6)] {
      _ = try stack.insert("User", ["mail": mail, "level": level, "price": DecimalNumber("1.50") as Any])
    }
    try stack.context.save()
    let result = try stack.context.execute(
      BatchUpdateRequest(
        entityName: "User", predicate: try FetchPredicate(format: "level > 3"),
        propertiesToUpdate: [
          "level": try FetchExpression(format: "level + 1"), "note": "up", "price": nil,
        ]))
    #expect(result.count == 2)
    #expect(try users(stack) == ["a - - 1", "b - up 6", "c - up 7"])
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: result.changes, into: [stack.context])
    #expect(try stack.first("User", "b", "mail")?["level"] as? Int == 6)
    #expect(throws: ManagedObjectError.self) {
      try stack.context.execute(BatchUpdateRequest(entityName: "User", propertiesToUpdate: ["levl": 1]))
    }
    #expect(throws: ManagedObjectError.self) {
      try stack.context.execute(BatchUpdateRequest(entityName: "User", propertiesToUpdate: ["mail": nil]))
    }
  }

  @Test("a deletion follows delete rules, and contexts that merge automatically see it")
  func deleting() throws {
    let stack = try stack()
    stack.context.automaticallyMergesChangesFromParent = true
    let ada = try stack.insert("User", ["mail": "a"])
    _ = try stack.insert("User", ["mail": "b"])
    try stack.insert("Note", ["text": "t"]).setValue(ada, forKey: "user")
    try stack.context.save()
    let result = try stack.context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest(entityName: "User", predicate: try FetchPredicate(format: "mail == 'a'"))))
    #expect(result.count == 2)
    #expect(try stack.fetch("User").count == 1 && stack.fetch("Note").isEmpty)
    #expect(try users(stack) == ["b - - 1"])
    let byID = try stack.context.execute(
      BatchDeleteRequest(objectIDs: try stack.fetch("User").map(\.objectID) + result.objectIDs))
    #expect(byID.count == 1)
  }

  @Test("an insertion reaches contexts that merge automatically")
  func delivering() throws {
    let stack = try stack()
    stack.context.automaticallyMergesChangesFromParent = true
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "User", sortKeys: [SortKey("mail")]),
      managedObjectContext: stack.context)
    try controller.performFetch()
    _ = try stack.context.execute(BatchInsertRequest(entityName: "User", objects: [["mail": "b"], ["mail": "a"]]))
    stack.context.processPendingChanges()
    #expect(controller.fetchedObjects?.map { $0["mail"] as? String } == ["a", "b"])
  }

  @Test("a request for known rows can be executed again, and a handler of the program's own takes their place")
  func again() throws {
    let stack = try Stack(model: try ManagedObjectModel(Self.model))
    let rows: [[String: Any?]] = [["mail": "a", "code": 1], ["mail": "b", "code": 2]]
    var request = BatchInsertRequest(entityName: "User", objects: rows)
    _ = try stack.insert("User", ["mail": "a", "code": 9])
    try stack.context.save()
    #expect(throws: (any Error).self) { try stack.context.execute(request) }
    request.constraintRule = .skip
    let second = try stack.context.execute(request)
    #expect(second.count == 1 && second.skippedCount == 1)
    let third = try stack.context.execute(request)
    #expect(third.count == 0 && third.skippedCount == 2)
    request.rowHandler = { _ in true }
    #expect(try stack.context.execute(request).skippedCount == 0)
  }
}
