package import AtomicStoreSPI
import FoundationEssentials

/// Compares numbers of different types exactly: an integer is not rounded to be compared with a double.
package enum NumberOrder {
  /// Negative, zero or positive; nil if a value is not a number.
  package static func order(_ one: StoredValue, _ other: StoredValue) -> Int? {
    guard let a = Number(one), let b = Number(other) else { return nil }
    switch (a, b) {
    case (.integer(let x), .integer(let y)): return x < y ? -1 : x == y ? 0 : 1
    case (.double(let x), .double(let y)): return x < y ? -1 : x == y ? 0 : x > y ? 1 : nil
    case (.integer(let x), .double(let y)): return order(x, y)
    case (.double(let x), .integer(let y)): return order(y, x).map { -$0 }
    case (.decimal(let x), .decimal(let y)): return order(x, y)
    case (.integer(let x), .decimal(let y)): return order(DecimalNumber(x), y)
    case (.decimal(let x), .integer(let y)): return order(x, DecimalNumber(y))
    case (.decimal(let x), .double(let y)): return order(x, y)
    case (.double(let x), .decimal(let y)): return order(y, x).map { -$0 }
    }
  }

  package enum Number {
    case integer(Int64)
    case double(Double)
    case decimal(DecimalNumber)
    package init?(_ value: StoredValue) {
      switch value {
      case .integer(let number): self = .integer(number)
      case .boolean(let flag): self = .integer(flag ? 1 : 0)
      case .double(let number): self = .double(number)
      case .float(let number): self = .double(Double(number))
      case .decimal(let number): self = .decimal(number)
      default: return nil
      }
    }
    var isNotANumber: Bool {
      switch self {
      case .integer: false
      case .double(let number): number.isNaN
      case .decimal(let number): number.isNaN
      }
    }
    package var asDouble: Double {
      switch self {
      case .integer(let number): Double(number)
      case .double(let number): number
      case .decimal(let number): Double(number.description) ?? .nan
      }
    }
  }

  /// The order of two numbers of which at least one is not-a-number, as sorting has it: before all others. Nil for
  /// other values.
  package static func orderOfNotANumber(_ one: StoredValue, _ other: StoredValue) -> Int? {
    switch (one, other) {
    case (.date, .date): break
    case (.date, _), (_, .date): return nil
    default: break
    }
    switch (isNotANumber(one), isNotANumber(other)) {
    case (nil, _), (_, nil): return nil
    case (true, true): return 0
    case (true, false): return -1
    case (false, true): return 1
    case (false, false): return nil
    }
  }

  /// Whether a number, or a date's number of seconds, is not-a-number; nil for other values.
  package static func isNotANumber(_ value: StoredValue) -> Bool? {
    if case .date(let date) = value { return date.timeIntervalSinceReferenceDate.isNaN }
    return Number(value)?.isNotANumber
  }

  private static func order(_ x: DecimalNumber, _ y: DecimalNumber) -> Int? {
    if x.isNaN || y.isNaN { return nil }
    return x.isLess(than: y) ? -1 : y.isLess(than: x) ? 1 : 0
  }

  private static func order(_ x: Int64, _ y: Double) -> Int? {
    if y.isNaN { return nil }
    if y >= 0x1p63 { return -1 }
    if y < -0x1p63 { return 1 }
    let whole = y.rounded(.towardZero)
    let integer = Int64(whole)
    if x != integer { return x < integer ? -1 : 1 }
    return y > whole ? -1 : y < whole ? 1 : 0
  }

  private static func order(_ x: DecimalNumber, _ y: Double) -> Int? {
    if x.isNaN || y.isNaN { return nil }
    if y.isInfinite { return y > 0 ? -1 : 1 }
    guard let near = Double(x.description) else { return nil }
    if near != y { return near < y ? -1 : 1 }
    // The decimal's nearest double is this one: compare with the double's exact digits.
    guard let exact = DecimalNumber(y.description) else { return 0 }
    return order(x, exact)
  }
}
