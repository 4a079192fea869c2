import AtomicStoreSPI
public import StoreCoordination
import StorePredicates
import Synchronization

/// What programs register with a coordinator for the object graph: classes, transformers, and functions of predicates.
///
/// A coordinator keeps it as an attachment and does not know what is in it.
final class CoordinatorRegistrations: Sendable {
  private struct State {
    var classes: [ScalarString: ManagedObject.Type] = [:]
    var transformers: [String: any AttributeTransformer] = [:]
  }
  private let state = Mutex(State())
  let functions = CustomFunctions()

  static func of(_ coordinator: PersistentStoreCoordinator) -> CoordinatorRegistrations {
    coordinator.attachment { CoordinatorRegistrations() }
  }

  var classes: [ScalarString: ManagedObject.Type] { state.withLock { $0.classes } }

  func setClass(_ type: ManagedObject.Type?, of entityName: String) {
    state.withLock { $0.classes[ScalarString(entityName)] = type }
  }

  func transformer(named name: String) -> (any AttributeTransformer)? { state.withLock { $0.transformers[name] } }

  func setTransformer(_ transformer: (any AttributeTransformer)?, named name: String) {
    state.withLock { $0.transformers[name] = transformer }
  }
}

extension PersistentStoreCoordinator {
  /// Registers the class of an entity's objects, for contexts made from now on. Entities without one have objects of
  /// `ManagedObject` itself; a sub-entity's class may inherit from its super-entity's. Nil takes the class away.
  public func setManagedObjectClass(_ type: ManagedObject.Type?, forEntityName name: String) {
    CoordinatorRegistrations.of(self).setClass(type, of: name)
  }

  /// Registers a transformer for the transformable attributes whose `valueTransformerName` is this.
  public func setTransformer(_ transformer: (any AttributeTransformer)?, forName name: String) {
    CoordinatorRegistrations.of(self).setTransformer(transformer, named: name)
  }

  /// Registers a function for `FUNCTION(target, 'name:', …)` in predicates and expressions.
  ///
  /// Values come as `value(forKey:)` gives them, lists as arrays; null is nil. What it throws makes the fetch fail.
  ///
  /// - Parameter name: As predicates write it, colons and all. One of an earlier function replaces it; nil takes it away.
  public func setFunction(_ function: (@Sendable (_ target: Any?, _ arguments: [Any?]) throws -> Any?)?, forName name: String) {
    CoordinatorRegistrations.of(self).functions.set(function, named: name)
  }
}
