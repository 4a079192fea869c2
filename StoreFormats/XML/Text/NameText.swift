import AtomicStoreSPI
import StoreCodecs

/// Names of entities and properties in XML attributes. Core Data's names consist of letters and digits; other
/// characters are escaped as in text, so that no XML reader can misinterpret them.
enum NameText {
  static func encode(_ name: String, at place: StoreLocation) throws(PersistentStoreError) -> [UInt8] {
    guard !name.isEmpty else {
      throw PersistentStoreError(.unsupportedByFormat, "a name is empty", at: place)
    }
    let writer = ByteWriter()
    StoreText.encode(Array(name.utf8).span, to: writer)
    var result: [UInt8] = []
    for byte in writer.takeBytes() {
      switch byte {
      case 0x22: result += Array("\\u2200".utf8)
      case 0x09: result += Array("\\u0900".utf8)
      case 0x0A: result += Array("\\u0a00".utf8)
      default: result.append(byte)
      }
    }
    return result
  }

  /// Decodes a name; nil if an escape is invalid.
  static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    var copy = Array(bytes)
    var fault: StoreText.Fault?
    let count = copy.withUnsafeMutableBufferPointer { StoreText.decode($0, fault: &fault) }
    return fault == nil ? String(decoding: copy[..<count], as: UTF8.self) : nil
  }
}
