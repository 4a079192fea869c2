import AtomicStoreSPI
import Glibc

/// A database file in memory, with its write-ahead log applied, or an unfinished transaction rolled back: what SQLite
/// would show, without touching a file.
///
/// `@unchecked Sendable`: the memory is written in `init` only. SQLite is given it read-only.
final class SQLiteImage: @unchecked Sendable {
  private static let headerSize = 100

  /// What shows that a write-ahead log is missing.
  enum MissingLog {
    case header, index
  }

  let base: UnsafeMutablePointer<UInt8>
  let count: Int
  /// The write-ahead log's name and how many frames of how many were applied; nil where none is beside the file.
  let log: (name: String, applied: Int, frames: Int)?
  /// What says that there is a write-ahead log, if no such file is beside the database.
  let missingLog: MissingLog?
  /// What was read of a damaged database, if this is what was made of it; nil for a file's own bytes.
  let salvage: SalvageReport?
  /// The damaged database that this was made of.
  let original: SQLiteImage?
  /// How many pages of an unfinished transaction were put back; nil if there was none.
  let restoredPages: Int?

  /// Reads a source, and the write-ahead log beside it where there is one.
  ///
  /// - Parameter isLenient: Whether a damaged header is accepted, and fewer pages than it names.
  /// - Throws: `.changedOnDisk` where another process goes on writing; `.malformed` for what is not a database, and for
  ///   one whose last transaction must be rolled back first.
  static func read(
    _ source: StoreSource, _ limits: StoreLimits, isLenient: Bool = false
  ) throws(PersistentStoreError) -> SQLiteImage {
    // File and log are read one after the other, and belong together only if neither changed.
    for _ in 0..<10 {
      let before = try source.currentState()
      let log = try logSource(source)
      if let log { try checkSize(source, log, limits) }
      let logBefore = try log?.currentState()
      let bytes: StoreBytes
      let logBytes: StoreBytes?
      let journalBefore: StoreSource.State?
      let journalBytes: StoreBytes?
      do throws(PersistentStoreError) {
        let journal = try journalSource(source)
        if let journal { try checkSize(source, journal, limits) }
        journalBefore = try journal?.currentState()
        bytes = try source.bytes()
        logBytes = try log?.bytes()
        journalBytes = try journal?.bytes()
      } catch {
        // The journal is removed when the transaction ends.
        if error.code == .changedOnDisk || error.code == .notFound && before != nil { continue }
        throw error
      }
      guard try source.currentState() == before, try logSource(source)?.currentState() == logBefore,
        try journalSource(source)?.currentState() == journalBefore
      else { continue }
      let hasLogFile = if log != nil { true } else { try hasFile(source, "-wal") }
      let hasIndexFile = hasLogFile ? false : try hasFile(source, "-shm")
      return try SQLiteImage(
        bytes, log: logBytes, logName: log?.fileName ?? "", hasLogFile: hasLogFile, hasIndexFile: hasIndexFile,
        journal: journalBytes, file: source.name, isLenient: isLenient)
    }
    throw PersistentStoreError(
      .changedOnDisk, "another process goes on writing to the database; close it, or copy the file with its -wal",
      at: StoreLocation(file: source.name))
  }

  /// The limit on a store's bytes is one on the log's as well.
  private static func checkSize(
    _ source: StoreSource, _ log: StoreSource, _ limits: StoreLimits
  ) throws(PersistentStoreError) {
    let size = try source.totalSize() + log.totalSize()
    guard size > limits.bytes else { return }
    throw PersistentStoreError(
      .limitExceeded,
      "the store and its write-ahead log have \(size) bytes: more than the limit 'maximumBytes' of \(limits.bytes)",
      at: StoreLocation(file: source.name))
  }

  private static func logSource(_ source: StoreSource) throws(PersistentStoreError) -> StoreSource? {
    guard let name = source.fileName, let log = try source.companion(named: name + "-wal"), !log.isFolder else {
      return nil
    }
    return try log.totalSize() > 0 ? log : nil
  }

  /// Whether there is a file beside the database. A log is empty after its changes went into the database.
  private static func hasFile(_ source: StoreSource, _ suffix: String) throws(PersistentStoreError) -> Bool {
    guard let name = source.fileName else { return false }
    return try source.companion(named: name + suffix) != nil
  }

  /// The rollback journal, if it has a header: then the file may be in the middle of a transaction.
  private static func journalSource(_ source: StoreSource) throws(PersistentStoreError) -> StoreSource? {
    guard let name = source.fileName, let journal = try source.companion(named: name + "-journal"), !journal.isFolder
    else { return nil }
    return try journal.bytes(limit: headerSize).withUnsafeBytes { RollbackJournal.isHot($0) } ? journal : nil
  }

  init(
    _ bytes: StoreBytes, log logBytes: StoreBytes?, logName: String, hasLogFile: Bool, hasIndexFile: Bool,
    journal: StoreBytes? = nil, file: String, isLenient: Bool
  ) throws(PersistentStoreError) {
    let place = StoreLocation(file: file, offset: 0)
    salvage = nil
    original = nil
    if let journal {
      missingLog = nil
      log = nil
      guard logBytes == nil else {
        throw PersistentStoreError(
          .malformed,
          "both a rollback journal and a write-ahead log are beside it. Copy all three files and let sqlite3 open the copy once",
          at: place)
      }
      let built = try bytes.withUnsafeBytes { main throws(PersistentStoreError) in
        try journal.withUnsafeBytes { raw throws(PersistentStoreError) in
          try Self.rolledBack(main, raw, isLenient, place)
        }
      }
      (base, count, restoredPages) = (built.memory, built.count, built.pages)
      return
    }
    restoredPages = nil
    let usesLog = bytes.withUnsafeBytes { $0.count >= Self.headerSize && $0[19] == 2 }
    missingLog = hasLogFile ? nil : usesLog ? .header : hasIndexFile ? .index : nil
    let built = try bytes.withUnsafeBytes { main throws(PersistentStoreError) in
      guard let logBytes else { return try Self.build(main, nil, isLenient, place) }
      return try logBytes.withUnsafeBytes { raw throws(PersistentStoreError) in
        try Self.build(main, WriteAheadLog(raw), isLenient, place, raw)
      }
    }
    base = built.memory
    count = built.count
    log = logBytes == nil ? nil : (logName, built.applied, built.frames)
  }

  /// What was made of a damaged database.
  init(
    salvaged bytes: UnsafeRawBufferPointer, of damaged: SQLiteImage, _ report: SalvageReport, file: String
  ) throws(PersistentStoreError) {
    let place = StoreLocation(file: file, offset: 0)
    let built = try Self.build(bytes, nil, false, place)
    base = built.memory
    count = built.count
    log = damaged.log
    missingLog = damaged.missingLog
    salvage = report
    original = damaged
    restoredPages = damaged.restoredPages
  }

  /// The pages of a database as a connection sees them.
  init(pages: UnsafeRawBufferPointer, file: String) throws(PersistentStoreError) {
    missingLog = nil
    log = nil
    restoredPages = nil
    salvage = nil
    original = nil
    let built = try Self.build(pages, nil, false, StoreLocation(file: file, offset: 0))
    (base, count) = (built.memory, built.count)
  }

  deinit { free(base) }

  private static func build(
    _ main: UnsafeRawBufferPointer, _ log: WriteAheadLog?, _ isLenient: Bool, _ place: StoreLocation,
    _ logBytes: UnsafeRawBufferPointer? = nil
  ) throws(PersistentStoreError) -> (memory: UnsafeMutablePointer<UInt8>, count: Int, applied: Int, frames: Int) {
    var count = main.count
    let applied = log?.committedFrames ?? 0
    if let log, let pageSize = log.pageSize, applied > 0 {
      // The log's own first page would say what the log says.
      if main.count >= headerSize, !isLenient || DatabasePages(main).hasHeader {
        try check(main, logPageSize: pageSize, place)
      }
      // No transaction can name more pages than the file and the log have.
      let most = mostPages(main, log.pageOffsets, pageSize, isLenient)
      guard log.databasePages <= most || isLenient else {
        throw PersistentStoreError(
          .malformed, "the write-ahead log names \(log.databasePages) pages; there are \(most)", at: place)
      }
      count = min(log.databasePages, most) * pageSize
    }
    guard let memory = calloc(max(count, headerSize), 1)?.assumingMemoryBound(to: UInt8.self) else {
      throw PersistentStoreError(.limitExceeded, "the database's \(count) bytes do not fit the memory", at: place)
    }
    do throws(PersistentStoreError) {
      let image = UnsafeMutableRawBufferPointer(start: memory, count: count)
      image.copyMemory(from: UnsafeRawBufferPointer(rebasing: main.prefix(count)))
      if let log, let pageSize = log.pageSize, let logBytes {
        for (page, offset) in log.pageOffsets where page * pageSize <= count {
          UnsafeMutableRawBufferPointer(rebasing: image[(page - 1) * pageSize..<page * pageSize])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: logBytes[offset..<offset + pageSize]))
        }
      }
      if !isLenient { try checkWhole(UnsafeRawBufferPointer(image), place) }
      // A database in memory cannot have a log: the header says so.
      memory[18] = 1
      memory[19] = 1
      return (memory, count, applied, log?.frameCount ?? 0)
    } catch {
      free(memory)
      throw error
    }
  }

  /// How many pages a file and its log or journal can have together. One page can have any number, so that numbers do
  /// not show how many there are.
  ///
  /// - Parameter isLenient: Whether pages in between may be missing, as where the file is cut short; not most of them.
  private static func mostPages(
    _ main: UnsafeRawBufferPointer, _ logged: [Int: Int], _ pageSize: Int, _ isLenient: Bool
  ) -> Int {
    var most = (main.count + pageSize - 1) / pageSize + logged.count
    // The page that SQLite locks is in neither.
    if most > DatabasePages.lockedByte / pageSize { most += 1 }
    return isLenient ? max(most, min(logged.keys.max() ?? 0, 8 * most)) : most
  }

  /// The database as it was before an unfinished transaction.
  private static func rolledBack(
    _ main: UnsafeRawBufferPointer, _ journalBytes: UnsafeRawBufferPointer, _ isLenient: Bool, _ place: StoreLocation
  ) throws(PersistentStoreError) -> (memory: UnsafeMutablePointer<UInt8>, count: Int, pages: Int) {
    let stored = main.count >= headerSize ? Int(main.bigEndian16(16)) : 0
    let journal = RollbackJournal(journalBytes, databasePageSize: stored == 1 ? 65_536 : stored)
    guard !journal.isPartOfSeveral else {
      throw PersistentStoreError(
        .malformed,
        "the last transaction, which has other databases, too, was not finished. Copy the file with its rollback journal and let sqlite3 open the copy once",
        at: place)
    }
    guard let pages = journal.databasePages, pages > 0, !journal.pageOffsets.isEmpty else {
      let built = try build(main, nil, isLenient, place)
      return (built.memory, built.count, 0)
    }
    // No transaction can have begun with more pages than the file and the journal have.
    let most = mostPages(main, journal.pageOffsets, journal.pageSize, isLenient)
    guard pages <= most else {
      throw PersistentStoreError(
        .malformed, "the rollback journal names \(pages) pages; there can be \(most)", at: place)
    }
    guard let memory = calloc(pages * journal.pageSize, 1) else {
      throw PersistentStoreError(.limitExceeded, "the database does not fit the memory", at: place)
    }
    defer { free(memory) }
    let image = UnsafeMutableRawBufferPointer(start: memory, count: pages * journal.pageSize)
    image.copyMemory(from: UnsafeRawBufferPointer(rebasing: main.prefix(image.count)))
    for (page, offset) in journal.pageOffsets {
      UnsafeMutableRawBufferPointer(rebasing: image[(page - 1) * journal.pageSize..<page * journal.pageSize])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: journalBytes[offset..<offset + journal.pageSize]))
    }
    let built = try build(UnsafeRawBufferPointer(image), nil, isLenient, place)
    return (built.memory, built.count, journal.pageOffsets.count)
  }

  /// How many bytes the file should have; nil where its header does not say.
  static func sizeByHeader(_ prefix: [UInt8]) -> Int? {
    guard prefix.count >= headerSize else { return nil }
    return prefix.withUnsafeBytes { bytes in
      let stored = Int(bytes.bigEndian16(16))
      // The number of pages counts only where it was written by the last change.
      guard bytes.bigEndian32(24) == bytes.bigEndian32(92) else { return nil }
      return (stored == 1 ? 65_536 : stored) * Int(bytes.bigEndian32(28))
    }
  }

  /// Checks the header, and that all pages are there that it names.
  private static func checkWhole(
    _ image: UnsafeRawBufferPointer, _ place: StoreLocation
  ) throws(PersistentStoreError) {
    try check(image, logPageSize: nil, place)
    guard let whole = sizeByHeader(Array(image.prefix(headerSize))), whole > image.count else { return }
    throw PersistentStoreError(
      .malformed, "the file is cut short: it has \(image.count) of \(whole) bytes",
      at: place.filled(from: StoreLocation(offset: image.count)))
  }

  private static func check(
    _ image: UnsafeRawBufferPointer, logPageSize: Int?, _ place: StoreLocation
  ) throws(PersistentStoreError) {
    let isDatabase = image.count >= headerSize && DatabasePages.signature.withUTF8Buffer { image.starts(with: $0) }
    guard isDatabase else { throw PersistentStoreError(.malformed, "this is not an SQLite database", at: place) }
    let stored = Int(image.bigEndian16(16))
    let pageSize = stored == 1 ? 65_536 : stored
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else {
      throw PersistentStoreError(.malformed, "\(stored) is not a page size", at: place)
    }
    if let logPageSize, logPageSize != pageSize {
      throw PersistentStoreError(
        .malformed,
        "the write-ahead log has pages of \(logPageSize) bytes, the database of \(pageSize): it belongs to another file",
        at: place)
    }
  }
}
