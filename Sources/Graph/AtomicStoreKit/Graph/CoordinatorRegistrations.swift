import AtomicStoreSPI
public import StoreCoordination
import StorePredicates
import Synchronization

/// What programs register with a coordinator for the object graph: classes, transformers, and predicate functions.
///
/// A coordinator stores it as an attachment and does not interpret it.
final class CoordinatorRegistrations: Sendable {
  private let table = Mutex<[ScalarString: ManagedObject.Type]>([:])
  let transformers = AttributeTransformers()
  let functions = CustomFunctions()
  /// The contexts that merge the saves of others.
  let deliveries = SaveDeliveries()

  /// The registered classes, by entity name.
  var classes: [ScalarString: ManagedObject.Type] { table.withLock { $0 } }

  func setClass(_ type: ManagedObject.Type?, of entityName: String) {
    table.withLock { $0[ScalarString(entityName)] = type }
  }
}

extension PersistentStoreCoordinator {
  var registrations: CoordinatorRegistrations { attachment { CoordinatorRegistrations() } }

  /// Registers the class to use for objects of an entity, for contexts created from now on. Objects of an entity
  /// without a registered class are of the class of its nearest super-entity that has one, or else of class
  /// `ManagedObject`. The class of a sub-entity may inherit from the class of its super-entity. Nil removes the
  /// registration.
  public func setManagedObjectClass(_ type: ManagedObject.Type?, forEntityName name: String) {
    registrations.setClass(type, of: name)
  }

  /// Registers a transformer for the transformable attributes that have this `valueTransformerName`.
  public func setTransformer(_ transformer: (any AttributeTransformer)?, forName name: String) {
    registrations.transformers.set(transformer, named: name)
  }

  /// Registers a function for `FUNCTION(target, 'name:', …)` in predicates and expressions.
  ///
  /// It is called with values as `value(forKey:)` returns them, and lists as arrays; null is nil. If it throws, the
  /// fetch fails.
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
