/// Checks that the changes of a save agree at both ends of every relationship with an inverse.
///
/// It compares rows of a table with their previous state, so its cost depends only on the changed rows: an object added
/// to a row must lead back to it, a removed one must not. Earlier contradictions in unchanged rows are not checked.
package struct ChangedRowsInverseCheck {
  /// Two ends that disagree.
  package struct Disagreement {
    package let node: NodeHandle
    package let slot: Int
    package let other: NodeHandle
    package let otherSlot: Int
    /// True if `node` names `other` and is not named back; false if it is named and no longer names `other`.
    package let isNaming: Bool
  }
  private struct End: Hashable {
    let node: UInt64
    let slot: Int
  }

  private let old: NodeTable
  private let new: NodeTable
  /// By entity, the relationships with an inverse whose columns are not those of both tables, and so may have changed.
  private let changed: [[Int]]
  /// Hash sets of the long lists that were searched.
  private var members: [End: Set<UInt64>] = [:]

  /// - Parameter old: The table from which `new` was derived by changes that preserve its handles.
  package init(old: NodeTable, new: NodeTable) {
    self.old = old
    self.new = new
    changed = new.model.records.indices.map { entity in
      let columns = (old.entities[entity].columns, new.entities[entity].columns)
      let slots = new.model.records[entity].slots
      return slots.indices.filter {
        slots[$0].inverseSlot != nil && columns.0[$0].header != columns.1[$0].header
      }
    }
  }

  /// The first contradiction of a new or changed node, or nil.
  package mutating func disagreement(of node: NodeHandle) -> Disagreement? {
    let isNew = node.row >= old.entities[node.entity].count
    for slot in changed[node.entity] {
      let after = new.entities[node.entity].columns[slot].header
      let before = isNew ? nil : old.entities[node.entity].columns[slot].header
      let found: Disagreement? =
        after.pointee.layout == .toOne
        ? changedToOne(node, slot, before, after) : changedToMany(node, slot, before, after)
      if let found { return found }
    }
    return nil
  }

  private mutating func changedToOne(
    _ node: NodeHandle, _ slot: Int, _ before: UnsafeMutablePointer<ColumnHeader>?,
    _ after: UnsafeMutablePointer<ColumnHeader>
  ) -> Disagreement? {
    let now = after.pointee.cell(node.row, as: UInt64.self)
    let was = before?.pointee.cell(node.row, as: UInt64.self) ?? NodeHandle.nullBits
    if now == was { return nil }
    if now != NodeHandle.nullBits, let found = gained(node, slot, now) { return found }
    return was == NodeHandle.nullBits ? nil : lost(node, slot, was)
  }

  private mutating func changedToMany(
    _ node: NodeHandle, _ slot: Int, _ before: UnsafeMutablePointer<ColumnHeader>?,
    _ after: UnsafeMutablePointer<ColumnHeader>
  ) -> Disagreement? {
    var now = UnsafeBufferPointer(after.pointee.handles(node.row))[...]
    var was = UnsafeBufferPointer(
      before?.pointee.handles(node.row) ?? UnsafeMutableBufferPointer(start: nil, count: 0))[...]
    // Most of a long list is unchanged.
    while let one = now.first, one == was.first {
      now = now.dropFirst()
      was = was.dropFirst()
    }
    while let one = now.last, one == was.last {
      now = now.dropLast()
      was = was.dropLast()
    }
    if was.isEmpty {
      for bits in now { if let found = gained(node, slot, bits) { return found } }
      return nil
    }
    let nowSet = Set(now)
    let wasSet = Set(was)
    for bits in now where !wasSet.contains(bits) { if let found = gained(node, slot, bits) { return found } }
    for bits in was where !nowSet.contains(bits) { if let found = lost(node, slot, bits) { return found } }
    return nil
  }

  private mutating func gained(_ node: NodeHandle, _ slot: Int, _ bits: UInt64) -> Disagreement? {
    guard let inverse = new.model.records[node.entity].slots[slot].inverseSlot else { return nil }
    if leads(bits, inverse, to: node) { return nil }
    return Disagreement(node: node, slot: slot, other: NodeHandle(bits: bits), otherSlot: inverse, isNaming: true)
  }

  private mutating func lost(_ node: NodeHandle, _ slot: Int, _ bits: UInt64) -> Disagreement? {
    guard let inverse = new.model.records[node.entity].slots[slot].inverseSlot else { return nil }
    guard new.contains(NodeHandle(bits: bits)), leads(bits, inverse, to: node) else { return nil }
    return Disagreement(node: node, slot: slot, other: NodeHandle(bits: bits), otherSlot: inverse, isNaming: false)
  }

  private mutating func leads(_ bits: UInt64, _ slot: Int, to node: NodeHandle) -> Bool {
    let holder = NodeHandle(bits: bits)
    let header = new.entities[holder.entity].columns[slot].header
    if header.pointee.layout == .toOne { return header.pointee.cell(holder.row, as: UInt64.self) == node.bits }
    let list = header.pointee.handles(holder.row)
    if list.count <= 32 { return list.contains(node.bits) }
    let end = End(node: bits, slot: slot)
    if let known = members[end] { return known.contains(node.bits) }
    let set = Set(list)
    members[end] = set
    return set.contains(node.bits)
  }
}
