import Foundation
import Testing

@testable import AtomicStoreSPI

/// Values whose length does not fit in a cell, and heaps of more than four gigabytes.
@Suite("Large columns") struct LargeColumnTests {
  private static let long = Extent.leastLongLength

  /// A header whose heap is that long already, without a value in it: memory that is never touched takes no room.
  private static func header(_ layout: CellLayout, rows: Int, heap: Int) -> ColumnHeader {
    var header = ColumnHeader(layout)
    header.grow(to: rows)
    header.reallocateHeap(heap + (1 << 28) / layout.heapUnit)
    header.heapCount = heap
    return header
  }

  @Test("values behind the first four gigabytes of a column are read where they were written")
  func beyondFourGigabytes() {
    var header = Self.header(.bytes, rows: 3, heap: 5 << 30)
    defer { header.deallocate() }
    let texts = ["first", "", "the third"]
    for (row, text) in texts.enumerated() {
      let isStored = Array(text.utf8).withUnsafeBytes { header.setBytes(row, $0.baseAddress, count: $0.count) }
      #expect(isStored)
    }
    for (row, text) in texts.enumerated() {
      #expect(String(decoding: header.bytes(row), as: UTF8.self) == text)
      #expect(header.isPresent(row))
    }
    #expect(header.extent(0)?.start == 5 << 30)
    withUnsafeMutablePointer(to: &header) { place in
      let view = ColumnView(place, rows: 3)
      #expect(view.bytes(2).map { String(decoding: $0, as: UTF8.self) } == "the third")
    }
  }

  @Test("a heap that is full says so", arguments: [CellLayout.bytes, .toMany])
  func full(_ layout: CellLayout) {
    var header = ColumnHeader(layout)
    header.grow(to: 1)
    defer { header.deallocate() }
    header.heapCount = Extent.greatestHeap - 4
    let hasRoom = header.reserveHeap(4)
    #expect(!hasRoom)
    header.heapCount = 0
  }

  @Test(
    "elements that are added together are where single ones would be, between those of other rows", arguments: 0..<10)
  func addedTogether(_ seed: UInt64) {
    var single = ColumnHeader(.toMany)
    var together = ColumnHeader(.toMany)
    single.grow(to: 4)
    together.grow(to: 4)
    defer {
      single.deallocate()
      together.deallocate()
    }
    for step in 0..<40 {
      let row = (step &* Int(seed + 3) / 2) % 4
      let count = step % 5
      guard count > 0 else { continue }
      let added = together.addHandles(row, count)
      #expect(added != nil)
      for place in 0..<count {
        let isAdded = single.appendHandle(row, UInt64(step * 10 + place))
        #expect(isAdded)
        added?[place] = UInt64(step * 10 + place)
      }
    }
    for row in 0..<4 { #expect(Array(single.handles(row)) == Array(together.handles(row))) }
  }

  @Test("a list becomes a long one when elements are added together")
  func addedToLong() {
    var header = Self.header(.toMany, rows: 1, heap: 0)
    defer { header.deallocate() }
    let first = header.addHandles(0, Self.long - 2)
    first?[0] = 1
    let second = header.addHandles(0, 5)
    second?[4] = 2
    let third = header.addHandles(0, 1)
    third?[0] = 3
    let list = header.handles(0)
    #expect(list.count == Self.long + 4 && list[0] == 1 && list[list.count - 2] == 2 && list[list.count - 1] == 3)
  }

  @Test("a value that is written in place is the value, and one that fails leaves what was there")
  func writtenInPlace() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "A", properties: [.attribute("data", .binaryData), .attribute("text", .string)])
      ]))
    let slot = try #require(model.entities[0].slot(named: "data"))
    let text = try #require(model.entities[0].slot(named: "text"))
    let builder = NodeTableBuilder(model: model)
    for number in 1...3 {
      try builder.beginNode(entity: 0, reference: Int64(number))
      try builder.set(bytesUpTo: 100, slot: slot) { target in
        for index in 0..<number { target[index] = UInt8(number) }
        return number
      }
    }
    #expect(throws: PersistentStoreError.self) {
      try builder.set(bytesUpTo: 100, slot: slot) { _ throws(PersistentStoreError) in
        throw PersistentStoreError(.malformed, "no value")
      }
    }
    #expect(throws: PersistentStoreError.self) { try builder.set(bytesUpTo: 1, slot: text) { _ in 1 } }
    let nodes = try builder.finish()
    for row in 0..<3 {
      let value = nodes.value(forKey: "data", of: NodeHandle(entity: 0, row: row))
      #expect(value == .data(Data(repeating: UInt8(row + 1), count: row + 1)))
    }
  }

  @Test("a value's length is exact around the longest that fits in a cell", arguments: [-1, 0, 1, 1000])
  func longValues(_ difference: Int) {
    let count = Self.long + difference
    var bytes = [UInt8](repeating: 0, count: count)
    bytes[0] = 1
    bytes[count - 1] = 2
    var header = ColumnHeader(.bytes)
    header.grow(to: 3)
    defer { header.deallocate() }
    for row in 0..<2 {
      let isStored = bytes.withUnsafeBytes { header.setBytes(row, $0.baseAddress, count: $0.count) }
      #expect(isStored)
    }
    let isStored = [UInt8(9)].withUnsafeBytes { header.setBytes(2, $0.baseAddress, count: 1) }
    #expect(isStored)
    func check(_ header: ColumnHeader, _ rows: [Int]) {
      for row in rows {
        let value = header.bytes(row)
        #expect(value.count == count && value.first == 1 && value.last == 2)
      }
      #expect(Array(header.bytes(2)) == [9])
    }
    check(header, [0, 1])
    let copy = header.copied(rows: 3)
    check(copy, [0, 1])
    copy.deallocate()
    // What is replaced leaves gaps until they are closed.
    let replaced = header.heapLength(0)
    header.setNull(0)
    header.waste(replaced)
    header.waste(header.heapCount / 2)
    #expect(header.wasted == 0)
    check(header, [1])
  }

  @Test("a value in a packed heap moves if its length does not fit in a cell")
  func packed() {
    let count = Self.long
    let heap = [7] + [UInt8](repeating: 5, count: count) + [8]
    var header = ColumnHeader(.bytes)
    header.grow(to: 3)
    defer { header.deallocate() }
    let hasRoom = header.reserveHeap(heap.count)
    #expect(hasRoom)
    heap.withUnsafeBytes { if let base = $0.baseAddress { header.heap.copyMemory(from: base, byteCount: $0.count) } }
    header.heapCount = heap.count
    let lengths: [UInt32] = [1, UInt32(count), 1]
    let problem = NodeTableBuilder.divide(&header, lengths.span, heap.span, isText: false).problem
    #expect(problem == nil)
    #expect(Array(header.bytes(0)) == [7] && Array(header.bytes(2)) == [8])
    #expect(header.bytes(1).count == count && header.bytes(1).allSatisfy { $0 == 5 })
  }

  @Test("a list of objects grows beyond the longest that fits in a cell, and shrinks again")
  func lists() {
    let count = Self.long - 1
    var header = Self.header(.toMany, rows: 2, heap: count)
    defer { header.deallocate() }
    header.setExtent(0, start: 0, length: count)
    for next in 0..<4 {
      let isAdded = header.appendHandle(0, UInt64(next))
      #expect(isAdded)
    }
    #expect(header.handles(0).count == count + 4)
    #expect(Array(header.handles(0).suffix(5)) == [0, 0, 1, 2, 3])
    header.handles(0)[1] = NodeHandle.nullBits
    header.removeNullHandles(at: 0)
    #expect(header.handles(0).count == count + 3 && header.handles(0).last == 3)
    for place in 0..<5 { header.handles(0)[place] = NodeHandle.nullBits }
    header.removeNullHandles(at: 0)
    #expect(header.handles(0).count == count - 2 && header.handles(0).last == 3)
    let isAdded = header.appendHandle(1, 8)
    #expect(isAdded && Array(header.handles(1)) == [8])
  }
}
