import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Numbers of all types in one calculation.
enum AggregateNumber {
  static func number(_ value: Any) -> NumberOrder.Number? {
    switch value {
    case let number as Int: .integer(Int64(number))
    case let number as Double: .double(number)
    case let number as Float: .double(Double(number))
    case let number as DecimalNumber: .decimal(number)
    default: nil
    }
  }

  /// Negative, zero or positive; nil for values that cannot be compared.
  static func order(_ one: StoredValue, _ other: StoredValue) -> Int? {
    func compare<Value: Comparable>(_ a: Value, _ b: Value) -> Int { a < b ? -1 : a == b ? 0 : 1 }
    switch (one, other) {
    case (.integer(let a), .integer(let b)): return compare(a, b)
    case (.date(let a), .date(let b)): return compare(a, b)
    case (.string(let a), .string(let b)):
      return a.utf8.elementsEqual(b.utf8) ? 0 : a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    case (.boolean(let a), .boolean(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
    case (.decimal(let a), .decimal(let b)): return a.isLess(than: b) ? -1 : b.isLess(than: a) ? 1 : 0
    default:
      guard let a = one.anyValue.flatMap(number), let b = other.anyValue.flatMap(number) else { return nil }
      return compare(a.asDouble, b.asDouble)
    }
  }
}
