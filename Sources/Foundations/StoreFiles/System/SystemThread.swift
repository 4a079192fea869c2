import Glibc

/// Threads of the system: for work that Swift's own threads, of which there are as many as processors, must not wait
/// for.
package enum SystemThread {
  /// The stack of a thread in bytes: that of the main thread. Pages are allocated when they are used.
  private static let stackSize = 8 << 20

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs the body in a thread that no one waits for.
  ///
  /// - Returns: Whether there is such a thread: the system may have no more.
  package static func detach(_ body: @escaping @Sendable () -> Void) -> Bool { start(isDetached: true, body) != nil }

  /// Starts a thread, which must be joined if it is not detached; nil if the system does not provide one.
  static func start(isDetached: Bool = false, _ body: @escaping @Sendable () -> Void) -> pthread_t? {
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    guard pthread_attr_init(&attributes) == 0 else { return nil }
    defer { pthread_attr_destroy(&attributes) }
    if isDetached { pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) }
    pthread_attr_setstacksize(&attributes, stackSize)
    let work = Unmanaged.passRetained(Work(body))
    let result = pthread_create(
      &thread, &attributes,
      { raw in
        if let raw { Unmanaged<Work>.fromOpaque(raw).takeRetainedValue().body() }
        return nil
      }, work.toOpaque())
    guard result == 0 else {
      work.release()
      return nil
    }
    return thread
  }
}
