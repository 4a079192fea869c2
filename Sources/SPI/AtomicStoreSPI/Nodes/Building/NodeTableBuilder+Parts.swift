/// Loading the parts of a large file at the same time.
extension NodeTableBuilder {
  /// How many parts of an input of that many bytes are worth loading at the same time with
  /// ``loadParts(_:numberingRowsOf:_:)``. It is 1 for small inputs, if only one thread may be used, and if damaged
  /// objects are left out, which requires the context of the whole file.
  public func partCount(forInput bytes: Int) -> Int {
    guard !skipsDamagedObjects else { return 1 }
    return max(1, min(jobs, bytes / max(leastPart, 1)))
  }

  /// Loads the parts of a file at the same time, each into its own builder, and appends their nodes in the order
  /// of the parts. The result is the same as if one part after the other was loaded into this builder.
  ///
  /// Parts do not report errors: if anything is unexpected, `body` returns nil for its part. Then nothing is appended,
  /// and the format loads the file on one thread, which reports the error. So an error does not depend on the number of
  /// threads. The same applies if the parts together come close to one of the limits of the load.
  ///
  /// - Parameters:
  ///   - count: The number of parts.
  ///   - entity: An entity whose references are the numbers of its rows, as `body` sets them for its own part, starting
  ///     at 1; they are increased by the number of rows of earlier parts. Nil for none.
  ///   - body: Loads the part with that number, starting at 0, and returns the number of lines that it contains, or
  ///     nil. Lines are counted from 1 in each part. Called on several threads; it must not use this builder.
  /// - Returns: Whether the nodes of all parts were appended.
  public func loadParts(
    _ count: Int, numberingRowsOf entity: Int? = nil,
    _ body: @escaping @Sendable (_ part: Int, _ nodes: NodeTableBuilder) -> Int?
  ) -> Bool {
    guard !skipsDamagedObjects, count > 0 else { return false }
    let parts = ParallelResults<Part>(count)
    let model = model
    let file = file
    var partLimits = limits
    // The parts together must not take more memory than the load may.
    if room < .max { partLimits.memory = room / count }
    let limits = partLimits
    let inputBytes: Int? = room < .max ? 0 : nil
    let isLoaded = ParallelWork.allSatisfy(count, jobs: jobs) { number in
      let part = NodeTableBuilder(model: model, file: file, limits: limits, inputBytes: inputBytes)
      guard let lines = body(number, part) else { return false }
      parts[number] = Part(nodes: part, lines: lines)
      return true
    }
    guard isLoaded else { return false }
    return append(parts.all, numberingRowsOf: entity)
  }
}
