package import AtomicStoreSPI
import FoundationEssentials

/// The argument for a format specifier in a predicate's text.
package enum PredicateArgument {
  case expression(FetchExpression)
  case predicate(FetchPredicate)

  /// Returns nil for values that cannot be used in a predicate.
  package init?(_ value: Any?) {
    // The usual types first: each of the casts below takes its time.
    if let value, let stored = StoredValue(usual: value) {
      self = .expression(.constant(stored))
      return
    }
    guard let value = StoredValue.unwrapped(value) else {
      self = .expression(.constant(.null))
      return
    }
    switch value {
    case let predicate as FetchPredicate: self = .predicate(predicate)
    case let expression as FetchExpression: self = .expression(expression)
    case let id as ManagedObjectID: self = .expression(.objectID(id))
    case let stored as StoredValue: self = .expression(.constant(stored))
    case let number as UInt64 where number > UInt64(Int64.max):
      guard let exact = DecimalNumber("\(number)") else { return nil }
      self = .expression(.constant(.decimal(exact)))
    case let number as UInt where number > UInt(Int.max):
      guard let exact = DecimalNumber("\(number)") else { return nil }
      self = .expression(.constant(.decimal(exact)))
    case let character as Character: self = .expression(.constant(.string(String(character))))
    case let number as Decimal:
      guard let exact = DecimalNumber("\(number)") else { return nil }
      self = .expression(.constant(.decimal(exact)))
    default:
      if let stored = StoredValue(guessing: value) {
        self = .expression(.constant(stored))
      } else if let object = value as? any PredicateSubject {
        self = .expression(.objectID(object.objectID))
      } else if let list = Self.list(value) {
        var parts: [FetchExpression] = []
        for element in list {
          guard case .expression(let part)? = PredicateArgument(element) else { return nil }
          parts.append(part)
        }
        self = .expression(.aggregate(parts))
      } else {
        return nil
      }
    }
  }

  static func list(_ value: Any) -> [Any]? {
    switch value {
    case let list as [Any]: list
    case let texts as Set<String>: texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    case let numbers as Set<Int>: numbers.sorted()
    case let range as ClosedRange<Int>: [range.lowerBound, range.upperBound]
    case let range as ClosedRange<Double>: [range.lowerBound, range.upperBound]
    case let range as ClosedRange<Date>: [range.lowerBound, range.upperBound]
    case let set as Set<AnyHashable>: sorted(set)
    default: nil
    }
  }

  /// The elements of a set in an order that does not vary between runs.
  private static func sorted(_ set: Set<AnyHashable>) -> [Any] {
    let subjects = set.compactMap { $0.base as? any PredicateSubject }
    guard subjects.count == set.count else { return set.sorted { "\($0)" < "\($1)" } }
    return subjects.sorted { $0.precedes($1) }
  }
}
