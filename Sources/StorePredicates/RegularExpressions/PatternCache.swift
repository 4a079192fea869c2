package import AtomicStoreSPI
import Synchronization

/// Compiled patterns, for attribute rules and for `MATCHES`.
package enum PatternCache {
  private static let compiled = Mutex<[String: BoundedRegularExpression?]>([:])

  /// Whether the whole text matches; nil if the pattern is not a regular expression.
  package static func matches(_ text: String, _ pattern: String, _ options: FetchPredicate.Options = []) -> Bool? {
    let ignoresAccents = options.contains(.diacriticInsensitive)
    let text = ignoresAccents ? StringComparison.folded(text, .diacriticInsensitive) : text
    let pattern = ignoresAccents ? StringComparison.folded(pattern, .diacriticInsensitive) : pattern
    return expression(pattern)?.wholeMatch(text, caseInsensitive: options.contains(.caseInsensitive))
  }

  private static func expression(_ pattern: String) -> BoundedRegularExpression? {
    compiled.withLock { known in
      if let found = known[pattern] { return found }
      if known.count > 256 { known = [:] }
      let made = try? BoundedRegularExpression(pattern: pattern)
      known[pattern] = .some(made)
      return made
    }
  }

  /// The error in a pattern.
  package static func problem(_ pattern: String) -> String {
    do {
      _ = try BoundedRegularExpression(pattern: pattern)
      return ""
    } catch {
      return error.description
    }
  }
}
