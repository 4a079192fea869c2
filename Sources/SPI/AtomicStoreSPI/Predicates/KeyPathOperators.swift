extension FetchExpression {
  /// The operators that key paths have among their keys.
  package static let operators = [
    "@count", "@sum", "@avg", "@min", "@max", "@unionOfObjects", "@distinctUnionOfObjects", "@unionOfArrays",
    "@unionOfSets", "@distinctUnionOfArrays", "@distinctUnionOfSets",
  ]

  /// Whether a key of a path is an operator. Others that begin like one are names: tables of other programs have
  /// columns such as `@timestamp`.
  package static func isOperator(_ key: String) -> Bool {
    key.utf8.first == UInt8(ascii: "@") && operators.contains(key)
  }

  /// What is wrong with a key that no property has, if it was probably meant as an operator.
  package static func unknownOperator(_ key: String) -> String? {
    key.utf8.first == UInt8(ascii: "@") ? "unknown operator '\(key)'" : nil
  }
}
