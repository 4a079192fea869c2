/// Where a value of variable length is in its column's heap, as a cell of eight bytes: the start in the lower 38 bits,
/// the length above; all bits set for null. A length that does not fit is in the eight bytes before the value.
@usableFromInline package struct Extent {
  /// In units of the heap: bytes, or handles.
  @usableFromInline package let start: Int
  @usableFromInline package let length: Int

  /// The number of units that a heap can have: 256 GiB of bytes.
  static let greatestHeap = 1 << startBits
  /// Lengths from here on are stored before the value.
  @usableFromInline static let leastLongLength = 1 << (64 - startBits) - 2
  @usableFromInline static let startBits = 38

  @inlinable @inline(__always) static var mask: UInt64 { 1 << UInt64(startBits) - 1 }

  /// The extent in a cell, whose heap has units of that many bytes; nil for null.
  @inlinable @inline(__always)
  init?(cell: UInt64, heap: UnsafeRawPointer, unit: Int) {
    guard cell != .max else { return nil }
    start = Int(truncatingIfNeeded: cell & Self.mask)
    let length = Int(truncatingIfNeeded: cell >> UInt64(Self.startBits))
    self.length =
      length == Self.leastLongLength
      ? Int(truncatingIfNeeded: (heap + start &* unit - 8).loadUnaligned(as: UInt64.self)) : length
  }

  /// A cell for a value; the length of a long one must be in the heap already.
  @inline(__always) static func cell(start: Int, length: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: start) | UInt64(truncatingIfNeeded: min(length, leastLongLength)) << UInt64(startBits)
  }

  /// Whether the length is stored before the value.
  @inline(__always) static func isLong(_ length: Int) -> Bool { length >= leastLongLength }
}
