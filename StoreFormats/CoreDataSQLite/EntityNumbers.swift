import AtomicStoreSPI

/// Which row of Z_PRIMARYKEY is which entity of the model.
///
/// Core Data leaves the old name in Z_PRIMARYKEY when it migrates a store in place to a model that renames an entity.
struct EntityNumbers {
  /// By the entity's index in the model; nil for an entity that the store does not have.
  private(set) var rows: [StoreTables.EntityRow?]
  /// Rows of no entity of the model, those of the persistent history aside.
  private(set) var unknown: [StoreTables.EntityRow]
  /// Entities that the store has under another name.
  private(set) var renamed: [(entity: String, row: StoreTables.EntityRow)] = []

  var numbers: [Int64?] { rows.map { $0?.number } }

  /// - Parameter hashes: The version hashes of the store's metadata; without them only a renaming identifier says that
  ///   an entity was renamed.
  init(_ all: [StoreTables.EntityRow], model: ManagedObjectModel, hashes: VersionHashes?) {
    rows = Array(repeating: nil, count: model.entityCount)
    unknown = []
    for row in all where row.number < StoreTables.firstHistoryNumber {
      if let entity = model.entity(named: row.name) { rows[entity.index] = row } else { unknown.append(row) }
    }
    guard !unknown.isEmpty else { return }
    let waiting = model.entities.filter { rows[$0.index] == nil }
    for entity in waiting {
      guard let old = entity.declaration.renamingIdentifier else { continue }
      adopt(entity) { ScalarString($0.name) == ScalarString(old) }
    }
    guard let hashes else { return }
    // The metadata name the entity, the tables do not: then it has the number that Core Data gives it in this model.
    let fresh = DatabaseLayout.freshNumbers(model)
    for entity in waiting where rows[entity.index] == nil && hashes[entity.name] != nil {
      let parent = entity.superentity.map { rows[$0.index]?.number } ?? 0
      adopt(entity) { $0.number == fresh[entity.index] && $0.parent == parent && hashes[$0.name] == nil }
    }
  }

  /// The table of a root entity: by its name, or by the one that it had before a migration in place.
  func table(
    _ table: DatabaseLayout.Table, in schema: DatabaseSchema
  ) throws(PersistentStoreError) -> DatabaseSchema.Table? {
    if let found = try schema.table(table.name) { return found }
    guard let old = rows[table.root] else { return nil }
    return try schema.table(DatabaseLayout.tableName(old.name))
  }

  private mutating func adopt(_ entity: Entity, where fits: (StoreTables.EntityRow) -> Bool) {
    guard let index = unknown.firstIndex(where: fits) else { return }
    let row = unknown.remove(at: index)
    rows[entity.index] = row
    renamed.append((entity.name, row))
  }
}
