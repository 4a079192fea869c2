/// How much columns grow: where it is known how much of the input was read, they get the size that they will probably
/// have at its end. Otherwise each value of a large column would be copied two or three times, to new memory.
extension NodeTableBuilder {
  struct Progress {
    /// How much of the input was read, and its size; 0 if that is not known.
    var read = 0
    var input = 0
    /// By entity: how much was read when its first node began.
    var readBefore: [Int]
    /// By entity: how many nodes there will probably be; 0 if that is not known.
    var expected: [Int]
    /// By entity: how many string references its hierarchy had when its first node began.
    var mentionsBefore: [Int]

    init(entities: Int) {
      readBefore = Array(repeating: 0, count: entities)
      expected = readBefore
      mentionsBefore = readBefore
    }
  }

  /// Says how much of the input was read so far, in any unit. It affects only how often memory is moved.
  ///
  /// Call it from time to time, such as for each piece of a file whose nodes are of several entities.
  public func noteProgress(_ read: Int, of input: Int) {
    progress.read = max(read, 0)
    progress.input = max(input, 0)
  }

  /// Says how many nodes of an entity there will probably be. It affects only how often memory is moved.
  public func expectNodes(_ count: Int, entity: Int) {
    precondition(entity >= 0 && entity < tables.count, "the entity does not exist")
    progress.expected[entity] = min(max(count, 0), Int(Int32.max))
  }

  /// For fewer rows an estimate is uncertain, and copying them is cheap.
  static var leastRows: Int { 2048 }
  /// How often the part of the input in which an entity had nodes so far may be in the whole, for an estimate: nodes
  /// that are inserted together are often together in a file, and there may be no more. So there is room for as many
  /// times the rows at most.
  private static var greatestStep: Int { 4 }

  /// The number of rows to make room for when there is a row more than fits.
  @inline(never) func probableRows(_ entity: Int, _ row: Int) -> Int {
    let usual = row < 64 ? row * 3 + 8 : row + row / 2
    if row == 0 {
      progress.readBefore[entity] = progress.read
      progress.mentionsBefore[entity] = texts[model.records[entity].root].count
    }
    guard row >= Self.leastRows else { return usual }
    var probable = 0
    if progress.expected[entity] > row {
      probable = progress.expected[entity]
    } else {
      // As if there were nodes of this entity in the whole rest of the input, as often as so far.
      let before = progress.readBefore[entity]
      guard progress.read > before, progress.input > progress.read,
        progress.read - before >= progress.input / Self.greatestStep
      else { return usual }
      probable = Self.product(row, progress.input - before, progress.read - before)
    }
    // A little more, so that a small error does not cost another step.
    probable = max(probable + probable / 64, row + row / 8)
    guard probable > usual else { return probable }
    return hasRoom(forRows: probable, entity) ? probable : usual
  }

  private static func product(_ count: Int, _ numerator: Int, _ denominator: Int) -> Int {
    let estimate = Double(count) * Double(numerator) / Double(denominator)
    return estimate < Double(Int32.max) ? Int(estimate) : Int(Int32.max)
  }

  /// Whether an estimate does not come close to a limit, so that a load does not fail because of it.
  private func hasRoom(forRows rows: Int, _ entity: Int) -> Bool {
    let more = rows - building[entity].capacity
    guard roomForRows + more <= limits.objects, rows < Int(Int32.max) / 2 else { return false }
    let width = (0...building[entity].slotCount).reduce(0) {
      let header = building[entity].headers[$1].pointee
      return header.sparse == nil ? $0 + header.width + 1 : $0
    }
    return hasRoom(forEstimated: more * width)
  }

  private func hasRoom(forEstimated bytes: Int) -> Bool {
    room == .max || room > roomAtFirst / 2 && bytes < room / 8
  }

  /// The number of units that a column's heap will probably have when all rows that there is room for have a value, if
  /// that is more than it would grow by otherwise; 0 if it is not.
  func probableUnits(_ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>) -> Int {
    let (row, rows) = (state.pointee.row + 1, header.pointee.capacity)
    guard row >= Self.leastRows, rows > row, !header.pointee.borrowsHeap else { return 0 }
    let (count, capacity) = (header.pointee.heapCount + units, header.pointee.heapCapacity)
    let probable = min(Self.product(count, rows, row), capacity * Self.greatestStep * 4)
    let more = probable + probable / 64 - capacity
    guard more > capacity / 2, hasRoom(forEstimated: more * header.pointee.layout.heapUnit) else { return 0 }
    return capacity + more
  }

  /// The number of string references that there will probably be when all rows of the current node's entity that there
  /// is room for have as many as those so far; 0 if that is not known.
  ///
  /// - Parameter count: The number so far, in the hierarchy.
  @inline(never) func probableMentions(_ count: Int) -> Int {
    let (entity, row) = (state.pointee.entity, state.pointee.row + 1)
    guard entity >= 0, row >= Self.leastRows, building[entity].capacity > row else { return 0 }
    let (rows, before) = (building[entity].capacity, progress.mentionsBefore[entity])
    guard count > before else { return 0 }
    let more = Self.product(count - before, rows, row) - (count - before)
    guard hasRoom(forEstimated: more * MemoryLayout<MentionKey>.stride) else { return 0 }
    return count + more + more / 64
  }
}
