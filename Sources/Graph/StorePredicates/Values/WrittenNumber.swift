import FoundationEssentials
import Glibc

/// The digits of a decimal number as a text has them.
///
/// Programs write a floating-point number with the fewest digits that read back to it, or rounded to some number of
/// digits, 17 for most. Either text is that number; a text with other digits is a number that would be changed.
package struct WrittenNumber: Equatable {
  /// Without zeros at the beginning and the end; empty for zero.
  private let digits: [UInt8]
  /// The power of ten of the first digit.
  private let exponent: Int

  /// - Parameter text: A number that `ExactText` reads, with an optional sign, fraction and exponent.
  private init?(_ text: [UInt8]) {
    var digits: [UInt8] = []
    var point: Int?
    var power = 0
    var place = text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+") ? 1 : 0
    reading: while place < text.count {
      switch text[place] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(text[place])
      case UInt8(ascii: ".") where point == nil: point = digits.count
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        let sign = text.count > place + 1 && text[place + 1] == UInt8(ascii: "+") ? 1 : 0
        guard let number = Int(String(decoding: text[(place + 1 + sign)...], as: UTF8.self)) else { return nil }
        power = number
        break reading
      default: return nil
      }
      place += 1
    }
    guard !digits.isEmpty, abs(power) < 1_000_000 else { return nil }
    let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
    exponent = (point ?? digits.count) - leading - 1 + power
    digits.removeFirst(leading)
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    self.digits = digits
  }

  /// The number rounded to so many digits.
  private init?(_ number: Double, digits: Int) {
    let length = digits + 32
    let text = withVaList([CInt(max(0, digits - 1)), number]) { arguments in
      [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
        count = bytes.withMemoryRebound(to: CChar.self) { text in
          Int(vsnprintf(text.baseAddress, length, "%.*e", arguments))
        }
      }
    }
    self.init(text)
  }

  /// Whether a text is a number as it is written, in the shortest way or rounded to as many digits as the text has.
  ///
  /// - Parameters:
  ///   - shortest: The number in its shortest form.
  ///   - safe: How many digits every number of the type keeps; 0 for numbers close to zero.
  private static func holds(_ text: [UInt8], _ number: Double, shortest: String, safe: Int) -> Bool {
    guard let written = WrittenNumber(text) else { return true }
    let count = written.digits.count
    if count <= safe || written == WrittenNumber(Array(shortest.utf8)) { return true }
    // No double has more digits than 767.
    return count < 768 && written == WrittenNumber(number, digits: count)
  }

  /// Whether a text is a double as programs write it, so that no digit is lost where it is stored as that.
  package static func holds(_ text: Span<UInt8>, _ number: Double) -> Bool {
    let safe = number.magnitude < .leastNormalMagnitude ? 0 : 15
    guard number.isFinite, number != 0, text.count > safe else { return true }
    return holds((0..<text.count).map { text[$0] }, number, shortest: "\(number)", safe: safe)
  }

  /// Whether a text is a float as programs write it, also as a double.
  package static func holds(_ text: Span<UInt8>, _ number: Float) -> Bool {
    let safe = number.magnitude < .leastNormalMagnitude ? 0 : 6
    guard number.isFinite, number != 0, text.count > safe else { return true }
    return holds((0..<text.count).map { text[$0] }, Double(number), shortest: "\(number)", safe: safe)
  }
}
