/// Orders the items of each column so that few lines cross.
struct ColumnOrdering {
  private let items: [DiagramItem]
  private let edges: [DiagramEdge]
  private(set) var columns: [[Int]]
  /// The index of each item in its column.
  private var places: [Int]

  init(items: [DiagramItem], edges: [DiagramEdge], columns: [[Int]]) {
    self.items = items
    self.edges = edges
    self.columns = columns
    places = Array(repeating: 0, count: items.count)
    for column in columns { for (place, item) in column.enumerated() { places[item] = place } }
  }

  /// Sorts columns by the mean of their neighbors, to and fro, and keeps the best order that was found.
  mutating func improve() {
    var best = columns
    var fewest = crossings()
    for round in 0..<16 where fewest > 0 {
      let isForward = round.isMultiple(of: 2)
      for column in isForward ? Array(columns.indices.dropFirst()) : columns.indices.dropLast().reversed() {
        sort(column, byLeft: isForward)
      }
      if items.count < 2000 { transpose() }
      let count = crossings()
      if count < fewest { (best, fewest) = (columns, count) }
    }
    columns = best
  }

  /// Where an edge meets its item, as a fraction of a place.
  private func height(_ item: Int, _ offset: Double) -> Double {
    Double(places[item]) + (items[item].box == nil ? 0.5 : offset / (items[item].height + 1))
  }

  private mutating func sort(_ column: Int, byLeft: Bool) {
    let wanted = columns[column].map { item -> Double in
      let neighbors = byLeft ? items[item].left : items[item].right
      guard !neighbors.isEmpty else { return Double(places[item]) }
      let sum = neighbors.reduce(0) { sum, edge in
        let edge = edges[edge]
        return sum + (byLeft ? height(edge.from, edge.start) : height(edge.to, edge.end))
      }
      return sum / Double(neighbors.count)
    }
    let order = columns[column].indices.sorted { (wanted[$0], $0) < (wanted[$1], $1) }
    columns[column] = order.map { columns[column][$0] }
    for (place, item) in columns[column].enumerated() { places[item] = place }
  }

  /// Exchanges neighbors as long as that removes crossings.
  private mutating func transpose() {
    for _ in 0..<4 {
      var isBetter = false
      for column in columns.indices {
        for place in columns[column].indices.dropLast() {
          let (one, other) = (columns[column][place], columns[column][place + 1])
          guard crossings(one, other) > crossings(other, one) else { continue }
          columns[column].swapAt(place, place + 1)
          (places[one], places[other]) = (place + 1, place)
          isBetter = true
        }
      }
      if !isBetter { return }
    }
  }

  /// How often lines of an item cross those of the one below it.
  private func crossings(_ upper: Int, _ lower: Int) -> Int {
    var count = 0
    for edge in items[upper].left {
      let end = height(edges[edge].from, edges[edge].start)
      for other in items[lower].left where height(edges[other].from, edges[other].start) < end { count += 1 }
    }
    for edge in items[upper].right {
      let end = height(edges[edge].to, edges[edge].end)
      for other in items[lower].right where height(edges[other].to, edges[other].end) < end { count += 1 }
    }
    return count
  }

  /// How often lines cross between all columns.
  private func crossings() -> Int {
    var total = 0
    for column in columns {
      let lines = column.flatMap { item in
        items[item].right.map { (height(item, edges[$0].start), height(edges[$0].to, edges[$0].end)) }
      }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.1)
      total += Self.inversions(lines)
    }
    return total
  }

  /// How many pairs are in the wrong order, by merging.
  private static func inversions(_ values: [Double]) -> Int {
    var (source, target) = (values, values)
    var (count, width) = (0, 1)
    while width < source.count {
      var start = 0
      while start < source.count {
        let (middle, end) = (min(start + width, source.count), min(start + 2 * width, source.count))
        var (left, right) = (start, middle)
        for place in start..<end {
          if left < middle, right == end || source[left] <= source[right] {
            target[place] = source[left]
            left += 1
          } else {
            target[place] = source[right]
            right += 1
            count += middle - left
          }
        }
        start += 2 * width
      }
      swap(&source, &target)
      width *= 2
    }
    return count
  }
}
