import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Decimals in predicates, columns and derived attributes") struct DecimalCalculationTests {
  static let model: ManagedObjectModel = {
    let description = ModelDescription(entities: [
      EntityDescription(
        name: "Account",
        properties: [
          .attribute("name", .string),
          .attribute("total", .decimal, derivationExpression: "entries.@sum.amount"),
          .attribute("mean", .decimal, derivationExpression: "entries.@avg.amount"),
          .attribute(
            "whole", .integer64, derivationExpression: "entries.@count + CAST('9007199254740993.25', 'NSDecimalNumber')"
          ),
          .toMany("entries", "Entry", inverse: "account"),
        ]),
      EntityDescription(
        name: "Entry",
        properties: [
          .attribute("amount", .decimal),
          .attribute("pieces", .integer64),
          .attribute("rate", .double),
          .toOne("account", "Account", inverse: "entries"),
        ]),
    ])
    do { return try ManagedObjectModel(description) } catch { preconditionFailure("\(error)") }
  }()

  let stack: Stack

  /// Cents: 0.1, 0.2 and nil. Gold: a number beyond doubles, and 0.01.
  init() throws {
    stack = try Stack("XML", model: Self.model)
    let cents = try stack.insert("Account", ["name": "cents"])
    let gold = try stack.insert("Account", ["name": "gold"])
    _ = try stack.insert("Entry", ["amount": Self.decimal("0.1"), "pieces": 3, "rate": 0.5, "account": cents])
    _ = try stack.insert("Entry", ["amount": Self.decimal("0.2"), "pieces": 4, "rate": 0.25, "account": cents])
    _ = try stack.insert("Entry", ["account": cents])
    _ = try stack.insert(
      "Entry", ["amount": Self.decimal("100000000000000000000"), "pieces": Int.max, "account": gold])
    _ = try stack.insert("Entry", ["amount": Self.decimal("65000.01"), "pieces": 1, "account": gold])
    try stack.context.save()
  }

  static func decimal(_ text: String) throws -> DecimalNumber { try #require(DecimalNumber(text)) }

  private func column(_ format: String, of entity: String = "Entry", where text: String) throws -> Any? {
    var request = FetchRequest<ManagedObject>(entityName: entity, predicate: try FetchPredicate(format: text))
    request.propertiesToFetch = [try FetchColumn(format: format, as: "x")]
    return try #require(try stack.context.fetchRows(request).first)["x"]
  }

  @Test(
    "a calculation with decimals and integers results in a decimal, exact or of 38 digits",
    arguments: [
      ("sum:(amount)", "0.3"), ("average:(amount)", "0.15"), ("median:(amount)", "0.15"), ("mode:(amount)", "0.1"),
      ("max:(amount)", "0.2"),
      ("sum:({0.1, 2})", nil), ("average:(amount) * 3", "0.45"), ("average:(pieces)", nil), ("stddev:(amount)", nil),
    ] as [(String, String?)])
  func aggregates(_ format: String, _ expected: String?) throws {
    let found = try column(format, where: "account.name == 'cents'")
    if let expected {
      #expect(
        try #require(found as? DecimalNumber).isNumericallyEqual(to: Self.decimal(expected)),
        "\(String(describing: found))")
    } else {
      #expect(found is Double)
    }
  }

  @Test(
    "so does arithmetic of one object's values",
    arguments: [
      ("amount * 3", "0.3"), ("amount + amount + amount", "0.3"), ("amount - 1", "-0.9"),
      ("amount / 3", "0.033333333333333333333333333333333333333"),
      ("amount / pieces", "0.033333333333333333333333333333333333333"), ("amount ** 3", "0.001"),
      ("modulus:by:(pieces, amount)", "0"), ("amount + 0.5", "0.6"), ("amount * (0.1 + 0.2)", "0.03"),
      ("abs:(amount - 1)", "0.9"), ("floor:(amount)", "0"), ("ceiling:(amount)", "1"), ("trunc:(amount * 15)", "1"),
    ])
  func arithmetic(_ format: String, _ expected: String) throws {
    let found = try column(format, where: "pieces == 3")
    #expect(
      try #require(found as? DecimalNumber).isNumericallyEqual(to: Self.decimal(expected)),
      "\(String(describing: found))")
  }

  @Test(
    "with a double among them the result is a double",
    arguments: ["amount * rate", "amount + 0.5 + rate", "amount / 0.0", "sqrt:(amount)", "amount / 0"])
  func doubles(_ format: String) throws { #expect(try column(format, where: "pieces == 3") is Double) }

  @Test("integers remain integers while they fit, and are doubles beyond")
  func integers() throws {
    #expect(try column("sum:(pieces)", where: "account.name == 'cents'") as? Int == 7)
    #expect(try column("sum:(pieces)", where: "account.name == 'gold'") as? Double == 0x1p63)
    #expect(try column("average:(pieces)", where: "account.name == 'cents'") as? Double == 3.5)
  }

  @Test("a path's @sum and @avg are exact, as a key path, a column or in a predicate")
  func paths() throws {
    let total = try Self.decimal("100000000000000065000.01")
    let mean = try Self.decimal("50000000000000032500.005")
    let gold = try #require(try stack.first("Account", "gold"))
    #expect(try #require(gold.value(forKeyPath: "entries.@sum.amount") as? DecimalNumber).isNumericallyEqual(to: total))
    #expect(try #require(gold.value(forKeyPath: "entries.@avg.amount") as? DecimalNumber).isNumericallyEqual(to: mean))
    let column = try #require(
      try column("entries.@sum.amount", of: "Account", where: "name == 'gold'") as? DecimalNumber)
    #expect(column.isNumericallyEqual(to: total))
    let request = FetchRequest<ManagedObject>(
      entityName: "Account",
      predicate: try FetchPredicate(format: "entries.@sum.amount == %@ AND entries.@avg.amount == %@", total, mean))
    #expect(try stack.context.fetch(request) == [gold])
  }

  @Test("groups are summed and filtered exactly")
  func groups() throws {
    var request = FetchRequest<ManagedObject>(entityName: "Entry")
    request.propertiesToFetch = [
      FetchColumn(keyPath: "account.name"), try FetchColumn(format: "sum:(amount)", as: "sum"),
    ]
    request.propertiesToGroupBy = ["account.name"]
    request.havingPredicate = try FetchPredicate(format: "sum:(amount) == 0.3")
    let rows = try stack.context.fetchRows(request)
    #expect(rows.count == 1 && rows.first?["account.name"] as? String == "cents")
    #expect(try #require(rows.first?["sum"] as? DecimalNumber) == Self.decimal("0.3"))
  }

  @Test("derived attributes are computed exactly, and rounded if their type is less precise")
  func derived() throws {
    let gold = try #require(try stack.first("Account", "gold"))
    #expect(
      try (gold["total"] as? DecimalNumber)?.isNumericallyEqual(to: Self.decimal("100000000000000065000.01")) == true)
    #expect(
      try (gold["mean"] as? DecimalNumber)?.isNumericallyEqual(to: Self.decimal("50000000000000032500.005")) == true)
    // No double is this number.
    #expect(gold["whole"] as? Int == 9_007_199_254_740_995)
    let cents = try #require(try stack.first("Account", "cents"))
    #expect(try (cents["total"] as? DecimalNumber)?.isNumericallyEqual(to: Self.decimal("0.3")) == true)
  }

  @Test("an error of a function names the object that has no result", arguments: ["amount - 0.1", "pieces - 3"])
  func errorsOfFunctions(_ divisor: String) throws {
    var request = FetchRequest<ManagedObject>(
      entityName: "Entry", predicate: try FetchPredicate(format: "modulus:by:(7, \(divisor)) == 1"))
    let entry = try #require(try stack.fetch("Entry").first { $0["pieces"] as? Int == 3 })
    let name = "Entry/\(try #require(entry.objectID.reference)): modulus:by: has no result for 7 and 0"
    let error = graphError { _ = try stack.context.fetch(request) }
    #expect(error?.description.hasPrefix(name) == true, "\(String(describing: error))")
    #expect(error?.objectID == entry.objectID)
    request.predicate = nil
    request.propertiesToFetch = [try FetchColumn(format: "modulus:by:(7, \(divisor))")]
    #expect(graphError { _ = try stack.context.fetchRows(request) }?.description.hasPrefix(name) == true)
  }
}
