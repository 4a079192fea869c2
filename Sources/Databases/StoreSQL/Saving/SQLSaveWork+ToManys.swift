import AtomicStoreSPI
import FoundationEssentials

extension SQLSaveWork {
  // MARK: To-manys

  /// Writes the to-manys that an object's values have as a whole: all of a new one, the ordered ones of another.
  func writeLists(of object: ManagedObjectSnapshot) throws(PersistentStoreError) {
    let entity = model.entity(at: object.entity)
    guard let reference = object.reference else { return }
    let owner = try id(ObjectReference(entityName: entity.name, reference: reference))
    for slot in object.values.slots where entity.slots[slot].isToMany {
      guard let value = object.values[slot], let kept = schema.toMany(slot, of: entity) else { continue }
      let list: [ObjectReference] = if case .toMany(let list) = value { list } else { [] }
      let keepsSequence = entity.slots[slot].keepsSequence
      switch kept {
      case .inverse(_, let column):
        guard keepsSequence, let position = column.positionName,
          let destination = entity.slots[slot].destination.map({ model.entity(at: $0) })
        else { continue }
        for (place, other) in list.enumerated() {
          try database.run(
            "UPDATE \(schema.table(of: destination).name.quoted) SET \(position.quoted) = ?1 WHERE id = ?2",
            [.integer(Int64(place)), .integer(try id(other))])
        }
      case .pairs(let join, let isTurned):
        let (own, other, place) = isTurned ? ("b", "a", "pos_b") : ("a", "b", "pos_a")
        var wanted: Set<Int64> = []
        for member in list { wanted.insert(try id(member)) }
        var there: Set<Int64> = []
        try database.query("SELECT \(other) FROM \(join.name.quoted) WHERE \(own) = ?1", [.integer(owner)]) { row in
          there.insert(row.integer(0))
        }
        let gone = there.subtracting(wanted).sorted()
        for part in gone.parts(of: SQLStore<Database>.dialect.listLimit) {
          try database.run(
            "DELETE FROM \(join.name.quoted) WHERE \(own) = \(owner) "
              + "AND \(other) IN (\(SQLStore<Database>.list(part)))", [])
        }
        for (position, member) in list.enumerated() {
          let id = try id(member)
          if !there.contains(id) {
            try database.run(
              "INSERT INTO \(join.name.quoted) (\(own), \(other)) VALUES (?1, ?2) ON CONFLICT (a, b) DO NOTHING",
              [.integer(owner), .integer(id)])
          }
          if keepsSequence {
            try database.run(
              "UPDATE \(join.name.quoted) SET \(place) = ?1 WHERE \(own) = ?2 AND \(other) = ?3",
              [.integer(Int64(position)), .integer(owner), .integer(id)])
          }
        }
      }
    }
  }

  func changeMembers() throws(PersistentStoreError) {
    for change in changes.members {
      let entity = try entity(change.owner.entityName)
      guard case .pairs(let join, let isTurned)? = schema.toMany(change.slot, of: entity) else { continue }
      let owner = try id(change.owner)
      let (own, other) = isTurned ? ("b", "a") : ("a", "b")
      for member in change.removed {
        guard let id = ids[try self.entity(member.entityName).root.index]?[member.reference] else { continue }
        try database.run(
          "DELETE FROM \(join.name.quoted) WHERE \(own) = ?1 AND \(other) = ?2", [.integer(owner), .integer(id)])
      }
      for member in change.added {
        try database.run(
          "INSERT INTO \(join.name.quoted) (\(own), \(other)) VALUES (?1, ?2) ON CONFLICT (a, b) DO NOTHING",
          [.integer(owner), .integer(try id(member))])
      }
    }
  }

  // MARK: History

  func writeHistory() throws(PersistentStoreError) {
    let table = SQLStore<Database>.changesTable
    try store.noteTransaction(number, name, author: changes.author, context: changes.contextName)
    let deletions = Int64(changes.deleted.count)
    var last: (slots: [Int], text: String) = ([], "")
    for (index, change) in history.enumerated() {
      let place = Int64(index) < deletions ? Int64(index) : Int64(index) + cutOffCount
      if change.slots != last.slots {
        last = (change.slots, change.slots.sorted().map(String.init).joined(separator: " "))
      }
      try database.run(
        "INSERT INTO \(table) (number, place, ent, id, ref, kind, slots) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        [
          .integer(number), .integer(place), .integer(Int64(change.entity)), .integer(change.id),
          change.text.map { .text($0) } ?? .null, .text(change.kind.rawValue), .text(last.text),
        ])
    }
  }
}
