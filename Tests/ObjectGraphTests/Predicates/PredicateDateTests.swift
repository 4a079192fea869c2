import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Dates in predicates") struct PredicateDateTests {
  /// Three employees: Old hired on 1 January 1799, Zola at noon UTC on 2 April 1840, New half a second into 2001; and
  /// one without a date.
  static func stack() throws -> Stack {
    let stack = try Stack()
    for (name, seconds) in [("Old", -6_374_505_600.0), ("Zola", -5_072_760_000.0), ("New", 0.5)] {
      _ = try stack.insert("Employee", ["name": name, "hired": Date(timeIntervalSinceReferenceDate: seconds)])
    }
    _ = try stack.insert("Employee", ["name": "Never"])
    return stack
  }

  static let cases: [(String, [String])] = [
    ("hired > '1800-01-01'", ["New", "Zola"]), ("hired > CAST('1800-01-01', 'NSDate')", ["New", "Zola"]),
    ("'1800-01-01' < hired", ["New", "Zola"]), ("hired == '1799-01-01'", ["Old"]),
    ("hired == '1799-01-01T00:00:00Z'", ["Old"]),
    ("hired == '1840-04-02T12:00:00Z'", ["Zola"]), ("hired == '1840-04-02T14:00:00+02:00'", ["Zola"]),
    ("hired == '1840-04-02 12:00'", ["Zola"]), ("hired == '2001-01-01T00:00:00.5Z'", ["New"]),
    ("hired != '1799-01-01'", ["Never", "New", "Zola"]),
    ("hired BETWEEN {'1799-01-01', '1900-01-01'}", ["Old", "Zola"]),
    ("hired IN {'1799-01-01', '1840-04-02T12:00:00Z'}", ["Old", "Zola"]),
    ("hired > CAST('0.25', 'NSDate')", ["New"]), ("hired > CAST(0, 'NSDate')", ["New"]),
    ("hired < '2000-02-29' AND name != 'Old'", ["Zola"]),
    ("ANY SELF.hired > '2000-01-01'", ["New"]), ("max:(hired) >= '1840-04-02T12:00:00Z'", ["New", "Zola"]),
    ("SUBQUERY(SELF, $x, $x.hired < '1800-01-01').@count > 0", ["Old"]),
  ]

  @Test("a date is written as ISO 8601, cast or compared with a date", arguments: cases, [false, true])
  func dates(_ entry: (String, [String]), isSaved: Bool) throws {
    let stack = try Self.stack()
    // In memory predicates run on objects, saved where they can on columns.
    if isSaved { try stack.context.save() }
    let request = FetchRequest<ManagedObject>(
      entityName: "Employee", predicate: try FetchPredicate(format: entry.0), sortKeys: [SortKey("name")])
    #expect(try stack.context.fetch(request).map { $0["name"] as? String } == entry.1)
  }

  static var employee: Entity {
    get throws { try #require(CompanyGraph.model.entity(named: "Employee")) }
  }

  @Test(
    "the check treats dates in strings as dates",
    arguments: cases.map(\.0).filter { !$0.contains("ANY SELF") && !$0.contains("SUBQUERY") })
  func check(_ text: String) throws { try FetchPredicate(format: text).check(against: try Self.employee) }

  @Test(
    "a string that is not a date is refused with the accepted forms",
    arguments: [
      "hired > 'yesterday'", "hired == '1800-13-01'", "hired == '1800-02-30'", "hired BETWEEN {'1800-01-01', 'now'}",
      "hired IN {'1800', '1801-01-01'}",
      "hired > CAST('the day', 'NSDate')", "hired == '@5'", "hired > 5", "hired == ''",
    ])
  func refusals(_ text: String) throws {
    let error = #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: text, for: try Self.employee) }
    #expect(error?.suggestion?.contains("'2001-01-31T12:00:00Z'") == true, "\(String(describing: error))")
  }

  @Test(
    "dates in a predicate's text are read back to the bit",
    arguments: [
      0, 0.5, -0.0, 0.1, -1e-300, .leastNonzeroMagnitude, -6_374_505_600, 600_000_000.123456789, 252_423_993_599.99997,
      252_423_993_600, -63_113_904_001, 1e300,
      .infinity, -.infinity, .greatestFiniteMagnitude, 1.0 / 3,
    ])
  func exact(_ seconds: Double) throws {
    let predicate = FetchPredicate.comparison(
      .init(.keyPath(["hired"]), .equal, .constant(.date(Date(timeIntervalSinceReferenceDate: seconds)))))
    let read = try FetchPredicate(format: predicate.predicateFormat)
    guard case .comparison(let comparison) = read, case .constant(.date(let date)) = comparison.right else {
      Issue.record("\(predicate.predicateFormat) is \(read)")
      return
    }
    #expect(date.timeIntervalSinceReferenceDate.bitPattern == seconds.bitPattern, "\(predicate.predicateFormat)")
  }

  @Test("dates in a predicate's text are readable")
  func readable() throws {
    #expect(
      try FetchPredicate(format: "hired > CAST('1800-01-01', 'NSDate')").predicateFormat
        == "hired > CAST(\"1800-01-01T00:00:00Z\", \"NSDate\")")
  }

  @Test(
    "the check of a group's predicate knows its keys and treats everything else as lists",
    arguments: [
      ("sum:(salary) > 5", true), ("@count > 2", true), ("name BEGINSWITH 'A'", true),
      ("department.name == 'Sales' AND max:(age) < 50", true),
      ("max:(name) > 5", false), ("name > 5", false), ("department.name == 5", false), ("age > 5", false),
      ("sum:(nmae) > 5", false), ("max:(hired) > 'now'", false),
    ])
  func groups(_ text: String, _ isRight: Bool) throws {
    let entity = try Self.employee
    let keys: [FetchExpression] = [.keyPath(["department", "name"]), .keyPath(["name"])]
    let result = Result { try FetchPredicate(format: text, forGroupsOf: entity, by: keys) }
    #expect((try? result.get()) == nil ? !isRight : isRight, "\(result)")
  }
}
