import AtomicStoreKit
import Testing

/// The properties that a request names, by which a store may be read in part.
@Suite("The properties that a request names") struct NamedPropertiesTests {
  private static func request(
    _ predicate: String? = nil, _ change: (inout FetchRequest<ManagedObject>) throws -> Void = { _ in }
  ) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Employee")
    request.predicate = try predicate.map { try FetchPredicate(format: $0) }
    try change(&request)
    return request
  }

  private static func names(_ request: FetchRequest<ManagedObject>) -> Set<String>? {
    request.namedProperties.map { Set($0.map(\.string)) }
  }

  @Test(
    "every key of a predicate is named, wherever it is",
    arguments: [
      ("a == 1", ["a"]), ("a.b > 1 AND NOT c == nil", ["a", "b", "c", "a.b"]),
      ("ANY a.b == c", ["a", "b", "c", "a.b"]),
      ("SUBQUERY(a, $x, $x.b == c).@count > 0", ["a", "b", "c", "@count"]), ("a[0].b == 1", ["a", "b"]),
      ("TERNARY(a == 1, b, c) == 2", ["a", "b", "c"]), ("CAST(a, 'NSNumber') == 2", ["a"]),
      ("sum:(a) == 2 OR uppercase:(b) == 'X'", ["a", "b"]), ("a UNION b == c", ["a", "b", "c"]),
      ("{a, b} == c", ["a", "b", "c"]), ("a BETWEEN {b, c}", ["a", "b", "c"]), ("SELF == nil", []),
      ("TRUEPREDICATE", []),
    ] as [(String, Set<String>)])
  func predicates(_ text: String, _ wanted: Set<String>) throws {
    #expect(Self.names(try Self.request(text)) == wanted)
  }

  @Test("so are those of columns, groups, and what rows are sorted by")
  func otherParts() throws {
    let request = try Self.request("a == 1") { request in
      request.propertiesToFetch = [FetchColumn(keyPath: "b.c"), try FetchColumn(format: "max:(d)", as: "most")]
      request.propertiesToGroupBy = ["e"]
      request.havingPredicate = try FetchPredicate(format: "f > 1 AND $most > 1")
      request.sortKeys = [SortKey("g.h")]
    }
    #expect(Self.names(request) == ["a", "b", "c", "b.c", "d", "e", "f", "g", "h", "g.h"])
  }

  @Test("a request that may ask for anything names nothing in particular")
  func anything() throws {
    #expect(Self.names(try Self.request { $0.filter = { _ in true } }) == nil)
    #expect(Self.names(try Self.request { $0.relationshipKeyPathsForPrefetching = ["a"] }) == nil)
    #expect(Self.names(try Self.request { $0.predicate = FetchPredicate("block") { _, _ in true } }) == nil)
    #expect(Self.names(try Self.request("FUNCTION(SELF, 'double', a) == 1")) == nil)
  }
}
