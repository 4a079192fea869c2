import Foundation
import Glibc
import Testing

@testable import StoreFiles

/// Bytes of a file of which parts are read when they are needed.
@Suite("Parts of a file that are read later") struct LaterPartTests {
  private static let content: [UInt8] = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 / 256) }
  private static let parts = [10..<300_010, 300_010..<300_020, 400_000..<600_000]

  private static func file(in folder: borrowing Folder) throws -> StoreSource {
    try Data(content).write(to: URL(filePath: folder("file")))
    return try StoreSource(opening: try StorePath.inspect(folder("file")))
  }

  private static func has(_ bytes: StoreBytes, _ range: Range<Int>) -> Bool {
    bytes.withUnsafeBytes { $0[range].elementsEqual(content[range]) }
  }

  @Test("what is not left out is there at once; a part when it is asked for, also by its middle")
  func parts() throws {
    let folder = try Folder()
    let bytes = try Self.file(in: folder).bytes(later: Self.parts)
    #expect(bytes.count == Self.content.count)
    for range in [0..<10, 300_020..<400_000] { #expect(bytes.isRead(range) && Self.has(bytes, range)) }
    for range in [0..<11, 300_009..<300_011, 599_999..<600_000] { #expect(!bytes.isRead(range)) }
    #expect(bytes.isRead(20..<20))
    try bytes.read(150_000..<150_001)
    #expect(bytes.isRead(0..<300_010) && Self.has(bytes, 0..<300_010))
    #expect(!bytes.isRead(300_005..<300_015) && !bytes.isRead(500_000..<500_001))
    try bytes.read(300_005..<400_001)
    #expect(bytes.isRead(0..<600_000) && Self.has(bytes, 0..<600_000))
  }

  @Test("several threads that need a part get it, each of them")
  func threads() throws {
    let folder = try Folder()
    let bytes = try Self.file(in: folder).bytes(later: Self.parts)
    let isRight = ParallelWork.allSatisfy(64, jobs: 4) { number in
      let start = number * 9000
      guard (try? bytes.read(start..<start + 5000)) != nil else { return false }
      return Self.has(bytes, start..<start + 5000)
    }
    #expect(isRight)
  }

  @Test(
    "a comparison finds any different byte, and reads nothing into the file's bytes", arguments: [1, 7, 4096, 400_000])
  func comparison(_ piece: Int) throws {
    let folder = try Folder()
    let bytes = try Self.file(in: folder).bytes(later: Self.parts)
    for range in [5..<599_990, 10..<300_010, 0..<10, 500_000..<500_001, 77..<77] {
      func isEqual(_ other: [UInt8]) throws -> Bool {
        var comparison = bytes.comparison(of: range)
        let isSame = try other.withUnsafeBytes { all in
          guard let base = all.baseAddress else { return true }
          var next = 0
          while next < all.count {
            let count = min(piece, all.count - next)
            guard try comparison.isNext(base + next, count) else { return false }
            next += count
          }
          return true
        }
        guard isSame else { return false }
        return try comparison.isAtEnd()
      }
      let same = Array(Self.content[range])
      #expect(try isEqual(same))
      for place in [0, same.count / 3, 262_143, 262_144, same.count - 1] where same.indices.contains(place) {
        var other = same
        other[place] ^= 0x10
        #expect(try !isEqual(other))
      }
      #expect(try !isEqual(same + [0]))
      if !same.isEmpty { #expect(try !isEqual(Array(same.dropLast()))) }
    }
    #expect(!bytes.isRead(10..<11) && !bytes.isRead(599_999..<600_000))
  }

  @Test("a file that changes before a part is read is refused", arguments: [0, 599_999, 600_001])
  func changed(_ size: Int) throws {
    let folder = try Folder()
    let bytes = try Self.file(in: folder).bytes(later: Self.parts)
    let handle = try #require(FileHandle(forUpdatingAtPath: folder("file")))
    try handle.truncate(atOffset: UInt64(size))
    try handle.close()
    let error = #expect(throws: PersistentStoreError.self) { try bytes.read(20..<30) }
    #expect(error?.code == .changedOnDisk)
    var comparison = bytes.comparison(of: 10..<20)
    let compared = #expect(throws: PersistentStoreError.self) {
      let isSame = try Self.content[10..<20].withUnsafeBytes { all in
        guard let base = all.baseAddress else { return false }
        return try comparison.isNext(base, 10)
      }
      _ = try isSame && comparison.isAtEnd()
    }
    #expect(compared?.code == .changedOnDisk)
  }

  @Test("a file that is replaced is read as it was opened")
  func replaced() throws {
    let folder = try Folder()
    let bytes = try Self.file(in: folder).bytes(later: Self.parts)
    try Data(repeating: 0, count: 600_000).write(to: URL(filePath: folder("other")))
    #expect(Glibc.rename(folder("other"), folder("file")) == 0)
    try bytes.read(0..<600_000)
    #expect(Self.has(bytes, 0..<600_000))
  }

  @Test(
    "parts that are not in the file, or not in order, are read at once",
    arguments: [[10..<600_001], [20..<30, 10..<15], [10..<30, 20..<40], []])
  func outside(_ parts: [Range<Int>]) throws {
    let folder = try Folder()
    let bytes = try Self.file(in: folder).bytes(later: parts)
    #expect(bytes.isRead(0..<600_000) && Self.has(bytes, 0..<600_000))
  }

  @Test("bytes in memory have no parts that are read later")
  func memory() throws {
    let bytes = try StoreSource(bytes: Self.content, name: "memory").bytes(later: Self.parts)
    #expect(bytes.isRead(0..<600_000) && Self.has(bytes, 0..<600_000))
    try bytes.read(0..<600_000)
    var comparison = bytes.comparison(of: 100..<200)
    let isSame = try Self.content[100..<200].withUnsafeBytes { all in
      guard let base = all.baseAddress else { return false }
      return try comparison.isNext(base, 100)
    }
    #expect(isSame)
  }
}
