import FoundationEssentials
import StoreCodecs

/// The fields of a date in the Gregorian calendar, also before its introduction, as ISO 8601 has them.
struct CalendarFields {
  /// The days since 2001-01-01, which was a Monday.
  let days: Int
  let year: Int
  let month: Int
  let day: Int
  /// The second of the day, 0 ..< 86,400.
  let second: Int

  /// The seconds from 2001 that fields are computed of: about three million years in both directions.
  static let range = -1e14...1e14

  /// - Parameter seconds: Since 2001-01-01T00:00:00, in local time.
  init(seconds: Int) {
    var (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
    if second < 0 {
      days -= 1
      second += 86_400
    }
    self.init(days: days, second: second)
  }

  private init(days: Int, second: Int) {
    self.days = days
    self.second = second
    (year, month, day) = ExactText.calendarDay(days)
  }

  /// 1 for Monday to 7 for Sunday.
  var weekday: Int { ((days % 7) + 7) % 7 + 1 }
  var quarter: Int { (month - 1) / 3 + 1 }

  /// The number of the week, which begins on Monday: the first of a year is the one with its first Thursday.
  var week: Int {
    let thursday = CalendarFields(days: days + 4 - weekday, second: 0)
    return (thursday.days - ExactText.daysSinceReference(thursday.year, 1, 1)) / 7 + 1
  }

  enum Unit: String, CaseIterable { case year, quarter, month, week, day, hour, minute, second }

  subscript(unit: Unit) -> Int {
    switch unit {
    case .year: year
    case .quarter: quarter
    case .month: month
    case .week: week
    case .day: day
    case .hour: second / 3600
    case .minute: second / 60 % 60
    case .second: second % 60
    }
  }

  /// The local second at which a unit begins.
  func start(of unit: Unit) -> Int {
    switch unit {
    case .year: ExactText.daysSinceReference(year, 1, 1) * 86_400
    case .quarter: ExactText.daysSinceReference(year, quarter * 3 - 2, 1) * 86_400
    case .month: ExactText.daysSinceReference(year, month, 1) * 86_400
    case .week: (days - weekday + 1) * 86_400
    case .day: days * 86_400
    case .hour: days * 86_400 + second / 3600 * 3600
    case .minute: days * 86_400 + second / 60 * 60
    case .second: days * 86_400 + second
    }
  }
}
