import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import StorePredicates
import TestSupport
import Testing

/// Expressions have the same results over columns, on objects, and in every type of store.
@Suite("Computed columns and groups") struct ComputedColumnTests {
  private static let expressions = [
    "year:(day)", "month:(day, 'Europe/Berlin')", "startOf:(day, 'week')", "weekday:(owner.thing.day)", "hour:(day)",
    "dateText:(day, '+05:45')", "round:(ratio, 1)", "round:(price)", "round:(price, 1)", "round:(large, -2)",
    "coalesce:(title, owner.name, 'none')", "coalesce:(next, owner)", "title + ' ' + owner.name", "trim:(title)",
    "replace:(title, 'a', 'bb')", "substring:(title, 1, 2)", "concat:(small, '/', price)", "split:(title, ',')",
    "uppercase:(title)", "length:(title) * 2", "small / 2", "ratio * small", "price + large", "sqrt:(small)",
    "TERNARY(small > 0 AND title != nil, title, link)", "TERNARY(next == nil, 1, 2)", "CAST(small, 'NSString')",
    "kind:(title)", "size:(title)", "hex:(title)", "abs:(ratio)", "modulus:by:(large, 7)", "day + 60",
    "percentile:({small, large}, 0.5)",
    "max:(small, large)", "place.city + '!'", "count:(#all) + 1", "first:(list.title)", "join:(#all.title, '|')",
    "SELF",
    "'constant'", "small + nil", "title + 1", "year:(small)", "year:(next)", "next.title.length",
  ]

  /// Those whose values are objects.
  private static let areObjects = ["coalesce:(next, owner)", "SELF"]

  /// Every expression as a column, as a key of groups, and within aggregates.
  private static func requests() throws -> [FetchRequest<ManagedObject>] {
    try expressions.flatMap { text in
      var rows = FetchRequest<ManagedObject>(entityName: "Thing")
      rows.propertiesToFetch = [try FetchColumn(format: text), "title"]
      var sorted = rows
      sorted.rowSortKeys = [SortKey(text), SortKey("length:(title)", isAscending: false)]
      sorted.fetchLimit = 7
      var distinct = rows
      distinct.propertiesToFetch.removeLast()
      distinct.returnsDistinctResults = true
      var groups = FetchRequest<ManagedObject>(entityName: "Thing")
      groups.predicate = try FetchPredicate(format: "small != 300")
      groups.propertiesToGroupBy = [try FetchColumn(format: text)]
      groups.propertiesToFetch =
        groups.propertiesToGroupBy + [
          "@count", try FetchColumn(format: "sum:(small)"), try FetchColumn(format: "max:(day)"),
        ]
      var aggregates = groups
      aggregates.propertiesToGroupBy.append("small")
      aggregates.propertiesToFetch = [
        "small", try FetchColumn(format: "count:(\(text))"), try FetchColumn(format: "first:(\(text))"),
      ]
      aggregates.havingPredicate = try FetchPredicate(format: "@count > 1")
      return [rows, sorted, distinct, groups, aggregates]
    }
  }

  private static func name(_ request: FetchRequest<ManagedObject>) -> Comment {
    "\(request.propertiesToFetch.map(\.name)) by \(request.propertiesToGroupBy.map(\.name)), \(request.rowSortKeys)"
  }

  @Test("expressions over columns give what they give on objects, to the bit, and the same errors", arguments: 0..<6)
  func objects(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed + 900)
    let stack = try FetchedRowsTests.stack(&generator).reopened()
    var fromColumns = 0
    for request in try Self.requests() {
      stack.context.reset()
      let found = ColumnGroupTests.outcome(request, stack.context)
      if stack.context.registeredObjects.isEmpty { fromColumns += 1 }
      // With a change, objects are evaluated.
      let other = try stack.insert("Other", [:])
      #expect(found == ColumnGroupTests.outcome(request, stack.context), Self.name(request))
      stack.context.delete(other)
      stack.context.processPendingChanges()
    }
    // What evaluates objects would pass everything else.
    #expect(fromColumns > (Stack.isLoaded ? 80 : -1), "\(fromColumns)")
  }

  @Test(
    "expressions give the same in every type of store", arguments: ["XML", "BinaryPropertyList", "SQLiteGraph"],
    0..<2 as Range<UInt64>)
  func stores(_ type: String, _ seed: UInt64) throws {
    var (one, other) = (SeededGenerator(seed: seed + 950), SeededGenerator(seed: seed + 950))
    let memory = try FetchedRowsTests.stack(&one, "InMemory").reopened()
    let stored = try FetchedRowsTests.stack(&other, type).reopened()
    for request in try Self.requests() {
      // Each store numbers its objects.
      guard !Self.areObjects.contains(where: { text in request.propertiesToFetch.contains { $0.name.contains(text) } })
      else { continue }
      // Also in errors, and which comes first depends on that.
      let outcomes = [memory, stored].map {
        ColumnGroupTests.outcome(request, $0.context).replacing(#/^\w+/\w+: /#, with: "")
      }
      #expect(outcomes[0] == outcomes[1], Self.name(request))
    }
  }
}
