import AtomicStoreSPI

extension StoreImporter {
  /// Reads tables.
  ///
  /// - Throws: ``ImportError`` for records that are bad; `PersistentStoreError` for a table as a whole, for what was
  ///   asked and cannot be done, and where a file cannot be read.
  public func read(_ sources: [ImportSource]) throws -> Result {
    var run = ImportRun(try ImportJob(self, sources))
    return try run.result()
  }
}
