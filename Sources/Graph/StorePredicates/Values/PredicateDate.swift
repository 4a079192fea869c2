package import AtomicStoreSPI
package import FoundationEssentials
import StoreCodecs

/// Strings in predicates that are dates.
enum PredicateDate {
  /// The hint for a string that is not a date.
  static let forms = "a date is written as '2001-01-31', which is midnight UTC, or as '2001-01-31T12:00:00Z'"

  /// Converts a literal that is compared with a date: a string, or the strings in a list, if they are dates.
  ///
  /// - Returns: nil for anything else.
  static func converted(_ literal: FetchExpression) -> PredicateValue? {
    switch literal {
    case .constant(.string(let text)): return DateText.date(text).map { .value(.date($0)) }
    case .aggregate(let parts):
      var values: [PredicateValue] = []
      for part in parts {
        guard case .constant(let value) = part else { return nil }
        if case .string(let text) = value, let date = DateText.date(text) {
          values.append(.value(.date(date)))
        } else {
          values.append(.value(value))
        }
      }
      return .list(values)
    default: return nil
    }
  }

  /// Whether a literal is a string that is a date.
  static func isDate(_ literal: FetchExpression) -> Bool {
    if case .constant(.string(let text)) = literal { DateText.date(text) != nil } else { false }
  }
}

extension FetchExpression {
  /// The date that a literal stands for where a date is expected; nil for anything else.
  package var dateOfLiteral: Date? {
    if case .value(.date(let date))? = PredicateDate.converted(self) { date } else { nil }
  }
}

extension PredicateValue {
  /// Whether it is a date, or a list of dates.
  var isDate: Bool {
    switch self {
    case .value(.date): true
    case .list(let list): if case .value(.date)? = list.first { true } else { false }
    default: false
    }
  }
}
