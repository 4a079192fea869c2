import StoreCodecs
import StoreJSON

/// What bytes are, by their first bytes.
package struct MediaType: Sendable, Equatable {
  /// The name, such as `image/png`.
  package let name: String
  /// The extension of files, without a dot.
  package let fileExtension: String

  private init(_ name: String, _ fileExtension: String) {
    self.name = name
    self.fileExtension = fileExtension
  }

  package static let text = MediaType("text/plain", "txt")
  package static let bytes = MediaType("application/octet-stream", "bin")
  package static let gzip = MediaType("application/gzip", "gz")
  package static let zlib = MediaType("application/zlib", "zlib")
  package static let propertyList = MediaType("application/x-plist", "plist")
  package static let binaryPropertyList = MediaType("application/x-bplist", "plist")
  package static let archive = MediaType("application/x-nskeyedarchive", "plist")
  package static let json = MediaType("application/json", "json")
  private static let xml = MediaType("application/xml", "xml")
  private static let webp = MediaType("image/webp", "webp")

  private static let signatures: [(offset: Int, bytes: [UInt8], type: MediaType)] = [
    (0, [0x89] + Array("PNG\r\n\u{1A}\n".utf8), MediaType("image/png", "png")),
    (0, [0xFF, 0xD8, 0xFF], MediaType("image/jpeg", "jpg")),
    (0, Array("GIF87a".utf8), MediaType("image/gif", "gif")), (0, Array("GIF89a".utf8), MediaType("image/gif", "gif")),
    (0, Array("II*\0".utf8), MediaType("image/tiff", "tiff")),
    (0, Array("MM\0*".utf8), MediaType("image/tiff", "tiff")),
    (8, Array("WEBP".utf8), webp),
    (4, Array("ftypheic".utf8), MediaType("image/heic", "heic")),
    (4, Array("ftypheix".utf8), MediaType("image/heic", "heic")),
    (4, Array("ftypmif1".utf8), MediaType("image/heif", "heif")),
    (4, Array("ftypM4A ".utf8), MediaType("audio/mp4", "m4a")),
    (4, Array("ftypqt  ".utf8), MediaType("video/quicktime", "mov")),
    (4, Array("ftyp".utf8), MediaType("video/mp4", "mp4")),
    (0, Array("PK\u{3}\u{4}".utf8), MediaType("application/zip", "zip")),
    (0, Array("PK\u{5}\u{6}".utf8), MediaType("application/zip", "zip")),
    (0, Array("%PDF-".utf8), MediaType("application/pdf", "pdf")),
    (0, Array("SQLite format 3\0".utf8), MediaType("application/vnd.sqlite3", "sqlite")),
  ]

  /// Recognizes bytes; what is not recognized is `application/octet-stream`.
  package init(of bytes: [UInt8]) {
    func starts(_ text: [UInt8], at offset: Int) -> Bool {
      bytes.count >= offset + text.count && bytes[offset..<offset + text.count].elementsEqual(text)
    }
    if starts(Array("bplist".utf8), at: 0) {
      self = Self.isArchive(bytes) ? Self.archive : Self.binaryPropertyList
    } else if let found = Self.signatures.first(where: {
      starts($0.bytes, at: $0.offset) && ($0.type != Self.webp || starts(Array("RIFF".utf8), at: 0))
    }) {
      self = found.type
    } else if RawDeflate.isGzip(bytes) {
      self = Self.gzip
    } else if let text = Self.ofText(bytes) {
      self = text
    } else {
      self = RawDeflate.isZlib(bytes) ? Self.zlib : Self.bytes
    }
  }

  /// The archiver and its version are among the last objects of a file, or among the first.
  private static func isArchive(_ bytes: [UInt8]) -> Bool {
    func has(_ part: ArraySlice<UInt8>, _ word: String) -> Bool {
      let word = Array(word.utf8)
      return part.indices.dropLast(word.count - 1).contains { part[$0..<$0 + word.count].elementsEqual(word) }
    }
    return [bytes.prefix(4096), bytes.suffix(65_536)].contains { has($0, "NSKeyedArchiver") }
      && [bytes.prefix(4096), bytes.suffix(65_536)].contains { has($0, "$archiver") }
  }

  private static let blanks = Array("\t\n\r ".utf8)
  private static let formFeed = UInt8(ascii: "\u{C}")
  private static let delete = UInt8(ascii: "\u{7F}")

  private static func isControl(_ byte: UInt8) -> Bool {
    byte < UInt8(ascii: " ") && !blanks.contains(byte) && byte != formFeed || byte == delete
  }

  /// The kind of a text; nil for bytes that are not UTF-8, or contain control characters other than white space.
  private static func ofText(_ bytes: [UInt8]) -> MediaType? {
    guard !bytes.isEmpty, !bytes.contains(where: isControl), String(validating: bytes, as: UTF8.self) != nil else {
      return nil
    }
    let start = bytes.drop { blanks.contains($0) }
    switch start.first {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      if (try? JSONReader.read(bytes, name: "", depth: 200)) != nil { return json }
    case UInt8(ascii: "<"):
      let head = String(decoding: start.prefix(1024), as: UTF8.self)
      if head.contains("<!DOCTYPE plist") || head.contains("<plist") {
        return head.contains("$archiver") ? archive : propertyList
      }
      if head.hasPrefix("<?xml") { return head.contains("<svg") ? MediaType("image/svg+xml", "svg") : xml }
    default: break
    }
    return text
  }
}
