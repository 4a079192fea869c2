/// Why a pattern cannot be used.
struct RegularExpressionSyntaxError: Error, CustomStringConvertible {
  /// In Unicode scalars, from 1.
  let column: Int
  let message: String
  var description: String { "column \(column) of the pattern: \(message)" }
}

/// A step of a compiled pattern: see ``BoundedRegularExpression``.
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

  /// How many instructions a pattern may come to.
  static let maximumCount = 20_000
  /// How deep groups and sets may be in each other.
  static let maximumDepth = 100
}
