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
    try inOrder(count, jobs: jobs, window: jobs, makesHere: true, make: make, use: use)
  }

  /// As ``inOrder(_:jobs:make:use:)``, with more pieces in memory than there are threads, for pieces some of which take
  /// much longer than others.
  ///
  /// - Parameters:
  ///   - window: The maximum number of pieces in memory.
  ///   - makesHere: Whether the calling thread makes pieces, too. Otherwise it passes on each as soon as it is made.
  package static func inOrder<Piece: Sendable, Failure: Error>(
    _ count: Int, jobs: Int, window: Int, makesHere: Bool = false, make: @escaping @Sendable (Int) -> Piece,
    use: (Piece) throws(Failure) -> Void
  ) throws(Failure) {
    guard jobs > 1, count > 1 else {
      for number in 0..<max(count, 0) { try use(make(number)) }
      return
    }
    let line = PieceLine(count: count, window: min(window, count), make)
    let threads = threads(min(jobs, count) - (makesHere ? 1 : 0)) { line.makePieces() }
    // Without any thread, this one does the work.
    let makesHere = makesHere || threads.isEmpty
    defer {
      line.stop()
      for thread in threads { pthread_join(thread, nil) }
    }
    for number in 0..<count { try use(line.piece(number, makesHere)) }
  }
}

/// Pieces between the threads that make them and the one that uses them in their order.
///
/// `@unchecked Sendable`: what changes is read and written while the condition is locked.
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
  private let changed = ThreadCondition()

  /// - Parameter window: How many pieces may be in memory.
  init(count: Int, window: Int, _ make: @escaping @Sendable (Int) -> Piece) {
    self.count = count
    self.make = make
    made = Array(repeating: nil, count: window)
  }

  /// Makes pieces until all are made, or no other one is to be made.
  func makePieces() {
    while let number = changed.withLock({
      while !isStopped, next < count, !hasRoom { changed.wait() }
      return claim()
    }) { add(number) }
  }

  /// Returns the piece with the number, after all before it. As long as it is not there, it makes others or waits.
  func piece(_ number: Int, _ makesHere: Bool) -> Piece {
    while true {
      let (piece, claimed) = changed.withLock { () -> (Piece?, Int?) in
        if first != number {
          // The one before was used: threads that wait until another piece may be made continue.
          first = number
          changed.broadcast()
        }
        while true {
          if let piece = made[number % made.count] {
            made[number % made.count] = nil
            return (piece, nil)
          }
          if makesHere, let claimed = claim() { return (nil, claimed) }
          changed.wait()
        }
      }
      if let piece { return piece }
      if let claimed { add(claimed) }
    }
  }

  func stop() {
    changed.withLock {
      isStopped = true
      changed.broadcast()
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
    changed.withLock {
      made[number % made.count] = piece
      changed.broadcast()
    }
  }
}
