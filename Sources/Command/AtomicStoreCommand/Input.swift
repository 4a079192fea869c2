import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCoordination
import Synchronization

/// The input as specified on the command line: a path, or `-` for standard input.
enum Input {
  private static let staged = Mutex<String?>(nil)

  /// Whether a path is that of the staged copy of standard input.
  static func isStaged(_ path: String) -> Bool { staged.withLock { $0 == path } }

  /// Returns the path of the input. Standard input is staged in the temporary directory, since a store is read more
  /// than once.
  ///
  /// - Throws: `.notFound` if the file does not exist, `.malformed` if it is empty.
  static func path(for argument: String, mayBeEmpty: Bool = false) throws -> String {
    guard argument == "-" else {
      hidePassword(of: argument)
      try check(argument, mayBeEmpty: mayBeEmpty)
      return argument
    }
    if let path = staged.withLock({ $0 }) { return path }
    let path = temporaryPath("stdin", shownAs: "standard input")
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw CommandFailure("cannot stage standard input in \(path): \(Descriptor.text(errno))", exitCode: 73)
    }
    staged.withLock { $0 = path }
    defer { close(file) }
    do {
      let size = try copy(from: STDIN_FILENO, to: file)
      guard size > 0 || mayBeEmpty else { throw CommandFailure("standard input is empty", exitCode: 65) }
    } catch {
      // The caller gets no path on an error, and could not discard it.
      discard()
      throw error
    }
    return path
  }

  private static func copy(from source: Int32, to target: Int32) throws -> Int {
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    var size = 0
    while true {
      let got = buffer.withUnsafeMutableBytes { Descriptor.read(source, into: $0) }
      guard got >= 0 else {
        throw CommandFailure("cannot read standard input: \(Descriptor.text(Int32(-got)))", exitCode: 74)
      }
      guard got > 0 else { return size }
      let error = buffer.withUnsafeBytes { Descriptor.write(UnsafeRawBufferPointer(rebasing: $0[..<got]), to: target) }
      guard error == 0 else {
        throw CommandFailure("cannot stage standard input: \(Descriptor.text(error))", exitCode: 74)
      }
      size += got
    }
  }

  /// Removes the staged standard input.
  static func discard() {
    staged.withLock { path in
      if let path { unlink(path) }
      path = nil
    }
  }

  /// Whether a store is named by a URL, not by a path.
  static func isURL(_ path: String) -> Bool {
    guard let scheme = StoreAddress.scheme(of: path) else { return false }
    return InstalledFormats.registry.incrementalType(
      urlScheme: scheme, isCertain: StoreAddress.isCertainURL(path)) != nil
  }

  /// Makes everything that the command prints show a URL without its password.
  static func hidePassword(of argument: String) {
    let bytes = argument.utf8
    // What is before the URL may be an option, or an entity: --base=postgresql://…
    let scheme = argument.firstRange(of: "://")
    guard scheme != nil || isURL(argument) else { return }
    let start = scheme.flatMap { scheme in
      bytes[..<scheme.lowerBound].lastIndex { !isSchemeByte($0) }.map { bytes.index(after: $0) }
    }
    let url = String(argument[(start ?? argument.startIndex)...])
    let shown = StoreAddress.withoutPassword(url)
    // Values may be URLs of other kinds. An argument that is nothing but a URL is perhaps the misspelt one of a store.
    guard shown != url, start == nil || isURL(url) else { return }
    Diagnostics.hide(url, as: shown)
    // A path may be made of a URL, so its parts are hidden, too.
    if let range = StoreAddress.passwordRange(in: url) { Diagnostics.hide(String(url[range]) + "@", as: "@") }
    let end = url.firstIndex(of: "?") ?? url.endIndex
    for parameter in url[end...].dropFirst().split(separator: "&") where !shown.contains(parameter) {
      // Perhaps the end of a password that has a `&`: but of a few letters, all output would be full of holes.
      guard parameter.contains("=") || isURL(url) && parameter.utf8.count > 3 else { continue }
      let name = parameter.contains("=") ? parameter.prefix { $0 != "=" } + "=" : ""
      Diagnostics.hide(String(parameter), as: name + "…")
    }
  }

  private static func isSchemeByte(_ byte: UInt8) -> Bool {
    byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
      || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte == UInt8(ascii: "+")
      || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
  }

  /// A store as messages and results show it: a URL without its password.
  static func shown(_ path: String) -> String { isURL(path) ? StoreAddress.withoutPassword(path) : path }

  /// Whether there is an incremental store, at a path or a URL.
  static func isIncremental(_ path: String) -> Bool {
    (try? InstalledFormats.registry.incrementalType(nil, at: path)) != nil
  }

  /// Checks that there is something to read: an empty file would be treated as a new store.
  private static func check(_ path: String, mayBeEmpty: Bool) throws(PersistentStoreError) {
    let place = StoreLocation(file: path)
    guard !path.isEmpty else { throw PersistentStoreError(.notFound, "an empty path is not a file name") }
    // What is at a URL is its store's to say.
    if isURL(path) { return }
    var status = stat()
    guard stat(path, &status) == 0 else {
      switch errno {
      case ENOTDIR where path.utf8.last == UInt8(ascii: "/"):
        throw PersistentStoreError(
          .unsupportedFileKind, "this is a file, not a directory: leave out the slash at the end", at: place)
      case ENOENT, ENOTDIR:
        throw PersistentStoreError(
          .notFound, "the file does not exist" + (logWithoutFile(path) ?? near(path)), at: place)
      case ELOOP: throw PersistentStoreError(.notFound, "symbolic links form a cycle", at: place)
      case ENAMETOOLONG: throw PersistentStoreError(.notFound, "the file name is too long", at: place)
      default: return  // The kit finds out as well, and says it.
      }
    }
    guard !mayBeEmpty else { return }
    switch try StorePath.kind(of: path) {
    case .zeroLength:
      throw PersistentStoreError(.malformed, "the file is empty" + (logWithoutFile(path) ?? ""), at: place)
    case .emptyFolder: throw PersistentStoreError(.malformed, "the directory is empty", at: place)
    default: return
    }
  }

  /// What to say if the write-ahead log of an SQLite database is there, and the database is not.
  private static func logWithoutFile(_ path: String) -> String? {
    guard (try? StorePath.kind(of: path + "-wal")) == .file else { return nil }
    return
      "; \(path)-wal is there, the write-ahead log of an SQLite database: it has only what changed last, and cannot be read without the database's file"
  }

  /// Returns the file beside a missing one whose name is nearly the same.
  private static func near(_ path: String) -> String {
    let directory = PathParts.directory(of: path)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let text = Suggestion.text(for: PathParts.name(of: path), among: names.sorted())
    guard directory != ".", let quote = text.firstIndex(of: "'") else { return text }
    return text[...quote] + directory + "/" + text[text.index(after: quote)...]
  }

  /// Refuses a file or directory that cannot be read: what is in it cannot be checked.
  static func checkPermission(_ path: String) throws(PersistentStoreError) {
    guard !isURL(path), faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0, errno == EACCES else { return }
    throw PersistentStoreError(
      .permissionDenied, "cannot open: \(Descriptor.text(EACCES))", at: StoreLocation(file: path))
  }

  // MARK: Files of the command's own

  /// The directory for the command's own files.
  static var temporaryFolder: String {
    let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    // Errors distinguish paths by their absolute form.
    guard let real = realpath(folder, nil) else { return folder }
    defer { free(real) }
    return String(cString: real)
  }

  /// An unused path in the temporary directory. A signal removes the file.
  static func temporaryPath(_ name: String, shownAs shown: String) -> String {
    let folder = temporaryFolder
    let path = "\(folder == "/" ? "" : folder)/atomicstore-\(getpid())-\(UUID().uuidString)-\(name)"
    Diagnostics.show(path, as: shown)
    Interrupt.remember(path)
    return path
  }
}
