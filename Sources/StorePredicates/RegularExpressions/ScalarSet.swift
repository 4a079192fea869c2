/// A class of scalars: `[a-z]`, `\d`, `\p{L}`.
struct ScalarSet: Sendable {
  enum Member: Sendable {
    case range(UInt32, UInt32)
    case digit, space, word
    case category(String)
    indirect case not(Member)
    indirect case set(ScalarSet)
  }
  var members: [Member] = []
  /// A scalar must also be in all of these (`&&`).
  var intersections: [ScalarSet] = []
  var isNegated = false
  var ignoresCase = false

  func contains(_ scalar: Unicode.Scalar, ignoringCase: Bool = false) -> Bool {
    var found = members.contains { Self.holds($0, scalar) }
    if !found, ignoresCase || ignoringCase {
      found = Self.otherCases(scalar).contains { other in members.contains { Self.holds($0, other) } }
    }
    if found, !intersections.isEmpty {
      found = intersections.allSatisfy { $0.contains(scalar, ignoringCase: ignoringCase) }
    }
    return found != isNegated
  }

  private static func holds(_ member: Member, _ scalar: Unicode.Scalar) -> Bool {
    switch member {
    case .range(let low, let high): scalar.value >= low && scalar.value <= high
    case .digit: scalar.properties.generalCategory == .decimalNumber
    case .space: scalar.properties.isWhitespace
    case .word: isWord(scalar)
    case .category(let name): category(scalar).hasPrefix(name)
    case .not(let inner): !holds(inner, scalar)
    case .set(let set): set.contains(scalar)
    }
  }

  static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.generalCategory == .decimalNumber
      || scalar.properties.generalCategory == .nonspacingMark || scalar.properties.isJoinControl
  }
  static func isNewline(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 10, 11, 12, 13, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }
  static func isSameLetter(_ one: Unicode.Scalar, _ other: Unicode.Scalar) -> Bool {
    one == other || fold(one) == fold(other)
  }
  private static func fold(_ scalar: Unicode.Scalar) -> String { String(Character(scalar)).uppercased().lowercased() }
  private static func otherCases(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    let texts = [
      scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping, scalar.properties.titlecaseMapping,
    ]
    return texts.compactMap { $0.unicodeScalars.count == 1 ? $0.unicodeScalars.first : nil }
  }

  /// The two letters of the general category.
  private static func category(_ scalar: Unicode.Scalar) -> String {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter: "Lu"
    case .lowercaseLetter: "Ll"
    case .titlecaseLetter: "Lt"
    case .modifierLetter: "Lm"
    case .otherLetter: "Lo"
    case .nonspacingMark: "Mn"
    case .spacingMark: "Mc"
    case .enclosingMark: "Me"
    case .decimalNumber: "Nd"
    case .letterNumber: "Nl"
    case .otherNumber: "No"
    case .connectorPunctuation: "Pc"
    case .dashPunctuation: "Pd"
    case .openPunctuation: "Ps"
    case .closePunctuation: "Pe"
    case .initialPunctuation: "Pi"
    case .finalPunctuation: "Pf"
    case .otherPunctuation: "Po"
    case .mathSymbol: "Sm"
    case .currencySymbol: "Sc"
    case .modifierSymbol: "Sk"
    case .otherSymbol: "So"
    case .spaceSeparator: "Zs"
    case .lineSeparator: "Zl"
    case .paragraphSeparator: "Zp"
    case .control: "Cc"
    case .format: "Cf"
    case .surrogate: "Cs"
    case .privateUse: "Co"
    case .unassigned: "Cn"
    @unknown default: "Cn"
    }
  }
}
