import Foundation
import Testing

@testable import StoreFiles

@Suite("Memory for columns", .serialized) struct PagedMemoryTests {
  /// A block that knows what is in it.
  private struct Block {
    var memory: UnsafeMutableRawPointer
    var size: Int
    var mark: UInt8

    func fill() { memory.initializeMemory(as: UInt8.self, repeating: mark, count: size) }
    func holds(_ count: Int) -> Bool {
      let bytes = UnsafeRawBufferPointer(start: memory, count: min(size, count))
      // The border bytes, and some between.
      return stride(from: 0, to: bytes.count, by: max(1, bytes.count / 997)).allSatisfy { bytes[$0] == mark }
        && bytes.last.map { $0 == mark } ?? true
    }
  }

  private static let sizes = [
    0, 1, 16, 4096, 65_536, 262_143, 262_144, 262_145, 300_000, 800_000, 1 << 20, 2 << 20, (2 << 20) + 1, 5_000_000,
    (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 20_000_000, 40_000_000,
  ]

  @Test("blocks of any size, resized and freed in any order, keep what is in them", arguments: 1...4)
  func random(_ seed: Int) throws {
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(count))
    }
    var blocks: [Block] = []
    for step in 0..<200 {
      switch next(4) {
      case 0 where !blocks.isEmpty:
        let block = blocks.remove(at: next(blocks.count))
        #expect(block.holds(.max))
        PagedMemory.free(block.memory)
      case 1 where !blocks.isEmpty, 2 where !blocks.isEmpty:
        let place = next(blocks.count)
        let size = next(3) == 0 ? Self.sizes[next(Self.sizes.count)] : blocks[place].size + blocks[place].size / 2
        guard size < 60_000_000 else { continue }
        let old = blocks[place].size
        blocks[place].memory = try #require(PagedMemory.resized(blocks[place].memory, to: size))
        blocks[place].size = size
        #expect(blocks[place].holds(old), "step \(step): \(old) to \(size)")
        blocks[place].fill()
      default:
        guard blocks.count < 16 else { continue }
        let size = Self.sizes[next(Self.sizes.count)]
        let isZeroed = next(3) == 0
        let memory = try #require(isZeroed ? PagedMemory.zeroed(size) : PagedMemory.resized(nil, to: size))
        if isZeroed { #expect(Block(memory: memory, size: size, mark: 0).holds(.max)) }
        blocks.append(Block(memory: memory, size: size, mark: UInt8(1 + next(250))))
        blocks[blocks.count - 1].fill()
      }
      if step % 25 == 0 { PagedMemory.trim() }
      let ranges = blocks.map { ($0.memory, $0.memory + max($0.size, 1)) }.sorted { $0.0 < $1.0 }
      for (one, other) in zip(ranges, ranges.dropFirst()) { #expect(one.1 <= other.0, "blocks overlap") }
    }
    for block in blocks {
      #expect(block.holds(.max))
      PagedMemory.free(block.memory)
    }
  }

  /// A number for each place, so that bytes at the wrong place are noticed.
  private static func number(_ place: Int, _ seed: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: place / 8 &* 2_654_435_761 &+ seed)
  }
  private static func write(_ memory: UnsafeMutableRawPointer, _ bytes: Int, _ seed: Int) {
    for place in stride(from: 0, to: bytes - 7, by: 8) {
      memory.storeBytes(of: number(place, seed), toByteOffset: place, as: UInt64.self)
    }
  }
  private static func holds(_ memory: UnsafeMutableRawPointer, _ bytes: Int, _ seed: Int) -> Bool {
    stride(from: 0, to: bytes - 7, by: 8).allSatisfy {
      memory.loadUnaligned(fromByteOffset: $0, as: UInt64.self) == number($0, seed)
    }
  }

  @Test(
    "large blocks are moved to the end of another one, which then grows, shrinks and is freed like others",
    arguments: [0, 1, 13, 4095, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 3_000_000, 7_654_321])
  func moved(_ used: Int) throws {
    let sizes = [4_200_000, (4 << 20) + 8, 6 << 20, 9_999_999]
    let total = used + sizes.reduce(0, +)
    var block = try #require(PagedMemory.resized(nil, to: total + PagedMemory.spare))
    Self.write(block, used, 1)
    var place = used
    for (seed, size) in sizes.enumerated() {
      // A block may have more memory than what is used of it.
      let other = try #require(PagedMemory.resized(nil, to: size + seed * 3_000_000))
      Self.write(other, size, seed + 2)
      if !PagedMemory.move(other, bytes: size, to: block, at: place) {
        // A sanitizer has plain memory.
        try #require(PagedMemory.size == 0, "\(size) bytes were not moved to \(place)")
        (block + place).copyMemory(from: other, byteCount: size)
        PagedMemory.free(other)
      }
      place += size
    }
    func check(_ when: String) {
      var place = used
      #expect(Self.holds(block, used, 1), "\(when)")
      for (seed, size) in sizes.enumerated() {
        #expect(Self.holds(block + place, size, seed + 2), "\(when): the block \(seed)")
        place += size
      }
    }
    check("moved")
    block = try #require(PagedMemory.resized(block, to: total))
    check("shrunk")
    block = try #require(PagedMemory.resized(block, to: total * 2))
    check("grown")
    Self.write(block + total, total, 9)
    check("written to")
    block = try #require(PagedMemory.resized(block, to: used + 100))
    #expect(Self.holds(block, used, 1))
    PagedMemory.free(block)
  }

  @Test("a block is not moved where there is too little room, or that is small, and both stay as they were")
  func notMoved() throws {
    let large = (16 << 20, 5 << 20)
    for (target, source, place) in [
      (large.0, 1 << 20, 0), (1 << 20, large.1, 0), (large.0, large.1, 12 << 20), (large.0, large.1, (10 << 20) + 1),
    ] {
      let block = try #require(PagedMemory.resized(nil, to: target))
      let other = try #require(PagedMemory.resized(nil, to: source))
      Self.write(block, target, 1)
      Self.write(other, source, 2)
      #expect(!PagedMemory.move(other, bytes: source, to: block, at: place))
      #expect(Self.holds(block, target, 1) && Self.holds(other, source, 2))
      PagedMemory.free(block)
      PagedMemory.free(other)
    }
  }

  @Test("threads that allocate at the same time do not share blocks")
  func threads() {
    ParallelWork.forEach(8, jobs: 4) { number in
      var blocks: [Block] = []
      for step in 0..<60 {
        guard let memory = PagedMemory.resized(nil, to: 240_000 + step * 20_000) else { return }
        let block = Block(memory: memory, size: 240_000 + step * 20_000, mark: UInt8(number * 20 + step % 20))
        block.fill()
        blocks.append(block)
        if step % 3 == 0 { PagedMemory.free(blocks.removeFirst().memory) }
      }
      for block in blocks {
        #expect(block.holds(.max))
        PagedMemory.free(block.memory)
      }
    }
  }

  @Test("more memory than there is is refused, and the block stays")
  func refused() throws {
    let block = try #require(PagedMemory.resized(nil, to: 1_000_000))
    block.initializeMemory(as: UInt8.self, repeating: 7, count: 1_000_000)
    #expect(PagedMemory.resized(block, to: Int.max / 2) == nil)
    #expect(PagedMemory.resized(nil, to: Int.max) == nil)
    #expect(block.load(fromByteOffset: 999_999, as: UInt8.self) == 7)
    PagedMemory.free(block)
  }

  @Test("the size of all large blocks is known")
  func sizes() throws {
    let before = PagedMemory.size
    let one = try #require(PagedMemory.resized(nil, to: 1 << 20))
    let other = try #require(PagedMemory.resized(nil, to: 32 << 20))
    // A sanitizer has plain memory.
    try #require(PagedMemory.size > 0)
    #expect(PagedMemory.size >= before + 33 << 20)
    PagedMemory.free(one)
    PagedMemory.free(other)
  }
}
