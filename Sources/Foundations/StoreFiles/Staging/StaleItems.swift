import Glibc

/// Staging files that processes which no longer run left beside a store.
enum StaleItems {
  /// How long staging files of another host are kept after their last change, in seconds.
  private static let foreignAge = 24 * 60 * 60
  /// The same for another container of this host, where locks show whether they are in use.
  private static let neighborAge = 60

  /// Removes the staging files of processes that no longer run from a directory, for any store.
  ///
  /// - Parameter now: The current time in seconds since 1970.
  static func remove(in folder: String, now: Int = time(nil)) {
    let names = hiddenNames(in: folder)
    // First what was published half-way: to restore what it replaced, that must still be there.
    // What belongs to a record that stays, such as one of another user, stays with it.
    var waiting = Set<ProcessIdentity>()
    for name in names {
      guard let owner = HiddenName.owner(ofRecord: name) else { continue }
      let path = folder + "/" + name
      guard isStale(path, name, owner, now), PublicationRecord.undo(path) else {
        waiting.insert(owner)
        continue
      }
    }
    for name in names {
      let path = folder + "/" + name
      if name.hasSuffix(HiddenName.lockSuffix) {
        StoreLock.removeIfAbandoned(path, now: now)
      } else if let owner = HiddenName.owner(of: name), !waiting.contains(owner), isStale(path, name, owner, now) {
        SystemCall.removeTree(path)
      }
    }
  }

  /// The hidden names that may be the kit's. No strings are created for others: a directory may contain a great many.
  private static func hiddenNames(in folder: String) -> [String] {
    guard let stream = Retried.opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
          if text[0] == CChar(bitPattern: UInt8(ascii: ".")), strstr(text, HiddenName.marker) != nil {
            names.append(String(cString: text))
          }
        }
      }
    }
    return names
  }

  private static func isStale(_ path: String, _ name: String, _ owner: ProcessIdentity, _ now: Int) -> Bool {
    if owner == ProcessIdentity.current { return !StagedItems.isListed(name) }
    switch owner.state {
    case .running: return false
    case .gone: return !isHeld(path)
    case .unknown:
      return now - lastChange(of: path) > (owner.isOnThisHost && isLockable(path) ? neighborAge : foreignAge)
        && !isHeld(path)
    }
  }

  /// When it was last written to or renamed: what a save replaced can be as old as the store.
  private static func lastChange(of path: String) -> Int {
    var status = stat()
    guard Retried.lstat(path, &status) == 0 else { return .max / 2 }
    return max(status.st_mtim.tv_sec, status.st_ctim.tv_sec)
  }

  private static func isHeld(_ path: String) -> Bool { lockError(path) == EWOULDBLOCK }
  private static func isLockable(_ path: String) -> Bool { lockError(path) == 0 }

  /// Returns 0 if it is not locked.
  private static func lockError(_ path: String) -> Int32 {
    let descriptor = Retried.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    // Closing the descriptor releases the lock.
    defer { DatabaseFileHold.close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno
  }
}
