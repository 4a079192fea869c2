/// Numbers that occur twice.
enum Duplicates {
  /// Returns the least number that occurs more than once; nil if all are different.
  static func least(in numbers: UnsafeBufferPointer<Int64>) -> Int64? {
    guard var lowest = numbers.first else { return nil }
    var highest = lowest
    for number in numbers {
      lowest = min(lowest, number)
      highest = max(highest, number)
    }
    let (spread, overflow) = highest.subtractingReportingOverflow(lowest)
    // A bit for each number that may occur takes less time than sorting, unless most bits stay empty.
    guard !overflow, spread / 64 <= numbers.count + 16 else { return leastBySorting(numbers) }
    var seen = [UInt64](repeating: 0, count: Int(spread / 64) + 1)
    var least: Int64?
    for number in numbers {
      let place = number - lowest
      let bit: UInt64 = 1 << UInt64(place & 63)
      let word = Int(place >> 6)
      if seen[word] & bit != 0 { least = min(least ?? number, number) }
      seen[word] |= bit
    }
    return least
  }

  private static func leastBySorting(_ numbers: UnsafeBufferPointer<Int64>) -> Int64? {
    let sorted = numbers.sorted()
    for index in sorted.indices.dropFirst() where sorted[index] == sorted[index - 1] { return sorted[index] }
    return nil
  }
}
