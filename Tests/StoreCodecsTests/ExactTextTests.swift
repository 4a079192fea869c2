import Foundation
import StoreCodecs
import Testing

/// What `write` appends, as a string.
func written(_ write: (ByteWriter) throws -> Void) rethrows -> String {
  let writer = ByteWriter()
  try write(writer)
  return String(decoding: writer.takeBytes(), as: UTF8.self)
}

/// The same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

@Suite("Exact text") struct ExactTextTests {
  @Test("the number at the beginning of a list is read up to a space or the end", arguments: 0...20)
  func leadingNumbers(_ digits: Int) {
    let number = String("12345678901234567890".prefix(digits))
    for rest in ["", " ", " 7 8", "x", "\0", "-", "/", ":", "\u{B0}", "é", "  9999999", " 123456789"] {
      let text = Array((number + rest).utf8)
      let found = text.withUnsafeBufferPointer { buffer in
        buffer.baseAddress.flatMap { ExactText.leadingNumber($0, buffer.count) }
      }
      let isNumber = (1...18).contains(digits) && (rest.isEmpty || rest.hasPrefix(" "))
      #expect(found?.number == (isNumber ? Int64(number) : nil), "\(number)\(rest)")
      #expect(found?.end == (isNumber ? digits : nil), "\(number)\(rest)")
    }
    let padded = Array(("0" + number + "        ").utf8)
    padded.withUnsafeBufferPointer { buffer in
      #expect(buffer.baseAddress.flatMap { ExactText.leadingNumber($0, buffer.count) } == nil)
    }
  }

  @Test("the digits at the beginning of eight bytes are counted, whatever follows", arguments: 0...8)
  func leadingDigits(_ count: Int) {
    for other in UInt8.min...UInt8.max where !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(other) {
      var word: UInt64 = 0
      for index in 0..<8 {
        let byte = index < count ? UInt8(ascii: "9") - UInt8(index) : index == count ? other : 0xFF
        word |= UInt64(byte) << UInt64(index * 8)
      }
      let found = ExactText.leadingDigits(word)
      #expect(found.count == count && found.value == Int64(String("98765432".prefix(count))) ?? 0)
    }
  }

  @Test(
    "an integer's text reads back",
    arguments: [0, 1, -1, 9, 10, 99, 100, 101, 999_999_999, Int64.max, Int64.min, 1_000_000_000_000_000_000])
  func integers(_ value: Int64) {
    let text = written { $0.append(integer: value) }
    #expect(text == String(value))
    #expect(ExactText.integer(Array(text.utf8).span) == value)
  }

  @Test("every power of ten and its neighbors are written with all their digits")
  func powersOfTen() {
    var power: Int64 = 1
    while true {
      for value in [power - 1, power, power + 1, -power] {
        let text = written { $0.append(integer: value) }
        #expect(text == String(value))
        #expect(ExactText.integer(Array(text.utf8).span) == value)
      }
      if power == 1_000_000_000_000_000_000 { break }
      power *= 10
    }
  }

  @Test(
    "an integer may have a sign and leading zeros",
    arguments: [("+7", 7), ("-0", 0), ("000000000000000000000012", 12)] as [(String, Int64)])
  func signsAndZeros(_ text: String, _ value: Int64) {
    #expect(ExactText.integer(Array(text.utf8).span) == value)
  }

  @Test(
    "what is not an integer is refused",
    arguments: ["", "-", "+", " 1", "1 ", "1.0", "0x1", "--1", "1e3", "١", "1_0"])
  func notAnInteger(_ text: String) {
    #expect(ExactText.integer(Array(text.utf8).span) == nil)
  }

  @Test(
    "an integer that does not fit is refused",
    arguments: ["9223372036854775808", "-9223372036854775809", "99999999999999999999", "18446744073709551616"])
  func tooLarge(_ text: String) {
    #expect(ExactText.integer(Array(text.utf8).span) == nil)
  }

  @Test("a UUID is written in upper case and read in either")
  func uuids() {
    var generator = SeededGenerator(state: 1)
    for _ in 0..<200 {
      let (a, b) = (generator.next(), generator.next())
      let uuid = withUnsafeBytes(of: (a, b)) { $0.loadUnaligned(as: uuid_t.self) }
      let text = written { $0.append(uuid: UUID(uuid: uuid)) }
      #expect(text == UUID(uuid: uuid).uuidString)
      #expect(ExactText.uuid(Array(text.utf8).span) == UUID(uuid: uuid))
      #expect(ExactText.uuid(Array(text.lowercased().utf8).span) == UUID(uuid: uuid))
    }
  }

  @Test(
    "what is not a UUID is refused",
    arguments: [
      "", "B4FC79D0-E654-43EF-9020-A5273B3F104", "B4FC79D0-E654-43EF-9020-A5273B3F104AB",
      "B4FC79D0E-654-43EF-9020-A5273B3F104A", "G4FC79D0-E654-43EF-9020-A5273B3F104A",
      "{B4FC79D-E654-43EF-9020-A5273B3F104}", "B4FC79D0 E654-43EF-9020-A5273B3F104A",
    ])
  func notAUUID(_ text: String) {
    #expect(ExactText.uuid(Array(text.utf8).span) == nil)
  }
}

@Suite("Byte writer") struct ByteWriterTests {
  @Test("a sink gets every byte once and in order")
  func sink() throws {
    var received: [UInt8] = []
    var calls = 0
    let writer = ByteWriter {
      received += $0
      calls += 1
    }
    var expected: [UInt8] = []
    for number in 0..<300_000 {
      writer.append(integer: Int64(number))
      writer.append(repeating: 0x20, count: number % 5)
      writer.append("é\n" as StaticString)
      expected += Array("\(number)".utf8) + [UInt8](repeating: 0x20, count: number % 5) + Array("é\n".utf8)
      #expect(writer.byteCount == expected.count)
      try writer.flushIfNeeded()
    }
    try writer.finish()
    #expect(received == expected)
    #expect(calls == expected.count >> 20 + 1)
  }

  @Test("an error of the sink comes out of flushing")
  func failingSink() {
    let writer = ByteWriter { (_) throws(PersistentStoreError) in
      throw PersistentStoreError(.noSpace, "the disk is full")
    }
    writer.append(byte: 1)
    #expect(throws: PersistentStoreError.self) { try writer.finish() }
  }

  @Test("the buffer grows for one large piece")
  func growth() {
    let writer = ByteWriter()
    let large = [UInt8](repeating: 7, count: 100_000)
    writer.append(byte: 1)
    writer.append(large)
    let text = "text of a string that is longer than fifteen bytes"
    writer.append(text)
    let bytes = writer.takeBytes()
    #expect(bytes.count == 1 + 100_000 + text.utf8.count)
    #expect(bytes[1...100_000].allSatisfy { $0 == 7 })
    #expect(writer.takeBytes().isEmpty)
    #expect(writer.byteCount == bytes.count)
  }
}
