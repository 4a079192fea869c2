import StorePredicates

/// How large a picture is once it is decoded, by its header: a few bytes may say that they are a gigabyte of pixels.
enum PictureSize {
  /// The types that are shown: those that all browsers decode, and that contain nothing but pixels.
  private static let types = ["image/png", "image/jpeg", "image/gif", "image/webp"]

  /// The width and the height; nil if the bytes are not a picture of such a type with a size.
  static func read(_ bytes: [UInt8], _ type: MediaType) -> (width: Int, height: Int)? {
    guard types.contains(type.name) else { return nil }
    let header = Header(bytes: bytes)
    let size =
      switch type.name {
      case "image/png": header.png
      case "image/jpeg": header.jpeg
      case "image/gif": header.gif
      default: header.webp
      }
    guard let size, size.width > 0, size.height > 0 else { return nil }
    return size
  }
}

/// The second bytes of the markers of JPEG, by their names in ITU-T T.81, table B.1.
private enum JPEGMarker {
  /// Before each marker, any number of them.
  static let fill = 0xFF
  /// TEM, which has no length.
  static let temporary = 0x01
  /// RST0 to RST7, which have none either.
  static let restarts = 0xD0...0xD7
  static let startOfImage = 0xD8
  static let endOfImage = 0xD9
  static let startOfScan = 0xDA

  /// SOF0 to SOF15. Between them are the tables of Huffman codes, arithmetic conditioning, and an extension.
  static func isFrame(_ marker: Int) -> Bool { 0xC0...0xCF ~= marker && ![0xC4, 0xC8, 0xCC].contains(marker) }
}

/// Numbers at offsets; nil beyond the end.
private struct Header {
  let bytes: [UInt8]

  private func big(_ offset: Int, _ count: Int) -> Int? {
    guard offset >= 0, offset + count <= bytes.count else { return nil }
    return bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
  }

  private func little(_ offset: Int, _ count: Int) -> Int? {
    guard offset >= 0, offset + count <= bytes.count else { return nil }
    return bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private func has(_ text: StaticString, at offset: Int) -> Bool {
    guard offset + text.utf8CodeUnitCount <= bytes.count else { return false }
    return text.withUTF8Buffer { bytes[offset..<offset + $0.count].elementsEqual($0) }
  }

  var png: (width: Int, height: Int)? {
    guard has("IHDR", at: 12), let width = big(16, 4), let height = big(20, 4) else { return nil }
    return (width, height)
  }

  /// That of the first frame that says it. Segments follow each other up to there.
  var jpeg: (width: Int, height: Int)? {
    var offset = 2
    while let marker = big(offset, 2), marker >> 8 == JPEGMarker.fill {
      switch marker & 0xFF {
      case JPEGMarker.fill: offset += 1
      case JPEGMarker.temporary, JPEGMarker.restarts: offset += 2
      case let frame where JPEGMarker.isFrame(frame):
        guard let height = big(offset + 5, 2), let width = big(offset + 7, 2) else { return nil }
        return (width, height)
      case JPEGMarker.startOfImage, JPEGMarker.endOfImage, JPEGMarker.startOfScan: return nil
      default:
        guard let length = big(offset + 2, 2), length >= 2 else { return nil }
        offset += 2 + length
      }
    }
    return nil
  }

  /// That of the screen, or of the first frame if it is larger.
  var gif: (width: Int, height: Int)? {
    guard let width = little(6, 2), let height = little(8, 2), let flags = little(10, 1) else { return nil }
    func skipColors(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << (flags & 7 + 1) }
    var offset = 13 + skipColors(flags)
    while let kind = little(offset, 1), kind == UInt8(ascii: "!") {
      offset += 2
      while let size = little(offset, 1), size > 0 { offset += 1 + size }
      offset += 1
    }
    guard has(",", at: offset), let left = little(offset + 1, 2), let top = little(offset + 3, 2),
      let wide = little(offset + 5, 2), let high = little(offset + 7, 2)
    else { return nil }
    return (max(width, left + wide), max(height, top + high))
  }

  var webp: (width: Int, height: Int)? {
    if has("VP8X", at: 12), let width = little(24, 3), let height = little(27, 3) { return (width + 1, height + 1) }
    if has("VP8L", at: 12), let bits = little(21, 4) { return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1) }
    guard has("VP8 ", at: 12), let width = little(26, 2), let height = little(28, 2) else { return nil }
    return (width & 0x3FFF, height & 0x3FFF)
  }
}
