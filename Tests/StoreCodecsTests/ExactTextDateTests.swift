import Foundation
import StoreCodecs
import Testing

@Suite("Exact date text") struct ExactTextDateTests {
  private func read(_ text: String) -> Double? { ExactText.date(Array(text.utf8).span) }

  @Test(
    "a date is written in UTC with the decimals it needs",
    arguments: [
      (0, "2001-01-01T00:00:00Z"), (0.25, "2001-01-01T00:00:00.25Z"), (-0.25, "2000-12-31T23:59:59.75Z"),
      (-1, "2000-12-31T23:59:59Z"), (1e-7, "2001-01-01T00:00:00.0000001Z"), (-0.1, "2000-12-31T23:59:59.9Z"),
      (-978_307_200, "1970-01-01T00:00:00Z"), (-63_113_904_000, "0001-01-01T00:00:00Z"),
      (252_423_993_599, "9999-12-31T23:59:59Z"), (94_521_600, "2003-12-31T00:00:00Z"),
      (99_705_600, "2004-02-29T00:00:00Z"), (700_000_000.123456, "2023-03-08T20:26:40.123456Z"),
      (-0.0, "@-0.0"), (252_423_993_600, "@252423993600.0"), (-63_114_076_800, "0000-12-30T00:00:00Z"),
      (-63_145_526_400, "0000-01-01T00:00:00Z"),
      (-63_145_526_401, "@-63145526401.0"), (.nan, "@nan"),
      (.infinity, "@inf"), (1e-30, "@1e-30"), (1e300, "@1e+300"),
    ] as [(Double, String)])
  func forms(_ seconds: Double, _ text: String) {
    #expect(written { $0.append(dateSeconds: seconds) } == text)
    #expect(read(text)?.bitPattern == seconds.bitPattern)
  }

  @Test("every random date reads back to the same bits")
  func random() {
    var generator = SeededGenerator(state: 6)
    for round in 0..<60_000 {
      let bits = generator.next()
      let value =
        switch round % 3 {
        case 0: Double(bitPattern: bits)
        case 1: Double(Int64(bitPattern: bits) >> 27) / 1000
        default: Double(Int64(bitPattern: bits) >> 32) * 0.3
        }
      let text = written { $0.append(dateSeconds: value) }
      #expect(read(text)?.bitPattern == value.bitPattern, "\(text)")
    }
  }

  @Test("every day of twelve centuries is the day that Foundation's calendar names")
  func calendar() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    // From 1601 on: before 1582 that calendar is the Julian one.
    for day in stride(from: -146_097, to: 292_000, by: 13) {
      let seconds = Double(day) * 86400
      let parts = calendar.dateComponents([.year, .month, .day], from: Date(timeIntervalSinceReferenceDate: seconds))
      let expected = String(format: "%04d-%02d-%02dT00:00:00Z", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
      #expect(written { $0.append(dateSeconds: seconds) } == expected)
      #expect(read(expected) == seconds)
    }
  }

  @Test(
    "other zones and spellings are read",
    arguments: [
      ("2001-01-01T02:00:00+02:00", 0), ("2000-12-31T19:30:00-0430", 0), ("2001-01-01 00:00:01Z", 1),
      ("2001-01-01", 0), ("2001-01-01T00:00:00", 0), ("2001-01-01T00:00Z", 0), ("2001-01-01T00:00:00.5", 0.5),
      ("2001-01-01T00:00:00+02", -7200), ("2001-01-01T00:00:00.50+00:00", 0.5), ("2001-01-01T00:00:00.000Z", 0),
      ("0000-01-01T00:00:00Z", -63_145_526_400), ("2001-01-01T00:00:00.10000000000000000000000000Z", 0.1),
    ] as [(String, Double)])
  func spellings(_ text: String, _ seconds: Double) {
    #expect(read(text) == seconds)
  }

  @Test(
    "what is not a point in time is refused",
    arguments: [
      "", "@", "@1 ", "2001-01", "2001-01-01T", "2001-01-01T00", "2001-01-01t00:00:01z", "2001-13-01T00:00:00Z",
      "2001-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2001-00-01T00:00:00Z", "2001-01-00T00:00:00Z",
      "2001-01-32T00:00:00Z", "2001-04-31T00:00:00Z", "2001-01-01T24:00:00Z", "2001-01-01T00:60:00Z",
      "2001-01-01T00:00:60Z", "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00ZZ",
      "2001-01-01T00:00:00+24:00", "2001-01-01T00:00:00+02:60", "2001-01-01T00:00:00+02-00", " 2001-01-01T00:00:00Z",
      "2001/01/01T00:00:00Z", "2001-01-01X00:00:00Z", "+2001-01-01T00:00:00Z",
      "9999-12-31T23:59:59.999999999999999999999999999Z", "2001-01-01T00:00:00+",
    ])
  func refused(_ text: String) {
    #expect(read(text) == nil)
  }
}
