import Synchronization

/// Filling several columns at the same time.
extension NodeTableBuilder {
  /// Fills whole columns at the same time, each in a builder that has the rows of this one, and takes them over.
  ///
  /// The result is the same as if one column after the other was filled here. Columns do not report errors: if anything
  /// is unexpected, `body` returns false. Then nothing is taken over, and the format fills the columns on one thread,
  /// which reports the error. The same applies if the columns have string references, or references that do not fit in
  /// a cell, or if they together come close to the limit of memory.
  ///
  /// - Parameters:
  ///   - columns: The columns to fill, each once, of entities whose rows were appended.
  ///   - bytes: The size of the input that they are filled from: for small inputs nothing is done.
  ///   - body: Fills the column with that number, starting at 0, and returns whether it did. Called on several threads;
  ///     it must not use this builder.
  /// - Returns: Whether the columns were filled.
  public func fillColumns(
    _ columns: [(entity: Int, slot: Int)], fromInput bytes: Int,
    _ body: @escaping @Sendable (_ column: Int, _ nodes: NodeTableBuilder) -> Bool
  ) -> Bool {
    guard columns.count > 1, partCount(forInput: bytes) > 1 else { return false }
    let pool = ColumnBuilders(self, columns)
    let isFilled = ParallelWork.allSatisfy(columns.count, jobs: jobs) { pool.fill($0, body) }
    return isFilled && takeOver(columns, from: pool)
  }

  /// A builder for columns of the same rows as this one has.
  fileprivate func columnBuilder() -> NodeTableBuilder {
    var columnLimits = limits
    if room < .max { columnLimits.memory = room }
    let builder = NodeTableBuilder(
      model: model, file: file, limits: columnLimits, inputBytes: room < .max ? 0 : nil)
    for index in tables.indices { builder.building[index].count = building[index].count }
    builder.known = known
    return builder
  }

  private func takeOver(_ columns: [(entity: Int, slot: Int)], from pool: ColumnBuilders) -> Bool {
    let builders = pool.all
    let isPlain = builders.allSatisfy { builder in
      !builder.isCloseToLimit && builder.listed.isEmpty && tables.indices.allSatisfy { builder.texts[$0].count == 0 }
    }
    guard isPlain else { return false }
    let used = builders.reduce(0) { $0 + ($1.roomAtFirst - $1.room) }
    guard room == .max || used <= room / 2 else { return false }
    for (number, place) in columns.enumerated() {
      guard let builder = pool.builder(of: number) else { return false }
      let column = builder.tables[place.entity].columns[place.slot]
      use(column, place.entity, place.slot)
      if builder.isResolved(place.entity, place.slot) {
        known?.resolved.insert(AbsentColumn(entity: place.entity, slot: place.slot))
      }
    }
    if room < .max { room -= used }
    return true
  }
}

/// The builders that fill columns: as many as there are threads.
///
/// `@unchecked Sendable`: a builder is used by the thread that took it from the list, which is guarded by the lock, and
/// and is read after all have returned.
private final class ColumnBuilders: @unchecked Sendable {
  private let lock = Mutex(())
  private var free: [NodeTableBuilder]
  /// Which of them filled each column.
  private let owners: ParallelResults<NodeTableBuilder>
  let all: [NodeTableBuilder]

  init(_ nodes: NodeTableBuilder, _ columns: [(entity: Int, slot: Int)]) {
    all = (0..<min(nodes.jobs, columns.count)).map { _ in nodes.columnBuilder() }
    free = all
    owners = ParallelResults(columns.count)
  }

  func fill(_ number: Int, _ body: (Int, NodeTableBuilder) -> Bool) -> Bool {
    // There is one for each thread.
    guard let builder = lock.withLock({ _ in free.popLast() }) else { return false }
    defer { lock.withLock { _ in free.append(builder) } }
    owners[number] = builder
    return body(number, builder)
  }

  func builder(of number: Int) -> NodeTableBuilder? { owners[number] }
}
