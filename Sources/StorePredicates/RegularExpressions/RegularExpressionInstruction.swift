/// The error if a pattern cannot be compiled.
struct RegularExpressionSyntaxError: Error, CustomStringConvertible {
  /// In Unicode scalars, starting at 1.
  let column: Int
  let message: String
  var description: String { "column \(column) of the pattern: \(message)" }
}

/// An instruction of a compiled pattern: see ``BoundedRegularExpression``.
enum RegularExpressionInstruction: Sendable {
  case scalar(Unicode.Scalar, ignoresCase: Bool)
  case any(includesNewlines: Bool)
  case set(ScalarSet)
  case split(Int, Int)
  case jump(Int)
  case start(isLine: Bool)
  case end(isLine: Bool)
  case boundary(isNegated: Bool)
  case match

  /// The maximum number of instructions of a pattern.
  static let maximumCount = 20_000
  /// The maximum nesting depth of groups and sets.
  static let maximumDepth = 100
}
