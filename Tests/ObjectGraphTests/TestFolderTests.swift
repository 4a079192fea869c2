import Foundation
import Synchronization
import Testing

@Suite("Directories of tests") struct TestFolderTests {
  @Test("a directory is removed, also while another thread creates and removes lock files in it")
  func removal() throws {
    var folder: TestFolder? = try TestFolder()
    let path = try #require(folder).path
    for number in 0..<50 { _ = FileManager.default.createFile(atPath: "\(path)/\(number)", contents: nil) }
    let rounds = Mutex(0)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      // It ends when the directory is gone: no file can be created then.
      while FileManager.default.createFile(atPath: path + "/.store.lock", contents: nil) {
        unlink(path + "/.store.lock")
        rounds.withLock { $0 += 1 }
      }
      done.signal()
    }
    while rounds.withLock({ $0 }) < 10 { usleep(100) }
    folder = nil
    #expect(!FileManager.default.fileExists(atPath: path))
    // The thread ends in any case.
    while FileManager.default.fileExists(atPath: path) { try? FileManager.default.removeItem(atPath: path) }
    done.wait()
  }
}
