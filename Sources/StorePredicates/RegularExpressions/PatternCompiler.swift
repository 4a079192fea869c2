/// Compiles a pattern into instructions.
struct PatternCompiler {
  typealias Failure = RegularExpressionSyntaxError

  private indirect enum Node {
    case empty
    case instruction(RegularExpressionInstruction)
    case sequence([Node])
    case choice([Node])
    case repeated(Node, Int, Int?)
  }
  private struct Flags {
    var ignoresCase = false
    var includesNewlines = false
    var isMultiline = false
    var allowsComments = false
  }

  private let pattern: [Unicode.Scalar]
  private var place = 0
  private var depth = 0
  private var flags = Flags()
  private var program: [RegularExpressionInstruction] = []

  init(_ pattern: String) { self.pattern = Array(pattern.unicodeScalars) }

  mutating func compile() throws(Failure) -> [RegularExpressionInstruction] {
    let node = try choice()
    guard place == pattern.count else { throw failure("unmatched closing parenthesis") }
    try emit(node)
    program.append(.match)
    return program
  }

  private func failure(_ message: String, at column: Int? = nil) -> Failure {
    Failure(column: (column ?? place) + 1, message: message)
  }
  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    place + offset < pattern.count ? pattern[place + offset] : nil
  }
  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard peek() == scalar else { return false }
    place += 1
    return true
  }

  // MARK: Reading

  private mutating func choice() throws(Failure) -> Node {
    depth += 1
    defer { depth -= 1 }
    guard depth <= RegularExpressionInstruction.maximumDepth else {
      throw failure("groups are nested too deep")
    }
    var parts = [try sequence()]
    while take("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(Failure) -> Node {
    var parts: [Node] = []
    while let scalar = peek(), scalar != "|", scalar != ")" {
      if flags.allowsComments {
        if scalar.properties.isWhitespace {
          place += 1
          continue
        }
        if scalar == "#" {
          while let next = peek(), !ScalarSet.isNewline(next) { place += 1 }
          continue
        }
      }
      let atom = try atom()
      parts.append(try quantified(atom))
    }
    return parts.isEmpty ? .empty : parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func quantified(_ atom: Node) throws(Failure) -> Node {
    var node = atom
    while let scalar = peek() {
      let low: Int
      let high: Int?
      switch scalar {
      case "*": (low, high) = (0, nil)
      case "+": (low, high) = (1, nil)
      case "?": (low, high) = (0, 1)
      case "{":
        guard let bounds = try bounds() else { throw failure("a count such as {2} or {1,3} is expected after '{'") }
        node = .repeated(node, bounds.0, bounds.1)
        _ = take("?")
        if peek() == "+" { throw failure("possessive quantifiers are not supported") }
        continue
      default: return node
      }
      place += 1
      node = .repeated(node, low, high)
      // Lazy and greedy make no difference to whether the whole text matches.
      _ = take("?")
      if peek() == "+" { throw failure("possessive quantifiers are not supported") }
    }
    return node
  }

  private mutating func bounds() throws(Failure) -> (Int, Int?)? {
    let start = place
    place += 1
    func number(_ compiler: inout PatternCompiler) -> Int? {
      var value: Int?
      while let digit = compiler.peek(),
        let add = digit.properties.numericType == .decimal && digit.isASCII ? Int(digit.value) - 48 : nil
      {
        value = min((value ?? 0) * 10 + add, 1_000_000)
        compiler.place += 1
      }
      return value
    }
    guard let low = number(&self) else {
      place = start
      return nil
    }
    var high: Int? = low
    if take(",") { high = number(&self) }
    guard take("}") else {
      place = start
      return nil
    }
    if let high, high < low { throw failure("the counts are in the wrong order", at: start) }
    return (low, high)
  }

  private mutating func atom() throws(Failure) -> Node {
    guard let scalar = peek() else { return .empty }
    let start = place
    place += 1
    switch scalar {
    case ".": return .instruction(.any(includesNewlines: flags.includesNewlines))
    case "^": return .instruction(.start(isLine: flags.isMultiline))
    case "$": return .instruction(.end(isLine: flags.isMultiline))
    case "[": return .instruction(.set(try bracket()))
    case "(": return try group(start)
    case "\\": return try escape(start)
    case "*", "+", "?": throw failure("there is nothing to repeat", at: start)
    default: return .instruction(.scalar(scalar, ignoresCase: flags.ignoresCase))
    }
  }

  private mutating func group(_ start: Int) throws(Failure) -> Node {
    let saved = flags
    if take("?") {
      guard let kind = peek() else { throw failure("the group is not closed", at: start) }
      switch kind {
      case ":": place += 1
      case "=", "!": throw failure("look-ahead is not supported", at: start)
      case ">": throw failure("atomic groups are not supported", at: start)
      case "#":
        while let next = peek(), next != ")" { place += 1 }
        guard take(")") else { throw failure("the comment is not closed", at: start) }
        return .empty
      case "<":
        if peek(1) == "=" || peek(1) == "!" { throw failure("look-behind is not supported", at: start) }
        while let next = peek(), next != ">" { place += 1 }
        guard take(">") else { throw failure("the group's name is not closed", at: start) }
      default:
        var isOff = false
        while let flag = peek(), flag != ")", flag != ":" {
          place += 1
          switch flag {
          case "-": isOff = true
          case "i": flags.ignoresCase = !isOff
          case "s": flags.includesNewlines = !isOff
          case "m": flags.isMultiline = !isOff
          case "x": flags.allowsComments = !isOff
          case "w", "u", "d": break
          default: throw failure("'\(flag)' is not a flag", at: place - 1)
          }
        }
        // Flags without a group apply to the rest of the enclosing group.
        if take(")") { return .empty }
        guard take(":") else { throw failure("the group is not closed", at: start) }
      }
    }
    let inner = try choice()
    guard take(")") else { throw failure("the group is not closed", at: start) }
    flags = saved
    return inner
  }

  private mutating func escape(_ start: Int) throws(Failure) -> Node {
    guard let scalar = peek() else { throw failure("a character is expected after '\\'", at: start) }
    switch scalar {
    case "b", "B":
      place += 1
      return .instruction(.boundary(isNegated: scalar == "B"))
    case "A":
      place += 1
      return .instruction(.start(isLine: false))
    case "z", "Z":
      place += 1
      return .instruction(.end(isLine: false))
    case "1"..."9", "k": throw failure("back references are not supported", at: start)
    case "G", "X", "R", "N": throw failure("'\\\(scalar)' is not supported", at: start)
    case "Q":
      place += 1
      var parts: [Node] = []
      while let next = peek() {
        if next == "\\", peek(1) == "E" {
          place += 2
          break
        }
        parts.append(.instruction(.scalar(next, ignoresCase: flags.ignoresCase)))
        place += 1
      }
      return .sequence(parts)
    default: break
    }
    if let member = try classEscape() {
      return .instruction(.set(ScalarSet(members: [member], ignoresCase: flags.ignoresCase)))
    }
    return .instruction(.scalar(try literalEscape(start), ignoresCase: flags.ignoresCase))
  }

  private mutating func classEscape() throws(Failure) -> ScalarSet.Member? {
    guard let scalar = peek() else { return nil }
    let member: ScalarSet.Member
    switch scalar {
    case "d": member = .digit
    case "D": member = .not(.digit)
    case "s": member = .space
    case "S": member = .not(.space)
    case "w": member = .word
    case "W": member = .not(.word)
    case "h": member = .set(ScalarSet(members: [.category("Zs"), .range(9, 9)]))
    case "v": member = .set(ScalarSet(members: [.range(10, 13), .range(0x85, 0x85), .range(0x2028, 0x2029)]))
    case "p", "P":
      let start = place - 1
      place += 1
      var name = String.UnicodeScalarView()
      if take("{") {
        while let next = peek(), next != "}" {
          name.append(next)
          place += 1
        }
        guard take("}") else { throw failure("the property is not closed", at: start) }
      } else if let next = peek() {
        name.append(next)
        place += 1
      }
      guard let found = Self.property(String(name)) else {
        throw failure("the property '\(String(name))' is unknown", at: start)
      }
      return scalar == "P" ? .not(found) : found
    default: return nil
    }
    place += 1
    return member
  }

  private static func property(_ name: String) -> ScalarSet.Member? {
    switch name {
    case "Alphabetic", "Alpha", "IsAlphabetic", "alpha": .category("L")
    case "Letter": .category("L")
    case "Upper", "Uppercase", "upper": .category("Lu")
    case "Lower", "Lowercase", "lower": .category("Ll")
    case "Digit", "digit", "Number": .digit
    case "Punct", "Punctuation", "punct": .category("P")
    case "Space", "White_Space", "space": .space
    case "Alnum", "alnum": .set(ScalarSet(members: [.category("L"), .digit]))
    case "ASCII": .range(0, 127)
    case "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe",
      "Pi",
      "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Cs", "Co", "Cn":
      .category(name)
    default: nil
    }
  }

  private mutating func literalEscape(_ start: Int) throws(Failure) -> Unicode.Scalar {
    guard let scalar = peek() else { throw failure("a character is expected after '\\'", at: start) }
    place += 1
    func hex(_ compiler: inout PatternCompiler, _ count: Int) throws(Failure) -> Unicode.Scalar {
      var value: UInt32 = 0
      for _ in 0..<count {
        guard let digit = compiler.peek(), digit.isASCII, let number = Character(digit).hexDigitValue else {
          throw compiler.failure("\(count) hexadecimal digits are expected", at: start)
        }
        value = value << 4 | UInt32(number)
        compiler.place += 1
      }
      guard let made = Unicode.Scalar(value) else { throw compiler.failure("this is not a Unicode scalar", at: start) }
      return made
    }
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "f": return "\u{C}"
    case "a": return "\u{7}"
    case "e": return "\u{1B}"
    case "0": return "\0"
    case "u": return try hex(&self, 4)
    case "U": return try hex(&self, 8)
    case "x":
      guard take("{") else { return try hex(&self, 2) }
      var value: UInt32 = 0
      var digits = 0
      while let digit = peek(), digit.isASCII, let number = Character(digit).hexDigitValue, digits < 6 {
        value = value << 4 | UInt32(number)
        digits += 1
        place += 1
      }
      guard take("}"), digits > 0, let made = Unicode.Scalar(value) else {
        throw failure("this is not a Unicode scalar", at: start)
      }
      return made
    default:
      if scalar.isASCII, scalar.properties.isAlphabetic { throw failure("'\\\(scalar)' is not supported", at: start) }
      return scalar
    }
  }

  private mutating func bracket() throws(Failure) -> ScalarSet {
    depth += 1
    defer { depth -= 1 }
    let start = place - 1
    guard depth <= RegularExpressionInstruction.maximumDepth else { throw failure("sets are nested too deep") }
    var set = ScalarSet(ignoresCase: flags.ignoresCase)
    set.isNegated = take("^")
    var isFirst = true
    while let scalar = peek() {
      if scalar == "]", !isFirst {
        place += 1
        return set
      }
      isFirst = false
      if scalar == "[" {
        if peek(1) == ":" {
          place += 2
          let isNegated = take("^")
          var name = String.UnicodeScalarView()
          while let next = peek(), next != ":" {
            name.append(next)
            place += 1
          }
          guard take(":"), take("]"), let member = Self.property(String(name)) else {
            throw failure("the class '[:\(String(name)):]' is unknown", at: start)
          }
          set.members.append(isNegated ? .not(member) : member)
          continue
        }
        place += 1
        set.members.append(.set(try bracket()))
        continue
      }
      if scalar == "&", peek(1) == "&" {
        place += 2
        var rest = ScalarSet(ignoresCase: flags.ignoresCase)
        if take("[") { rest = try bracket() }
        set.intersections.append(rest)
        continue
      }
      let low: Unicode.Scalar
      if scalar == "\\" {
        place += 1
        if peek() == "b" {
          place += 1
          set.members.append(.range(8, 8))
          continue
        }
        if let member = try classEscape() {
          set.members.append(member)
          continue
        }
        low = try literalEscape(place - 1)
      } else {
        place += 1
        low = scalar
      }
      guard peek() == "-", let after = peek(1), after != "]" else {
        set.members.append(.range(low.value, low.value))
        continue
      }
      place += 1
      var high = after
      place += 1
      if high == "\\" { high = try literalEscape(place - 1) }
      guard high.value >= low.value else { throw failure("the range '\(low)-\(high)' is in the wrong order") }
      set.members.append(.range(low.value, high.value))
    }
    throw failure("the set is not closed", at: start)
  }

  // MARK: Writing

  private mutating func append(_ instruction: RegularExpressionInstruction) throws(Failure) {
    guard program.count < RegularExpressionInstruction.maximumCount else {
      throw failure("the pattern compiles to more than \(RegularExpressionInstruction.maximumCount) instructions")
    }
    program.append(instruction)
  }

  private mutating func emit(_ node: Node) throws(Failure) {
    switch node {
    case .empty: break
    case .instruction(let instruction): try append(instruction)
    case .sequence(let parts): for part in parts { try emit(part) }
    case .choice(let parts):
      var jumps: [Int] = []
      for (index, part) in parts.enumerated() {
        guard index < parts.count - 1 else {
          try emit(part)
          break
        }
        let split = program.count
        try append(.jump(0))
        try emit(part)
        jumps.append(program.count)
        try append(.jump(0))
        program[split] = .split(split + 1, program.count)
      }
      for jump in jumps { program[jump] = .jump(program.count) }
    case .repeated(let inner, let low, let high):
      for _ in 0..<low {
        let before = program.count
        try emit(inner)
        // Repeating nothing adds no instructions.
        if program.count == before { return }
      }
      if let high {
        var splits: [Int] = []
        for _ in 0..<(high - low) {
          splits.append(program.count)
          try append(.jump(0))
          let before = program.count
          try emit(inner)
          if program.count == before { break }
        }
        for split in splits { program[split] = .split(split + 1, program.count) }
      } else {
        let split = program.count
        try append(.jump(0))
        try emit(inner)
        try append(.jump(split))
        program[split] = .split(split + 1, program.count)
      }
    }
  }
}
