/// Text without accents, for comparisons with the option `[d]`.
///
/// Accents are taken from Latin, Greek and Cyrillic letters, digits and punctuation, as Foundation does: in other
/// scripts, marks are vowels and consonants.
enum AccentFolding {
  /// The first scalar behind Cyrillic, whose marks stay.
  private static let end: Unicode.Scalar = "\u{510}"

  /// The letter without accents for each scalar below `CanonicalForm.firstCombining`.
  private static let letters: [Unicode.Scalar] = (0..<CanonicalForm.firstCombining.value).map { number in
    let scalar = Unicode.Scalar(number) ?? "\0"
    return CanonicalForm.decomposed([scalar]).first ?? scalar
  }

  /// The text without accents. What stays may be decomposed.
  static func withoutAccents(_ text: String) -> String {
    if text.unicodeScalars.allSatisfy({ $0 < CanonicalForm.firstCombining }) {
      return CanonicalForm.string(text.unicodeScalars.map { letters[Int($0.value)] })
    }
    var result: [Unicode.Scalar] = []
    var base: Unicode.Scalar?
    for scalar in CanonicalForm.decomposed(text.unicodeScalars) {
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark:
        if let base, isRemoved(scalar, after: base) { continue }
      // A joiner does not end what the letter before it began.
      case .format: break
      default: base = scalar
      }
      result.append(scalar)
    }
    return CanonicalForm.string(result)
  }

  /// A mark of Latin, Greek or Cyrillic is also taken from letters of other scripts, unless the two are one character:
  /// `∄` is not `∃`.
  private static func isRemoved(_ mark: Unicode.Scalar, after base: Unicode.Scalar) -> Bool {
    base < end || mark < end && CanonicalForm.whole(base, mark) == nil
  }
}
