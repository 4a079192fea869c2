package import AtomicStoreSPI

/// How two values are compared that have an order.
package enum RowOrder {
  case less, lessOrEqual, equal, notEqual, greaterOrEqual, greater

  /// Whether it holds for two values of which one precedes the other (below 0), or both are equal; nil for values
  /// without an order, which are not equal.
  package func holds(_ order: Int?) -> Bool {
    guard let order else { return self == .notEqual }
    switch self {
    case .less: return order < 0
    case .lessOrEqual: return order <= 0
    case .equal: return order == 0
    case .notEqual: return order != 0
    case .greaterOrEqual: return order >= 0
    case .greater: return order > 0
    }
  }

  /// Whether it holds for two numbers; not-a-number has no order.
  package func holds(_ value: Double, _ bound: Double) -> Bool {
    switch self {
    case .less: value < bound
    case .lessOrEqual: value <= bound
    case .equal: value == bound
    case .notEqual: value != bound
    case .greaterOrEqual: value >= bound
    case .greater: value > bound
    }
  }

  /// Returns nil for comparators that are not about order.
  package init?(_ comparator: FetchPredicate.Comparator) {
    switch comparator {
    case .less: self = .less
    case .lessOrEqual: self = .lessOrEqual
    case .equal: self = .equal
    case .notEqual: self = .notEqual
    case .greaterOrEqual: self = .greaterOrEqual
    case .greater: self = .greater
    default: return nil
    }
  }
}
