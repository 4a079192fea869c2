public import StorePrimitives

extension BinaryPropertyListReader {
  /// Calls `body` with the key and the value of each entry of a dictionary, in the file's order.
  public func forEachEntry(
    of dictionary: Object, _ body: (_ key: Object, _ value: Object) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let list = try references(of: dictionary)
    // Throws the error about the kind.
    if !list.isDictionary { _ = try entry(0, of: dictionary) }
    for position in 0..<list.count { try body(try reference(position, list), try valueReference(position, list)) }
  }

  /// Returns the elements of the arrays in an array, one array after the other, and how many elements each has.
  ///
  /// - Parameters:
  ///   - array: The array of arrays.
  ///   - limit: The maximum number of elements of all arrays together: arrays may share others, so a small file can
  ///     describe many.
  /// - Returns: nil if there are more elements than the limit.
  /// - Throws: `.malformed` for an element that is not an array.
  public func elements(
    ofArraysIn array: Object, limit: Int
  ) throws(PersistentStoreError) -> (counts: [UInt32], elements: [Object])? {
    let lists = try arrayReferences(of: array)
    var counts: [UInt32] = []
    var elements: [Object] = []
    counts.reserveCapacity(lists.count)
    for position in 0..<lists.count {
      let list = try arrayReferences(of: try reference(position, lists))
      guard list.count <= limit - elements.count, list.count <= Int(UInt32.max) else { return nil }
      for place in 0..<list.count { elements.append(try reference(place, list)) }
      counts.append(UInt32(truncatingIfNeeded: list.count))
    }
    return (counts, elements)
  }

  private func arrayReferences(of array: Object) throws(PersistentStoreError) -> References {
    let list = try references(of: array)
    // Throws the error about the kind.
    if list.isDictionary { _ = try element(0, of: array) }
    return list
  }

  /// Returns how many objects of the file are neither the root object nor in a container that it leads to, and the
  /// first of them; nil if there are none.
  public func unreachable() throws(PersistentStoreError) -> (count: Int, first: Object)? {
    var isReached = [Bool](repeating: false, count: objectCount)
    var reached = 1
    var waiting = [top]
    isReached[top.index] = true
    while let object = waiting.popLast() {
      let kind = try kind(of: object)
      guard kind == .array || kind == .dictionary else { continue }
      let list = try references(of: object)
      // A dictionary's values follow its keys.
      for position in 0..<(list.isDictionary ? list.count * 2 : list.count) {
        let next = try objectReferenced(at: list.start + position * referenceSize)
        guard !isReached[next.index] else { continue }
        isReached[next.index] = true
        reached += 1
        waiting.append(next)
      }
    }
    guard reached < objectCount, let first = isReached.firstIndex(of: false) else { return nil }
    return (objectCount - reached, Object(index: first))
  }
}
