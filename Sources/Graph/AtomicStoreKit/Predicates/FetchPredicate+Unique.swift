import AtomicStoreSPI
import StorePredicates

extension FetchPredicate {
  /// What objects fulfil whose property has a value as uniqueness constraints compare it: there not-a-number is equal
  /// to not-a-number, whatever its bits, which in the language of predicates is equal to nothing.
  static func hasUnique(_ value: FetchExpression, in property: String) -> FetchPredicate {
    let path = FetchExpression.keyPath(property.split(separator: ".").map(String.init))
    if case .constant(let value) = value, NumberOrder.isNotANumber(value) ?? false {
      return .comparison(Comparison(path, .notEqual, path))
    }
    return .comparison(Comparison(path, .equal, value))
  }
}
