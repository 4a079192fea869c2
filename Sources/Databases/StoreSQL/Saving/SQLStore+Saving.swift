import AtomicStoreSPI
import FoundationEssentials

extension SQLStore {
  mutating func save(_ changes: StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer {
    try save(changes) { _, _ throws(PersistentStoreError) in }
  }

  mutating func save(
    _ changes: StoreSave,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> StoreSaveAnswer {
    try save(changes) { store, schema throws(PersistentStoreError) in try store.readBack(schema, verify) }
  }

  /// - Parameter finish: Called within the transaction, when everything is written.
  private mutating func save(
    _ changes: StoreSave, finish: (SQLStore, SQLSchema) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> StoreSaveAnswer {
    guard !isReadOnly else { throw PersistentStoreError(.readOnly, "the store is open read-only") }
    let schema = try ready()
    let name = UUID().uuidString
    var isWritten = false
    do throws(PersistentStoreError) {
      let (answer, number) = try transaction(wasSaved: Self.wasSaved(name)) { () throws(PersistentStoreError) in
        isWritten = false
        var work = SQLSaveWork(self, schema, changes, name)
        guard try work.run() else {
          throw PersistentStoreError(.changedOnDisk, "other rows than expected")
        }
        isWritten = true
        try finish(self, schema)
        return (StoreSaveAnswer.saved(versions: work.versions), work.number)
      }
      lastSaved = HistoryToken(number)
      for object in changes.inserted {
        if case .string? = object.reference { rootsWithTexts.insert(schema.model.entity(at: object.entity).root.index) }
      }
      return answer
    } catch {
      // A unique value that another process took meanwhile is found when the objects are read again.
      if !isWritten, error.code == .changedOnDisk || error.code == .duplicateReference { return .overtaken }
      throw error
    }
  }

  /// Whether a transaction that was committed on a lost connection is in the database.
  private static func wasSaved(_ name: String) -> (Database) throws(PersistentStoreError) -> Bool {
    { database throws(PersistentStoreError) in
      var isThere = false
      try database.query("SELECT number FROM \(transactionsTable) WHERE save = ?1", [.text(name)]) { _ in
        isThere = true
      }
      return isThere
    }
  }

  mutating func update(_ change: StoreUpdate) throws(PersistentStoreError) -> [ObjectReference]? {
    do throws(PersistentStoreError) {
      return try changing { store, schema, name, number throws(PersistentStoreError) in
        try SQLUpdateWork(store, schema, change)?.run(name, number: number)
      } isEmpty: {
        $0.isEmpty
      }
    } catch {
      // The kit has to look at a row, and the transaction was rolled back.
      guard error.code == .invalidValue else { throw named(error) }
      return nil
    }
  }

  mutating func delete(_ change: StoreUpdate) throws(PersistentStoreError) -> (
    deleted: [ObjectReference], updated: [ObjectReference]
  )? {
    do throws(PersistentStoreError) {
      return try changing { store, schema, name, number throws(PersistentStoreError) in
        try SQLDeleteWork(store, schema, change)?.run(name, number: number)
      } isEmpty: {
        $0.deleted.isEmpty
      }
    } catch { throw named(error) }
  }

  /// Changes many rows by statements.
  ///
  /// - Parameters:
  ///   - body: Returns nil if the kit has to do it, and has done nothing then.
  ///   - isEmpty: Whether nothing was changed, so that there is no transaction in the history.
  private mutating func changing<Changed>(
    _ body: (SQLStore, SQLSchema, String, Int64) throws(PersistentStoreError) -> Changed?, isEmpty: (Changed) -> Bool
  ) throws(PersistentStoreError) -> Changed? {
    guard !isReadOnly else { throw PersistentStoreError(.readOnly, "the store is open read-only") }
    let schema = try ready()
    let name = UUID().uuidString
    let (changed, number) = try transaction(wasSaved: Self.wasSaved(name)) { () throws(PersistentStoreError) in
      try checkStamp()
      let number = try nextTransactionNumber()
      return (try body(self, schema, name, number), number)
    }
    if let changed, !isEmpty(changed) { lastSaved = HistoryToken(number) }
    return changed
  }
}
