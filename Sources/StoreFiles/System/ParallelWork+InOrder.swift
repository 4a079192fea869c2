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
      let pieces = ParallelResults<Piece>(min(max(jobs, 1), count - first))
      forEach(pieces.count, jobs: jobs) { pieces[$0] = make(first + $0) }
      for piece in pieces.all { try use(piece) }
      start += pieces.count
    }
  }
}
