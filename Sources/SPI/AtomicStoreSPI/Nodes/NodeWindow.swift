/// Where a window gets the rows that it does not have yet.
package protocol NodeWindowSource: AnyObject {
  /// The rows with those references; what the store does not have is left out.
  func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow]
  /// The destinations of a to-many, for each owner.
  func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]]
  /// Whether all objects that have read their values read the present window.
  var isOnlyWindow: Bool { get }
  /// Called when a value was read that could not be supplied: its reader goes on with null.
  func failed(_ error: PersistentStoreError)
}

/// The part of a store that one context has read: a table that gets further rows, and the values of to-manys, when they
/// are asked for.
///
/// A row is a *placeholder* until its values are read: what leads to an object needs only its entity and reference.
/// Rows are only ever added, so handles stay valid; a row whose object the store no longer has stays a placeholder.
final class NodeWindow {
  private(set) var nodes: NodeTable
  /// By entity: the rows whose values were read.
  private var filled: [RowBits]
  /// By entity: the rows whose objects the store does not have.
  private var gone: [RowBits]
  /// By entity and slot: the rows whose to-many was read.
  private var known: [[Int: RowBits]]
  private var versions: [[Int64]]
  private var absent: Set<AbsentObject> = []
  /// When rows were read.
  private(set) var times: NodeReadTimes
  /// The context's cache; nil after the context has ended.
  weak var source: (any NodeWindowSource)?
  /// How many placeholder rows are read at once when one of them is needed.
  static let batch = 500

  struct AbsentObject: Hashable {
    var root: Int
    var reference: ReferenceObject
  }

  init(model: ManagedObjectModel, source: any NodeWindowSource) {
    nodes = NodeTable(model: model)
    filled = Array(repeating: RowBits(), count: model.entityCount)
    gone = filled
    known = Array(repeating: [:], count: model.entityCount)
    versions = Array(repeating: [], count: model.entityCount)
    times = NodeReadTimes(model)
    self.source = source
  }

  /// A copy that grows on its own.
  init(copying other: NodeWindow) {
    // Columns are copied when one of the two writes to them.
    nodes = other.nodes
    filled = other.filled
    gone = other.gone
    known = other.known
    versions = other.versions
    times = other.times
    source = other.source
  }

  // MARK: Reading

  @inline(__always) func header(_ slot: Int, _ node: NodeHandle) -> UnsafeMutablePointer<ColumnHeader> {
    nodes.entities[node.entity].columns[slot].header
  }

  /// The column, copied first if another window has it too.
  func ownColumn(_ slot: Int, _ node: NodeHandle) -> UnsafeMutablePointer<ColumnHeader> {
    nodes.entities[node.entity].own(slot, for: node.row)
  }

  func isFilled(_ node: NodeHandle) -> Bool { filled[node.entity][node.row] }
  func isGone(_ node: NodeHandle) -> Bool { gone[node.entity][node.row] }
  func isKnown(slot: Int, _ node: NodeHandle) -> Bool { known[node.entity][slot]?[node.row] ?? false }
  func version(of node: NodeHandle) -> Int64 {
    node.row < versions[node.entity].count ? versions[node.entity][node.row] : 0
  }

  /// The node of an object that the store has; nil if it does not have it.
  func handle(for reference: ReferenceObject, root: Int) -> NodeHandle? {
    if let node = nodes.lookups[root][reference] { return fill(node) ? node : nil }
    guard !absent.contains(AbsentObject(root: root, reference: reference)), let source else { return nil }
    do throws(PersistentStoreError) {
      times.beginRequest()
      guard let row = try source.rows([reference], root: root).first else {
        absent.insert(AbsentObject(root: root, reference: reference))
        return nil
      }
      return take(row)
    } catch {
      source.failed(error)
      return nil
    }
  }

  /// The node of an object, without asking the store.
  func knownHandle(for reference: ReferenceObject, root: Int) -> NodeHandle? { nodes.lookups[root][reference] }

  /// Reads the values of a placeholder row, and of others near it. False if the store does not have the object.
  func fill(_ node: NodeHandle) -> Bool {
    if filled[node.entity][node.row] { return true }
    if gone[node.entity][node.row] { return false }
    guard let source else { return false }
    var wanted: [NodeHandle] = []
    let table = nodes.entities[node.entity]
    var row = node.row
    while wanted.count < Self.batch, row < min(table.count, node.row + Self.batch * 4) {
      if !filled[node.entity][row], !gone[node.entity][row], !table.isDeleted(row) {
        wanted.append(NodeHandle(entity: node.entity, row: row))
      }
      row += 1
    }
    do throws(PersistentStoreError) {
      do throws(PersistentStoreError) { try read(wanted, from: source) } catch {
        // A neighbor that cannot be read does not make this one unreadable.
        guard wanted.count > 1 else { throw error }
        try read([node], from: source)
      }
    } catch {
      source.failed(error)
      return false
    }
    return filled[node.entity][node.row]
  }

  /// Reads rows of one entity again, placeholders or not.
  private func read(_ wanted: [NodeHandle], from source: any NodeWindowSource) throws(PersistentStoreError) {
    guard let first = wanted.first else { return }
    let root = nodes.model.records[first.entity].root
    times.beginRequest()
    for row in try source.rows(wanted.map { nodes.reference(of: $0) }, root: root) { take(row) }
    for node in wanted where !filled[node.entity][node.row] { gone[node.entity][node.row] = true }
  }

  /// Reads a to-many, and that of others near it.
  func readToMany(slot: Int, of node: NodeHandle) {
    guard !isKnown(slot: slot, node), let source else { return }
    var wanted: [NodeHandle] = []
    var row = node.row
    while wanted.count < Self.batch, row < min(nodes.entities[node.entity].count, node.row + Self.batch * 4) {
      let next = NodeHandle(entity: node.entity, row: row)
      if row == node.row || filled[node.entity][row] && !isKnown(slot: slot, next) { wanted.append(next) }
      row += 1
    }
    do throws(PersistentStoreError) {
      let lists = try source.related(wanted.map { nodes.reference(of: $0) }, slot: slot, entity: node.entity)
      for (owner, list) in zip(wanted, lists) { try setList(list, slot: slot, of: owner) }
    } catch {
      source.failed(error)
    }
  }

  // MARK: Growing

  /// The node of an object that something leads to, created as a placeholder if there is none.
  func placeholderRow(_ reference: ReferenceObject, entity: Int) -> NodeHandle {
    let root = nodes.model.records[entity].root
    if let node = nodes.lookups[root][reference] { return node }
    let node = NodeHandle(entity: entity, row: nodes.entities[entity].count)
    nodes.entities[entity].isCanonical = false
    _ = nodes.entities[entity].appendRow(reference)
    _ = nodes.lookups[root].insert(reference, node)
    return node
  }

  /// Sets the values of a row as the store has them.
  @discardableResult
  func take(_ row: StoreRow) -> NodeHandle {
    let root = nodes.model.records[row.entity].root
    if let known = nodes.lookups[root][row.reference], known.entity != row.entity {
      // What led to it named a super-entity, or the object is another one by now.
      nodes.remove(known)
      gone[known.entity][known.row] = true
    }
    absent.remove(AbsentObject(root: root, reference: row.reference))
    let node = placeholderRow(row.reference, entity: row.entity)
    for slot in nodes.model.records[row.entity].slots {
      let value = row.values[slot.index] ?? .null
      switch slot.kind {
      case .attribute(let type):
        let header = ownColumn(slot.index, node)
        let replaced = header.pointee.heapLength(node.row)
        if value.isNull || !type.accepts(value) {
          header.pointee.setNull(node.row)
        } else if !header.pointee.store(value, row: node.row, type: type) {
          source?.failed(.columnFull(StoreLocation(entity: row.entityName(in: nodes.model), property: slot.name)))
        }
        header.pointee.waste(replaced)
      case .toOne:
        var bits = NodeHandle.nullBits
        if case .toOne(let other) = value, let entity = nodes.model.entity(named: other.entityName) {
          bits = placeholderRow(other.reference, entity: entity.index).bits
        }
        // The row may have been appended to the same table: look the column up afterwards.
        ownColumn(slot.index, node).pointee.setHandle(node.row, bits)
      case .toMany:
        if case .toMany(let list) = value {
          try? setList(list, slot: slot.index, of: node)
        } else {
          known[row.entity][slot.index]?[node.row] = false
        }
      }
    }
    times.note(node, isUnchanged: version(of: node) == row.version)
    filled[node.entity][node.row] = true
    gone[node.entity][node.row] = false
    setVersion(row.version, of: node)
    return node
  }

  func setVersion(_ version: Int64, of node: NodeHandle) {
    if versions[node.entity].count <= node.row {
      versions[node.entity] += [Int64](repeating: 0, count: node.row + 1 - versions[node.entity].count)
    }
    versions[node.entity][node.row] = version
  }

  func setList(_ list: [ObjectReference], slot: Int, of node: NodeHandle) throws(PersistentStoreError) {
    var bits: [UInt64] = []
    bits.reserveCapacity(list.count)
    for other in list {
      guard let entity = nodes.model.entity(named: other.entityName) else { continue }
      bits.append(placeholderRow(other.reference, entity: entity.index).bits)
    }
    let header = ownColumn(slot, node)
    let replaced = header.pointee.heapLength(node.row)
    guard header.pointee.setHandles(node.row, bits) else { throw .columnFull(StoreLocation()) }
    header.pointee.waste(replaced)
    known[node.entity][slot, default: RowBits()][node.row] = true
  }

  /// As ``forget(_:)``; an object that was not there is looked for again.
  func forget(_ reference: ReferenceObject, root: Int) {
    absent.remove(AbsentObject(root: root, reference: reference))
    guard let node = nodes.lookups[root][reference] else { return }
    gone[node.entity][node.row] = false
    forget(node)
  }

  /// To be called before rows of one answer of the store are taken.
  func beginRequest() { times.beginRequest() }

  /// Makes a row a placeholder again, so that its values are read again.
  func forget(_ node: NodeHandle) {
    filled[node.entity][node.row] = false
    for slot in known[node.entity].keys { known[node.entity][slot]?[node.row] = false }
  }

  // MARK: Comparing with the store

  /// Reads rows again. Returns a window with what has changed, or nil if nothing has.
  ///
  /// To-manys that were read are read again for rows that have changed.
  func renewed(_ wanted: [NodeHandle]) throws(PersistentStoreError) -> NodeWindow? {
    guard let source else { return nil }
    var fresh: NodeWindow?
    let byRoot = Dictionary(grouping: wanted.filter { isFilled($0) }) { nodes.model.records[$0.entity].root }
    for root in byRoot.keys.sorted() {
      let asked = byRoot[root] ?? []
      (fresh ?? self).times.beginRequest()
      let rows = try source.rows(asked.map { nodes.reference(of: $0) }, root: root)
      var found: [ReferenceObject: StoreRow] = [:]
      for row in rows { found[row.reference] = row }
      for node in asked {
        let reference = nodes.reference(of: node)
        let row = found[reference]
        if let row, row.entity == node.entity, row.version == version(of: node) {
          (fresh ?? self).times.note(node, isUnchanged: true)
          continue
        }
        let window = fresh ?? NodeWindow(copying: self)
        fresh = window
        guard let row else {
          window.drop(node)
          continue
        }
        window.take(row)
        for slot in known[node.entity].keys.sorted() where isKnown(slot: slot, node) {
          let lists = try source.related([reference], slot: slot, entity: row.entity)
          if let list = lists.first { try window.setList(list, slot: slot, of: node) }
        }
      }
    }
    return fresh
  }

  /// Removes a row whose object the store no longer has.
  func drop(_ node: NodeHandle) {
    let reference = nodes.reference(of: node)
    let root = nodes.model.records[node.entity].root
    nodes.remove(node)
    filled[node.entity][node.row] = false
    gone[node.entity][node.row] = true
    absent.insert(AbsentObject(root: root, reference: reference))
  }
}

extension StoreRow {
  fileprivate func entityName(in model: ManagedObjectModel) -> String { model.records[entity].description.name }
}
