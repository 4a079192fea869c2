import AtomicStoreSPI
public import StoreCoordination
import StorePredicates
import Synchronization

/// What programs register with a coordinator for the object graph: classes, transformers, and functions of predicates.
///
/// A coordinator keeps it as an attachment and does not know what is in it.
final class CoordinatorRegistrations: Sendable {
  private let table = Mutex<[ScalarString: ManagedObject.Type]>([:])
  let transformers = AttributeTransformers()
  let functions = CustomFunctions()

  /// The classes of entities' objects, by entity name.
  var classes: [ScalarString: ManagedObject.Type] { table.withLock { $0 } }

  func setClass(_ type: ManagedObject.Type?, of entityName: String) {
    table.withLock { $0[ScalarString(entityName)] = type }
  }
}

extension PersistentStoreCoordinator {
  var registrations: CoordinatorRegistrations { attachment { CoordinatorRegistrations() } }

  /// Registers the class of an entity's objects, for contexts made from now on. Entities without one have objects of
  /// `ManagedObject` itself; a sub-entity's class may inherit from its super-entity's. Nil takes the class away.
  public func setManagedObjectClass(_ type: ManagedObject.Type?, forEntityName name: String) {
    registrations.setClass(type, of: name)
  }

  /// Registers a transformer for the transformable attributes whose `valueTransformerName` is this.
  public func setTransformer(_ transformer: (any AttributeTransformer)?, forName name: String) {
    registrations.transformers.set(transformer, named: name)
  }

  /// Registers a function for `FUNCTION(target, 'name:', …)` in predicates and expressions.
  ///
  /// Values come as `value(forKey:)` gives them, lists as arrays; null is nil. What it throws makes the fetch fail.
  ///
  /// - Parameters:
  ///   - function: The function. It replaces an earlier one of that name; nil removes that one.
  ///   - name: The name as predicates write it, colons included.
  public func setFunction(
    _ function: (@Sendable (_ target: Any?, _ arguments: [Any?]) throws -> Any?)?, forName name: String
  ) {
    registrations.functions.set(function, named: name)
  }
}
