import AtomicStoreSPI

/// Checks a predicate against an entity before it is evaluated: its keys, which of them have several values, and the
/// types of compared values.
struct PredicateChecker {
  typealias Kind = PredicateKind

  let model: ManagedObjectModel
  /// Whether the types of compared values are checked, too. A fetch does not check them: the comparison is then false.
  var isStrict: Bool
  private let format: String
  private let marks: [Int]
  private var next = 0
  private var variables: [String: Kind] = [:]
  /// In the predicate of a group: the keys that it is grouped by, which have one value each, and their types.
  private var groupKeys: [(key: FetchExpression, kind: Kind)] = []

  init(_ model: ManagedObjectModel, isStrict: Bool, format: String = "", marks: [Int] = []) {
    self.model = model
    self.isStrict = isStrict
    self.format = format
    self.marks = marks
  }

  // MARK: Columns

  private mutating func mark() -> Int {
    defer { next += 1 }
    return next < marks.count ? marks[next] : 1
  }

  func error(_ column: Int, _ message: String, _ suggestion: String? = nil) -> PredicateFormatError {
    PredicateFormatError(format, column, message, suggestion: suggestion)
  }

  // MARK: Predicates

  mutating func check(_ predicate: FetchPredicate, _ subject: Kind) throws(PredicateFormatError) {
    switch predicate {
    case .value, .block: break
    case .and(let parts), .or(let parts): for part in parts { try check(part, subject) }
    case .not(let part): try check(part, subject)
    case .comparison(let comparison): try check(comparison, subject)
    }
  }

  private mutating func check(_ comparison: FetchPredicate.Comparison, _ subject: Kind) throws(PredicateFormatError) {
    let start = next
    let left = try kind(of: comparison.left, subject)
    // If the left side has no key, report the position of the comparison.
    let leftColumn = start < marks.count ? marks[start] : 1
    let column = mark()
    let rightStart = next
    let right = try rightKind(of: comparison, subject, left)
    try checkComposites(comparison, left, right, leftColumn, rightStart < marks.count ? marks[rightStart] : column)
    if comparison.options.contains(.localeSensitive) {
      throw error(column, "the option [l] requires a locale, which predicates do not have", "use [cd]")
    }
    var element = left
    switch comparison.modifier {
    case .direct:
      if case .list(let inner) = left {
        switch (comparison.comparator, right) {
        case (.contains, _): element = inner
        case (.equal, .null), (.notEqual, .null), (.equal, .list), (.notEqual, .list), (_, .unknown): return
        default:
          throw error(
            leftColumn, "'\(comparison.left)' has several values",
            "a to-many key requires ANY, ALL or SUBQUERY: ANY \(FetchPredicate.comparison(comparison).predicateFormat)")
        }
      } else if case .list = right, ![.isIn, .between].contains(comparison.comparator), !left.isUnknownOrNull {
        throw error(
          column, "'\(comparison.right)' has several values",
          "'\(comparison.left) IN \(comparison.right)' tests whether it is one of them")
      }
    case .any, .all:
      if case .list(let inner) = left {
        element = inner
      } else if isStrict, !left.isUnknownOrNull {
        throw error(
          leftColumn, "'\(comparison.left)' has a single value",
          "\(comparison.modifier.rawValue) requires a to-many key")
      }
    }
    guard isStrict else { return }
    try ComparisonCheck(self, comparison, element, right, column: column).run()
  }

  /// The kind of the right side; for a key that does not exist, perhaps a string without quotes was meant.
  private mutating func rightKind(
    of comparison: FetchPredicate.Comparison, _ subject: Kind, _ left: Kind
  ) throws(PredicateFormatError) -> Kind {
    do throws(PredicateFormatError) { return try kind(of: comparison.right, subject) } catch {
      guard error.suggestion == nil, [.text, .object, .date, .uuid].contains(left.group),
        case .keyPath(let path) = comparison.right, path.count == 1
      else { throw error }
      throw self.error(error.column, error.message, "a string is written in quotes: '\(path[0])'")
    }
  }

  /// Checks that a whole composite is compared with nil only.
  private func checkComposites(
    _ comparison: FetchPredicate.Comparison, _ left: Kind, _ right: Kind, _ leftColumn: Int, _ rightColumn: Int
  ) throws(PredicateFormatError) {
    let asksForNil = comparison.comparator == .equal || comparison.comparator == .notEqual
    // The value of a variable or transient property is known only at evaluation.
    if !(asksForNil && right.isNilOrNotKnown) { try refuseComposite(left, comparison.left, leftColumn) }
    if !(asksForNil && left.isNilOrNotKnown) { try refuseComposite(right, comparison.right, rightColumn) }
  }

  /// - Throws: An error for a whole composite, or a list of them, that suggests its parts.
  func refuseComposite(_ kind: Kind, _ expression: FetchExpression, _ column: Int) throws(PredicateFormatError) {
    switch kind {
    case .list(let element): try refuseComposite(element, expression, column)
    case .composite(let composite):
      let name = composite.name
      let written: String? = if case .keyPath = expression { "\(expression)" } else { nil }
      let parts = composite.partNames.map { part in
        (written ?? name) + String(decoding: part.utf8.dropFirst(name.utf8.count), as: UTF8.self)
      }
      throw error(column, PredicateComposite.needsPart(written ?? name), PredicateComposite.suggestion(parts))
    default: break
    }
  }

  /// Has the predicate of a group checked: its keys have one value each, everything else is a list of the values of its
  /// objects.
  mutating func group(_ keys: [FetchExpression], of subject: Kind) throws(PredicateFormatError) {
    for key in keys {
      let kind = try wholeKind(of: key, subject)
      next = 0
      groupKeys.append((key, kind))
    }
  }

  // MARK: Expressions

  mutating func kind(of expression: FetchExpression, _ subject: Kind) throws(PredicateFormatError) -> Kind {
    if !groupKeys.isEmpty, let known = groupKeys.first(where: { $0.key == expression }) {
      next += FetchTree.expression(expression).markCount
      return known.kind
    }
    switch expression {
    case .constant(let value): return Kind(value)
    case .objectID(let id):
      return model.entity(named: id.entityName).map { .object($0) } ?? .unknown
    case .evaluatedObject: return subject
    case .variable(let name): return variables[name] ?? .unknown
    case .keyPath(let path): return try kind(at: path[...], of: subject)
    case .member(let base, let path):
      let base = try self.kind(of: base, subject)
      return try kind(at: path[...], of: base)
    case .element(let base, let element):
      let list = try wholeKind(of: base, subject)
      if case .at(let index) = element { _ = try kind(of: index, subject) }
      if case .size = element { return .number }
      if case .list(let inner) = list { return inner }
      return list
    case .function(let name, let arguments): return try call(name, arguments, subject, expression.isAggregate)
    case .custom(let target, _, let arguments):
      _ = try wholeKind(of: target, subject)
      for argument in arguments { _ = try wholeKind(of: argument, subject) }
      return .unknown
    case .aggregate(let parts):
      var common: Kind?
      for part in parts {
        let kind = try wholeKind(of: part, subject)
        if let known = common, known.group != kind.group { common = .unknown } else if common == nil { common = kind }
      }
      return .list(common ?? .unknown)
    case .subquery(let source, let variable, let predicate):
      let list = try wholeKind(of: source, subject)
      let before = variables[variable]
      if case .list(let inner) = list { variables[variable] = inner } else { variables[variable] = list }
      try check(predicate, subject)
      variables[variable] = before
      if case .list = list { return list }
      return .list(list)
    case .set(_, let one, let other):
      let left = try wholeKind(of: one, subject)
      _ = try wholeKind(of: other, subject)
      if case .list = left { return left }
      return .list(left)
    case .cast(let value, let type):
      let start = next
      _ = try wholeKind(of: value, subject)
      // A constant that can be cast was replaced by the result already.
      if isStrict, case .constant = value, Kind(cast: type).group != .unknown {
        throw error(
          start < marks.count ? marks[start] : 1, "\(value) cannot be cast to \(type)",
          Kind(cast: type).group == .date ? PredicateDate.forms : nil)
      }
      return Kind(cast: type)
    case .conditional(let predicate, let one, let other):
      try check(predicate, subject)
      let first = try wholeKind(of: one, subject)
      let second = try wholeKind(of: other, subject)
      return first.group == second.group ? first : .unknown
    case .fetch(let parts):
      for part in parts { _ = try kind(of: part, subject) }
      return .unknown
    case .assignment(_, let value): return try kind(of: value, subject)
    }
  }

  /// The type of an expression, which must not be a composite.
  mutating func wholeKind(of expression: FetchExpression, _ subject: Kind) throws(PredicateFormatError) -> Kind {
    let start = next
    let kind = try kind(of: expression, subject)
    try refuseComposite(kind, expression, start < marks.count ? marks[start] : 1)
    return kind
  }

  /// An aggregate of a group is one of its objects, of its keys too.
  private mutating func call(
    _ name: String, _ arguments: [FetchExpression], _ subject: Kind, _ isAggregate: Bool
  ) throws(PredicateFormatError) -> Kind {
    let keys = groupKeys
    if isAggregate { groupKeys = [] }
    defer { groupKeys = keys }
    return try function(name, arguments, subject)
  }

  private mutating func function(
    _ name: String, _ arguments: [FetchExpression], _ subject: Kind
  ) throws(PredicateFormatError) -> Kind {
    let start = next
    var kinds: [Kind] = []
    for argument in arguments { kinds.append(try wholeKind(of: argument, subject)) }
    guard let function = PredicateFunction.exactly(name) else { return .unknown }
    if isStrict { try checkArguments(of: function, arguments, kinds, start < marks.count ? marks[start] : 1) }
    let result = function.result(kinds)
    if function.style == .scalar, case .list? = kinds.first { return .list(result) }
    return result
  }

  private func checkArguments(
    of function: PredicateFunction, _ arguments: [FetchExpression], _ kinds: [Kind], _ column: Int
  ) throws(PredicateFormatError) {
    for (index, kind) in kinds.enumerated() {
      let parameter = function.parameter(at: index)
      switch parameter {
      case .operand:
        // Dates are added to and subtracted, and texts are joined.
        if kinds.contains(where: { $0.element.group == .date }) { continue }
        if function.name == "add:to:", PredicateFunction.joinsTexts(kinds) { continue }
      case .date: if PredicateDate.isDate(arguments[index]) { continue }
      default: break
      }
      guard parameter.accepts(kind.element.group) else {
        throw error(
          column, "\(function.name) requires \(parameter.title), but '\(arguments[index])' is \(kind.element.title)")
      }
    }
  }

  // MARK: Key paths

  private mutating func kind(at path: ArraySlice<String>, of kind: Kind) throws(PredicateFormatError) -> Kind {
    guard path.count <= FetchExpression.maximumPathLength else {
      throw error(1, FetchExpression.pathTooLong(path.count))
    }
    var kind = kind
    /// Whether the path has passed a list: its value is then a list. Computed without recursion, since a path may
    /// contain hundreds of lists.
    var isSpread = false
    func whole(_ kind: Kind) -> Kind {
      if case .list = kind { return kind }
      return isSpread ? .list(kind) : kind
    }
    var index = path.startIndex
    while index < path.endIndex {
      let key = path[index]
      let isOperator = FetchExpression.isOperator(key)
      while !isOperator, case .list(let inner) = kind {
        isSpread = true
        kind = inner
      }
      let column = mark()
      let rest = path[(index + 1)...]
      // An operator at the end of the path is applied to the values of all objects on the path.
      if isSpread, rest.isEmpty, FetchExpression.endOperators.contains(key), kind.isValue {
        return try aggregate(key, [], kind, column)
      }
      switch kind {
      case .object(let entity) where !isOperator:
        if let found = Kind(ofProperty: key, of: entity) {
          kind = found
        } else {
          switch key {
          case "self", "SELF", "objectID": break
          case "entity": kind = .entityName
          default: kind = try below(key, entity, column)
          }
        }
      case .composite(let composite) where !isOperator:
        guard let part = composite.part(named: key) else {
          throw unknown("\(composite.name).\(key)", composite.entity, column, composite.allPartNames)
        }
        kind = part
      // The rest of the path is applied to the elements.
      case .list(let inner): return whole(try aggregate(key, rest, inner, column))
      case .object: return whole(try aggregate(key, rest, kind, column))
      case .unknown, .null:
        next += rest.count
        return whole(.unknown)
      case .entityName where key == "name": kind = .text
      default:
        if kind.group == .text, key == "length" {
          kind = .number
        } else if isOperator {
          return whole(try aggregate(key, rest, kind, column))
        } else {
          throw error(column, "the path continues with '\(path[index...].joined(separator: "."))' after \(kind.title)")
        }
      }
      index += 1
    }
    return whole(kind)
  }

  /// The type of a key that only sub-entities have, which the strict check refuses. Other objects have nothing there,
  /// so whether the key is accepted must not depend on which objects there are.
  private func below(_ key: String, _ entity: Entity, _ column: Int) throws(PredicateFormatError) -> Kind {
    var found: (owner: Entity, kind: Kind)?
    for owner in entity.hierarchy {
      guard let kind = Kind(ofProperty: key, of: owner) else { continue }
      guard !isStrict else {
        throw error(
          column, "\(entity.name) has no property '\(key)', but its sub-entity \(owner.name) does",
          "fetch \(owner.name)")
      }
      guard let known = found else {
        found = (owner, kind)
        continue
      }
      guard let common = known.kind.common(with: kind) else {
        throw error(
          column, "'\(key)' is \(known.kind.title) of \(known.owner.name), but \(kind.title) of \(owner.name)",
          "fetch one of them")
      }
      found = (known.owner, common)
    }
    guard let found else { throw unknown(key, entity, column, Kind.propertyNames(of: entity)) }
    return found.kind
  }

  private func unknown(_ key: String, _ entity: Entity, _ column: Int, _ names: [String]) -> PredicateFormatError {
    if let operation = FetchExpression.unknownOperator(key) {
      let near = Suggestion.text(for: key, among: FetchExpression.operators + names)
      return error(column, operation, near.isEmpty ? nil : String(near.dropFirst(2)))
    }
    let near = Suggestion.text(for: key, among: names)
    return error(column, "unknown key '\(key)' on \(entity.name)", near.isEmpty ? nil : String(near.dropFirst(2)))
  }

  private mutating func aggregate(
    _ name: String, _ rest: ArraySlice<String>, _ element: Kind, _ column: Int
  ) throws(PredicateFormatError) -> Kind {
    guard FetchExpression.operators.contains(name) else {
      let near = Suggestion.text(for: name, among: FetchExpression.operators)
      throw error(column, "unknown operator '\(name)'", near.isEmpty ? nil : String(near.dropFirst(2)))
    }
    try refuseComposite(element, .evaluatedObject, column)
    if name == "@count" {
      for _ in rest { next += 1 }
      return .number
    }
    var values = try kind(at: rest, of: element)
    try refuseComposite(values, .evaluatedObject, column)
    if case .list(let inner) = values { values = inner }
    switch name {
    case "@sum", "@avg":
      if isStrict, ![.number, .unknown, .boolean].contains(values.group) {
        throw error(column, "\(name) requires numbers, not \(values.title)")
      }
      return .number
    case "@min", "@max": return values
    default: return .list(values)
    }
  }
}
