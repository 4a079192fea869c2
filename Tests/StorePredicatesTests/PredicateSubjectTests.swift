import Foundation
import StorePredicates
import Testing

/// A subject that is not a managed object: values by name, in memory.
private final class Record: PredicateSubject {
  let predicateEntityName: String
  let objectID: ManagedObjectID
  let values: [(name: String, value: PredicateValue)]
  let stepBudget: StepBudget?
  let customFunctions: CustomFunctions?

  init(
    _ entity: String, _ number: Int64, _ values: [(name: String, value: PredicateValue)], budget: StepBudget? = nil,
    functions: CustomFunctions? = nil
  ) {
    predicateEntityName = entity
    objectID = ManagedObjectID(storeIdentifier: Self.store, entityName: entity, reference: .integer(number))
    self.values = values
    stepBudget = budget
    customFunctions = functions
  }
  private static let store = UUID()

  func isKnown(by id: ManagedObjectID) -> Bool { false }
  func precedes(_ other: any PredicateSubject) -> Bool { objectID.uriRepresentation < other.objectID.uriRepresentation }
  func predicateProperty(named name: String) -> PredicateProperty? {
    values.firstIndex { $0.name == name }.map { index in
      if case .composite = values[index].value {
        PredicateProperty(index: index, isComposite: true)
      } else {
        PredicateProperty(index: index, isComposite: false)
      }
    }
  }
  func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue {
    let value = values[property.index].value
    if case .value(.string("broken")) = value {
      throw PredicateEvaluationError(.subjectFailed, "the record is broken", underlying: CancellationError())
    }
    return value
  }
  var predicatePropertyNames: [String] { values.map(\.name) }
}

@Suite("Predicates over subjects that are not managed objects") struct PredicateSubjectTests {
  /// Ada of Sales has the tasks 1 to 3, which take 1 to 3 hours.
  private func ada(budget: StepBudget? = nil, functions: CustomFunctions? = nil) -> Record {
    let sales = Record("Department", 1, [("name", .value(.string("Sales"))), ("code", .value(.string("broken")))])
    let tasks = (1...3).map {
      Record("Task", $0, [("title", .value(.string("task \($0)"))), ("hours", .value(.integer($0)))])
    }
    let street = PredicateValue.value(.string("Main Street"))
    return Record(
      "Person", 1,
      [
        ("name", .value(.string("Ada"))), ("age", .value(.integer(36))), ("nickname", .null),
        ("department", .object(sales)),
        ("tasks", .list(tasks.map { .object($0) })),
        ("address", .composite(PredicateComposite(name: "address", parts: [("address.street", street)]))),
        ("address.street", street),
      ], budget: budget, functions: functions)
  }

  @Test(
    "a predicate holds, or does not",
    arguments: [
      ("name == 'Ada' AND age > 30", true), ("name BEGINSWITH[c] 'ad'", true), ("nickname == nil", true),
      ("nickname == 'A'", false),
      ("department.name == 'Sales'", true), ("address.street LIKE 'Main*'", true), ("address != nil", true),
      ("tasks.@count == 3", true),
      ("tasks.@sum.hours == 6", true), ("ANY tasks.hours > 2", true), ("ALL tasks.hours > 2", false),
      ("NONE tasks.title == 'x'", true),
      ("SUBQUERY(tasks, $t, $t.hours >= 2).@count == 2", true), ("tasks[FIRST].title == 'task 1'", true),
      ("entity == 'Person'", true),
      ("age BETWEEN {30, 40}", true), ("name MATCHES 'A.a'", true), ("TERNARY(age > 30, 1, 2) == 1", true),
      ("SELF == SELF", true),
    ])
  func holds(_ text: String, _ expected: Bool) throws {
    #expect(try PredicateEvaluator(ada()).evaluate(FetchPredicate(format: text)) == expected)
  }

  @Test("a subject passed for %@ stands for its ID, and a set of them for a list in a fixed order")
  func arguments() throws {
    let ada = ada()
    let text = try FetchPredicate(format: "SELF == %@", ada)
    #expect(try PredicateEvaluator(ada).evaluate(text))
    #expect(text == .comparison(.init(.evaluatedObject, .equal, .objectID(ada.objectID))))
  }

  @Test("a misspelt key is an error with a suggestion, and names the entity")
  func misspelt() throws {
    let error = try #require(throws: PredicateEvaluationError.self) {
      try PredicateEvaluator(ada()).evaluate(FetchPredicate(format: "nmae == 1"))
    }
    #expect(error.kind == .invalid && error.entityName == "Person" && error.key == "nmae")
    #expect(error.message.contains("did you mean 'name'"))
  }

  @Test("what a subject cannot give is the evaluation's error, with its cause")
  func broken() throws {
    let error = try #require(throws: PredicateEvaluationError.self) {
      try PredicateEvaluator(ada()).evaluate(FetchPredicate(format: "department.code == 1"))
    }
    #expect(error.kind == .subjectFailed && error.underlying is CancellationError)
  }

  @Test("a subject brings the budget and the functions")
  func environment() throws {
    let functions = CustomFunctions()
    functions.set({ target, _ in (target as? String)?.count }, named: "count")
    let predicate = try FetchPredicate(format: "FUNCTION(name, 'count') == 3")
    #expect(try PredicateEvaluator(ada(functions: functions)).evaluate(predicate))
    functions.set(nil, named: "count")
    #expect(throws: PredicateEvaluationError.self) {
      try PredicateEvaluator(ada(functions: functions)).evaluate(predicate)
    }

    let many = try FetchPredicate(
      format: "SUBQUERY(tasks, $t, SUBQUERY(%@, $x, $x > $t.hours).@count > 0).@count > 0", Array(1...50))
    let error = try #require(throws: PredicateEvaluationError.self) {
      try PredicateEvaluator(ada(budget: StepBudget(limit: 20))).evaluate(many)
    }
    #expect(error.kind == .stepLimitExceeded)
    #expect(try PredicateEvaluator(ada()).evaluate(many))
  }
}
