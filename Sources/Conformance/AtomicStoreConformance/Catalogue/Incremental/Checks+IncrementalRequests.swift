import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A request of a check, as it is written.
struct AskedRequest: Sendable {
  var entity = "Item"
  var format: String?
  var keys: [SortKey] = []
  var limit = 0
  var offset = 0
  var isDeep = true

  func made() throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    if let format { request.predicate = try FetchPredicate(format: format) }
    (request.sortKeys, request.fetchLimit, request.fetchOffset) = (keys, limit, offset)
    request.includesSubentities = isDeep
    return request
  }
}

/// INC, continued: what is asked for, and what is answered.
extension Checks {
  /// A check that requests have the answers that a property list gives.
  private static func same(
    _ id: String, _ title: String, by procedure: String, catches: [String], _ requests: [AskedRequest]
  ) -> CheckDefinition {
    incremental(
      id, title, by: procedure + "; the answers are compared with those of a property list with the same graph",
      catches: catches
    ) { check in try check.expectSameAnswers(requests) }
  }

  private static func predicates(_ formats: [String]) -> [AskedRequest] { formats.map { AskedRequest(format: $0) } }
  private static func up(_ path: String) -> SortKey { SortKey(path) }
  private static func down(_ path: String) -> SortKey { SortKey(path, isAscending: false) }

  static let incrementalRequests: [CheckDefinition] = [
    same(
      "INC-22", "A request returns the objects of the entities that it lists, and no others",
      by: "an entity with its sub-entities, without them, a sub-entity alone, with and without a condition",
      catches: ["subentitiesForgotten", "entitiesIgnored"],
      [
        AskedRequest(), AskedRequest(isDeep: false), AskedRequest(entity: "Special"), AskedRequest(entity: "Tag"),
        AskedRequest(format: "small > 0"), AskedRequest(format: "small > 0", isDeep: false),
        AskedRequest(entity: "Special", format: "extra != nil"),
      ]),
    same(
      "INC-23", "Limit and offset count in the order of the request",
      by: "limits and offsets within the number of objects, at its end and beyond it, each alone and both",
      catches: ["limitOffByOne", "offsetAloneIgnored"],
      [(1, 0), (3, 0), (1000, 0), (0, 2), (0, 1000), (3, 2), (5, 39), (5, 1000)].flatMap { limit, offset in
        [
          AskedRequest(keys: [up("small")], limit: limit, offset: offset),
          AskedRequest(format: "big >= 0", limit: limit, offset: offset),
        ]
      }),
    same(
      "INC-24", "Null comes first in ascending order, and last in descending order",
      by: "attributes of all types, and of objects at the other end, are sorted by, both ways",
      catches: ["nullsComeLast"],
      ["name", "small", "big", "weight", "ratio", "isNew", "made", "owner.name", "owner.rank", "price", "code"].flatMap
      {
        [AskedRequest(keys: [up($0)]), AskedRequest(keys: [down($0)])]
      }),
    same(
      "INC-25", "Objects that are equal in all sort keys are in the order of entity and reference",
      by: "values that many objects share are sorted by, with one key and with two", catches: ["tiesTurned"],
      [
        AskedRequest(keys: [up("isNew")]), AskedRequest(keys: [down("isNew")]), AskedRequest(keys: [down("small")]),
        AskedRequest(keys: [up("isNew"), down("small")]), AskedRequest(keys: [up("isNew")], limit: 7),
      ]),
    incremental(
      "INC-26", "Texts are in the order of their scalars",
      by: "texts in upper and lower case, with accents, with NUL, empty, and beyond U+FFFF are sorted",
      catches: ["sortsIgnoringCase"]
    ) { check in
      let texts = ["b", "B", "a", "A", "", "\u{E4}", "a\u{308}", "Z", "a\0", "a\u{1}", "\u{FFFD}", "😀", "ab", "_"]
      let sorted = try check.connected("sort texts") { connection in
        try connection.insert("Tag", texts.map { ["name": .string($0)] })
        // By whether they are ascending: a store may sort in one direction only.
        var lists: [String: [String]] = [:]
        for isAscending in [true, false] {
          let result = try connection.store.fetch(
            try connection.request("Tag", sort: [SortKey("name", isAscending: isAscending)]))
          guard case .exact = result.answer else { continue }
          lists["\(isAscending)"] = result.rows.map { connection.text("name", of: $0) ?? "nil" }
        }
        return lists
      }
      let expected = texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        .map { GraphText.value(.string($0)) ?? "nil" }
      if let list = sorted["true"] { try check.expectList(list, expected, "ascending") }
      if let list = sorted["false"] { try check.expectList(list, expected.reversed(), "descending") }
      try check.expectSameAnswers([AskedRequest(keys: [up("name")]), AskedRequest(keys: [down("name")])])
    },
    same(
      "INC-27", "Without sort keys, objects are in the order of entity and reference",
      by: "requests with and without a condition, and with a limit", catches: ["turnedWithoutKeys"],
      [AskedRequest(), AskedRequest(format: "small >= 0"), AskedRequest(limit: 5), AskedRequest(entity: "Owner")]),
    same(
      "INC-28",
      "What is said to be the exact answer is exact, and another answer includes all that fulfil the condition",
      by: "conditions of every kind that the language of predicates has", catches: ["supersetSaidExact", "dropsMatch"],
      predicates([
        "TRUEPREDICATE", "FALSEPREDICATE", "small == 1", "small != 1", "NOT small == 1", "small < 1 OR big > 1",
        "small == 1 AND isNew == YES", "small BETWEEN {-1, 1}", "small IN {1, 2, nil}", "name BEGINSWITH 'a'",
        "name ENDSWITH 'b'", "name CONTAINS 'a'", "name CONTAINS[c] 'A'", "name ==[d] 'a'", "name LIKE 'a*'",
        "name MATCHES 'a.*'", "name IN {'a', 'b'}", "owner.name == 'a'", "owner == nil", "owner.favourite != nil",
        "owner.favourite.name != 'a'", "tags.@count > 1", "ANY tags.name == 'a'",
        "SUBQUERY(parts, $x, $x.small > 0).@count > 0",
        "small + big > 0", "price >= 0.25", "made > CAST(0, 'NSDate')", "code != nil", "picture == nil",
        "anything == 1",
        "parts[FIRST].small > 0", "length(name) > 1", "uppercase(name) == 'A'", "small == big", "weight * 2 < 1",
      ])),
    incremental(
      "INC-29", "A count is the number of objects that the same request returns",
      by: "counts with conditions, limits and offsets", catches: ["countIgnoresCondition", "countIgnoresLimit"]
    ) { check in
      let counts = try check.connected("count and fetch") { connection in
        try connection.insert("Tag", (0..<9).map { ["name": .string("\($0 % 3)"), "weight": .double(Double($0))] })
        var wrong: [String] = []
        for (format, limit, offset) in [
          (nil, nil, 0), ("name == '1'", nil, 0), ("weight > 2", nil, 0), ("weight > 2", 4, 0), (nil, 4, 2),
          (nil, nil, 7), (nil, 5, 20), ("name == 'x'", 3, 0),
        ] as [(String?, Int?, Int)] {
          let request = try connection.request("Tag", format, limit: limit, offset: offset)
          guard let count = try connection.store.count(request) else { continue }
          let found = try connection.names(request).count
          if count != found { wrong.append("\(request): counted \(count), found \(found)") }
        }
        return wrong
      }
      try check.expectList(counts, [], "counts that are wrong")
    },
    incremental(
      "INC-30", "How a store says that it would execute a request is how it executes it",
      by: "requests that a store may answer itself or not", catches: ["answerPromisesExact"]
    ) { check in
      let formats = [
        "small == 1", "name CONTAINS[c] 'a'", "name MATCHES 'a.*'", "anything == 1",
        "SUBQUERY(parts, $x, $x.small > 0).@count > 0", "uppercase(name) == 'A'", "parts[FIRST].small > 0",
      ]
      let wrong = try check.connected("ask, and fetch") { connection in
        try connection.insert("Item", [["name": .string("a")]])
        return try formats.filter { format in
          let request = try connection.request("Item", format)
          return try connection.store.fetch(request).answer != connection.store.answer(to: request)
        }
      }
      try check.expectList(wrong, [], "requests that were executed otherwise")
    },
    incremental(
      "INC-31", "Wildcards, quotes and escapes in a text are nothing but text",
      by: "texts with the special characters of query languages are looked for with each operator",
      catches: ["percentIsWildcard"]
    ) { check in
      let texts = ["%", "_", "'", "\"", "\\", "a%b", "axb", "*", "?", "[a]", "';--", "$1", "?1", "\\%", "a\\b"]
      let wrong = try check.connected("look for such texts") { connection in
        try connection.insert("Tag", texts.map { ["name": .string($0)] })
        var wrong: [String] = []
        for text in texts {
          for (comparator, isRight) in [
            (.equal, { $0 == text }), (.beginsWith, { $0.hasPrefix(text) }), (.endsWith, { $0.hasSuffix(text) }),
            (.contains, { $0.contains(text) }),
          ] as [(FetchPredicate.Comparator, (String) -> Bool)] {
            var request = try connection.request("Tag")
            request.predicate = .comparison(.init(.keyPath(["name"]), comparator, .constant(.string(text))))
            let result = try connection.store.fetch(request)
            let slot = try connection.slot("name", of: "Tag")
            let found = result.rows.compactMap { row -> String? in
              if case .string(let text)? = row.values[slot] { text } else { nil }
            }
            let expected = texts.filter(isRight)
            let isSound = result.answer == .exact ? found == expected : Set(found).isSuperset(of: expected)
            if !isSound { wrong.append("\(comparator.rawValue) \(text): \(found) instead of \(expected)") }
          }
        }
        return wrong
      }
      try check.expectList(wrong, [], "what is found otherwise")
    },
    same(
      "INC-32",
      "Numbers are compared as numbers: -0.0 equals 0.0, and not-a-number is neither less nor greater nor equal",
      by: "doubles, floats and decimals are compared with numbers of other types", catches: ["nanIsGreatest"],
      predicates([
        "weight == 0", "weight != 0", "weight > 0", "weight >= 0", "weight < 0", "weight <= 0", "weight == 0.1",
        "ratio == 0", "ratio > 0.05", "ratio == 0.1", "price == 0.5", "price < 0.5", "price == 1", "small == 1.0",
        "weight BETWEEN {0, 1}", "NOT weight > 0", "NOT weight == 0", "weight IN {0, 1}", "big == small",
        "big < weight",
        "isNew == 1", "weight != nil", "weight == nil", "ANY tags.weight > 0", "alone.weight >= 0",
      ])),
    same(
      "INC-33", "ANY, ALL and NONE hold for empty lists and null elements as the language says",
      by: "lists with no elements, with one and with more, and elements whose attribute is null",
      catches: ["allOfNothingIsFalse"],
      predicates(
        ["tags.name", "parts.small", "wholes.big"].flatMap { path -> [String] in
          let value = path == "tags.name" ? "'a'" : "0"
          return ["ANY", "ALL", "NONE"].flatMap { word in
            ["==", "!=", "<", ">="].map { "\(word) \(path) \($0) \(value)" } + ["\(word) \(path) == nil"]
          }
        } + ["tags.@count == 0", "NOT (ANY tags.name == 'a')", "tags.@count == parts.@count"])),
    same(
      "INC-34", "Null equals null alone", by: "comparisons with null, and of attributes that are null with values",
      catches: ["notEqualDropsNull"],
      predicates([
        "name == nil", "name != nil", "name != 'a'", "NOT name == 'a'", "NOT name != 'a'", "name < 'a'",
        "NOT name < 'a'", "small != 1", "NOT small > 1", "owner.name != 'a'", "owner.name == nil",
        "NOT owner.name == nil",
        "owner != nil", "name IN {nil, 'a'}", "NOT name IN {'a'}", "name == owner.name", "name != owner.name",
      ])),
    incremental(
      "INC-35", "Objects are found by their identifiers, their own and those at the end of a relationship", from: kit,
      by: "SELF, a list of objects, and a to-one are compared with objects", catches: ["objectIDIgnored"]
    ) { check in
      let wrong = try check.process("look for objects by their identifiers") { session -> [String] in
        let context = try session.incrementalContext()
        let owner = try context.insertNewObject(forEntityName: "Owner")
        let items = try (0..<3).map { _ in try context.insertNewObject(forEntityName: "Item") }
        try items[1].setValue(owner, forKey: "owner")
        try context.save()
        let fresh = try session.incrementalContext()
        func count(_ format: String, _ arguments: Any?...) throws -> String {
          var request = FetchRequest<ManagedObject>(entityName: "Item")
          request.predicate = try FetchPredicate(format: format, arguments: arguments)
          return "\(format): \(try fresh.fetch(request).count)"
        }
        return [
          try count("SELF == %@", items[0].objectID), try count("SELF IN %@", [items[0].objectID, items[2].objectID]),
          try count("owner == %@", owner.objectID), try count("owner != %@", owner.objectID),
        ]
      }
      try check.expectList(
        wrong, ["SELF == %@: 1", "SELF IN %@: 2", "owner == %@: 1", "owner != %@: 2"], "objects found")
    },
    incremental(
      "INC-36", "Random requests have the answers of a property list", from: kit,
      by:
        "\(requestCount) random requests, with conditions, sort keys, limits, offsets and sub-entities, to random graphs of 40 items; --runs makes more; the seed makes the same again",
      catches: ["orIsAnd", "notIsIgnored", "capsResults", "columnsDropObject"], timeLimit: 3600
    ) { check in try check.expectSameRandomAnswers(edits: 0) },
    incremental(
      "INC-37", "Random requests have the answers of a property list while changes are not saved", from: kit,
      by:
        "\(requestCount) random requests after twelve changes, some of them new and deleted objects, that are not saved; --runs makes more",
      catches: ["capsResults", "orIsAnd"], timeLimit: 3600
    ) { check in try check.expectSameRandomAnswers(edits: 12) },
  ]

  /// How many random requests there are, unless more are asked for.
  static let requestCount = 300
}

extension CheckContext {
  /// The store answers requests as a property list with the same graph does.
  func expectSameAnswers(_ requests: [AskedRequest]) throws {
    let difference = try process("have \(requests.count) requests answered by both", seconds: 60) { session in
      try session.comparedStores(seed: 5, count: 40).compare(try requests.map { try $0.made() }).difference ?? ""
    }
    try expectEqual(difference, "", "the first difference")
  }

  /// The same with random requests.
  func expectSameRandomAnswers(edits: Int) throws {
    let count = subject.runs ?? Checks.requestCount
    var (exact, partly) = (0, 0)
    for start in stride(from: 0, to: count, by: 100) {
      let part = min(100, count - start)
      let graph = seed &* 100_000 &+ UInt64(start)
      let (found, counts) = try process("have requests \(start) to \(start + part) answered by both", seconds: 60) {
        session -> Answers in
        let outcome = try session.comparedStores(seed: graph, count: 40)
          .compare(requests: part, seed: graph, edits: edits)
        return Answers(difference: outcome.difference ?? "", counts: [outcome.exact, outcome.partly])
      }.parts
      try expectEqual(found, "", "the first difference, in the graph of seed \(graph)")
      exact += counts[0]
      partly += counts[1]
    }
    note("\(count) requests: the store answered \(exact) itself and \(partly) in part")
  }
}

/// What a process found of random requests.
private struct Answers: Codable, Sendable {
  var difference: String
  var counts: [Int]
  var parts: (String, [Int]) { (difference, counts) }
}
