extension ParallelWork {
  /// Makes pieces of an output at the same time, and passes them on in their order, on the calling thread.
  ///
  /// As many pieces as there are threads are in memory at a time.
  ///
  /// - Parameters:
  ///   - count: The number of pieces.
  ///   - jobs: The maximum number of threads, the calling thread included.
  ///   - make: Makes the piece with that number, starting at 0. May be called by several threads at the same time.
  ///   - use: Receives each piece in order. After an error, no other piece is passed on.
  public static func inOrder<Piece: Sendable, Failure: Error>(
    _ count: Int, jobs: Int = jobs, make: @escaping @Sendable (Int) -> Piece,
    use: (Piece) throws(Failure) -> Void
  ) throws(Failure) {
    var start = 0
    while start < count {
      let first = start
      let pieces = Pieces<Piece>(min(max(jobs, 1), count - first))
      forEach(pieces.count, jobs: jobs) { pieces.set($0, make(first + $0)) }
      for piece in pieces.all { try use(piece) }
      start += pieces.count
    }
  }

  /// `@unchecked Sendable`: each element is written by the one call that makes it, and read after all have returned.
  private final class Pieces<Piece: Sendable>: @unchecked Sendable {
    let count: Int
    private let pieces: UnsafeMutablePointer<Piece?>

    init(_ count: Int) {
      self.count = count
      pieces = .allocate(capacity: count)
      pieces.initialize(repeating: nil, count: count)
    }

    deinit {
      pieces.deinitialize(count: count)
      pieces.deallocate()
    }

    func set(_ number: Int, _ piece: Piece) { pieces[number] = piece }

    var all: [Piece] { (0..<count).compactMap { pieces[$0] } }
  }
}
