import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A value of a column, and how many objects have it.
struct CountedValue {
  let value: FetchedRow.Value
  let count: Int
  let number: Double
  let text: String

  /// The order: most frequent first, values of equal count in their own order.
  func isBefore(_ other: CountedValue) -> Bool {
    if (count, number) != (other.count, other.number) { return (other.count, number) < (count, other.number) }
    return text.unicodeScalars.lexicographicallyPrecedes(other.text.unicodeScalars)
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
