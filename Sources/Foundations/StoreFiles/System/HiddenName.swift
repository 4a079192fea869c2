import Glibc

/// The names of temporary files beside a store: hidden, and with the process and host that created them.
enum HiddenName {
  static let marker = ".atomicstore-"
  private static let suffix = ".tmp"
  private static let recordSuffix = ".unit"
  /// See ``StoreLock``.
  static let lockSuffix = ".atomicstore-lock"

  /// `.NAME.atomicstore-BOOT-NAMESPACE-PID-START-RANDOM.tmp` beside the target, with NAME shortened if the result would
  /// exceed 255 bytes.
  ///
  /// It contains the process and host that created it, and cannot be predicted.
  static func staged(beside target: String) -> String {
    make(beside: target, suffix)
  }

  /// The same for the record of a publication, with another suffix: earlier versions of the kit do not remove it.
  static func record(beside target: String) -> String { make(beside: target, recordSuffix) }

  private static func make(beside target: String, _ suffix: String) -> String {
    let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    return make(
      FilePathText.name(target), "\(marker)\(ProcessIdentity.current.text)-\(random)\(suffix)",
      in: FilePathText.folder(target))
  }

  /// A hidden name that begins like another one and has an ASCII suffix, in at most 255 bytes.
  static func make(_ name: String, _ tail: String, in folder: String) -> String {
    var stem = Array(name.utf8.prefix(254 - tail.utf8.count))
    // Cut between scalars, not inside one.
    while !stem.isEmpty, String(validating: stem, as: UTF8.self) == nil { stem.removeLast() }
    return folder + "/." + String(decoding: stem, as: UTF8.self) + tail
  }

  /// A name for what could not be restored: no later save removes it.
  static func kept(beside target: String) -> String {
    let random = String(UInt32.random(in: 0...UInt32.max), radix: 36)
    let path = make(FilePathText.name(target), ".kept-\(random)", in: FilePathText.folder(target))
    return FilePathText.folder(path) + "/" + FilePathText.name(path).dropFirst()
  }

  /// The path of the result that a path of this kind, or one in such a directory, belongs to, so that errors name what
  /// the user knows. Other paths, and those with a shortened name, stay as they are.
  static func shown(_ path: String) -> String {
    guard path.utf8.count < 4096, path.contains(marker) else { return path }
    return path.split(separator: "/", omittingEmptySubsequences: false).map { part in
      // What SQLite has beside a database that is staged.
      let journal = ["-wal", "-shm", "-journal"].first { part.hasSuffix($0) } ?? ""
      let name = String(part.dropLast(journal.count))
      guard name.utf8.count < 252, isTemporary(name), let range = lastMarker(in: name) else { return String(part) }
      return String(name[..<range].dropFirst())
    }.joined(separator: "/")
  }

  /// The process that created a name of this kind; nil for other names. Version 0.1 wrote only the process number.
  static func owner(of name: String) -> ProcessIdentity? { owner(of: name, suffix) }

  /// The same for the record of a publication.
  static func owner(ofRecord name: String) -> ProcessIdentity? { owner(of: name, recordSuffix) }

  /// Whether a name is that of a lock, of a staged file or of a record.
  static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(".") && (name.hasSuffix(lockSuffix) || owner(of: name) != nil || owner(ofRecord: name) != nil)
  }

  private static func owner(of name: String, _ suffix: String) -> ProcessIdentity? {
    guard name.hasSuffix(suffix), let range = lastMarker(in: name) else { return nil }
    let tail = name.utf8[range...].dropFirst(marker.utf8.count).dropLast(suffix.utf8.count)
    guard let dash = tail.lastIndex(of: UInt8(ascii: "-")), let text = String(tail[..<dash]) else { return nil }
    if let number = pid_t(text), number > 0 {
      return ProcessIdentity(boot: "", namespace: "", number: number, start: nil)
    }
    return ProcessIdentity(text)
  }

  private static func lastMarker(in name: String) -> String.Index? {
    let mark = Array(marker.utf8)
    return name.utf8.indices.dropFirst().reversed().first { name.utf8[$0...].starts(with: mark) }
  }
}
