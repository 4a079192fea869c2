import AtomicStoreSPI

/// The 64 bytes that a binary store begins with: big-endian numbers.
struct BinaryHeader {
  static let size = 64
  static let signature = Array("CoreData".utf8)
  static let version: UInt32 = 1
  /// Written by every known version.
  static let marker: UInt32 = 0x0804_0800

  let metadata: Range<Int>
  let map: Range<Int>
  /// The last key that was given out.
  let lastKey: Int64

  init(metadata: Range<Int>, map: Range<Int>, lastKey: Int64) {
    self.metadata = metadata
    self.map = map
    self.lastKey = lastKey
  }

  /// - Throws: `.malformed` with the offset of the field that does not fit the file, `.unsupportedVersion`.
  init(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    guard bytes.count >= Self.size, bytes.starts(with: Self.signature) else {
      throw PersistentStoreError(
        .malformed, "the file has \(bytes.count) bytes and no whole header", at: StoreLocation(offset: 0))
    }
    func number(_ offset: Int) -> UInt64 {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    let version = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    guard version == Self.version else {
      throw PersistentStoreError(
        .unsupportedVersion, "the binary store is of version \(version); version 1 is read",
        at: StoreLocation(offset: 8))
    }
    func part(_ offset: Int, _ name: String) throws(PersistentStoreError) -> Range<Int> {
      guard let start = Int(exactly: number(offset)), let count = Int(exactly: number(offset + 8)), start >= Self.size,
        count > 0, start <= bytes.count, count <= bytes.count - start
      else {
        throw PersistentStoreError(
          .malformed, "the \(name) would be \(number(offset + 8)) bytes from byte \(number(offset)) of \(bytes.count)",
          at: StoreLocation(offset: offset))
      }
      return start..<start + count
    }
    metadata = try part(16, "metadata")
    map = try part(32, "map of the objects")
    guard !metadata.overlaps(map) else {
      throw PersistentStoreError(.malformed, "metadata and objects overlap", at: StoreLocation(offset: 16))
    }
    guard let last = Int64(exactly: number(48)) else {
      throw PersistentStoreError(.malformed, "the last key is beyond 63 bits", at: StoreLocation(offset: 48))
    }
    lastKey = last
  }

  var bytes: [UInt8] {
    var result = Self.signature
    for number in [Self.version, Self.marker] { withUnsafeBytes(of: number.bigEndian) { result += $0 } }
    for number in [metadata.lowerBound, metadata.count, map.lowerBound, map.count, Int(lastKey), 0] {
      withUnsafeBytes(of: UInt64(truncatingIfNeeded: number).bigEndian) { result += $0 }
    }
    return result
  }
}
