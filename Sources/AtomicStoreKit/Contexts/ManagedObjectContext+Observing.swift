/// An observer's registration: it ends when this is cancelled or no longer held.
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
  /// Calls `body` at each event, as long as the returned value is held. It may change objects, not save: for that see
  /// ``perform(_:)``.
  public func observe(_ body: @escaping (ContextEvent) -> Void) -> Observation {
    nextObserver += 1
    observers.append((nextObserver, body))
    return Observation(self, nextObserver)
  }

  /// The changes that observers are told of, as IDs, for whoever waits elsewhere. It ends with the context.
  public func objectIDChanges() -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves: false, continuation))
    return stream
  }

  /// What each save wrote, as IDs: what ``mergeChanges(fromDidSave:)`` of another context takes. It ends with the
  /// context.
  public func saves() -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves: true, continuation))
    return stream
  }

  func post(_ event: ContextEvent) {
    if !streams.isEmpty {
      for stream in streams {
        switch event {
        case .objectsDidChange(let changes) where !stream.isSaves: stream.continuation.yield(changes.ids)
        case .didSave(let changes) where stream.isSaves: stream.continuation.yield(changes.ids)
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
