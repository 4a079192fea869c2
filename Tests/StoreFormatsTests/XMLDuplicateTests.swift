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

  @Test("the same is found in the log of numbers, however the document is divided", arguments: 1...60)
  func log(_ seed: UInt64) {
    var random = Random(seed: seed)
    let ranges: [ClosedRange<Int64>] = [0...300, -500...500, .min ... .max, (Int64.max - 200)...Int64.max]
    var numbers = (0..<Int.random(in: 0...120, using: &random)).map { _ in
      Int64.random(in: ranges[Int(seed) % 4], using: &random)
    }
    if seed % 5 == 0 { numbers.sort() }
    if seed % 7 == 0 { numbers = (0..<9000).map { $0 * 3 } }
    let right = Dictionary(grouping: numbers) { $0 }.filter { $1.count > 1 }.keys.min()
    for partCount in 1...4 {
      let whole = NumberLog()
      if partCount == 1 {
        for number in numbers { whole.add(number) }
      } else {
        var rest = numbers[...]
        for part in 1...partCount {
          let log = NumberLog()
          for number in rest.prefix(part == partCount ? .max : Int.random(in: 0...60, using: &random)) {
            log.add(number)
            rest.removeFirst()
          }
          whole.append(log)
        }
      }
      #expect(whole.leastDuplicate() == right)
      if whole.ascends { #expect(numbers == numbers.sorted()) }
    }
  }
}
