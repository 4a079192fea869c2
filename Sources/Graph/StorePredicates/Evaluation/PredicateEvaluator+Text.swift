import AtomicStoreSPI
import FoundationEssentials

extension PredicateEvaluator {
  /// The text that CONTAINS and IN look for, and look in: that of texts, URIs and UUIDs.
  static func words(_ value: PredicateValue) -> String? {
    switch value {
    case .value(.string(let text)), .value(.uri(let text)): text
    case .value(.uuid(let uuid)): uuid.uuidString
    default: nil
    }
  }

  /// The text that BEGINSWITH, ENDSWITH, LIKE and MATCHES look at: also that of numbers.
  static func text(_ value: PredicateValue) -> String? {
    if case .value(.integer(let number)) = value { return "\(number)" }
    return words(value)
  }

  /// Whether a regular expression matches the whole text. Its steps are those of the fetch.
  func matches(
    _ text: String, _ pattern: String, _ options: FetchPredicate.Options
  ) throws(PredicateEvaluationError) -> Bool {
    let expression: RegularExpression
    do throws(RegularExpressionError) { expression = try PatternCache.expression(pattern, options) } catch {
      throw failure(error.sentence(about: pattern))
    }
    var text = text
    switch text.withUTF8({ budget.match(expression, $0) }) {
    case .matching: return true
    case .different: return false
    case .tooManySteps: throw budget.exceeded()
    case .tooMuchMemory:
      throw failure("the pattern '\(pattern)' needs too much memory for a text of \(text.utf8.count) bytes")
    }
  }
}
