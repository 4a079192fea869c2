import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A request for groups of a check, as it is written.
struct AskedGroups: Sendable {
  var format: String?
  var keys: [String] = []
  var columns: [String]
  var having: String?
  var sort: [SortKey] = []

  func made() throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Item", sortKeys: sort)
    if let format { request.predicate = try FetchPredicate(format: format) }
    if let having { request.havingPredicate = try FetchPredicate(format: having) }
    request.propertiesToGroupBy = keys.map { FetchColumn(keyPath: $0) }
    request.propertiesToFetch = try (keys + columns).map { try FetchColumn(format: $0) }
    return request
  }
}

/// INC, continued: groups of rows.
extension Checks {
  private static let comparison = "; the rows are compared with those of a property list with the same graph"

  private static let askedGroups: [AskedGroups] = [
    AskedGroups(keys: ["isNew"], columns: ["@count"]),
    AskedGroups(keys: ["name"], columns: ["@count", "min:(small)", "max:(name)"]),
    AskedGroups(keys: ["owner"], columns: ["count:(name)", "sum:(big)"]),
    AskedGroups(keys: ["owner.name", "isNew"], columns: ["average:(small)"], having: "@count > 1"),
    AskedGroups(format: "small > 0", keys: ["code"], columns: ["@count"]),
    AskedGroups(
      keys: ["small"], columns: ["count:(code)", "max:(made)"], sort: [SortKey("small", isAscending: false)]),
    AskedGroups(format: "small > 100", columns: ["@count", "sum:(small)", "average:(small)", "min:(name)"]),
    AskedGroups(columns: ["sum:(isNew)", "average:(owner.rank)", "count:(owner.name)"]),
  ]

  static let incrementalGroups: [CheckDefinition] = [
    incremental(
      "INC-71", "Groups have the objects, the order and the values that a property list gives them", from: kit,
      by: "groups by attributes, by objects and by their attributes, with and without a condition" + comparison,
      catches: [
        "groupsDropNull", "groupsCountNull", "groupsIgnoreCondition", "groupsTurned", "groupsLoseLast",
        "groupsTakeLeastForGreatest",
      ]
    ) { check in
      let difference = try check.process("have groups formed by both", seconds: 60) { session in
        try session.comparedStores(seed: 7, count: 60).compareRows(try askedGroups.map { try $0.made() }).difference
          ?? ""
      }
      try check.expectEqual(difference, "", "the first difference")
    },
    incremental(
      "INC-72", "A sum of integers is exact though it is greater than any of them can be", from: kit,
      by: "sums and averages of integers near the greatest and the least one", catches: ["groupSumsWrap"]
    ) { check in
      let rows = try check.process("add up great numbers") { session -> [String] in
        let context = try session.incrementalContext()
        for (name, number) in [
          ("great", Int64.max), ("great", .max), ("great", .max - 1), ("little", .min), ("little", .min),
          ("both", .max), ("both", .min), ("both", 5), ("none", nil),
        ] as [(String, Int64?)] {
          let item = try context.insertNewObject(forEntityName: "Item")
          try item.setValue(name, forKey: "name")
          try item.setValue(number, forKey: "big")
        }
        try context.save()
        let request = try AskedGroups(keys: ["name"], columns: ["sum:(big)", "average:(big)", "max:(big)"]).made()
        return try session.incrementalContext().fetchRows(request).map { row in
          row.values.map { if case .value(let value) = $0 { value.typedText } else { "\($0)" } }.joined(separator: " ")
        }
      }
      let expected: [[StoredValue]] = [
        [.string("great"), .double(0x1p63 * 3), .double(0x1p63), .integer(.max)],
        [.string("little"), .double(-0x1p64), .double(-0x1p63), .integer(.min)],
        [.string("both"), .integer(4), .double(4 / 3), .integer(.max)],
        [.string("none"), .integer(0), .null, .null],
      ]
      try check.expectList(rows, expected.map { $0.map(\.typedText).joined(separator: " ") }, "sums")
    },
    incremental(
      "INC-73", "Random requests for groups have the rows of a property list", from: kit,
      by:
        "\(requestCount) random requests for groups, with conditions of objects and of groups, sort keys, limits and offsets, to random graphs of 60 items; --runs makes more"
        + comparison,
      catches: ["groupsDropNull", "groupsCountNull", "groupsIgnoreCondition"], timeLimit: 3600
    ) { check in
      let count = check.subject.runs ?? requestCount
      for start in stride(from: 0, to: count, by: 100) {
        let graph = check.seed &* 100_000 &+ UInt64(start) &+ 50_000
        let found = try check.process("have groups formed by both", seconds: 60) { session in
          try session.comparedStores(seed: graph, count: 60)
            .compareGroups(requests: min(100, count - start), seed: graph).difference ?? ""
        }
        try check.expectEqual(found, "", "the first difference, in the graph of seed \(graph)")
      }
    },
  ]
}
