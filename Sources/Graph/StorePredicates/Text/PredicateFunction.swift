/// A function of the language: everything that parser, checker and evaluator know about it.
///
/// A new function is a new entry in one of the tables that ``all`` joins.
struct PredicateFunction: Sendable {
  typealias Body = @Sendable (FunctionCall) throws(PredicateEvaluationError) -> PredicateValue

  /// What an argument must be.
  enum Parameter: Sendable {
    case any
    /// Numbers only, as in calculations.
    case number
    /// Numbers and Booleans, as in sums.
    case countable
    /// Numbers, dates, or for `+` two texts.
    case operand
    case text, date, data
    /// Bytes, or the UTF-8 of a text.
    case content

    var title: String {
      switch self {
      case .any: "a value"
      case .number, .countable, .operand: "numbers"
      case .text: "a string"
      case .date: "a date"
      case .data: "binary data"
      case .content: "binary data or a string"
      }
    }

    func accepts(_ group: PredicateKind.Group) -> Bool {
      switch self {
      case .any: true
      case .number, .operand: group == .number || group == .unknown
      case .countable: [.number, .boolean, .unknown].contains(group)
      case .text: group == .text || group == .unknown
      case .date: group == .date || group == .unknown
      case .data: group == .data || group == .unknown
      case .content: [.data, .text, .unknown].contains(group)
      }
    }
  }

  /// How the arguments are handed to ``body``.
  enum Style: Sendable {
    /// As they are.
    case whole
    /// Null in, null out; of a list as the first argument, one element at a time.
    case scalar
  }

  /// The selector's name.
  let name: String
  let minimum: Int
  let maximum: Int
  /// What the arguments must be; the last one stands for all further ones.
  let parameters: [Parameter]
  let style: Style
  /// How many arguments a call has that computes one value of the elements of its first; nil if none does.
  let aggregateCount: Int?
  /// Whether the first argument is read as a list, whose number of elements matters.
  let readsList: Bool
  /// The type of the result, of the types of the arguments.
  let result: @Sendable ([PredicateKind]) -> PredicateKind
  let body: Body

  init(
    _ name: String, _ counts: ClosedRange<Int>, _ parameters: [Parameter], style: Style = .scalar,
    aggregateCount: Int? = nil, readsList: Bool = false,
    result: @escaping @Sendable ([PredicateKind]) -> PredicateKind, _ body: @escaping Body
  ) {
    self.name = name
    (minimum, maximum) = (counts.lowerBound, counts.upperBound)
    self.parameters = parameters
    self.style = style
    self.aggregateCount = aggregateCount
    self.readsList = readsList || aggregateCount != nil
    self.result = result
    self.body = body
  }

  /// A function with a result of one type.
  init(
    _ name: String, _ counts: ClosedRange<Int>, _ parameters: [Parameter], _ kind: PredicateKind,
    style: Style = .scalar,
    aggregateCount: Int? = nil, readsList: Bool = false, _ body: @escaping Body
  ) {
    self.init(
      name, counts, parameters, style: style, aggregateCount: aggregateCount, readsList: readsList,
      result: { _ in kind }, body)
  }

  var shortName: String { String(name.prefix { $0 != ":" }) }
  var argumentText: String {
    let count =
      minimum == maximum ? "\(minimum)" : maximum == Self.many ? "\(minimum) or more" : "\(minimum) to \(maximum)"
    return "\(count) \(maximum == 1 ? "argument" : "arguments")"
  }

  /// The maximum of functions that take any number of arguments.
  static let many = 1000

  func parameter(at index: Int) -> Parameter { parameters[min(index, parameters.count - 1)] }

  /// Whether it computes with open numbers, or returns its arguments unchanged.
  var takesOpenNumbers: Bool { parameters.first == .operand || name == "coalesce:" }

  /// Calculates the function.
  func callAsFunction(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    guard call.arguments.count >= minimum, call.arguments.count <= maximum else {
      throw call.failure("\(name) requires \(argumentText), not \(call.arguments.count)")
    }
    guard style == .scalar else { return try body(call) }
    if call.arguments.contains(where: \.isNull) { return .null }
    guard case .list(let list)? = call.arguments.first else { return try body(call) }
    return .list(
      try list.map { element throws(PredicateEvaluationError) in
        element.isNull ? .null : try body(call.replacingFirst(element))
      })
  }
}
