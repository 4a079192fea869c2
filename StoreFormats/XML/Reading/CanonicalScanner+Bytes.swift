import StoreCodecs

/// What the scanner recognizes, byte by byte.
extension CanonicalScanner {
  /// The parts of a relationship's element, and what follows it.
  struct Link {
    let name: Bytes
    let type: Bytes
    let destination: Bytes
    let references: Bytes
    let end: UnsafeMutablePointer<UInt8>
  }

  /// The relationship whose element begins at this position; nil, with the position of what does not match in `cursor`.
  @inline(__always)
  static func link(_ cursor: inout UnsafeMutablePointer<UInt8>) -> Link? {
    let name = cursor + 20
    guard let nameEnd = endOfValue(name, &cursor), matches(nameEnd, "\" type=\"") else { return nil }
    let type = nameEnd + 8
    guard let typeEnd = endOfValue(type, &cursor), matches(typeEnd, "\" destination=\"") else { return nil }
    let destination = typeEnd + 15
    guard let destinationEnd = endOfValue(destination, &cursor) else { return nil }
    var references = Bytes(start: nil, count: 0)
    var tail = destinationEnd + 1
    if matches(tail, " idrefs=\"") {
      let start = tail + 9
      guard let referencesEnd = endOfValue(start, &cursor) else { return nil }
      references = bytes(start, referencesEnd)
      tail = referencesEnd + 1
    }
    guard matches(tail, "></relationship>") else { return nil }
    return Link(
      name: bytes(name, nameEnd), type: bytes(type, typeEnd), destination: bytes(destination, destinationEnd),
      references: references, end: tail + 16)
  }

  /// Longer comments are left to libxml2, which limits them.
  private static var maximumComment: Int { 1 << 20 }

  /// The end of the comment that begins at this position. Returns nil, with the position in `cursor`, if there is none,
  /// and for all characters that XML does not allow there, and `<`: in a comment it would look like the beginning of an
  /// element to ``DocumentParts``.
  static func endOfComment(
    _ cursor: inout UnsafeMutablePointer<UInt8>, _ lines: inout Int
  ) -> UnsafeMutablePointer<UInt8>? {
    guard matches(cursor, "<!--") else { return nil }
    var place = cursor + 4
    while place - cursor < maximumComment {
      switch place.pointee {
      case UInt8(ascii: "-") where place[1] == UInt8(ascii: "-"):
        cursor = place
        return place[2] == UInt8(ascii: ">") ? place + 3 : nil
      case UInt8(ascii: "\n"):
        lines += 1
        place += 1
      case UInt8(ascii: "\t"), 0x20..<UInt8(ascii: "<"), UInt8(ascii: "=")...0x7E: place += 1
      default:
        let length = scalarLength(place)
        guard length > 0 else {
          cursor = place
          return nil
        }
        place += length
      }
    }
    return nil
  }

  @inline(__always)
  static func bytes(_ start: UnsafeMutablePointer<UInt8>, _ end: UnsafeMutablePointer<UInt8>) -> Bytes {
    Bytes(start: start, count: end - start)
  }

  /// Whether the token is at this position. It is constant, so this takes a few comparisons of eight bytes.
  @inline(__always)
  static func matches(_ place: UnsafeMutablePointer<UInt8>, _ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    let one = UnsafeRawPointer(place)
    let other = UnsafeRawPointer(word.utf8Start)
    var index = 0
    while index + 8 <= count {
      if one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        != other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      {
        return false
      }
      index += 8
    }
    while index < count {
      if one.load(fromByteOffset: index, as: UInt8.self) != other.load(fromByteOffset: index, as: UInt8.self) {
        return false
      }
      index += 1
    }
    return true
  }

  /// Skips white space between elements; the form has a line break and a multiple of four spaces.
  @inline(__always)
  static func skipBlanks(_ cursor: inout UnsafeMutablePointer<UInt8>, _ lines: inout Int) {
    if UnsafeRawPointer(cursor).loadUnaligned(as: UInt64.self).littleEndian == 0x2020_2020_2020_200A {
      lines += 1
      cursor += 8
    }
    while true {
      switch cursor.pointee {
      case UInt8(ascii: " "), UInt8(ascii: "\t"): cursor += 1
      case UInt8(ascii: "\n"):
        lines += 1
        cursor += 1
      default: return
      }
    }
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
  private static var highs: UInt64 { 0x8080_8080_8080_8080 }
  /// High bits where bytes are zero; wrong only above the lowest of them.
  @inline(__always) static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & highs }
  /// High bits where bytes are less than a space, or `<`, `>` or not ASCII; wrong only above the lowest of them.
  @inline(__always) static func marks(_ word: UInt64) -> UInt64 {
    (word &- ones &* 0x20) & ~word & highs | zeros((word | ones &* 0x02) ^ ones &* 0x3E) | word & highs
  }

  /// The closing quote of an attribute value. Returns nil, with the position in `cursor`, for all characters that are
  /// not literal there: white space other than the space, `&`, `<`, `>`, invalid UTF-8, and characters that XML does
  /// not allow.
  @inline(__always)
  static func endOfValue(
    _ start: UnsafeMutablePointer<UInt8>, _ cursor: inout UnsafeMutablePointer<UInt8>
  ) -> UnsafeMutablePointer<UInt8>? {
    var place = start
    while true {
      let word = UnsafeRawPointer(place).loadUnaligned(as: UInt64.self).littleEndian
      // A quote and an ampersand differ in one bit.
      let found = marks(word) | zeros((word | ones &* 0x04) ^ ones &* 0x26)
      if found == 0 {
        place += 8
        continue
      }
      place += found.trailingZeroBitCount >> 3
      if place.pointee == UInt8(ascii: "\"") {
        // If the following tokens do not match, it is handled here.
        cursor = place
        return place
      }
      let length = scalarLength(place)
      guard length > 0 else {
        cursor = place
        return nil
      }
      place += length
    }
  }

  /// The `<` that ends a text, found in the same way; tabs and line feeds are allowed.
  @inline(__always)
  static func endOfText(
    _ start: UnsafeMutablePointer<UInt8>, _ cursor: inout UnsafeMutablePointer<UInt8>, _ lines: inout Int
  ) -> UnsafeMutablePointer<UInt8>? {
    var place = start
    var plain = start
    while true {
      let word = UnsafeRawPointer(place).loadUnaligned(as: UInt64.self).littleEndian
      let found = marks(word) | zeros(word ^ ones &* 0x26)
      if found == 0 {
        place += 8
        // Most texts are short: calling a function would take longer.
        if place - plain >= 64 {
          place += XMLText.plainLength(place, lines: &lines)
          plain = place
        }
        continue
      }
      place += found.trailingZeroBitCount >> 3
      let byte = place.pointee
      if byte == UInt8(ascii: "<") {
        cursor = place
        return place
      }
      if byte == UInt8(ascii: "\n") {
        lines += 1
        place += 1
      } else if byte == UInt8(ascii: "\t") {
        place += 1
      } else {
        let length = scalarLength(place)
        guard length > 0 else {
          cursor = place
          return nil
        }
        place += length
      }
    }
  }

  /// The length of the non-ASCII scalar at this position if it is well-formed UTF-8 and allowed in XML; otherwise 0.
  static func scalarLength(_ place: UnsafeMutablePointer<UInt8>) -> Int {
    let lead = place[0]
    guard lead >= 0xC2, lead <= 0xF4, place[1] & 0xC0 == 0x80 else { return 0 }
    if lead < 0xE0 { return 2 }
    guard place[2] & 0xC0 == 0x80 else { return 0 }
    switch lead {
    case 0xE0: return place[1] >= 0xA0 ? 3 : 0
    case 0xED: return place[1] < 0xA0 ? 3 : 0
    // U+FFFE and U+FFFF are not allowed in XML.
    case 0xEF: return place[1] == 0xBF && place[2] >= 0xBE ? 0 : 3
    case 0xE1...0xEE: return 3
    default: break
    }
    guard place[3] & 0xC0 == 0x80 else { return 0 }
    if lead == 0xF0 { return place[1] >= 0x90 ? 4 : 0 }
    if lead == 0xF4 { return place[1] < 0x90 ? 4 : 0 }
    return 4
  }
}
