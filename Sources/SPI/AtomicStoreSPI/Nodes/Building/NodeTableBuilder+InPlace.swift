/// What is set besides values that are given as a whole.
extension NodeTableBuilder {
  /// Attaches a value of the format to the current node.
  public func attach(_ payload: any Sendable) {
    guard state.pointee.row >= 0 else { return }
    payloads[state.pointee.entity][state.pointee.row] = payload
  }

  /// Defers an attribute of the current node: its value is requested on first read, see
  /// `AtomicStore.value(slot:of:in:)`.
  public func `defer`(slot: Int) {
    guard state.pointee.row >= 0 else { return }
    deferred[state.pointee.entity].insert(EntityTable.deferredKey(slot: slot, row: state.pointee.row))
  }

  /// Sets binary data or a transformable's bytes, which `body` writes to the memory of the column instead of passing
  /// them.
  ///
  /// - Parameters:
  ///   - room: The maximum number of bytes.
  ///   - slot: The attribute's slot.
  ///   - body: Writes to that many bytes, whatever is in them, and returns how many of them are the value: at most
  ///     `room`, and not a negative number. If it throws, the value stays what it was. It must not use the builder.
  public func set(
    bytesUpTo room: Int, slot: Int,
    _ body: (UnsafeMutableBufferPointer<UInt8>) throws(PersistentStoreError) -> Int
  ) throws(PersistentStoreError) {
    let header = try column(slot)
    guard current.pointee.kinds[slot] == .data, !Extent.isLong(room) else {
      let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: room)
      defer { buffer.deallocate() }
      let count = Self.checked(try body(buffer), room)
      return try set(bytes: Span(_unsafeElements: UnsafeBufferPointer(rebasing: buffer[..<count])), slot: slot)
    }
    try reserve(room, header)
    try reserveHeap(room, header, at: location(slot))
    let start = header.pointee.heapCount
    let target = (header.pointee.heap + start).assumingMemoryBound(to: UInt8.self)
    let count = Self.checked(try body(UnsafeMutableBufferPointer(start: target, count: room)), room)
    header.pointee.setExtent(state.pointee.row, start: start, length: count)
    header.pointee.heapCount = start + count
  }
  private static func checked(_ count: Int, _ room: Int) -> Int {
    precondition(count >= 0 && count <= room, "the value is not in the bytes that were given")
    return count
  }
}
