import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import StorePredicates

/// Our tables beside those of Foundation, which the library itself does not load.
@Suite struct AccentFoldingTests {
  private static func numbers(_ text: some StringProtocol) -> [String] {
    text.unicodeScalars.map { String($0.value, radix: 16) }
  }

  /// Scalars that interact: letters of several scripts, composed and not, marks of several classes, Hangul, joiners.
  private static let alphabet: [Unicode.Scalar] = [
    "a", "E", "1", "=", " ", "\u{E9}", "\u{DF}", "\u{17F}", "\u{130}", "\u{131}", "\u{149}", "\u{1F0}", "\u{C5}",
    "\u{212B}", "\u{FB01}", "\u{1EA5}", "\u{390}", "\u{1FB3}", "\u{3A3}", "\u{3C2}", "\u{439}", "\u{451}", "\u{5D0}",
    "\u{622}", "\u{627}", "\u{958}", "\u{915}", "\u{304C}", "\u{304B}", "\u{AC01}", "\u{1100}", "\u{1161}", "\u{11A8}",
    "\u{2204}", "\u{2203}", "\u{1D15E}", "\u{F900}", "\u{16D67}", "\u{16D63}", "\u{105D2}",
    "\u{301}", "\u{302}", "\u{307}", "\u{308}", "\u{30A}", "\u{323}", "\u{327}", "\u{338}", "\u{340}", "\u{344}",
    "\u{345}", "\u{5B0}", "\u{653}", "\u{93C}", "\u{3099}", "\u{20DD}", "\u{903}", "\u{FE0F}", "\u{200D}",
  ]

  private static func randomText(_ generator: inout some RandomNumberGenerator) -> String {
    var text = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      text.append(alphabet.randomElement(using: &generator) ?? "a")
    }
    return String(text)
  }

  @Test func `the decomposition of every scalar is Foundation's, or newer than its Unicode`() {
    var newer: [String] = []
    for number in UInt32(0)..<0x3_0000 {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let ours = CanonicalForm.decomposed([scalar])
      let its = Array(String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars)
      if ours == its { continue }
      if its == [scalar], scalar.properties.age.map({ $0.major > 14 }) ?? true {
        newer.append(String(number, radix: 16))
      } else {
        Issue.record("\(String(number, radix: 16)): \(ours) is not \(its)")
      }
    }
    #expect(newer.count <= 20, "\(newer)")
  }

  /// Without Korean syllables of two letters: Foundation does not compose them with a third one.
  @Test(arguments: 0..<20) func `form C is Foundation's`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let text = Self.randomText(&generator)
      guard
        !text.unicodeScalars.contains(where: { $0.value > 0x1_0000 && $0.properties.age.map { $0.major > 14 } ?? true })
      else { continue }
      let ours = CanonicalForm.composed(text)
      let its = text.precomposedStringWithCanonicalMapping
      #expect(Self.numbers(ours) == Self.numbers(its), "\(Self.numbers(text))")
    }
  }

  @Test func `every scalar folds as with Foundation`() {
    for number in UInt32(0)..<0x3_0000 {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let text = String(scalar)
      let ours = StringComparison.folded(text, .diacriticInsensitive)
      let its = text.folding(options: .diacriticInsensitive, locale: nil).precomposedStringWithCanonicalMapping
      // A mark without a letter, which Foundation takes apart.
      if Self.numbers(ours) == Self.numbers(its) || number == 0x344 { continue }
      #expect(
        Self.numbers(CanonicalForm.composed(text)) == Self.numbers(ours),
        "\(String(number, radix: 16)): \(Self.numbers(its))")
      #expect(scalar.properties.age.map { $0.major > 14 } ?? false, "\(String(number, radix: 16))")
    }
  }

  @Test(arguments: 0..<20) func `letters with marks fold as with Foundation`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      // Those behind the letters are marks; Foundation does not know the others yet.
      let letters = Self.alphabet.prefix { $0 != "\u{301}" }.filter { $0.value < 0x1_0000 }
      let marks: [Unicode.Scalar] = ["\u{301}", "\u{323}", "\u{308}", "\u{5B0}", "\u{20DD}"]
      // Foundation takes only one mark of Latin from letters of other scripts, and none from joiners.
      var text = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        let base = letters.randomElement(using: &generator) ?? "a"
        text.append(base)
        guard base.value < 0x510, base.value > 0x20 else { continue }
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
          text.append(marks.randomElement(using: &generator) ?? "a")
        }
        text.append("x")
      }
      let ours = StringComparison.folded(String(text), .diacriticInsensitive)
      let its = String(text).folding(options: .diacriticInsensitive, locale: nil).precomposedStringWithCanonicalMapping
      #expect(Self.numbers(ours) == Self.numbers(its), "\(Self.numbers(String(text)))")
    }
  }

  @Test func `texts that are canonically equal fold to the same scalars`() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      let text = Self.randomText(&generator)
      let decomposed = CanonicalForm.string(CanonicalForm.decomposed(text.unicodeScalars))
      for options in [
        FetchPredicate.Options.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
      ] {
        let one = StringComparison.folded(text, options)
        let other = StringComparison.folded(decomposed, options)
        #expect(Self.numbers(one) == Self.numbers(other), "\(Self.numbers(text))")
      }
    }
  }

  @Test(arguments: [
    ("Zoë", "zoe", true), ("ÅNGSTRÖM", "angstrom", true), ("Straße", "STRASSE", true), ("Αθήνα", "ΑΘΗΝΑ", true),
    ("∄", "∃", false),
    ("は", "ば", false), ("каждый", "каждыи", true), ("가", "각", false),
  ]) func `names are equal without case and accents`(one: String, other: String, isEqual: Bool) {
    #expect((StringComparison.order(one, other, [.caseInsensitive, .diacriticInsensitive]) == 0) == isEqual)
  }
}
