import Glibc
import Synchronization

/// The input of a format: a file, a directory of files, or bytes in memory.
///
/// ```swift
/// let source = StoreSource(bytes: Array("TABBED".utf8), name: "people.tabbed")
/// print(try source.bytes().count)  // 6
/// ```
public final class StoreSource: Sendable {
  enum Content: Sendable {
    case file(path: String)
    case folder(FolderListing)
    case memory([ScalarString: StoreBytes])
  }
  /// The path as specified, or another name for messages.
  public let name: String
  /// Whether the source is a directory of files. Then the files are read by their names, see ``memberNames``.
  public let isFolder: Bool
  /// For a directory: the names of its files that do not begin with a dot, in the order of their bytes.
  public let memberNames: [String]
  let content: Content
  /// For a store that is not published yet: the name that it will have, and where the directory beside it is until
  /// then.
  let companions: (fileName: String, root: String, path: String)?
  private let skipped = Mutex<[String]>([])
  private let reported = Mutex<[LoadNote]>([])

  /// Reports something worth knowing about the load, which goes on.
  public func report(_ note: LoadNote) { reported.withLock { $0.append(note) } }
  /// What was reported while this source was read.
  package var notes: [LoadNote] { reported.withLock { $0 } }

  /// Declares that a file in the store's directory does not belong to the store, so that a save keeps it. All other
  /// files that do not begin with a dot belong to the format, and those that it does not write again are removed.
  public func passOver(member: String) { skipped.withLock { $0.append(member) } }
  /// The members that formats ignored.
  package var unrelatedFiles: [String] { skipped.withLock { $0 } }

  /// Opens what is at a path.
  ///
  /// - Throws: `.notFound` if there is nothing to read.
  public convenience init(opening place: StorePath) throws(PersistentStoreError) {
    try self.init(opening: place, companions: nil)
  }

  init(
    opening place: StorePath, companions: (fileName: String, root: String, path: String)?
  ) throws(PersistentStoreError) {
    name = place.path
    self.companions = companions
    switch place.kind {
    case .folder, .emptyFolder:
      isFolder = true
      // A member that is a link could lead anywhere: only what is in the directory itself belongs to the store.
      let listing = if let known = place.listing { known } else { try FolderListing(place.resolvedPath) }
      content = .folder(listing)
      memberNames = listing.members.map(\.name)
    case .file, .zeroLength:
      isFolder = false
      memberNames = []
      content = .file(path: place.resolvedPath)
    case .nothing:
      throw PersistentStoreError(.notFound, "the store does not exist", at: StoreLocation(file: place.path))
    }
  }

  /// Creates a source from a file in memory.
  public init(bytes: [UInt8], name: String) {
    self.name = name
    companions = nil
    isFolder = false
    memberNames = []
    content = .memory([ScalarString(""): StoreBytes(bytes)])
  }

  /// Creates a source from a directory in memory.
  package init(members: [(name: String, bytes: [UInt8])], name: String) {
    self.name = name
    companions = nil
    isFolder = true
    memberNames = members.map { ScalarString($0.name) }.sorted().map(\.string)
    var table: [ScalarString: StoreBytes] = [:]
    for (name, bytes) in members { table[ScalarString(name)] = StoreBytes(bytes) }
    content = .memory(table)
  }

  /// The name of the file, or of a member, for messages.
  public func displayName(ofMember member: String?) -> String { member.map { name + "/" + $0 } ?? name }

  /// Reads a whole file, or its first `limit` bytes.
  ///
  /// - Throws: `.notFound` for a member that does not exist, `.changedOnDisk` if the file changes while it is read.
  public func bytes(ofMember member: String? = nil, limit: Int? = nil) throws(PersistentStoreError) -> StoreBytes {
    if case .memory(let table) = content {
      guard let bytes = table[ScalarString(member ?? "")] else { throw noMember(member) }
      guard let limit, limit < bytes.count else { return bytes }
      return StoreBytes(bytes.withUnsafeBytes { Array($0.prefix(limit)) })
    }
    return try opened(member) { descriptor, status, path throws(PersistentStoreError) in
      let wanted = min(Int(status.st_size), limit ?? .max)
      return try StoreBytes(capacity: wanted) { base throws(PersistentStoreError) in
        if limit == nil, Self.readPieces(descriptor, wanted, into: base, path) {
          try checkUnchanged(descriptor, status, path, complete: true)
          return wanted
        }
        let filled = try Self.read(descriptor, 0..<wanted, into: base, path)
        try checkUnchanged(descriptor, status, path, complete: filled == wanted)
        return filled
      }
    }
  }

  /// Reads only the beginning and the end of a file. The result has the size of the file, with zeros in between. For
  /// formats whose metadata are there, in files of gigabytes.
  ///
  /// - Parameters:
  ///   - member: The name of a file of a directory; nil if the source is one file.
  ///   - head: The number of bytes at the beginning, at least 0.
  ///   - tail: The number of bytes at the end, at least 0. If both parts meet, the whole file is read.
  /// - Throws: as ``bytes(ofMember:limit:)``.
  public func bytes(ofMember member: String? = nil, head: Int, tail: Int) throws(PersistentStoreError) -> StoreBytes {
    if case .memory = content { return try bytes(ofMember: member) }
    return try opened(member) { descriptor, status, path throws(PersistentStoreError) in
      let size = Int(status.st_size)
      let first = 0..<min(max(head, 0), size)
      let last = max(size - min(max(tail, 0), size), first.upperBound)..<size
      return try StoreBytes(capacity: size, isZeroed: true) { base throws(PersistentStoreError) in
        var filled = 0
        for part in [first, last] where !part.isEmpty { filled += try Self.read(descriptor, part, into: base, path) }
        try checkUnchanged(descriptor, status, path, complete: filled == first.count + last.count)
        return size
      }
    }
  }

  /// Reads a file except for parts that are read when they are needed, see ``StoreBytes/read(_:)``: large columns,
  /// which a load may only have to compare. The file stays open as long as the result is used.
  ///
  /// - Parameters:
  ///   - member: The name of a file of a directory; nil if the source is one file.
  ///   - parts: Ranges of the file, in ascending order, none of which overlaps another. If they are not within the
  ///     file, all of it is read at once.
  /// - Throws: as ``bytes(ofMember:limit:)``.
  public func bytes(
    ofMember member: String? = nil, later parts: [Range<Int>]
  ) throws(PersistentStoreError) -> StoreBytes {
    if case .memory = content { return try bytes(ofMember: member) }
    if parts.isEmpty { return try bytes(ofMember: member) }
    let found = try opened(member) { descriptor, status, path throws(PersistentStoreError) -> StoreBytes? in
      let size = Int(status.st_size)
      guard Self.areAscending(parts, within: size) else { return nil }
      let later = try LaterParts(parts, of: descriptor, status, path)
      return try StoreBytes(capacity: size, later: later) { base throws(PersistentStoreError) in
        var next = 0
        for part in parts + [size..<size] {
          let filled = try Self.read(descriptor, next..<part.lowerBound, into: base, path)
          try checkUnchanged(descriptor, status, path, complete: filled == part.lowerBound - next)
          next = part.upperBound
        }
        return size
      }
    }
    return if let found { found } else { try bytes(ofMember: member) }
  }

  private static func areAscending(_ parts: [Range<Int>], within size: Int) -> Bool {
    var next = 0
    for part in parts {
      guard part.lowerBound >= next, !part.isEmpty else { return false }
      next = part.upperBound
    }
    return next <= size
  }

  func opened<Result>(
    _ member: String?, _ body: (Int32, stat, String) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    let (descriptor, path) = try open(member)
    defer { DatabaseFileHold.close(descriptor) }
    var status = stat()
    guard Retried.fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "look at the file", path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw PersistentStoreError(.unsupportedFileKind, "this is not a file", at: StoreLocation(file: path))
    }
    return try body(descriptor, status, path)
  }

  /// Reads a part of a file to its position in memory and returns how many bytes there were.
  private static func read(
    _ descriptor: Int32, _ part: Range<Int>, into base: UnsafeMutableRawPointer, _ path: String
  ) throws(PersistentStoreError) -> Int {
    guard part.lowerBound == 0 || lseek(descriptor, off_t(part.lowerBound), SEEK_SET) >= 0 else {
      throw SystemCall.error(errno, "read", path)
    }
    var place = part.lowerBound
    while place < part.upperBound {
      let got = try SystemCall.read(descriptor, into: base + place, count: part.upperBound - place, path: path)
      if got == 0 { break }
      place += got
    }
    return place - part.lowerBound
  }

  /// Reads a large file in pieces at the same time. False if it is small, or a piece could not be read completely: then
  /// it is read from its beginning, which reports the error.
  private static func readPieces(
    _ descriptor: Int32, _ size: Int, into base: UnsafeMutableRawPointer, _ path: String
  ) -> Bool {
    let jobs = ParallelWork.partCount(forInput: size)
    guard jobs > 1 else { return false }
    let target = ReadTarget(base: base)
    let piece = ParallelWork.leastPart
    return ParallelWork.allSatisfy((size + piece - 1) / piece, jobs: jobs) { number in
      let reader = StoreFileReader(descriptor: descriptor, size: size, path: path)
      let start = number * piece
      let count = min(piece, size - start)
      let buffer = UnsafeMutableRawBufferPointer(start: target.base + start, count: count)
      return (try? reader.read(at: start, into: buffer)) == count
    }
  }

  /// `@unchecked Sendable`: the pieces do not overlap, and nothing else uses the memory before all were read.
  private struct ReadTarget: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
  }

  /// The size in bytes of a directory's member when the source was opened; nil if the source does not contain it.
  public func size(ofMember member: String) -> Int? {
    switch content {
    case .memory(let table): table[ScalarString(member)]?.count
    case .file: nil
    case .folder(let listing): (listing.member(named: member)?.status.st_size).map { Int($0) }
    }
  }

  /// The size in bytes of the file, or of all members.
  public func totalSize() throws(PersistentStoreError) -> Int {
    switch content {
    case .memory(let table): return table.values.reduce(0) { $0 + $1.count }
    case .file(let path): return Int(try SystemCall.status(path, followLinks: true)?.st_size ?? 0)
    case .folder(let listing): return listing.members.reduce(0) { $0 + Int($1.status.st_size) }
    }
  }

  /// Reads a file in chunks, each valid until the next one; `body` returns whether to continue.
  ///
  /// - Throws: as ``bytes(ofMember:limit:)``, and the errors of `body`.
  public func readChunks(
    ofMember member: String? = nil, size: Int = 256 * 1024,
    _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) {
    if case .memory = content {
      let bytes = try bytes(ofMember: member)
      try bytes.withUnsafeBytes { all throws(PersistentStoreError) in
        var start = 0
        while start < all.count {
          let end = min(start + size, all.count)
          if try !body(UnsafeRawBufferPointer(rebasing: all[start..<end])) { return }
          start = end
        }
      }
      return
    }
    try opened(member) { descriptor, status, path throws(PersistentStoreError) in
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      defer { buffer.deallocate() }
      var total = 0
      while true {
        let got = try SystemCall.read(descriptor, into: buffer, count: size, path: path)
        if got == 0 { break }
        total += got
        if try !body(UnsafeRawBufferPointer(start: buffer, count: got)) { return }
      }
      try checkUnchanged(descriptor, status, path, complete: total == Int(status.st_size))
    }
  }

  func checkUnchanged(
    _ descriptor: Int32, _ before: stat, _ path: String, complete: Bool
  ) throws(PersistentStoreError) {
    var after = stat()
    guard Retried.fstat(descriptor, &after) == 0 else { throw SystemCall.error(errno, "look at the file", path) }
    guard complete, try FileIdentity(path, before) == FileIdentity(path, after)
    else {
      throw PersistentStoreError(
        .changedOnDisk, "the file changed while it was being read", at: StoreLocation(file: path))
    }
  }

  /// Opens the file or a member, and returns its path.
  /// - Returns: The descriptor, and the path for messages: that of the store, also where a staged file is read.
  private func open(_ member: String?) throws(PersistentStoreError) -> (descriptor: Int32, path: String) {
    // Without waiting for the other end of a pipe that has taken the place of the file.
    let flags = O_RDONLY | O_NONBLOCK
    switch content {
    case .file(let path) where member == nil: return (try SystemCall.open(path, flags, doing: "open"), name)
    case .folder(let listing):
      guard let member, let found = listing.member(named: member) else { break }
      let final = listing.path + "/" + member
      let shown = displayName(ofMember: member)
      do throws(PersistentStoreError) { return (try SystemCall.open(found.path, flags, doing: "open"), shown) } catch {
        // A commit in progress moves members to their final paths.
        guard error.code == .notFound, found.path != final else { throw error }
        return (try SystemCall.open(final, flags, doing: "open"), shown)
      }
    default: break
    }
    throw noMember(member)
  }

  private func noMember(_ member: String?) -> PersistentStoreError {
    PersistentStoreError(
      .notFound, member == nil ? "the store is a directory, not a file" : "the member is missing",
      at: StoreLocation(file: displayName(ofMember: member)))
  }
}
