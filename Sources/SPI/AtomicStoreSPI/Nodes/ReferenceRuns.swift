/// References of a hierarchy that are consecutive numbers in consecutive rows, as they are in stores that were written
/// in one go: a node is found by subtraction, without a table.
struct ReferenceRuns: Sendable {
  struct Run: Sendable {
    /// The reference of the first row.
    let first: Int64
    let count: Int
    /// The node of the first row; the others follow.
    let node: NodeHandle
  }

  /// The longest one, which is mostly the only one: it is asked first, without a look at an array.
  private let longest: Run
  /// All of them; none overlaps another.
  let all: [Run]
  /// The number of references.
  let count: Int

  /// More runs than this are slower to search than a table.
  static let greatestCount = 8

  init() {
    longest = Run(first: 0, count: 0, node: NodeHandle(entity: 0, row: 0))
    all = []
    count = 0
  }

  /// Nil if there are too many runs, or two have the same reference.
  init?(_ runs: [Run]) {
    guard runs.count <= Self.greatestCount, let longest = runs.max(by: { $0.count < $1.count }) else { return nil }
    let sorted = runs.sorted { $0.first < $1.first }
    for (one, next) in zip(sorted, sorted.dropFirst()) {
      let (distance, overflow) = next.first.subtractingReportingOverflow(one.first)
      guard overflow || distance >= Int64(one.count) else { return nil }
    }
    self.longest = longest
    all = sorted
    count = sorted.reduce(0) { $0 + $1.count }
  }

  @inline(__always) var isEmpty: Bool { count == 0 }

  @inline(__always) subscript(number: Int64) -> NodeHandle? {
    longest[number] ?? (all.count > 1 ? other(number) : nil)
  }

  @inline(never) private func other(_ number: Int64) -> NodeHandle? {
    for run in all { if let node = run[number] { return node } }
    return nil
  }
}

/// A run as a relationship's cells refer to it before they are resolved. Whether a cell is in the run, and which node
/// it leads to, takes two subtractions, without a branch for the kind of reference.
struct ReferenceCellRun {
  /// The cell of a reference to the first row.
  private let first: UInt64
  private let count: UInt64
  private let node: UInt64

  /// The longest run of those with objects of an entity; an empty one if there is none whose references fit in cells.
  init(of entity: Int, in runs: ReferenceRuns, model: ManagedObjectModel) {
    let fitting = runs.all.filter { model.isKind($0.node.entity, of: entity) }
    guard let run = fitting.max(by: { $0.count < $1.count }), run.count > 0, let first = RawReference.encode(run.first),
      // Cells of negative numbers follow those of the others.
      let last = RawReference.encode(run.first + Int64(run.count - 1)), last &- first == UInt64(run.count - 1)
    else {
      (first, count, node) = (0, 0, 0)
      return
    }
    (self.first, count, node) = (first, UInt64(run.count), run.node.bits)
  }

  @inline(__always) subscript(cell: UInt64) -> UInt64? {
    let offset = cell &- first
    return offset < count ? node &+ offset : nil
  }
}

extension ReferenceRuns.Run {
  @inline(__always) subscript(number: Int64) -> NodeHandle? {
    let (place, overflow) = number.subtractingReportingOverflow(first)
    guard !overflow, place >= 0, place < Int64(count) else { return nil }
    return NodeHandle(entity: node.entity, row: node.row + Int(place))
  }

  /// The runs of a column; nil if there are more than can be searched.
  static func all(in numbers: ColumnHeader, count: Int, entity: Int) -> [Self]? {
    var runs: [Self] = []
    var row = 0
    while row < count {
      let first = numbers.cell(row, as: Int64.self)
      // A run that ends with the greatest number is not followed by the least.
      let isLast = first > Int64.max - Int64(count - row)
      let end = isLast ? row + 1 : Self.end(of: numbers.cells, from: row, count: count)
      runs.append(Self(first: first, count: end - row, node: NodeHandle(entity: entity, row: row)))
      row = end
      guard runs.count <= ReferenceRuns.greatestCount else { return nil }
    }
    return runs
  }

  /// The row after the last one that continues the run beginning at a row.
  private static func end(of cells: UnsafeRawPointer, from start: Int, count: Int) -> Int {
    @inline(__always) func number(_ row: Int) -> Int64 { cells.load(fromByteOffset: row * 8, as: Int64.self) }
    let origin = number(start) &- Int64(start)
    var row = start
    // Blocks of rows without a branch for each.
    while row + 64 <= count {
      var other: Int64 = 0
      for place in row..<row + 64 { other |= number(place) ^ (origin &+ Int64(place)) }
      guard other == 0 else { break }
      row += 64
    }
    while row < count, number(row) == origin &+ Int64(row) { row += 1 }
    return row
  }
}
