import AtomicStoreSPI

/// A closure that stands in a predicate, with a name for messages. It equals itself alone.
public final class FetchBlock: Sendable, Hashable {
  /// The name that messages and the predicate's text show.
  public let name: String
  let body: @Sendable (ManagedObject, [String: Any]) throws -> Bool

  init(_ name: String, _ body: @escaping @Sendable (ManagedObject, [String: Any]) throws -> Bool) {
    self.name = name
    self.body = body
  }

  public static func == (one: FetchBlock, other: FetchBlock) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension FetchPredicate {
  /// A condition that a closure decides: what `NSPredicate(block:)` is elsewhere.
  ///
  /// It runs on objects, never on columns, so each object of the entity is made for it. As text it is
  /// `BLOCKPREDICATE("name")`, which cannot be read back.
  ///
  /// - Parameters:
  ///   - name: What messages and the predicate's text call it.
  ///   - block: Called with the object, and the values of the variables that are defined at this point of the predicate.
  public init(_ name: String = "closure", block: @escaping @Sendable (ManagedObject, [String: Any]) throws -> Bool) {
    self = .block(FetchBlock(name, block))
  }

  /// Whether an object fulfils the predicate, with the changes that its context holds.
  ///
  /// - Throws: `.invalidFetch` for keys that the object does not have, variables without a value, and what else cannot be run.
  public func evaluate(with object: ManagedObject, variables: [String: Any?] = [:]) throws(ManagedObjectError) -> Bool {
    try PredicateEvaluator(object, variables: PredicateValue.table(variables, of: object)).evaluate(self)
  }

  /// Those of a list that fulfil the predicate, in its order.
  public func filter<Object: ManagedObject>(_ objects: some Sequence<Object>) throws(ManagedObjectError) -> [Object] {
    var found: [Object] = []
    for object in objects where try evaluate(with: object) { found.append(object) }
    return found
  }

  var holdsBlock: Bool {
    switch self {
    case .block: true
    case .value: false
    case .and(let parts), .or(let parts): parts.contains { $0.holdsBlock }
    case .not(let part): part.holdsBlock
    case .comparison(let comparison): comparison.left.holdsBlock || comparison.right.holdsBlock
    }
  }
}

extension FetchExpression {
  /// What the expression comes to for an object: as `value(forKey:)` gives it, objects as objects, several in an array.
  ///
  /// - Throws: as ``FetchPredicate/evaluate(with:variables:)``.
  public func value(with object: ManagedObject, variables: [String: Any?] = [:]) throws(ManagedObjectError) -> Any? {
    try PredicateEvaluator(object, variables: PredicateValue.table(variables, of: object)).value(of: self).any
  }

  var holdsBlock: Bool {
    switch self {
    case .constant, .objectID, .evaluatedObject, .variable, .keyPath: false
    case .member(let base, _): base.holdsBlock
    case .element(let base, .at(let index)): base.holdsBlock || index.holdsBlock
    case .element(let base, _): base.holdsBlock
    case .function(_, let list), .aggregate(let list), .fetch(let list): list.contains { $0.holdsBlock }
    case .custom(let target, _, let list): target.holdsBlock || list.contains { $0.holdsBlock }
    case .subquery(let list, _, let predicate): list.holdsBlock || predicate.holdsBlock
    case .set(_, let one, let other): one.holdsBlock || other.holdsBlock
    case .cast(let value, _), .assignment(_, let value): value.holdsBlock
    case .conditional(let predicate, let one, let other): predicate.holdsBlock || one.holdsBlock || other.holdsBlock
    }
  }
}

extension PredicateComposite {
  /// As `value(forKey:)` gives a composite: a dictionary of the parts that are not nil, nil without any.
  var any: [String: Any]? {
    var known: [String: Any] = [:]
    for part in parts {
      if let value = part.value.any { known[String(decoding: part.name.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self)] = value }
    }
    return known.isEmpty ? nil : known
  }
}

extension PredicateValue {
  /// As a program handles it.
  var any: Any? {
    switch self {
    case .value(let value): value.anyValue
    case .object(let object): object
    case .id(let id): id
    case .list(let list): list.map { $0.any as Any }
    case .composite(let composite): composite.any
    }
  }

  /// What a program gave: a value, an object, an ID, or a list of these. Nil for anything else.
  init?(any value: Any?) {
    guard let value = StoredValue.unwrapped(value) else {
      self = .null
      return
    }
    if let object = value as? ManagedObject {
      self = .object(object)
      return
    }
    guard case .expression(let expression)? = PredicateArgument(value) else { return nil }
    switch expression {
    case .constant(let stored): self = .value(stored)
    case .objectID(let id): self = .id(id)
    case .aggregate:
      guard let list = PredicateArgument.list(value) else { return nil }
      var elements: [PredicateValue] = []
      for element in list {
        guard let made = PredicateValue(any: element) else { return nil }
        elements.append(made)
      }
      self = .list(elements)
    default: return nil
    }
  }

  static func table(_ variables: [String: Any?], of object: ManagedObject) throws(ManagedObjectError) -> [String: PredicateValue] {
    var table: [String: PredicateValue] = [:]
    for (name, value) in variables {
      guard let made = PredicateValue(any: value) else {
        throw ManagedObjectError(
          .invalidFetch, "the value of $\(name) can stand in no predicate", entityName: object.plan.name, key: name)
      }
      table[name] = made
    }
    return table
  }
}
