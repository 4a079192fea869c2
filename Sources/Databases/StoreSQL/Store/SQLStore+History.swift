import AtomicStoreSPI
import FoundationEssentials

extension SQLStore {
  func changes(since token: HistoryToken?) throws(PersistentStoreError) -> [HistoryTransaction] {
    let model = try ready().model
    let after = token?.number ?? .min
    var found: [HistoryTransaction] = []
    var places: [Int64: Int] = [:]
    var updates = UpdatedRows()
    try database.query(
      "SELECT number, date, author, context FROM \(Self.transactionsTable) WHERE number > ?1 ORDER BY number",
      [.integer(after)]
    ) { row in
      places[row.integer(0)] = found.count
      found.append(
        HistoryTransaction(
          token: HistoryToken(row.integer(0)), date: Date(timeIntervalSinceReferenceDate: row.double(1)),
          author: row.isNull(2) ? nil : row.text(2), contextName: row.isNull(3) ? nil : row.text(3), changes: []))
    }
    try database.query(
      "SELECT number, ent, id, ref, kind, slots FROM \(Self.changesTable) WHERE number > ?1 ORDER BY number, place",
      [.integer(after)]
    ) { row in
      guard let place = places[row.integer(0)], let kind = HistoryTransaction.Kind(rawValue: row.text(4)) else {
        return
      }
      let number = Int(row.integer(1))
      guard number >= 0, number < model.entityCount else { return }
      let entity = model.entity(at: number)
      var slots = Set(row.text(5).split(separator: " ").compactMap { Int($0) })
      slots.formIntersection(entity.slots.indices)
      var index = found[place].changes.count
      if kind == .update {
        (index, slots) = updates.place(
          of: row.integer(2), root: entity.root.index, in: row.integer(0), adding: slots, next: index)
      }
      let change = HistoryTransaction.Change(
        object: ObjectReference(
          entityName: entity.name, reference: row.isNull(3) ? .integer(row.integer(2)) : .string(row.text(3))),
        kind: kind, properties: slots.sorted().map { entity.slots[$0].name })
      if index < found[place].changes.count {
        found[place].changes[index] = change
      } else {
        found[place].changes.append(change)
      }
    }
    return found
  }

  /// Whether no transaction after a token was deleted: each has the number after the one before it.
  func hasHistory(since token: HistoryToken) throws(PersistentStoreError) -> Bool {
    var first: Int64?
    try database.query(
      "SELECT MIN(number) FROM \(Self.transactionsTable) WHERE number > ?1", [.integer(token.number)]
    ) { row in
      if !row.isNull(0) { first = row.integer(0) }
    }
    return first.map { $0 &- 1 <= token.number } ?? true
  }

  func currentHistoryToken() throws(PersistentStoreError) -> HistoryToken? {
    var token: HistoryToken?
    try database.query("SELECT MAX(number) FROM \(Self.transactionsTable)", []) { row in
      if !row.isNull(0) { token = HistoryToken(row.integer(0)) }
    }
    return token
  }

  /// The number of the next save's transaction.
  func nextTransactionNumber() throws(PersistentStoreError) -> Int64 {
    let last = try currentHistoryToken()?.number ?? 0
    guard last < .max else {
      throw PersistentStoreError(.limitExceeded, "the last transaction has the greatest possible number, \(last)")
    }
    return last + 1
  }

  /// Writes that a transaction was saved, now.
  func noteTransaction(
    _ number: Int64, _ name: String, author: String?, context: String?
  ) throws(PersistentStoreError) {
    try database.run(
      "INSERT INTO \(Self.transactionsTable) (number, save, date, author, context) VALUES (?1, ?2, ?3, ?4, ?5)",
      [
        .integer(number), .text(name), .double(Date().timeIntervalSinceReferenceDate),
        author.map { .text($0) } ?? .null, context.map { .text($0) } ?? .null,
      ])
  }

  /// Notes that everything was replaced: who follows the history of an earlier store goes on from here.
  func beginHistory(after number: Int64) throws(PersistentStoreError) {
    guard number > 0, number < .max else { return }
    try database.run(
      "INSERT INTO \(Self.transactionsTable) (number, save, date) VALUES (?1, ?2, ?3)",
      [.integer(number + 1), .text(UUID().uuidString), .double(Date().timeIntervalSinceReferenceDate)])
  }

  func deleteHistory(before token: HistoryToken) throws(PersistentStoreError) {
    try transaction { () throws(PersistentStoreError) in
      // The last transaction stays: numbers go on from it.
      for table in [Self.changesTable, Self.transactionsTable] {
        try database.run(
          "DELETE FROM \(table) WHERE number < ?1 AND number < (SELECT MAX(number) FROM \(Self.transactionsTable))",
          [.integer(token.number)])
      }
    }
  }
}

/// The rows that a transaction updates: it may have several entries for one, each with other slots.
private struct UpdatedRows {
  private struct Key: Hashable {
    let root: Int
    let id: Int64
  }
  private var number: Int64?
  private var known: [Key: (place: Int, slots: Set<Int>)] = [:]

  /// Returns where the change of a row belongs, and all of its slots so far.
  ///
  /// - Parameters:
  ///   - number: The transaction, whose entries come one after another.
  ///   - next: Where it belongs if it is the first one of the row.
  mutating func place(
    of id: Int64, root: Int, in number: Int64, adding slots: Set<Int>, next: Int
  ) -> (Int, Set<Int>) {
    if self.number != number { known = [:] }
    self.number = number
    let key = Key(root: root, id: id)
    var entry = known[key] ?? (next, [])
    entry.slots.formUnion(slots)
    known[key] = entry
    return entry
  }
}
