/// A closure that stands in a predicate, with a name for messages. It equals itself alone.
///
/// A store cannot look into it: a predicate that holds one is decided object by object, by the layer that made it.
public final class FetchBlock: Sendable, Hashable {
  /// The name that messages and the predicate's text show.
  public let name: String
  /// Given the object that the predicate is evaluated on, and the values of the variables that are known there.
  package let body: @Sendable (AnyObject, [String: Any]) throws -> Bool

  package init(_ name: String, _ body: @escaping @Sendable (AnyObject, [String: Any]) throws -> Bool) {
    self.name = name
    self.body = body
  }

  public static func == (one: FetchBlock, other: FetchBlock) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
