import Foundation
import StoreCodecs
import TestSupport
import Testing

@testable import StoreImporting

@Suite("Times since 1970") struct UnixTimeTests {
  private static func seconds(_ text: String, _ decimals: Int) -> Double? {
    UnixTime.secondsSinceReference(Array(text.utf8).span, decimals: decimals)
  }

  /// The ISO 8601 text of a time, and what it is read as.
  private static func iso(_ units: Int64, decimals: Int, fraction: String) -> Double? {
    var scale: Int64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let (second, rest) = units.quotientAndRemainder(dividingBy: scale)
    let digits = String(rest + scale).dropFirst()
    let (days, time) = second.quotientAndRemainder(dividingBy: 86400)
    // Civil date from days since 1970-03-01 in eras of 400 years.
    let z = days + 719_468
    let era = z / 146_097
    let day = z - era * 146_097
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let inYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * inYear + 2) / 153
    let number = inYear - (153 * month + 2) / 5 + 1
    let calendarMonth = month < 10 ? month + 3 : month - 9
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let date = "\(year + era * 400 + (calendarMonth <= 2 ? 1 : 0))-\(two(calendarMonth))-\(two(number))"
    let clock = "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))"
    let text = "\(date)T\(clock)\(decimals > 0 || !fraction.isEmpty ? "." : "")\(digits)\(fraction)Z"
    return DateText.date(text)?.timeIntervalSinceReferenceDate
  }

  @Test("milliseconds and seconds give the double that the ISO text of the same time gives")
  func random() {
    var random = SeededGenerator(seed: 28)
    for _ in 0..<20_000 {
      let milliseconds = Int64.random(in: 0..<4_000_000_000_000, using: &random)
      #expect(
        Self.seconds("\(milliseconds)", 3) == Self.iso(milliseconds, decimals: 3, fraction: ""), "\(milliseconds)")
      let digits = String(Int.random(in: 1...999_999, using: &random) * 10 + 1)
      #expect(
        Self.seconds("\(milliseconds).\(digits)", 3) == Self.iso(milliseconds, decimals: 3, fraction: digits),
        "\(milliseconds).\(digits)")
      let second = milliseconds / 1000
      #expect(
        Self.seconds("\(second).\(digits)", 0) == Self.iso(second, decimals: 0, fraction: digits), "\(second).\(digits)"
      )
    }
    #expect(Self.seconds("1577836800123", 3) == 599_529_600.123)
  }

  @Test("negative times, exponents and what is not a number")
  func edges() {
    #expect(Self.seconds("-1500", 3) == -978_307_201.5 && Self.seconds("0", 3) == -978_307_200)
    #expect(Self.seconds("1.5e12", 3) == Self.seconds("1500000000000", 3))
    #expect(Self.seconds("978307200.1", 0) == 0.1 && Self.seconds("x", 0) == nil && Self.seconds("", 3) == nil)
    #expect(Self.seconds("1e300", 0) == 1e300)
  }
}
