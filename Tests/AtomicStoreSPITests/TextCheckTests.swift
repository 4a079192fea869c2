import AtomicStoreSPI
import Testing

/// Texts are checked with vector instructions, whose answers are compared with those of the standard library.
@Suite("Checks of UTF-8") struct TextCheckTests {
  /// A node whose attribute is set again and again.
  private static func builder() throws -> NodeTableBuilder {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "A", properties: [.attribute("text", .string)])]))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: 0, reference: 1)
    return builder
  }

  private static func accepts(_ bytes: [UInt8], _ builder: NodeTableBuilder) -> Bool {
    do throws(PersistentStoreError) { try builder.set(utf8: bytes.span, slot: 0) } catch { return false }
    return true
  }

  /// Bytes at the borders of what well-formed UTF-8 has at one place.
  private static let borders: [UInt8] = [
    0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
    0xF1,
    0xF3, 0xF4, 0xF5, 0xFF,
  ]

  @Test("every sequence of three such bytes, wherever it is in a long text", arguments: borders)
  func sequences(_ first: UInt8) throws {
    let builder = try Self.builder()
    for second in Self.borders {
      for third in Self.borders {
        for place in [0, 30, 63, 93] {
          // The text begins with two bytes that are not ASCII, so that all of it is checked.
          var bytes = Array("é".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 96)
          bytes.replaceSubrange(2 + place..<5 + place, with: [first, second, third])
          #expect(Self.accepts(bytes, builder) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
      }
    }
  }

  @Test("a scalar of any length may be at any place, and not be cut off", arguments: ["é", "€", "\u{10FFFF}"])
  func scalars(_ scalar: String) throws {
    let builder = try Self.builder()
    for place in 0..<130 {
      let whole = Array("é".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: place) + Array(scalar.utf8)
      for length in 0...whole.count {
        let bytes = Array(whole.prefix(length))
        #expect(Self.accepts(bytes, builder) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
      }
    }
  }
}
