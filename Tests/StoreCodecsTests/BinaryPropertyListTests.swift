import Foundation
import StoreCodecs
import StorePrimitives
import Testing

/// A file of the given objects, references and offsets of one or two bytes.
private func file(_ objects: [[UInt8]], top: UInt8 = 0, referenceSize: UInt8 = 1) -> [UInt8] {
  var bytes = Array("bplist00".utf8)
  var offsets: [Int] = []
  for object in objects {
    offsets.append(bytes.count)
    bytes += object
  }
  let table = bytes.count
  for offset in offsets { bytes += [UInt8(offset >> 8), UInt8(offset & 0xFF)] }
  bytes += [0, 0, 0, 0, 0, 0, 2, referenceSize]
  for number in [objects.count, Int(top), table] {
    bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }
  return bytes
}

private let sample: PropertyListValue = [
  "text": "plain", "wide": "日本\u{1F600}é", "empty": "", "yes": true, "no": false,
  "numbers": .array([
    .integer(0), .integer(255), .integer(256), .integer(65536), .integer(4_294_967_296), .integer(-1),
    .integer(Int128(Int64.min)), .integer(Int128(UInt64.max)), .real(0.1), .real(-0.0), .real(.infinity),
  ]),
  "date": .date(Date(timeIntervalSinceReferenceDate: 123456.789)), "data": .data(Data((0..<40).map { UInt8($0) })),
  "uid": .dictionary(["UID": .uid(300)]), "nested": ["a": ["b": ["c": "plain"]]], "none": .array([]),
  "nothing": .dictionary([:]), "é": "composed", "e\u{301}": "decomposed",
]

@Suite("Binary property list")
struct BinaryPropertyListTests {
  @Test("a value is read back as it was written, to the bit")
  func roundTrip() throws {
    let bytes = try PropertyList.encodeBinary(sample)
    #expect(try PropertyList.decodeBinary(bytes) == sample)
    #expect(try PropertyList.encodeBinary(sample) == bytes, "equal input, equal bytes")
  }

  @Test("a string written twice is one object")
  func uniques() throws {
    let bytes = try PropertyList.encodeBinary(.array(["same", "same", "é", "e\u{301}"]))
    let count = try bytes.withUnsafeBytes { (raw) throws in try BinaryPropertyListReader(raw).objectCount }
    // "e\u{301}" and "é" are two strings of unlike bytes.
    #expect(count == 4)
  }

  @Test("many objects take wide references")
  func manyObjects() throws {
    let value = PropertyListValue.array((0..<70_000).map { .integer(Int128($0)) })
    #expect(try PropertyList.decodeBinary(try PropertyList.encodeBinary(value)) == value)
  }

  @Test("infinite dates are read and written to the bit", arguments: [Double.infinity, -.infinity])
  func infiniteDate(_ seconds: Double) throws {
    let value = PropertyListValue.date(Date(timeIntervalSinceReferenceDate: seconds))
    #expect(try PropertyList.decodeBinary(try PropertyList.encodeBinary(value)) == value)
  }

  @Test("a date that is not a number, which no reader accepts, is not written")
  func dateNotANumber() {
    let error = #expect(throws: PersistentStoreError.self) {
      _ = try PropertyList.encodeBinary(.array([.date(Date(timeIntervalSinceReferenceDate: .nan))]))
    }
    #expect(error?.code == .invalidValue)
  }

  @Test(
    "integers and reals of each size",
    arguments: [
      ([0x10, 0xFF], .integer(255)), ([0x11, 0xFF, 0xFF], .integer(65535)),
      ([0x12, 0xFF, 0xFF, 0xFF, 0xFF], .integer(4_294_967_295)),
      ([0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE], .integer(-2)),
      ([0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], .integer(9_223_372_036_854_775_808)),
      ([0x22, 0x3F, 0xC0, 0, 0], .real(1.5)), ([0x81, 0x01, 0x00], .uid(256)), ([0x09], .boolean(true)),
    ] as [([UInt8], PropertyListValue)])
  func scalars(_ object: [UInt8], _ expected: PropertyListValue) throws {
    #expect(try PropertyList.decodeBinary(file([object])) == expected)
  }

  @Test(
    "invalid files are refused",
    arguments: [
      ("cycle", file([[0xA1, 0]]), .malformed),
      ("long cycle", file([[0xA1, 1], [0xD1, 2, 0], [0x51, 0x61]]), .malformed),
      ("key not a string", file([[0xD1, 1, 1], [0x10, 1]]), .malformed),
      ("duplicate key", file([[0xD2, 1, 2, 1, 1], [0x51, 0x61], [0x51, 0x61]]), .malformed),
      ("reference beyond", file([[0xA1, 9]]), .malformed), ("null", file([[0x00]]), .notSupported),
      ("set", file([[0xC1, 1], [0x08]]), .notSupported), ("marker", file([[0x70]]), .malformed),
      ("half a surrogate pair", file([[0x61, 0xD8, 0x00]]), .malformed),
      ("low surrogate first", file([[0x62, 0xDC, 0x00, 0xD8, 0x00]]), .malformed),
      ("ASCII above 7F", file([[0x51, 0xE9]]), .malformed), ("data cut short", file([[0x4E, 1]]), .malformed),
      ("count 2^62", file([[0x4F, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0]]), .malformed),
      ("negative count", file([[0xAF, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]]), .malformed),
      ("count not an integer", file([[0x4F, 0x51]]), .malformed), ("top beyond", file([[0x08]], top: 1), .malformed),
      ("date not a number", file([[0x33, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0]]), .malformed),
      ("no references", file([[0x08]], referenceSize: 0), .malformed),
      ("UID of 9 bytes", file([[0x88] + Array(repeating: 0, count: 9)]), .malformed),
      ("empty", [], .foreignFormat), ("header only", Array("bplist00".utf8), .malformed),
      ("other version", Array("bplist15".utf8) + Array(repeating: 0, count: 40), .unsupportedVersion),
      ("all ones", Array("bplist00".utf8) + Array(repeating: 0xFF, count: 40), .malformed),
    ] as [(String, [UInt8], PersistentStoreError.Code)])
  func refuses(_ name: String, _ bytes: [UInt8], _ code: PersistentStoreError.Code) throws {
    let error = try #require(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(bytes) }
    #expect(error.code == code, "\(name): \(error)")
    #expect(error.location.offset != nil)
  }

  @Test("a list that doubles at each level is refused at once")
  func sharing() throws {
    var levels: [[UInt8]] = (1...60).map { (next: UInt8) -> [UInt8] in [0xA2, next, next] }
    levels.append([0x51, 0x61])
    let error = try #require(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(file(levels)) }
    #expect(error.code == .limitExceeded)
  }

  @Test(
    "nesting is read up to the limit and refused beyond it", arguments: [(512, true), (513, false), (20_000, false)])
  func depth(_ depth: Int, _ isRead: Bool) throws {
    var levels: [[UInt8]] = (1...depth).map { (next: Int) -> [UInt8] in [0xA1, UInt8(next >> 8), UInt8(next & 0xFF)] }
    levels.append([0x51, 0x61])
    let bytes = file(levels, referenceSize: 2)
    if isRead {
      let value = try PropertyList.decodeBinary(bytes)
      #expect(try PropertyList.decodeBinary(try PropertyList.encodeBinary(value)) == value)
    } else {
      #expect(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(bytes) }
    }
  }

  @Test("every truncation and every flipped byte is read or refused")
  func damage() throws {
    let bytes = try PropertyList.encodeBinary(sample)
    for length in 0..<bytes.count {
      #expect(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(Array(bytes.prefix(length))) }
    }
    var refused = 0
    for place in bytes.indices {
      for mask: UInt8 in [0x01, 0x80, 0xFF] {
        var copy = bytes
        copy[place] ^= mask
        do { _ = try PropertyList.decodeBinary(copy) } catch { refused += 1 }
      }
    }
    #expect(refused > 0)
  }

  @Test("a format reads its columns without copying")
  func lazyReading() throws {
    let bytes = try PropertyList.encodeBinary(["column": .data(Data([1, 2, 3])), "count": 3, "list": ["x"]])
    try bytes.withUnsafeBytes { (raw) throws in
      let reader = try BinaryPropertyListReader(raw)
      let column = try #require(try reader.value(for: "column", in: reader.top))
      #expect(Array(raw[try reader.dataRange(of: column)]) == [1, 2, 3])
      let count = try #require(try reader.value(for: "count", in: reader.top))
      #expect(try reader.integer(of: count) == 3)
      #expect(try reader.value(for: "absent", in: reader.top) == nil)
      let list = try #require(try reader.value(for: "list", in: reader.top))
      #expect(try reader.string(of: reader.element(0, of: list)) == "x")
      #expect(throws: PersistentStoreError.self) { try reader.element(1, of: list) }
      #expect(throws: PersistentStoreError.self) { try reader.string(of: count) }
    }
  }

  @Test("bytes that were not read are refused, wherever they are, and never taken for zero")
  func gaps() throws {
    let value: PropertyListValue = [
      "column": .data(Data(repeating: 9, count: 40)), "count": 3, "list": ["x", "é", true, .real(0.5)],
      "number": 1_000_000,
    ]
    let bytes = try PropertyList.encodeBinary(value)
    var refused = 0
    for place in 8..<bytes.count - BinaryPropertyListReader.trailerSize {
      for size in [1, 8, 30] {
        let gap = place..<min(place + size, bytes.count - BinaryPropertyListReader.trailerSize)
        var partial = bytes
        for index in gap { partial[index] = 0 }
        try partial.withUnsafeBytes { raw in
          let reader = try BinaryPropertyListReader(raw, gap: gap)
          do throws(PersistentStoreError) {
            #expect(try reader.materialize(reader.top) == value, "\(gap)")
          } catch {
            #expect(error.code == .missingObject, "\(gap): \(error)")
            refused += 1
          }
        }
      }
    }
    #expect(refused > bytes.count)
  }

  @Test(
    "a data object in pieces is the same as a whole one, small or large", arguments: [0, 1, 14, 15, 300, 1_000_000])
  func streams(_ count: Int) throws {
    let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    var output: [UInt8] = []
    var writer = try BinaryPropertyListWriter(maximumObjectCount: 3) { (bytes) throws(PersistentStoreError) in
      output.append(contentsOf: bytes)
    }
    let key = try writer.string("column")
    let blob = try writer.beginData(count: count)
    try content.withUnsafeBytes { (raw) throws in
      try writer.append(UnsafeRawBufferPointer(rebasing: raw[..<(count / 3)]))
      try writer.append(UnsafeRawBufferPointer(rebasing: raw[(count / 3)...]))
    }
    let top = try writer.dictionary([(key, blob)])
    try writer.finish(top: top)
    #expect(try PropertyList.decodeBinary(output) == ["column": .data(Data(content))])
  }

  @Test("a data object that is incomplete or too long, or one object too many, is refused")
  func brokenPromises() throws {
    let pair = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
    defer { pair.deallocate() }
    pair.initializeMemory(as: UInt8.self, repeating: 7)
    var writer = try BinaryPropertyListWriter(maximumObjectCount: 2) { (_) throws(PersistentStoreError) in }
    _ = try writer.beginData(count: 1)
    do {
      _ = try writer.boolean(true)
      Issue.record("a data object was left short")
    } catch { #expect(error.code == .internalInconsistency) }
    do {
      try writer.append(UnsafeRawBufferPointer(pair))
      Issue.record("a data object was overfilled")
    } catch { #expect(error.code == .internalInconsistency) }
    try writer.append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(pair)[..<1]))
    _ = try writer.boolean(true)
    do {
      _ = try writer.boolean(true)
      Issue.record("more objects than announced")
    } catch { #expect(error.code == .limitExceeded) }
  }

  @Test("an integer that other readers would truncate is not written")
  func refusesIntegers() {
    #expect(throws: PersistentStoreError.self) { try PropertyList.encodeBinary(.integer(Int128(UInt64.max) + 1)) }
    #expect(throws: PersistentStoreError.self) { try PropertyList.encodeBinary(.integer(Int128(Int64.min) - 1)) }
  }

  @Test("the caller's limit of depth is held")
  func callersDepth() throws {
    let nested: PropertyListValue = ["a": [["x"]]]
    let bytes = try PropertyList.encodeBinary(nested)
    #expect(try PropertyList.decodeBinary(bytes, maximumDepth: 3) == nested)
    let error = #expect(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(bytes, maximumDepth: 2) }
    #expect(error?.code == .limitExceeded && error?.message.contains("more than 2 levels") == true)
  }
}
