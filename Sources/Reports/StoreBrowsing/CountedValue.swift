import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// A value of a column, and how many objects have it.
struct CountedValue {
  let value: FetchedRow.Value
  let count: Int
  let number: Double
  let text: String

  /// The order: most frequent first, values of equal count in their own order.
  func isBefore(_ other: CountedValue) -> Bool {
    if (count, number) != (other.count, other.number) { return (other.count, number) < (count, other.number) }
    if !text.unicodeScalars.elementsEqual(other.text.unicodeScalars) {
      return text.unicodeScalars.lexicographicallyPrecedes(other.text.unicodeScalars)
    }
    // The texts are shortened: values that begin alike are compared as a whole.
    return whole.unicodeScalars.lexicographicallyPrecedes(other.whole.unicodeScalars)
  }

  private var whole: String {
    if case .value(let stored) = value { FetchExpression.constant(stored).description } else { "" }
  }

  /// A number, or a date in seconds since 1970.
  static func number(_ value: StoredValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    // The number that is shown: what follows it is not precise.
    case .float(let number): Double(number.description) ?? Double(number)
    case .decimal(let number): number.doubleValue
    case .date(let date): date.timeIntervalSince1970
    default: nil
    }
  }
}
