import AtomicStoreSPI

/// The pairs of one to-many relationship as a table holds them: the owner's key, the member's, and where order counts
/// the order key.
struct MemberList {
  /// The entity that declares the relationship, and the slot in it.
  let entity: Int
  let slot: Int
  let isOrdered: Bool
  var owners: [Int64] = []
  var members: [Int64] = []
  /// As many as pairs where the relationship is ordered, none where it is not.
  var orderKeys: [Int64] = []

  init(entity: Int, slot: Int, isOrdered: Bool) {
    self.entity = entity
    self.slot = slot
    self.isOrdered = isOrdered
  }

  mutating func reserve(_ count: Int) {
    owners.reserveCapacity(count)
    members.reserveCapacity(count)
    if isOrdered { orderKeys.reserveCapacity(count) }
  }

  @inline(__always) mutating func append(owner: Int64, member: Int64, orderKey: Int64) {
    owners.append(owner)
    members.append(member)
    if isOrdered { orderKeys.append(orderKey) }
  }

  /// Adds the pairs of a list of the same relationship.
  mutating func append(_ other: MemberList) {
    owners += other.owners
    members += other.members
    orderKeys += other.orderKeys
  }

  /// Puts the members into the owners' slots. A pair whose owner is not there is skipped: its other end names an
  /// object that does not exist, and says so.
  func fill(_ nodes: NodeTableBuilder, _ lookups: [Int: KeyLookup]) throws(PersistentStoreError) {
    let model = nodes.model
    let declarer = model.entity(at: entity)
    guard !owners.isEmpty, let lookup = lookups[declarer.root.index] else { return }
    let hierarchy = declarer.hierarchy.map(\.index)
    var isOwner = [Bool](repeating: false, count: model.entityCount)
    for index in hierarchy { isOwner[index] = true }
    // How many each owner has, then where its members begin, then the members.
    var counts: [[UInt32]] = (0..<model.entityCount).map {
      isOwner[$0] ? Array(repeating: 0, count: nodes.count(of: $0)) : []
    }
    var places: [NodeHandle?] = []
    places.reserveCapacity(owners.count)
    for owner in owners {
      let node = lookup[owner].flatMap { isOwner[$0.entity] ? $0 : nil }
      places.append(node)
      if let node { counts[node.entity][node.row] += 1 }
    }
    for index in hierarchy where !counts[index].isEmpty {
      var starts = [Int](repeating: 0, count: counts[index].count)
      var total = 0
      for row in starts.indices {
        starts[row] = total
        total += Int(counts[index][row])
      }
      guard total > 0 else { continue }
      var references = [Int64](repeating: 0, count: total)
      var keys = isOrdered ? [Int64](repeating: 0, count: total) : []
      var next = starts
      for pair in owners.indices {
        guard let node = places[pair], node.entity == index else { continue }
        references[next[node.row]] = members[pair]
        if isOrdered { keys[next[node.row]] = orderKeys[pair] }
        next[node.row] += 1
      }
      if isOrdered { Self.sort(&references, by: keys, starts: starts, counts: counts[index]) }
      let own = counts[index]
      try nodes.fillToMany(entity: index, slot: slot, counts: own.span, references: references.span)
    }
  }

  /// Brings each owner's members into the order of their keys; where two are equal, as they were.
  private static func sort(_ references: inout [Int64], by keys: [Int64], starts: [Int], counts: [UInt32]) {
    for (start, count) in zip(starts, counts) where count > 1 {
      let range = start..<start + Int(count)
      // Rows mostly come in the order in which they were put into a list.
      if range.dropFirst().allSatisfy({ keys[$0 - 1] <= keys[$0] }) { continue }
      let order = range.sorted { (keys[$0], $0) < (keys[$1], $1) }
      let sorted = order.map { references[$0] }
      references.replaceSubrange(range, with: sorted)
    }
  }
}

/// The rows of one root entity's table by their keys.
struct KeyLookup {
  private var keys: [Int64] = []
  private var nodes: [NodeHandle] = []
  /// By key less the first one, where keys are dense: the position among ``nodes``; ``absent`` where there is no row.
  private var table: [UInt32] = []
  private static let absent = UInt32.max

  var isEmpty: Bool { keys.isEmpty }
  var count: Int { keys.count }
  var firstKey: Int64? { keys.first }
  var lastKey: Int64? { keys.last }

  mutating func reserve(_ count: Int) {
    keys.reserveCapacity(count)
    nodes.reserveCapacity(count)
  }

  /// Adds a row. Keys ascend.
  @inline(__always) mutating func append(_ key: Int64, _ node: NodeHandle) {
    keys.append(key)
    nodes.append(node)
  }

  /// Adds the rows of a part, whose keys are greater than all others.
  ///
  /// - Parameter rows: The number of rows of each entity before it, to which those of the part are added.
  mutating func append(_ part: KeyLookup, startingAt rows: inout [Int]) {
    keys += part.keys
    for node in part.nodes { nodes.append(NodeHandle(entity: node.entity, row: node.row + rows[node.entity])) }
    for node in part.nodes { rows[node.entity] += 1 }
  }

  mutating func seal() {
    guard let first = keys.first, let last = keys.last else { return }
    let (width, overflow) = last.subtractingReportingOverflow(first)
    guard !overflow, width < Int64(keys.count) * 4, keys.count < Self.absent else { return }
    table = Array(repeating: Self.absent, count: Int(width) + 1)
    for (position, key) in keys.enumerated() { table[Int(key - first)] = UInt32(truncatingIfNeeded: position) }
  }

  subscript(key: Int64) -> NodeHandle? {
    guard let first = keys.first, let last = keys.last, key >= first, key <= last else { return nil }
    if !table.isEmpty {
      let position = table[Int(key - first)]
      return position == Self.absent ? nil : nodes[Int(position)]
    }
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low < keys.count && keys[low] == key ? nodes[low] : nil
  }
}
