import Glibc

extension StoreSource {
  /// Opens the file, or a member, for reads at any offset, and closes it when `body` returns. The reader must not be
  /// used afterwards.
  ///
  /// - Throws: as ``bytes(ofMember:limit:)``, and the errors of `body`.
  public func withReader<Result>(
    ofMember member: String? = nil, _ body: (StoreFileReader) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    if case .memory = content { return try body(StoreFileReader(try bytes(ofMember: member))) }
    return try opened(member) { descriptor, status, path throws(PersistentStoreError) in
      let result = try body(StoreFileReader(descriptor: descriptor, size: Int(status.st_size), path: path))
      try checkUnchanged(descriptor, status, path, complete: true)
      return result
    }
  }
}
