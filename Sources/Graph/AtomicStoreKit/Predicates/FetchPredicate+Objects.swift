public import AtomicStoreSPI
import StorePredicates

extension FetchPredicate {
  /// Creates a condition that a closure decides: the counterpart of `NSPredicate(block:)`.
  ///
  /// It runs on objects, never on columns, so every object of the entity is created for it. As text it is
  /// `BLOCKPREDICATE("name")`, which cannot be parsed.
  ///
  /// - Parameters:
  ///   - name: Its name in messages and in the predicate's text.
  ///   - block: Called with the object, and the values of the variables that are defined at this position of the
  ///     predicate.
  public init(_ name: String = "closure", block: @escaping @Sendable (ManagedObject, [String: Any]) throws -> Bool) {
    self = .block(
      FetchBlock(name) { object, variables in
        guard let object = object as? ManagedObject else {
          throw PredicateEvaluationError(
            .invalid, "the closure '\(name)' was evaluated on something that is not a managed object")
        }
        do { return try block(object, variables) } catch let error as ManagedObjectError {
          throw PredicateEvaluationError(error)
        }
      })
  }

  /// Whether an object fulfils the predicate, with its unsaved changes.
  ///
  /// - Throws: `.invalidFetch` for keys that the object does not have, variables without a value, and anything else
  ///   that cannot be evaluated.
  public func evaluate(with object: ManagedObject, variables: [String: Any?] = [:]) throws(ManagedObjectError) -> Bool {
    do throws(PredicateEvaluationError) {
      return try PredicateEvaluator(object, variables: PredicateValue.table(variables, entityName: object.plan.name))
        .evaluate(self)
    } catch {
      throw ManagedObjectError(error)
    }
  }

  /// Returns the objects of a list that fulfil the predicate, in the order of the list.
  public func filter<Object: ManagedObject>(_ objects: some Sequence<Object>) throws(ManagedObjectError) -> [Object] {
    var found: [Object] = []
    for object in objects where try evaluate(with: object) { found.append(object) }
    return found
  }
}

extension FetchExpression {
  /// Returns the value of the expression for an object: as `value(forKey:)` returns it, objects as objects, several
  /// values as an array.
  ///
  /// - Throws: as ``FetchPredicate/evaluate(with:variables:)``.
  public func value(with object: ManagedObject, variables: [String: Any?] = [:]) throws(ManagedObjectError) -> Any? {
    do throws(PredicateEvaluationError) {
      return try PredicateEvaluator(object, variables: PredicateValue.table(variables, entityName: object.plan.name))
        .value(of: self).any
    } catch {
      throw ManagedObjectError(error)
    }
  }
}
