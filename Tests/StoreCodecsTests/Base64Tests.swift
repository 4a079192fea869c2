import FoundationEssentials
import Testing

@testable import StoreCodecs

@Suite("Base64") struct Base64Tests {
  private enum Decoded: Equatable {
    case bytes([UInt8])
    case fault(offset: Int)
  }

  private func decode(_ text: String) -> Decoded {
    // What the buffer held before must not matter.
    var bytes = [UInt8](repeating: 9, count: 40)
    do throws(Base64.DecodingError) { try Base64.decode(Array(text.utf8).span, into: &bytes) } catch {
      return bytes.isEmpty ? .fault(offset: error.offset) : .bytes(bytes)
    }
    return .bytes(bytes)
  }

  private func bytes(_ count: Int) -> [UInt8] {
    var generator = SeededGenerator(state: UInt64(count))
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }

  @Test("every length is encoded as Foundation does, and decoded again")
  func lengths() {
    for count in 0..<300 {
      let bytes = bytes(count)
      let text = written { Base64.encode(bytes.span, to: $0) }
      #expect(text == Data(bytes).base64EncodedString())
      #expect(decode(text) == .bytes(bytes))
      // In memory of the caller's, with no byte more than the room.
      var target = [UInt8](repeating: 7, count: Base64.decodedRoom(text.utf8.count))
      let count = target.withUnsafeMutableBufferPointer { try? Base64.decode(Array(text.utf8).span, to: $0) }
      #expect(count == bytes.count && target.prefix(bytes.count).elementsEqual(bytes))
    }
  }

  @Test(
    "Apple's stores break the line after 76 characters, and a text of exactly 76 not at all",
    arguments: [0, 1, 54, 55, 56, 57, 58, 60, 114, 1000])
  func appleWrapping(_ count: Int) {
    let bytes = bytes(count)
    let text = written { Base64.encode(bytes.span, to: $0, wrapping: .coreData) }
    let whole = Data(bytes).base64EncodedString()
    let expected =
      whole.isEmpty || whole.count == 76
      ? whole : whole.count < 76 ? whole + "\n" : "\(whole.prefix(76))\n\(whole.dropFirst(76))\n"
    #expect(text == expected)
    #expect(decode(text) == .bytes(bytes))
  }

  @Test("white space may be anywhere", arguments: ["\n\tTW Fu\r\n", " T W F u ", "TWFu", "\tTWF\nu"])
  func whiteSpace(_ text: String) {
    #expect(decode(text) == .bytes(Array("Man".utf8)))
  }

  @Test("white space may be within and after the padding")
  func paddedWhiteSpace() {
    #expect(decode("TQ=\n=\n") == .bytes(Array("M".utf8)))
    #expect(decode(" TWE = ") == .bytes(Array("Ma".utf8)))
    #expect(decode(" \n") == .bytes([]))
  }

  @Test(
    "an error has its offset",
    arguments: [
      ("TW-u", 2), ("TWFu*", 4), ("T", 1), ("TW", 2), ("TWF", 3), ("=", 0), ("T===", 1), ("TW=", 3), ("TW==TWFu", 4),
      ("TWE==", 4), ("TWFu=", 4), ("TX==", 2), ("TWF=", 3), ("TWFuTW_=", 6), ("TWFu\0", 4), ("TWFué", 4),
      ("TWFu\u{0B}", 4),
    ])
  func faults(_ text: String, _ offset: Int) {
    #expect(decode(text) == .fault(offset: offset))
  }

  @Test("lines of any length, within fours and between them, are decoded as one line", arguments: 1...80)
  func lines(_ length: Int) {
    var random = SeededGenerator(state: UInt64(length))
    for end in ["\n", "\r\n", " ", "\n\n\t", "\n*"] {
      let data = bytes(Int.random(in: 0...2000, using: &random))
      var text: [UInt8] = []
      for (place, digit) in Array(Data(data).base64EncodedData()).enumerated() {
        if place > 0, place % length == 0 { text += Array(end.utf8) }
        text.append(digit)
      }
      let decoded = decode(String(decoding: text, as: UTF8.self))
      if let star = text.firstIndex(of: UInt8(ascii: "*")) {
        #expect(decoded == .fault(offset: star))
      } else {
        #expect(decoded == .bytes(data))
      }
      // With no byte more than the room.
      let room = Base64.decodedRoom(text.count)
      var target = [UInt8](repeating: 7, count: room + 64)
      _ = target.withUnsafeMutableBufferPointer {
        try? Base64.decode(text.span, to: UnsafeMutableBufferPointer(rebasing: $0[..<room]))
      }
      #expect(target[room...].allSatisfy { $0 == 7 })
    }
  }

  @Test("many digits at a time are decoded as one by one, with every byte at every place", arguments: 1...8)
  func steps(_ seed: UInt64) {
    var random = SeededGenerator(state: seed)
    func decoded(_ text: [UInt8], usesVectors: Bool = true) -> Decoded {
      var bytes = [UInt8](repeating: 7, count: 3)
      do throws(Base64.DecodingError) { try Base64.decode(text.span, into: &bytes, usesVectors: usesVectors) } catch {
        return .fault(offset: error.offset)
      }
      return .bytes(bytes)
    }
    for round in 0..<400 {
      let count = Int.random(in: 0...200, using: &random)
      let data = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
      var text = Array(data.base64EncodedData())
      #expect(decoded(text) == .bytes(Array(data)))
      if !text.isEmpty {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch round % 3 {
        case 0: text[place] = UInt8(truncatingIfNeeded: round)
        case 1: text.insert(UInt8(ascii: "\n"), at: place)
        default: text.remove(at: place)
        }
      }
      #expect(decoded(text) == decoded(text, usesVectors: false))
    }
  }
}
