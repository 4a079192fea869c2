import AtomicStoreKit
import Foundation
import Testing

@testable import StorePredicates

@Suite("Predicates checked against an entity") struct PredicateCheckTests {
  static func entity(_ name: String) throws -> Entity { try #require(CompanyGraph.model.entity(named: name)) }

  struct Case: CustomTestStringConvertible {
    let text: String, entity: String, column: Int, message: String, suggestion: String?
    var testDescription: String { text }
    init(_ text: String, _ column: Int, _ message: String, _ suggestion: String? = nil, on entity: String = "Person") {
      (self.text, self.entity, self.column, self.message, self.suggestion) = (text, entity, column, message, suggestion)
    }
  }

  static let mistakes: [Case] = [
    Case("nmae == 'x'", 1, "unknown key 'nmae' on Person", "did you mean 'name'?"),
    Case("age > 3 AND department.nam == 'x'", 24, "unknown key 'nam' on Department", "did you mean 'name'?"),
    Case("'x' == nmae", 8, "unknown key 'nmae'", "did you mean 'name'?"),
    Case("ANY tasks.titel == 'x'", 11, "unknown key 'titel' on Task", "did you mean 'title'?"),
    Case("tasks.title == 'x'", 1, "'tasks.title' has several values", "a to-many key requires ANY, ALL or SUBQUERY"),
    Case("reports.department.name BEGINSWITH 'x'", 1, "has several values", "ANY"),
    Case("name IN tasks.nothing", 15, "unknown key 'nothing' on Task"),
    Case("name == tasks.title", 6, "'tasks.title' has several values", "'name IN tasks.title'"),
    Case("ANY name == 'x'", 5, "'name' has a single value", "to-many"),
    Case("name == 5", 6, "'name' is a string and cannot be compared with a number", "quotes"),
    Case("age == '5'", 5, "'age' is a number and cannot be compared with a string", "without quotes"),
    Case("hired > 5", 7, "'hired' is a date", "NSDate", on: "Employee"),
    Case("salary > 5", 1, "Person has no property 'salary', but its sub-entity Employee does", "fetch Employee"),
    Case("department < 5", 12, "an object of Department has no order"),
    Case("department == 5", 12, "'department' is an object of Department and cannot be compared with a number"),
    Case("age BEGINSWITH name AND age CONTAINS 'x'", 29, "CONTAINS requires strings, but 'age' is a number"),
    Case("name BEGINSWITH 5", 6, "BEGINSWITH requires a string, but '5' is a number"),
    Case("name MATCHES '(a'", 6, "not a regular expression"),
    Case("age BETWEEN {'a', 'b'}", 5, "'age' is a number and cannot be compared with a string"),
    Case("age IN {'a', 'b'}", 5, "'age' is a number and cannot be compared with a string"),
    Case("age IN name", 5, "IN requires a list or a string"),
    Case("sum:(tasks.title) > 4", 6, "sum: requires numbers, but 'tasks.title' is a string"),
    Case("uppercase:(age) == 'X'", 12, "uppercase: requires a string, but 'age' is a number"),
    Case("name + 1 == 2", 1, "add:to: requires numbers, but 'name' is a string"),
    Case("tasks.@sum.title == 1", 7, "@sum requires numbers, not a string"),
    Case("tasks.@cuont == 1", 7, "unknown operator '@cuont'", "did you mean '@count'?"),
    Case("SUBQUERY(tasks, $t, $t.titel == 'x').@count > 0", 24, "unknown key 'titel' on Task", "did you mean 'title'?"),
    Case("TERNARY(nmae == nil, 1, 2) == 1", 9, "unknown key 'nmae'"),
    Case("department.name.length.more == 1", 24, "the path continues with 'more' after a number"),
    Case("name ==[l] 'x'", 6, "the option [l]"),
    Case(
      "name == 'x' AND address > 3", 17, "'address' is a composite, which can only be compared with nil",
      "address.street, address.city"),
    Case("'x' IN address", 8, "'address' is a composite", "address.street, address.city"),
    Case(
      "name == 'x' OR department.address == 'x'", 16, "'department.address' is a composite", "department.address.city"),
    Case("name == 'x' OR length(address) > 1", 23, "'address' is a composite", "address.city"),
    Case("SUBQUERY(reports, $x, $x.address == name).@count > 0", 26, "'address' is a composite", "address.city"),
    Case("address.town == 'x'", 9, "unknown key 'address.town' on Person", nil),
    Case("tasks[0].titel == 'x'", 10, "unknown key 'titel' on Task"),
  ]

  @Test("an error is named, with its column and a correction", arguments: mistakes)
  func wrong(_ entry: Case) throws {
    let entity = try Self.entity(entry.entity)
    #expect {
      _ = try FetchPredicate(format: entry.text, for: entity)
    } throws: { error in
      guard let error = error as? PredicateFormatError else { return false }
      let isRight =
        error.column == entry.column && error.message.contains(entry.message)
        && (entry.suggestion.map { error.suggestion?.contains($0) ?? false } ?? true)
      if !isRight { Issue.record("\(error)") }
      return isRight
    }
    // A tree without text gives the column in the text that it prints.
    let tree = try FetchPredicate(format: entry.text)
    #expect {
      try tree.check(against: entity)
    } throws: { error in
      guard let error = error as? PredicateFormatError else { return false }
      return error.message.contains(entry.message.prefix(20)) && error.format == tree.predicateFormat
        && error.column >= 1
    }
  }

  @Test("valid predicates pass", arguments: PredicateTable.cases.map(\.0))
  func right(_ text: String) throws {
    let predicate = try FetchPredicate(format: text)
    let entity = try Self.entity("Person")
    try predicate.check(entity, isStrict: false)
    // Keys that sub-entities alone have are the one thing that runs on Person and is refused when asked of it.
    if !text.contains("salary"), !text.contains("hired") { try predicate.check(against: entity) }
    try predicate.check(against: Self.entity("Manager"))
  }

  @Test(
    "keys and comparisons are counted in the order in which they are visited, in every text of public code",
    .enabled(if: PredicateCorpus.isThere))
  func marks() throws {
    var count = 0
    for text in try PredicateCorpus.strings() + PredicateTable.cases.map(\.0) {
      var parser: PredicateParser
      do { parser = try PredicateParser(text, PredicateCorpus.arguments(for: text)) } catch { continue }
      guard let predicate = try? parser.predicate() else { continue }
      #expect(parser.marks.count == FetchTree.predicate(predicate).markCount, "\(text)")
      #expect(parser.marks == parser.marks.sorted(), "\(text)")
      count += 1
    }
    #expect(count > 1000)
  }

  @Test(
    "a fetch refuses unknown keys on an empty store too",
    arguments: ["nmae == 'x'", "tasks.title == 'x'", "department.nothing > 2"])
  func emptyStore(_ text: String) throws {
    let stack = try Stack()
    let request = FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: text))
    for isCount in [false, true] {
      #expect {
        if isCount { _ = try stack.context.count(for: request) } else { _ = try stack.context.fetch(request) }
      } throws: { error in
        (error as? ManagedObjectError)?.code == .invalidFetch && "\(error)".contains("column 1")
      }
    }
    var sorted = FetchRequest<ManagedObject>(entityName: "Person")
    sorted.sortKeys = [SortKey("nmae")]
    #expect { _ = try stack.context.fetch(sorted) } throws: { "\($0)".contains("did you mean 'name'?") }
  }

  @Test("a predicate with a closure is checked as well, without columns")
  func closure() throws {
    let predicate = FetchPredicate.and([FetchPredicate { _, _ in true }, try FetchPredicate(format: "nmae == 1")])
    #expect {
      try predicate.check(against: Self.entity("Person"))
    } throws: { "\($0)".contains("unknown key 'nmae'") }
  }
}
