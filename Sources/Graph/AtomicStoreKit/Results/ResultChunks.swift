/// Elements in order, in chunks: a change copies one chunk at most, so a list before the change is kept at little cost.
struct ResultChunks<Element> {
  private static var chunkSize: Int { 256 }

  private var chunks: [ContiguousArray<Element>] = []
  /// The index of the first element of each chunk.
  private var starts: [Int] = []
  private(set) var count = 0

  init(_ elements: ContiguousArray<Element> = []) {
    var start = 0
    while start < elements.count {
      let end = min(start + Self.chunkSize, elements.count)
      chunks.append(ContiguousArray(elements[start..<end]))
      starts.append(start)
      start = end
    }
    count = elements.count
  }

  subscript(index: Int) -> Element {
    let chunk = chunk(at: index)
    return chunks[chunk][index - starts[chunk]]
  }

  /// The elements of a range, in order.
  func elements(_ range: Range<Int>) -> ContiguousArray<Element> {
    var result: ContiguousArray<Element> = []
    result.reserveCapacity(range.count)
    guard !range.isEmpty else { return result }
    for chunk in chunk(at: range.lowerBound)..<chunks.count where starts[chunk] < range.upperBound {
      let own = chunks[chunk].indices.clamped(to: range.lowerBound - starts[chunk]..<range.upperBound - starts[chunk])
      result += chunks[chunk][own]
    }
    return result
  }

  /// All elements, in order.
  var all: ContiguousArray<Element> { elements(0..<count) }

  /// The index of the first element for which a condition does not hold that holds for all elements before it.
  func partitionPoint(_ holds: (Element) -> Bool) -> Int {
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if let last = chunks[middle].last, holds(last) { low = middle + 1 } else { high = middle }
    }
    guard low < chunks.count else { return count }
    let chunk = chunks[low]
    var (first, end) = (0, chunk.count)
    while first < end {
      let middle = (first + end) / 2
      if holds(chunk[middle]) { first = middle + 1 } else { end = middle }
    }
    return starts[low] + first
  }

  mutating func remove(at index: Int) {
    let chunk = chunk(at: index)
    chunks[chunk].remove(at: index - starts[chunk])
    count -= 1
    if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
      starts.remove(at: chunk)
    }
    renumber(from: chunk)
  }

  /// - Parameter index: From 0 to ``count``.
  mutating func insert(_ element: Element, at index: Int) {
    count += 1
    guard !chunks.isEmpty else {
      chunks = [[element]]
      starts = [0]
      return
    }
    let chunk = index == count - 1 ? chunks.count - 1 : chunk(at: index)
    chunks[chunk].insert(element, at: index - starts[chunk])
    if chunks[chunk].count >= 2 * Self.chunkSize {
      let half = chunks[chunk].count / 2
      chunks.insert(ContiguousArray(chunks[chunk][half...]), at: chunk + 1)
      chunks[chunk].removeSubrange(half...)
      starts.insert(0, at: chunk + 1)
    }
    renumber(from: chunk)
  }

  private mutating func renumber(from first: Int) {
    guard first < chunks.count else { return }
    var start = first == 0 ? 0 : starts[first - 1] + chunks[first - 1].count
    for chunk in first..<chunks.count {
      starts[chunk] = start
      start += chunks[chunk].count
    }
  }

  /// The last chunk that begins at or before an index.
  private func chunk(at index: Int) -> Int {
    var low = 0
    var high = starts.count
    while low + 1 < high {
      let middle = (low + high) / 2
      if starts[middle] <= index { low = middle } else { high = middle }
    }
    return low
  }
}
