import AtomicStoreSPI

/// The rollback journal that SQLite keeps beside a database file during a transaction: pages as they were before it.
///
/// A program that is killed while it writes leaves one. Pages are put back as SQLite does when it opens the file: those
/// with a right checksum, up to the first with another.
struct RollbackJournal {
  /// The first bytes of a journal that must be rolled back.
  static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  private static let headerSize = 28
  /// The number of records in a journal whose writer did not count them.
  private static let isNotCounted: UInt32 = 0xFFFF_FFFF
  /// Every so many bytes of a page, from its end, are in its checksum.
  private static let checksumStep = 200
  /// The first byte of the page that SQLite locks and never stores.
  private static let lockByte = 0x4000_0000

  /// The number of pages of the database before the transaction; nil if nothing of the journal counts.
  private(set) var databasePages: Int?
  private(set) var pageSize = 0
  /// Where the former content of each page is, by page number.
  private(set) var pageOffsets: [Int: Int] = [:]
  /// Whether it is one of several journals of one transaction, which count together.
  let isPartOfSeveral: Bool

  static func isHot(_ head: UnsafeRawBufferPointer) -> Bool { head.count >= headerSize && head.starts(with: magic) }

  /// - Parameter databasePageSize: That of the database.
  init(_ bytes: UnsafeRawBufferPointer, databasePageSize: Int) {
    isPartOfSeveral =
      bytes.count >= Self.headerSize + Self.magic.count && bytes.suffix(Self.magic.count).elementsEqual(Self.magic)
    var start = 0
    while let next = readSegment(bytes, at: start, databasePageSize) { start = next }
  }

  /// Reads a header and the records after it.
  ///
  /// - Returns: Where the next header may be; nil after the last.
  private mutating func readSegment(_ bytes: UnsafeRawBufferPointer, at start: Int, _ databasePageSize: Int) -> Int? {
    guard start + Self.headerSize <= bytes.count, bytes[start...].starts(with: Self.magic) else { return nil }
    let (counted, nonce) = (bytes.bigEndian32(start + 8), bytes.bigEndian32(start + 12))
    let (pages, sector) = (Int(bytes.bigEndian32(start + 16)), Int(bytes.bigEndian32(start + 20)))
    if start == 0 {
      let size = Int(bytes.bigEndian32(start + 24))
      pageSize = size == 0 ? databasePageSize : size
      guard Self.isPowerOfTwo(pageSize, 512...65_536), Self.isPowerOfTwo(sector, 32...65_536) else { return nil }
      databasePages = pages
    }
    guard let databasePages, Self.isPowerOfTwo(sector, 32...65_536) else { return nil }
    let recordSize = pageSize + 8
    var offset = start + sector
    let count = counted == Self.isNotCounted ? max(bytes.count - offset, 0) / recordSize : Int(counted)
    for _ in 0..<count {
      guard offset + recordSize <= bytes.count else { return nil }
      let page = Int(bytes.bigEndian32(offset))
      guard page > 0, page != Self.lockByte / pageSize + 1,
        bytes.bigEndian32(offset + 4 + pageSize) == checksum(bytes, offset + 4, nonce)
      else { return nil }
      if page <= databasePages { pageOffsets[page] = offset + 4 }
      offset += recordSize
    }
    return (offset + sector - 1) / sector * sector
  }

  private func checksum(_ bytes: UnsafeRawBufferPointer, _ page: Int, _ nonce: UInt32) -> UInt32 {
    var sum = nonce
    var place = pageSize - Self.checksumStep
    while place > 0 {
      sum &+= UInt32(bytes[page + place])
      place -= Self.checksumStep
    }
    return sum
  }

  private static func isPowerOfTwo(_ number: Int, _ range: ClosedRange<Int>) -> Bool {
    range.contains(number) && number & (number - 1) == 0
  }
}
