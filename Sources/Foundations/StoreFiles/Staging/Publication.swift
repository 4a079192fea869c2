import Glibc

/// The files and directories that one command or save writes, published as one unit: all of them, or none.
///
/// Everything is staged first, which is where most failures occur. Then each gets its name, one after the other; if one
/// cannot, those before it get back what they had. A signal that ends the program during ``commit()`` leaves nothing,
/// or all. What a killed process leaves is undone by the next write into one of the directories, unless it was changed
/// since: see ``PublicationRecord``.
///
/// ```swift
/// let unit = try Publication(madeOf: [source])
/// try unit.addFile(report, at: "report.csv", replaces: false)
/// unit.add(staged)
/// try unit.commit()
/// ```
///
/// `@unchecked Sendable`: a command makes it and hands it on; one thread at a time uses it.
package final class Publication: @unchecked Sendable {
  private final class Item {
    var staged: StagedStore?
    var published: PublishedStore?
    let target: String
    var isPublished: Bool { staged == nil }

    init(_ staged: consuming StagedStore) {
      target = staged.targetPath
      self.staged = consume staged
    }
  }
  /// In the order in which they are published.
  private var items: [Item] = []
  /// Directories of files, in which nothing stale is left.
  private var sweptDirectories: Set<String> = []
  /// Directories that were created for the files. They are removed if nothing is published.
  private var madeDirectories: [String] = []
  private enum State { case staged, published, rolledBack }
  private var state = State.staged
  private let ceiling: PermissionCeiling?

  /// - Parameter sources: What the content comes from. A new file or directory grants other users at most what each of
  ///   these grants them.
  package init(madeOf sources: [StorePath] = []) throws(PersistentStoreError) {
    ceiling = try PermissionCeiling(of: sources)
  }

  /// For content that has no source, or whose stores have their own limit.
  package init() { ceiling = nil }

  deinit {
    guard state != .published else { return }
    items = []
    for directory in madeDirectories.reversed() { SystemCall.removeEmptyFolder(directory) }
  }

  // MARK: Staging

  /// Adds a store that is finished.
  ///
  /// - Returns: Its number, for ``identity(of:)``.
  @discardableResult
  package func add(_ staged: consuming StagedStore) -> Int {
    items.append(Item(staged))
    return items.count - 1
  }

  /// Adds a file.
  ///
  /// - Parameter replaces: Whether a file at the path is replaced.
  /// - Throws: as ``StagedStore``.
  package func addFile(_ bytes: [UInt8], at path: String, replaces: Bool) throws {
    try addFile(at: path, replaces: replaces) { try $0.write(bytes) }
  }

  /// Adds a file that a function writes.
  package func addFile(at path: String, replaces: Bool, _ write: (StagedFile) throws -> Void) throws {
    // Once for each directory: sweeping takes as long as there are names in it.
    let sweeps = !sweptDirectories.contains(FilePathText.folder(path))
    let staged = try StagedStore(
      target: path, layout: .file, policy: replaces ? .replaceAny : .createNew, ceiling: ceiling, sweeps: sweeps)
    sweptDirectories.insert(FilePathText.folder(path))
    try write(try staged.files.file())
    try staged.finish()
    add(staged)
  }

  /// Adds a directory with files at any depth.
  ///
  /// - Parameters:
  ///   - policy: What may be replaced.
  ///   - check: Throws if the directory at the path must not be replaced with everything in it.
  ///   - write: Creates the files: see ``StagedFiles/file(at:isExecutable:)``.
  package func addTree(
    at path: String, policy: StagedStore.Policy,
    replacing check: @escaping StagedStore.DirectoryCheck = { (_) throws(PersistentStoreError) in },
    _ write: (StagedFiles) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let staged = try StagedStore(tree: path, policy: policy, replacing: check, ceiling: ceiling)
    try write(staged.files)
    try staged.finish()
    add(staged)
  }

  /// Creates a directory, and those that contain it, unless they exist. They are removed if nothing is published.
  package func makeDirectory(_ path: String) throws(PersistentStoreError) {
    madeDirectories += try Self.makeDirectory(path, ceiling: ceiling)
  }

  /// Creates a directory, and those that contain it, unless they exist. Another process may create them at the same
  /// time.
  ///
  /// - Returns: Those that were created, from the outside in.
  @discardableResult
  package static func makeDirectory(
    _ path: String, ceiling: PermissionCeiling? = nil
  ) throws(PersistentStoreError) -> [String] {
    guard !path.isEmpty else { throw PersistentStoreError(.cannotCreate, "an empty path is not a directory name") }
    var made: [String] = []
    var partial = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      partial += partial.isEmpty || partial.hasSuffix("/") ? String(part) : "/" + part
      if let status = try SystemCall.status(partial, followLinks: true), status.st_mode & S_IFMT == S_IFDIR { continue }
      guard Retried.mkdir(partial, 0o777) == 0 else {
        if errno == EEXIST, let status = try SystemCall.status(partial, followLinks: true),
          status.st_mode & S_IFMT == S_IFDIR
        {
          continue
        }
        let error = SystemCall.error(errno, "create the directory", partial)
        for directory in made.reversed() { Retried.rmdir(directory) }
        throw error.code == .alreadyExists
          ? PersistentStoreError(.cannotCreate, "this is not a directory", at: error.location) : error
      }
      made.append(partial)
      guard let ceiling, let status = try SystemCall.status(partial, followLinks: false) else { continue }
      _ = Retried.chmod(partial, ceiling.limiting(status.st_mode & 0o7777, isFolder: true, group: status.st_gid))
    }
    return made
  }

  /// Undoes what killed processes have published half-way into the directory of a path. Call it before something is
  /// refused because there is something at the path.
  package static func undoInterrupted(beside path: String) {
    guard let place = try? StorePath.inspect(path) else { return }
    StaleItems.remove(in: FilePathText.folder(place.resolvedPath))
  }

  /// Whether a name is that of a lock, of a staged file or of a record of the kit.
  package static func isTemporaryName(_ name: String) -> Bool { HiddenName.isTemporary(name) }

  // MARK: Publishing

  /// Publishes everything, and removes what was replaced.
  ///
  /// - Throws: as ``publish()``.
  package func commit() throws(PersistentStoreError) {
    try JointPublication.run { () throws(PersistentStoreError) in
      try publish()
      conclude()
    }
  }

  /// Publishes everything with a change of a database, which nothing can roll back once its transaction has ended. If
  /// the process is killed in between, the files are there and the database is as before.
  ///
  /// - Parameter transaction: Changes the database. It calls ``publish()`` just before the transaction ends; otherwise
  ///   that is done afterwards. If it fails, what was published is rolled back.
  /// - Throws: The error of the transaction, or of ``publish()``.
  package func commit<Result>(with transaction: () throws -> Result) throws -> Result {
    try JointPublication.run {
      do {
        let result = try transaction()
        JointPublication.notePublished()
        try publish()
        conclude()
        return result
      } catch {
        try rollBack(after: error)
        throw error
      }
    }
  }

  /// Gives each item its name, and keeps what was replaced until ``conclude()`` or ``rollBack(after:)``. A unit that is
  /// published stays so: more calls do nothing.
  ///
  /// - Throws: The error of the first item that could not be published, after those before it were rolled back.
  ///   `.notRolledBack` if one of them could not be; the message names the paths. `.internalInconsistency` if the unit
  ///   was rolled back, or if something was added after it was published.
  package func publish() throws(PersistentStoreError) {
    if state == .published, items.allSatisfy(\.isPublished) { return }
    guard state == .staged else {
      throw PersistentStoreError(
        .internalInconsistency, "these files were already published or rolled back",
        at: StoreLocation(file: items.first?.target))
    }
    state = .published
    // It is needed until everything is rolled back, in case the process is killed meanwhile.
    var record: PublicationRecord?
    defer { withExtendedLifetime(record) {} }
    do throws(PersistentStoreError) {
      // A store may have several names, too.
      var entries: [PublicationRecord.Entry] = []
      for item in items { entries += try item.staged?.recordEntries() ?? [] }
      record = try PublicationRecord(ofSeveral: entries)
      let isUnit = items.count > 1
      for item in items {
        item.published = try item.staged.take()?.publish(isPartOfUnit: isUnit)
      }
      if isUnit {
        for (folder, target) in folders { try SystemCall.syncFolder(folder, of: target) }
      }
      try record?.remove()
    } catch {
      try rollBackAll(after: error)
      throw error
    }
  }

  /// The identity of what was published by number, until ``conclude()``.
  package func identity(of number: Int) -> FileIdentity? { items[number].published?.identity }

  /// Removes what was replaced.
  package func conclude() {
    for item in items { item.published.take()?.conclude() }
    items = []
    madeDirectories = []
  }

  /// Restores what was replaced, and removes what was new. What is staged stays so if nothing was published: the caller
  /// may try again.
  ///
  /// - Parameters:
  ///   - cause: The reason.
  ///   - isWritten: Whether what was published may have been written to since, as databases are that were opened.
  /// - Throws: `.notRolledBack` with the paths of what could not be restored.
  package func rollBack(
    after cause: any Error, isWritten: Bool = false
  ) throws(PersistentStoreError) {
    guard state == .published else { return }
    try rollBackAll(
      after: PersistentStoreError(wrapping: cause, as: .inputOutput, at: StoreLocation()), isWritten: isWritten)
  }

  private func rollBackAll(
    after cause: PersistentStoreError, isWritten: Bool = false
  ) throws(PersistentStoreError) {
    state = .rolledBack
    var failures: [String] = cause.code == .notRolledBack ? [cause.message] : []
    for item in items.reversed() {
      item.staged.take()?.discard()
      // A version that another process saved meanwhile is kept.
      do throws(PersistentStoreError) { try item.published.take()?.rollBack(isWritten: isWritten) } catch {
        if error.code != .changedOnDisk { failures.append("\(item.target): \(error.message)") }
      }
    }
    items = []
    guard failures.isEmpty else {
      throw PersistentStoreError(
        .notRolledBack, failures.joined(separator: "; "), at: cause.location, underlying: cause)
    }
  }

  /// The directories that names are given in, each once, with one of these names.
  private var folders: [(path: String, target: String)] {
    var seen = Set<ScalarString>()
    return items.map { (FilePathText.folder($0.target), $0.target) }.filter {
      seen.insert(ScalarString($0.0)).inserted
    }
  }
}
