import AtomicStoreSPI
import StoreCodecs

/// Names of entities and properties in XML attributes. Core Data's names consist of letters and digits; other
/// characters are escaped as in text, so that no XML reader can misinterpret them.
enum NameText {
  static func encode(_ name: String, at place: StoreLocation) throws(PersistentStoreError) -> [UInt8] {
    guard !name.isEmpty else {
      throw PersistentStoreError(.unsupportedByFormat, "a name is empty", at: place)
    }
    let plain = Array(name.utf8)
    if plain.allSatisfy(isPlain) { return plain }
    let writer = ByteWriter()
    StoreText.encode(plain.span, to: writer)
    var result: [UInt8] = []
    for byte in writer.takeBytes() {
      switch byte {
      case UInt8(ascii: "\""): result += Array("\\u2200".utf8)
      case UInt8(ascii: "\t"): result += Array("\\u0900".utf8)
      case UInt8(ascii: "\n"): result += Array("\\u0a00".utf8)
      default: result.append(byte)
      }
    }
    return result
  }

  /// Letters, digits and underscores, of which nearly all names consist, are written as they are.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// Decodes a name; nil if an escape is invalid.
  static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    var copy = Array(bytes)
    let count = try? copy.withUnsafeMutableBufferPointer { text throws(StoreText.Fault) in try StoreText.decode(text) }
    return count.map { String(decoding: copy[..<$0], as: UTF8.self) }
  }
}
