/// A digest that notices edits. It is not for secrets.
enum Digest {
  /// Words of eight bytes, little-endian, the last filled up with zeros; then the length.
  static func of(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0x9E37_79B9_7F4A_7C15
    func mix(_ word: UInt64) {
      hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
      hash = hash << 29 | hash >> 35
    }
    bytes.withUnsafeBytes { raw in
      var index = 0
      while index + 8 <= raw.count {
        let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
        hash = hash << 29 | hash >> 35
        index += 8
      }
      var last: UInt64 = 0
      for place in index..<raw.count { last |= UInt64(raw[place]) << UInt64((place - index) * 8) }
      mix(last)
    }
    mix(UInt64(bytes.count))
    return hash ^ hash >> 32
  }

  static func text(_ digest: UInt64) -> String {
    let hex = String(digest, radix: 16)
    return String(repeating: "0", count: 16 - hex.count) + hex
  }
}

/// A digest of bytes that come in pieces, equal to ``Digest/of(_:)`` of the whole.
final class RunningDigest {
  private var bytes: [UInt8] = []
  private var hash: UInt64 = 0x9E37_79B9_7F4A_7C15
  private var count = 0

  func add(_ piece: UnsafeRawBufferPointer) {
    count += piece.count
    var index = 0
    // Fill up what the last piece left of a word.
    while !bytes.isEmpty, bytes.count < 8, index < piece.count {
      bytes.append(piece[index])
      index += 1
    }
    if bytes.count == 8 {
      mix(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
      bytes.removeAll(keepingCapacity: true)
    }
    guard bytes.isEmpty else { return }
    var local = hash
    while index + 8 <= piece.count {
      let word = UInt64(littleEndian: piece.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      local = (local ^ word) &* 0xFF51_AFD7_ED55_8CCD
      local = local << 29 | local >> 35
      index += 8
    }
    hash = local
    while index < piece.count {
      bytes.append(piece[index])
      index += 1
    }
  }

  private func mix(_ word: UInt64) {
    hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
    hash = hash << 29 | hash >> 35
  }

  var value: UInt64 {
    mix(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    mix(UInt64(count))
    return hash ^ hash >> 32
  }
}
