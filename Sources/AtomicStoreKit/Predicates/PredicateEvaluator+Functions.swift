import AtomicStoreSPI
import FoundationEssentials

extension PredicateEvaluator {
  /// A function of the language, on values. Null in calculations gives null; in collections it is passed over.
  func call(_ name: String, _ arguments: [PredicateValue]) throws(ManagedObjectError) -> PredicateValue {
    switch name {
    case "now": return .value(.date(now))
    case "uppercase:", "lowercase:", "canonical:", "length:": return try text(name, arguments)
    case "count:": return .value(.integer(Int64(arguments.count == 1 ? arguments[0].elements.count : arguments.count)))
    case "sum:", "average:", "min:", "max:", "median:", "mode:", "stddev:": return try collection(name, arguments)
    case "noindex:": return arguments[0]
    case "first:": return arguments[0].elements.first ?? .null
    case "last:": return arguments[0].elements.last ?? .null
    case "objectFrom:withIndex:":
      guard case .value(.integer(let place)) = arguments[1] else { throw failure("an index is a whole number") }
      let list = arguments[0].elements
      return place >= 0 && place < list.count ? list[Int(place)] : .null
    case "castObject:toType:":
      guard case .value(let value) = arguments[0], case .value(.string(let type)) = arguments[1],
        let converted = PredicateCast.converted(value, type)
      else { throw failure("the value cannot be cast") }
      return .value(converted)
    default: return try calculation(name, arguments)
    }
  }

  private func text(_ name: String, _ arguments: [PredicateValue]) throws(ManagedObjectError) -> PredicateValue {
    if arguments[0].isNull { return .null }
    if case .list(let list) = arguments[0] {
      return .list(try list.map { element throws(ManagedObjectError) in try text(name, [element]) })
    }
    guard case .value(.string(let text)) = arguments[0] else { throw failure("\(name) takes a text") }
    switch name {
    case "uppercase:": return .value(.string(text.uppercased()))
    case "lowercase:": return .value(.string(text.lowercased()))
    case "length:": return .value(.integer(Int64(text.unicodeScalars.count)))
    default: return .value(.string(StringComparison.folded(text, [.caseInsensitive, .diacriticInsensitive])))
    }
  }

  private func collection(_ name: String, _ arguments: [PredicateValue]) throws(ManagedObjectError) -> PredicateValue {
    let elements = arguments.count == 1 ? arguments[0].elements : arguments.flatMap(\.elements)
    var values: [StoredValue] = []
    for element in elements {
      guard case .value(let value) = element else { throw failure("\(name) takes numbers, not objects") }
      if !value.isNull { values.append(value) }
    }
    if name == "min:" || name == "max:" {
      guard var best = values.first else { return .null }
      for value in values.dropFirst() {
        guard let order = Self.order(value, best, []) else {
          throw failure("\(name) compares \(value.kindDescription) with \(best.kindDescription)")
        }
        if name == "min:" ? order < 0 : order > 0 { best = value }
      }
      return .value(best)
    }
    var numbers: [NumberOrder.Number] = []
    for value in values {
      guard let number = NumberOrder.Number(value) else { throw failure("\(name) takes numbers, not \(value.kindDescription)") }
      numbers.append(number)
    }
    if name == "sum:" {
      var total = StoredValue.integer(0)
      for value in values {
        guard let sum = Arithmetic.add(total, value) else { throw failure("the sum has no value") }
        total = sum
      }
      return .value(total)
    }
    guard !numbers.isEmpty else { return .null }
    let doubles = numbers.map(\.asDouble).sorted()
    let mean = doubles.reduce(0, +) / Double(doubles.count)
    switch name {
    case "average:": return .value(.double(mean))
    case "median:":
      let middle = doubles.count / 2
      return .value(.double(doubles.count % 2 == 1 ? doubles[middle] : (doubles[middle - 1] + doubles[middle]) / 2))
    case "stddev:":
      let squares = doubles.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      return .value(.double((squares / Double(doubles.count)).squareRoot()))
    default:
      var best: (value: Double, count: Int) = (doubles[0], 0)
      var run = 0
      for (index, value) in doubles.enumerated() {
        run = index > 0 && doubles[index - 1] == value ? run + 1 : 1
        if run > best.count { best = (value, run) }
      }
      return .value(.double(best.value))
    }
  }

  private func calculation(_ name: String, _ arguments: [PredicateValue]) throws(ManagedObjectError) -> PredicateValue {
    var values: [StoredValue] = []
    for argument in arguments {
      guard case .value(let value) = argument else { throw failure("\(name) takes numbers, not objects or lists") }
      if value.isNull { return .null }
      values.append(value)
    }
    if values.count == 2, let result = Arithmetic.dates(name, values[0], values[1]) { return .value(result) }
    for value in values where NumberOrder.Number(value) == nil {
      throw failure("\(name) takes numbers, not \(value.kindDescription)")
    }
    guard let result = Arithmetic.calculate(name, values) else {
      throw failure("\(name) has no result for \(values.map(\.displayText).joined(separator: " and "))")
    }
    return .value(result)
  }
}

/// Calculations: whole numbers stay whole while they fit, everything else is done in doubles.
enum Arithmetic {
  static func add(_ one: StoredValue, _ other: StoredValue) -> StoredValue? { calculate("add:to:", [one, other]) }

  /// A date and seconds, or the seconds between two dates.
  static func dates(_ name: String, _ one: StoredValue, _ other: StoredValue) -> StoredValue? {
    switch (one, other) {
    case (.date(let a), .date(let b)) where name == "from:subtract:":
      return .double(a.timeIntervalSinceReferenceDate - b.timeIntervalSinceReferenceDate)
    case (.date(let date), let value), (let value, .date(let date)):
      guard let seconds = NumberOrder.Number(value)?.asDouble else { return nil }
      if name == "add:to:" { return .date(date.addingTimeInterval(seconds)) }
      if name == "from:subtract:", case .date = one { return .date(date.addingTimeInterval(-seconds)) }
      return nil
    default: return nil
    }
  }

  static func calculate(_ name: String, _ values: [StoredValue]) -> StoredValue? {
    let numbers = values.compactMap { NumberOrder.Number($0) }
    guard numbers.count == values.count, let first = numbers.first else { return nil }
    if case .integer(let a) = first {
      if numbers.count == 1 {
        switch name {
        case "abs:": return a == .min ? .double(-Double(a)) : .integer(abs(a))
        case "onesComplement:": return .integer(~a)
        case "floor:", "ceiling:", "trunc:": return .integer(a)
        default: break
        }
      } else if case .integer(let b) = numbers[1], let whole = whole(name, a, b) {
        return whole
      }
    }
    let x = first.asDouble
    let y = numbers.count > 1 ? numbers[1].asDouble : 0
    switch name {
    case "add:to:": return .double(x + y)
    case "from:subtract:": return .double(x - y)
    case "multiply:by:": return .double(x * y)
    case "divide:by:": return .double(x / y)
    case "modulus:by:": return y == 0 ? nil : .double(x.truncatingRemainder(dividingBy: y))
    case "raise:toPower:": return .double(MathFunctions.power(x, y))
    case "sqrt:": return .double(x.squareRoot())
    case "log:": return .double(MathFunctions.log10(x))
    case "ln:": return .double(MathFunctions.ln(x))
    case "exp:": return .double(MathFunctions.exp(x))
    case "floor:": return .double(x.rounded(.down))
    case "ceiling:": return .double(x.rounded(.up))
    case "trunc:": return .double(x.rounded(.towardZero))
    case "abs:": return .double(abs(x))
    default: return nil
    }
  }

  private static func whole(_ name: String, _ a: Int64, _ b: Int64) -> StoredValue? {
    func fitting(_ result: (partialValue: Int64, overflow: Bool)) -> StoredValue? {
      result.overflow ? nil : .integer(result.partialValue)
    }
    switch name {
    case "add:to:": return fitting(a.addingReportingOverflow(b))
    case "from:subtract:": return fitting(a.subtractingReportingOverflow(b))
    case "multiply:by:": return fitting(a.multipliedReportingOverflow(by: b))
    case "divide:by:":
      // Whole only where nothing is left over: 1 / 2 is a half.
      guard b != 0, !a.remainderReportingOverflow(dividingBy: b).overflow, a % b == 0 else { return nil }
      return fitting(a.dividedReportingOverflow(by: b))
    case "modulus:by:": return b == 0 ? nil : fitting(a.remainderReportingOverflow(dividingBy: b))
    case "raise:toPower:":
      guard b >= 0, b <= 64 else { return nil }
      var result: Int64 = 1
      for _ in 0..<b {
        let (next, overflow) = result.multipliedReportingOverflow(by: a)
        if overflow { return nil }
        result = next
      }
      return .integer(result)
    case "bitwiseAnd:with:": return .integer(a & b)
    case "bitwiseOr:with:": return .integer(a | b)
    case "bitwiseXor:with:": return .integer(a ^ b)
    case "leftshift:by:": return b >= 0 && b < 64 ? .integer(a << b) : nil
    case "rightshift:by:": return b >= 0 && b < 64 ? .integer(a >> b) : nil
    default: return nil
    }
  }
}
