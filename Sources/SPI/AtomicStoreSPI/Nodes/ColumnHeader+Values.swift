/// Values of variable length.
extension ColumnHeader {
  /// Appends bytes to the heap and sets the cell's extent. False if the heap is full.
  @inline(__always) mutating func setBytes(_ row: Int, _ source: UnsafeRawPointer?, count: Int) -> Bool {
    setBytes(at: sparse == nil ? row : addedPlace(row), source, count: count)
  }
  @inline(__always) mutating func setBytes(at place: Int, _ source: UnsafeRawPointer?, count: Int) -> Bool {
    guard beginValue(count) else { return false }
    if let source, count > 0 { (heap + heapCount).copyMemory(from: source, byteCount: count) }
    setCell(at: place, Extent.cell(start: heapCount, length: count))
    heapCount += count
    return true
  }

  mutating func setHandles(_ row: Int, _ handles: [UInt64]) -> Bool {
    guard beginValue(handles.count) else { return false }
    handles.withUnsafeBytes { source in
      if let base = source.baseAddress { (heap + heapCount * 8).copyMemory(from: base, byteCount: source.count) }
    }
    setExtent(row, start: heapCount, length: handles.count)
    heapCount += handles.count
    return true
  }

  /// Removes null handles from a list in place.
  func removeNullHandles(at place: Int) {
    let list = handles(at: place)
    var kept = 0
    for bits in list where bits != NodeHandle.nullBits {
      list[kept] = bits
      kept += 1
    }
    guard kept > 0, let value = extent(at: place) else { return setNull(at: place) }
    if Extent.isLong(kept) { storeLength(kept, before: value.start) }
    setCell(at: place, Extent.cell(start: value.start, length: kept))
  }

  /// Makes room for more elements at the end of a row's list, moving the list to the heap's end if it is not there.
  /// They must be written to the memory that is returned; nil if the heap is full.
  @inline(__always) mutating func addHandles(_ row: Int, _ count: Int) -> UnsafeMutablePointer<UInt64>? {
    let place = extent(row)
    let length = place?.length ?? 0
    var start = place?.start ?? heapCount
    // A list that becomes a long one gets room for its length before it.
    if start + length != heapCount || Extent.isLong(length + count) && !Extent.isLong(length) {
      guard beginValue(length + count) else { return nil }
      (heap + heapCount * 8).copyMemory(from: heap + start * 8, byteCount: length * 8)
      start = heapCount
      heapCount += length
    } else {
      guard reserveHeap(count) else { return nil }
      if Extent.isLong(length) { storeLength(length + count, before: start) }
    }
    let added = (heap + heapCount * 8).assumingMemoryBound(to: UInt64.self)
    heapCount += count
    setExtent(row, start: start, length: length + count)
    return added
  }

  /// Adds an element to a row's list, moving the list to the heap's end if it is not there.
  @inline(__always) mutating func appendHandle(_ row: Int, _ bits: UInt64) -> Bool {
    let place = extent(row)
    let length = place?.length ?? 0
    var start = place?.start ?? heapCount
    // A list that becomes a long one gets room for its length before it.
    if start + length != heapCount || length + 1 == Extent.leastLongLength {
      guard beginValue(length + 1) else { return false }
      (heap + heapCount * 8).copyMemory(from: heap + start * 8, byteCount: length * 8)
      start = heapCount
      heapCount += length
    } else {
      guard reserveHeap(1) else { return false }
      if Extent.isLong(length + 1) { storeLength(length + 1, before: start) }
    }
    (heap + heapCount * 8).storeBytes(of: bits, as: UInt64.self)
    heapCount += 1
    setExtent(row, start: start, length: length + 1)
    return true
  }
}
