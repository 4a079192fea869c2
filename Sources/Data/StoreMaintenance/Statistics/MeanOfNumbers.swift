import AtomicStoreSPI

/// The arithmetic mean of numbers and Booleans.
struct MeanOfNumbers {
  /// Neumaier's sum, so that the mean of many values does not drift. It is scaled down, so that the sum of numbers
  /// whose mean is finite is finite; this is exact except for subnormal numbers, which are added apart.
  private var sum = CompensatedSum()
  private var small = CompensatedSum()
  /// Decimals are added as decimals, as long as that is possible.
  private var decimals: DecimalNumber? = DecimalNumber(0)
  private(set) var count = 0
  private var decimalCount = 0

  private static let scale = 0x1p-64

  mutating func add(_ value: StoredValue) {
    switch value {
    case .float(let number): add(Double(number))
    case .double(let number): add(number)
    case .integer(let number): add(Double(number))
    case .boolean(let flag): add(flag ? 1 : 0)
    case .decimal(let number) where !number.isNaN:
      decimalCount += 1
      decimals = decimals?.adding(number)
      add(number.doubleValue)
    default: break
    }
  }

  private mutating func add(_ number: Double) {
    guard !number.isNaN else { return }
    count += 1
    if number.magnitude < 0x1p-800 { small.add(number) } else { sum.add(number * Self.scale) }
  }

  /// Nil without numbers.
  var mean: Double? {
    guard count > 0 else { return nil }
    if decimalCount == count, let mean = decimals?.divided(by: DecimalNumber(Int64(count))) { return mean.doubleValue }
    // The division comes first: the sum may be greater than any double.
    let scaled = sum.total / Double(count)
    return scaled / Self.scale + small.total / Double(count)
  }
}

private struct CompensatedSum {
  private var sum = 0.0
  private var rest = 0.0
  var total: Double { sum.isFinite ? sum + rest : sum }

  mutating func add(_ number: Double) {
    let total = sum + number
    rest += abs(sum) >= abs(number) ? (sum - total) + number : (number - total) + sum
    sum = total
  }
}
