/// The observers of a context's events.
struct ObserverList<Event> {
  private(set) var bodies: [(id: Int, body: (Event) -> Void)] = []
  private var last = 0
  private(set) var streams: [(isSaves: Bool, continuation: AsyncStream<ObjectIDChanges>.Continuation)] = []

  var isEmpty: Bool { bodies.isEmpty && streams.isEmpty }

  /// Returns a number by which the observer is removed.
  mutating func add(_ body: @escaping (Event) -> Void) -> Int {
    last += 1
    bodies.append((last, body))
    return last
  }

  mutating func remove(_ id: Int) { bodies.removeAll { $0.id == id } }

  mutating func stream(ofSaves isSaves: Bool) -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves, continuation))
    return stream
  }

  func finish() { for stream in streams { stream.continuation.finish() } }
}
