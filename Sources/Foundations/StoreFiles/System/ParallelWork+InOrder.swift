import Glibc

extension ParallelWork {
  /// Makes pieces of an output at the same time, and passes them on in their order, on the calling thread.
  ///
  /// As many pieces as there are threads are in memory at a time.
  ///
  /// - Parameters:
  ///   - count: The number of pieces.
  ///   - jobs: The maximum number of threads, the calling thread included.
  ///   - make: Makes the piece with that number, starting at 0. May be called by several threads at the same time,
  ///     also while another piece is used.
  ///   - use: Receives each piece in order. After an error, no other piece is passed on.
  public static func inOrder<Piece: Sendable, Failure: Error>(
    _ count: Int, jobs: Int = jobs, make: @escaping @Sendable (Int) -> Piece,
    use: (Piece) throws(Failure) -> Void
  ) throws(Failure) {
    guard jobs > 1, count > 1 else {
      for number in 0..<max(count, 0) { try use(make(number)) }
      return
    }
    let line = PieceLine(count: count, window: min(jobs, count), make)
    let threads = threads(min(jobs, count) - 1) { line.makePieces() }
    defer {
      line.stop()
      for thread in threads { pthread_join(thread, nil) }
    }
    for number in 0..<count { try use(line.piece(number)) }
  }
}

/// Pieces between the threads that make them and the one that uses them in their order.
///
/// `@unchecked Sendable`: what changes is read and written while the mutex is locked.
private final class PieceLine<Piece: Sendable>: @unchecked Sendable {
  private let count: Int
  private let make: @Sendable (Int) -> Piece
  /// Pieces that were made and not used yet, each at its number modulo the size.
  private var made: [Piece?]
  /// The number of the next piece to make.
  private var next = 0
  /// The number of the piece that is used now, or next.
  private var first = 0
  private var isStopped = false
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  /// - Parameter window: How many pieces may be in memory.
  init(count: Int, window: Int, _ make: @escaping @Sendable (Int) -> Piece) {
    self.count = count
    self.make = make
    made = Array(repeating: nil, count: window)
    mutex.initialize(to: pthread_mutex_t())
    changed.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Makes pieces until all are made, or no other one is to be made.
  func makePieces() {
    while let number = locked({
      while !isStopped, next < count, !hasRoom { pthread_cond_wait(changed, mutex) }
      return claim()
    }) { add(number) }
  }

  /// Returns the piece with the number, after all before it, and makes others as long as it is not there.
  func piece(_ number: Int) -> Piece {
    while true {
      let (piece, claimed) = locked { () -> (Piece?, Int?) in
        if first != number {
          // The one before was used: threads that wait until another piece may be made continue.
          first = number
          pthread_cond_broadcast(changed)
        }
        while true {
          if let piece = made[number % made.count] {
            made[number % made.count] = nil
            return (piece, nil)
          }
          if let claimed = claim() { return (nil, claimed) }
          pthread_cond_wait(changed, mutex)
        }
      }
      if let piece { return piece }
      if let claimed { add(claimed) }
    }
  }

  func stop() {
    locked {
      isStopped = true
      pthread_cond_broadcast(changed)
    }
  }

  private var hasRoom: Bool { next < first + made.count }

  /// The number of a piece to make, if there is one.
  private func claim() -> Int? {
    guard !isStopped, next < count, hasRoom else { return nil }
    next += 1
    return next - 1
  }

  private func add(_ number: Int) {
    let piece = make(number)
    locked {
      made[number % made.count] = piece
      pthread_cond_broadcast(changed)
    }
  }
}
