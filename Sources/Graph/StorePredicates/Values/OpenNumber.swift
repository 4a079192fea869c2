package import AtomicStoreSPI

/// A number that is computed of constants and integers alone, such as `0.1` or `age * 0.1`. The numbers beside it
/// determine how: beside a decimal it is exact, beside a double it is computed in doubles.
package struct OpenNumber {
  /// What determines the type of a number.
  package enum Kind { case decimal, double }

  /// The value if no other number determines the type: a double, unless a constant has more digits than doubles have.
  package let value: StoredValue
  /// A constant, or a function of constants.
  let calculation: FetchExpression

  func value(as kind: Kind?) -> StoredValue {
    switch (kind, value) {
    // It was computed so already: in decimals if there is one among the constants, otherwise in doubles.
    case (nil, _), (.decimal?, .decimal), (.double?, .double): value
    case (let kind?, _): Self.value(of: calculation, as: kind) ?? value
    }
  }

  private static func value(of calculation: FetchExpression, as kind: Kind) -> StoredValue? {
    switch calculation {
    case .constant(let constant): return constant.number(as: kind)
    case .function(let name, let arguments):
      let values = arguments.compactMap { value(of: $0, as: kind) }
      return values.count == arguments.count ? Arithmetic.calculate(name, values) : nil
    default: return nil
    }
  }
}

extension OpenNumber.Kind {
  /// How a value for an attribute is computed; nil if that does not matter. Integers are computed exactly, so that
  /// `10 * 1.1` is one.
  package init?(_ type: AttributeType) {
    switch type {
    case .decimal, .integer16, .integer32, .integer64: self = .decimal
    case .double, .float: self = .double
    default: return nil
    }
  }

  /// The kind that values, or the elements of lists, determine: nil for integers and open doubles.
  init?(beside values: [PredicateValue]) {
    var kind: Self?
    for value in values {
      switch value.numberKind {
      case .double?:
        self = .double
        return
      case let found: kind = found ?? kind
      }
    }
    guard let kind else { return nil }
    self = kind
  }
}

extension StoredValue {
  /// A constant as a number of a kind. A double counts as the decimal that it is shown as, in which `0.1` is exact.
  package func number(as kind: OpenNumber.Kind) -> StoredValue {
    switch (kind, NumberOrder.Number(self)) {
    case (.decimal, .integer(let number)?): .decimal(DecimalNumber(number))
    case (.decimal, .double(let number)?): DecimalNumber(number.description).map { .decimal($0) } ?? self
    case (.double, .decimal(let number)?): .double(number.doubleValue)
    default: self
    }
  }
}

extension PredicateValue {
  var isOpen: Bool {
    switch self {
    case .open: true
    case .list(let list): list.contains(where: \.isOpen)
    default: false
    }
  }

  fileprivate var numberKind: OpenNumber.Kind? {
    switch self {
    case .value(.double), .value(.float): return .double
    case .value(.decimal): return .decimal
    case .open(let number): return if case .decimal = number.value { .decimal } else { nil }
    case .list(let list): return OpenNumber.Kind(beside: list)
    default: return nil
    }
  }

  /// The value with open numbers, also in lists, as numbers of a kind; nil for what they are alone.
  func settled(as kind: OpenNumber.Kind?) -> PredicateValue {
    switch self {
    case .open(let number): .value(number.value(as: kind))
    case .list(let list) where isOpen: .list(list.map { $0.settled(as: kind) })
    default: self
    }
  }

  /// Values with open numbers as those beside them determine.
  static func settled(_ values: [PredicateValue]) -> [PredicateValue] {
    guard values.contains(where: \.isOpen) else { return values }
    let kind = OpenNumber.Kind(beside: values)
    return values.map { $0.settled(as: kind) }
  }

  /// The result of a calculation: open if no argument determines its type and it is not an integer.
  static func result(_ result: StoredValue, of name: String, _ arguments: [PredicateValue]) -> PredicateValue {
    var parts: [FetchExpression] = []
    var isOpen = if case .double = result { true } else { false }
    for argument in arguments {
      switch argument {
      case .open(let number):
        parts.append(number.calculation)
        isOpen = true
      case .value(let value):
        guard argument.numberKind == nil else { return .value(result) }
        parts.append(.constant(value))
      default: return .value(result)
      }
    }
    return isOpen ? .open(OpenNumber(value: result, calculation: .function(name, parts))) : .value(result)
  }
}
