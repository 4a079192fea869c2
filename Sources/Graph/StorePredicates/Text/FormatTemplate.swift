public import AtomicStoreSPI
import Synchronization

/// A format that was parsed once, and into which arguments are put without parsing it again: a program that fetches in
/// a loop uses the same format with different arguments.
///
/// Only for formats in which the kind of an argument changes nothing: comparisons of key paths with constants, joined
/// by AND, OR and NOT.
struct FormatTemplate: Sendable {
  /// With ``argumentMark`` in the position of each argument, in their order.
  private let predicate: FetchPredicate
  private let argumentCount: Int

  /// No text contains a variable of this name.
  private static let argumentMark = FetchExpression.variable("\0")

  private static let recent = Mutex<[ScalarString: FormatTemplate?]>([:])
  /// How many formats are cached, and the maximum length of each in UTF-8 bytes.
  private static let recentLimit = 64
  private static let recentLength = 256

  /// Parses a format, or puts the arguments into one that was parsed before.
  static func predicate(_ format: String, _ arguments: [Any?]) throws(PredicateFormatError) -> FetchPredicate {
    guard !arguments.isEmpty, format.utf8.count <= recentLength else { return try parsed(format, arguments) }
    let key = ScalarString(format)
    let known = recent.withLock { $0[key] }
    if let template = known ?? nil, let filled = template.filled(arguments) { return filled }
    let predicate = try parsed(format, arguments)
    if known == nil {
      let template = FormatTemplate(format, arguments, predicate)
      recent.withLock { known in
        if known.count >= recentLimit { known = [:] }
        known[key] = .some(template)
      }
    }
    return predicate
  }

  private static func parsed(_ format: String, _ arguments: [Any?]) throws(PredicateFormatError) -> FetchPredicate {
    var parser = try PredicateParser(format, arguments)
    return try parser.predicate()
  }

  /// Nil for a format that must be parsed with its arguments.
  ///
  /// - Parameter predicate: What the format is with these arguments.
  private init?(_ format: String, _ arguments: [Any?], _ predicate: FetchPredicate) {
    let places = [Any?](repeating: Self.argumentMark, count: arguments.count)
    guard let made = try? Self.parsed(format, places), Self.isPlain(made) else { return nil }
    self.predicate = made
    argumentCount = arguments.count
    if filled(arguments) != predicate { return nil }
  }

  private static func isPlain(_ predicate: FetchPredicate) -> Bool {
    switch predicate {
    case .value: true
    case .block: false
    // Whether it has two bounds is checked when it is parsed.
    case .comparison(let comparison):
      comparison.comparator != .between && isPlain(comparison.left) && isPlain(comparison.right)
    case .and(let parts), .or(let parts): parts.allSatisfy { isPlain($0) }
    case .not(let part): isPlain(part)
    }
  }

  private static func isPlain(_ expression: FetchExpression) -> Bool {
    switch expression {
    case .constant, .keyPath, .evaluatedObject, .variable: true
    default: false
    }
  }

  /// Nil if an argument is not a plain value, or there are more or fewer than the format has.
  private func filled(_ arguments: [Any?]) -> FetchPredicate? {
    guard arguments.count == argumentCount else { return nil }
    var values: [StoredValue] = []
    values.reserveCapacity(argumentCount)
    for argument in arguments {
      guard case .expression(.constant(let value))? = PredicateArgument(argument) else { return nil }
      values.append(value)
    }
    var rest = values[...]
    return Self.filled(predicate, &rest)
  }

  private static func filled(_ predicate: FetchPredicate, _ values: inout ArraySlice<StoredValue>) -> FetchPredicate {
    switch predicate {
    case .value, .block: return predicate
    case .comparison(var comparison):
      // Arguments are in the order of the text.
      if comparison.left == argumentMark, let value = values.popFirst() { comparison.left = .constant(value) }
      if comparison.right == argumentMark, let value = values.popFirst() { comparison.right = .constant(value) }
      return .comparison(comparison)
    case .and(let parts): return .and(parts.map { filled($0, &values) })
    case .or(let parts): return .or(parts.map { filled($0, &values) })
    case .not(let part): return .not(filled(part, &values))
    }
  }
}

extension FetchPredicate {
  /// Parses a predicate in Core Data's format language.
  ///
  /// `%@` takes a value (strings, numbers, `Bool`, `Date`, `Data`, `UUID`, `URL`, decimals, objects and their IDs,
  /// lists and ranges of these, nil, an expression or a whole predicate), `%K` a key path as a string, `%d`, `%f` and
  /// similar format specifiers take numbers, `%s` a string. Within quotes they are ordinary characters.
  ///
  /// ```swift
  /// let wellPaid = try FetchPredicate(format: "department.name == %@ AND salary > %@", "Sales", 5000)
  /// ```
  ///
  /// - Throws: ``PredicateFormatError`` with the column. Nesting is limited to 200 levels, the tree of operators and
  ///   path steps to 300, chains of `AND` and `OR` to 10,000, the length to a million characters.
  public init(format: String, _ arguments: Any?...) throws(PredicateFormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// As ``init(format:_:)``, with the arguments in a list.
  public init(format: String, arguments: [Any?]) throws(PredicateFormatError) {
    self = try FormatTemplate.predicate(format, arguments)
  }
}
