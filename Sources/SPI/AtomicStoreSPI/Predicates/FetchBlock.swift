/// A closure in a predicate, with a name for messages. It equals only itself.
///
/// A store cannot inspect it: a predicate that contains one is evaluated object by object, by the layer that created
/// it.
public final class FetchBlock: Sendable, Hashable {
  /// The name in messages and in the predicate's text.
  package let name: String
  /// Called with the object that the predicate is evaluated on, and the values of the variables that are defined there.
  package let body: @Sendable (AnyObject, [String: Any]) throws -> Bool

  package init(_ name: String, _ body: @escaping @Sendable (AnyObject, [String: Any]) throws -> Bool) {
    self.name = name
    self.body = body
  }

  public static func == (one: FetchBlock, other: FetchBlock) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
