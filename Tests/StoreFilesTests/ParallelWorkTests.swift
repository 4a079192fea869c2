import Foundation
import StoreFiles
import Synchronization
import Testing

@Suite("Work on several threads") struct ParallelWorkTests {
  private final class Counts: Sendable {
    let values: Mutex<[Int]>
    init(_ count: Int) { values = Mutex(Array(repeating: 0, count: count)) }
  }

  @Test("each number is processed once before the call returns", arguments: [0, 1, 2, 7, 1000], [1, 2, 5, 64])
  func once(_ count: Int, jobs: Int) {
    let counts = Counts(count)
    ParallelWork.forEach(count, jobs: jobs) { number in counts.values.withLock { $0[number] += 1 } }
    #expect(counts.values.withLock { $0 } == Array(repeating: 1, count: count))
  }

  @Test("a false ends the work, and all numbers before it are processed", arguments: [1, 3])
  func stops(_ jobs: Int) {
    let counts = Counts(5000)
    let isDone = ParallelWork.allSatisfy(5000, jobs: jobs) { number in
      counts.values.withLock { $0[number] += 1 }
      return number != 100
    }
    #expect(!isDone)
    let found = counts.values.withLock { $0 }
    #expect(found[...100].allSatisfy { $0 == 1 })
    #expect(found.allSatisfy { $0 <= 1 })
    #expect(ParallelWork.allSatisfy(10, jobs: jobs) { _ in true })
  }

  @Test("the least number with a false is the same for any number of threads, whichever is found first")
  func least() {
    for seed in 0..<300 {
      let wrong = Set([7, 8, 9, 10 + seed % 50])
      let found = Counts(80)
      let isDone = ParallelWork.allSatisfy(80, jobs: 8) { number in
        guard wrong.contains(number) else { return true }
        found.values.withLock { $0[number] += 1 }
        return false
      }
      #expect(!isDone)
      #expect(found.values.withLock { $0.firstIndex(of: 1) } == 7)
    }
  }

  @Test("pieces are passed on in order, up to the first error", arguments: [0, 1, 5, 100], [1, 2, 7])
  func inOrder(_ count: Int, jobs: Int) {
    struct Stop: Error {}
    var seen: [Int] = []
    ParallelWork.inOrder(count, jobs: jobs, make: { $0 * 3 }, use: { seen.append($0) })
    #expect(seen == (0..<count).map { $0 * 3 })
    seen = []
    var isStopped = false
    do throws(Stop) {
      try ParallelWork.inOrder(count, jobs: jobs, make: { $0 }) { (piece) throws(Stop) in
        if piece == 4 { throw Stop() }
        seen.append(piece)
      }
    } catch { isStopped = true }
    #expect(isStopped == (count > 4))
    #expect(seen == Array((0..<count).prefix(4)))
  }

  @Test("as many pieces as there are threads are in memory at a time", arguments: [1, 2, 5])
  func piecesInMemory(_ jobs: Int) {
    let begun = Atomic<Int>(0)
    var (used, most) = (0, 0)
    ParallelWork.inOrder(200, jobs: jobs) { number in
      begun.add(1, ordering: .relaxed)
      return (0..<number % 7 * 300).reduce(number) { $0 ^ $1 }
    } use: { piece in
      most = max(most, begun.load(ordering: .relaxed) - used)
      used += 1
    }
    #expect(used == 200)
    #expect(most >= 1 && most <= jobs)
  }

  @Test("pieces are passed on in order, each once, however long some of them take", arguments: [1, 2, 7, 400])
  func orderOfSlowPieces(_ jobs: Int) {
    var seen: [Int] = []
    ParallelWork.inOrder(300, jobs: jobs, window: jobs * 32) { number in
      if number % 50 == 0 { usleep(10_000) }
      return number
    } use: {
      seen.append($0)
    }
    #expect(seen == Array(0..<300))
  }

  @Test("with a window, no piece is made further ahead of the one that is used next")
  func window() {
    let highest = Atomic<Int>(0)
    var (widest, used) = (0, 0)
    ParallelWork.inOrder(2000, jobs: 2, window: 64) { number in
      highest.max(number, ordering: .relaxed)
      if number == 0 { usleep(200_000) }
      return number
    } use: { _ in
      widest = max(widest, highest.load(ordering: .relaxed) - used)
      used += 1
    }
    #expect(used == 2000 && widest <= 65)
  }

  @Test("after an error of the use no piece is being made, and few were")
  func stops() {
    struct Stop: Error {}
    let running = Atomic<Int>(0)
    let done = Atomic<Int>(0)
    #expect(throws: Stop.self) {
      try ParallelWork.inOrder(10_000, jobs: 4, window: 128) { number in
        running.add(1, ordering: .relaxed)
        defer { running.subtract(1, ordering: .relaxed) }
        done.add(1, ordering: .relaxed)
        return number
      } use: { (piece) throws(Stop) in
        if piece == 3 { throw Stop() }
      }
    }
    #expect(running.load(ordering: .relaxed) == 0)
    #expect(done.load(ordering: .relaxed) < 1000)
  }

  @Test("a file is read at any offset, by several threads at once")
  func reader() throws {
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let path = NSTemporaryDirectory() + "reader-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    for source in [StoreSource(bytes: bytes, name: "memory"), try StoreSource(opening: try StorePath.inspect(path))] {
      try source.withReader { (file) throws(PersistentStoreError) in
        #expect(file.size == bytes.count)
        let isSame = ParallelWork.allSatisfy(60, jobs: 4) { number in
          let start = number * 5000
          let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 5000, alignment: 1)
          defer { buffer.deallocate() }
          return (try? file.read(at: start, into: buffer)) == 5000 && buffer.elementsEqual(bytes[start..<start + 5000])
        }
        #expect(isSame)
        let rest = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
        defer { rest.deallocate() }
        #expect(try file.read(at: bytes.count - 10, into: rest) == 10)
        #expect(try file.read(at: bytes.count, into: rest) == 0)
        #expect(try file.read(at: -1, into: rest) == 0)
      }
    }
  }
}
