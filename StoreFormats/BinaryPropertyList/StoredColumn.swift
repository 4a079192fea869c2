import AtomicStoreSPI
import StoreCodecs

/// A column of the file, for the rows of an entity that the builder has already.
struct StoredColumn {
  let entity: Entity
  let slot: Slot
  let rows: Int
  let node: PropertyListNode
  /// The file's bytes, part of which the column keeps.
  let bytes: StoreBytes

  /// Whether it consists of data objects only, which can be read without other columns.
  var isPacked: Bool {
    get throws(PersistentStoreError) {
      if case .attribute(.undefined) = slot.kind { return false }
      guard slot.isRelationship else { return true }
      return try node.optional(.objects) == nil
    }
  }
}

extension StoredColumn {
  /// A number for each row: those of the file for rows whose bit is set, in order, and `absent` for the others.
  ///
  /// - Throws: `.malformed` if there are other bits than rows, or other numbers than bits that are set.
  func spread<Number: FixedWidthInteger & BitwiseCopyable>(
    _ numbers: PackedNumbers<Number>, _ bits: [UInt8], absent: Number
  ) throws(PersistentStoreError) -> [Number] {
    guard bits.count == (rows + 7) / 8 else {
      throw node.malformed("has \(bits.count) bytes of bits for \(rows) rows")
    }
    var all = [Number](repeating: absent, count: rows)
    let present = numbers.span
    var next = 0
    for row in 0..<rows where bits[row >> 3] & (1 << UInt8(truncatingIfNeeded: row & 7)) != 0 {
      guard next < present.count else { break }
      all[row] = present[next]
      next += 1
    }
    let wanted = bits.reduce(0) { $0 + $1.nonzeroBitCount }
    guard next == present.count, next == wanted else {
      throw node.malformed("has \(present.count) values for \(wanted) rows with a value")
    }
    return all
  }
}

/// Columns that several threads fill.
///
/// `@unchecked Sendable`: the columns and the bytes of the file are only read, and the bytes outlive the load.
struct PackedColumns: @unchecked Sendable {
  let all: [StoredColumn]
}
