/// A regular expression that answers in time proportional to text times pattern, whatever they are.
///
/// The syntax is ICU's without what needs backtracking: back references, look-around and possessive quantifiers are
/// refused by name. It is run as a set of states over the Unicode scalars of the text.
struct BoundedRegularExpression: Sendable {
  struct SyntaxError: Error, CustomStringConvertible {
    /// In Unicode scalars, from 1.
    let column: Int
    let message: String
    var description: String { "column \(column) of the pattern: \(message)" }
  }

  /// How many instructions a pattern may come to.
  static let maximumSize = 20_000
  static let maximumDepth = 100

  enum Instruction: Sendable {
    case scalar(Unicode.Scalar, ignoresCase: Bool)
    case any(includesNewlines: Bool)
    case set(ScalarSet)
    case split(Int, Int)
    case jump(Int)
    case start(isLine: Bool)
    case end(isLine: Bool)
    case boundary(isNegated: Bool)
    case match
  }
  private let program: [Instruction]

  init(pattern: String) throws(SyntaxError) {
    var compiler = PatternCompiler(pattern)
    program = try compiler.compile()
  }

  /// Whether the pattern matches the text from its beginning to its end.
  func wholeMatch(_ text: String, caseInsensitive: Bool = false) -> Bool {
    let scalars = Array(text.unicodeScalars)
    var current = StateSet(program.count)
    var next = StateSet(program.count)
    add(0, to: &current, scalars, 0)
    for place in scalars.indices {
      if current.isEmpty { return false }
      next.removeAll()
      let scalar = scalars[place]
      for state in current.members {
        let fits: Bool
        switch program[state] {
        case .scalar(let wanted, let ignoresCase):
          fits = wanted == scalar || (ignoresCase || caseInsensitive) && ScalarSet.isSameLetter(wanted, scalar)
        case .any(let includesNewlines): fits = includesNewlines || !ScalarSet.isNewline(scalar)
        case .set(let set): fits = set.contains(scalar, ignoringCase: caseInsensitive)
        default: fits = false
        }
        if fits { add(state + 1, to: &next, scalars, place + 1) }
      }
      swap(&current, &next)
    }
    return current.members.contains { if case .match = program[$0] { true } else { false } }
  }

  /// Adds a state and all that are reached from it without reading.
  private func add(_ first: Int, to set: inout StateSet, _ scalars: [Unicode.Scalar], _ place: Int) {
    var rest = [first]
    while let state = rest.popLast() {
      guard set.visit(state) else { continue }
      func isWord(_ index: Int) -> Bool { scalars.indices.contains(index) && ScalarSet.isWord(scalars[index]) }
      switch program[state] {
      case .jump(let target): rest.append(target)
      case .split(let one, let other):
        rest.append(other)
        rest.append(one)
      case .start(let isLine):
        if place == 0 || isLine && ScalarSet.isNewline(scalars[place - 1]) { rest.append(state + 1) }
      case .end(let isLine):
        if place == scalars.count || isLine && ScalarSet.isNewline(scalars[place]) { rest.append(state + 1) }
      case .boundary(let isNegated):
        if (isWord(place - 1) != isWord(place)) != isNegated { rest.append(state + 1) }
      default: set.members.append(state)
      }
    }
  }

  private struct StateSet {
    var members: [Int] = []
    private var marks: [UInt32]
    private var generation: UInt32 = 1
    init(_ count: Int) { marks = [UInt32](repeating: 0, count: count) }
    var isEmpty: Bool { members.isEmpty }
    mutating func visit(_ state: Int) -> Bool {
      if marks[state] == generation { return false }
      marks[state] = generation
      return true
    }
    mutating func removeAll() {
      members.removeAll(keepingCapacity: true)
      generation &+= 1
      if generation == 0 {
        marks = [UInt32](repeating: 0, count: marks.count)
        generation = 1
      }
    }
  }
}

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
  /// All of these must hold as well (`&&`).
  var intersections: [ScalarSet] = []
  var isNegated = false
  var ignoresCase = false

  func contains(_ scalar: Unicode.Scalar, ignoringCase: Bool = false) -> Bool {
    var found = members.contains { Self.holds($0, scalar) }
    if !found, ignoresCase || ignoringCase {
      found = Self.otherCases(scalar).contains { other in members.contains { Self.holds($0, other) } }
    }
    if found, !intersections.isEmpty { found = intersections.allSatisfy { $0.contains(scalar, ignoringCase: ignoringCase) } }
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
    let texts = [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping, scalar.properties.titlecaseMapping]
    return texts.compactMap { $0.unicodeScalars.count == 1 ? $0.unicodeScalars.first : nil }
  }

  /// The general category's two letters.
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
