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

  /// Parses a key path such as `department.name`: see ``keys(of:)``.
  package static func keyPath(of text: String) -> FetchExpression { .keyPath(keys(of: text)) }

  /// Parses a text where a key is expected: the property of exactly that name, if the entity has one, and otherwise a
  /// key path.
  package static func keyPath(of text: String, for entity: Entity) -> FetchExpression {
    entity.property(named: text) == nil ? keyPath(of: text) : .keyPath([text])
  }

  /// The keys of a key path. Dots separate them, unless a number sign marks one as in predicates: `#"x.y".name`.
  package static func keys(of text: String) -> [String] {
    if text.utf8.contains(UInt8(ascii: "#")), let keys = PredicateLexer.keys(of: text) { return keys }
    return text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether a text consists of words and quoted keys with dots between them.
  package static func isKeyPath(_ text: String) -> Bool { PredicateLexer.keys(of: text) != nil }

  /// The key path as ``keys(of:)`` parses it.
  package static func text(ofKeys keys: [String]) -> String {
    keys.contains { $0.utf8.contains(UInt8(ascii: ".")) || $0.utf8.contains(UInt8(ascii: "#")) }
      ? PredicateText.path(keys, isFirst: false) : keys.joined(separator: ".")
  }
}
