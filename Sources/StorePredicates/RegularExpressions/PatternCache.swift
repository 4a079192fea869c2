package import AtomicStoreSPI
import Synchronization

/// Compiled patterns, for attribute rules and for `MATCHES`.
package enum PatternCache {
  private struct Key: Hashable {
    /// By scalars: patterns that are canonically equivalent match different texts.
    let pattern: ScalarString
    let options: FetchPredicate.Options
  }
  private static let compiled = Mutex<[Key: Result<RegularExpression, RegularExpressionError>]>([:])

  package static func expression(
    _ pattern: String, _ options: FetchPredicate.Options = []
  ) throws(RegularExpressionError) -> RegularExpression {
    let key = Key(pattern: ScalarString(pattern), options: options)
    return try compiled.withLock { known in
      if let found = known[key] { return found }
      if known.count > 256 { known = [:] }
      let made = Result { () throws(RegularExpressionError) in try RegularExpression(pattern, options) }
      known[key] = made
      return made
    }.get()
  }
}
