import AtomicStoreSPI

/// The rows of a column that have a value.
struct PresentRows: Sendable {
  /// In ascending order.
  let rows: [UInt32]
  /// A bit for each row of the column.
  let bits: [UInt8]

  func row(_ place: Int) -> Int { Int(rows[place]) }
}

/// The columns in which fewer than half of the rows have a value: the file has values of those rows only.
///
/// Columns of few rows are written whole, so that small stores are of a version that every release reads.
struct SparseColumns {
  private var columns: [[Int: PresentRows]]
  private static let leastRows = 1024

  init(_ nodes: NodeTable) {
    columns = nodes.model.entities.map { entity in
      let reader = nodes.reader(of: entity.index)
      guard reader.count >= Self.leastRows else { return [:] }
      var found: [Int: PresentRows] = [:]
      for slot in entity.slots { found[slot.index] = Self.present(slot, reader) }
      return found
    }
  }

  var isEmpty: Bool { columns.allSatisfy(\.isEmpty) }

  /// The rows with a value; nil for a column that is written whole.
  func rows(of slot: Slot, _ entity: Entity) -> PresentRows? { columns[entity.index][slot.index] }

  /// Nil if half of the rows have a value, or more.
  private static func present(_ slot: Slot, _ reader: EntityReader) -> PresentRows? {
    // These have a list of texts, which takes one object for null wherever it occurs.
    if case .attribute(.undefined) = slot.kind { return nil }
    // Cells of fixed width have the bits already.
    if !reader.isSparse(slot: slot.index) {
      let known = reader.presenceBits(slot: slot.index)
      if known.count > 0 { return present(known, reader.count) }
    }
    return present(reader.valueBits(slot: slot.index).span, reader.count)
  }

  /// The same from a bit for each row.
  private static func present(_ known: Span<UInt8>, _ rowCount: Int) -> PresentRows? {
    var bits = [UInt8](repeating: 0, count: known.count)
    var count = 0
    for index in bits.indices {
      bits[index] = known[index]
      count += known[index].nonzeroBitCount
    }
    guard count * 2 < rowCount else { return nil }
    var rows: [UInt32] = []
    rows.reserveCapacity(count)
    for index in bits.indices {
      var rest = bits[index]
      while rest != 0 {
        rows.append(UInt32(truncatingIfNeeded: index * 8 + rest.trailingZeroBitCount))
        rest &= rest - 1
      }
    }
    return PresentRows(rows: rows, bits: bits)
  }
}
