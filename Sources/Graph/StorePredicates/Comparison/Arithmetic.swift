import AtomicStoreSPI
import FoundationEssentials

/// Calculations for predicates, columns, groups, key paths and derived attributes.
///
/// Integers remain integers while the result fits. If all operands are decimals or integers, and at least one is a
/// decimal, the result is a decimal: exact in its first 38 digits, which is exact except for quotients and very large
/// numbers. Everything else, roots and logarithms included, is computed with doubles.
package enum Arithmetic {
  /// A date plus or minus seconds, or the seconds between two dates.
  static func dates(_ name: String, _ one: StoredValue, _ other: StoredValue) -> StoredValue? {
    switch (one, other) {
    case (.date(let a), .date(let b)) where name == "from:subtract:":
      return .double(a.timeIntervalSinceReferenceDate - b.timeIntervalSinceReferenceDate)
    case (.date(let date), let value), (let value, .date(let date)):
      guard let seconds = NumberOrder.Number(value)?.asDouble else { return nil }
      if name == "add:to:" { return .date(date.addingTimeInterval(seconds)) }
      if name == "from:subtract:", case .date = one { return .date(date.addingTimeInterval(-seconds)) }
      return nil
    default: return nil
    }
  }

  /// A result as a value. Which bits not-a-number has depends on the processor and on the order of its operands, which
  /// compilers choose, so that all are replaced by those of `Double.nan`.
  private static func value(_ result: Double) -> StoredValue { .double(result.isNaN ? .nan : result) }

  package static func calculate(_ name: String, _ values: [StoredValue]) -> StoredValue? {
    let result = result(name, values)
    if case .double(let number)? = result { return value(number) }
    return result
  }

  private static func result(_ name: String, _ values: [StoredValue]) -> StoredValue? {
    let numbers = values.compactMap { NumberOrder.Number($0) }
    guard numbers.count == values.count, let first = numbers.first else { return nil }
    if case .integer(let a) = first {
      if numbers.count == 1 {
        switch name {
        case "abs:": return a == .min ? .double(-Double(a)) : .integer(abs(a))
        case "onesComplement:": return .integer(~a)
        case "floor:", "ceiling:", "trunc:": return .integer(a)
        default: break
        }
      } else if case .integer(let b) = numbers[1], let whole = whole(name, a, b) {
        return whole
      }
    }
    if let exact = decimals(numbers), let result = decimal(name, exact, numbers) { return .decimal(result) }
    let x = first.asDouble
    let y = numbers.count > 1 ? numbers[1].asDouble : 0
    switch name {
    case "add:to:": return .double(x + y)
    case "from:subtract:": return .double(x - y)
    case "multiply:by:": return .double(x * y)
    case "divide:by:": return .double(x / y)
    case "modulus:by:": return y == 0 ? nil : .double(x.truncatingRemainder(dividingBy: y))
    case "raise:toPower:": return .double(MathFunctions.power(x, y))
    case "sqrt:": return .double(x.squareRoot())
    case "log:": return .double(MathFunctions.log10(x))
    case "ln:": return .double(MathFunctions.ln(x))
    case "exp:": return .double(MathFunctions.exp(x))
    case "floor:": return .double(x.rounded(.down))
    case "ceiling:": return .double(x.rounded(.up))
    case "trunc:": return .double(x.rounded(.towardZero))
    case "abs:": return .double(abs(x))
    default: return nil
    }
  }

  /// The numbers as decimals, if at least one is a decimal and none is a double; otherwise nil.
  private static func decimals(_ numbers: [NumberOrder.Number]) -> [DecimalNumber]? {
    var decimals: [DecimalNumber] = []
    var isWhole = true
    for number in numbers {
      switch number {
      case .integer(let integer): decimals.append(DecimalNumber(integer))
      case .decimal(let decimal):
        decimals.append(decimal)
        isWhole = false
      case .double: return nil
      }
    }
    return isWhole ? nil : decimals
  }

  /// Returns nil for functions that decimals do not have, and for results that they cannot represent, such as a
  /// division by zero: doubles have these.
  private static func decimal(_ name: String, _ values: [DecimalNumber], _ numbers: [NumberOrder.Number])
    -> DecimalNumber?
  {
    let x = values[0]
    switch (name, values.count) {
    case ("abs:", 1): return x.magnitude
    case ("floor:", 1): return x.rounded(.down)
    case ("ceiling:", 1): return x.rounded(.up)
    case ("trunc:", 1): return x.rounded(.towardZero)
    case ("add:to:", 2): return x.adding(values[1])
    case ("from:subtract:", 2): return x.subtracting(values[1])
    case ("multiply:by:", 2): return x.multiplied(by: values[1])
    case ("divide:by:", 2): return x.divided(by: values[1])
    case ("modulus:by:", 2): return x.remainder(dividingBy: values[1])
    case ("raise:toPower:", 2):
      guard let power = values[1].integer, power >= 0, power <= 64 else { return nil }
      return x.raised(to: Int(power))
    default: return nil
    }
  }

  private static func whole(_ name: String, _ a: Int64, _ b: Int64) -> StoredValue? {
    func fitting(_ result: (partialValue: Int64, overflow: Bool)) -> StoredValue? {
      result.overflow ? nil : .integer(result.partialValue)
    }
    switch name {
    case "add:to:": return fitting(a.addingReportingOverflow(b))
    case "from:subtract:": return fitting(a.subtractingReportingOverflow(b))
    case "multiply:by:": return fitting(a.multipliedReportingOverflow(by: b))
    case "divide:by:":
      // An integer only if there is no remainder: 1 / 2 is 0.5.
      guard b != 0, !a.remainderReportingOverflow(dividingBy: b).overflow, a % b == 0 else { return nil }
      return fitting(a.dividedReportingOverflow(by: b))
    case "modulus:by:": return b == 0 ? nil : fitting(a.remainderReportingOverflow(dividingBy: b))
    case "raise:toPower:":
      guard b >= 0, b <= 64 else { return nil }
      var result: Int64 = 1
      for _ in 0..<b {
        let (next, overflow) = result.multipliedReportingOverflow(by: a)
        if overflow { return nil }
        result = next
      }
      return .integer(result)
    case "bitwiseAnd:with:": return .integer(a & b)
    case "bitwiseOr:with:": return .integer(a | b)
    case "bitwiseXor:with:": return .integer(a ^ b)
    case "leftshift:by:": return b >= 0 && b < 64 ? .integer(a << b) : nil
    case "rightshift:by:": return b >= 0 && b < 64 ? .integer(a >> b) : nil
    default: return nil
    }
  }

  // MARK: Rounding

  /// A number with so many digits after the point, or zeros before it; halves are rounded away from zero. A double is
  /// rounded by the decimal that it is shown as: 2.675 to 2.68.
  static func rounded(_ number: NumberOrder.Number, digits: Int) -> StoredValue {
    switch number {
    case .integer(let integer):
      guard digits < 0 else { return .integer(integer) }
      let rounded = DecimalNumber(integer).rounded(.toNearestOrAwayFromZero, digits: digits)
      return rounded.integer.map { .integer($0) } ?? .double(rounded.doubleValue)
    case .decimal(let decimal): return .decimal(decimal.rounded(.toNearestOrAwayFromZero, digits: digits))
    case .double(let double):
      // From there on, doubles are integers.
      guard double.isFinite, digits < 0 || double.magnitude < 0x1p53 else { return value(double) }
      guard let exact = DecimalNumber(double.description) else {
        // It has no decimal because it is too large, or too close to 0.
        return double.magnitude > 1 ? value(double) : .double(double.sign == .minus ? -0.0 : 0)
      }
      let rounded = exact.rounded(.toNearestOrAwayFromZero, digits: digits).doubleValue
      return .double(rounded == 0 && double.sign == .minus ? -0.0 : rounded)
    }
  }

  // MARK: One of many

  /// The result of an aggregate function; nil for an empty list, except that its sum is 0.
  static func aggregate(_ name: String, _ numbers: [NumberOrder.Number]) -> StoredValue? {
    if name == "sum:" { return sum(numbers) }
    guard !numbers.isEmpty else { return nil }
    if name == "average:" { return average(numbers) }
    if let exact = decimals(numbers), let result = decimal(name, of: exact.sorted { $0.isLess(than: $1) }) {
      return .decimal(result)
    }
    return value(double(name, of: sorted(numbers)))
  }

  package static func sum(_ numbers: [NumberOrder.Number]) -> StoredValue {
    if let whole = wholeSum(numbers) { return sum(whole) }
    if let exact = decimals(numbers), let total = DecimalNumber.sum(exact) { return .decimal(total) }
    return sum(numbers.reduce(0) { $0 + $1.asDouble })
  }

  /// The sum of floating-point numbers as a value.
  package static func sum(_ total: Double) -> StoredValue { value(total) }

  /// The average of integers is a double, the nearest to the exact result, since it rarely is an integer.
  package static func average(_ numbers: [NumberOrder.Number]) -> StoredValue {
    if let whole = wholeSum(numbers) { return average(whole, of: numbers.count) }
    let count = DecimalNumber(Int64(numbers.count))
    if let exact = decimals(numbers), let mean = DecimalNumber.sum(exact)?.divided(by: count) { return .decimal(mean) }
    return value(numbers.map(\.asDouble).sorted().reduce(0, +) / Double(numbers.count))
  }

  /// The sum of integers as a value.
  package static func sum(_ whole: Int128) -> StoredValue {
    Int64(exactly: whole).map { .integer($0) } ?? .double(Double(whole))
  }

  /// The average of that many integers, of which there is at least one, with this sum.
  package static func average(_ whole: Int128, of count: Int) -> StoredValue {
    let total = DecimalNumber(mantissa: whole.magnitude, isNegative: whole < 0)
    return .double(total.divided(by: DecimalNumber(Int64(count)))?.doubleValue ?? .nan)
  }

  /// The sum of integers: no list is long enough to overflow 128 bits.
  private static func wholeSum(_ numbers: [NumberOrder.Number]) -> Int128? {
    var total: Int128 = 0
    for number in numbers {
      guard case .integer(let integer) = number else { return nil }
      total += Int128(integer)
    }
    return total
  }

  /// The median or mode of sorted numbers; nil for other functions.
  private static func decimal(_ name: String, of sorted: [DecimalNumber]) -> DecimalNumber? {
    switch name {
    case "median:":
      let middle = sorted.count / 2
      if sorted.count % 2 == 1 { return sorted[middle] }
      return sorted[middle - 1].adding(sorted[middle])?.divided(by: DecimalNumber(2))
    case "mode:": return mode(sorted) { $0.isNumericallyEqual(to: $1) }
    default: return nil
    }
  }

  /// The number below which so large a fraction of the numbers is, between the two nearest in proportion, as SQL's
  /// `PERCENTILE_CONT` computes it; nil without numbers.
  static func percentile(_ fraction: Double, of numbers: [NumberOrder.Number]) -> StoredValue? {
    guard !numbers.isEmpty else { return nil }
    let position = fraction * Double(numbers.count - 1)
    let low = Int(position.rounded(.down))
    let high = min(low + 1, numbers.count - 1)
    let rest = position - Double(low)
    if let exact = decimals(numbers)?.sorted(by: { $0.isLess(than: $1) }) {
      if rest == 0 { return .decimal(exact[low]) }
      if let share = DecimalNumber(rest.description), let step = exact[high].subtracting(exact[low]),
        let part = step.multiplied(by: share), let result = exact[low].adding(part)
      {
        return .decimal(result)
      }
    }
    let sorted = sorted(numbers)
    if sorted.last?.isNaN == true { return value(.nan) }
    // Between equal numbers, infinite ones included, is the number itself.
    if rest == 0 || sorted[low] == sorted[high] { return value(sorted[low]) }
    return value(sorted[low] + (sorted[high] - sorted[low]) * rest)
  }

  /// In ascending order, with what is not a number last.
  private static func sorted(_ numbers: [NumberOrder.Number]) -> [Double] {
    numbers.map(\.asDouble).sorted { $0 < $1 || !$0.isNaN && $1.isNaN }
  }

  private static func double(_ name: String, of sorted: [Double]) -> Double {
    switch name {
    case "median:":
      let middle = sorted.count / 2
      if sorted.last?.isNaN == true { return .nan }
      return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    case "stddev:":
      let mean = sorted.reduce(0, +) / Double(sorted.count)
      let squares = sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      return (squares / Double(sorted.count)).squareRoot()
    default: return mode(sorted, ==)
    }
  }

  /// The most frequent value; of several, the first.
  private static func mode<Value>(_ sorted: [Value], _ isSame: (Value, Value) -> Bool) -> Value {
    var best = (value: sorted[0], count: 0)
    var run = 0
    for (index, value) in sorted.enumerated() {
      run = index > 0 && isSame(sorted[index - 1], value) ? run + 1 : 1
      if run > best.count { best = (value, run) }
    }
    return best.value
  }
}
