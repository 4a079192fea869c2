package import AtomicStoreSPI
import FoundationEssentials

/// The order of two values, as predicates, groups and sums have it.
package enum ValueOrder {
  /// Negative, zero or positive; nil for values that cannot be compared: null, not-a-number, or of different types.
  package static func order(_ one: StoredValue, _ other: StoredValue, _ options: FetchPredicate.Options) -> Int? {
    switch (one, other) {
    case (.string(let a), .string(let b)), (.uri(let a), .uri(let b)), (.uri(let a), .string(let b)),
      (.string(let a), .uri(let b)):
      return StringComparison.order(a, b, options)
    case (.uuid(let a), .uuid(let b)):
      return a == b ? 0 : a.uuidString < b.uuidString ? -1 : 1
    case (.uuid(let a), .string(let b)):
      return UUID(uuidString: b).map { a == $0 ? 0 : a.uuidString < $0.uuidString ? -1 : 1 }
    case (.string(let a), .uuid(let b)):
      return UUID(uuidString: a).map { b == $0 ? 0 : $0.uuidString < b.uuidString ? -1 : 1 }
    case (.date(let a), .date(let b)):
      return NumberOrder.order(.double(a.timeIntervalSinceReferenceDate), .double(b.timeIntervalSinceReferenceDate))
    default: return NumberOrder.order(one, other)
    }
  }
}
