import AtomicStoreSPI

/// The pages of a database in memory, read without SQLite, as far as each can be read.
///
/// Unlike SQLite it needs neither a sound first page nor all pages that the header names.
struct DatabasePages {
  /// What the first byte of a page of a tree says.
  enum Kind: UInt8 {
    case interiorIndex = 2
    case interiorTable = 5
    case leafIndex = 10
    case leafTable = 13

    var isInterior: Bool { self == .interiorIndex || self == .interiorTable }
    var isTable: Bool { self == .interiorTable || self == .leafTable }
    /// An interior page has the number of its last child as well.
    var headerSize: Int { isInterior ? 12 : 8 }
  }

  /// The header of a page of a tree.
  struct Header {
    let kind: Kind
    let page: Int
    /// Where the page begins in the file.
    let start: Int
    /// Where the numbers of the cells begin, from the page's start.
    let cellPointers: Int
    let cellCount: Int
  }

  /// What the pointer map says about a page.
  enum Use: UInt8 {
    case root = 1
    case free, firstOverflow, overflow, tree
  }

  static let headerSize = 100
  /// What a database begins with.
  static let signature: StaticString = "SQLite format 3\0"
  private static let pageSizes = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]
  /// The size of an entry of the pointer map: the use of a page, and the number of another page.
  private static let mapEntrySize = 5
  /// SQLite locks bytes from here on, and does not use the page that has them.
  static let lockedByte = 0x4000_0000

  let bytes: UnsafeRawBufferPointer
  let pageSize: Int
  /// The bytes of a page without those at its end that extensions reserve.
  let usableSize: Int
  /// The number of pages that are there.
  let count: Int
  /// The number of pages that the header names; nil if it cannot be read.
  let statedCount: Int?
  /// Whether the file begins as a database.
  let hasHeader: Bool
  let isUTF8: Bool
  let isBigEndian: Bool
  let hasPointerMap: Bool
  /// The pages of the pointer map with an entry that cannot be one: the others on them are not trusted either.
  private var damagedMaps: Set<Int> = []

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    let begins =
      bytes.count >= Self.headerSize && Self.signature.withUTF8Buffer { bytes.starts(with: $0) }
    let stored = begins ? Int(bytes.bigEndian16(16)) : 0
    let size = stored == 1 ? 65_536 : stored
    hasHeader = begins && Self.pageSizes.contains(size)
    pageSize = hasHeader ? size : Self.likelyPageSize(bytes)
    let reserved = hasHeader ? Int(bytes[20]) : 0
    usableSize = pageSize - reserved >= 480 ? pageSize - reserved : pageSize
    count = (bytes.count + pageSize - 1) / pageSize
    let isCountValid = hasHeader && bytes.bigEndian32(24) == bytes.bigEndian32(92)
    statedCount = isCountValid ? Int(bytes.bigEndian32(28)) : nil
    let encoding = hasHeader ? bytes.bigEndian32(56) : 1
    isUTF8 = encoding != 2 && encoding != 3
    isBigEndian = encoding == 3
    let isMapped = hasHeader && bytes.bigEndian32(52) != 0
    hasPointerMap = isMapped || !hasHeader && Self.looksLikeMap(bytes, pageSize)
    findDamagedMaps()
  }

  // MARK: Without a first page

  /// The page size by which most pages are pages of trees.
  private static func likelyPageSize(_ bytes: UnsafeRawBufferPointer) -> Int {
    var best = (size: 4096, count: 0)
    for size in pageSizes {
      var count = 0
      for start in stride(from: 0, to: bytes.count - size + 1, by: size) where isPage(bytes, start, size) { count += 1 }
      if count > best.count { best = (size, count) }
    }
    return best.size
  }

  /// Whether all cells of a page are where cells can be.
  private static func isPage(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ size: Int) -> Bool {
    guard let kind = Kind(rawValue: bytes[start]) else { return false }
    let cells = Int(bytes.bigEndian16(start + 3))
    let content = Int(bytes.bigEndian16(start + 5))
    guard cells > 0, kind.headerSize + 2 * cells <= content, content < size else { return false }
    return (0..<cells).allSatisfy {
      let cell = Int(bytes.bigEndian16(start + kind.headerSize + 2 * $0))
      return cell >= content && cell < size
    }
  }

  /// Whether the second page says of each page what it is used for.
  private static func looksLikeMap(_ bytes: UnsafeRawBufferPointer, _ size: Int) -> Bool {
    let pages = min(bytes.count / size - 2, size / mapEntrySize)
    guard pages > 0 else { return false }
    return (0..<pages).allSatisfy {
      let entry = size + mapEntrySize * $0
      return Use(rawValue: bytes[entry]) != nil && Int(bytes.bigEndian32(entry + 1)) * size <= bytes.count
    }
  }

  // MARK: Pages

  /// Whether a page is there as a whole and may belong to a tree.
  func isUsable(_ page: Int) -> Bool {
    page >= 1 && page <= count && page * pageSize <= bytes.count && !isMapPage(page)
      && page != Self.lockedByte / pageSize + 1
  }

  /// The header of a page; nil if it is not a page of a tree.
  func header(_ page: Int) -> Header? {
    guard isUsable(page) else { return nil }
    let start = (page - 1) * pageSize
    // The first page begins with the header of the file.
    let offset = page == 1 ? Self.headerSize : 0
    guard let kind = Kind(rawValue: bytes[start + offset]) else { return nil }
    let cells = Int(bytes.bigEndian16(start + offset + 3))
    guard offset + kind.headerSize + 2 * cells <= usableSize else { return nil }
    return Header(kind: kind, page: page, start: start, cellPointers: offset + kind.headerSize, cellCount: cells)
  }

  /// Where a cell begins, from the page's start; nil if it cannot be there.
  func cellOffset(_ index: Int, of header: Header) -> Int? {
    let offset = Int(bytes.bigEndian16(header.start + header.cellPointers + 2 * index))
    guard offset >= header.cellPointers + 2 * header.cellCount, offset + 4 <= usableSize else { return nil }
    return offset
  }

  /// The number of the last child of an interior page.
  func lastChild(_ header: Header) -> Int { Int(bytes.bigEndian32(header.start + header.cellPointers - 4)) }

  /// Why a page does not belong to a tree of a table, as the end of a sentence.
  func description(of page: Int) -> String {
    guard page >= 1, page <= count else { return "it is not in the file, which has \(count) pages" }
    guard page * pageSize <= bytes.count else { return "the file ends within it" }
    let content = bytes[(page - 1) * pageSize..<page * pageSize]
    if content.allSatisfy({ $0 == 0 }) { return "it has nothing but zeros" }
    return "it is not a page of a table"
  }

  // MARK: Numbers

  /// A number of one to nine bytes, and how many it has; nil if it is not within the limit.
  func variableInteger(at offset: Int, before end: Int) -> (value: Int64, size: Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard offset + index < end else { return nil }
      let byte = bytes[offset + index]
      if index == 8 { return (Int64(bitPattern: value << 8 | UInt64(byte)), 9) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte & 0x80 == 0 { return (Int64(bitPattern: value), index + 1) }
    }
    return nil
  }

  // MARK: The pointer map

  /// The page of the pointer map that has the entry of a page.
  private func mapPage(of page: Int) -> Int {
    let perMap = usableSize / Self.mapEntrySize + 1
    let map = (page - 2) / perMap * perMap + 2
    return map == Self.lockedByte / pageSize + 1 ? map + 1 : map
  }

  private func isMapPage(_ page: Int) -> Bool { hasPointerMap && page >= 2 && mapPage(of: page) == page }

  private mutating func findDamagedMaps() {
    guard hasPointerMap, count > 2 else { return }
    for page in 3...count where !isMapPage(page) && page != Self.lockedByte / pageSize + 1 {
      let map = mapPage(of: page)
      guard !damagedMaps.contains(map) else { continue }
      // A root and a free page do not have a parent, all others do.
      let entry = use(of: page)
      let hasParent = entry.map { $0.use != .root && $0.use != .free } ?? false
      if entry.map({ $0.parent > 0 ? $0.parent <= max(count, statedCount ?? 0) && hasParent : !hasParent }) != true {
        damagedMaps.insert(map)
      }
    }
  }

  /// What the pointer map says about a page: its use, and for a page of a tree its parent. Nil without a map, and for
  /// an entry that is not one.
  func use(of page: Int) -> (use: Use, parent: Int)? {
    guard hasPointerMap, page > 2, !isMapPage(page) else { return nil }
    let map = mapPage(of: page)
    let entry = (map - 1) * pageSize + Self.mapEntrySize * (page - map - 1)
    guard page > map, entry + Self.mapEntrySize <= bytes.count, !damagedMaps.contains(map),
      let use = Use(rawValue: bytes[entry])
    else {
      return nil
    }
    return (use, Int(bytes.bigEndian32(entry + 1)))
  }

  /// The pages of the free list, as far as it can be read, and whether it is as long as the header says.
  ///
  /// Where there is a pointer map, only pages that it calls free are taken.
  func freePages() -> (pages: [Int], isWhole: Bool) {
    guard hasHeader else { return ([], true) }
    func mayBeFree(_ page: Int) -> Bool {
      page > 1 && isUsable(page) && (use(of: page).map { $0.use == .free } ?? true)
    }
    var pages: [Int] = []
    var seen: Set<Int> = []
    var trunk = Int(bytes.bigEndian32(32))
    while mayBeFree(trunk), seen.insert(trunk).inserted {
      let start = (trunk - 1) * pageSize
      let leaves = Int(bytes.bigEndian32(start + 4))
      guard leaves <= usableSize / 4 - 2 else { break }
      pages.append(trunk)
      for index in 0..<leaves {
        let page = Int(bytes.bigEndian32(start + 8 + 4 * index))
        if mayBeFree(page) { pages.append(page) }
      }
      trunk = Int(bytes.bigEndian32(start))
    }
    return (pages, trunk == 0 && pages.count == Int(bytes.bigEndian32(36)))
  }
}
