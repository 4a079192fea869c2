import Testing

@testable import StoreImporting

@Suite("Lists in large pages") struct PagedListTests {
  @Test("keep what was added, across each growth, and when the end is taken away and added again")
  func growth() {
    let list = PagedList<Int64>()
    #expect(list.isEmpty)
    for number in 0..<100_000 { #expect(list.append(Int64(number) * 3)) }
    list.truncate(70_000)
    list.truncate(80_000)
    #expect(list.count == 70_000)
    for number in 70_000..<90_000 { #expect(list.append(Int64(number) * 3)) }
    #expect(list.elements.enumerated().allSatisfy { $1 == Int64($0) * 3 })
    #expect(list[89_999] == 269_997)
  }

  @Test("without memory nothing is added or lost", arguments: [Int.max, Int.max / 16, 1 << 50])
  func withoutMemory(_ room: Int) {
    let list = PagedList<Int64>()
    #expect(list.append(1))
    #expect(!list.reserve(room))
    #expect(list.append(2))
    #expect(Array(list.elements) == [1, 2])
  }
}
