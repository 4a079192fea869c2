package import AtomicStoreSPI
package import FoundationEssentials

/// Evaluates predicates and expressions on objects, with their unsaved changes.
package struct PredicateEvaluator {
  /// The value of `SELF`.
  var subject: PredicateValue
  var variables: [String: PredicateValue] = [:]
  /// The same for all objects of a fetch.
  var now = Date()
  /// The value of `$FETCHED_PROPERTY` in the predicate of a fetched property.
  package var fetchedProperty: FetchedPropertyDescription?
  /// For messages about a group of subjects.
  private var groupEntityName: String?
  /// Shared by all evaluators of a fetch.
  let budget: StepBudget

  package init(_ subject: any PredicateSubject, variables: [String: PredicateValue] = [:], now: Date = Date()) {
    self.subject = .object(subject)
    self.variables = variables
    self.now = now
    budget = subject.stepBudget ?? StepBudget()
  }

  /// The subject, or one of the group.
  var anySubject: (any PredicateSubject)? {
    switch subject {
    case .object(let object): object
    case .list(let list): if case .object(let object)? = list.first { object } else { nil }
    default: nil
    }
  }

  /// For a group: the values of the keys that it is grouped by.
  package var groupKeys: [(expression: FetchExpression, value: PredicateValue)] = []

  /// Creates an evaluator for a group of objects.
  ///
  /// - Parameter budget: The budget of the fetch; nil for that of the objects.
  package init(list: [any PredicateSubject], now: Date, entityName: String, budget: StepBudget? = nil) {
    subject = .list(list.map { .object($0) })
    self.now = now
    groupEntityName = entityName
    self.budget = budget ?? list.first?.stepBudget ?? StepBudget()
  }

  package func failure(_ message: String, key: String? = nil) -> PredicateEvaluationError {
    PredicateEvaluationError(
      .invalid, message, entityName: groupEntityName ?? anySubject?.predicateEntityName, key: key)
  }

  /// The failure of a function for the values of this object.
  func failureOfObject(_ message: String) -> PredicateEvaluationError {
    guard case .object(let object) = subject else { return failure(message) }
    return PredicateEvaluationError(
      .invalid, message, entityName: object.predicateEntityName, objectID: object.objectID)
  }

  // MARK: Predicates

  package func evaluate(_ predicate: FetchPredicate) throws(PredicateEvaluationError) -> Bool {
    switch predicate {
    case .value(let flag): return flag
    case .block(let block): return try run(block)
    case .and(let parts):
      for part in parts where try !evaluate(part) { return false }
      return true
    case .or(let parts):
      for part in parts where try evaluate(part) { return true }
      return false
    case .not(let part): return try !evaluate(part)
    case .comparison(let comparison): return try evaluate(comparison)
    }
  }

  private func run(_ block: FetchBlock) throws(PredicateEvaluationError) -> Bool {
    guard case .object(let object) = subject else {
      throw failure("the closure '\(block.name)' was evaluated on something that is not an object")
    }
    do { return try block.body(object, variables.compactMapValues(\.any)) } catch let error as PredicateEvaluationError
    {
      throw error
    } catch {
      throw failure("the closure '\(block.name)' failed: \(error)")
    }
  }

  private func evaluate(_ comparison: FetchPredicate.Comparison) throws(PredicateEvaluationError) -> Bool {
    if comparison.options.contains(.localeSensitive) {
      throw failure("the option [l] requires a locale, which predicates do not have")
    }
    var left = try open(comparison.left, isDistinct: comparison.ignoresRepetitionOnTheLeft)
    var right = try open(comparison.right, isDistinct: comparison.comparator == .isIn)
    if left.isDate, let dates = PredicateDate.converted(comparison.right) {
      right = dates
    } else if right.isDate, let date = PredicateDate.converted(comparison.left) {
      left = date
    }
    switch comparison.modifier {
    case .direct: return try compare(left, comparison, right)
    case .any:
      for element in left.elements where try compare(element, comparison, right) { return true }
      return false
    case .all:
      for element in left.elements where try !compare(element, comparison, right) { return false }
      return true
    }
  }

  private func compare(
    _ left: PredicateValue, _ comparison: FetchPredicate.Comparison, _ right: PredicateValue
  ) throws(PredicateEvaluationError) -> Bool {
    try budget.take()
    let options = comparison.options
    if let isNull = try isNull(left, right, comparison) { return (comparison.comparator == .equal) == isNull }
    switch comparison.comparator {
    case .equal: return try equal(left, right, comparison)
    case .notEqual: return try !equal(left, right, comparison)
    case .less: return try order(left, right, comparison).map { $0 < 0 } ?? false
    case .greater: return try order(left, right, comparison).map { $0 > 0 } ?? false
    case .lessOrEqual: return try order(left, right, comparison).map { $0 <= 0 } ?? false
    case .greaterOrEqual: return try order(left, right, comparison).map { $0 >= 0 } ?? false
    case .between:
      guard case .list(let bounds) = right, bounds.count == 2 else {
        throw failure("BETWEEN requires two bounds, such as {1, 10}")
      }
      guard let low = try order(left, bounds[0], comparison), let high = try order(left, bounds[1], comparison) else {
        return false
      }
      return low >= 0 && high <= 0
    case .isIn:
      if let whole = Self.words(right) {
        guard let part = Self.words(left) else { return false }
        try budget.take(searching: part, in: whole)
        return StringComparison.contains(whole, part, options)
      }
      if case .list = left { throw toMany(comparison) }
      if case .list(let list) = right { try budget.take(list.count) }
      return right.elements.contains { Self.isEqual(left, $0, options) } || left.isNull && Self.holdsNull(right)
    case .contains:
      if case .list(let list) = left {
        try budget.take(list.count)
        return list.contains { Self.isEqual($0, right, options) }
      }
      guard let whole = Self.words(left), let part = Self.words(right) else { return false }
      try budget.take(searching: part, in: whole)
      return StringComparison.contains(whole, part, options)
    case .beginsWith, .endsWith, .like, .matches:
      if case .list = left { throw toMany(comparison) }
      guard let text = Self.text(left), let pattern = Self.text(right) else { return false }
      try budget.take(searching: pattern, in: text)
      switch comparison.comparator {
      case .beginsWith: return StringComparison.begins(text, pattern, options)
      case .endsWith: return StringComparison.ends(text, pattern, options)
      case .like: return StringComparison.isLike(text, pattern, options)
      default: return try matches(text, pattern, options)
      }
    }
  }

  /// Whether a composite that is compared with nil is nil; nil if the comparison does not contain one.
  private func isNull(
    _ left: PredicateValue, _ right: PredicateValue, _ comparison: FetchPredicate.Comparison
  ) throws(PredicateEvaluationError) -> Bool? {
    if comparison.comparator == .equal || comparison.comparator == .notEqual {
      switch (left, right) {
      case (.composite(let composite), .value(.null)), (.value(.null), .composite(let composite)):
        return composite.isNull
      // Whether there are any.
      case (.list, .value(.null)), (.value(.null), .list): return nil
      default: break
      }
    }
    try refuseComposite(left)
    try refuseComposite(right)
    return nil
  }

  /// - Throws: An error if the value is a whole composite, or contains one.
  package func refuseComposite(_ value: PredicateValue) throws(PredicateEvaluationError) {
    switch value {
    case .composite(let composite): throw failure(composite.refusal, key: composite.name)
    case .list(let list):
      for case .composite(let composite) in list { throw failure(composite.refusal, key: composite.name) }
    default: break
    }
  }

  private func toMany(_ comparison: FetchPredicate.Comparison) -> PredicateEvaluationError {
    failure("'\(comparison.left)' has several values: a to-many key requires ANY, ALL, NONE or SUBQUERY")
  }

  private static func holdsNull(_ value: PredicateValue) -> Bool {
    if case .list(let list) = value { return list.contains(where: \.isNull) }
    return false
  }

  private func equal(
    _ left: PredicateValue, _ right: PredicateValue, _ comparison: FetchPredicate.Comparison
  ) throws(PredicateEvaluationError) -> Bool {
    switch (left, right) {
    case (.list(let one), .list(let other)):
      let isSame = Self.holdTheSame(one, other, comparison.options, budget)
      try budget.take(0)
      return isSame
    case (.list(let list), .value(.null)), (.value(.null), .list(let list)): return list.isEmpty
    case (.list, _), (_, .list): throw toMany(comparison)
    default: return Self.isEqual(left, right, comparison.options)
    }
  }

  private func order(
    _ left: PredicateValue, _ right: PredicateValue, _ comparison: FetchPredicate.Comparison
  ) throws(PredicateEvaluationError) -> Int? {
    switch (left, right) {
    case (.list, _), (_, .list): throw toMany(comparison)
    case (.open, _), (_, .open):
      let sides = PredicateValue.settled([left, right])
      return try order(sides[0], sides[1], comparison)
    case (.value(let one), .value(let other)): return ValueOrder.order(one, other, comparison.options)
    default: return nil
    }
  }

  // MARK: Values against each other

  package static func isEqual(_ one: PredicateValue, _ other: PredicateValue, _ options: FetchPredicate.Options) -> Bool
  {
    switch (one, other) {
    case (.open, _), (_, .open):
      let sides = PredicateValue.settled([one, other])
      return isEqual(sides[0], sides[1], options)
    case (.object(let a), .object(let b)): return a === b || a.objectID == b.objectID
    case (.object(let a), .id(let b)), (.id(let b), .object(let a)): return a.objectID == b || a.isKnown(by: b)
    case (.id(let a), .id(let b)): return a == b
    case (.value(let a), .value(let b)):
      if a.isNull || b.isNull { return a.isNull && b.isNull }
      if case .data(let x) = a, case .data(let y) = b { return x == y }
      if case .boolean(let x) = a, case .boolean(let y) = b { return x == y }
      return ValueOrder.order(a, b, options) == 0
    case (.list(let a), .list(let b)):
      return holdTheSame(a, b, options, nil)
    default: return false
    }
  }

  /// Whether two collections contain the same values, each the same number of times: the objects of a to-many are
  /// unordered, and elements of an ordered one are accessed by index.
  ///
  /// - Parameter budget: If it is exhausted, the result is meaningless.
  private static func holdTheSame(
    _ one: [PredicateValue], _ other: [PredicateValue], _ options: FetchPredicate.Options, _ budget: StepBudget?
  ) -> Bool {
    guard one.count == other.count else { return false }
    var isTaken = [Bool](repeating: false, count: other.count)
    for (place, element) in one.enumerated() {
      // Usually both are in the same order.
      if !isTaken[place], isEqual(element, other[place], options) {
        isTaken[place] = true
        continue
      }
      guard let found = other.indices.first(where: { !isTaken[$0] && isEqual(element, other[$0], options) }),
        budget?.use(found) ?? true
      else { return false }
      isTaken[found] = true
    }
    return true
  }

  // MARK: Expressions

  /// The value of an expression.
  ///
  /// - Parameter type: The type of the attribute that the value is for: it determines how `age * 0.1` is computed.
  package func value(
    of expression: FetchExpression, for type: AttributeType? = nil
  ) throws(PredicateEvaluationError) -> PredicateValue {
    try open(expression).settled(as: type.flatMap { OpenNumber.Kind($0) })
  }

  /// The value of an expression, or an open number.
  ///
  /// Called for each level of a tree: whatever needs much stack is in separate functions, so that a level needs little.
  ///
  /// - Parameter isDistinct: Whether the caller does not care how often a list contains an object, so that a path may
  ///   drop repetitions at each key.
  func open(_ expression: FetchExpression, isDistinct: Bool = false) throws(PredicateEvaluationError)
    -> PredicateValue
  {
    try budget.take()
    if !groupKeys.isEmpty, let key = groupKeys.first(where: { $0.expression == expression }) { return key.value }
    switch expression {
    case .constant(let value):
      switch value {
      case .double, .decimal: return .open(OpenNumber(value: value, calculation: expression))
      default: return .value(value)
      }
    case .objectID(let id): return .id(id)
    case .evaluatedObject: return subject
    case .variable(let name): return try variable(name)
    case .keyPath(let path): return try value(at: path[...], of: subject, isDistinct: isDistinct)
    case .member(.variable("FETCHED_PROPERTY"), let path) where fetchedProperty != nil && path.first == "userInfo":
      let key = path.dropFirst().joined(separator: ".")
      return fetchedProperty?.userInfo.first { $0.key == key }.map { .value(.string($0.value)) } ?? .null
    case .member(let base, let path):
      return try value(at: path[...], of: try open(base, isDistinct: isDistinct), isDistinct: isDistinct)
    case .aggregate(let parts): return .list(try values(of: parts))
    case .function(let name, let arguments):
      return try call(name, of: arguments, isAggregate: expression.isAggregate)
    case .subquery(let source, let variable, let predicate):
      return try subquery(source, variable, predicate, isDistinct: isDistinct)
    case .set(let operation, let one, let other):
      return try combine(try open(one).elements, operation, try open(other).elements)
    case .conditional(let predicate, let one, let other):
      return try open(try evaluate(predicate) ? one : other)
    case .cast(let inner, let type): return try cast(try open(inner), type, inner)
    case .element(let base, let element): return try self.element(element, of: try open(base))
    case .custom(let target, let name, let arguments): return try custom(target, name, arguments)
    case .assignment(let name, _):
      throw failure("'$\(name) := …' is not supported: pass the values of variables to the fetch")
    case .fetch: throw failure("FETCH is not supported in a predicate: fetch first, and compare with the result")
    }
  }

  func values(
    of expressions: [FetchExpression], isDistinct: Bool = false
  ) throws(PredicateEvaluationError) -> [PredicateValue] {
    var values: [PredicateValue] = []
    values.reserveCapacity(expressions.count)
    for expression in expressions { values.append(try open(expression, isDistinct: isDistinct)) }
    return values
  }

  private func variable(_ name: String) throws(PredicateEvaluationError) -> PredicateValue {
    guard let value = variables[name] else { throw failure("the variable $\(name) has no value") }
    return value
  }

  private func subquery(
    _ source: FetchExpression, _ variable: String, _ predicate: FetchPredicate, isDistinct: Bool
  ) throws(PredicateEvaluationError) -> PredicateValue {
    var found: [PredicateValue] = []
    let elements = try open(source, isDistinct: isDistinct).elements
    // One for all elements: a copy has all variables of the subqueries around it.
    var inner = self
    try budget.take(variables.count)
    for element in elements {
      try budget.take()
      inner.variables[variable] = element
      if try inner.evaluate(predicate) { found.append(element) }
    }
    return .list(found)
  }

  private func combine(
    _ left: [PredicateValue], _ operation: FetchExpression.SetOperation, _ right: [PredicateValue]
  ) throws(PredicateEvaluationError) -> PredicateValue {
    try budget.take(left.count + right.count)
    try refuseComposite(.list(left + right))
    func has(_ list: [PredicateValue], _ value: PredicateValue) throws(PredicateEvaluationError) -> Bool {
      let found = list.firstIndex { Self.isEqual($0, value, []) }
      try budget.take(found ?? list.count)
      return found != nil
    }
    var result: [PredicateValue] = operation == .union ? left : []
    for value in operation == .union ? right : left
    where try has(operation == .union ? left : right, value) == (operation == .intersect) { result.append(value) }
    return .list(result)
  }

  private func element(
    _ element: FetchExpression.Element, of value: PredicateValue
  ) throws(PredicateEvaluationError) -> PredicateValue {
    let list = value.elements
    switch element {
    case .first: return list.first ?? .null
    case .last: return list.last ?? .null
    case .size: return .value(.integer(Int64(list.count)))
    case .at(let index):
      guard case .value(.integer(let place)) = try open(index) else {
        throw failure("an index must be an integer")
      }
      return place >= 0 && place < list.count ? list[Int(place)] : .null
    }
  }
}
