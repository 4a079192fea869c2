import FoundationEssentials
package import Synchronization

/// Data that a higher layer stores with a ``NodeVersion``, and carries over when a save creates a new version.
package protocol NodeVersionAttachment: AnyObject, Sendable {
  /// Called after a save, before the new version is read.
  ///
  /// - Parameters:
  ///   - old: The version that this is attached to.
  ///   - new: The version that the save created.
  func carry(from old: NodeVersion, to new: NodeVersion)
}

/// A table of nodes that no longer changes, with fast access to single values, for managed objects.
///
/// Each save creates a new version. An object keeps reading the version that it was fetched from, regardless of other
/// saves.
package final class NodeVersion: Sendable {
  package let nodes: NodeTable
  private let columns: [Column]
  /// The index of each entity's first column in ``columns``.
  private let starts: [Int]
  /// Increases with each version that the process creates: of two versions of a store, the later one has the greater
  /// number.
  package let serial: UInt64
  private static let lastSerial = Atomic<UInt64>(0)
  /// The slots with values that the format has yet to supply, by entity; empty if there are none at all.
  private let deferredColumns: [Set<Int>]
  /// Data that a higher layer stores with a version, such as indexes.
  package let attachment = Mutex<(any NodeVersionAttachment)?>(nil)

  package init(_ nodes: NodeTable) {
    self.nodes = nodes
    serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
    var columns: [Column] = []
    var starts: [Int] = []
    for table in nodes.entities {
      starts.append(columns.count)
      columns += table.columns
    }
    self.columns = columns
    self.starts = starts
    let hasDeferred = nodes.entities.contains { !$0.deferred.isEmpty }
    deferredColumns = hasDeferred ? nodes.entities.map { Set($0.deferred.lazy.map { Int($0 >> 32) }) } : []
  }

  /// Lets the attachment of the version that a save started from attach itself to this one.
  package func carryAttachment(from old: NodeVersion) {
    old.attachment.withLock { $0 }?.carry(from: old, to: self)
  }

  @inline(__always) private func column(_ slot: Int, _ node: NodeHandle) -> UnsafeMutablePointer<ColumnHeader> {
    columns[starts[node.entity] + slot].header
  }

  /// A column as raw memory, for loops over all rows of an entity. Valid while the version is retained.
  package func column(entity: Int, slot: Int) -> ColumnView {
    let header = columns[starts[entity] + slot].header
    return ColumnView(
      layout: ColumnView.Layout(header.pointee.layout), rows: nodes.entities[entity].count,
      cells: UnsafeRawPointer(header.pointee.cells), presence: UnsafePointer(header.pointee.presence),
      heap: UnsafeRawPointer(header.pointee.heap))
  }

  /// Whether the format has yet to supply values of a column.
  package func hasDeferredValues(entity: Int, slot: Int) -> Bool {
    !deferredColumns.isEmpty && deferredColumns[entity].contains(slot)
  }

  package func handle(for reference: ReferenceObject, root: Int) -> NodeHandle? { nodes.lookups[root][reference] }
  package func handle(for number: Int64, root: Int) -> NodeHandle? { nodes.lookups[root][number] }

  package func reference(of node: NodeHandle) -> ReferenceObject { nodes.entities[node.entity].reference(node.row) }

  /// The number of rows in the entity's table. In a saved or loaded version, none is deleted.
  package func rowCount(of entity: Int) -> Int { nodes.entities[entity].count }

  package func isNull(slot: Int, of node: NodeHandle) -> Bool { !column(slot, node).pointee.isPresent(node.row) }

  /// The value of an attribute, or a relationship as references.
  package func value(slot: Int, of node: NodeHandle) -> StoredValue { nodes.value(slot: slot, of: node) }

  /// The value of an attribute of that type.
  package func attribute(slot: Int, type: AttributeType, of node: NodeHandle) -> StoredValue {
    let header = column(slot, node)
    let row = node.row
    guard header.pointee.isPresent(row) else { return .null }
    switch type {
    case .string: return .string(String(decoding: header.pointee.bytes(row), as: UTF8.self))
    case .integer16: return .integer(Int64(header.pointee.cell(row, as: Int16.self)))
    case .integer32: return .integer(Int64(header.pointee.cell(row, as: Int32.self)))
    case .integer64: return .integer(header.pointee.cell(row, as: Int64.self))
    case .boolean: return .boolean(header.pointee.cell(row, as: UInt8.self) != 0)
    case .double: return .double(Double(bitPattern: header.pointee.cell(row, as: UInt64.self)))
    case .float: return .float(Float(bitPattern: header.pointee.cell(row, as: UInt32.self)))
    case .date:
      return .date(
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: header.pointee.cell(row, as: UInt64.self))))
    default: return nodes.value(slot: slot, of: node)
    }
  }

  package func toOne(slot: Int, of node: NodeHandle) -> NodeHandle? {
    let bits = column(slot, node).pointee.cell(node.row, as: UInt64.self)
    return bits == NodeHandle.nullBits ? nil : NodeHandle(bits: bits)
  }

  package func toManyCount(slot: Int, of node: NodeHandle) -> Int {
    column(slot, node).pointee.handles(node.row).count
  }

  /// Calls `body` with the nodes of a to-many. The pointer is valid inside `body` only.
  package func withToMany<Result>(
    slot: Int, of node: NodeHandle, _ body: (UnsafeBufferPointer<UInt64>) -> Result
  ) -> Result {
    withExtendedLifetime(self) { body(UnsafeBufferPointer(column(slot, node).pointee.handles(node.row))) }
  }

  /// Whether a node's value in a slot differs from that of a node of the same entity, possibly in another version.
  package func differs(slot: Slot, of node: NodeHandle, from other: NodeVersion, _ otherNode: NodeHandle) -> Bool {
    let one = column(slot.index, node)
    let two = other.column(slot.index, otherNode)
    let row = node.row
    let otherRow = otherNode.row
    if one == two, row == otherRow { return false }
    switch slot.kind {
    case .toOne:
      let a = toOne(slot: slot.index, of: node)
      let b = other.toOne(slot: slot.index, of: otherNode)
      guard let a, let b else { return (a == nil) != (b == nil) }
      return reference(of: a) != other.reference(of: b)
    case .toMany:
      let a = one.pointee.handles(row)
      let b = two.pointee.handles(otherRow)
      guard a.count == b.count else { return true }
      for index in 0..<a.count
      where reference(of: NodeHandle(bits: a[index])) != other.reference(of: NodeHandle(bits: b[index])) {
        return true
      }
      return false
    case .attribute:
      guard one.pointee.isPresent(row) == two.pointee.isPresent(otherRow) else { return true }
      guard one.pointee.isPresent(row) else { return false }
      if one.pointee.layout == .bytes {
        let a = one.pointee.bytes(row)
        let b = two.pointee.bytes(otherRow)
        return !a.elementsEqual(b)
      }
      let width = one.pointee.width
      let a = UnsafeRawBufferPointer(start: one.pointee.cells + row * width, count: width)
      let b = UnsafeRawBufferPointer(start: two.pointee.cells + otherRow * width, count: width)
      return !a.elementsEqual(b)
    }
  }
}

extension NodeHandle {
  /// The handle as one number: the element type of a version's lists.
  package var rawBits: UInt64 { bits }
  package init(rawBits: UInt64) { self.init(bits: rawBits) }
}

extension NodeTable {
  /// Clears the cells of the given slots of an entity that name removed nodes.
  ///
  /// - Returns: The number of changed cells.
  package mutating func removeDanglingReferences(entity: Int, slots: [Int]) -> Int {
    var changed = 0
    for slot in slots {
      let layout = entities[entity].columns[slot].header.pointee.layout
      for row in 0..<entities[entity].count where !entities[entity].isDeleted(row) {
        let header = entities[entity].columns[slot].header
        if layout == .toOne {
          let bits = header.pointee.cell(row, as: UInt64.self)
          if bits != NodeHandle.nullBits, !contains(NodeHandle(bits: bits)) {
            entities[entity].own(slot).pointee.setCell(row, NodeHandle.nullBits)
            changed += 1
          }
        } else if layout == .toMany {
          let list = Array(header.pointee.handles(row))
          let kept = list.filter { contains(NodeHandle(bits: $0)) }
          if kept.count != list.count {
            _ = entities[entity].own(slot).pointee.setHandles(row, kept)
            changed += 1
          }
        }
      }
    }
    return changed
  }
}

/// A column of a version, as raw memory.
package struct ColumnView {
  package enum Layout {
    case boolean, integer16, integer32, integer64, float, double, uuid, bytes, toOne, toMany
    init(_ layout: CellLayout) {
      switch layout {
      case .boolean: self = .boolean
      case .integer16: self = .integer16
      case .integer32: self = .integer32
      case .integer64: self = .integer64
      case .float: self = .float
      case .double: self = .double
      case .uuid: self = .uuid
      case .bytes: self = .bytes
      case .toOne: self = .toOne
      case .toMany: self = .toMany
      }
    }
  }
  package let layout: Layout
  package let rows: Int
  package let cells: UnsafeRawPointer
  package let presence: UnsafePointer<UInt64>
  package let heap: UnsafeRawPointer

  /// For cells of fixed width.
  @inline(__always) package func isPresent(_ row: Int) -> Bool { presence[row >> 6] & (1 << UInt64(row & 63)) != 0 }

  /// The bytes of a value of variable length; nil for null.
  @inline(__always) package func bytes(_ row: Int) -> UnsafeBufferPointer<UInt8>? {
    let place = cells.load(fromByteOffset: row &* 8, as: UInt64.self)
    let length = UInt32(truncatingIfNeeded: place >> 32)
    guard length != .max else { return nil }
    return UnsafeBufferPointer(
      start: (heap + Int(UInt32(truncatingIfNeeded: place))).assumingMemoryBound(to: UInt8.self), count: Int(length))
  }

  /// The handle of a to-one; all bits set for null.
  @inline(__always) package func handle(_ row: Int) -> UInt64 { cells.load(fromByteOffset: row &* 8, as: UInt64.self) }

  /// The handles of a to-many.
  @inline(__always) package func handles(_ row: Int) -> UnsafeBufferPointer<UInt64> {
    let place = cells.load(fromByteOffset: row &* 8, as: UInt64.self)
    let length = UInt32(truncatingIfNeeded: place >> 32)
    guard length != .max else { return UnsafeBufferPointer(start: nil, count: 0) }
    return UnsafeBufferPointer(
      start: (heap + Int(UInt32(truncatingIfNeeded: place)) &* 8).assumingMemoryBound(to: UInt64.self),
      count: Int(length))
  }
}
