import Foundation
import StoreCodecs
import Testing

/// What is read of a list, whatever the lengths of its numbers.
@Suite("Lists of numbers") struct NumberListTests {
  /// One number after the other, and the offset of what is not a number.
  private static func expected(_ text: [UInt8], mark: UInt8?) -> (numbers: [Int64], end: Int) {
    var numbers: [Int64] = []
    var start = 0
    while start < text.count {
      var place = start
      if let mark {
        guard text[place] == mark else { break }
        place += 1
      }
      let digits = text[place...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard (1...18).contains(digits.count), digits.first != UInt8(ascii: "0"),
        digits.endIndex == text.count || text[digits.endIndex] == UInt8(ascii: " "),
        let number = Int64(String(decoding: digits, as: UTF8.self))
      else { break }
      numbers.append(number)
      start = min(digits.endIndex + 1, text.count)
    }
    return (numbers, start)
  }

  private static func read(_ list: NumberList, _ text: [UInt8], mark: UInt8?) -> (numbers: [Int64], end: Int) {
    // Not a byte more than the text: a read beyond its end is found by the address sanitizer.
    let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(text.count, 1))
    defer { bytes.deallocate() }
    _ = bytes.initialize(from: text)
    let end = bytes.baseAddress.map { list.read($0, length: text.count, mark: mark) } ?? 0
    return ((0..<list.count).map { list.span[$0] }, end)
  }

  @Test("are read like one number after the other", arguments: [nil, UInt8(ascii: "z")])
  func random(_ mark: UInt8?) {
    var generator = SeededGenerator(state: 7)
    let list = NumberList()
    let prefix = mark.map { [$0] } ?? []
    for round in 0..<4000 {
      var text: [UInt8] = []
      var digits = Int.random(in: 1...9, using: &generator)
      for _ in 0..<Int.random(in: 0...40, using: &generator) {
        if Int.random(in: 0..<6, using: &generator) == 0 { digits = Int.random(in: 1...19, using: &generator) }
        if !text.isEmpty { text.append(UInt8(ascii: " ")) }
        text += prefix
        let first = Int.random(in: 0..<50, using: &generator) == 0 ? 0 : Int.random(in: 1...9, using: &generator)
        text.append(UInt8(ascii: "0") + UInt8(first))
        for _ in 1..<digits { text.append(UInt8(ascii: "0") + UInt8.random(in: 0...9, using: &generator)) }
      }
      // Some are damaged in one byte, or cut.
      if round % 3 == 1, let place = text.indices.randomElement(using: &generator) {
        text[place] = UInt8.random(in: .min ... .max, using: &generator)
      }
      if round % 5 == 1 { text = Array(text.prefix(Int.random(in: 0...max(text.count, 1), using: &generator))) }
      let (found, wanted) = (Self.read(list, text, mark: mark), Self.expected(text, mark: mark))
      #expect(found.numbers == wanted.numbers && found.end == wanted.end, "\(String(decoding: text, as: UTF8.self))")
    }
  }

  @Test("end before any byte that is neither a digit nor a space", arguments: UInt8.min...UInt8.max)
  func strangeBytes(_ byte: UInt8) {
    let list = NumberList()
    for place in 0..<24 {
      var text = Array("10000 20000 30000 400000".utf8)
      text[place] = byte
      let (found, wanted) = (Self.read(list, text, mark: nil), Self.expected(text, mark: nil))
      #expect(found.numbers == wanted.numbers && found.end == wanted.end)
    }
  }
}
