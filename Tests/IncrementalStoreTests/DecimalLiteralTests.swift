import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// A literal with a fraction is exact where it meets a Decimal, and a double where it meets a double: on objects, on
/// columns and in databases.
@Suite("Literals with a fraction") struct DecimalLiteralTests {
  private static let model: ManagedObjectModel = {
    let item = EntityDescription(
      name: "Item",
      properties: [
        .attribute("number", .integer64), .attribute("price", .decimal), .attribute("cost", .decimal),
        .attribute("rate", .double), .attribute("weight", .float), .attribute("count", .integer32),
        .toOne("other", "Item", inverse: "others"), .toMany("others", "Item", inverse: "other"),
      ])
    do { return try ManagedObjectModel(ModelDescription(entities: [item])) } catch { preconditionFailure("\(error)") }
  }()

  /// Decimals of 1 to 38 digits, with and without exponents.
  private static func decimal(_ random: inout SeededGenerator) -> String {
    var digits = "\(Int.random(in: 1...9, using: &random))"
    for _ in 1..<Int.random(in: 1...38, using: &random) { digits += "\(Int.random(in: 0...9, using: &random))" }
    let point = digits.index(digits.startIndex, offsetBy: Int.random(in: 0...digits.count, using: &random))
    let whole = String(digits[..<point])
    let text = "\(whole.isEmpty ? "0" : whole).\(String(digits[point...]))0"
    let power = Int.random(in: 0..<4, using: &random) > 0 ? "" : "e\(Int.random(in: -30...30, using: &random))"
    return (Bool.random(using: &random) ? "-" : "") + text + power
  }

  /// The number with another last digit.
  private static func neighbor(_ text: String) -> String {
    guard let number = DecimalNumber(text) else { return text }
    return DecimalNumber(
      mantissa: number.mantissa + 1, exponent: number.exponent, isNegative: number.isNegative
    ).description.replacing("E+", with: "e")
  }

  private static func stack(_ type: String, _ path: String, _ seed: UInt64) throws -> ManagedObjectContext {
    var random = SeededGenerator(seed: seed)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: path)
    let context = ManagedObjectContext(coordinator)
    var items: [ManagedObject] = []
    for number in 0..<40 {
      let item = try context.insertNewObject(forEntityName: "Item")
      try item.setValue(number, forKey: "number")
      try item.setValue(Int.random(in: -20...20, using: &random), forKey: "count")
      for key in ["price", "cost"] where Int.random(in: 0..<8, using: &random) > 0 {
        let isNumber = Int.random(in: 0..<12, using: &random) > 0
        try item.setValue(isNumber ? DecimalNumber(Self.decimal(&random)) : DecimalNumber.nan, forKey: key)
      }
      let number = try #require(Double(Self.decimal(&random)))
      try item.setValue(number, forKey: "rate")
      try item.setValue(Float(number / 1e8), forKey: "weight")
      try item.setValue(items.randomElement(using: &random), forKey: "other")
      items.append(item)
    }
    try context.save()
    return ManagedObjectContext(coordinator)
  }

  /// A value of an object, if it is a number.
  private static func number(_ object: ManagedObject?, _ key: String) -> DecimalNumber? {
    (object?[key] as? DecimalNumber).flatMap { $0.isNaN ? nil : $0 }
  }

  /// Literals that are, or nearly are, values of the objects.
  private static func literals(_ objects: [ManagedObject], _ random: inout SeededGenerator) -> [String] {
    (0..<3).map { _ in
      let object = objects.randomElement(using: &random)
      let text: String? =
        switch Int.random(in: 0..<4, using: &random) {
        case 0: number(object, "price")?.description
        case 1: number(object, "cost").map { Self.neighbor($0.description) }
        case 2: (object?["rate"] as? Double).map { String(format: "%.17g", $0) }
        default: nil
        }
      return (text ?? Self.decimal(&random)).replacing("E+", with: "e")
    }
  }

  private static let forms = [
    "K == L", "K != L", "K < M", "K >= L", "K IN {L, M, 1}", "K BETWEEN {L, M}", "L <= K", "K * L > M", "K + L == M",
    "K - count * L < M", "count * L == K", "L + M < K", "count / 3 * L < price", "coalesce:(K, L) * 2 == L * 2",
    "abs:(L) < abs:(K * M)", "K / L > M", "other.K == L", "ANY others.K > L", "other.price + L < rate",
    "TERNARY(count > 0, L, price) < M", "SUBQUERY(others, $x, $x.price * L > M).@count > 0", "max:({K, L}) == L",
    "price + (rate + L * M) > M",
  ]

  private static func predicates(_ objects: [ManagedObject], _ seed: UInt64) -> [String] {
    var random = SeededGenerator(seed: seed &+ 1000)
    return (0..<250).map { index in
      let literals = literals(objects, &random)
      let key = ["price", "cost", "rate", "weight", "count"].randomElement(using: &random) ?? "price"
      return forms[index % forms.count].replacing("K", with: key).replacing("L", with: literals[0])
        .replacing("M", with: literals[1])
    }
  }

  private static func numbers(_ context: ManagedObjectContext, _ predicate: FetchPredicate) throws -> [Int] {
    let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
    return try context.fetch(request).compactMap { $0["number"] as? Int }.sorted()
  }

  private static func compare(_ type: String, at path: String, _ folder: TemporaryDirectory, _ seed: UInt64) throws {
    let columns = try stack("BinaryPropertyList", folder.path + "/items.plist", seed)
    let database = try stack(type, path, seed)
    let objects = try columns.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    var found = 0
    for text in predicates(objects, seed) {
      let predicate = try FetchPredicate(format: text)
      #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
      let expected = try objects.filter { try predicate.evaluate(with: $0) }.compactMap { $0["number"] as? Int }
        .sorted()
      #expect(try numbers(columns, predicate) == expected, "\(text)")
      #expect(try numbers(database, predicate) == expected, "\(text)")
      found += expected.isEmpty || expected.count == objects.count ? 0 : 1
    }
    #expect(found > 80)
    for key in ["price", "other.price"] {
      for isAscending in [true, false] {
        let keys = [SortKey(key, isAscending: isAscending), SortKey("number")]
        #expect(try sorted(database, keys) == sorted(columns, keys), "\(keys)")
      }
    }
  }

  /// The numbers of the first objects, and all of them, in an order that a store determines.
  private static func sorted(_ context: ManagedObjectContext, _ keys: [SortKey]) throws -> [[Int]] {
    try [7, 0].map { limit in
      var request = FetchRequest<ManagedObject>(entityName: "Item", sortKeys: keys)
      request.fetchLimit = limit
      return try context.fetch(request).compactMap { $0["number"] as? Int }
    }
  }

  @Test(
    "a database compares and sorts decimals itself", arguments: ["price > 5", "price == 0.1", "ANY others.price < 3"])
  func pushedDown(_ text: String) throws {
    let folder = try TemporaryDirectory("literals")
    let context = try Self.stack("SQLiteGraph", folder.path + "/items.sqlgraph", 7)
    let request = FetchRequest<ManagedObject>(
      entityName: "Item", predicate: try FetchPredicate(format: text), sortKeys: [SortKey("price")])
    #expect(try context.explain(request).method == .store)
  }

  private static let kinds = TestServer.url == nil ? ["SQLiteGraph"] : ["SQLiteGraph", "PostgreSQL"]

  private static func place(_ kind: String, _ folder: TemporaryDirectory, _ name: String) -> String {
    guard kind == "PostgreSQL" else { return folder.path + "/items.sqlgraph" }
    return TestServer.schema("\(name)_\(UUID().uuidString.prefix(8).lowercased())")
  }

  @Test(
    "a text that is not a decimal is an error of a request that compares or sorts it, which names the property and the object",
    arguments: [
      "ten", "", " 5", "5 ", "--5", "5-", "1.2.3", ".", "1e", "1e999", "1e-129", "0x1F", "1_000", "nan", "Infinity",
      "-Infinity", "inf", "340282366920938463463374607431768211456", "-1234567890123456789012345678901234567890",
      "0." + String(repeating: "0", count: 128) + "1", String(repeating: "9", count: 2000), "5\u{1}", "é",
    ], kinds)
  func noDecimal(text: String, kind: String) throws {
    let folder = try TemporaryDirectory("literals")
    let path = Self.place(kind, folder, "no_decimal")
    _ = try Self.stack(kind, path, 8)
    try OtherProgram.run("UPDATE \"Item\" SET \"price\" = '\(text)' WHERE id = 3", in: path)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model, registry: .builtIn)
    try coordinator.addPersistentStore(type: kind, at: path)
    let context = ManagedObjectContext(coordinator)
    for request in [
      FetchRequest<ManagedObject>(entityName: "Item", predicate: try FetchPredicate(format: "price > 5")),
      FetchRequest<ManagedObject>(entityName: "Item", predicate: try FetchPredicate(format: "price != 5")),
      FetchRequest<ManagedObject>(entityName: "Item", sortKeys: [SortKey("price")]),
    ] {
      let error = #expect(throws: ManagedObjectError.self) { try context.fetch(request) }
      #expect("\(error.map { "\($0)" } ?? "")".contains("a value of 'Item.price' is not a decimal number"))
      #expect((error?.underlying as? PersistentStoreError)?.location.reference == "3")
    }
  }

  @Test("a decimal that is written in another way is compared as it is read", arguments: kinds)
  func otherForms(kind: String) throws {
    let folder = try TemporaryDirectory("literals")
    let path = Self.place(kind, folder, "other_forms")
    _ = try Self.stack(kind, path, 9)
    let texts = [
      "5", ".5", "5.", "+5", "-5", "-.5", "1e5", "15E+1", "5e-3", "007.50", "NaN", "-0", "1e0005", "0e127", "1E-128",
      "340282366920938463463374607431768211455", "-340282366920938463463374607431768211455e-100",
      "12345678901234567890.12345678901234567", "0." + String(repeating: "0", count: 127) + "1",
      String(repeating: "0", count: 300) + "5", "99999999999999999999999999999999999999",
    ]
    try OtherProgram.run("DELETE FROM \"Item\" WHERE id > \(texts.count)", in: path)
    for (number, text) in texts.enumerated() {
      try OtherProgram.run("UPDATE \"Item\" SET \"price\" = '\(text)' WHERE id = \(number + 1)", in: path)
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model, registry: .builtIn)
    try coordinator.addPersistentStore(type: kind, at: path)
    let database = ManagedObjectContext(coordinator)
    let objects = try database.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    #expect(objects.count == texts.count)
    for format in ["price > 5", "price == 5", "price != 0.5", "price <= 0", "price < 1e-127", "price >= 100000"] {
      let predicate = try FetchPredicate(format: format)
      let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
      #expect(try database.explain(request).method == .store)
      let expected = try objects.filter { try predicate.evaluate(with: $0) }.compactMap { $0["number"] as? Int }
      #expect(!expected.isEmpty)
      #expect(try Self.numbers(ManagedObjectContext(coordinator), predicate) == expected.sorted(), "\(format)")
    }
    let copy = folder.path + "/copy.plist"
    _ = try StoreConverter(registry: .builtIn).convert(from: path, to: copy)
    let other = PersistentStoreCoordinator(registry: .builtIn)
    try other.addPersistentStore(at: copy)
    let keys = [SortKey("price"), SortKey("number")]
    #expect(try Self.sorted(ManagedObjectContext(coordinator), keys) == Self.sorted(ManagedObjectContext(other), keys))
  }

  @Test(
    "a decimal whose name has a quote, a parameter's sign or NUL is compared and sorted",
    arguments: ["it's", "a\0b", "\0", "?1", "a'\0'?1\"b"], kinds)
  func names(name: String, kind: String) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "It'\0m", properties: [.attribute("number", .integer64), .attribute(name, .decimal)])
      ]))
    let folder = try TemporaryDirectory("literals")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: kind, at: Self.place(kind, folder, "names"))
    let context = ManagedObjectContext(coordinator)
    for number in 0..<5 {
      let item = try context.insertNewObject(forEntityName: "It'\0m")
      try item.setValue(number, forKey: "number")
      try item.setValue(DecimalNumber(Int64(7 * number % 5)), forKey: name)
    }
    try context.save()
    let request = FetchRequest<ManagedObject>(
      entityName: "It'\0m",
      predicate: .comparison(.init(.keyPath([name]), .greater, .constant(.decimal(DecimalNumber(1))))),
      sortKeys: [SortKey(name)])
    let other = ManagedObjectContext(coordinator)
    #expect(try other.explain(request).method == .store)
    #expect(try other.fetch(request).compactMap { $0["number"] as? Int } == [1, 4, 2])
  }

  @Test("objects, columns and SQLite agree", arguments: [1, 2, 3] as [UInt64])
  func agreement(seed: UInt64) throws {
    let folder = try TemporaryDirectory("literals")
    try Self.compare("SQLiteGraph", at: folder.path + "/items.sqlgraph", folder, seed)
  }

  @Test(
    "so does PostgreSQL", .enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server"),
    arguments: [4] as [UInt64])
  func postgreSQL(seed: UInt64) throws {
    try Self.compare(
      "PostgreSQL", at: TestServer.schema("literals"), try TemporaryDirectory("literals"), seed)
  }

  @Test("beside a Decimal all digits count, beside a double those that it has", arguments: [5, 6] as [UInt64])
  func comparisons(seed: UInt64) throws {
    let folder = try TemporaryDirectory("literals")
    let context = try Self.stack("BinaryPropertyList", folder.path + "/items.plist", seed)
    for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")) {
      guard let price = Self.number(object, "price"), let rate = object["rate"] as? Double else { continue }
      let text = price.description.replacing("E+", with: "e")
      let near = Self.neighbor(price.description)
      for (text, isEqual) in [(text, true), (near, false)] {
        for form in ["price == %", "price IN {1, %}", "price - % == 0", "% BETWEEN {price, price}"] {
          let predicate = try FetchPredicate(format: form.replacing("%", with: text))
          #expect(try predicate.evaluate(with: object) == isEqual, "\(price) \(predicate)")
        }
      }
      let digits = String(format: "%.25e", rate)
      #expect(try FetchPredicate(format: "rate == \(digits)").evaluate(with: object), "\(rate) \(digits)")
      #expect(try FetchPredicate(format: "rate * 0.1 == %@ * 0.1", rate).evaluate(with: object))
    }
  }

  @Test(
    "an integer attribute is computed in doubles, which 38 digits would leave with a fraction",
    arguments: ["XML", "SQLiteGraph"], ["count / 3 * 3", "count / 7 * 14 - count"])
  func integers(_ type: String, _ text: String) throws {
    let folder = try TemporaryDirectory("literals")
    let context = try Self.stack(type, folder.path + "/items", 3)
    let before = try context.fetch(FetchRequest(entityName: "Item")).map { try $0.value(forKey: "count") as? Int }
    let expression = try FetchExpression(format: text)
    try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["count": expression]))
    context.reset()
    #expect(try context.fetch(FetchRequest(entityName: "Item")).map { try $0.value(forKey: "count") as? Int } == before)
  }

  @Test("a cast to a decimal is of the exact value")
  func casts() throws {
    let expression = try FetchExpression(format: "CAST(count * 0.1, 'NSDecimalNumber')")
    let folder = try TemporaryDirectory("literals")
    let context = try Self.stack("XML", folder.path + "/items", 1)
    let item = try #require(try context.fetch(FetchRequest(entityName: "Item")).first)
    try item.setValue(1001, forKey: "count")
    #expect(try expression.value(with: item) as? DecimalNumber == DecimalNumber("100.1"))
  }

  @Test(
    "a calculation of literals and integers is exact where it meets a Decimal, and alone a double",
    arguments: [
      ("0.1 + 0.2", "0.3"), ("count * 0.1", "0.7"), ("count / 4", "1.75"), ("1.5 ** 2", "2.25"),
      ("2 * (0.1 + 0.2)", "0.6"), ("12345678901234567890.25 - 0.25", "12345678901234567890"),
    ])
  func calculations(_ text: String, _ exact: String) throws {
    let folder = try TemporaryDirectory("literals")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model, registry: .builtIn)
    try coordinator.addPersistentStore(at: folder.path + "/items.plist")
    let context = ManagedObjectContext(coordinator)
    let item = try context.insertNewObject(forEntityName: "Item")
    try item.setValue(1, forKey: "number")
    try item.setValue(7, forKey: "count")
    try item.setValue(DecimalNumber(exact), forKey: "price")
    try context.save()
    for text in ["price == \(text)", "price - (\(text)) == 0", "price IN {\(text)}"] {
      let predicate = try FetchPredicate(format: text)
      #expect(try Self.numbers(context, predicate) == [1], "\(text)")
      #expect(try predicate.evaluate(with: item), "\(text)")
    }
    let expression = try FetchExpression(format: text)
    #expect(try expression.value(with: item) is DecimalNumber == text.contains("12345678901234567890"))
    try item.setValue(nil, forKey: "price")
    try context.save()
    _ = try context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["price": expression]))
    context.refreshAllObjects()
    #expect(item["price"] as? DecimalNumber == DecimalNumber(exact))
  }
}
