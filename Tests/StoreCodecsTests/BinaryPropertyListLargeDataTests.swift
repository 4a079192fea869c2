import Foundation
import StoreCodecs
import StorePrimitives
import Testing

/// Large data objects, found from the object table without reading the rest.
@Suite("Large data objects of a binary property list") struct BinaryPropertyListLargeDataTests {
  private static func found(_ bytes: [UInt8], least: Int, read: inout Int) throws -> [Range<Int>] {
    var count = 0
    let ranges = try BinaryPropertyListReader.largeData(inFileOfSize: bytes.count, atLeast: least) { range in
      count += range.count
      return Array(bytes[range.clamped(to: bytes.indices)])
    }
    read = count
    return ranges
  }

  private static let sizes = [0, 14, 15, 255, 256, 70_000]

  private static func list() throws -> [UInt8] {
    let data = sizes.map { size in PropertyListValue.data(Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })) }
    return try PropertyList.encodeBinary(
      .dictionary(["data": .array(data), "text": .string(String(repeating: "text ", count: 20_000))]))
  }

  @Test("those of at least the size are found, and no text", arguments: [15, 16, 255, 256, 257, 70_000, 70_001])
  func all(_ least: Int) throws {
    let bytes = try Self.list()
    var read = 0
    let ranges = try Self.found(bytes, least: least, read: &read)
    #expect(ranges.map(\.count) == Self.sizes.filter { $0 >= least })
    #expect(read < 400)
    for range in ranges {
      #expect(bytes[range].enumerated().allSatisfy { $0.element == UInt8(truncatingIfNeeded: $0.offset) })
    }
  }

  @Test("whatever a file contains, the ranges are within it, in order, and none is the beginning of another object")
  func damaged() throws {
    let bytes = try Self.list()
    let places = Array(0..<24) + Array(bytes.count - 120..<bytes.count)
    for place in places {
      for value in [0, 1, 0x4F, 0x7F, 0xFF] as [UInt8] {
        var other = bytes
        other[place] = value
        var read = 0
        var end = 8
        for range in try Self.found(other, least: 15, read: &read) {
          #expect(range.lowerBound >= end && range.upperBound <= other.count - 32)
          end = range.upperBound
        }
      }
    }
    for size in [0, 8, 39, 40, 1000] {
      var read = 0
      #expect(try Self.found(Array(bytes.prefix(size)), least: 1, read: &read).isEmpty)
    }
  }

  @Test("a reader asks for the bytes of what it uses, not for those of data whose place is asked for")
  func use() throws {
    let bytes = try Self.list()
    try bytes.withUnsafeBytes { raw in
      var used: [Range<Int>] = []
      var reader = try BinaryPropertyListReader(raw)
      reader.willUse = { used.append($0) }
      let array = try #require(try reader.value(for: "data", in: reader.top))
      let last = try reader.element(Self.sizes.count - 1, of: array)
      let range = try reader.dataRange(of: last)
      #expect(!used.contains { $0.overlaps(range) })
      #expect(try reader.dataBytes(of: last).count == 70_000)
      #expect(used.last == range)
      used = []
      _ = try reader.string(of: try #require(try reader.value(for: "text", in: reader.top)))
      #expect(used.contains { $0.count == 100_000 })
    }
  }
}
