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
    if let found = compiled.withLock({ $0[key] }) { return try found.get() }
    // Outside of the lock: it may load ICU. Two threads may compile the same pattern.
    let made = Result { () throws(RegularExpressionError) in try RegularExpression(pattern, options) }
    compiled.withLock { known in
      if known.count > 256 { known = [:] }
      known[key] = made
    }
    return try made.get()
  }
}
