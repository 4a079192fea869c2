/// The position of a node in its ``NodeTable``: the number of a concrete entity and a row. It is valid while the table
/// lives, until the table is put in canonical order; reference objects are permanent.
///
/// ```swift
/// for node in nodes.handles(of: entity.index) { print(nodes.reference(of: node)) }
/// ```
@frozen
public struct NodeHandle: Hashable, Sendable, BitwiseCopyable {
  @usableFromInline let bits: UInt64

  @inlinable init(bits: UInt64) { self.bits = bits }

  /// Creates a handle. The entity must fit in 30 bits, the row in 32.
  @inlinable public init(entity: Int, row: Int) {
    bits = UInt64(truncatingIfNeeded: entity) << 32 | UInt64(truncatingIfNeeded: row) & 0xFFFF_FFFF
  }

  /// The number of the node's concrete entity.
  ///
  /// ```swift
  /// print(model.entity(at: node.entity).name)
  /// ```
  @inlinable public var entity: Int { Int(truncatingIfNeeded: bits >> 32) }
  /// The row of the node in the table of its entity.
  @inlinable public var row: Int { Int(truncatingIfNeeded: bits & 0xFFFF_FFFF) }

  @usableFromInline static let nullBits = UInt64.max
}

/// The cell of a relationship before the second pass: a reference, not yet a node.
///
/// Small integers, which nearly all references are, are stored in the cell; others in a separate list; of a string the
/// number of its text. The two top bits distinguish these forms from each other, and from a handle.
enum RawReference {
  /// A handle, whose top bits are always 00.
  static let rowTag: UInt64 = 0
  static let inlineTag: UInt64 = 0x4000_0000_0000_0000
  static let listTag: UInt64 = 0x8000_0000_0000_0000
  static let textTag: UInt64 = 0xC000_0000_0000_0000
  static let numberMask: UInt64 = 0x3FFF_FFFF_FFFF_FFFF
  static let tagMask: UInt64 = 0xC000_0000_0000_0000

  @inline(__always) static func encode(_ integer: Int64) -> UInt64? {
    let bits = UInt64(bitPattern: integer) & ~tagMask
    return decodeInline(bits | inlineTag) == integer ? bits | inlineTag : nil
  }
  @inline(__always) static func decodeInline(_ cell: UInt64) -> Int64 {
    // The sign is in bit 61 and is extended over the two tag bits.
    Int64(bitPattern: cell << 2) >> 2
  }
}
