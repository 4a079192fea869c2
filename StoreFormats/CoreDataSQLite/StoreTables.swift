import AtomicStoreSPI
import FoundationEssentials
import ModelFiles
import StoreCodecs

/// The three tables that every Core Data store has beside those of its entities.
struct StoreTables {
  /// A row of Z_PRIMARYKEY.
  struct EntityRow {
    let number: Int64
    let name: String
    /// The number of the super-entity; 0 for none.
    let parent: Int64
    /// The greatest key given out, at root entities.
    let greatestKey: Int64
  }
  /// Numbers from here on are those of the persistent history's tables.
  static let firstHistoryNumber: Int64 = 16_000
  /// The tables that say what the others are.
  static let ownTables: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
  static let historyTables = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

  let database: SQLiteDatabase
  /// Called with what cannot be read and is not needed.
  private let report: (LoadNote) -> Void

  init(_ database: SQLiteDatabase, report: @escaping (LoadNote) -> Void = { _ in }) {
    self.database = database
    self.report = report
  }

  private func place(_ table: String) -> StoreLocation { StoreLocation(file: database.file, entity: table) }

  // MARK: Z_PRIMARYKEY

  /// - Throws: `.malformed` for a number or name that occurs twice, and for a number below 1: 0 is how Z_SUPER says
  ///   "none", so an entity with that number would be its own super-entity.
  func entityRows() throws(PersistentStoreError) -> [EntityRow] {
    let place = place("Z_PRIMARYKEY")
    guard try DatabaseSchema(database).hasTable("Z_PRIMARYKEY") else {
      throw PersistentStoreError(
        .malformed, "the store does not have this table, which says what its entities are", at: place)
    }
    let rows = try database.prepare("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY", place)
    var result: [EntityRow] = []
    var numbers: Set<Int64> = []
    var names: Set<ScalarString> = []
    while try rows.step() {
      guard rows.kind(0) == .integer, let name = rows.string(1) else {
        throw PersistentStoreError(.malformed, "a row has no entity number or no name", at: place)
      }
      guard rows.integer(0) > 0 else {
        throw PersistentStoreError(
          .malformed, "the entity number of \(name) is \(rows.integer(0)); numbers start at 1", at: place)
      }
      guard numbers.insert(rows.integer(0)).inserted, names.insert(ScalarString(name)).inserted else {
        throw PersistentStoreError(
          .malformed, "the entity \(name), number \(rows.integer(0)), is there twice", at: place)
      }
      result.append(
        EntityRow(number: rows.integer(0), name: name, parent: rows.integer(2), greatestKey: rows.integer(3)))
    }
    return result
  }

  // MARK: Z_METADATA

  func metadata() throws(PersistentStoreError) -> StoreMetadata {
    let place = place("Z_METADATA")
    guard try DatabaseSchema(database).hasTable("Z_METADATA") else {
      throw PersistentStoreError(
        .malformed,
        "the store does not have this table, which has its UUID and says which model it has; if there is a write-ahead log, the file with -wal at the end of its name, it may have it",
        at: place)
    }
    let rows = try database.prepare("SELECT Z_UUID, Z_PLIST FROM Z_METADATA", place)
    guard try rows.step() else { throw PersistentStoreError(.malformed, "the table is empty", at: place) }
    guard let text = rows.string(0), let uuid = UUID(uuidString: text) else {
      throw PersistentStoreError(
        .malformed, "Z_UUID is not a UUID", at: place.filled(from: StoreLocation(property: "Z_UUID")))
    }
    var entries = try entries(rows, place)
    let model = try ownModel(&entries, place)
    guard try !rows.step() else { throw PersistentStoreError(.malformed, "the table has more than one row", at: place) }
    let last = try entityRows().reduce(0) { $1.number < Self.firstHistoryNumber ? max($0, $1.greatestKey) : $0 }
    return StoreMetadata(
      storeType: StoreKeys.storeType, uuid: uuid, entries: entries, lastReference: last, model: model)
  }

  /// Whether bytes are a property list that has metadata.
  static func isReadable(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes {
      guard let reader = try? BinaryPropertyListReader($0), case .dictionary? = try? reader.materialize(reader.top)
      else { return false }
      return true
    }
  }

  private func allEntries(
    _ rows: SQLiteStatement, _ place: StoreLocation
  ) throws(PersistentStoreError) -> PropertyListDictionary {
    let kind = rows.kind(1)
    if kind == .null { return PropertyListDictionary() }
    let value: PropertyListValue
    do throws(PersistentStoreError) {
      guard kind == .blob else { throw PersistentStoreError(.malformed, "is \(kind.name), not a property list") }
      var reader = try BinaryPropertyListReader(rows.bytes(1))
      reader.maximumDepth = database.limits.depth
      value = try reader.materialize(reader.top)
    } catch {
      var located = error
      located.message = "Z_PLIST: " + located.message
      if located.code != .limitExceeded { located.code = .malformed }
      // Offsets are into the property list: they would be taken for the file's.
      located.location.offset = nil
      throw located.located(place.filled(from: StoreLocation(property: "Z_PLIST")))
    }
    guard case .dictionary(let entries) = value else {
      throw PersistentStoreError(
        .malformed, "Z_PLIST is not a dictionary", at: place.filled(from: StoreLocation(property: "Z_PLIST")))
    }
    return entries
  }

  private func entries(
    _ rows: SQLiteStatement, _ place: StoreLocation
  ) throws(PersistentStoreError) -> PropertyListDictionary {
    var entries = try allEntries(rows, place)
    for key in StoreKeys.format { entries[key] = nil }
    return entries
  }

  /// All entries of Z_PLIST, also those that describe the file.
  func metadataEntries() throws(PersistentStoreError) -> PropertyListDictionary {
    let place = place("Z_METADATA")
    let rows = try database.prepare("SELECT Z_UUID, Z_PLIST FROM Z_METADATA", place)
    return try rows.step() ? try allEntries(rows, place) : PropertyListDictionary()
  }

  /// The version hashes in the metadata; nil where there are none.
  func versionHashes() throws(PersistentStoreError) -> VersionHashes? {
    let place = place("Z_METADATA")
    let rows = try database.prepare("SELECT Z_UUID, Z_PLIST FROM Z_METADATA", place)
    guard try rows.step() else { return nil }
    return VersionHashes(metadata: try entries(rows, place))
  }

  // MARK: The model

  /// The model that the store carries: in the metadata, where the kit wrote it, or in Z_MODELCACHE, where Core Data
  /// left it. Nil where there is none, or none that the tables were made by: a migration in place may leave an older or
  /// a newer one there.
  private func ownModel(_ entries: inout PropertyListDictionary, _ place: StoreLocation) throws(PersistentStoreError)
    -> ModelDescription?
  {
    let own = entries[StoreKeys.model]
    entries[StoreKeys.model] = nil
    if let own {
      let model: ModelDescription
      do throws(PersistentStoreError) { model = try ModelDescription(propertyList: own) } catch {
        throw error.located(place.filled(from: StoreLocation(property: "Z_PLIST")))
      }
      if model.isInferred || Self.fits(model, entries) { return model }
    }
    guard let cached = cachedModel(), Self.fits(cached, entries) else { return nil }
    return cached
  }

  /// Whether the model has the version hashes that the metadata have, where they have any.
  private static func fits(_ model: ModelDescription, _ entries: PropertyListDictionary) -> Bool {
    guard let stored = VersionHashes(metadata: entries) else { return true }
    guard let frozen = try? ManagedObjectModel(model) else { return false }
    let hashes = frozen.versionHashes
    // A store of one configuration has the hashes of its entities only.
    return stored.entries.allSatisfy { hashes[$0.entityName] == $0.hash }
  }

  /// The cache is a convenience: a store whose cache cannot be read is one without a cache.
  private func cachedModel() -> ModelDescription? {
    do throws(PersistentStoreError) {
      guard try DatabaseSchema(database).hasTable("Z_MODELCACHE") else { return nil }
      let rows = try database.prepare("SELECT Z_CONTENT FROM Z_MODELCACHE", place("Z_MODELCACHE"))
      guard try rows.step(), !rows.isNull(0) else { return nil }
      guard rows.kind(0) == .blob else {
        throw PersistentStoreError(.malformed, "it holds \(rows.kind(0).name), not a blob")
      }
      return try ModelFile.read(cached: Array(rows.bytes(0)), name: database.file).description
    } catch {
      report(
        LoadNote(
          subject: "Z_MODELCACHE",
          text: "the copy of the model that the application left there cannot be read: \(error.message)",
          isWarning: true))
      return nil
    }
  }
}
