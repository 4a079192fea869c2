import Testing

@testable import XMLStoreFormat

@Suite("Duplicate numbers in an XML store") struct XMLDuplicateTests {
  @Test("the least number that occurs twice is found, close together or far apart", arguments: 1...40)
  func least(_ seed: UInt64) {
    var random = Random(seed: seed)
    let ranges: [ClosedRange<Int64>] = [0...30, -500...500, .min ... .max, (Int64.max - 9)...Int64.max, 0...1_000_000]
    let count = Int.random(in: 0...60, using: &random)
    var numbers = (0..<count).map { _ in Int64.random(in: ranges[Int(seed) % 5], using: &random) }
    if seed % 3 == 0, let first = numbers.first { numbers.append(first) }
    let right = Dictionary(grouping: numbers) { $0 }.filter { $1.count > 1 }.keys.min()
    #expect(numbers.withUnsafeBufferPointer { Duplicates.least(in: $0) } == right)
  }
}
