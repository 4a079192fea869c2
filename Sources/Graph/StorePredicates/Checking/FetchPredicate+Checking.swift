public import AtomicStoreSPI

extension FetchPredicate {
  /// Parses a predicate and checks it against an entity, as ``check(against:)`` does.
  public init(format: String, _ arguments: Any?..., for entity: Entity) throws(PredicateFormatError) {
    try self.init(format: format, arguments: arguments, for: entity)
  }

  /// Parses a predicate with its arguments in a list, and checks it against an entity, as ``check(against:)`` does.
  public init(format: String, arguments: [Any?], for entity: Entity) throws(PredicateFormatError) {
    var parser = try PredicateParser(format, arguments)
    self = try parser.predicate()
    var checker = PredicateChecker(entity.model, isStrict: true, format: format, marks: parser.marks)
    try checker.check(self, .object(entity))
  }

  /// Parses a predicate that selects groups of an entity's objects (see ``FetchRequest/havingPredicate``), and checks
  /// it as ``check(against:)`` does.
  ///
  /// - Parameters:
  ///   - format: The predicate as text.
  ///   - entity: The entity whose objects are grouped.
  ///   - keys: The key paths or expressions that they are grouped by.
  package init(format: String, forGroupsOf entity: Entity, by keys: [FetchExpression]) throws(PredicateFormatError) {
    var parser = try PredicateParser(format, [])
    self = try parser.predicate()
    var checker = PredicateChecker(entity.model, isStrict: true, format: format, marks: parser.marks)
    let subject = PredicateKind.object(entity)
    try checker.group(keys, of: subject)
    try checker.check(self, .list(subject))
  }

  /// Checks the predicate against an entity: finds unknown keys, to-many keys without ANY, ALL or SUBQUERY, and
  /// comparisons of types that are never equal.
  ///
  /// - Throws: ``PredicateFormatError`` for the first problem, with its column in ``predicateFormat``, what was
  ///   expected, and a suggestion if there is one.
  public func check(against entity: Entity) throws(PredicateFormatError) { try check(entity, isStrict: true) }

  package func check(_ entity: Entity, isStrict: Bool) throws(PredicateFormatError) {
    let subject = PredicateKind.object(entity)
    var quick = PredicateChecker(entity.model, isStrict: isStrict)
    do throws(PredicateFormatError) { try quick.check(self, subject) } catch {
      // Columns refer to the text that the predicate prints as.
      let text = predicateFormat
      guard !FetchTree.predicate(self).holdsBlock, var parser = try? PredicateParser(text, []),
        let read = try? parser.predicate()
      else {
        throw PredicateFormatError(text, 1, error.message, suggestion: error.suggestion)
      }
      var checker = PredicateChecker(entity.model, isStrict: isStrict, format: text, marks: parser.marks)
      try checker.check(read, subject)
      throw PredicateFormatError(text, 1, error.message, suggestion: error.suggestion)
    }
  }
}

extension FetchExpression {
  /// The check before a fetch. An object may then also be a group of objects.
  ///
  /// - Parameter isStrict: Whether comparisons of types that are never equal are refused, too.
  package func check(_ entity: Entity, isStrict: Bool = false) throws(PredicateFormatError) {
    var checker = PredicateChecker(entity.model, isStrict: isStrict)
    _ = try checker.wholeKind(of: self, .object(entity))
  }

  /// What the values of an expression are for an entity's objects, if nothing can be in their order: several values, or
  /// objects. Nil if there is an order, or for a key that does not exist.
  package func valuesWithoutOrder(of entity: Entity) -> String? {
    var checker = PredicateChecker(entity.model, isStrict: false)
    switch try? checker.wholeKind(of: self, .object(entity)) {
    case .list?: return "several values"
    case .object?:
      // An object's own ID is looked at when it is sorted.
      if case .keyPath(let path) = self, ["self", "SELF", "objectID"].contains(path.last) { return nil }
      return "an object, which has no order"
    default: return nil
    }
  }
}
