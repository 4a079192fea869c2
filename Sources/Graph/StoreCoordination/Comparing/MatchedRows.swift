package import AtomicStoreSPI

/// The rows of two tables with the same references, in the order of references, and what only one of them has.
package struct MatchedRows {
  /// The number of objects that either table has.
  package let count: Int
  /// The rows of the first table and, at the same places, those of the second; ``none`` where a table does not have the
  /// object. Both empty if all rows match in order, as is usual.
  private let ours: [UInt32]
  private let theirs: [UInt32]
  /// Whether row n of one table has the reference of row n of the other, for all rows.
  package var isIdentity: Bool { ours.isEmpty && theirs.isEmpty }

  package static let none = UInt32.max

  /// Matches the objects of two entities; nil for an entity that one side does not have.
  package init(_ one: EntityReader?, _ other: EntityReader?) {
    if let one, let other, Self.haveSameReferences(one, other) {
      count = one.count
      ours = []
      theirs = []
      return
    }
    let left = one.map { Self.rows($0) } ?? []
    let right = other.map { Self.rows($0) } ?? []
    var ours: [UInt32] = []
    var theirs: [UInt32] = []
    ours.reserveCapacity(max(left.count, right.count))
    theirs.reserveCapacity(max(left.count, right.count))
    var here = 0
    var there = 0
    while here < left.count || there < right.count {
      var order = here < left.count ? -1 : 1
      if here < left.count, there < right.count, let one, let other {
        order = one.references.order(Int(left[here]), other.references, Int(right[there]))
      }
      ours.append(order <= 0 ? left[here] : Self.none)
      theirs.append(order >= 0 ? right[there] : Self.none)
      if order <= 0 { here += 1 }
      if order >= 0 { there += 1 }
    }
    count = ours.count
    self.ours = ours
    self.theirs = theirs
  }

  /// Matches each row of two tables with as many rows with the row of the same number.
  init(identityOf count: Int) {
    self.count = count
    (ours, theirs) = ([], [])
  }

  /// Matches each row of the first table with the row of the second at the same place, or with ``none``.
  ///
  /// - Parameter others: The number of rows of the second table, if those that match none are listed, too: behind the
  ///   others.
  package init(_ rows: [UInt32], others: Int = 0) {
    var theirs = rows
    var isMatched = [Bool](repeating: false, count: others)
    for row in rows where row != Self.none && row < others { isMatched[Int(row)] = true }
    for row in isMatched.indices where !isMatched[row] { theirs.append(UInt32(truncatingIfNeeded: row)) }
    count = theirs.count
    ours = Array(0..<UInt32(truncatingIfNeeded: rows.count)) + Array(repeating: Self.none, count: count - rows.count)
    self.theirs = theirs
  }

  /// The rows at a place; nil for what a table does not have.
  package func rows(at place: Int) -> (one: Int?, other: Int?) {
    if isIdentity { return (place, place) }
    return (
      ours[place] == Self.none ? nil : Int(ours[place]), theirs[place] == Self.none ? nil : Int(theirs[place])
    )
  }

  /// Calls `body` with the rows at each of some places at which both tables have the object.
  @inline(__always) func forEachMatch(
    at places: Range<Int>, _ body: (_ place: Int, _ row: Int, _ otherRow: Int) -> Void
  ) {
    if isIdentity {
      for place in places { body(place, place, place) }
      return
    }
    ours.withUnsafeBufferPointer { ours in
      theirs.withUnsafeBufferPointer { theirs in
        for place in places where ours[place] != Self.none && theirs[place] != Self.none {
          body(place, Int(ours[place]), Int(theirs[place]))
        }
      }
    }
  }

  /// Whether only one table has the object at a place.
  func isOfOne(_ place: Int) -> Bool { !isIdentity && (ours[place] == Self.none || theirs[place] == Self.none) }

  /// Calls `body` with the rows of the second table by those of the first.
  package func forEachMatch(_ body: (_ row: Int, _ otherRow: UInt32) -> Void) {
    for place in ours.indices where ours[place] != Self.none { body(Int(ours[place]), theirs[place]) }
  }

  private static func haveSameReferences(_ one: EntityReader, _ other: EntityReader) -> Bool {
    guard one.isCanonical, other.isCanonical, one.count == other.count else { return false }
    let left = one.references
    let right = other.references
    return withExtendedLifetime((one, other)) {
      // Graphs may share the column.
      if left.numbers == right.numbers, !left.hasTexts, !right.hasTexts { return true }
      if !left.hasTexts, !right.hasTexts {
        for row in 0..<left.rows where left.number(row) != right.number(row) { return false }
      } else {
        for row in 0..<left.rows where left.order(row, right, row) != 0 { return false }
      }
      return true
    }
  }

  /// The rows of a table in the order of references.
  private static func rows(_ reader: EntityReader) -> [UInt32] {
    let all = (0..<UInt32(truncatingIfNeeded: reader.count))
    if reader.isCanonical { return Array(all) }
    let references = reader.references
    return withExtendedLifetime(reader) {
      var rows = all.filter { !reader.isDeleted(row: Int($0)) }
      if references.hasTexts {
        rows.sort { references.order(Int($0), references, Int($1)) < 0 }
      } else {
        NumberSort.sort(&rows) { references.number(Int($0)) }
      }
      return rows
    }
  }
}

/// Which row of the second graph is the object of each row of the first: what relationships are compared by.
package final class RowTranslation {
  /// The entity of the second graph in the upper half of a handle's bits; all bits set if there is none.
  private let entities: UnsafeMutablePointer<UInt64>
  /// The rows of the second graph by those of the first; nil where they are the same.
  private let rows: UnsafeMutablePointer<UnsafeMutablePointer<UInt32>?>
  private let count: Int

  /// Creates a translation of nothing, for that many entities.
  package init(entities count: Int) {
    self.count = count
    entities = .allocate(capacity: max(count, 1))
    entities.initialize(repeating: .max, count: count)
    rows = .allocate(capacity: max(count, 1))
    rows.initialize(repeating: nil, count: count)
  }

  deinit {
    for entity in 0..<count { rows[entity]?.deallocate() }
    entities.deallocate()
    rows.deallocate()
  }

  /// Sets which entity of the second graph is one of the first, and which rows have the same references.
  package func set(_ entity: Int, to other: Int, _ matches: MatchedRows, rowCount: Int) {
    entities[entity] = NodeHandle(entity: other, row: 0).rawBits
    guard !matches.isIdentity else { return }
    let target = UnsafeMutablePointer<UInt32>.allocate(capacity: max(rowCount, 1))
    target.initialize(repeating: MatchedRows.none, count: rowCount)
    matches.forEachMatch { target[$0] = $1 }
    rows[entity] = target
  }

  package static let null = UInt64.max

  /// Whether each handle is translated to itself.
  var isIdentity: Bool {
    (0..<count).allSatisfy { rows[$0] == nil && entities[$0] == NodeHandle(entity: $0, row: 0).rawBits }
  }

  /// The handle in the second graph of a handle in the first; ``null`` if the second graph does not have the object.
  @inline(__always) package func translated(_ bits: UInt64) -> UInt64 {
    let entity = Int(truncatingIfNeeded: bits >> 32)
    let base = entities[entity]
    guard base != .max else { return Self.null }
    let row = UInt32(truncatingIfNeeded: bits)
    guard let rows = rows[entity] else { return base | UInt64(row) }
    let target = rows[Int(row)]
    return target == MatchedRows.none ? Self.null : base | UInt64(target)
  }
}
