import CStoreFiles
import Glibc
import Synchronization

/// A file that is being written: see ``StagedFiles``. The kit closes it.
public final class StagedFile: Sendable {
  private struct State {
    /// Nil if it is closed, temporarily or finally.
    var descriptor: Int32?
    var isSealed = false
    var written = 0
    /// How many bytes write-back was already started for.
    var handedOver = 0
  }
  private static let handOver = 8 << 20
  /// From how many bytes on finding room for them at once costs less than for each page.
  private static let leastReserve = 128 << 10
  private let state: Mutex<State>
  /// The path that the file will have, for error messages.
  let path: String
  private let stagedPath: String
  private let faults: FaultPlan?
  private let isExecutable: Bool

  /// - Parameters:
  ///   - written: The number of bytes that were already written to it.
  ///   - isExecutable: Whether users who may read a new file may also execute it.
  init(
    descriptor: Int32, stagedPath: String, path: String, faults: FaultPlan?, written: Int = 0,
    isExecutable: Bool = false
  ) {
    self.isExecutable = isExecutable
    state = Mutex(State(descriptor: descriptor, written: written, handedOver: written))
    self.stagedPath = stagedPath
    self.path = path
    self.faults = faults
  }

  deinit { abandon() }

  /// Appends bytes.
  ///
  /// - Throws: `.noSpace`, `.inputOutput`; `.internalInconsistency` after the save.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      let descriptor = try opened(&state)
      if bytes.count >= Self.leastReserve { asf_reserve(descriptor, Int64(state.written), Int64(bytes.count)) }
      var rest = bytes
      while let base = rest.baseAddress, !rest.isEmpty {
        if let error = faults?.next(.write) { throw SystemCall.error(error, "write", path) }
        let count = faults?.shortWrite(rest.count) ?? rest.count
        let done = Glibc.write(descriptor, base, count)
        if done < 0 {
          if errno == EINTR { continue }
          throw SystemCall.error(errno, "write", path)
        }
        state.written += done
        // Start write-back while the format produces the rest, so that the final sync takes less time. A failure does
        // not matter.
        if state.written - state.handedOver >= Self.handOver {
          asf_begin_writing(descriptor, Int64(state.handedOver), Int64(state.written - state.handedOver))
          state.handedOver = state.written
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[done...])
      }
    }
  }

  /// Appends bytes.
  ///
  /// - Throws: `.noSpace`, `.inputOutput`; `.internalInconsistency` after the save.
  public func write(_ bytes: [UInt8]) throws(PersistentStoreError) {
    try bytes.withUnsafeBufferPointer { buffer throws(PersistentStoreError) in
      try write(UnsafeRawBufferPointer(buffer))
    }
  }

  private func opened(_ state: inout State) throws(PersistentStoreError) -> Int32 {
    guard !state.isSealed else {
      throw PersistentStoreError(.internalInconsistency, "the file is closed", at: StoreLocation(file: path))
    }
    if let descriptor = state.descriptor { return descriptor }
    let descriptor = Retried.open(stagedPath, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemCall.error(errno, "open the file again", path) }
    state.descriptor = descriptor
    return descriptor
  }

  /// Closes the file temporarily; it is reopened when it is written to or sealed. A store may have more members than a
  /// process may have open files.
  func park() throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      guard let descriptor = state.descriptor else { return }
      asf_begin_writing(descriptor, Int64(state.handedOver), Int64(state.written - state.handedOver))
      state.handedOver = state.written
      state.descriptor = nil
      guard DatabaseFileHold.close(descriptor) == 0 || errno == EINTR else {
        throw SystemCall.error(errno, "close", path)
      }
    }
  }

  /// Sets the mode, owner and attributes of the file, syncs and closes it.
  ///
  /// - Parameters:
  ///   - replaced: The file that it replaces, and its state; nil for a new one.
  ///   - newMode: The mode of a new file, by group.
  func seal(
    replacing replaced: (path: String, status: stat)?, newMode: (gid_t) throws(PersistentStoreError) -> mode_t
  ) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      guard !state.isSealed else { return }
      let descriptor = try opened(&state)
      state.descriptor = nil
      state.isSealed = true
      do throws(PersistentStoreError) {
        let mode: mode_t
        if let replaced {
          // Set the owner first: changing it clears the set-user-ID bit of the mode.
          mode = try FileOwnership.copy(from: replaced.path, replaced.status, to: descriptor, shown: path)
          asf_copy_attributes(replaced.path, descriptor)
        } else {
          var own = stat()
          guard Retried.fstat(descriptor, &own) == 0 else { throw SystemCall.error(errno, "look at the file", path) }
          let new = try newMode(own.st_gid)
          mode = isExecutable ? new | (new & 0o444) >> 2 : new
        }
        guard Retried.fchmod(descriptor, mode) == 0 else { throw SystemCall.error(errno, "set the mode", path) }
        if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync", path) }
        guard Retried.fsync(descriptor) == 0 else { throw SystemCall.error(errno, "sync", path) }
      } catch {
        DatabaseFileHold.close(descriptor)
        throw error
      }
      // Some file systems report only now that a write failed.
      guard DatabaseFileHold.close(descriptor) == 0 || errno == EINTR else {
        throw SystemCall.error(errno, "close", path)
      }
    }
  }

  /// The descriptor, unless the file is sealed or abandoned.
  var descriptor: Int32? { state.withLock { $0.descriptor } }

  func abandon() {
    state.withLock { state in
      if let descriptor = state.descriptor { DatabaseFileHold.close(descriptor) }
      state.descriptor = nil
      state.isSealed = true
    }
  }
}
