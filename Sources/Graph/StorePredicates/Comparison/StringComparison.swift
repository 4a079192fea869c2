package import AtomicStoreSPI

/// String comparison as the options require: by Unicode scalars, or folded.
@usableFromInline package enum StringComparison {
  /// The scalars of the string to compare, folded by the options.
  static func scalars(_ text: String, _ options: FetchPredicate.Options) -> [Unicode.Scalar] {
    Array(folded(text, options).unicodeScalars)
  }

  package static func folded(_ text: String, _ options: FetchPredicate.Options) -> String {
    if options.contains(.normalized) { return text }
    let ignoresCase = options.contains(.caseInsensitive)
    let ignoresAccents = options.contains(.diacriticInsensitive)
    if !ignoresCase, !ignoresAccents { return text }
    // ASCII letters have no accents, and simple case mappings.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return ignoresCase ? text.lowercased() : text }
    // Decomposed before cases are changed (The Unicode Standard, D145): ᾴ and its parts become the same.
    var result = ignoresAccents ? AccentFolding.withoutAccents(text) : CanonicalForm.decomposed(text)
    // Convert to upper case first, so that ß and ſ are equal to their counterparts.
    if ignoresCase { result = result.uppercased().lowercased() }
    // A precomposed and a decomposed accent are equal as soon as a comparison folds.
    return CanonicalForm.composed(result)
  }

  /// A string whose scalar order is the expected order of names: case and accents are folded, each run of digits sorts
  /// by its value, and the original string is appended to order strings that are otherwise equal.
  package static func standardKey(_ text: String) -> String {
    var key = String.UnicodeScalarView()
    var digits: [Unicode.Scalar] = []
    func closeNumber() {
      guard !digits.isEmpty else { return }
      let value = digits.drop { $0 == "0" }
      // Longer numbers are greater: a scalar for the length comes first, within the range of digits and letters.
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

  /// Negative, zero or positive.
  package static func order(_ one: String, _ other: String, _ options: FetchPredicate.Options) -> Int {
    let a = folded(one, options)
    let b = folded(other, options)
    // UTF-8 bytes and Unicode scalars have the same order.
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

  /// `?` matches one scalar, `*` any number of scalars; a backslash escapes either.
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
    // Where to continue if the current attempt fails: the last star, and how many scalars it has matched.
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
