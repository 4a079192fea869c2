import StorePrimitives
import Testing

@Suite("Calculating with decimals") struct DecimalArithmeticTests {
  static func number(_ text: String) throws -> DecimalNumber { try #require(DecimalNumber(text), "\(text)") }

  struct Case: CustomTestStringConvertible, Sendable {
    let one: String, sign: Character, other: String, result: String?
    var testDescription: String { "\(one) \(sign) \(other)" }
    init(_ one: String, _ sign: Character, _ other: String, _ result: String?) {
      (self.one, self.sign, self.other, self.result) = (one, sign, other, result)
    }
  }

  static let cases: [Case] = [
    Case("0.1", "+", "0.2", "0.3"),
    Case("1.50", "+", "1.5", "3.00"),
    Case("-0.1", "+", "0.1", "0"),
    Case("0", "+", "1.50", "1.50"),
    Case("100000000000000000000", "+", "0.01", "100000000000000000000.01"),
    Case("1E+40", "+", "-1E+40", "0"),
    Case("340282366920938463463374607431768211455", "+", "0", "340282366920938463463374607431768211455"),
    // One more than 128 bits: to 38 digits, a half away from zero.
    Case("340282366920938463463374607431768211455", "+", "1", "34028236692093846346337460743176821146E+1"),
    Case("1E+60", "+", "1", "1E+60"),
    Case("1E+127", "+", "1E-128", "1E+127"),
    Case("9E+127", "+", "9E+127", "18E+127"),
    Case("1", "-", "0.9", "0.1"),
    Case("1E+38", "-", "1E-38", "1E+38"),
    Case("1E+20", "-", "1E-17", "99999999999999999999.99999999999999999"),
    Case("0.1", "*", "3", "0.3"),
    Case("-1.5", "*", "1.5", "-2.25"),
    Case("99999999999999999999", "*", "99999999999999999999", "99999999999999999998E+20"),
    Case("123456789012345678901", "*", "123456789012345678901", "15241578753238836750437433565526596568E+3"),
    Case("1E+100", "*", "1E+100", nil),
    Case("1E-100", "*", "1E-100", "0"),
    Case("1", "/", "3", "0.33333333333333333333333333333333333333"),
    Case("2", "/", "3", "0.66666666666666666666666666666666666667"),
    Case("-2", "/", "3", "-0.66666666666666666666666666666666666667"),
    Case("1", "/", "8", "0.125"),
    Case("10", "/", "4", "2.5"),
    Case("0.3", "/", "3", "0.1"),
    Case("340282366920938463463374607431768211455", "/", "2", "170141183460469231731687303715884105730"),
    Case("1", "/", "340282366920938463463374607431768211455", "29387358770557187699218413430556141946E-76"),
    Case("1", "/", "0", nil),
    Case("7.5", "%", "2", "1.5"),
    Case("-7.5", "%", "2", "-1.5"),
    Case("1E+30", "%", "7", "1"),
    Case("0.1", "%", "1E+50", "0.1"),
    Case("1", "%", "0", nil),
    Case("NaN", "+", "1", "NaN"),
    Case("1", "/", "NaN", "NaN"),
  ]

  @Test("a result is exact, or the nearest of 38 digits", arguments: cases)
  func result(_ entry: Case) throws {
    let one = try Self.number(entry.one)
    let other = try Self.number(entry.other)
    let result: DecimalNumber? =
      switch entry.sign {
      case "+": one.adding(other)
      case "-": one.subtracting(other)
      case "*": one.multiplied(by: other)
      case "/": one.divided(by: other)
      default: one.remainder(dividingBy: other)
      }
    guard let expected = try entry.result.map(Self.number) else {
      #expect(result == nil)
      return
    }
    #expect(try #require(result).isNumericallyEqual(to: expected), "\(String(describing: result))")
  }

  @Test("a sum keeps the scale of its finest part, as it was written")
  func scale() throws {
    #expect(try Self.number("1.5").adding(Self.number("2.50"))?.description == "4.00")
    #expect(try DecimalNumber.sum(["0.10", "0.2"].map(Self.number))?.description == "0.30")
  }

  @Test("a sum is the same in any order, and rounded once")
  func orders() throws {
    var numbers = try [
      "1E+60", "0.1", "-1E+60", "340282366920938463463374607431768211455", "0.2",
      "-340282366920938463463374607431768211455",
    ]
    .map(Self.number)
    for _ in 0..<50 {
      numbers.shuffle()
      #expect(try #require(DecimalNumber.sum(numbers)).isNumericallyEqual(to: Self.number("0.3")), "\(numbers)")
    }
    #expect(DecimalNumber.sum([]) == DecimalNumber(0))
    #expect(DecimalNumber.sum([DecimalNumber(1), .nan])?.isNaN == true)
  }

  @Test("numbers of up to 18 digits calculate as integers do")
  func integers() throws {
    for _ in 0..<2000 {
      let a = Int64.random(in: -1_000_000_000_000_000_000...1_000_000_000_000_000_000) >> Int64.random(in: 0..<60)
      let b = Int64.random(in: -1_000_000_000_000_000_000...1_000_000_000_000_000_000) >> Int64.random(in: 0..<60)
      let scale = Int8.random(in: -20...20)
      func decimal(_ value: Int128) -> DecimalNumber {
        DecimalNumber(mantissa: value.magnitude, exponent: scale, isNegative: value < 0)
      }
      let (x, y) = (decimal(Int128(a)), decimal(Int128(b)))
      #expect(x.adding(y) == decimal(Int128(a) + Int128(b)))
      #expect(x.subtracting(y) == decimal(Int128(a) - Int128(b)))
      let product = Int128(a) * Int128(b)
      #expect(x.multiplied(by: DecimalNumber(b)) == decimal(product))
      if b != 0 {
        #expect(x.remainder(dividingBy: y) == decimal(Int128(a) % Int128(b)))
        #expect(try #require(decimal(product).divided(by: y)).isNumericallyEqual(to: DecimalNumber(a)))
      }
    }
  }

  @Test(
    "rounding to a whole number follows its rule",
    arguments: [
      ("2.5", "2", "3", "2", "3", "2"), ("-2.5", "-3", "-2", "-2", "-3", "-2"), ("3.5", "3", "4", "3", "4", "4"),
      ("0.49", "0", "1", "0", "0", "0"),
      ("1E-100", "0", "1", "0", "0", "0"), ("-1E-100", "-1", "0", "0", "0", "0"), ("7", "7", "7", "7", "7", "7"),
      ("1E+5", "100000", "100000", "100000", "100000", "100000"),
    ])
  func rounding(_ text: String, _ down: String, _ up: String, _ zero: String, _ away: String, _ even: String) throws {
    let number = try Self.number(text)
    for (rule, expected) in [
      (FloatingPointRoundingRule.down, down), (.up, up), (.towardZero, zero), (.toNearestOrAwayFromZero, away),
      (.toNearestOrEven, even),
    ] {
      #expect(try number.rounded(rule).isNumericallyEqual(to: Self.number(expected)), "\(rule)")
    }
  }

  @Test(
    "a whole number that fits is an integer, nothing else is",
    arguments: [
      ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("1E+2", 100), ("5.00", 5),
      ("9223372036854775808", nil), ("0.5", nil),
      ("NaN", nil), ("1E+50", nil),
    ] as [(String, Int64?)])
  func integer(_ text: String, _ expected: Int64?) throws { #expect(try Self.number(text).integer == expected) }
}
