import AtomicStoreSPI

/// The write-ahead log that SQLite keeps beside a database file: changed pages, in transactions, that are not in the
/// file yet.
///
/// Only what SQLite itself would recover is taken: frames with the header's salts and a right running checksum, up to
/// the last one that commits a transaction.
struct WriteAheadLog {
  static let headerSize = 32
  static let frameHeaderSize = 24
  /// The first bytes of a log, whose last bit says whether checksums are big-endian.
  static let magic: UInt32 = 0x377F_0682
  /// The only version there is.
  static let version: UInt32 = 3_007_000

  /// Nil where the header is not valid: SQLite takes such a log for an empty one.
  let pageSize: Int?
  /// How many frames fit into the file.
  let frameCount: Int
  /// How many of them are part of a committed transaction.
  private(set) var committedFrames = 0
  /// The number of pages of the database after the last transaction.
  private(set) var databasePages = 0
  /// Where the newest content of each page is, by page number.
  private(set) var pageOffsets: [Int: Int] = [:]

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    guard let size = Self.pageSize(bytes) else {
      pageSize = nil
      frameCount = 0
      return
    }
    pageSize = size
    frameCount = (bytes.count - Self.headerSize) / (size + Self.frameHeaderSize)
    readFrames(size)
  }

  /// The page size of a log with a valid header.
  private static func pageSize(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard bytes.count >= headerSize, bytes.bigEndian32(0) & ~1 == magic, bytes.bigEndian32(4) == version else {
      return nil
    }
    let size = Int(bytes.bigEndian32(8))
    guard size >= 512, size <= 65_536, size & (size - 1) == 0 else { return nil }
    var sum = Checksum(isBigEndian: bytes.bigEndian32(0) & 1 == 1)
    sum.add(bytes, 0..<24)
    return sum.first == bytes.bigEndian32(24) && sum.second == bytes.bigEndian32(28) ? size : nil
  }

  private mutating func readFrames(_ size: Int) {
    var sum = Checksum(isBigEndian: bytes.bigEndian32(0) & 1 == 1)
    sum.add(bytes, 0..<24)
    var pending: [(page: Int, offset: Int)] = []
    for frame in 0..<frameCount {
      let start = Self.headerSize + frame * (size + Self.frameHeaderSize)
      let page = Int(bytes.bigEndian32(start))
      guard page > 0, bytes.bigEndian32(start + 8) == bytes.bigEndian32(16),
        bytes.bigEndian32(start + 12) == bytes.bigEndian32(20)
      else { return }
      sum.add(bytes, start..<start + 8)
      let content = start + Self.frameHeaderSize
      sum.add(bytes, content..<content + size)
      guard sum.first == bytes.bigEndian32(start + 16), sum.second == bytes.bigEndian32(start + 20) else { return }
      pending.append((page, content))
      let pagesAfter = Int(bytes.bigEndian32(start + 4))
      guard pagesAfter > 0 else { continue }
      for (page, offset) in pending { pageOffsets[page] = offset }
      pending.removeAll(keepingCapacity: true)
      committedFrames = frame + 1
      databasePages = pagesAfter
    }
  }

  /// SQLite's running checksum over pairs of 32-bit words.
  private struct Checksum {
    let isBigEndian: Bool
    var first: UInt32 = 0
    var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// Adds a range whose length is a multiple of 8.
    mutating func add(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
      for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
        let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
        second &+= (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The big-endian number at an offset that is inside the buffer.
  func bigEndian32(_ offset: Int) -> UInt32 {
    UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
  func bigEndian16(_ offset: Int) -> UInt16 {
    UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }
}
