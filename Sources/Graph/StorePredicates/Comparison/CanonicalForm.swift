/// The normalization forms D and C of Unicode (UAX #15).
///
/// The standard library compares strings by them and does not give them out; Foundation does, and brings megabytes of
/// data of languages into each program.
enum CanonicalForm {
  /// What a scalar decomposes into, and what two scalars compose to.
  private struct Mappings: Sendable {
    var decompositions: [Unicode.Scalar: (first: Unicode.Scalar, second: Unicode.Scalar?)] = [:]
    var compositions: [Pair: Unicode.Scalar] = [:]

    struct Pair: Hashable, Sendable {
      var first: Unicode.Scalar
      var second: Unicode.Scalar
    }

    init(_ text: StaticString) {
      let entries = text.withUTF8Buffer { $0.split(separator: UInt8(ascii: ",")).map { Self.scalars($0) } }
      for entry in entries where entry.count > 1 {
        let second = entry.count > 2 ? entry[2] : nil
        decompositions[entry[0]] = (entry[1], second)
        if let second { compositions[Pair(first: entry[1], second: second)] = entry[0] }
      }
    }

    /// The scalars whose hexadecimal numbers are separated by spaces.
    private static func scalars(_ entry: Slice<UnsafeBufferPointer<UInt8>>) -> [Unicode.Scalar] {
      entry.split(separator: UInt8(ascii: " ")).compactMap { number in
        UInt32(String(decoding: number, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init)
      }
    }
  }

  private static let mappings = Mappings(CanonicalMappings.text)

  /// Below it, no scalar combines with the one before it, and none is replaced by form C.
  static let firstCombining: Unicode.Scalar = "\u{300}"

  /// Form D.
  static func decomposed(_ scalars: some Sequence<Unicode.Scalar>) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    for scalar in scalars { decompose(scalar, into: &result) }
    order(&result)
    return result
  }

  /// Form D, except for texts without a scalar that combines: no two of those are canonically equal.
  static func decomposed(_ text: String) -> String {
    if text.unicodeScalars.allSatisfy({ $0 < firstCombining }) { return text }
    return string(decomposed(text.unicodeScalars))
  }

  /// Form C.
  static func composed(_ text: String) -> String {
    if text.unicodeScalars.allSatisfy({ $0 < firstCombining }) { return text }
    return string(composed(decomposed(text.unicodeScalars)))
  }

  static func string(_ scalars: [Unicode.Scalar]) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  /// The scalar that two compose to in form C, if there is one.
  static func composite(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    let whole = Hangul.composite(first, second) ?? whole(first, second)
    return whole?.properties.isFullCompositionExclusion == false ? whole : nil
  }

  /// The scalar that decomposes into these two, if there is one; form C may leave it decomposed.
  static func whole(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    mappings.compositions[Mappings.Pair(first: first, second: second)]
  }

  private static func decompose(_ scalar: Unicode.Scalar, into result: inout [Unicode.Scalar]) {
    if scalar.value < 0xC0 {
      result.append(scalar)
    } else if let parts = Hangul.parts(of: scalar) {
      result += parts
    } else if let (first, second) = mappings.decompositions[scalar] {
      // Only the first part may decompose again.
      decompose(first, into: &result)
      if let second { result.append(second) }
    } else {
      result.append(scalar)
    }
  }

  /// Sorts each run of combining marks by their classes; equal classes keep their order.
  private static func order(_ scalars: inout [Unicode.Scalar]) {
    var start = 0
    while start < scalars.count {
      guard combiningClass(scalars[start]) != 0 else {
        start += 1
        continue
      }
      let end = scalars[start...].firstIndex { combiningClass($0) == 0 } ?? scalars.count
      if end > start + 1 {
        let run = scalars[start..<end].enumerated().map { (combiningClass($0.element), $0.offset, $0.element) }
        let sorted = run.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
        for (offset, mark) in sorted.enumerated() { scalars[start + offset] = mark.2 }
      }
      start = end
    }
  }

  /// Form C of scalars in form D.
  private static func composed(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    var starter: Int?
    var previous: UInt8 = 0
    for scalar in scalars {
      let its = combiningClass(scalar)
      // A mark combines with the last starter unless another one of its class, or a starter, is between them.
      if let place = starter, place == result.count - 1 || previous < its,
        let whole = composite(result[place], scalar)
      {
        result[place] = whole
        continue
      }
      if its == 0 { starter = result.count }
      previous = its
      result.append(scalar)
    }
    return result
  }

  private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
    scalar < firstCombining ? 0 : scalar.properties.canonicalCombiningClass.rawValue
  }
}

/// Korean syllables, which are composed by arithmetic (The Unicode Standard, section 3.12).
private enum Hangul {
  private static let syllables: UInt32 = 0xAC00
  private static let leading: UInt32 = 0x1100
  private static let vowels: UInt32 = 0x1161
  /// One before the first: a syllable without a trailing consonant has the index 0.
  private static let trailing: UInt32 = 0x11A7
  private static let leadingCount: UInt32 = 19
  private static let vowelCount: UInt32 = 21
  private static let trailingCount: UInt32 = 28

  static func parts(of scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
    guard let index = index(scalar, syllables, leadingCount * vowelCount * trailingCount) else { return nil }
    let numbers = [
      leading + index / (vowelCount * trailingCount), vowels + index / trailingCount % vowelCount,
      trailing + index % trailingCount,
    ]
    return numbers.filter { $0 != trailing }.compactMap(Unicode.Scalar.init)
  }

  static func composite(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
    if let one = index(first, leading, leadingCount), let other = index(second, vowels, vowelCount) {
      return Unicode.Scalar(syllables + (one * vowelCount + other) * trailingCount)
    }
    if let one = index(first, syllables, leadingCount * vowelCount * trailingCount), one % trailingCount == 0,
      let other = index(second, trailing, trailingCount), other != 0
    {
      return Unicode.Scalar(first.value + other)
    }
    return nil
  }

  private static func index(_ scalar: Unicode.Scalar, _ start: UInt32, _ count: UInt32) -> UInt32? {
    scalar.value >= start && scalar.value < start + count ? scalar.value - start : nil
  }
}
