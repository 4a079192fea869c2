import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

/// Groups that are formed of columns, against groups of objects: an unsaved object of another entity makes the
/// difference.
@Suite("Groups from columns") struct ColumnGroupTests {
  private static let keys = [
    "small", "large", "price", "ratio", "share", "title", "done", "day", "blob", "key", "link", "place.city", "next",
    "owner.name", "next.title", "next.price", "owner",
  ]
  private static let numbers = ["small", "large", "price", "ratio", "share", "done", "next.medium", "next.price"]
  private static let ordered = numbers + ["title", "day", "owner.name"]

  private static func pick(_ list: [String], _ generator: inout SeededGenerator) -> String {
    list.randomElement(using: &generator) ?? ""
  }

  private static func request(_ generator: inout SeededGenerator) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    let keys = (0..<Int.random(in: 0..<3, using: &generator)).map { _ in pick(Self.keys, &generator) }
    request.propertiesToGroupBy = keys.map { FetchColumn(keyPath: $0) }
    var columns = keys + ["@count"]
    for _ in 0..<Int.random(in: 1..<4, using: &generator) {
      let number = pick(numbers, &generator)
      columns += [
        "sum:(\(number))", "average:(\(number))", "count:(\(pick(Self.keys, &generator)))", "@sum.\(number)",
        "sum:(\(number)) * 2 + 1", "\(pick(["min:", "max:"], &generator))(\(pick(ordered, &generator)))",
      ].shuffled(using: &generator).prefix(2)
    }
    request.propertiesToFetch = try columns.map { try FetchColumn(format: $0) }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: request.havingPredicate = try FetchPredicate(format: "@count > 2 AND sum:(small) >= 0")
    case 1: request.havingPredicate = try FetchPredicate(format: "average:(large) < 100 OR max:(day) != nil")
    default: break
    }
    if Bool.random(using: &generator) { request.predicate = try FetchPredicate(format: "small >= 0 OR done == YES") }
    if Bool.random(using: &generator) { request.sortKeys = [SortKey("medium", isAscending: false), SortKey("title")] }
    request.includesSubentities = Int.random(in: 0..<4, using: &generator) > 0
    request.returnsDistinctResults = Int.random(in: 0..<4, using: &generator) == 0
    request.fetchLimit = [0, 0, 1, 5].randomElement(using: &generator) ?? 0
    request.fetchOffset = [0, 0, 2].randomElement(using: &generator) ?? 0
    return request
  }

  static func outcome(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext) -> String {
    do {
      return try context.fetchRows(request).map { row in
        row.values.map { value in
          switch value {
          case .value(.double(let number)): "\(number.bitPattern)"
          case .value(.float(let number)): "f\(number.bitPattern)"
          case .value(.date(let date)): "\(date.timeIntervalSinceReferenceDate.bitPattern)"
          case .value(let value): value.typedText
          default: "\(value)"
          }
        }.joined(separator: " | ")
      }.joined(separator: "\n")
    } catch {
      return "\(error)"
    }
  }

  @Test("random requests give the same groups as objects do, to the bit, and the same errors", arguments: 0..<12)
  func random(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed) + 300)
    let stack = try FetchedRowsTests.stack(&generator).reopened()
    var fromColumns = 0
    for _ in 0..<60 {
      let request = try Self.request(&generator)
      stack.context.reset()
      let found = Self.outcome(request, stack.context)
      if stack.context.registeredObjects.isEmpty { fromColumns += 1 }
      let other = try stack.insert("Other", [:])
      #expect(
        found == Self.outcome(request, stack.context),
        "\(request.propertiesToFetch.map(\.name)) by \(request.propertiesToGroupBy)")
      stack.context.delete(other)
      stack.context.processPendingChanges()
    }
    // What groups objects would pass everything else.
    #expect(fromColumns > 20, "\(fromColumns) of 60")
  }

  @Test("an aggregate of a key is one of its objects, as in SQL; beside it the key has one value")
  func aggregatesOfKeys() throws {
    let stack = try Stack(model: try FetchedRowsTests.model())
    for (small, count) in [(Int16(-8), 2), (3, 5)] {
      for _ in 0..<count { _ = try stack.insert("Thing", ["small": small, "title": "t"]) }
    }
    _ = try stack.insert("Thing", ["title": "t"])
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.propertiesToGroupBy = ["small"]
    request.propertiesToFetch = try [
      "small", "@count", "count:(small)", "sum:(small)", "average:(small)", "median:(small)", "small + 1",
    ].map { try FetchColumn(format: $0) }
    request.havingPredicate = try FetchPredicate(format: "count:(small) > 2 OR sum:(small) < 0 OR small == nil")
    let wanted: [[StoredValue]] = [
      [.integer(-8), .integer(2), .integer(2), .integer(-16), .double(-8), .double(-8), .integer(-7)],
      [.integer(3), .integer(5), .integer(5), .integer(15), .double(3), .double(3), .integer(4)],
      [.null, .integer(1), .integer(0), .integer(0), .null, .null, .null],
    ]
    for isMedian in [true, false] {
      for hasChanges in [false, true] {
        if hasChanges { _ = try stack.insert("Other", [:]) }
        if !isMedian { request.propertiesToFetch.removeAll { $0.name.hasPrefix("median") } }
        let rows = try stack.context.fetchRows(request).map(\.values)
        let expected = wanted.map { row in row.enumerated().filter { isMedian || $0.offset != 5 }.map { $0.element } }
        #expect(rows == expected.map { $0.map { .value($0) } }, "\(rows)")
        stack.context.rollback()
      }
    }
  }
}
