import AtomicStoreSPI

/// Rows of one entity that follow each other in the file.
struct RowRun: Sendable {
  /// The index of the entity.
  let entity: Int
  var rows: Range<Int>
}

/// The order of the rows in the file: by ascending identifier over all entities; strings follow numbers.
struct RowOrder {
  /// The entities with rows.
  private let active: [EntityPlan]
  /// The next row of each.
  private var rows: [Int]

  init(_ plans: [EntityPlan]) {
    active = plans.filter { $0.count > 0 }
    rows = Array(repeating: 0, count: active.count)
  }

  /// Returns the next runs, of that many rows together, or fewer at the end; none after it.
  mutating func next(rows limit: Int) -> [RowRun] {
    var runs: [RowRun] = []
    var room = limit
    while room > 0, let run = nextNumbers(room) ?? nextStrings(room) {
      runs.append(run)
      room -= run.rows.count
    }
    return runs
  }

  /// The next rows with integer references; nil if there are no more.
  mutating func nextNumbers(_ limit: Int) -> RowRun? {
    var best = -1
    var least = Int64.max
    var next = Int64.max
    for index in active.indices where rows[index] < active[index].numberCount {
      let number = active[index].numbers[rows[index]]
      if best < 0 || number < least {
        if best >= 0 { next = least }
        least = number
        best = index
      } else {
        next = min(next, number)
      }
    }
    guard best >= 0 else { return nil }
    // As long as the next number of the others is greater, they need not be compared.
    let plan = active[best]
    let first = rows[best]
    let end = first + min(plan.numberCount - first, limit)
    var row = first + 1
    while row < end && plan.numbers[row] < next { row += 1 }
    rows[best] = row
    return RowRun(entity: plan.entity, rows: first..<row)
  }

  /// The next rows with string references, once those with numbers have all been returned.
  private mutating func nextStrings(_ limit: Int) -> RowRun? {
    guard let best = leastString(besides: nil) else { return nil }
    let next = leastString(besides: best)
    let first = rows[best]
    // As above.
    repeat {
      rows[best] += 1
    } while rows[best] < active[best].count && rows[best] - first < limit && next.map { precedes(best, $0) } ?? true
    return RowRun(entity: active[best].entity, rows: first..<rows[best])
  }

  /// The entity whose next row has the least string reference.
  private func leastString(besides other: Int?) -> Int? {
    var best: Int?
    for index in active.indices where index != other && rows[index] < active[index].count {
      if let found = best, !precedes(index, found) { continue }
      best = index
    }
    return best
  }

  /// Whether the string reference of an entity's next row is less than that of another entity's.
  private func precedes(_ one: Int, _ other: Int) -> Bool {
    let reader = active[one].reader
    let otherReader = active[other].reader
    guard let text = reader.textReference(row: rows[one]), let otherText = otherReader.textReference(row: rows[other])
    else { return false }
    let count = min(text.count, otherText.count)
    for index in 0..<count where text[index] != otherText[index] { return text[index] < otherText[index] }
    return text.count < otherText.count
  }
}
