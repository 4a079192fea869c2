import AtomicStoreSPI

extension StoreImporter {
  /// Reads tables.
  ///
  /// - Throws: ``ImportError`` for records that are bad; `PersistentStoreError` for a table as a whole, for what was
  ///   asked and cannot be done, and where a file cannot be read.
  public func read(_ sources: [ImportSource]) throws -> Result {
    var importer = self
    var (tables, notes) = try ImportSource.opened(sources, limits, hasModel: (existing?.model ?? model) != nil)
    for (index, join) in joinTables.enumerated() {
      let (found, more) = try ImportSource.opened([join.source], limits, hasModel: false)
      guard let table = found.first, found.count == 1 else {
        throw PersistentStoreError(
          .invalidOption, "the archive has \(found.count) tables, and a join table is one",
          at: StoreLocation(file: join.source.name))
      }
      importer.joinTables[index].source = table
      notes += more
    }
    var run = ImportRun(try ImportJob(importer, tables))
    var result = try run.result()
    result.notes = notes + result.notes
    let stores = Set(tables.map(\.storeUUID))
    if stores.count == 1, let uuid = stores.first { result.storeUUID = uuid }
    return result
  }
}
