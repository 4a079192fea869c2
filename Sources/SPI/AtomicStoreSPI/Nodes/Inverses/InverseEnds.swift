/// Compares the two ends of a pair of inverse relationships.
///
/// It reads only columns. An object that cannot be a destination of the other end, because that leads to a sub-entity,
/// cannot have a counterpart and is skipped.
struct InverseEnds {
  /// `source`, a node of one end's entity, names `target`.
  struct Link: Comparable {
    var source: UInt64
    var target: UInt64
    static func < (one: Link, other: Link) -> Bool { (one.source, one.target) < (other.source, other.target) }
  }
  /// The columns of the entities at an end. A hierarchy's entities have numbers near each other: there is no place for
  /// each entity of the model, of which there may be as many as there are relationships.
  struct Columns {
    typealias Header = UnsafeMutablePointer<ColumnHeader>
    private let first: Int
    private var headers: [Header?]

    init(_ columns: [(entity: Int, header: Header)]) {
      let (least, greatest) = (columns.map(\.entity).min() ?? 0, columns.map(\.entity).max() ?? -1)
      first = least
      headers = Array(repeating: nil, count: greatest - least + 1)
      for column in columns { headers[column.entity - least] = column.header }
    }

    /// Nil for an entity that cannot take part.
    @inline(__always) subscript(entity: Int) -> Header? {
      entity >= first && entity - first < headers.count ? headers[entity - first] : nil
    }
    var all: some Sequence<(entity: Int, header: Header)> {
      headers.indices.lazy.compactMap { index in headers[index].map { (first + index, $0) } }
    }
  }

  let model: ManagedObjectModel
  let tables: [EntityTable]

  /// The entities with rows whose nodes may be at this end: those that the other end may lead to.
  func entities(at end: InversePair.End, facing other: InversePair.End) -> [Int] {
    model.entity(at: other.destination).hierarchy.map(\.index).filter { tables[$0].count > 0 }
  }

  func columns(at end: InversePair.End, facing other: InversePair.End) -> Columns {
    Columns(entities(at: end, facing: other).map { ($0, tables[$0].columns[end.slot].header) })
  }

  // MARK: Whether the ends agree

  /// Whether the ends agree. Linear, and without additional memory except for many-to-many relationships. No row may be
  /// deleted.
  func agree(_ pair: InversePair) -> Bool {
    let first = columns(at: pair.first, facing: pair.second)
    let second = columns(at: pair.second, facing: pair.first)
    switch (pair.first.isToMany, pair.second.isToMany) {
    case (false, false): return agreeOneToOne(first, second)
    case (false, true): return agreeOneToMany(first, second)
    default: return agreeManyToMany(first, second)
    }
  }

  /// Each to-one that is set is confirmed by the other end, and both ends have the same number.
  private func agreeOneToOne(_ first: Columns, _ second: Columns) -> Bool {
    var count = 0
    for (entity, column) in first.all {
      for place in column.pointee.places(0..<tables[entity].count) {
        let bits = column.pointee.cell(at: place, as: UInt64.self)
        if bits == NodeHandle.nullBits { continue }
        let node = NodeHandle(bits: bits)
        let source = NodeHandle(entity: entity, row: column.pointee.row(at: place))
        guard let back = second[node.entity], back.pointee.cell(node.row, as: UInt64.self) == source.bits
        else { return false }
        count += 1
      }
    }
    return count == valueCount(second)
  }

  /// Each member names its owner, and the number of members is the number of objects that name an owner. So no member
  /// can be in two lists.
  private func agreeOneToMany(_ toOne: Columns, _ toMany: Columns) -> Bool {
    var count = 0
    for (entity, column) in toMany.all {
      for place in column.pointee.places(0..<tables[entity].count) {
        let owner = NodeHandle(entity: entity, row: column.pointee.row(at: place)).bits
        let members = column.pointee.handles(at: place)
        for index in members.indices {
          let member = NodeHandle(bits: members[index])
          guard let back = toOne[member.entity], back.pointee.cell(member.row, as: UInt64.self) == owner else {
            return false
          }
        }
        count += members.count
      }
    }
    return count == valueCount(toOne)
  }

  private func valueCount(_ toOne: Columns) -> Int {
    var count = 0
    for (entity, column) in toOne.all {
      count += column.pointee.valueCount(tables[entity].count)
    }
    return count
  }

  /// Both ends have the same pairs of nodes, in whatever order. Their digests are compared, which takes no memory and
  /// reads each list once.
  private func agreeManyToMany(_ first: Columns, _ second: Columns) -> Bool {
    var ends = (PairDigest(), PairDigest())
    return add(first, others: second, to: &ends.0) { ($0, $1) }
      && add(second, others: first, to: &ends.1) { ($1, $0) }
      && ends.0 == ends.1
  }

  /// Adds the pairs of an end; false if it names a node that cannot take part.
  @inline(__always) private func add(
    _ columns: Columns, others: Columns, to digest: inout PairDigest, _ pair: (UInt64, UInt64) -> (UInt64, UInt64)
  ) -> Bool {
    for (entity, column) in columns.all {
      for place in column.pointee.places(0..<tables[entity].count) {
        let node = NodeHandle(entity: entity, row: column.pointee.row(at: place)).bits
        for bits in column.pointee.handles(at: place) {
          guard others[NodeHandle(bits: bits).entity] != nil else { return false }
          let (one, other) = pair(node, bits)
          digest.add(one, other)
        }
      }
    }
    return true
  }

  // MARK: Where they do not

  /// The links of an end in ascending order, without deleted rows and without entities for which `isLeftOut` returns
  /// true.
  func links(
    at end: InversePair.End, facing other: InversePair.End, leavingOut isLeftOut: (Int) -> Bool = { _ in false }
  ) -> [Link] {
    var links: [Link] = []
    for entity in entities(at: end, facing: other) where !isLeftOut(entity) {
      let column = tables[entity].columns[end.slot].header
      for place in column.pointee.places(0..<tables[entity].count) {
        let row = column.pointee.row(at: place)
        if tables[entity].isDeleted(row) { continue }
        let source = NodeHandle(entity: entity, row: row).bits
        if end.isToMany {
          for bits in column.pointee.handles(at: place) { links.append(Link(source: source, target: bits)) }
        } else {
          let bits = column.pointee.cell(at: place, as: UInt64.self)
          if bits != NodeHandle.nullBits { links.append(Link(source: source, target: bits)) }
        }
      }
    }
    links.sort()
    return links
  }
}

extension [InverseEnds.Link] {
  /// The same links from the other end, in ascending order.
  var reversedLinks: [InverseEnds.Link] { map { .init(source: $0.target, target: $0.source) }.sorted() }

  /// Whether no two links are of the same source. The list must be in ascending order.
  var hasDistinctSources: Bool { indices.dropFirst().allSatisfy { self[$0 - 1].source != self[$0].source } }

  /// The links that are not in the other list. Both lists must be in ascending order.
  func subtracting(_ others: [InverseEnds.Link]) -> [InverseEnds.Link] {
    var result: [InverseEnds.Link] = []
    var place = 0
    for link in self {
      while place < others.count, others[place] < link { place += 1 }
      if place == others.count || others[place] != link { result.append(link) }
    }
    return result
  }
}
