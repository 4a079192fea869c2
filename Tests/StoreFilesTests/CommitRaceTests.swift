import Foundation
import Glibc
import Synchronization
import Testing

@testable import StoreFiles

@Suite("Writers of one store at the same time") struct CommitRaceTests {
  private static func number(_ path: String, _ layout: StoreLayout) throws -> Int? {
    let source = try StoreSource(opening: StorePath.inspect(path))
    let bytes = try source.bytes(ofMember: layout == .folder ? "n" : nil).withUnsafeBytes { Array($0) }
    return Int(String(decoding: bytes, as: UTF8.self))
  }

  private static func stage(_ number: Int, _ path: String, _ layout: StoreLayout, _ policy: StagedStore.Policy) throws
    -> StagedStore
  {
    let staged = try StagedStore(target: path, layout: layout, policy: policy)
    try (layout == .file ? staged.files.file() : staged.files.member("n")).write(Array("\(number)".utf8))
    try staged.finish()
    return staged
  }

  /// Adds one to what is there, and repeats it until no one else was quicker.
  private static func increment(_ path: String, _ layout: StoreLayout) throws {
    while true {
      do {
        let before = try StorePath.inspect(path)
        guard let identity = before.identity, let number = try number(path, layout),
          try StorePath.inspect(path).identity == identity
        else { continue }
        try stage(number + 1, path, layout, .replaceOnlyIf(identity)).commit()
        return
      } catch let error as PersistentStoreError where [.changedOnDisk, .notFound, .inputOutput].contains(error.code) {
        continue
      }
    }
  }

  @Test(
    "none overwrites what another one wrote since it read: every addition counts",
    arguments: [StoreLayout.file, .folder])
  func additions(_ layout: StoreLayout) async throws {
    let folder = try Folder()
    let path = folder("counter")
    try Self.stage(0, path, layout, .createNew).commit()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        // A thread of the system: a task that waits for a lock would keep one of Swift's few from all other tests.
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(with: Result { for _ in 0..<40 { try Self.increment(path, layout) } })
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try Self.number(path, layout) == 160)
    #expect(folder.names == ["counter"])
  }

  /// Threads and sleeps of the system: those of tasks can take longer than a commit waits where many tests run at once.
  @Test("nothing is published while another process commits")
  func waiting() throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(1, path, .file, .createNew).commit()
    let holder = try #require(holdLock(of: path))
    let staged = Mutex<StagedStore?>(try Self.stage(2, path, .file, .replaceAny))
    let started = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<FileIdentity?, any Error>?>(nil)
    Thread.detachNewThread {
      started.signal()
      let result = Result<FileIdentity?, any Error> { try staged.withLock { $0.take() }?.commit() }
      outcome.withLock { $0 = result }
      ended.signal()
    }
    started.wait()
    for _ in 0..<20 {
      usleep(5_000)
      #expect(try Self.number(path, .file) == 1)
    }
    close(holder)
    ended.wait()
    _ = try #require(outcome.withLock { $0 }).get()
    #expect(try Self.number(path, .file) == 2)
  }
}
