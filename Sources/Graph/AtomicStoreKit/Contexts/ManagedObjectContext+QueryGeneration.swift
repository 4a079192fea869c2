import AtomicStoreSPI
import FoundationEssentials
public import StoreCoordination

extension PersistentStoreCoordinator {
  /// The present state of the open stores.
  public var currentQueryGeneration: QueryGenerationToken {
    var versions: [UUID: NodeVersion] = [:]
    for store in persistentStores { versions[store.identifier] = store.version }
    return QueryGenerationToken(versions: versions)
  }
}

extension ManagedObjectContext {
  /// The state of the stores that the context is pinned to; nil if it reads the present one.
  public var queryGenerationToken: QueryGenerationToken? { options.generation }

  /// Pins the context to a state of its stores: faults and fetches read that state, whatever other contexts save.
  /// Objects that were read before keep their values until they are refreshed. Stores that were added later are read as
  /// they are.
  ///
  /// A save detects conflicts with the present state of the stores. A save that succeeds, ``reset()`` and
  /// ``mergeChanges(fromDidSave:)`` move the context on to the present state, to which it is pinned then.
  ///
  /// - Parameter token: ``QueryGenerationToken/current``, or the token of another context of the same coordinator; nil
  ///   ends the pinning.
  /// - Throws: `.persistentStoreOperation` for a child context, which reads its parent.
  public func setQueryGenerationFrom(_ token: QueryGenerationToken?) throws(ManagedObjectError) {
    guard parent == nil else {
      throw ManagedObjectError(
        .persistentStoreOperation, "a child context reads its parent: pin the context at the top")
    }
    pin(to: token == .current ? persistentStoreCoordinator.currentQueryGeneration : token)
  }

  private func pin(to token: QueryGenerationToken?) {
    options.generation = token
    for cache in caches where !cache.isIncremental { cache.pinned = token?.version(of: cache.identifier) }
  }

  /// Moves a pinned context on to the present state of its stores.
  func advanceQueryGeneration() {
    if options.generation != nil { pin(to: persistentStoreCoordinator.currentQueryGeneration) }
  }

  /// Runs a save, which needs the present state of the stores.
  func withoutQueryGeneration(_ save: () throws(ManagedObjectError) -> Void) throws(ManagedObjectError) {
    guard let pinned = options.generation else { return try save() }
    pin(to: nil)
    do throws(ManagedObjectError) { try save() } catch {
      pin(to: pinned)
      throw error
    }
    pin(to: persistentStoreCoordinator.currentQueryGeneration)
  }
}
