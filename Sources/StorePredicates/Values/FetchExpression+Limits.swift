package import AtomicStoreSPI

extension FetchExpression {
  /// Chains of operators that associate to the left make trees as deep as they are long, and those of several chains in
  /// each other add up. Comparing, printing and even freeing a tree takes stack for each level.
  static let maximumHeight = 300
  /// The most keys of a path, in predicates, sort keys, columns and `value(forKeyPath:)`.
  package static let maximumPathLength = maximumHeight

  package static func pathTooLong(_ count: Int) -> String {
    "the key path has \(count) keys; at most \(maximumPathLength) are allowed"
  }

  /// The operators that may end a path, as in `items.price.@sum`: they are applied to the values of all objects on the
  /// way.
  package static let endOperators: Set<String> = ["@sum", "@avg", "@min", "@max"]

  /// The key path that a text such as `department.name` stands for.
  package static func keyPath(of text: String) -> FetchExpression {
    .keyPath(text.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }
}
