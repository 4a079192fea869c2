public import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// Core Data's SQLite store (`NSSQLiteStoreType`), which SwiftData uses too: loaded whole into memory.
///
/// The file is read, never opened by SQLite: a write-ahead log beside it is applied in memory, and neither is touched.
/// An object's reference is its `Z_PK`, unique among the objects of one root entity. A new store is written whole; of
/// one that exists rows are changed, in a transaction of SQLite's own: see ``EditableStore``.
public struct CoreDataSQLiteStore: AtomicStore {
  public static let storeType = StoreKeys.storeType
  public static let traits = StoreTraits(
    summary: "Core Data's SQLite store (NSSQLiteStoreType); writing is not verified with Core Data",
    fileExtensions: ["sqlite"], references: .integersOnly, keepsSpecialFloats: false,
    keepsDecimals: false, writesEqualBytes: false, trustedHashes: .ofKnownModels,
    unsupportedTypes: ["Undefined"],
    readOptions: [
      StoreOption(
        name: "rows",
        help:
          "What to do with rows that belong to no object: of an entity that the model does not have, in another entity's table, or joining two objects that do not exist.",
        values: [StrayRows.refuse, .skip].map(\.rawValue))
    ],
    writeOptions: [
      StoreOption(
        name: "external",
        help:
          "Where values of more than 128 KiB go whose attributes allow external storage: into files beside the store, as Core Data does, or into the store.",
        values: ["files", "inline"]),
      StoreOption(
        name: "history",
        help:
          "What to do with a store that keeps a persistent history, which the kit does not write: refuse to change it, or change it without a record in the history.",
        values: ["refuse", "ignore"]),
    ])

  let strayRows: StrayRows
  let limits: StoreLimits
  private let skipsDamage: Bool
  let path: String
  /// Whether no value is put into its own file.
  let isInline: Bool
  let ignoresHistory: Bool
  /// The greatest key that was given out, by the root entity's index; nil for a store that was not loaded.
  private var greatestKeys: [Int: Int64]?
  /// What `metadata` read, for the `load` that follows: one reading, so that both are of one state of the file.
  private var pending: (source: ObjectIdentifier, image: SQLiteImage)?

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    strayRows =
      configuration.options["rows"].flatMap { StrayRows(rawValue: $0) }
      ?? (configuration.skipsDamagedObjects ? .lose : .refuse)
    limits = configuration.limits
    skipsDamage = configuration.skipsDamagedObjects
    path = configuration.path
    isInline = configuration.options["external"] == "inline"
    ignoresHistory = configuration.options["history"] == "ignore"
  }

  // MARK: Recognition

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    if probe.isFolder { return RelatedFile.folder(probe) }
    guard DatabasePages.signature.withUTF8Buffer({ probe.prefix.starts(with: $0) }) else {
      return probe.size % 512 == 0 && isWithoutSchema(probe) ? .unsure : RelatedFile.file(probe)
    }
    let metadataMarks = marks(of: "Z_METADATA")
    if metadataMarks.contains(where: { probe.prefix.contains($0) }) || isFoundFurtherOn(probe, metadataMarks) {
      return .yes
    }
    let keyMarks = marks(of: "Z_PRIMARYKEY")
    let hasKeys = keyMarks.contains { probe.prefix.contains($0) } || isFoundFurtherOn(probe, keyMarks)
    // Reading it says what is missing, and what to do.
    guard !hasKeys else { return .yes }
    if isWithoutSchema(probe) { return .unsure }
    if let whole = SQLiteImage.sizeByHeader(probe.prefix), whole > probe.size {
      return .known(
        "an SQLite database that is cut short: \(probe.size) of \(whole) bytes, and no Core Data tables among them")
    }
    // The number of the file format is 2 where changes go into a log first.
    let missingLog =
      probe.prefix.count > 19 && probe.prefix[19] == 2
      ? ". They may be in its write-ahead log, the file with -wal at the end of its name: copy both files" : ""
    return .known(
      "an SQLite database, but not a Core Data store: it does not have the tables Z_METADATA and Z_PRIMARYKEY"
        + missingLog)
  }

  /// The row of the schema that describes a table begins so: type, name and table name, one after another.
  /// Core Data writes UTF-8, other programs that copied a store may not.
  private static func marks(of table: String) -> [[UInt8]] {
    let mark = Array("table\(table)\(table)".utf8)
    return [mark, mark.flatMap { [0, $0] }, mark.flatMap { [$0, 0] }]
  }

  /// Whether a file with the name of a database has a store's metadata or a part of its schema: the first page or the
  /// rest of the schema is damaged.
  private static func isWithoutSchema(_ probe: StoreProbe) -> Bool {
    guard probe.fileExtension == "sqlite" else { return false }
    return isFoundFurtherOn(probe, marks(of: "Z_METADATA") + [Array(StoreKeys.versionHashes.utf8)])
  }

  /// Where the schema takes more than a page, or the tables are in the write-ahead log only, the first bytes do not
  /// show them.
  private static func isFoundFurtherOn(_ probe: StoreProbe, _ marks: [[UInt8]]) -> Bool {
    guard let place = try? StorePath.inspect(probe.name), place.kind == .file, place.size == probe.size,
      let source = try? StoreSource(opening: place), let name = source.fileName
    else { return false }
    if contains(source, marks) { return true }
    guard let log = try? source.companion(named: name + "-wal"), !log.isFolder else { return false }
    return contains(log, marks)
  }

  private static func contains(_ source: StoreSource, _ marks: [[UInt8]]) -> Bool {
    let longest = marks.map(\.count).max() ?? 0
    var isFound = false
    var tail: [UInt8] = []
    try? source.readChunks { (bytes) throws(PersistentStoreError) in
      // A mark may begin in one piece and end in the next.
      let seam = tail + bytes.prefix(longest)
      isFound = marks.contains { seam.contains($0) || bytes.contains($0) }
      tail = Array(bytes.suffix(longest))
      return !isFound
    }
    return isFound
  }

  // MARK: Reading

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    do throws(PersistentStoreError) {
      let image = try read(source)
      pending = (ObjectIdentifier(source), image)
      let database = try SQLiteDatabase(image, file: source.name, limits: limits)
      return try StoreTables(database) { source.report($0) }.metadata()
    } catch { throw error.damagedTable(skips: skipsDamage) }
  }

  /// Reads the database; if what is damaged is left out, what can be read of it.
  private func read(_ source: StoreSource) throws(PersistentStoreError) -> SQLiteImage {
    let image = try SQLiteImage.read(source, limits, isLenient: skipsDamage)
    guard skipsDamage else { return image }
    return try StoreSalvage.image(of: image, file: source.name, limits: limits, model: nil)
  }

  public mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    let image = try image(of: source, keeping: true)
    if let salvage = image.salvage, !salvage.hasEntities {
      throw PersistentStoreError(
        .modelNeeded,
        "the table Z_PRIMARYKEY, which says what the store's entities are, cannot be read: specify a model",
        at: StoreLocation(file: source.name, entity: "Z_PRIMARYKEY"))
    }
    return try RawView(try SQLiteDatabase(image, file: source.name, limits: limits)).model()
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var image = try image(of: source, keeping: false)
    if image.salvage?.needsModel == true {
      image = try StoreSalvage.image(of: image, file: source.name, limits: limits, model: nodes.model)
    }
    if image.log != nil { nodes.addInput(bytes: image.count) }
    Self.report(image, to: source)
    if nodes.model.description.isInferred {
      source.report(
        LoadNote(
          subject: "model",
          text: "guessed from the tables: properties have the names of columns, and their types; to-ones are integers"))
    }
    let database = try SQLiteDatabase(image, file: source.name, limits: limits)
    greatestKeys = try StoreLoader(database, source: source, nodes: nodes, strayRows: strayRows).load().greatestKeys
  }

  /// Of a store that was loaded the next key of the object's table, as Core Data counts them.
  public mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    let root = nodes.model.entity(at: object.entity).root.index
    let last = greatestKeys.map { $0[root] ?? 0 } ?? metadata.lastReference
    let next = try nodes.nextIntegerReference(after: last, entity: object.entity)
    greatestKeys?[root] = next
    metadata.lastReference = max(metadata.lastReference, next)
    return .integer(next)
  }

  public mutating func history(
    in source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> [HistoryTransaction] {
    try HistoryReader(try database(of: source), source: source, model: model, skipsDamage: skipsDamage).transactions()
  }

  public mutating func systemTables(
    in source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) -> [SystemTable] {
    try SystemTableReader(try database(of: source), source: source, model: model).tables()
  }

  /// The database for what is read besides objects.
  private mutating func database(of source: StoreSource) throws(PersistentStoreError) -> SQLiteDatabase {
    let image = try image(of: source, keeping: false)
    Self.report(image, to: source)
    return try SQLiteDatabase(image, file: source.name, limits: limits)
  }

  /// Reports what the write-ahead log gave, or that it is not there, and what was rolled back.
  private static func report(_ image: SQLiteImage, to source: StoreSource) {
    if let pages = image.restoredPages, let name = source.fileName {
      source.report(
        LoadNote(
          subject: "\(name)-journal", count: pages,
          text: "pages put back: a program is writing to the store, or was ended before it had finished",
          isWarning: pages > 0))
    }
    image.salvage?.report(to: source)
    guard let log = image.log else {
      if let sign = image.missingLog, let name = source.fileName {
        let reason =
          switch sign {
          case .header: "the store's header says that changes go into this write-ahead log first"
          case .index: "its index, \(name)-shm, is there"
          }
        source.report(
          LoadNote(
            subject: "\(name)-wal",
            text: "not there, although \(reason): if the store was copied without it, the latest changes are missing",
            isWarning: true))
      }
      return
    }
    let left = log.frames - log.applied
    source.report(
      LoadNote(
        subject: log.name, count: log.applied,
        text: "changed pages (frames) of the write-ahead log taken in"
          + (left > 0 ? "; \(left) more belong to no finished transaction, or to an earlier log" : "")))
  }

  private mutating func image(of source: StoreSource, keeping: Bool) throws(PersistentStoreError) -> SQLiteImage {
    let known = pending.flatMap { $0.source == ObjectIdentifier(source) ? $0.image : nil }
    let image = if let known { known } else { try read(source) }
    pending = keeping ? (ObjectIdentifier(source), image) : nil
    return image
  }

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let path = try pathOfNewStore()
    let external = ExternalDataWriter(files, uuid: snapshot.metadata.uuid, isAllowed: !isInline)
    try StoreWriter(snapshot, path: path, external: external).write(to: try files.file())
    // If none of its values is in a file, those of the store that it replaces are removed with that.
    try files.removeReplacedCompanions(in: ExternalData.directory(of: files.fileName))
  }

  /// - Throws: `.alreadyExists` for a log of an earlier store: SQLite would take it for the new one's.
  func pathOfNewStore() throws(PersistentStoreError) -> String {
    let path = try StorePath.inspect(path).resolvedPath
    for suffix in ["-wal", "-journal"] {
      let place = try StorePath.inspect(path + suffix)
      guard place.kind == .nothing || place.kind == .zeroLength else {
        throw PersistentStoreError(
          .alreadyExists,
          "this belongs to an earlier store, and SQLite would apply it to the new one; move it away first",
          at: StoreLocation(file: place.path))
      }
    }
    return path
  }
}

extension Sequence<UInt8> {
  /// Whether the bytes contain these in a row.
  func contains(_ mark: [UInt8]) -> Bool {
    guard !mark.isEmpty else { return true }
    // One that is not zero: pages are full of zeros.
    let offset = mark.firstIndex { $0 != 0 } ?? 0
    return withContiguousStorageIfAvailable { bytes in
      guard let base = bytes.baseAddress, bytes.count >= mark.count else { return false }
      let end = bytes.count - mark.count + offset
      var start = offset
      while start <= end, let found = memchr(base + start, Int32(mark[offset]), end - start + 1) {
        let place = UnsafeRawPointer(base).distance(to: found)
        if memcmp(base + place - offset, mark, mark.count) == 0 { return true }
        start = place + 1
      }
      return false
    } ?? Array(self).contains(mark)
  }
}

/// Files that are part of a store and not the store: what they are, and what to open instead.
enum RelatedFile {
  static func file(_ probe: StoreProbe) -> Recognition {
    func opening(_ suffix: String) -> String {
      let name = probe.name.split(separator: "/").last.map(String.init) ?? probe.name
      return name.hasSuffix(suffix) ? "'\(name.dropLast(suffix.count))' beside it" : "the store that it belongs to"
    }
    let head = probe.prefix.withUnsafeBytes { $0.count >= 32 ? ($0.bigEndian32(0), $0.bigEndian32(4)) : nil }
    if let head, head.0 & ~1 == WriteAheadLog.magic, head.1 == WriteAheadLog.version {
      return .known(
        "the write-ahead log of an SQLite database, which is read with it: open \(opening("-wal")); without that file it is of no use"
      )
    }
    // The index of a log begins with the version in the machine's own byte order, and has it again 48 bytes further on.
    let isIndex =
      probe.size % 32_768 == 0 && probe.prefix.count >= 96
      && probe.prefix.withUnsafeBytes {
        UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) == WriteAheadLog.version
          && UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 48, as: UInt32.self)) == WriteAheadLog.version
      }
    if isIndex {
      return .known("the index of a write-ahead log, which holds no data: open \(opening("-shm"))")
    }
    if probe.prefix.starts(with: RollbackJournal.magic) {
      return .known("the rollback journal of an SQLite database: open \(opening("-journal"))")
    }
    // Encrypted databases have no mark at all: the name and the size of pages are what is left.
    let isCipher =
      ["sqlite", "sqlite3", "storedata", "db"].contains(probe.fileExtension) && probe.size >= 512
      && probe.size % 512 == 0 && probe.prefix.contains { $0 >= 0x80 }
      && String(validating: probe.prefix, as: UTF8.self) == nil
    return isCipher
      ? .known(
        "named as an SQLite database, and does not begin as one: it is encrypted (decrypt it with the application that wrote it), or its first page is damaged"
      ) : .no
  }

  static func folder(_ probe: StoreProbe) -> Recognition {
    guard probe.memberNames.contains("_EXTERNAL_DATA") else { return .no }
    return .known(
      "the external data of a Core Data SQLite store, which are read with it: open the .sqlite file beside the folder")
  }
}
