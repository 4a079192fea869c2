import AtomicStoreKit
import CommandSupport
import Glibc

/// Checks whether a result could be written to its path. A dry run stages the result elsewhere, and would not detect
/// it.
enum ResultPlace {
  /// - Throws: `.cannotCreate` if the directory of the result does not exist, `.permissionDenied` if it is not
  ///   writable.
  static func check(_ target: String) throws(PersistentStoreError) {
    if Input.isURL(target) { return }
    let place = StoreLocation(file: target)
    let there = try StorePath.inspect(target)
    var trimmed = Substring(there.resolvedPath)
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    let end = trimmed.lastIndex(of: "/") ?? trimmed.startIndex
    let folder = end == trimmed.startIndex ? "/" : String(trimmed[..<end])
    var status = stat()
    guard stat(folder, &status) == 0 else {
      throw PersistentStoreError(.cannotCreate, "the directory \(folder) does not exist", at: place)
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw PersistentStoreError(.cannotCreate, "\(folder) is not a directory", at: place)
    }
    guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
      throw PersistentStoreError(
        .permissionDenied, "no file can be created in the directory \(folder): \(Descriptor.text(errno))", at: place)
    }
    if there.kind != .nothing, faccessat(AT_FDCWD, there.resolvedPath, W_OK, AT_EACCESS) != 0 {
      throw PersistentStoreError(.permissionDenied, "the store is write-protected", at: place)
    }
  }

  /// Checks whether a store could be changed in place.
  ///
  /// - Throws: As ``check(_:)``; `.notSupported` for a store of a format that writes new stores only, and for one with
  ///   something that would not follow.
  static func checkChange(of store: PersistentStore, writeOptions: StoreOptions) throws(PersistentStoreError) {
    // Objects of a database are changed one by one.
    if !Input.isIncremental(store.path) { try store.checkIsChangeable(writeOptions: writeOptions) }
    if !store.isReachedByURL { try check(store.path) }
  }
}
