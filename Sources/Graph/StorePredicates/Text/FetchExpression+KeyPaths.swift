package import AtomicStoreSPI

extension FetchExpression {
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
