import AtomicStoreSPI
import Foundation
import StoreCodecs
import Testing

@testable import CSVStoreFormat

/// How a large file is divided, while its first part is read already.
@Suite("Dividing a CSV file") struct CSVDivisionTests {
  private static func division(
    _ bytes: [UInt8], count: Int, digest: String? = nil, _ body: (CSVDivision) throws -> Void
  ) throws {
    try StoreSource(bytes: bytes, name: "test.csv").withReader { (file) throws(PersistentStoreError) in
      let division = CSVDivision(file, count: count, digest: digest, StreamSizes(leastFile: 1, head: 64, piece: 50))
      do { try body(division) } catch { Issue.record(error) }
    }
  }

  private static func digest(_ bytes: [UInt8]) -> String {
    var hash = XXH64()
    bytes.withUnsafeBytes { hash.add($0) }
    return Digest.text(hash)
  }

  @Test(
    "the parts cover the file, each begins with a record, and the first is not shorter than was said", arguments: 1...20
  )
  func covers(_ seed: Int) throws {
    let bytes = Array(ParallelLoadTests.foreignText(seed, rows: 60).utf8)
    var starts: Set<Int> = [0]
    try bytes.withUnsafeBufferPointer { text in
      var reader = try CSVReader(text, dialect: .comma)
      while let field = try reader.nextField() { if field.isLastInRecord { starts.insert(reader.offset) } }
    }
    for count in [1, 2, 3, 8, 500] {
      try Self.division(bytes, count: count) { division in
        #expect(division.count == count && division.knownParts() == nil)
        let found = try #require(division.parts())
        #expect(found.ranges.first?.lowerBound == 0 && found.ranges.last?.upperBound == bytes.count)
        #expect(zip(found.ranges, found.ranges.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
        #expect(found.ranges.allSatisfy { starts.contains($0.lowerBound) })
        #expect(found.ranges.count <= count && found.ranges[0].upperBound >= division.leastEnd)
        #expect(found.hasQuotes == bytes.contains(UInt8(ascii: "\"")))
        #expect(division.knownParts()?.ranges == found.ranges)
      }
    }
  }

  @Test("threads that need the parts at the same time get the same ones")
  func threads() throws {
    let bytes = Array(ParallelLoadTests.foreignText(3, rows: 500).utf8)
    try Self.division(bytes, count: 6) { division in
      let results = ParallelResults<[Range<Int>]>(8)
      ParallelWork.forEach(8, jobs: 4) { results[$0] = division.parts()?.ranges }
      #expect(results.all.count == 8 && Set(results.all).count == 1)
    }
  }

  @Test("a file with another digest has no parts, also when they are asked for again")
  func digest() throws {
    let bytes = Array(ParallelLoadTests.foreignText(4, rows: 60).utf8)
    for (digest, isRight) in [(Self.digest(bytes), true), (Self.digest(bytes.dropLast()), false)] {
      try Self.division(bytes, count: 3, digest: digest) { division in
        for _ in 0..<2 { #expect((division.parts() != nil) == isRight) }
        #expect((division.knownParts() != nil) == isRight)
      }
    }
  }
}
