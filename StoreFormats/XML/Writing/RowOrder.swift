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
  /// Those that have rows left, as a heap: each precedes the two at twice its position and after that. So thousands of
  /// entities are not compared for each run.
  private var heap: [Int]

  init(_ plans: [EntityPlan]) {
    active = plans.filter { $0.count > 0 }
    rows = Array(repeating: 0, count: active.count)
    heap = Array(active.indices)
    for place in heap.indices.reversed() { sink(place) }
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
    guard let best = heap.first, hasNumber(best) else { return nil }
    // As long as the next number of the others is greater, they need not be compared.
    let next = second.flatMap { hasNumber($0) ? active[$0].numbers[rows[$0]] : nil } ?? .max
    let plan = active[best]
    let first = rows[best]
    let end = first + min(plan.numberCount - first, limit)
    var row = first + 1
    while row < end && plan.numbers[row] < next { row += 1 }
    advance(to: row)
    return RowRun(entity: plan.entity, rows: first..<row)
  }

  /// The next rows with string references, once those with numbers have all been returned.
  private mutating func nextStrings(_ limit: Int) -> RowRun? {
    guard let best = heap.first else { return nil }
    let next = second
    let first = rows[best]
    // As above.
    repeat {
      rows[best] += 1
    } while rows[best] < active[best].count && rows[best] - first < limit && next.map { precedes(best, $0) } ?? true
    let end = rows[best]
    advance(to: end)
    return RowRun(entity: active[best].entity, rows: first..<end)
  }

  private func hasNumber(_ index: Int) -> Bool { rows[index] < active[index].numberCount }

  /// The entity that is next if the first one of the heap has no more rows.
  private var second: Int? {
    guard heap.count > 2 else { return heap.count > 1 ? heap[1] : nil }
    return precedes(heap[1], heap[2]) ? heap[1] : heap[2]
  }

  /// Continues the first entity of the heap at a row.
  private mutating func advance(to row: Int) {
    let index = heap[0]
    rows[index] = row
    if row == active[index].count {
      let last = heap.removeLast()
      if heap.isEmpty { return }
      heap[0] = last
    }
    sink(0)
  }

  private mutating func sink(_ start: Int) {
    var place = start
    while 2 * place + 1 < heap.count {
      var child = 2 * place + 1
      if child + 1 < heap.count, precedes(heap[child + 1], heap[child]) { child += 1 }
      guard precedes(heap[child], heap[place]) else { return }
      heap.swapAt(place, child)
      place = child
    }
  }

  /// Whether an entity's next row precedes that of another one. Of equal references, that of the first entity does.
  private func precedes(_ one: Int, _ other: Int) -> Bool {
    let isNumber = hasNumber(one)
    guard isNumber == hasNumber(other) else { return isNumber }
    if isNumber {
      let (number, otherNumber) = (active[one].numbers[rows[one]], active[other].numbers[rows[other]])
      return number == otherNumber ? one < other : number < otherNumber
    }
    let reader = active[one].reader
    let otherReader = active[other].reader
    guard let text = reader.textReference(row: rows[one]), let otherText = otherReader.textReference(row: rows[other])
    else { return false }
    let count = min(text.count, otherText.count)
    for index in 0..<count where text[index] != otherText[index] { return text[index] < otherText[index] }
    return text.count == otherText.count ? one < other : text.count < otherText.count
  }
}
