/// Where a node stands in its ``NodeTable``: a concrete entity's number and a row. Good for as long as the table lives
/// and until it is put in canonical order; what lasts is the reference object.
@frozen
public struct NodeHandle: Hashable, Sendable, BitwiseCopyable {
  @usableFromInline let bits: UInt64

  @inlinable init(bits: UInt64) { self.bits = bits }

  /// The row of an entity's table. Both must fit 30 and 32 bits.
  @inlinable public init(entity: Int, row: Int) {
    bits = UInt64(truncatingIfNeeded: entity) << 32 | UInt64(truncatingIfNeeded: row) & 0xFFFF_FFFF
  }

  /// The number of the node's concrete entity.
  @inlinable public var entity: Int { Int(truncatingIfNeeded: bits >> 32) }
  /// The row of the node in the table of its entity.
  @inlinable public var row: Int { Int(truncatingIfNeeded: bits & 0xFFFF_FFFF) }

  @usableFromInline static let nullBits = UInt64.max
}

/// A relationship's cell before the second pass: the reference it names, not yet a node.
///
/// Small integers, which nearly all references are, fit the cell; the others stand in a list beside it. The two top
/// bits tell the forms apart, and from a resolved handle, whose top bits are 00.
enum RawReference {
  static let inlineTag: UInt64 = 0x4000_0000_0000_0000
  static let listTag: UInt64 = 0x8000_0000_0000_0000
  static let tagMask: UInt64 = 0xC000_0000_0000_0000

  @inline(__always) static func encode(_ integer: Int64) -> UInt64? {
    let bits = UInt64(bitPattern: integer) & ~tagMask
    return decodeInline(bits | inlineTag) == integer ? bits | inlineTag : nil
  }
  @inline(__always) static func decodeInline(_ cell: UInt64) -> Int64 {
    // The sign stands in bit 61 and is spread over the two tag bits.
    Int64(bitPattern: cell << 2) >> 2
  }
}
