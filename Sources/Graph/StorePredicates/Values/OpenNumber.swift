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
  /// How a value for an attribute is computed; nil if that does not matter. Not exactly for integers: with 38 digits,
  /// `age / 3 * 3` would not be one.
  package init?(_ type: AttributeType) {
    switch type.valueKind {
    case .decimal: self = .decimal
    case .double, .float: self = .double
    default: return nil
    }
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
