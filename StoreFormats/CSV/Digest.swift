/// The digest of a member of a directory, by which edits are detected.
enum Digest {
  /// What digests begin with that are XXH64. Those of version 1 have no such name.
  private static let name = "xxh64:"

  /// Whether it is one of this version, which ``text(_:)`` returns.
  static func isCurrent(_ digest: String) -> Bool { digest.hasPrefix(name) }

  static func text(_ hash: XXH64) -> String { name + hexadecimal(hash.value) }

  /// Whether the bytes have the given digest of the directory's metadata, in this version or in version 1.
  static func matches(_ digest: String, _ bytes: Span<UInt8>) -> Bool {
    digest.hasPrefix(name)
      ? digest == name + hexadecimal(XXH64.of(bytes)) : digest == hexadecimal(Version1Hash.of(bytes))
  }

  private static func hexadecimal(_ hash: UInt64) -> String {
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The hash that version 1 of the folder's metadata has instead of XXH64. The identifiers of single files are made from
/// it too, so that they stay what they were.
enum Version1Hash {
  /// Hashes words of eight bytes, little-endian, the last one padded with zeros; then the length.
  static func of(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0x9E37_79B9_7F4A_7C15
    func mix(_ word: UInt64) {
      hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
      hash = hash << 29 | hash >> 35
    }
    bytes.withUnsafeBytes { raw in
      var index = 0
      while index + 8 <= raw.count {
        mix(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
        index += 8
      }
      var last: UInt64 = 0
      for place in index..<raw.count { last |= UInt64(raw[place]) << UInt64((place - index) * 8) }
      mix(last)
    }
    mix(UInt64(bytes.count))
    return hash ^ hash >> 32
  }
}
