import AtomicStoreSPI

/// The cells of members' rows that say in which list of which owner the member is, and where.
struct ListedCells {
  private let layoutTable: DatabaseLayout.Table
  /// By position of a column in the layout, its quoted name in the table; nil where the table does not have it.
  private let names: [String?]
  private let table: String
  private let work: RowWork

  init(_ layoutTable: DatabaseLayout.Table, _ names: [String?], table: String, _ work: RowWork) {
    self.layoutTable = layoutTable
    self.names = names
    self.table = table
    self.work = work
  }

  /// By position of the column, and by the member's key, the cells that change.
  func cells() throws(PersistentStoreError) -> [Int: [Int64: Int64?]] {
    var result: [Int: [Int64: Int64?]] = [:]
    let (model, changes) = (work.layout.model, work.changes)
    for (position, column) in layoutTable.columns.enumerated() {
      guard let name = names[position] else { continue }
      switch column.role {
      case .orderKey:
        let entity = model.entity(at: column.entity)
        guard let (owner, inverse) = work.layout.inverse(of: entity.slots[column.slot], in: entity),
          let lists = changes.lists[
            .init(entity: work.layout.declarer(of: inverse.index, in: owner).index, slot: inverse.index)],
          let ownerName = self.name(where: { $0.role == .toOne && $0.entity == column.entity && $0.slot == column.slot }
          )
        else { continue }
        result[position] = try orderKeys(lists, name, owner: ownerName)
      case .owner(let owner, let slot):
        guard let lists = changes.lists[.init(entity: owner, slot: slot)] else { continue }
        // An object in two such lists is refused.
        _ = try work.values.members(model.entity(at: owner), slot) { _, _ in 0 }
        var cells: [Int64: Int64?] = [:]
        for list in lists {
          for member in list.before { cells.updateValue(nil, forKey: member) }
        }
        for list in lists {
          for member in list.after { cells.updateValue(list.owner, forKey: member) }
        }
        result[position] = cells
      case .ownerOrderKey(let owner, let slot):
        guard let lists = changes.lists[.init(entity: owner, slot: slot)],
          let ownerName = self.name(where: { $0.role == .owner(entity: owner, slot: slot) })
        else { continue }
        result[position] = try orderKeys(lists, name, owner: ownerName)
      case .attribute, .toOne, .toOneEntity: break
      }
    }
    return result.filter { !$0.value.isEmpty }
  }

  private func name(where isIt: (DatabaseLayout.Column) -> Bool) -> String? {
    layoutTable.columns.firstIndex(where: isIt).flatMap { names[$0] }
  }

  private func orderKeys(
    _ lists: [RowChanges.List], _ column: String, owner: String
  ) throws(PersistentStoreError) -> [Int64: Int64?] {
    var cells: [Int64: Int64?] = [:]
    for list in lists {
      for member in list.before { cells.updateValue(nil, forKey: member) }
    }
    for list in lists {
      let known = try work.orderKeys(of: list.owner, in: table, member: "Z_PK", owner: owner, order: column)
      for (member, key) in zip(list.after, OrderKeys.assign(list.after.map { known[$0] })) {
        if known[member] == key { cells.removeValue(forKey: member) } else { cells.updateValue(key, forKey: member) }
      }
    }
    return cells
  }
}
