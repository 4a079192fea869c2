import AtomicStoreSPI

extension OpenNumber.Kind {
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
