import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Archives predicates and expressions as `ArchivedPredicateText` reads them; nil for what has no known form.
///
/// The recursion is as deep as the text was nested, which its parser limits.
struct PredicateArchiver {
  var archive = KeyedArchiveBuilder()

  // MARK: Predicates

  mutating func predicate(_ predicate: FetchPredicate) -> PropertyListValue? {
    switch predicate {
    case .value(let flag):
      return archive.object([:], class: [flag ? "NSTruePredicate" : "NSFalsePredicate", "NSPredicate", "NSObject"])
    case .block: return nil
    case .not(let part): return compound([part], 0)
    case .and(let parts): return parts.count == 1 ? self.predicate(parts[0]) : compound(parts, 1)
    case .or(let parts): return parts.count == 1 ? self.predicate(parts[0]) : compound(parts, 2)
    case .comparison(let comparison):
      guard let left = expression(comparison.left), let right = expression(comparison.right),
        let comparator = comparator(comparison)
      else { return nil }
      return archive.object(
        ["NSLeftExpression": left, "NSRightExpression": right, "NSPredicateOperator": comparator],
        class: ["NSComparisonPredicate", "NSPredicate", "NSObject"])
    }
  }

  private mutating func compound(_ parts: [FetchPredicate], _ type: Int128) -> PropertyListValue? {
    var references: [PropertyListValue] = []
    for part in parts {
      guard let reference = predicate(part) else { return nil }
      references.append(reference)
    }
    let list = archive.array(references)
    return archive.object(
      ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": list],
      class: ["NSCompoundPredicate", "NSPredicate", "NSObject"])
  }

  private mutating func comparator(_ comparison: FetchPredicate.Comparison) -> PropertyListValue? {
    guard comparison.options.isSubset(of: [.caseInsensitive, .diacriticInsensitive]) else { return nil }
    let options: PropertyListValue = .integer(
      (comparison.options.contains(.caseInsensitive) ? 1 : 0)
        + (comparison.options.contains(.diacriticInsensitive) ? 2 : 0))
    let modifier: Int128 =
      switch comparison.modifier {
      case .direct: 0
      case .all: 1
      case .any: 2
      }
    let (type, names, fields): (Int128, [String], PropertyListDictionary) =
      switch comparison.comparator {
      case .less: (0, ["NSComparisonPredicateOperator"], ["NSVariant": 0, "NSOptions": options])
      case .lessOrEqual: (1, ["NSComparisonPredicateOperator"], ["NSVariant": 1, "NSOptions": options])
      case .greater: (2, ["NSComparisonPredicateOperator"], ["NSVariant": 2, "NSOptions": options])
      case .greaterOrEqual: (3, ["NSComparisonPredicateOperator"], ["NSVariant": 3, "NSOptions": options])
      case .equal: (4, ["NSEqualityPredicateOperator"], ["NSNegate": false, "NSOptions": options])
      case .notEqual: (5, ["NSEqualityPredicateOperator"], ["NSNegate": true, "NSOptions": options])
      case .matches: (6, ["NSMatchingPredicateOperator", "NSStringPredicateOperator"], ["NSFlags": options])
      case .like:
        (
          7, ["NSLikePredicateOperator", "NSMatchingPredicateOperator", "NSStringPredicateOperator"],
          ["NSFlags": options]
        )
      case .beginsWith:
        (8, ["NSSubstringPredicateOperator", "NSStringPredicateOperator"], ["NSFlags": options, "NSPosition": 0])
      case .endsWith:
        (9, ["NSSubstringPredicateOperator", "NSStringPredicateOperator"], ["NSFlags": options, "NSPosition": 1])
      case .isIn: (10, ["NSInPredicateOperator"], ["NSFlags": options])
      case .contains: (99, ["NSInPredicateOperator"], ["NSFlags": options])
      case .between: (100, ["NSBetweenPredicateOperator"], [:])
      }
    var all = fields
    all["NSOperatorType"] = .integer(type)
    all["NSModifier"] = .integer(modifier)
    return archive.object(all, class: names + ["NSPredicateOperator", "NSObject"])
  }

  // MARK: Expressions

  mutating func expression(_ expression: FetchExpression) -> PropertyListValue? {
    switch expression {
    case .evaluatedObject: return object("NSSelfExpression", 1, [:])
    case .variable(let name):
      let text = archive.text(name)
      return object("NSVariableExpression", 2, ["NSVariable": text])
    case .constant(let value): return constant(value).map { constantExpression($0) }
    case .keyPath(let path):
      guard let base = self.expression(.evaluatedObject) else { return nil }
      return keyPath(path, from: base, isOfObject: true)
    case .member(let base, let path):
      guard let base = self.expression(base) else { return nil }
      return keyPath(path, from: base, isOfObject: false)
    case .function(let name, let arguments):
      let target = archive.text("_NSPredicateUtilities")
      guard let operand = object("NSConstantValueExpression", 0, ["NSConstantValueClassName": target]) else {
        return nil
      }
      return function(name, arguments, operand)
    case .custom(let target, let name, let arguments):
      guard let operand = self.expression(target) else { return nil }
      return function(name, arguments, operand)
    case .cast(.constant(let value), let type) where type == "NSDate":
      let seconds: Double? =
        switch value {
        case .double(let number): number
        case .integer(let number): Double(number)
        case .decimal(let number): Double(number.description)
        default: nil
        }
      return seconds.flatMap { constant(.date(Date(timeIntervalSinceReferenceDate: $0))) }
        .map { constantExpression($0) }
    case .cast(let value, let type):
      return self.expression(.function("castObject:toType:", [value, .constant(.string(type))]))
    case .aggregate(let elements):
      guard let list = list(elements) else { return nil }
      return object("NSAggregateExpression", 14, ["NSCollection": list])
    case .subquery(let collection, let variable, let condition):
      guard let collection = self.expression(collection), let condition = predicate(condition) else { return nil }
      let name = archive.text(variable)
      return object(
        "NSSubqueryExpression", 13,
        ["NSCollectionExpression": collection, "NSVariable": name, "NSPredicate": condition])
    case .objectID, .element, .set, .conditional, .fetch, .assignment: return nil
    }
  }

  private mutating func object(_ name: String, _ type: Int128, _ fields: PropertyListDictionary) -> PropertyListValue? {
    var fields = fields
    fields["NSExpressionType"] = .integer(type)
    return archive.object(fields, class: [name, "NSExpression", "NSObject"])
  }

  private mutating func constantExpression(_ value: PropertyListValue) -> PropertyListValue {
    archive.object(
      ["NSConstantValue": value, "NSExpressionType": 0],
      class: ["NSConstantValueExpression", "NSExpression", "NSObject"])
  }

  private mutating func list(_ expressions: [FetchExpression]) -> PropertyListValue? {
    var references: [PropertyListValue] = []
    for expression in expressions {
      guard let reference = self.expression(expression) else { return nil }
      references.append(reference)
    }
    return archive.array(references, isMutable: true)
  }

  private mutating func keyPath(
    _ path: [String], from base: PropertyListValue, isOfObject: Bool
  ) -> PropertyListValue? {
    let isKey = isOfObject && path.count == 1 && path[0].utf8.first != UInt8(ascii: "@")
    let text = archive.text(path.joined(separator: "."))
    let specifier = archive.object(
      ["NSKeyPath": text, "NSExpressionType": 10], class: ["NSKeyPathSpecifierExpression", "NSExpression", "NSObject"])
    let arguments = archive.array([specifier], isMutable: true)
    let selector = archive.text(isKey ? "valueForKey:" : "valueForKeyPath:")
    return archive.object(
      [
        "NSOperand": base, "NSSelectorName": selector, "NSArguments": arguments, "NSExpressionType": isKey ? 3 : 4,
      ], class: ["NSKeyPathExpression", "NSFunctionExpression", "NSExpression", "NSObject"])
  }

  private mutating func function(
    _ name: String, _ arguments: [FetchExpression], _ operand: PropertyListValue
  ) -> PropertyListValue? {
    guard let list = list(arguments) else { return nil }
    let selector = archive.text(name)
    return object(
      "NSFunctionExpression", 4, ["NSOperand": operand, "NSSelectorName": selector, "NSArguments": list])
  }

  private mutating func constant(_ value: StoredValue) -> PropertyListValue? {
    switch value {
    case .null: KeyedArchiveBuilder.nothing
    case .boolean(let flag): archive.add(.boolean(flag))
    case .integer(let number): archive.add(.integer(Int128(number)))
    case .float(let number): archive.add(.real(Double(number)))
    case .double(let number): archive.add(.real(number))
    case .decimal(let number): archive.decimal(number)
    case .string(let text): archive.text(text)
    case .date(let date): archive.tree(.date(date))
    default: nil
    }
  }
}
