import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Numbers are equal by value, and data by their spelling") struct NumberEqualityTests {
  static let pairs: [(StoredValue, StoredValue)] = [
    (.decimal(DecimalNumber(mantissa: 110, exponent: -2)), .decimal(DecimalNumber(mantissa: 11, exponent: -1))),
    (.decimal(DecimalNumber(100)), .decimal(DecimalNumber(mantissa: 1, exponent: 2))),
    (.decimal(DecimalNumber(mantissa: 0, exponent: -3)), .decimal(DecimalNumber(0))),
    (.decimal(DecimalNumber(mantissa: 10, exponent: 126)), .decimal(DecimalNumber(mantissa: 1, exponent: 127))),
    (.double(-0.0), .double(0.0)), (.float(-0.0), .float(0.0)),
    (.double(.nan), .double(Double(bitPattern: Double.nan.bitPattern | 1))),
    (.date(Date(timeIntervalSinceReferenceDate: -0.0)), .date(Date(timeIntervalSinceReferenceDate: 0))),
  ]

  @Test("two spellings of a number are equal, have the same hash, and are not identical", arguments: pairs)
  func equality(_ one: StoredValue, _ other: StoredValue) {
    #expect(one == other)
    #expect(Set([one, other]).count == 1)
    #expect(!one.isIdentical(to: other))
    #expect(one.isIdentical(to: one))
  }

  @Test(
    "different numbers are not equal",
    arguments: [("1.1", "1.11"), ("0", "1e-128"), ("NaN", "0"), ("1", "-1"), ("1e127", "1e126")])
  func inequality(_ one: String, _ other: String) throws {
    #expect(try #require(DecimalNumber(one)) != #require(DecimalNumber(other)))
    #expect(try #require(DecimalNumber(one)) == #require(DecimalNumber(one)))
  }

  static func decimal(_ text: String) throws -> DecimalNumber { try #require(DecimalNumber(text)) }

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Rate",
          properties: [
            .attribute("decimal", .decimal),
            .attribute("double", .double),
            .attribute("live", .undefined, isTransient: true),
          ])
      ]))
  }

  @Test("another spelling is a change, which is saved and undone", arguments: Stack.types)
  func change(_ type: String) throws {
    let stack = try Stack(type, model: try Self.model())
    let rate = try stack.insert("Rate", ["decimal": try Self.decimal("1.10"), "double": 0.0])
    try stack.context.save()
    try rate.setValue(try Self.decimal("1.1"), forKey: "decimal")
    #expect(rate.isUpdated)
    try stack.context.save()
    #expect((try stack.reread("Rate").first?["decimal"] as? DecimalNumber)?.description == "1.1")
    try rate.setValue(-0.0, forKey: "double")
    #expect(rate.isUpdated)
    try rate.setValue(0.0, forKey: "double")
    #expect(!rate.isUpdated)
    try rate.setValue(try Self.decimal("2.0"), forKey: "live")
    try rate.setValue(try Self.decimal("2"), forKey: "live")
    #expect((rate["live"] as? DecimalNumber)?.description == "2")
  }

  @Test("distinct rows and groups have one for each number")
  func distinct() throws {
    let stack = try Stack(model: try Self.model())
    let values = [("1.10", 0.0), ("1.1", -0.0), ("2", 1.0), ("NaN", .nan), ("0", 3), ("NaN", .nan)]
    for (decimal, double) in values {
      _ = try stack.insert("Rate", ["decimal": try Self.decimal(decimal), "double": double])
    }
    try stack.context.save()
    let context = try stack.reopened().context
    for key in ["decimal", "double"] {
      var request = FetchRequest<ManagedObject>(entityName: "Rate")
      request.propertiesToFetch = [FetchColumn(keyPath: key)]
      request.returnsDistinctResults = true
      #expect(try context.fetchRows(request).count == 4)
      request.returnsDistinctResults = false
      request.propertiesToGroupBy = [FetchColumn(keyPath: key)]
      // Not-a-number equals nothing: each is a group.
      #expect(try context.fetchRows(request).count == 5)
      request.fetchOffset = 1
      request.fetchLimit = .max
      #expect(try context.fetchRows(request).count == 4)
    }
  }

  @Test("a comparison of stores distinguishes spellings")
  func comparison() throws {
    func store(_ text: String) throws -> Stack {
      let stack = try Stack("XML", model: try Self.model())
      _ = try stack.insert("Rate", ["decimal": try Self.decimal(text)])
      try stack.context.save()
      return stack
    }
    func snapshot(_ stack: Stack) -> StoreSnapshot {
      StoreSnapshot(nodes: stack.store.nodes, metadata: stack.store.metadata)
    }
    let (one, other) = (try store("1.10"), try store("1.1"))
    let found = GraphComparison.differences(snapshot(one), snapshot(other))
    #expect(found.filter { $0.kind == .changed }.map(\.key) == ["decimal"])
  }
}
