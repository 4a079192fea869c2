import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import TestSupport
import Testing

/// Whichever way a value comes to an attribute, one rule says whether it is taken: of another type, only equal numbers.
@Suite("What attributes take") struct AssignmentRuleTests {
  private static let types: [(name: String, type: AttributeType)] = [
    ("small", .integer16), ("big", .integer64), ("number", .double), ("half", .float), ("price", .decimal),
    ("text", .string), ("flag", .boolean), ("day", .date), ("key", .uuid), ("link", .uri), ("bytes", .binaryData),
  ]
  private static let values: [any Sendable] = [
    3, 3.0, 3.5, 70_000, 0.1, 1e300, Float(0.5), Int16(4), Int64.max, Double.nan, DecimalNumber(3),
    DecimalNumber(mantissa: 35, exponent: -1, isNegative: false),
    DecimalNumber(mantissa: 1, exponent: -1, isNegative: false), Decimal(3), true, "3", "2020-01-01T00:00:00Z",
    "2020-01-31", "http://a.b", Date(timeIntervalSinceReferenceDate: 5), UUID(), Data([1]), StoredValue.integer(3),
    StoredValue.double(3),
  ]

  /// - Parameter isDerived: Whether an attribute is derived: batches work with objects then.
  private static func model(isDerived: Bool) throws -> ManagedObjectModel {
    let derived: [PropertyDescription] =
      isDerived ? [.attribute("twice", .double, derivationExpression: "small + 1")] : []
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [.attribute("id", .integer32)] + types.map { .attribute($0.name, $0.type) } + derived)
      ]))
  }

  /// Sets one attribute of the object with the number 1, or of a new one, and saves.
  private struct Way: Sendable {
    let name: String
    let run: @Sendable (ManagedObjectContext, String, any Sendable) throws -> Void

    static func object(_ context: ManagedObjectContext) throws -> ManagedObject {
      try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
    }
  }

  private static let ways = [
    Way(name: "setValue") { context, key, value in
      try Way.object(context).setValue(value, forKey: key)
      try context.save()
    },
    Way(name: "setPrimitiveValue") { context, key, value in
      let object = try Way.object(context)
      // A primitive value is saved with other changes.
      try object.setValue(2, forKey: "id")
      try object.setPrimitiveValue(value, forKey: key)
      try context.save()
    },
    Way(name: "validateValue") { context, key, value in
      let object = try Way.object(context)
      var value: Any? = value
      try object.validateValue(&value, forKey: key)
      try object.setValue(value, forKey: key)
      try context.save()
    },
    Way(name: "subscript") { context, key, value in
      try Way.object(context)[key] = value
      try context.save()
    },
    Way(name: "setValuesForKeys") { context, key, value in
      try Way.object(context).setValuesForKeys([key: value])
      try context.save()
    },
    Way(name: "batch update") { context, key, value in
      try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: [key: value]))
    },
    Way(name: "batch update of none, then of one") { context, key, value in
      let none = try FetchPredicate(format: "id > 9")
      try context.execute(BatchUpdateRequest(entityName: "Item", predicate: none, propertiesToUpdate: [key: value]))
      try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: [key: value]))
    },
    Way(name: "batch insert") { context, key, value in
      let object = try Way.object(context)
      try context.execute(BatchInsertRequest(entityName: "Item", objects: [[key: value, "id": 0]]))
      context.delete(object)
      try context.save()
    },
  ]

  private static func constant(_ value: any Sendable) -> FetchExpression? {
    let arguments: [Any] = [value]
    guard case .comparison(let comparison)? = try? FetchPredicate(format: "id == %@", arguments: arguments) else {
      return nil
    }
    return comparison.right
  }

  private static let expressionWays = [
    Way(name: "batch update of an expression") { context, key, value in
      let expression = try #require(Self.constant(value))
      let update: [String: Any?] = [key: expression]
      try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: update))
    },
    Way(name: "setValues") { context, key, value in
      try context.setValues([PropertyAssignment(key, try #require(Self.constant(value)))], entityName: "Item")
      try context.save()
    },
    Way(name: "set") { context, key, value in
      _ = try context.setAndSaveValues(
        [PropertyAssignment(key, try #require(Self.constant(value)))], entityName: "Item")
    },
  ]

  private static func opened(_ path: String, isDerived: Bool) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try model(isDerived: isDerived), registry: .builtIn)
    try coordinator.addPersistentStore(at: path)
    return coordinator
  }

  /// What the store, which then has only one object, has afterwards, or the code of the error.
  private static func outcome(
    _ way: Way, _ key: String, _ value: any Sendable, _ coordinator: PersistentStoreCoordinator
  ) throws -> String {
    let context = ManagedObjectContext(coordinator)
    for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")) { context.delete(object) }
    try context.insertNewObject(forEntityName: "Item").setValue(1, forKey: "id")
    try context.save()
    do { try way.run(context, key, value) } catch let error as ManagedObjectError {
      return "code \(error.code) \(error.key ?? "-")"
    }
    let other = ManagedObjectContext(coordinator)
    let stored = try Way.object(other).value(forKey: key)
    return stored.map { "\($0) \(type(of: $0))" } ?? "nil"
  }

  private static func isRounded(_ value: any Sendable, _ key: String, _ taken: String) -> Bool {
    switch key {
    case "number", "half": value is Double || value is DecimalNumber
    case "day": (value as? String)?.hasPrefix("2020") ?? false
    default: false
    }
  }

  @Test(
    "values are taken, or refused with the same code, by every way to set them; expressions are also rounded",
    arguments: types.map(\.name), ["plist", "sqlgraph"])
  func table(_ key: String, _ ending: String) throws {
    let directory = try TemporaryDirectory("assignment-rule")
    let stores = try [false, true].map { isDerived in
      (isDerived, try Self.opened("\(directory.path)/\(isDerived).\(ending)", isDerived: isDerived))
    }
    for index in Self.values.indices.share(of: "values of \(key) in \(ending)") {
      let value = Self.values[index]
      var first: String?
      for (isDerived, store) in stores {
        for way in Self.ways {
          let found = try Self.outcome(way, key, value, store)
          #expect(
            found == first ?? found,
            "\(value) as \(type(of: value)) for \(key) by \(way.name), \(isDerived ? "objects" : "columns")")
          first = first ?? found
        }
        guard Self.constant(value) != nil else { continue }
        var computed: String?
        for way in Self.expressionWays {
          let found = try Self.outcome(way, key, value, store)
          if !Self.isRounded(value, key, found) || first?.hasPrefix("code") == false { computed = computed ?? first }
          #expect(
            found == computed ?? found,
            "\(value) as \(type(of: value)) for \(key) by \(way.name), \(isDerived ? "objects" : "columns")")
          computed = computed ?? found
        }
      }
    }
  }

  @Test(
    "numbers of other types are taken where they are equal",
    arguments: [
      ("small", 3.0, "3 Int"), ("small", 3.5, nil), ("small", 70_000, nil), ("small", DecimalNumber(3), "3 Int"),
      ("number", 3, "3.0 Double"), ("number", Int64.max, nil), ("half", 0.1, nil), ("half", 0.5, "0.5 Float"),
      ("price", 0.1, "0.1 DecimalNumber"), ("price", 3, "3 DecimalNumber"), ("text", 3, nil), ("small", "3", nil),
      ("small", true, nil), ("flag", 1, nil), ("day", 5.0, nil), ("day", "2020-01-31", nil),
    ] as [(String, any Sendable, String?)])
  func equalNumbers(_ key: String, _ value: any Sendable, _ expected: String?) throws {
    let directory = try TemporaryDirectory("assignment-rule")
    let way = try #require(Self.ways.first)
    let found = try Self.outcome(way, key, value, try Self.opened(directory.path + "/s.plist", isDerived: false))
    #expect(found == expected ?? "code invalidValue \(key)")
  }

  @Test(
    "an expression is rounded to a floating-point attribute, and its literal may be a date",
    arguments: [
      ("half=0.1", "0.1 Float"), ("number=1 / CAST('3', 'NSDecimalNumber')", "\(1.0 / 3) Double"),
      ("day='2001-01-01T00:00:05Z'", "\(Date(timeIntervalSinceReferenceDate: 5)) Date"), ("small=3.0", "3 Int"),
      ("small=3.5", nil), ("text=3", nil), ("text=CAST(3, 'NSString')", "3 String"), ("flag=1", nil), ("day=text", nil),
    ] as [(String, String?)])
  func expressions(_ assignment: String, _ expected: String?) throws {
    let directory = try TemporaryDirectory("assignment-rule")
    let parsed = try PropertyAssignment(parsing: assignment)
    guard case .expression(let expression) = parsed.source else {
      Issue.record("\(assignment) is not an expression")
      return
    }
    let ways = [
      Way(name: "batch update") { context, key, _ in
        try Way.object(context).setValue("2020-01-01", forKey: "text")
        try context.save()
        try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: [key: expression]))
      },
      Way(name: "setValues") { context, _, _ in
        try Way.object(context).setValue("2020-01-01", forKey: "text")
        try context.setValues([parsed], entityName: "Item")
        try context.save()
      },
      Way(name: "set") { context, _, _ in
        try Way.object(context).setValue("2020-01-01", forKey: "text")
        try context.save()
        _ = try context.setAndSaveValues([parsed], entityName: "Item")
      },
    ]
    for (ending, isDerived) in [("plist", false), ("plist", true), ("sqlgraph", false), ("sqlgraph", true)] {
      let store = try Self.opened("\(directory.path)/\(isDerived).\(ending)", isDerived: isDerived)
      for way in ways {
        let found = try Self.outcome(way, parsed.property, 0, store)
        #expect(found == expected ?? "code invalidValue \(parsed.property)", "\(way.name) \(ending) \(isDerived)")
      }
    }
  }

  private final class Item: ManagedObject {
    @Managed("small") var small: Double?
    @Managed("number") var number: Int?
    @Managed("price") var price: Double?
  }

  @Test("a typed property of another number type reads what it set, and the save refuses what is not equal")
  func typed() throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try Self.model(isDerived: false), registry: .builtIn)
    coordinator.setManagedObjectClass(Item.self, forEntityName: "Item")
    try coordinator.addPersistentStore(at: "memory:")
    let context = ManagedObjectContext(coordinator)
    let item = Item(context: context)
    (item.small, item.number, item.price) = (3, 7, 0.1)
    for _ in 0..<2 {
      #expect(item["small"] as? Int == 3 && item.small == 3)
      #expect(item["number"] as? Double == 7 && item.number == 7)
      #expect(item["price"] as? DecimalNumber == DecimalNumber("0.1") && item.price == 0.1)
      try context.save()
      context.refreshAllObjects()
    }
    item.small = 3.5
    let error = #expect(throws: ManagedObjectError.self) { try context.save() }
    #expect(error?.code == .invalidValue && error?.key == "small")
  }
}
