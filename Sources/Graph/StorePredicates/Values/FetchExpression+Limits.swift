package import AtomicStoreSPI

extension FetchExpression {
  /// The maximum height of a tree. Chains of left-associative operators make trees as high as the chain is long, and
  /// the heights of nested chains add up. Comparing, printing and even deallocating a tree needs stack for each level.
  static let maximumHeight = 300
  /// The maximum number of keys in a path, in predicates, sort keys, columns and `value(forKeyPath:)`.
  package static let maximumPathLength = maximumHeight

  package static func pathTooLong(_ count: Int) -> String {
    "the key path has \(count) keys; at most \(maximumPathLength) are allowed"
  }

  /// The operators that may end a path, as in `items.price.@sum`: they are applied to the values of all objects on the
  /// path.
  package static let endOperators: Set<String> = ["@sum", "@avg", "@min", "@max"]
}
