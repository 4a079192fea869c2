package import AtomicStoreSPI
import Glibc

/// The columns of one property in two graphs.
///
/// It finds the rows whose values are the same without making a value of either, which nearly all rows are. What it
/// does not find the same may still be: then the values decide.
package struct ColumnPair {
  private enum Comparison {
    /// Cells of that many bytes, with a bit for presence.
    case cells(width: Int)
    case bytes
    case toOne
    case toMany(isSequence: Bool)
    /// Only one graph has the property: null is the same there.
    case presence
    /// Two kinds of value: nothing is the same without looking.
    case values
  }
  private let comparison: Comparison
  private let one: ColumnView?
  private let other: ColumnView?

  /// - Parameters:
  ///   - one: The slot in the first graph, and the rows; nil if it does not have the property.
  ///   - isSequence: Whether the members of a to-many are compared in order.
  package init(
    _ one: (slot: Slot, reader: EntityReader)?, _ other: (slot: Slot, reader: EntityReader)?, isSequence: Bool
  ) {
    self.one = one.map { $0.reader.column(slot: $0.slot.index) }
    self.other = other.map { $0.reader.column(slot: $0.slot.index) }
    guard let left = one?.slot, let right = other?.slot, let column = self.one, let otherColumn = self.other else {
      comparison = .presence
      return
    }
    guard column.layout == otherColumn.layout, left.attributeType == right.attributeType else {
      comparison = .values
      return
    }
    comparison =
      switch column.layout {
      case .bytes: .bytes
      case .toOne: .toOne
      case .toMany: .toMany(isSequence: isSequence)
      default: .cells(width: column.width)
      }
  }

  /// Whether the values of two rows are known to be the same.
  package func isSame(_ row: Int, _ otherRow: Int, _ translation: RowTranslation) -> Bool {
    guard let one, let other else {
      return !(one.map { Self.isPresent($0, row) } ?? other.map { Self.isPresent($0, otherRow) } ?? false)
    }
    switch comparison {
    case .presence, .values: return false
    case .cells(let width):
      let isPresent = one.isPresent(row)
      guard isPresent == other.isPresent(otherRow) else { return false }
      if !isPresent { return true }
      return memcmp(one.cells + one.place(row) * width, other.cells + other.place(otherRow) * width, width) == 0
    case .bytes:
      guard let value = one.bytes(row), let otherValue = other.bytes(otherRow) else {
        return (one.bytes(row) == nil) == (other.bytes(otherRow) == nil)
      }
      return Self.isSame(value, otherValue)
    case .toOne:
      let node = one.handle(row)
      let otherNode = other.handle(otherRow)
      if node == RowTranslation.null || otherNode == RowTranslation.null { return node == otherNode }
      return translation.translated(node) == otherNode
    case .toMany(let isSequence):
      return Self.isSame(one.handles(row), other.handles(otherRow), isSequence, translation)
    }
  }

  private static func isPresent(_ column: ColumnView, _ row: Int) -> Bool {
    switch column.layout {
    case .bytes: column.bytes(row) != nil
    case .toOne: column.handle(row) != RowTranslation.null
    case .toMany: !column.handles(row).isEmpty
    default: column.isPresent(row)
    }
  }

  private static func isSame(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard one.count == other.count else { return false }
    guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
    return memcmp(start, otherStart, one.count) == 0
  }

  private static func isSame(
    _ one: UnsafeBufferPointer<UInt64>, _ other: UnsafeBufferPointer<UInt64>, _ isSequence: Bool,
    _ translation: RowTranslation
  ) -> Bool {
    guard one.count == other.count else { return false }
    var isSame = true
    for place in one.indices where translation.translated(one[place]) != other[place] {
      isSame = false
      break
    }
    if isSame || isSequence { return isSame }
    let translated = one.map { translation.translated($0) }.sorted()
    return translated.last != RowTranslation.null && translated == other.sorted()
  }

  // MARK: Rows with the same numbers

  /// Marks those of a range of rows that are not known to be the same as the rows of the same numbers.
  ///
  /// - Parameters:
  ///   - rows: They begin at a multiple of 64.
  ///   - marks: One for each row of the range.
  package func markDifferent(_ rows: Range<Int>, _ translation: RowTranslation, _ marks: inout [Bool]) {
    if let one, let other {
      let isShared = one.isSame(as: other)
      if one.sparse != nil, other.sparse != nil, one.places(rows).isEmpty, other.places(rows).isEmpty { return }
      switch comparison {
      case .cells(let width) where isShared || Self.haveSameCells(one, other, width, rows): return
      case .bytes where isShared || Self.haveSameBytes(one, other, rows): return
      case .toOne where isShared && translation.isIdentity: return
      case .toMany where isShared && translation.isIdentity: return
      default: break
      }
    }
    for row in rows where !isSame(row, row, translation) { marks[row - rows.lowerBound] = true }
  }

  /// Marks those places at which the values are not known to be the same.
  ///
  /// - Parameters:
  ///   - places: They begin at a multiple of 64.
  ///   - marks: One for each place of the range.
  package func markDifferent(
    at places: Range<Int>, _ matches: MatchedRows, _ translation: RowTranslation, _ marks: inout [Bool]
  ) {
    if matches.isIdentity { return markDifferent(places, translation, &marks) }
    guard case .toOne = comparison, let one, let other else {
      matches.forEachMatch(at: places) { place, row, otherRow in
        if !isSame(row, otherRow, translation) { marks[place - places.lowerBound] = true }
      }
      return
    }
    matches.forEachMatch(at: places) { place, row, otherRow in
      let node = one.handle(row)
      let otherNode = other.handle(otherRow)
      let wanted = node == RowTranslation.null ? node : translation.translated(node)
      // An object that the second graph does not have is translated to null, too.
      if wanted != otherNode || node != otherNode && otherNode == RowTranslation.null {
        marks[place - places.lowerBound] = true
      }
    }
  }

  private static func haveSameCells(_ one: ColumnView, _ other: ColumnView, _ width: Int, _ rows: Range<Int>) -> Bool {
    guard let (places, others) = matchingPlaces(one, other, rows) else { return false }
    let (cells, otherCells) = (one.cells + places.lowerBound * width, other.cells + others.lowerBound * width)
    guard memcmp(cells, otherCells, places.count * width) == 0 else { return false }
    if one.sparse != nil { return true }
    let words = rows.lowerBound / 64..<rows.upperBound / 64
    for word in words where one.presence[word] != other.presence[word] { return false }
    // A last word may have bits of rows behind the range.
    for row in words.upperBound * 64..<rows.upperBound where one.isPresent(row) != other.isPresent(row) { return false }
    return true
  }

  /// The places of cells of the same rows; nil if the columns have cells of others.
  private static func matchingPlaces(
    _ one: ColumnView, _ other: ColumnView, _ rows: Range<Int>
  ) -> (one: Range<Int>, other: Range<Int>)? {
    let (places, others) = (one.places(rows), other.places(rows))
    switch (one.sparse, other.sparse) {
    case (nil, nil): return (places, others)
    case (let one?, let other?): return one.hasSameRows(places, as: other, others) ? (places, others) : nil
    default: return nil
    }
  }

  /// Compares values that lie one behind the other in both heaps at once.
  private static func haveSameBytes(_ one: ColumnView, _ other: ColumnView, _ rows: Range<Int>) -> Bool {
    if let answer = one.hasSameBytes(as: other, in: rows) { return answer }
    guard let (places, others) = matchingPlaces(one, other, rows) else { return false }
    var start: UnsafePointer<UInt8>?
    var otherStart: UnsafePointer<UInt8>?
    var length = 0
    for (place, otherPlace) in zip(places, others) {
      guard let value = one.bytes(at: place), let otherValue = other.bytes(at: otherPlace) else {
        if (one.bytes(at: place) == nil) != (other.bytes(at: otherPlace) == nil) { return false }
        continue
      }
      guard value.count == otherValue.count else { return false }
      if value.isEmpty { continue }
      if let start, let otherStart, value.baseAddress == start + length, otherValue.baseAddress == otherStart + length {
        length += value.count
        continue
      }
      if let start, let otherStart, memcmp(start, otherStart, length) != 0 { return false }
      start = value.baseAddress
      otherStart = otherValue.baseAddress
      length = value.count
    }
    guard let start, let otherStart else { return true }
    return memcmp(start, otherStart, length) == 0
  }
}
