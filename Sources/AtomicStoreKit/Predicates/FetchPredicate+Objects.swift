public import AtomicStoreSPI
import StorePredicates

extension FetchPredicate {
  /// A condition that a closure decides: what `NSPredicate(block:)` is elsewhere.
  ///
  /// It runs on objects, never on columns, so each object of the entity is made for it. As text it is
  /// `BLOCKPREDICATE("name")`, which cannot be read back.
  ///
  /// - Parameters:
  ///   - name: What messages and the predicate's text call it.
  ///   - block: Called with the object, and the values of the variables that are defined at this point of the
  ///     predicate.
  public init(_ name: String = "closure", block: @escaping @Sendable (ManagedObject, [String: Any]) throws -> Bool) {
    self = .block(
      FetchBlock(name) { object, variables in
        guard let object = object as? ManagedObject else {
          throw PredicateEvaluationError(.invalid, "the closure '\(name)' is asked of no object")
        }
        do { return try block(object, variables) } catch let error as ManagedObjectError {
          throw PredicateEvaluationError(error)
        }
      })
  }

  /// Whether an object fulfils the predicate, with the changes that its context holds.
  ///
  /// - Throws: `.invalidFetch` for keys that the object does not have, variables without a value, and what else cannot
  ///   be run.
  public func evaluate(with object: ManagedObject, variables: [String: Any?] = [:]) throws(ManagedObjectError) -> Bool {
    do throws(PredicateEvaluationError) {
      return try PredicateEvaluator(object, variables: PredicateValue.table(variables, entityName: object.plan.name))
        .evaluate(self)
    } catch {
      throw ManagedObjectError(error)
    }
  }

  /// Those of a list that fulfil the predicate, in its order.
  public func filter<Object: ManagedObject>(_ objects: some Sequence<Object>) throws(ManagedObjectError) -> [Object] {
    var found: [Object] = []
    for object in objects where try evaluate(with: object) { found.append(object) }
    return found
  }
}

extension FetchExpression {
  /// What the expression comes to for an object: as `value(forKey:)` gives it, objects as objects, several in an array.
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
