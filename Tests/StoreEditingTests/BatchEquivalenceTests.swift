import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import TestSupport
import Testing

/// A batch does what a context does, in every kind of store.
@Suite("Batches and contexts") struct BatchEquivalenceTests {
  private static let endings = ["plist", "xml", "sqlgraph"]

  /// - Parameter isDerived: Whether an attribute is derived: batches insert objects then.
  private static func model(isDerived: Bool) throws -> ManagedObjectModel {
    let derived: [PropertyDescription] =
      isDerived ? [.attribute("twice", .integer64, derivationExpression: "number + 1")] : []
    return try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Item",
            properties: [
              .attribute("number", .integer64), .attribute("home", .composite("Address")),
              .attribute("mood", .integer16, isTransient: true, maximum: .integer(9)),
              .attribute("anything", .undefined, isTransient: true), .attribute("double", .double),
              .attribute("float", .float), .attribute("date", .date), .attribute("decimal", .decimal),
              .attribute("note", .string),
            ] + derived,
            uniquenessConstraints: [["double"], ["float"], ["date"], ["decimal", "number"]])
        ],
        composites: [
          CompositeDescription(
            name: "Address",
            attributes: [
              AttributeDescription(name: "city", type: .string),
              AttributeDescription(name: "spot", type: .composite("Spot")),
            ]),
          CompositeDescription(name: "Spot", attributes: [AttributeDescription(name: "x", type: .integer32)]),
        ]))
  }

  private static func coordinator(
    _ path: String, isDerived: Bool = false, isReadOnly: Bool = false
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try model(isDerived: isDerived), registry: .builtIn)
    try coordinator.addPersistentStore(at: path, isReadOnly: isReadOnly)
    return coordinator
  }

  private static func report(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).map { object in
      let names = ["number", "home.city", "home.spot.x", "double", "float", "date", "decimal", "note"]
      return try names.map { try object.value(forKey: $0).map { "\($0)" } ?? "-" }.joined(separator: " ")
    }.sorted()
  }

  private static func code(_ body: () throws -> Void) throws -> ManagedObjectError.Code? {
    do { try body() } catch let error as ManagedObjectError { return error.code }
    return nil
  }

  private static let ways: [(String, @Sendable (ManagedObjectContext, [String: Any?]) throws -> Void)] = [
    (
      "context",
      { context, values in
        try context.insertNewObject(forEntityName: "Item").setValuesForKeys(values)
        try context.save()
      }
    ),
    ("batch insert", { try $0.execute(BatchInsertRequest(entityName: "Item", objects: [$1])) }),
    (
      "batch update",
      { context, values in
        _ = try context.insertNewObject(forEntityName: "Item")
        try context.save()
        try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: values))
      }
    ),
  ]

  /// The values of a row, and the code of what is wrong with them.
  private struct Row: Sendable {
    let values: [String: (any Sendable)?]
    let code: ManagedObjectError.Code?
    init(_ values: [String: (any Sendable)?], _ code: ManagedObjectError.Code? = nil) {
      self.values = values
      self.code = code
    }
  }
  private static let rows = [
    Row(["home": ["city": "Bern", "spot.x": 4] as [String: any Sendable], "number": 1]),
    Row(["home": nil, "number": 1]), Row(["home": ["city": 5]], .invalidValue),
    Row(["home": ["town": "Bern"]], .undefinedKey), Row(["home": "Bern"], .invalidValue),
    Row(["mood": 3, "anything": [1, 2]]), Row(["mood": "good"], .invalidValue),
    Row(["mood": 10, "number": 1], .validationNumberTooLarge), Row(["mood": nil]),
  ]

  @Test("composite and transient attributes are set in a batch as in a context", arguments: endings, rows)
  private func attributes(_ ending: String, _ row: Row) throws {
    let directory = try TemporaryDirectory("batches")
    let values = row.values.mapValues { $0 as Any? }
    for isDerived in [false, true] {
      var reports: [[String]] = []
      for (name, run) in Self.ways {
        let path = "\(directory.path)/\(name) \(isDerived).\(ending)"
        let coordinator = try Self.coordinator(path, isDerived: isDerived)
        let code = try Self.code { try run(ManagedObjectContext(coordinator), values) }
        #expect(code == row.code, "\(name) \(isDerived)")
        if code == nil { reports.append(try Self.report(ManagedObjectContext(coordinator))) }
      }
      #expect(reports.allSatisfy { $0 == reports[0] }, "\(reports)")
    }
  }

  @Test("a row returns the composite and transient values that were set")
  func reading() throws {
    let directory = try TemporaryDirectory("batches")
    let context = ManagedObjectContext(try Self.coordinator(directory.path + "/s.plist"))
    var isDone = false
    let request = BatchInsertRequest(entityName: "Item") { row in
      if isDone { return true }
      isDone = true
      #expect(row["home"] == nil)
      row["home"] = ["city": "Bern", "spot.x": 4]
      row["mood"] = 3
      row["anything"] = [1, 2]
      #expect(row["home.city"] as? String == "Bern" && row["home.spot.x"] as? Int == 4)
      #expect((row["home"] as? [String: Any])?.count == 2)
      #expect(row["mood"] as? Int == 3 && row["anything"] as? [Int] == [1, 2])
      return false
    }
    #expect(try context.execute(request).count == 1)
  }

  @Test("what cannot be saved since the store is open read-only says so", arguments: endings)
  func readOnly(_ ending: String) throws {
    let directory = try TemporaryDirectory("batches")
    let path = "\(directory.path)/s.\(ending)"
    do {
      let context = ManagedObjectContext(try Self.coordinator(path))
      try context.execute(BatchInsertRequest(entityName: "Item", objects: [["number": 1]]))
    }
    let coordinator = try Self.coordinator(path, isReadOnly: true)
    let store = try #require(coordinator.persistentStores.first)
    var named = BatchInsertRequest(entityName: "Item", objects: [["number": 2]])
    named.affectedStore = store
    let all = FetchRequest<ManagedObject>(entityName: "Item")
    let changes: [(String, (ManagedObjectContext) throws -> Void)] = [
      ("insert", { try $0.execute(BatchInsertRequest(entityName: "Item", objects: [["number": 2]])) }),
      ("insert into the store", { try $0.execute(named) }),
      ("update", { try $0.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["number": 2])) }),
      ("delete", { try $0.execute(BatchDeleteRequest(fetchRequest: all)) }),
      (
        "inserted object",
        { context in
          _ = try context.insertNewObject(forEntityName: "Item")
          try context.save()
        }
      ),
      (
        "changed object",
        { context in
          try #require(try context.fetch(all).first).setValue(2, forKey: "number")
          try context.save()
        }
      ),
    ]
    for (name, change) in changes {
      let error = #expect(throws: ManagedObjectError.self, "\(name)") { try change(ManagedObjectContext(coordinator)) }
      #expect(error?.code == .persistentStoreSave, "\(name): \(error.map { "\($0)" } ?? "-")")
      #expect((error?.underlying as? PersistentStoreError)?.code == .readOnly, "\(name)")
      #expect(error.map { "\($0)".contains("read-only") } == true)
    }
    let unknown = #expect(throws: ManagedObjectError.self) {
      try ManagedObjectContext(coordinator).execute(BatchInsertRequest(entityName: "Itm", objects: []))
    }
    #expect(unknown?.code == .storeAssignment)
  }

  private static let notNumbers: [[String: any Sendable]] = [
    ["double": Double.nan], ["float": Float.nan], ["date": Date(timeIntervalSinceReferenceDate: .nan)],
    ["decimal": DecimalNumber.nan, "number": 4],
  ]

  @Test(
    "not-a-number is equal to not-a-number where it must be unique, whatever its bits",
    arguments: endings, [0, 1, 2, 3])
  func notANumber(_ ending: String, _ number: Int) throws {
    for hasOtherBits in [false, true] { try notANumber(ending, Self.notNumbers[number], hasOtherBits) }
  }

  private func notANumber(_ ending: String, _ value: [String: any Sendable], _ hasOtherBits: Bool) throws {
    let directory = try TemporaryDirectory("batches")
    let bits = Double(nan: 5, signaling: false)
    var row: [String: Any?] = value.mapValues { $0 as Any? }
    if hasOtherBits {
      row = row.mapValues { value in
        switch value {
        case is Double: bits
        case is Float: Float(nan: 5, signaling: false)
        case is Date: Date(timeIntervalSinceReferenceDate: bits)
        default: value
        }
      }
    }
    row["note"] = "new"
    for isDerived in [false, true] {
      let path = "\(directory.path)/\(isDerived).\(ending)"
      let coordinator = try Self.coordinator(path, isDerived: isDerived)
      let first = ManagedObjectContext(coordinator)
      try first.execute(
        BatchInsertRequest(entityName: "Item", objects: [value.mapValues { $0 as Any? }, ["number": 4]]))
      let inserting = ManagedObjectContext(coordinator)
      inserting.mergePolicy = .error
      try inserting.insertNewObject(forEntityName: "Item").setValuesForKeys(row)
      #expect(try Self.code { try inserting.save() } == .managedObjectConstraintMerge, "\(isDerived)")
      var request = BatchInsertRequest(entityName: "Item", objects: [row, row])
      #expect(try Self.code { try first.execute(request) } == .managedObjectConstraintMerge, "\(isDerived)")
      request.constraintRule = .skip
      #expect(try first.execute(request).skippedCount == 2, "\(isDerived)")
      request.constraintRule = .update
      #expect(try first.execute(request).count == 1, "\(isDerived)")
      let merging = ManagedObjectContext(coordinator)
      merging.mergePolicy = .mergeByPropertyObjectTrump
      row["note"] = "merged"
      try merging.insertNewObject(forEntityName: "Item").setValuesForKeys(row)
      try merging.save()
      let all = try ManagedObjectContext(coordinator).fetch(FetchRequest<ManagedObject>(entityName: "Item"))
      #expect(all.count == 2, "\(isDerived)")
      let update = BatchUpdateRequest(entityName: "Item", propertiesToUpdate: row)
      #expect(try Self.code { try first.execute(update) } == .managedObjectConstraintMerge, "\(isDerived)")
    }
  }
}
