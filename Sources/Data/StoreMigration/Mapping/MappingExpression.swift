import AtomicStoreSPI
import ModelFiles
import StorePredicates

/// Translates the expressions of a mapping model, which are over `$source` and `$manager`, to expressions over the
/// source's object.
struct MappingExpression {
  /// Why an expression cannot be translated.
  struct Refusal: Error {
    var reason: String
  }

  let mapping: MappingModel.EntityMapping
  let propertyName: String
  private var refusal: String?

  init(_ mapping: MappingModel.EntityMapping, propertyName: String) {
    self.mapping = mapping
    self.propertyName = propertyName
  }

  /// The objects that a relationship's expression leads to, and the name of the mapping that they go through; nil for
  /// all mappings.
  struct Objects {
    var expression: FetchExpression
    var mappingName: String?
  }

  static func parsed(_ text: String) throws(Refusal) -> FetchExpression {
    do { return try FetchExpression(format: text) } catch {
      throw Refusal(reason: "the expression '\(text)' is not valid: \(error)")
    }
  }

  /// The value of an attribute.
  mutating func value(_ text: String) throws(Refusal) -> FetchExpression {
    try translated(try Self.parsed(text))
  }

  /// The value of a relationship: a call of the migration manager, which knows what objects became.
  mutating func objects(_ text: String) throws(Refusal) -> Objects {
    let expression = try Self.parsed(text)
    guard case .custom(.variable("manager"), let selector, let arguments) = expression else {
      throw Refusal(
        reason: "'\(expression)' does not lead to objects of the destination; "
          + "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', …) does")
    }
    guard Self.instances.contains(selector), arguments.count == 2 else {
      throw Refusal(reason: "the function '\(selector)' of the migration manager is not supported for a relationship")
    }
    guard case .constant(.string(let name)) = try translated(arguments[0]) else {
      throw Refusal(reason: "the first argument of '\(selector)' is not a text")
    }
    return Objects(
      expression: try translated(arguments[1]), mappingName: selector == Self.instances[0] ? name : nil)
  }

  private static let instances = [
    "destinationInstancesForEntityMappingNamed:sourceInstances:",
    "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
  ]

  /// The entity and the condition, nil for all objects, of a source expression.
  mutating func source(_ text: String) throws(Refusal) -> (entityName: String, filter: FetchPredicate?) {
    let expression = try Self.parsed(text)
    guard case .fetch(let parts) = expression, let request = parts.first,
      case .custom(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments) = request,
      arguments.count == 2, parts.dropFirst(2).first.map({ Self.isFalse($0) }) ?? true,
      case .constant(.string(let name)) = try translated(arguments[0]),
      case .constant(.string(let condition)) = try translated(arguments[1])
    else {
      throw Refusal(
        reason: "the source expression '\(expression)' is not supported: only "
          + "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', entity, predicate), …) is")
    }
    do {
      let predicate = try FetchPredicate(format: condition)
      return (name, predicate == .value(true) ? nil : predicate)
    } catch {
      throw Refusal(reason: "the predicate '\(condition)' of the source expression is not valid: \(error)")
    }
  }

  private static func isFalse(_ expression: FetchExpression) -> Bool {
    [.constant(.boolean(false)), .constant(.integer(0))].contains(expression)
  }

  // MARK: Trees

  private mutating func translated(_ expression: FetchExpression) throws(Refusal) -> FetchExpression {
    refusal = nil
    let result = translate(expression, bound: [])
    if let refusal { throw Refusal(reason: refusal) }
    return result
  }

  private mutating func refuse(_ reason: String) -> FetchExpression {
    refusal = refusal ?? reason
    return .constant(.null)
  }

  private mutating func translate(_ predicate: FetchPredicate, bound: Set<String>) -> FetchPredicate {
    predicate.mapParts(
      predicates: { translate($0, bound: bound) }, expressions: { translate($0, bound: bound) })
  }

  private mutating func translate(_ expression: FetchExpression, bound: Set<String>) -> FetchExpression {
    switch expression {
    case .variable(let name) where !bound.contains(name):
      return name == "source"
        ? bound.isEmpty ? .evaluatedObject : expression
        : refuse("the variable $\(name) does not have a value: $source, and names of $entityMapping, are supported")
    case .member(.variable(let name), let path) where !bound.contains(name):
      return member(name, path, isInner: !bound.isEmpty) ?? refuse("'\(expression)' is not supported")
    case .custom(let target, let selector, let arguments):
      return call(target, selector, arguments, bound)
    case .fetch: return refuse("FETCH is supported as a source expression only")
    case .assignment: return refuse("'\(expression)' is not supported")
    default: break
    }
    var inner = bound
    if case .subquery(_, let variable, _) = expression { inner.insert(variable) }
    return expression.mapParts(
      predicates: { translate($0, bound: inner) }, expressions: { translate($0, bound: bound) })
  }

  /// A key path from a variable.
  ///
  /// - Parameter isInner: Whether it is within a subquery, where `SELF` is another object.
  private func member(_ name: String, _ path: [String], isInner: Bool) -> FetchExpression? {
    func text(_ value: String?) -> FetchExpression { .constant(value.map { .string($0) } ?? .null) }
    switch (name, path.first) {
    case ("source", _): return isInner ? .member(.variable("source"), path) : .keyPath(path)
    case ("entityMapping", "name") where path.count == 1: return text(mapping.name)
    case ("entityMapping", "sourceEntityName") where path.count == 1: return text(mapping.sourceEntityName)
    case ("entityMapping", "destinationEntityName") where path.count == 1: return text(mapping.destinationEntityName)
    case ("entityMapping", "userInfo"):
      return text(mapping.userInfo[path.dropFirst().joined(separator: ".")])
    case ("propertyMapping", "name") where path.count == 1: return text(propertyName)
    default: return nil
    }
  }

  private mutating func call(
    _ target: FetchExpression, _ selector: String, _ arguments: [FetchExpression], _ bound: Set<String>
  ) -> FetchExpression {
    switch target {
    case .variable("manager"):
      return refuse("'\(selector)' of the migration manager is supported only as the whole value of a relationship")
    case .variable("entityPolicy"):
      return refuse("the function '\(selector)' of the migration policy is code of the application")
    default: break
    }
    let object = translate(target, bound: bound)
    let values = arguments.map { translate($0, bound: bound) }
    switch (selector, values.first) {
    case ("valueForKey:", .constant(.string(let key))?), ("valueForKeyPath:", .constant(.string(let key))?):
      let path = key.split(separator: ".").map(String.init)
      switch object {
      case .evaluatedObject: return .keyPath(path)
      case .keyPath(let start): return .keyPath(start + path)
      default: return .member(object, path)
      }
    case ("uppercaseString", nil): return .function("uppercase:", [object])
    case ("lowercaseString", nil): return .function("lowercase:", [object])
    case ("length", nil): return .function("length:", [object])
    case ("stringByAppendingString:", let text?) where values.count == 1: return .function("add:to:", [object, text])
    default: return refuse("the function '\(selector)' is code of the application")
    }
  }
}
