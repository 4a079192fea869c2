import AtomicStoreSPI
import StorePredicates
import Synchronization

/// A cache of the parsed predicates and expressions of models.
enum ParsedTexts {
  private static let predicates = Mutex<[String: Result<FetchPredicate?, PredicateFormatError>]>([:])
  private static let expressions = Mutex<[String: Result<FetchExpression, PredicateFormatError>]>([:])

  /// Returns nil for an empty text.
  static func predicate(_ text: String) -> Result<FetchPredicate?, PredicateFormatError> {
    if text.isEmpty { return .success(nil) }
    return predicates.withLock { known in
      if let found = known[text] { return found }
      if known.count > 1024 { known = [:] }
      let made: Result<FetchPredicate?, PredicateFormatError>
      do throws(PredicateFormatError) { made = .success(try FetchPredicate(format: text)) } catch {
        made = .failure(error)
      }
      known[text] = made
      return made
    }
  }

  static func expression(_ text: String) -> Result<FetchExpression, PredicateFormatError> {
    expressions.withLock { known in
      if let found = known[text] { return found }
      if known.count > 1024 { known = [:] }
      let made: Result<FetchExpression, PredicateFormatError>
      do throws(PredicateFormatError) { made = .success(try FetchExpression(format: text)) } catch {
        made = .failure(error)
      }
      known[text] = made
      return made
    }
  }
}
