import Foundation
import StoreCodecs
import Testing

@Suite("Exact floating-point text") struct ExactTextFloatingPointTests {
  private func read(_ text: String) -> Double? { ExactText.double(Array(text.utf8).span) }
  private func readFloat(_ text: String) -> Float? { ExactText.float(Array(text.utf8).span) }

  @Test(
    "a number is written in its shortest form and read back to the bit",
    arguments: [
      (0.0, "0.0"), (-0.0, "-0.0"), (7, "7.0"), (-30, "-30.0"), (0.1, "0.1"), (1e16, "1e+16"),
      (.leastNonzeroMagnitude, "5e-324"), (.leastNormalMagnitude, "2.2250738585072014e-308"),
      (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (9_007_199_254_740_991, "9007199254740991.0"),
      (.infinity, "inf"), (-.infinity, "-inf"), (1.0 / 3, "0.3333333333333333"),
    ] as [(Double, String)])
  func doubles(_ value: Double, _ text: String) {
    #expect(written { $0.append(double: value) } == text)
    #expect(read(text)?.bitPattern == value.bitPattern)
  }

  @Test("numbers of few decimals, and those next to them, are written as the standard library writes them")
  func fewDecimals() {
    var generator = SeededGenerator(state: 7)
    for scale in [1.0, 10, 100, 1000, 10_000] {
      for _ in 0..<20_000 {
        let whole = generator.next() >> (generator.next() % 60 + 4)
        let value = Double(whole) / scale * (generator.next() % 2 == 0 ? 1 : -1)
        for near in [value, value.nextUp, value.nextDown] where near.magnitude < 0x1p53 && near != 0 {
          #expect(written { $0.append(double: near) } == near.description)
        }
      }
    }
    for value in [0.001, 0.0009, 0.0011, 999_999_999_999.999, 1e12, 1_000_000_000_000.001, 0.1 + 0.2, 0.3] {
      #expect(written { $0.append(double: value) } == value.description)
    }
  }

  @Test("a whole number can do without its fraction")
  func wholeNumbers() {
    #expect(written { $0.append(double: 7, dropsPointZero: true) } == "7")
    #expect(written { $0.append(double: -0.0, dropsPointZero: true) } == "-0.0")
    #expect(written { $0.append(float: 30, dropsPointZero: true) } == "30")
    #expect(written { $0.append(double: 0.5, dropsPointZero: true) } == "0.5")
    #expect(read("-0")?.bitPattern == (-0.0).bitPattern)
  }

  @Test(
    "a not-a-number keeps its bits",
    arguments: [
      (0x7FF8_0000_0000_0000, "nan"), (0x7FF8_0000_0000_0001, "nan(0x7ff8000000000001)"),
      (0xFFF8_0000_0000_0000, "nan(0xfff8000000000000)"), (0x7FF0_0000_0000_0001, "nan(0x7ff0000000000001)"),
    ] as [(UInt64, String)])
  func notANumber(_ bits: UInt64, _ text: String) {
    #expect(written { $0.append(double: Double(bitPattern: bits)) } == text)
    #expect(read(text)?.bitPattern == bits)
  }

  @Test("a Float's not-a-number keeps its bits")
  func floatNotANumber() {
    #expect(written { $0.append(float: Float(bitPattern: 0x7FC0_0001)) } == "nan(0x7fc00001)")
    #expect(readFloat("nan(0x7fc00001)")?.bitPattern == 0x7FC0_0001)
    #expect(readFloat("nan")?.bitPattern == Float.nan.bitPattern)
    #expect(readFloat("-inf") == -.infinity)
  }

  @Test("every random bit pattern reads back to the same bits")
  func randomDoubles() {
    var generator = SeededGenerator(state: 2)
    for _ in 0..<100_000 {
      let value = Double(bitPattern: generator.next())
      let text = written { $0.append(double: value) }
      #expect(read(text)?.bitPattern == value.bitPattern, "\(text)")
    }
  }

  @Test("every random Float reads back to the same bits")
  func randomFloats() {
    var generator = SeededGenerator(state: 3)
    for _ in 0..<100_000 {
      let value = Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))
      let text = written { $0.append(float: value) }
      #expect(readFloat(text)?.bitPattern == value.bitPattern, "\(text)")
    }
  }

  @Test("decimal text of any length rounds as strtod and strtof do")
  func rounding() {
    var generator = SeededGenerator(state: 4)
    for _ in 0..<100_000 {
      var text = generator.next() % 2 == 0 ? "-" : ""
      for _ in 0...generator.next() % 22 { text += String(generator.next() % 10) }
      if generator.next() % 4 != 0 {
        text += "."
        for _ in 0...generator.next() % 24 { text += String(generator.next() % 10) }
      }
      if generator.next() % 3 == 0 { text += "e\(Int(generator.next() % 61) - 30)" }
      #expect(read(text)?.bitPattern == strtod(text, nil).bitPattern, "\(text)")
      let single = strtof(text, nil)
      #expect(readFloat(text)?.bitPattern == (single.isFinite ? single.bitPattern : nil), "\(text)")
    }
  }

  @Test("a number halfway between two neighbors goes to the even one, the slightest excess decides otherwise")
  func halfway() {
    #expect(read("9007199254740993") == 9_007_199_254_740_992)
    #expect(read("9007199254740993.0000000000000000000") == 9_007_199_254_740_992)
    #expect(read("9007199254740993.0000000000000000001") == 9_007_199_254_740_994)
    #expect(read("9007199254740993." + String(repeating: "0", count: 60) + "1") == 9_007_199_254_740_994)
    #expect(read("9007199254740995") == 9_007_199_254_740_996)
    #expect(readFloat("16777217") == 16_777_216)
    // By way of Double it would be rounded twice, and wrongly.
    #expect(readFloat("16777217.0000000001") == 16_777_218)
    #expect(readFloat("340282346638528859811704183484516925440") == .greatestFiniteMagnitude)
  }

  @Test(
    "decimal points and exponents are accepted in every usual form",
    arguments: [(".5", 0.5), ("5.", 5), ("+1e2", 100), ("1E-2", 0.01), ("00012.50", 12.5), ("0e999", 0), ("1e-999", 0)])
  func forms(_ text: String, _ value: Double) {
    #expect(read(text) == value)
  }

  @Test(
    "what is not a decimal number is refused",
    arguments: [
      "", ".", "-", "e5", "1e", "1e+", "1,5", " 1", "1 ", "0x1p3", "1.2.3", "1e5.0", "++1", "infin", "nan(", "nan()",
      "nan(0x7ff8000000000001", "nan(0x7ff0000000000000)", "-nan(0x7ff8000000000001)", "nan(0x1)", "1\0", "٣",
    ])
  func refused(_ text: String) {
    #expect(read(text) == nil)
    #expect(readFloat(text) == nil)
  }

  @Test("a number beyond the largest is refused, not made infinite")
  func overflow() {
    #expect(read("1e309") == nil)
    #expect(read("-1.8e308") == nil)
    #expect(readFloat("3.5e38") == nil)
    #expect(readFloat("1e39") == nil)
    #expect(read("1e99999999999999999999") == nil)
  }

  // MARK: Twenty decimals

  private func printed(_ value: Double) -> String { String(format: "%.20f", value) }

  /// The twenty decimals, nil where they were refused.
  private func fixed20(_ value: Double) -> String? {
    let writer = ByteWriter()
    let isExact = writer.appendFixed20(value)
    let text = String(decoding: writer.takeBytes(), as: UTF8.self)
    #expect(isExact || text.isEmpty)
    return isExact ? text : nil
  }

  @Test(
    "twenty decimals are what printf gives",
    arguments: [
      0, -0.0, 1, -1.5, 318_303_557.021736025810241699, 0.1, 0.5, 1e-20, 5e-20, 0x1p-13, 0x1p-20, 0x1p62, 1e-5,
      0.99999999999999989, 9_007_199_254_740_992, 9_007_199_254_740_991.5, 0x1.fffffffffffffp62,
    ])
  func fixed20Text(_ value: Double) {
    #expect(fixed20(value) == printed(value))
  }

  @Test(
    "a number that twenty decimals cannot represent exactly is refused",
    arguments: [
      1e-30, .leastNonzeroMagnitude, 1.2345678901234567e-5, 0x1p-21, 5e-21, .nan, .infinity, -.infinity, 0x1p63, 1e300,
    ])
  func fixed20Refused(_ value: Double) {
    #expect(fixed20(value) == nil)
  }

  @Test("twenty decimals of random numbers are what printf gives, and refused only where that would not read back")
  func randomFixed20() {
    var generator = SeededGenerator(state: 5)
    for round in 0..<60_000 {
      let bits = generator.next()
      // Every third number is of any size, the others are dates or small.
      let value =
        switch round % 3 {
        case 0: Double(bitPattern: bits).magnitude < 0x1p63 ? Double(bitPattern: bits) : 0
        case 1: Double(Int64(bitPattern: bits) >> 20) / 0x1p14
        default: Double(sign: .plus, exponent: -Int(bits % 90), significand: 1 + Double(bits >> 12) * 0x1p-52)
        }
      let expected = printed(value)
      #expect(fixed20(value) == (strtod(expected, nil).bitPattern == value.bitPattern ? expected : nil))
    }
  }
}
