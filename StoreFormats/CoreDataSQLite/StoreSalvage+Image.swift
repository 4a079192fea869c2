import AtomicStoreSPI

extension StoreSalvage {
  /// The database as it is if it is sound, else what can be read of it.
  ///
  /// - Parameter model: The store's model, if it is known, for tables that the schema has lost.
  static func image(
    of image: SQLiteImage, file: String, limits: StoreLimits, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> SQLiteImage {
    do throws(PersistentStoreError) { return try made(of: image, file, limits, model) } catch {
      // What SQLite does not take is what the file's schema says.
      var error = error
      if error.code == .unsupportedByFormat { error.code = .malformed }
      throw error.located(StoreLocation(file: file, offset: 0))
    }
  }

  private static func made(
    of image: SQLiteImage, _ file: String, _ limits: StoreLimits, _ model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> SQLiteImage {
    let damaged = image.original ?? image
    let bytes = UnsafeRawBufferPointer(start: damaged.base, count: damaged.count)
    var salvage = try StoreSalvage(DatabasePages(bytes), file: file, model: model)
    guard try !salvage.isSound(damaged, limits) else { return image }
    try salvage.copyTables()
    try salvage.adoptRootless()
    try salvage.completeTables()
    var result: SQLiteImage?
    let report = salvage.report
    try salvage.copy.output.finish { (bytes) throws(PersistentStoreError) in
      result = try SQLiteImage(salvaged: bytes, of: damaged, report, file: file)
    }
    return result ?? image
  }
}
