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
}
