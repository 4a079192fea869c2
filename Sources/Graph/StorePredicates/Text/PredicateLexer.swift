import AtomicStoreSPI
import Synchronization

/// A token of predicate text.
struct PredicateToken: Sendable {
  enum Kind: Equatable, Sendable {
    /// A name. `isReserved` after `#`, which makes a keyword a name.
    case word(String, isReserved: Bool)
    case string(String)
    /// As it is written.
    case number(String)
    /// `$NAME`.
    case variable(String)
    /// `@count`.
    case keyword(String)
    /// `%@`, `%K`, `%d` and so on: the characters after the percent sign.
    case argument(String)
    /// `==`, `(`, `.` and so on.
    case symbol(String)
    case end
  }
  let kind: Kind
  /// In Unicode scalars, starting at 1.
  let column: Int
  /// Whether white space precedes it.
  let isSpaced: Bool
}

/// Splits predicate text into tokens.
struct PredicateLexer {
  let format: String
  private let scalars: [Unicode.Scalar]
  private var place = 0

  /// The maximum length of a text, in Unicode scalars.
  static let maximumLength = 1_000_000

  init(_ format: String) throws(PredicateFormatError) {
    self.format = format
    scalars = Array(format.unicodeScalars)
    guard scalars.count <= Self.maximumLength else {
      throw PredicateFormatError("", 1, "the text has \(scalars.count) characters; the limit is \(Self.maximumLength)")
    }
  }

  /// The tokens of recently parsed formats: a program that fetches in a loop uses the same format with different
  /// arguments.
  private static let recent = Mutex<[ScalarString: [PredicateToken]]>([:])
  /// How many formats are cached, and the maximum length of each in UTF-8 bytes.
  private static let recentLimit = 64
  private static let recentLength = 256

  static func tokens(of format: String) throws(PredicateFormatError) -> [PredicateToken] {
    guard format.utf8.count <= recentLength else { return try read(format) }
    let key = ScalarString(format)
    if let known = recent.withLock({ $0[key] }) { return known }
    let tokens = try read(format)
    recent.withLock { known in
      if known.count >= recentLimit { known = [:] }
      known[key] = tokens
    }
    return tokens
  }

  private static func read(_ format: String) throws(PredicateFormatError) -> [PredicateToken] {
    var lexer = try PredicateLexer(format)
    var tokens: [PredicateToken] = []
    while true {
      let token = try lexer.next()
      tokens.append(token)
      if token.kind == .end { return tokens }
    }
  }

  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    place + offset < scalars.count ? scalars[place + offset] : nil
  }

  static func isWordStart(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar == "_" || "a"..."z" ~= scalar || "A"..."Z" ~= scalar }
    return scalar.properties.isAlphabetic || scalar.properties.isEmojiPresentation
  }
  static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return isWordStart(scalar) || "0"..."9" ~= scalar }
    return isWordStart(scalar) || scalar.properties.numericType != nil
      || scalar.properties.generalCategory == .nonspacingMark || scalar.properties.generalCategory == .spacingMark
  }
  private static func isDigit(_ scalar: Unicode.Scalar?) -> Bool { scalar.map { $0 >= "0" && $0 <= "9" } ?? false }

  private mutating func next() throws(PredicateFormatError) -> PredicateToken {
    let before = place
    while let scalar = peek(), scalar.properties.isWhitespace { place += 1 }
    let isSpaced = place > before
    let start = place
    func token(_ kind: PredicateToken.Kind) -> PredicateToken {
      PredicateToken(kind: kind, column: start + 1, isSpaced: isSpaced)
    }
    guard let scalar = peek() else { return token(.end) }
    if Self.isWordStart(scalar) { return token(.word(word(), isReserved: false)) }
    if Self.isDigit(scalar) || scalar == "." && Self.isDigit(peek(1)) && !follows() { return token(.number(number())) }
    switch scalar {
    case "'", "\"": return token(.string(try string(scalar)))
    case "#":
      place += 1
      // An extension: #"first name" is a key that is not a word.
      if let quote = peek(), quote == "'" || quote == "\"" { return token(.word(try string(quote), isReserved: true)) }
      guard let first = peek(), Self.isWordStart(first) else { throw error(start, "a name is expected after '#'") }
      return token(.word(word(), isReserved: true))
    case "$":
      place += 1
      guard let first = peek(), Self.isWordPart(first) else { throw error(start, "a name is expected after '$'") }
      return token(.variable(word()))
    case "@":
      place += 1
      guard let first = peek(), Self.isWordStart(first) else {
        throw error(start, "an operator's name is expected after '@'")
      }
      return token(.keyword("@" + word()))
    case "%": return token(.argument(try argument(start)))
    default: break
    }
    for symbol in Self.symbols where symbol.enumerated().allSatisfy({ peek($0.offset) == $0.element }) {
      place += symbol.count
      var text = String.UnicodeScalarView()
      text.append(contentsOf: symbol)
      return token(.symbol(String(text)))
    }
    throw error(start, "the character '\(scalar)' has no meaning here")
  }

  private static let symbols: [[Unicode.Scalar]] = [
    "==", "!=", "<>", "<=", "=<", ">=", "=>", "<<", ">>", "&&", "||", "**", ":=", "=", "<", ">", "!", "(", ")", "[",
    "]", "{", "}", ",",
    ".", "+", "-", "*", "/", ":", "|", "&", "^", "~", "≤", "≥", "≠",
  ].map { Array($0.unicodeScalars) }

  private func error(_ place: Int, _ message: String) -> PredicateFormatError {
    PredicateFormatError(format, place + 1, message)
  }

  /// Whether a word or closing bracket ends directly before, so that a dot continues a path.
  private func follows() -> Bool {
    guard place > 0 else { return false }
    let before = scalars[place - 1]
    return Self.isWordPart(before) || before == "]" || before == ")"
  }

  /// Whether a name can be written without `#` and quotes.
  static func isWord(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first else { return false }
    return isWordStart(first) && text.unicodeScalars.allSatisfy(isWordPart)
  }

  /// The keys of a text that is only a key path; nil for another text.
  static func keys(of text: String) -> [String]? {
    guard let tokens = try? tokens(of: text) else { return nil }
    var keys: [String] = []
    for (index, token) in tokens.dropLast().enumerated() {
      guard !token.isSpaced else { return nil }
      switch token.kind {
      case .word(let key, _) where index.isMultiple(of: 2), .keyword(let key) where index.isMultiple(of: 2):
        keys.append(key)
      case .symbol(".") where !index.isMultiple(of: 2): continue
      default: return nil
      }
    }
    return tokens.count.isMultiple(of: 2) ? keys : nil
  }

  private mutating func word() -> String {
    var text = String.UnicodeScalarView()
    while let scalar = peek(), Self.isWordPart(scalar) {
      text.append(scalar)
      place += 1
    }
    return String(text)
  }

  private mutating func number() -> String {
    var text = String.UnicodeScalarView()
    func isHex(_ scalar: Unicode.Scalar?) -> Bool { scalar?.properties.isASCIIHexDigit ?? false }
    if peek() == "0", let kind = peek(1), kind == "x" || kind == "X" || kind == "o" || kind == "b", isHex(peek(2)) {
      text.append("0")
      text.append(kind)
      place += 2
      while let scalar = peek(), isHex(scalar) {
        text.append(scalar)
        place += 1
      }
      return String(text)
    }
    while let scalar = peek(), Self.isDigit(scalar) {
      text.append(scalar)
      place += 1
    }
    if peek() == ".",
      Self.isDigit(peek(1)) || text.count > 0 && !(peek(1).map(Self.isWordStart) ?? false) && peek(1) != "@"
    {
      text.append(".")
      place += 1
      while let scalar = peek(), Self.isDigit(scalar) {
        text.append(scalar)
        place += 1
      }
    }
    if let mark = peek(), mark == "e" || mark == "E" {
      let isSigned = peek(1) == "+" || peek(1) == "-"
      if Self.isDigit(peek(isSigned ? 2 : 1)) {
        text.append("e")
        if isSigned, let sign = peek(1) { text.append(sign) }
        place += isSigned ? 2 : 1
        while let scalar = peek(), Self.isDigit(scalar) {
          text.append(scalar)
          place += 1
        }
      }
    }
    return String(text)
  }

  private mutating func string(_ quote: Unicode.Scalar) throws(PredicateFormatError) -> String {
    let start = place
    place += 1
    var text = String.UnicodeScalarView()
    while let scalar = peek() {
      place += 1
      if scalar == quote { return String(text) }
      guard scalar == "\\" else {
        text.append(scalar)
        continue
      }
      guard let escaped = peek() else { break }
      place += 1
      switch escaped {
      case "n": text.append("\n")
      case "r": text.append("\r")
      case "t": text.append("\t")
      case "0": text.append("\0")
      case "u", "U":
        // Four digits after u, eight after U; any other character is itself.
        let count = escaped == "u" ? 4 : 8
        var value: UInt32 = 0
        var digits = 0
        while digits < count, let digit = peek(digits), let number = Character(digit).hexDigitValue, digit.isASCII {
          value = value << 4 | UInt32(number)
          digits += 1
        }
        if digits == count, let made = Unicode.Scalar(value) {
          text.append(made)
          place += count
        } else {
          text.append(escaped)
        }
      default: text.append(escaped)
      }
    }
    throw error(start, "the string is not closed")
  }

  /// The characters after a percent sign: `@`, `K`, or a C conversion with its length.
  private mutating func argument(_ start: Int) throws(PredicateFormatError) -> String {
    place += 1
    var text = String.UnicodeScalarView()
    while let scalar = peek() {
      switch scalar {
      case "$": throw error(start, "arguments are used in order; '%\(String(text))$' refers to one by its number")
      case "l", "h", "q", "z", "t", "j", ".", "0"..."9":
        text.append(scalar)
        place += 1
        continue
      case "@", "K", "d", "D", "i", "u", "U", "x", "X", "o", "O", "f", "F", "e", "E", "g", "G", "a", "A", "c", "C", "s",
        "S", "p", "%":
        text.append(scalar)
        place += 1
        return String(text)
      default: break
      }
      break
    }
    throw error(start, "'%' begins an argument such as %@, %K or %d")
  }
}
