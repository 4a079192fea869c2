import Glibc
import Synchronization

/// Says that a library has a file open and locks it, as SQLite does, until the value is released.
///
/// The locks of such libraries are POSIX record locks, which belong to the process: when it closes any descriptor of
/// the file, the system releases all of them, also those of other descriptors
/// (https://www.sqlite.org/howtocorrupt.html, section 2.2). Another process then takes itself for the only one, and
/// removes a write-ahead log that is in use. So while a file is held, the kit closes none of the descriptors that it
/// has of it: those of recognizing, copying and comparing files are closed after the last hold.
///
/// A store makes one after the library has opened the file, before it locks it, and releases it after the library has
/// closed the file.
///
/// ```swift
/// sqlite3_open_v2(path, &handle, flags, nil)
/// hold = DatabaseFileHold(path)
/// // …
/// sqlite3_close_v2(handle)
/// hold = nil
/// ```
public final class DatabaseFileHold: Sendable {
  private let file: FileNumber

  private struct Entry: Sendable {
    var count = 0
    /// Descriptors of the kit that are to be closed.
    var descriptors: [Int32] = []
  }
  private static let entries = Entries()

  /// The files that are held, one caller at a time. A spin lock: Swift's mutex stores the number of its thread, which
  /// is another one in a forked process. The lock is taken for each fork, so that no forked process begins with it
  /// taken.
  ///
  /// `@unchecked Sendable`: `list` is used by the caller alone that has changed `isTaken` from false to true.
  private final class Entries: @unchecked Sendable {
    private let isTaken = Atomic<Bool>(false)
    private var list: [FileNumber: Entry] = [:]

    init() {
      pthread_atfork(
        { DatabaseFileHold.entries.take() }, { DatabaseFileHold.entries.release() },
        { DatabaseFileHold.entries.release() })
    }

    func withLock<Result>(_ body: (inout [FileNumber: Entry]) -> Result) -> Result {
      take()
      defer { release() }
      return body(&list)
    }

    func take() {
      // It is taken for a few system calls at most.
      while !isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged { sched_yield() }
    }

    func release() { isTaken.store(false, ordering: .releasing) }
  }

  /// Holds the file at a path, links followed. Nil if there is none.
  public init?(_ path: String) {
    guard let file = FileNumber(path) else { return nil }
    self.file = file
    Self.entries.withLock { $0[file, default: Entry()].count += 1 }
  }

  deinit {
    Self.entries.withLock { entries in
      guard var entry = entries[file] else { return }
      entry.count -= 1
      guard entry.count == 0 else {
        entries[file] = entry
        return
      }
      for descriptor in entry.descriptors { Glibc.close(descriptor) }
      entries[file] = nil
    }
  }

  /// Closes a descriptor now, or after the last hold of its file.
  ///
  /// - Returns: What the system says of a descriptor that is closed now: 0, or -1 with `errno`.
  @discardableResult
  static func close(_ descriptor: Int32) -> Int32 {
    // Under the lock, so that no hold of the file begins between the check and the close.
    entries.withLock { entries in
      guard !entries.isEmpty else { return Glibc.close(descriptor) }
      var status = stat()
      guard Retried.fstat(descriptor, &status) == 0, entries[FileNumber(status)] != nil else {
        return Glibc.close(descriptor)
      }
      entries[FileNumber(status)]?.descriptors.append(descriptor)
      return 0
    }
  }

  /// Calls `body` unless a file is held. No hold begins until it returns.
  ///
  /// - Parameter body: It should be quick: other threads that open or close files wait for it.
  /// - Returns: Nil if the file is held.
  package static func unlessHeld<Result: Sendable>(_ path: String, _ body: () -> Result) -> Result? {
    entries.withLock { entries in
      if let file = FileNumber(path), entries[file] != nil { return nil }
      return body()
    }
  }
}
