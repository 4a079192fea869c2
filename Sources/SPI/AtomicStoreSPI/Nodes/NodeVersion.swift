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
///
/// A version of an incremental store is a *window*: it has the rows that one context has read, and reads others when
/// they are asked for. A save of that context that deletes nothing is written into it, if all objects read it.
///
/// `@unchecked Sendable`: everything is immutable except a window. A window is created by a context, refers to that
/// context, and is reached through the context and its objects only, so it is used where they are.
package final class NodeVersion: @unchecked Sendable {
  private let fixed: NodeTable
  /// The part of an incremental store; nil for a version that has all nodes.
  private let window: NodeWindow?
  private let columns: [Column]
  /// The index of each entity's first column in ``columns``.
  private let starts: [Int]
  /// The columns for reads of single values; nil for a window, and while the format has values yet to supply.
  package let cells: NodeCells?
  /// Increases with each version that the process creates: of two versions of a store, the later one has the greater
  /// number.
  package let serial: UInt64
  private static let lastSerial = Atomic<UInt64>(0)
  /// The slots with values that the format has yet to supply, by entity; empty if there are none at all.
  private let deferredColumns: [Set<Int>]
  /// Data that a higher layer stores with a version, such as indexes.
  package let attachment = Mutex<(any NodeVersionAttachment)?>(nil)

  /// The table. For a window, the rows that were read so far.
  package var nodes: NodeTable { window?.nodes ?? fixed }
  /// Whether it is a part of an incremental store.
  package var isWindow: Bool { window != nil }
  package var model: ManagedObjectModel { fixed.model }

  /// Creates an empty window.
  package convenience init(windowFor model: ManagedObjectModel, source: any NodeWindowSource) {
    self.init(NodeWindow(model: model, source: source))
  }

  private init(_ window: NodeWindow) {
    fixed = NodeTable(model: window.nodes.model)
    self.window = window
    serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
    columns = []
    starts = []
    deferredColumns = []
    cells = nil
  }

  deinit { cells?.deallocate() }

  package init(_ nodes: NodeTable) {
    fixed = nodes
    window = nil
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
    cells = hasDeferred ? nil : NodeCells(columns, starts: starts, of: nodes)
  }

  /// Lets the attachment of the version that a save started from attach itself to this one.
  package func carryAttachment(from old: NodeVersion) {
    old.attachment.withLock { $0 }?.carry(from: old, to: self)
  }

  @inline(__always) private func column(_ slot: Int, _ node: NodeHandle) -> UnsafeMutablePointer<ColumnHeader> {
    if let window { return windowColumn(window, slot, node) }
    return columns[starts[node.entity] + slot].header
  }

  /// The column of a window, with the row's values.
  @inline(never) private func windowColumn(
    _ window: NodeWindow, _ slot: Int, _ node: NodeHandle
  ) -> UnsafeMutablePointer<ColumnHeader> {
    if !window.isFilled(node) { _ = window.fill(node) }
    if window.nodes.entities[node.entity].columns[slot].header.pointee.layout == .toMany {
      window.readToMany(slot: slot, of: node)
    }
    return window.header(slot, node)
  }

  /// A column as raw memory, for loops over all rows of an entity. Valid while the version is retained. Not for
  /// windows.
  package func column(entity: Int, slot: Int) -> ColumnView {
    ColumnView(columns[starts[entity] + slot].header, rows: fixed.entities[entity].count)
  }

  /// The references of an entity's rows as raw memory. Valid while the version is retained. Not for windows.
  package func references(entity: Int) -> ReferenceView { ReferenceView(fixed.entities[entity]) }

  /// Whether the format has yet to supply values of a column.
  package func hasDeferredValues(entity: Int, slot: Int) -> Bool {
    !deferredColumns.isEmpty && deferredColumns[entity].contains(slot)
  }

  /// Whether the format has yet to supply the slot's value.
  package func isDeferred(slot: Int, of node: NodeHandle) -> Bool {
    hasDeferredValues(entity: node.entity, slot: slot) && fixed.isDeferred(slot: slot, of: node)
  }

  /// The node of an object; nil if the store does not have it. A window asks the store.
  package func handle(for reference: ReferenceObject, root: Int) -> NodeHandle? {
    if let window { return window.handle(for: reference, root: root) }
    return fixed.lookups[root][reference]
  }

  package func reference(of node: NodeHandle) -> ReferenceObject {
    if let window { return window.nodes.entities[node.entity].reference(node.row) }
    return fixed.entities[node.entity].reference(node.row)
  }

  /// The number of rows in the entity's table. In a saved or loaded version, none is deleted.
  package func rowCount(of entity: Int) -> Int { window?.nodes.entities[entity].count ?? fixed.entities[entity].count }

  package func isNull(slot: Int, of node: NodeHandle) -> Bool { !column(slot, node).pointee.isPresent(node.row) }

  /// The value of an attribute, or a relationship as references.
  package func value(slot: Int, of node: NodeHandle) -> StoredValue {
    guard let window else { return fixed.value(slot: slot, of: node) }
    _ = column(slot, node)
    return window.nodes.value(slot: slot, of: node)
  }

  /// The value of an attribute of that type.
  package func attribute(slot: Int, type: AttributeType, of node: NodeHandle) -> StoredValue {
    let header = column(slot, node)
    let row = node.row
    guard header.pointee.isPresent(row) else { return .null }
    switch type.valueKind {
    case .string: return .string(String(decoding: header.pointee.bytes(row), as: UTF8.self))
    case .integer: return .integer(header.pointee.integer(row))
    case .boolean: return .boolean(header.pointee.cell(row, as: UInt8.self) != 0)
    case .double: return .double(Double(bitPattern: header.pointee.cell(row, as: UInt64.self)))
    case .float: return .float(Float(bitPattern: header.pointee.cell(row, as: UInt32.self)))
    case .date:
      return .date(
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: header.pointee.cell(row, as: UInt64.self))))
    default: return value(slot: slot, of: node)
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
    // What this window has not read cannot have changed for its context.
    if let window {
      if !window.isFilled(node) || slot.isToMany && !window.isKnown(slot: slot.index, node) { return false }
    }
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
      let a = UnsafeRawBufferPointer(start: one.pointee.cells + one.pointee.place(row) * width, count: width)
      let b = UnsafeRawBufferPointer(start: two.pointee.cells + two.pointee.place(otherRow) * width, count: width)
      return !a.elementsEqual(b)
    }
  }
}

// MARK: - Windows

extension NodeVersion {
  /// Whether a row's values were read. True in a version that has all nodes.
  package func isFilled(_ node: NodeHandle) -> Bool { window?.isFilled(node) ?? true }
  /// Whether a window has learned that its store does not have the object.
  package func isGone(_ node: NodeHandle) -> Bool { window?.isGone(node) ?? false }
  /// Whether a to-many was read. True in a version that has all nodes.
  package func isKnown(slot: Int, of node: NodeHandle) -> Bool { window?.isKnown(slot: slot, node) ?? true }
  /// Reads a placeholder row. False if the store does not have its object.
  package func fill(_ node: NodeHandle) -> Bool { window?.fill(node) ?? true }
  /// Has a row's values read again when they are next asked for.
  package func forget(_ node: NodeHandle) { window?.forget(node) }
  /// The same for an object that may not have been read, or was not there.
  package func forget(_ reference: ReferenceObject, root: Int) { window?.forget(reference, root: root) }
  /// Takes over rows that the store returned.
  ///
  /// - Parameter isInUse: Whether an object reads the values of a row that was read before: they are kept.
  package func take(_ rows: [StoreRow], isInUse: (NodeHandle) -> Bool) -> [NodeHandle] {
    guard let window else { return [] }
    window.beginRequest()
    return rows.map { row in
      let root = window.nodes.model.records[row.entity].root
      if let node = window.knownHandle(for: row.reference, root: root), node.entity == row.entity,
        window.isFilled(node), isInUse(node)
      {
        return node
      }
      return window.take(row)
    }
  }
  /// The node of an object that was read or led to, without asking the store.
  package func knownHandle(for reference: ReferenceObject, root: Int) -> NodeHandle? {
    window == nil ? handle(for: reference, root: root) : window?.knownHandle(for: reference, root: root)
  }
  /// The number of requests with which a window has read rows so far.
  package var requestCount: Int { window?.times.request ?? 0 }
  /// Whether a window has found a row unchanged, or read it again, after the first so many requests.
  package func isSeen(_ node: NodeHandle, after request: Int) -> Bool {
    window?.times.isSeen(node, after: request) ?? true
  }
  /// Whether a window has last found a row when another one had its present version already.
  package func isSeen(_ node: NodeHandle, inTimeOf other: NodeHandle) -> Bool {
    window?.times.isSeen(node, inTimeOf: other) ?? true
  }
  /// The row version of a node in a window.
  package func rowVersion(of node: NodeHandle) -> Int64? { window?.version(of: node) }
  /// Reads rows again. Returns another window if something has changed; nil if nothing has.
  package func renewed(_ nodes: [NodeHandle]) throws(PersistentStoreError) -> NodeVersion? {
    try window?.renewed(nodes).map { NodeVersion($0) }
  }
  /// The objects whose rows were read and lead to some objects by relationships without an inverse.
  package func rowsLeading(to objects: [ObjectReference]) -> [ObjectReference] {
    window?.rowsLeading(to: objects) ?? []
  }
  /// The window after a save: itself if everything that reads it may read what was saved, otherwise a copy.
  package func applying(
    _ save: StoreSave, versions: [(object: ObjectReference, version: Int64)]
  ) -> NodeVersion {
    guard let window else { return self }
    let result = window.appliesInPlace(save) ? window : NodeWindow(copying: window)
    result.apply(save, versions: versions)
    return result === window ? self : NodeVersion(result)
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
            entities[entity].own(slot, for: row, isRemoval: true).pointee.setNull(row)
            changed += 1
          }
        } else if layout == .toMany {
          let list = Array(header.pointee.handles(row))
          let kept = list.filter { contains(NodeHandle(bits: $0)) }
          if kept.count != list.count {
            _ = entities[entity].own(slot, for: row).pointee.setHandles(row, kept)
            changed += 1
          }
        }
      }
    }
    return changed
  }
}
