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
  public func cancel() { context?.observers.removeAll { $0.id == id } }
}

extension ManagedObjectContext {
  /// Calls `body` at each event, as long as the returned value is retained. `body` may change objects but not save: to
  /// save, use ``perform(_:)``.
  public func observe(_ body: @escaping (ContextEvent) -> Void) -> Observation {
    nextObserver += 1
    observers.append((nextObserver, body))
    return Observation(self, nextObserver)
  }

  /// The changes that observers are notified of, as IDs, for use outside the context. The stream ends with the context.
  public func objectIDChanges() -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves: false, continuation))
    return stream
  }

  /// The changes that each save wrote, as IDs: the argument of ``mergeChanges(fromDidSave:)`` of another context. The
  /// stream ends with the context.
  public func saves() -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves: true, continuation))
    return stream
  }

  /// Has the next notification report an object as refreshed. Without observers the object is not kept alive for that.
  func noteRefreshed(_ object: ManagedObject) {
    if !observers.isEmpty || !streams.isEmpty { notice.refreshed.append(object) }
  }

  /// A save without changes is reported as one, although nothing is prepared or written.
  func postEmptySave() {
    post(.willSave(ObjectChanges()))
    post(.didSave(ObjectChanges()))
    runDeferredBlocks()
  }

  func post(_ event: ContextEvent) {
    if case .didSave(let changes) = event { deliver(changes) }
    if !streams.isEmpty {
      for stream in streams {
        switch event {
        case .objectsDidChange(let changes) where !stream.isSaves: stream.continuation.yield(changes.ids)
        case .didSave(let changes) where stream.isSaves: stream.continuation.yield(savedIDs(of: changes))
        default: break
        }
      }
    }
    guard !observers.isEmpty else { return }
    calloutDepth += 1
    for observer in observers { observer.body(event) }
    calloutDepth -= 1
  }
}
