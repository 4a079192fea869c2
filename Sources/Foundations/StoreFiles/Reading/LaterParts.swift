import Glibc
import Synchronization

/// The parts of a file that are read when they are needed, or compared with what is in memory and never read.
final class LaterParts: Sendable {
  /// In ascending order; none overlaps another.
  private let parts: [Range<Int>]
  private let states: [State]
  private let descriptor: Int32
  /// The file when it was opened.
  private let identity: FileIdentity
  private let path: String

  /// Whether a part is in memory. Locked while it is read, so that who finds it read may use it; other parts can be
  /// read meanwhile.
  private final class State: Sendable {
    let isRead = Mutex(false)
  }

  /// - Parameter descriptor: The open file. It is opened again for this object.
  init(_ parts: [Range<Int>], of descriptor: Int32, _ status: stat, _ path: String) throws(PersistentStoreError) {
    identity = try FileIdentity(path, status)
    let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { throw SystemCall.error(errno, "open", path) }
    self.parts = parts
    self.path = path
    self.descriptor = own
    states = parts.map { _ in State() }
  }

  deinit { DatabaseFileHold.close(descriptor) }

  /// Whether a part that overlaps a range is not in memory.
  func isMissing(_ range: Range<Int>) -> Bool {
    indices(of: range).contains { index in states[index].isRead.withLock { !$0 } }
  }

  /// The parts that overlap a range. A file may have many parts, and is asked about each object.
  private func indices(of range: Range<Int>) -> Range<Int> {
    var low = 0
    var high = parts.count
    while low < high {
      let middle = (low + high) / 2
      if parts[middle].upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
    }
    var end = low
    while end < parts.count, parts[end].overlaps(range) { end += 1 }
    return low..<end
  }

  /// Reads the parts that overlap a range to their positions in memory.
  func read(_ range: Range<Int>, into base: UnsafeMutableRawPointer) throws(PersistentStoreError) {
    for index in indices(of: range) {
      let target = Target(start: base + parts[index].lowerBound)
      try states[index].isRead.withLock { isRead throws(PersistentStoreError) in
        if isRead { return }
        PagedMemory.useLargePages(
          true, for: UnsafeMutableRawBufferPointer(start: target.start, count: parts[index].count))
        try copy(parts[index], to: target.start)
        try checkUnchanged()
        isRead = true
      }
    }
  }

  /// `@unchecked Sendable`: only who has the lock writes there.
  private struct Target: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
  }

  /// Reads a range to the beginning of a block.
  ///
  /// - Throws: `.changedOnDisk` if the file ends before.
  func copy(_ range: Range<Int>, to block: UnsafeMutableRawPointer) throws(PersistentStoreError) {
    var done = 0
    while done < range.count {
      let got = try SystemCall.read(
        descriptor, into: block + done, count: range.count - done, at: range.lowerBound + done, path: path)
      guard got > 0 else { throw changed }
      done += got
    }
  }

  /// - Throws: `.changedOnDisk` if the file changed since it was opened.
  func checkUnchanged() throws(PersistentStoreError) {
    var status = stat()
    guard Retried.fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "look at the file", path) }
    guard try FileIdentity(path, status) == identity else { throw changed }
  }

  private var changed: PersistentStoreError {
    PersistentStoreError(
      .changedOnDisk, "the file changed while it was being read", at: StoreLocation(file: path))
  }
}
