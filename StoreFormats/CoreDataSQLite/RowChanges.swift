import AtomicStoreSPI

/// What is different in the rows of a store between two graphs of its objects, which have models with the same
/// entities and slots.
struct RowChanges {
  /// The row of an object that is in both.
  struct Row {
    let key: Int64
    /// In the graph after the change.
    let node: NodeHandle
    /// The attributes and to-ones that differ. Empty if only to-manys do.
    let slots: [Int]
  }
  struct Table {
    var inserted: [NodeHandle] = []
    var deleted: [Int64] = []
    var updated: [Row] = []
    var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && updated.isEmpty }
  }
  /// A to-many, by the entity that declares it.
  struct ListID: Hashable {
    let entity: Int
    let slot: Int
  }
  /// The members of one object's to-many, by their keys.
  struct List {
    let owner: Int64
    let before: [Int64]
    let after: [Int64]
  }

  /// By the root entity's index.
  private(set) var tables: [Int: Table] = [:]
  /// To-manys with other members, or with members in another order where that is kept.
  private(set) var lists: [ListID: [List]] = [:]

  /// - Throws: `.unsupportedByFormat` for an object whose reference is a text, `.notSupported` for one that has another
  ///   entity than before.
  init(from before: NodeTable, to after: NodeTable, _ layout: DatabaseLayout, file: String)
    throws(PersistentStoreError)
  {
    let (old, new) = (Side(before), Side(after))
    for entity in after.model.entities where !entity.isAbstract {
      var declarers: [Int: Int] = [:]
      for slot in entity.slots where slot.isToMany {
        declarers[slot.index] = layout.declarer(of: slot.index, in: entity).index
      }
      let root = entity.root.index
      let (oldReader, newReader) = (before.reader(of: entity.index), after.reader(of: entity.index))
      for row in 0..<newReader.count {
        let node = NodeHandle(entity: entity.index, row: row)
        guard let key = newReader.integerReference(row: row) else {
          throw PersistentStoreError(
            .unsupportedByFormat, "a key of a Core Data store is a number",
            at: StoreLocation(
              file: file, entity: entity.name, reference: newReader.reference(row: row).description))
        }
        let known = before.handle(for: .integer(key), entity: entity.index)
        if let known, known.entity != node.entity {
          throw PersistentStoreError(
            .notSupported,
            "\(before.objectReference(of: known)) would become \(entity.name)/\(key), but the row of an object keeps its entity: name another type for the result",
            at: StoreLocation(file: file, entity: entity.name, reference: String(key)))
        }
        if known == nil { tables[root, default: Table()].inserted.append(node) }
        var slots: [Int] = []
        var hasOtherMembers = false
        for slot in entity.slots {
          if slot.isToMany {
            let (was, isNow) = (
              known.map { old.members(oldReader, slot.index, $0.row) } ?? [], new.members(newReader, slot.index, row)
            )
            guard Self.differ(was, isNow, inOrder: DatabaseLayout.keepsOrder(slot)) else { continue }
            hasOtherMembers = true
            let id = ListID(entity: declarers[slot.index] ?? entity.index, slot: slot.index)
            lists[id, default: []].append(List(owner: key, before: was, after: isNow))
          } else if let known, !Self.isSame(slot, oldReader, known.row, newReader, row, old, new) {
            slots.append(slot.index)
          }
        }
        guard known != nil, hasOtherMembers || !slots.isEmpty else { continue }
        tables[root, default: Table()].updated.append(Row(key: key, node: node, slots: slots))
      }
      for row in 0..<oldReader.count {
        guard let key = oldReader.integerReference(row: row),
          after.handle(for: .integer(key), entity: entity.index) == nil
        else { continue }
        tables[root, default: Table()].deleted.append(key)
        for slot in entity.slots where slot.isToMany {
          let was = old.members(oldReader, slot.index, row)
          guard !was.isEmpty else { continue }
          let id = ListID(entity: declarers[slot.index] ?? entity.index, slot: slot.index)
          lists[id, default: []].append(List(owner: key, before: was, after: []))
        }
      }
    }
  }

  /// How many objects were inserted, changed and deleted.
  var counts: (inserted: Int, updated: Int, deleted: Int) {
    tables.values.reduce(into: (0, 0, 0)) { sum, table in
      sum.0 += table.inserted.count
      sum.1 += table.updated.count
      sum.2 += table.deleted.count
    }
  }

  /// One of the two graphs.
  private struct Side {
    let references: NodeReferences

    init(_ nodes: NodeTable) { references = nodes.references }

    func members(_ reader: EntityReader, _ slot: Int, _ row: Int) -> [Int64] {
      let list = reader.toMany(slot: slot, row: row)
      guard list.count > 0 else { return [] }
      return list.indices.map { references.integer(of: list[$0]) ?? 0 }
    }
  }

  private static func differ(_ one: [Int64], _ other: [Int64], inOrder: Bool) -> Bool {
    guard one != other else { return false }
    return inOrder || one.count != other.count || Set(one) != Set(other)
  }

  private static func isSame(
    _ slot: Slot, _ old: EntityReader, _ oldRow: Int, _ new: EntityReader, _ newRow: Int, _ before: Side, _ after: Side
  ) -> Bool {
    let index = slot.index
    let isNull = new.isNull(slot: index, row: newRow)
    guard old.isNull(slot: index, row: oldRow) == isNull else { return false }
    if isNull { return true }
    switch slot.valueKind {
    case .toOne, .toMany:
      guard let was = old.toOne(slot: index, row: oldRow), let isNow = new.toOne(slot: index, row: newRow) else {
        return false
      }
      return was.entity == isNow.entity && before.references.integer(of: was) == after.references.integer(of: isNow)
    case .integer:
      return old.integer(slot: index, row: oldRow) == new.integer(slot: index, row: newRow)
    case .boolean: return old.boolean(slot: index, row: oldRow) == new.boolean(slot: index, row: newRow)
    case .float:
      return old.float(slot: index, row: oldRow).bitPattern == new.float(slot: index, row: newRow).bitPattern
    case .double, .date:
      return old.double(slot: index, row: oldRow).bitPattern == new.double(slot: index, row: newRow).bitPattern
    case .uuid: return old.uuid(slot: index, row: oldRow) == new.uuid(slot: index, row: newRow)
    case .string, .uri, .decimal, .data:
      let other = new.bytes(slot: index, row: newRow)
      return old.bytes(slot: index, row: oldRow).withUnsafeBytes { one in
        other.withUnsafeBytes { one.elementsEqual($0) }
      }
    case .undefined: return old.value(slot: index, row: oldRow) == new.value(slot: index, row: newRow)
    }
  }
}
