import Glibc

/// Compares a part of a file with memory, piece by piece from its beginning on. What was not read yet is read into a
/// small buffer, which stays in the processor's cache, and takes no other memory.
package struct PartComparison: ~Copyable {
  private let bytes: StoreBytes
  private let end: Int
  /// Where the next byte is in the file.
  private var next: Int
  /// The bytes from `next` on that are in the buffer.
  private var ready = UnsafeRawBufferPointer(start: nil, count: 0)
  private let buffer: UnsafeMutableRawBufferPointer

  private static let bufferSize = 256 << 10

  init(_ bytes: StoreBytes, _ range: Range<Int>) {
    self.bytes = bytes
    next = range.lowerBound
    end = range.upperBound
    buffer = .allocate(byteCount: min(Self.bufferSize, max(range.count, 1)), alignment: 64)
  }

  deinit { buffer.deallocate() }

  /// Whether the next bytes of the file are these. After a difference, the comparison cannot go on.
  ///
  /// - Throws: The error of reading.
  package mutating func isNext(_ other: UnsafeRawPointer, _ count: Int) throws(PersistentStoreError) -> Bool {
    guard count <= end - next else { return false }
    var other = other
    var rest = count
    while rest > 0 {
      if ready.isEmpty {
        let range = next..<min(next + buffer.count, end)
        try bytes.copy(range, into: buffer)
        ready = UnsafeRawBufferPointer(rebasing: buffer[..<range.count])
      }
      let piece = min(rest, ready.count)
      guard let start = ready.baseAddress, memcmp(start, other, piece) == 0 else { return false }
      ready = UnsafeRawBufferPointer(rebasing: ready[piece...])
      next += piece
      other += piece
      rest -= piece
    }
    return true
  }

  /// Whether all bytes of the part were compared, and the file is still the one that was opened.
  package func isAtEnd() throws(PersistentStoreError) -> Bool {
    guard next == end else { return false }
    try bytes.checkUnchanged()
    return true
  }
}

extension StoreBytes {
  /// Compares a range, which may not be in memory yet, with other memory.
  package func comparison(of range: Range<Int>) -> PartComparison { PartComparison(self, range) }
}
