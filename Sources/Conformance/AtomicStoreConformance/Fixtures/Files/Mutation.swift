import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Changes of a file's bytes, of any format.
enum Mutation {
  /// Runs of letters and digits, and of everything else.
  static func pieces(_ bytes: [UInt8]) -> [Range<Int>] {
    func kind(_ byte: UInt8) -> Int {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): 0
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): 1
      default: 2
      }
    }
    var all: [Range<Int>] = []
    var start = 0
    for place in bytes.indices.dropFirst() where kind(bytes[place]) != kind(bytes[place - 1]) {
      all.append(start..<place)
      start = place
    }
    if start < bytes.count { all.append(start..<bytes.count) }
    return all
  }

  private static let numbers = [
    "0", "-1", "1", "255", "65536", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
    "1e999", "999999999999", "00", "",
  ]
  private static let bytes: [UInt8] = [
    0, 1, 0x7F, 0x80, 0xC0, 0xFE, 0xFF, .quote, .apostrophe, .lessThan, .greaterThan, .ampersand, .comma, .lineFeed,
    .carriageReturn, .backslash,
  ]

  static func some(_ count: Int, of files: [String: [UInt8]], _ random: inout SeededRandom) -> [Damage] {
    let all = files.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
    guard !all.isEmpty else { return [] }
    let cut = all.map { pieces($0.value) }
    return (0..<count).map { number in
      let place = random.below(all.count)
      let (member, intact) = all[place]
      let ranges = cut[place]
      var bytes = intact
      var label = ""
      // Now and then several at once.
      for _ in 0...(random.below(4) == 0 ? random.below(6) : 0) { label = change(&bytes, ranges, &random) }
      return Damage(label: "change \(number + 1) (\(label))", member: member, bytes: bytes)
    }
  }

  private static func change(_ bytes: inout [UInt8], _ ranges: [Range<Int>], _ random: inout SeededRandom) -> String {
    guard !bytes.isEmpty else { return "nothing" }
    let at = random.below(bytes.count)
    let valid = ranges[random.below(ranges.count)].clamped(to: 0..<bytes.count)
    let other = ranges[random.below(ranges.count)].clamped(to: 0..<bytes.count)
    switch random.below(10) {
    case 0:
      bytes[at] ^= 1 << UInt8(random.below(8))
      return "a bit of byte \(at)"
    case 1:
      bytes[at] = Self.bytes[random.below(Self.bytes.count)]
      return "byte \(at) is \(bytes[at])"
    case 2:
      bytes.removeSubrange(valid)
      return "without bytes \(valid)"
    case 3:
      bytes.insert(contentsOf: Array(bytes[valid]), at: valid.upperBound)
      return "bytes \(valid) twice"
    case 4:
      let piece = Array(bytes[other])
      bytes.replaceSubrange(valid, with: piece)
      return "bytes \(other) for \(valid)"
    case 5:
      let start = random.below(bytes.count)
      let end = min(bytes.count, start + 1 + random.below(64))
      bytes.removeSubrange(start..<end)
      return "without bytes \(start)..<\(end)"
    case 6:
      bytes.removeLast(bytes.count - at)
      return "cut at byte \(at)"
    case 7:
      let start = random.below(bytes.count)
      let end = min(bytes.count, start + 1 + random.below(200))
      bytes.insert(contentsOf: Array(bytes[start..<end]), at: at)
      return "bytes \(start)..<\(end) again at \(at)"
    case 8:
      let digits = ranges.filter { $0.upperBound <= bytes.count && bytes[$0.lowerBound].isDigit }
      guard !digits.isEmpty else {
        bytes[at] = bytes[at] &+ 1
        return "byte \(at) and one"
      }
      let number = Self.numbers[random.below(Self.numbers.count)]
      let range = digits[random.below(digits.count)]
      bytes.replaceSubrange(range, with: Array(number.utf8))
      return "number \(number) at byte \(range.lowerBound)"
    default:
      let end = min(bytes.count, at + 1 << random.below(4))
      let value: UInt8 = random.below(2) == 0 ? 0xFF : 0
      for place in at..<end { bytes[place] = value }
      return "bytes \(at)..<\(end) are \(value)"
    }
  }

  /// Files that announce more than they hold.
  ///
  /// - Parameter edge: How many bytes at the beginning and the end of a file are changed.
  static func large(_ files: [String: [UInt8]], limit: Int, edge: Int = 48) -> [Damage] {
    var all: [Damage] = []
    for (member, intact) in files.sorted(by: { $0.key < $1.key }) where !intact.isEmpty {
      for range in pieces(intact) where intact[range.lowerBound].isDigit {
        for number in ["2147483647", "999999999999", "9223372036854775807"] {
          var bytes = intact
          bytes.replaceSubrange(range, with: Array(number.utf8))
          all.append(.init(label: "number \(number) at byte \(range.lowerBound)", member: member, bytes: bytes))
        }
      }
      for value in [UInt8(0xFF), 0x7F] {
        for width in [1, 4, 8] {
          let first = min(edge, intact.count)
          for start in Array(0..<first) + Array(max(first, intact.count - edge)..<intact.count)
          where start + width <= intact.count {
            var bytes = intact
            for place in start..<start + width { bytes[place] = value }
            all.append(.init(label: "bytes \(start)..<\(start + width) are \(value)", member: member, bytes: bytes))
          }
        }
      }
    }
    // From everywhere, where there are too many.
    let step = max(1, all.count / max(limit, 1))
    return stride(from: 0, to: all.count, by: step).map { all[$0] }
  }
}
