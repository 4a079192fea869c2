import AtomicStoreSPI
import Synchronization

/// What a coordinator tells of its stores.
public enum StoreEvent: Sendable {
  /// The store is still open, and will be closed.
  case willRemove(PersistentStore)
  /// Stores were added, removed or moved.
  case didChange(StoreChange)
  /// The store just added is out of step with one that it was saved together with.
  case foundMixedSave(MixedSave)
}

/// Which stores came and went.
public struct StoreChange: Sendable {
  /// Stores that are open now.
  public var added: [PersistentStore]
  /// Stores that are closed now.
  public var removed: [PersistentStore]
  /// Stores that Save As moved: objects of the one are objects of the other, with the same IDs.
  public var moved: [(from: PersistentStore, to: PersistentStore)]

  init(
    added: [PersistentStore] = [], removed: [PersistentStore] = [],
    moved: [(from: PersistentStore, to: PersistentStore)] = []
  ) {
    self.added = added
    self.removed = removed
    self.moved = moved
  }
}

/// An observer of a coordinator: it ends when this is cancelled or no longer held.
public final class StoreObservation: Sendable {
  private let end: @Sendable () -> Void
  init(_ end: @escaping @Sendable () -> Void) { self.end = end }
  deinit { end() }
  /// Ends the observation. Calling it again has no effect.
  public func cancel() { end() }
}

extension PersistentStoreCoordinator {
  /// Calls `body` when a store is added, removed or moved, on the thread where that happens, as long as the returned
  /// value is held.
  public func observe(_ body: @escaping @Sendable (StoreEvent) -> Void) -> StoreObservation {
    let id = state.withLock { state in
      state.nextObserver += 1
      state.observers[state.nextObserver] = body
      return state.nextObserver
    }
    return StoreObservation { [weak self] in _ = self?.state.withLock { $0.observers.removeValue(forKey: id) } }
  }

  func post(_ event: StoreEvent) {
    let observers = state.withLock { state in state.observers.sorted { $0.key < $1.key }.map(\.value) }
    for observer in observers { observer(event) }
  }

  var generation: Int { state.withLock { $0.generation } }

  // MARK: Classes and transformers

  /// Registers the class of an entity's objects, for contexts made from now on. Entities without one have objects of
  /// `ManagedObject` itself; a sub-entity's class may inherit from its super-entity's. Nil takes the class away.
  public func setManagedObjectClass(_ type: ManagedObject.Type?, forEntityName name: String) {
    state.withLock { $0.classes[ScalarString(name)] = type }
  }

  var managedObjectClasses: [ScalarString: ManagedObject.Type] { state.withLock { $0.classes } }

  /// Registers a transformer for the transformable attributes whose `valueTransformerName` is this.
  public func setTransformer(_ transformer: (any AttributeTransformer)?, forName name: String) {
    state.withLock { $0.transformers[name] = transformer }
  }

  func transformer(named name: String) -> (any AttributeTransformer)? { state.withLock { $0.transformers[name] } }

  // MARK: Functions of predicates

  /// Registers a function for `FUNCTION(target, 'name:', …)` in predicates and expressions.
  ///
  /// Values come as `value(forKey:)` gives them, lists as arrays; null is nil. What it throws makes the fetch fail.
  ///
  /// - Parameters:
  ///   - function: The function. It replaces an earlier one of that name; nil removes that one.
  ///   - name: The name as predicates write it, colons included.
  public func setFunction(_ function: (@Sendable (_ target: Any?, _ arguments: [Any?]) throws -> Any?)?, forName name: String) {
    state.withLock { $0.functions[ScalarString(name)] = function }
  }

  func function(named name: String) -> (@Sendable (Any?, [Any?]) throws -> Any?)? {
    state.withLock { $0.functions[ScalarString(name)] }
  }
  var functionNames: [String] { state.withLock { $0.functions.keys.sorted().map(\.string) } }
}
