/// Distinct objects in an order, in chunks: a change moves the objects of one chunk only.
///
/// Each object's chunk is known by number, and a tree of counts (a Fenwick tree over the chunks in their order) turns
/// chunks into indexes and back.
struct ObjectChunks<Element: AnyObject> {
  /// In the order of the list. Some may be empty.
  private var chunks: ContiguousArray<ContiguousArray<Element>> = []
  /// The number of the chunk at each position, and the position of the chunk with each number: numbers remain the same
  /// when a chunk is split, positions do not.
  private var numbers: ContiguousArray<Int32> = []
  private var positions: ContiguousArray<Int32> = []
  private var chunkNumbers: [ObjectIdentifier: Int32] = [:]
  /// At index i, counting from 1: the sum of the sizes of as many chunks as the lowest set bit of i says, up to i.
  private var sums: ContiguousArray<Int32> = []

  private static var greatestSize: Int { 256 }
  private static var usualSize: Int { 128 }

  /// Keeps the first occurrence of each object.
  init(_ objects: [Element]) {
    chunkNumbers.reserveCapacity(objects.count)
    for object in objects {
      if chunks.isEmpty || chunks[chunks.count - 1].count >= Self.usualSize { appendChunk() }
      if let first = chunkNumbers.updateValue(Int32(chunks.count - 1), forKey: ObjectIdentifier(object)) {
        chunkNumbers[ObjectIdentifier(object)] = first
        continue
      }
      chunks[chunks.count - 1].append(object)
    }
    if chunks.isEmpty { appendChunk() }
    sumUp()
  }

  private mutating func appendChunk() {
    numbers.append(Int32(chunks.count))
    positions.append(Int32(chunks.count))
    chunks.append([])
  }

  var count: Int { chunkNumbers.count }
  func contains(_ object: Element) -> Bool { chunkNumbers[ObjectIdentifier(object)] != nil }

  var elements: [Element] {
    var result: [Element] = []
    result.reserveCapacity(count)
    for chunk in chunks { result += chunk }
    return result
  }

  /// The object at an index below ``count``.
  subscript(index: Int) -> Element {
    let (position, offset) = location(of: index)
    return chunks[position][offset]
  }

  func firstIndex(where test: (Int, Element) -> Bool) -> Int? {
    var index = 0
    for chunk in chunks {
      for object in chunk {
        if test(index, object) { return index }
        index += 1
      }
    }
    return nil
  }

  func index(of object: Element) -> Int? {
    guard let (position, offset) = location(of: object) else { return nil }
    return start(of: position) + offset
  }

  private func location(of object: Element) -> (position: Int, offset: Int)? {
    chunkNumbers[ObjectIdentifier(object)].flatMap { location(of: object, inChunk: $0) }
  }

  private func location(of object: Element, inChunk number: Int32) -> (position: Int, offset: Int)? {
    let position = Int(positions[Int(number)])
    return chunks[position].firstIndex { $0 === object }.map { (position, $0) }
  }

  // MARK: Changes

  /// Has no effect if the list contains the object. An index outside of the list means the nearest end.
  mutating func insert(_ object: Element, at index: Int) {
    guard !contains(object) else { return }
    chunkNumbers[ObjectIdentifier(object)] = place(object, at: Swift.max(0, Swift.min(index, count)))
  }

  /// Puts an object into a chunk, and returns the chunk's number.
  private mutating func place(_ object: Element, at index: Int) -> Int32 {
    var (position, offset) = location(of: index)
    if chunks[position].count >= Self.greatestSize {
      split(position)
      let half = chunks[position].count
      if offset > half { (position, offset) = (position + 1, offset - half) }
    }
    chunks[position].insert(object, at: offset)
    add(1, at: position)
    return numbers[position]
  }

  /// Moves an object to an index, which counts the others; if that is outside of the list, to the nearest end. Returns
  /// the index that it had, or nil.
  mutating func move(_ object: Element, to index: Int) -> Int? {
    let key = ObjectIdentifier(object)
    guard let number = chunkNumbers[key], let (position, offset) = location(of: object, inChunk: number) else {
      return nil
    }
    let old = start(of: position) + offset
    let new = Swift.max(0, Swift.min(index, count - 1))
    guard old != new else { return old }
    chunks[position].remove(at: offset)
    add(-1, at: position)
    let now = place(object, at: new)
    if now != number { chunkNumbers[key] = now }
    return old
  }

  /// Returns the index that it had, or nil.
  mutating func remove(_ object: Element) -> Int? {
    guard let (position, offset) = location(of: object) else { return nil }
    let index = start(of: position) + offset
    chunkNumbers[ObjectIdentifier(object)] = nil
    chunks[position].remove(at: offset)
    add(-1, at: position)
    // Removals leave chunks almost empty; inserts beside them split others.
    if chunks.count > 16, count < chunks.count * (Self.usualSize / 8) { self = ObjectChunks(elements) }
    return index
  }

  /// Moves the second half of a chunk to a new one behind it.
  private mutating func split(_ position: Int) {
    let half = chunks[position].count / 2
    let rest = ContiguousArray(chunks[position][half...])
    chunks[position].removeSubrange(half...)
    let number = Int32(positions.count)
    for object in rest { chunkNumbers[ObjectIdentifier(object)] = number }
    chunks.insert(rest, at: position + 1)
    numbers.insert(number, at: position + 1)
    positions.append(0)
    for place in (position + 1)..<numbers.count { positions[Int(numbers[place])] = Int32(place) }
    sumUp()
  }

  // MARK: Counts

  private mutating func sumUp() {
    sums = ContiguousArray(repeating: 0, count: chunks.count + 1)
    for position in chunks.indices {
      let node = position + 1
      sums[node] += Int32(chunks[position].count)
      let parent = node + node & -node
      if parent < sums.count { sums[parent] += sums[node] }
    }
  }

  private mutating func add(_ difference: Int32, at position: Int) {
    var node = position + 1
    while node < sums.count {
      sums[node] += difference
      node += node & -node
    }
  }

  /// The number of objects before a chunk.
  private func start(of position: Int) -> Int {
    var node = position
    var sum = 0
    while node > 0 {
      sum += Int(sums[node])
      node &= node - 1
    }
    return sum
  }

  /// The chunk of the object at an index, and where it is in the chunk; for the end of the list, the end of a chunk.
  private func location(of index: Int) -> (position: Int, offset: Int) {
    var node = 0
    var left = index
    var step = 1 << (Int.bitWidth - 1 - sums.count.leadingZeroBitCount)
    while step > 0 {
      let next = node + step
      // A chunk that ends at the index is passed, except the last.
      if next < sums.count - 1, Int(sums[next]) <= left {
        node = next
        left -= Int(sums[next])
      }
      step >>= 1
    }
    return (node, left)
  }
}
