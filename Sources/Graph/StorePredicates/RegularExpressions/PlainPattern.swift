import StoreJSON

/// A pattern of characters, `.` and sets, each with `?`, `*`, `+` or nothing, which a text is compared with in one
/// pass: ICU would try one way after the other, with calls for parts of the text and for each way, and takes about
/// fifteen times as long. The goal that needs it is that of MATCHES in `Benchmarks/run --work requests`.
///
/// The bits of a number are how many of the pattern's parts the text read so far may be: all ways are followed at once.
struct PlainPattern {
  /// By symbol the bits of the parts that take it: ASCII by its number, and what follows it.
  private var takers = [UInt64](repeating: 0, count: 130)
  private static let otherScalar = 128
  private static let otherLineEnd = 129
  private static let lineEnds = Int(UInt8(ascii: "\n"))...Int(UInt8(ascii: "\r"))
  private var repeated: UInt64 = 0
  private var optional: UInt64 = 0
  private var count = 0
  private static let greatestCount = 62

  /// Nil for other patterns, and for those of which ICU may think otherwise.
  init?(_ pattern: String) {
    var rest = Array(pattern.utf8)[...]
    if rest.first == UInt8(ascii: "^") { rest.removeFirst() }
    while let byte = rest.popFirst() {
      // The end of the text is the end of a match in any case.
      if byte == UInt8(ascii: "$"), rest.isEmpty { return }
      count += 1
      guard count <= Self.greatestCount, UTF8.isASCII(byte) else { return nil }
      switch byte {
      case UInt8(ascii: "."): addAny(besides: Self.lineEnds.map { $0 } + [Self.otherLineEnd])
      case UInt8(ascii: "["): guard addSet(&rest) else { return nil }
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst(), Self.isPunctuation(escaped) else { return nil }
        add(Int(escaped))
      default:
        guard !#"]{}()|^$*+?"#.utf8.contains(byte) else { return nil }
        add(Int(byte))
      }
      guard addQuantifier(&rest) else { return nil }
    }
  }

  private static func isPunctuation(_ byte: UInt8) -> Bool {
    byte > UInt8(ascii: " ") && byte <= UInt8(ascii: "~") && !isWord(byte)
  }
  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  private mutating func add(_ symbol: Int) { takers[symbol] |= 1 << UInt64(count) }

  private mutating func addAny(besides symbols: [Int]) {
    for symbol in takers.indices where !symbols.contains(symbol) { add(symbol) }
  }

  /// Reads a set of letters, digits, ranges of them, and a few other characters. False for another one.
  private mutating func addSet(_ rest: inout ArraySlice<UInt8>) -> Bool {
    let isInverted = rest.first == UInt8(ascii: "^")
    if isInverted { rest.removeFirst() }
    var symbols: [Int] = []
    var isClosed = false
    while let byte = rest.popFirst() {
      isClosed = byte == UInt8(ascii: "]")
      if isClosed { break }
      guard Self.isWord(byte) || "_ .,@/".utf8.contains(byte) else { return false }
      guard rest.first == UInt8(ascii: "-") else {
        symbols.append(Int(byte))
        continue
      }
      rest.removeFirst()
      guard let last = rest.popFirst(), Self.isWord(byte), Self.isWord(last), byte <= last else { return false }
      symbols += Int(byte)...Int(last)
    }
    guard isClosed, !symbols.isEmpty else { return false }
    if isInverted { addAny(besides: symbols) } else { for symbol in symbols { add(symbol) } }
    return true
  }

  private mutating func addQuantifier(_ rest: inout ArraySlice<UInt8>) -> Bool {
    let bit: UInt64 = 1 << UInt64(count)
    switch rest.first {
    case UInt8(ascii: "*"): (repeated, optional) = (repeated | bit, optional | bit)
    case UInt8(ascii: "+"): repeated |= bit
    case UInt8(ascii: "?"): optional |= bit
    default: return true
    }
    rest.removeFirst()
    // Which of several ways is tried first makes no difference for whole texts.
    if rest.first == UInt8(ascii: "?") { rest.removeFirst() }
    return rest.first.map { !"*+?{".utf8.contains($0) } ?? true
  }

  /// Whether a whole text matches. A byte that is not UTF-8, which no text has, is a character beyond ASCII.
  func matches(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    takers.withUnsafeBufferPointer { takers in
      var state = skippingOptional(1)
      var place = 0
      while place < bytes.count {
        var (symbol, length) = (Int(bytes[place]), 1)
        if !UTF8.isASCII(bytes[place]) {
          let (scalar, count) = TerminalText.scalar(bytes, at: place)
          symbol = scalar.map(Self.isLineEnd) == true ? Self.otherLineEnd : Self.otherScalar
          length = count
        }
        state = skippingOptional((state << 1 | state & repeated) & takers[symbol])
        if state == 0 { return false }
        place += length
      }
      return state & (1 << UInt64(count)) != 0
    }
  }

  @inline(__always) private func skippingOptional(_ state: UInt64) -> UInt64 {
    var state = state
    while true {
      let next = state | state << 1 & optional
      if next == state { return state }
      state = next
    }
  }

  /// Whether it is a line end beyond ASCII.
  private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{85}" || scalar == "\u{2028}" || scalar == "\u{2029}"
  }
}
