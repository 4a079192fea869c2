package import Synchronization

/// What receives the events of all contexts before their observers do: `CoreDataNames` posts them as notifications. An
/// object, since a function that a mutex holds is wrapped once more at each look at it.
package final class ContextEventReceiver: Sendable {
  package static let shared = Mutex<ContextEventReceiver?>(nil)
  let body: @Sendable (ManagedObjectContext, ContextEvent) -> Void

  package init(_ body: @escaping @Sendable (ManagedObjectContext, ContextEvent) -> Void) { self.body = body }
}

/// The registration of an observer. It ends when it is cancelled or released.
public final class Observation {
  private weak var context: ManagedObjectContext?
  private let id: Int

  init(_ context: ManagedObjectContext, _ id: Int) {
    self.context = context
    self.id = id
  }
  deinit { cancel() }

  /// Ends the observation. Calling it again has no effect.
  public func cancel() { context?.observers.remove(id) }
}

extension ManagedObjectContext {
  /// Calls `body` at each event, as long as the returned value is retained. `body` may change objects but not save: to
  /// save, use ``perform(_:)``.
  public func observe(_ body: @escaping (ContextEvent) -> Void) -> Observation {
    Observation(self, observers.add(body))
  }

  /// The changes that observers are notified of, as IDs, for use outside the context. The stream ends with the context.
  public func objectIDChanges() -> AsyncStream<ObjectIDChanges> { observers.stream(ofSaves: false) }

  /// The changes that each save wrote, as IDs: the argument of ``mergeChanges(fromDidSave:)`` of another context. The
  /// stream ends with the context.
  public func saves() -> AsyncStream<ObjectIDChanges> { observers.stream(ofSaves: true) }

  /// Has the next notification report an object as refreshed. Without observers the object is not kept alive for that.
  func noteRefreshed(_ object: ManagedObject) {
    if !observers.isEmpty || ContextEventReceiver.shared.withLock({ $0 != nil }) { notice.refreshed.append(object) }
  }

  /// A save without changes is reported as one, although nothing is prepared or written.
  func postEmptySave() {
    post(.willSave(ObjectChanges()))
    post(.didSave(ObjectChanges()))
    runDeferredBlocks()
  }

  func post(_ event: ContextEvent) {
    if case .didSave(let changes) = event { deliver(changes) }
    for stream in observers.streams {
      switch event {
      case .objectsDidChange(let changes) where !stream.isSaves: stream.continuation.yield(changes.ids)
      case .didSave(let changes) where stream.isSaves: stream.continuation.yield(savedIDs(of: changes))
      default: break
      }
    }
    let receiver = options.isBatch ? nil : ContextEventReceiver.shared.withLock { $0 }
    guard receiver != nil || !observers.bodies.isEmpty else { return }
    calloutDepth += 1
    receiver?.body(self, event)
    for observer in observers.bodies { observer.body(event) }
    calloutDepth -= 1
  }
}
