import Glibc

/// Text by its UTF-8, eight and more bytes at a time: Swift's own sequences compare a byte after the other.
extension String {
  /// Calls `body` with the UTF-8 of the string, without copying it where it is contiguous.
  @inlinable package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    return Array(utf8).withUnsafeBufferPointer(body)
  }

  /// Whether two strings have the same Unicode scalars.
  package func hasSameScalars(as other: String) -> Bool {
    isSameValue(as: other) || utf8.count == other.utf8.count && byteOrder(to: other) == 0
  }

  /// Whether two strings are the same bits in memory, as are most equal names: short texts are stored in the string
  /// itself. False says nothing.
  @inline(__always)
  private func isSameValue(as other: String) -> Bool {
    withUnsafeBytes(of: self) { mine in
      withUnsafeBytes(of: other) { its in
        guard let one = mine.baseAddress, let another = its.baseAddress else { return false }
        return memcmp(one, another, MemoryLayout<String>.size) == 0
      }
    }
  }

  /// Below zero if the UTF-8 of this string comes before that of the other, above zero if it comes after it, and zero
  /// if they have the same Unicode scalars.
  package func byteOrder(to other: String) -> Int {
    withBytes { mine in
      other.withBytes { its in
        let common = min(mine.count, its.count)
        if common > 0, let one = mine.baseAddress, let another = its.baseAddress {
          let order = memcmp(one, another, common)
          if order != 0 { return Int(order) }
        }
        return mine.count - its.count
      }
    }
  }
}
