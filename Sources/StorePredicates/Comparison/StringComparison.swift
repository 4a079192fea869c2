// The one file of the kit that needs more than FoundationEssentials: letters without their accents.
package import AtomicStoreSPI
import Foundation

/// Texts as a comparison's options ask for: by Unicode scalars, or folded.
package enum StringComparison {
  /// The text as scalars to compare.
  static func scalars(_ text: String, _ options: FetchPredicate.Options) -> [Unicode.Scalar] {
    Array(folded(text, options).unicodeScalars)
  }

  package static func folded(_ text: String, _ options: FetchPredicate.Options) -> String {
    if options.contains(.normalized) { return text }
    let ignoresCase = options.contains(.caseInsensitive)
    let ignoresAccents = options.contains(.diacriticInsensitive)
    if !ignoresCase, !ignoresAccents { return text }
    // Plain letters have no accents, and capitals of their own.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return ignoresCase ? text.lowercased() : text }
    var result = text
    if ignoresAccents { result = result.folding(options: .diacriticInsensitive, locale: nil) }
    // By way of capitals, so that ß and ſ find their partners.
    if ignoresCase { result = result.uppercased().lowercased() }
    // An accent in one scalar or in two is the same letter once a comparison looks past scalars at all.
    return result.precomposedStringWithCanonicalMapping
  }

  /// A text whose scalars' order is the one that people expect of names: case and accents folded, each run of digits by
  /// its value, and the text itself behind, for those that are alike.
  package static func standardKey(_ text: String) -> String {
    var key = String.UnicodeScalarView()
    var digits: [Unicode.Scalar] = []
    func closeNumber() {
      guard !digits.isEmpty else { return }
      let value = digits.drop { $0 == "0" }
      // Longer numbers are greater: the length stands first, as a scalar of its own, within the range of digits and
      // letters.
      key.append("0")
      let length = min(value.count, 0x3FF)
      key.append(Unicode.Scalar(UInt32(0x100 + length)) ?? "0")
      key.append(contentsOf: value)
      digits = []
    }
    for scalar in folded(text, [.caseInsensitive, .diacriticInsensitive]).unicodeScalars {
      if scalar >= "0", scalar <= "9" {
        digits.append(scalar)
      } else {
        closeNumber()
        key.append(scalar)
      }
    }
    closeNumber()
    key.append("\0")
    key.append(contentsOf: text.unicodeScalars)
    return String(key)
  }

  /// Below 0, 0, above.
  package static func order(_ one: String, _ other: String, _ options: FetchPredicate.Options) -> Int {
    let a = folded(one, options)
    let b = folded(other, options)
    // UTF-8's bytes and Unicode's scalars have the same order.
    if a.utf8.elementsEqual(b.utf8) { return 0 }
    return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
  }

  package static func contains(_ text: String, _ part: String, _ options: FetchPredicate.Options) -> Bool {
    var whole = folded(text, options)
    var sought = folded(part, options)
    return whole.withUTF8 { haystack in sought.withUTF8 { needle in contains(haystack, needle) } }
  }

  @inlinable package static func contains(_ haystack: UnsafeBufferPointer<UInt8>, _ needle: UnsafeBufferPointer<UInt8>)
    -> Bool
  {
    guard let first = needle.first else { return true }
    guard haystack.count >= needle.count else { return false }
    for start in 0...(haystack.count - needle.count) where haystack[start] == first {
      var length = 1
      while length < needle.count, haystack[start + length] == needle[length] { length += 1 }
      if length == needle.count { return true }
    }
    return false
  }

  package static func begins(_ text: String, _ part: String, _ options: FetchPredicate.Options) -> Bool {
    folded(text, options).utf8.starts(with: folded(part, options).utf8)
  }
  package static func ends(_ text: String, _ part: String, _ options: FetchPredicate.Options) -> Bool {
    folded(text, options).utf8.reversed().starts(with: folded(part, options).utf8.reversed())
  }

  /// `?` is one scalar, `*` any number; a backslash makes either itself.
  package static func isLike(_ text: String, _ pattern: String, _ options: FetchPredicate.Options) -> Bool {
    enum Step: Equatable {
      case scalar(Unicode.Scalar)
      case one
      case any
    }
    var steps: [Step] = []
    var isEscaped = false
    for scalar in scalars(pattern, options) {
      if isEscaped {
        steps.append(.scalar(scalar))
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "?" {
        steps.append(.one)
      } else if scalar == "*" {
        if steps.last != .any { steps.append(.any) }
      } else {
        steps.append(.scalar(scalar))
      }
    }
    if isEscaped { steps.append(.scalar("\\")) }
    let text = scalars(text, options)
    var place = 0
    var step = 0
    // Where to go on if the present try fails: the last star, and how much it has taken.
    var retry: (step: Int, place: Int)?
    while place < text.count {
      if step < steps.count, steps[step] == .any {
        retry = (step + 1, place)
        step += 1
      } else if step < steps.count, steps[step] == .one || steps[step] == .scalar(text[place]) {
        step += 1
        place += 1
      } else if let again = retry {
        retry = (again.step, again.place + 1)
        step = again.step
        place = again.place + 1
      } else {
        return false
      }
    }
    while step < steps.count, steps[step] == .any { step += 1 }
    return step == steps.count
  }
}
