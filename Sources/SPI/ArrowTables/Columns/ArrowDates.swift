import FoundationEssentials

/// Dates as timestamps, where nothing is lost: otherwise as doubles.
package enum ArrowDates {
  /// From 1970-01-01 to 2001-01-01.
  private static let secondsTo2001: Int64 = 978_307_200

  /// The ticks since 1970 that ``seconds(ticks:_:)`` makes exactly these seconds of; nil if there are none.
  @inline(__always)
  package static func ticks(seconds: Double, _ unit: ArrowType.TimeUnit) -> Int64? {
    // Between these bounds the whole part fits an integer, and the rest is exact.
    guard seconds > -0x1p53, seconds < 0x1p53 else { return nil }
    let whole = seconds.rounded(.down)
    let part = ((seconds - whole) * Double(unit.perSecond)).rounded(.toNearestOrEven)
    let (product, overflow) = (Int64(whole) + secondsTo2001).multipliedReportingOverflow(by: unit.perSecond)
    let (sum, carry) = product.addingReportingOverflow(Int64(part))
    guard !overflow, !carry else { return nil }
    return Self.seconds(ticks: sum, unit).bitPattern == seconds.bitPattern ? sum : nil
  }

  /// The seconds since 2001 of ticks since 1970: the nearest double.
  @inline(__always)
  package static func seconds(ticks: Int64, _ unit: ArrowType.TimeUnit) -> Double {
    var (whole, part) = ticks.quotientAndRemainder(dividingBy: unit.perSecond)
    if part < 0 {
      whole -= 1
      part += unit.perSecond
    }
    // The sum is rounded once: the part has an error far below the last bit of a sum that came from a double.
    // Only whole seconds can be so far away, and then a double has none of the difference.
    let (exact, overflow) = whole.subtractingReportingOverflow(secondsTo2001)
    return (overflow ? Double(whole) : Double(exact)) + Double(part) / Double(unit.perSecond)
  }

  /// A column of dates in seconds since 2001; nil is null.
  ///
  /// The unit is the microsecond if that loses nothing, otherwise the nanosecond, otherwise the column has doubles:
  /// then its values are seconds since 2001.
  static func column(_ field: ArrowField, _ batches: [[Double?]]) -> ArrowColumn {
    var field = field
    for unit in [ArrowType.TimeUnit.microsecond, .nanosecond] {
      guard batches.allSatisfy({ $0.allSatisfy { value in value.map { ticks(seconds: $0, unit) != nil } ?? true } })
      else { continue }
      field.type = .timestamp(unit, timeZone: "UTC")
      return ArrowColumn(field) { batch in
        data(batches[batch]) { ticks(seconds: $0, unit) ?? 0 }
      }
    }
    field.type = .float(bits: 64)
    return ArrowColumn(field) { batch in
      data(batches[batch]) { Int64(bitPattern: $0.bitPattern) }
    }
  }

  private static func data(_ values: [Double?], _ word: (Double) -> Int64) -> ArrowColumnData {
    var bits = ValidityBits(count: values.count)
    var words = [Int64](repeating: 0, count: values.count)
    for index in 0..<values.count {
      guard let value = values[index] else { continue }
      bits.set(index)
      words[index] = word(value)
    }
    return ArrowColumnData(count: values.count, nullCount: bits.nullCount, buffers: [bits.buffer, .int64(words)])
  }
}
