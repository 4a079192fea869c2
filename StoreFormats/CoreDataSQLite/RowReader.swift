import AtomicStoreSPI

/// Reads the rows of pages of tables, without SQLite. A row that cannot be read is left out, not the page.
struct RowReader {
  /// The value of a column. Bytes are offsets into the row.
  enum Value {
    case null
    case integer(Int64)
    case real(Double)
    case text(Range<Int>)
    case blob(Range<Int>)
    /// It is on a page that cannot be read.
    case lost
  }

  /// A row, and what is known of it.
  struct Row {
    let key: Int64
    /// The values in the order of the columns; nil where the row says nothing sensible.
    let values: [Value]?
    /// Why it is not complete.
    let damage: String?
  }

  private let pages: DatabasePages
  /// Pages of long values that a row has: no other has them too.
  private var used: Set<Int> = []
  /// The bytes of the row that was read last.
  private(set) var payload: [UInt8] = []
  private var isStopped = false

  init(_ pages: DatabasePages) { self.pages = pages }

  /// Ends the reading of a page after the row that was read last.
  mutating func stop() { isStopped = true }

  /// Calls with each row of a page, and with nil and the reason for a row whose key cannot be read.
  mutating func read(
    _ leaf: TreeContent.Leaf, _ body: (inout RowReader, Row?, String) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard let header = pages.header(leaf.page) else { return }
    let end = header.start + pages.usableSize
    let cells = (0..<header.cellCount).map { cell($0, of: header, before: end) }
    let isInOrder = Self.ascending(
      cells.map { $0.flatMap { $0.start + $0.local <= end && leaf.keys.contains($0.key) ? $0.key : nil } })
    isStopped = false
    // Cells do not overlap: together they are not larger than the page.
    var left = pages.usableSize
    for (index, cell) in cells.enumerated() {
      guard !isStopped else { return }
      let name = "entry \(index + 1) of page \(leaf.page)"
      guard let cell else {
        try body(&self, nil, "\(name) is damaged")
        continue
      }
      let key = cell.key
      guard cell.start + cell.local > end || isInOrder[index] else {
        try body(&self, nil, "\(name) has the key \(key), which is not in order")
        continue
      }
      guard cell.start + cell.local <= end, cell.prefix + cell.local <= left else {
        try body(&self, nil, "\(name), the row \(key), does not fit the page")
        continue
      }
      left -= cell.prefix + cell.local
      let damage = gather(cell.size, from: cell.start, cell.local, end)
      let values = values(of: cell.size)
      try body(
        &self, Row(key: key, values: values, damage: damage ?? (values == nil ? "the row \(key) is damaged" : nil)),
        name)
    }
  }

  /// Where a row is.
  private struct Cell {
    let key: Int64
    let size: Int
    /// The bytes of the size and the key, which are before it.
    let prefix: Int
    let start: Int
    /// How many of its bytes are on its own page.
    let local: Int
  }

  /// Nil where the size or the key cannot be read.
  private func cell(_ index: Int, of header: DatabasePages.Header, before end: Int) -> Cell? {
    guard let offset = pages.cellOffset(index, of: header),
      let (size, sizeLength) = pages.variableInteger(at: header.start + offset, before: end),
      let (key, keyLength) = pages.variableInteger(at: header.start + offset + sizeLength, before: end),
      size >= 0, size <= pages.bytes.count
    else { return nil }
    let prefix = sizeLength + keyLength
    return Cell(
      key: key, size: Int(size), prefix: prefix, start: header.start + offset + prefix, local: localSize(Int(size)))
  }

  /// Which keys are in order: as many as possible, so that a damaged one does not make others wrong.
  private static func ascending(_ keys: [Int64?]) -> [Bool] {
    // Of each length, the series with the least last key, by that key's index.
    var ends: [Int] = []
    var before: [Int?] = Array(repeating: nil, count: keys.count)
    for (index, key) in keys.enumerated() {
      guard let key else { continue }
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if let end = keys[ends[middle]], end < key { low = middle + 1 } else { high = middle }
      }
      before[index] = low > 0 ? ends[low - 1] : nil
      // Of the same key, the first one counts.
      if low == ends.count { ends.append(index) } else if keys[ends[low]] != key { ends[low] = index }
    }
    var isInOrder = Array(repeating: false, count: keys.count)
    var next = ends.last
    while let index = next {
      isInOrder[index] = true
      next = before[index]
    }
    return isInOrder
  }

  /// How many bytes of a row are on its own page.
  private func localSize(_ size: Int) -> Int {
    let most = pages.usableSize - 35
    guard size > most else { return size }
    let least = (pages.usableSize - 12) * 32 / 255 - 23
    let local = least + (size - least) % (pages.usableSize - 4)
    return local <= most ? local : least
  }

  /// Collects the bytes of a row, as far as its pages can be read.
  ///
  /// - Returns: Why the row is not complete; nil if it is.
  private mutating func gather(_ size: Int, from start: Int, _ local: Int, _ end: Int) -> String? {
    payload.removeAll(keepingCapacity: true)
    payload += pages.bytes[start..<start + local]
    guard payload.count < size else { return nil }
    guard start + local + 4 <= end else { return "the row does not fit the page" }
    var next = Int(pages.bytes.bigEndian32(start + local))
    while payload.count < size {
      guard pages.isUsable(next) else {
        return "page \(next), with a part of the row, cannot be read: \(pages.description(of: next))"
      }
      if let (use, _) = pages.use(of: next), use != .firstOverflow, use != .overflow {
        return "page \(next), with a part of the row, belongs to something else"
      }
      guard used.insert(next).inserted else { return "page \(next), with a part of the row, belongs to another row" }
      let page = (next - 1) * pages.pageSize
      let count = min(size - payload.count, pages.usableSize - 4)
      payload += pages.bytes[page + 4..<page + 4 + count]
      next = Int(pages.bytes.bigEndian32(page))
    }
    return nil
  }

  // MARK: Values

  /// The values of the row whose bytes were collected.
  private func values(of size: Int) -> [Value]? {
    payload.withUnsafeBytes { bytes in
      guard let (headerSize, first) = Self.variableInteger(bytes, 0), headerSize >= first, headerSize <= bytes.count
      else { return nil }
      var values: [Value] = []
      var type = first
      var offset = Int(headerSize)
      while type < headerSize {
        guard let (code, length) = Self.variableInteger(bytes, type), type + length <= headerSize, code >= 0 else {
          return nil
        }
        type += length
        guard let width = Self.width(code), width <= size - offset else { return nil }
        values.append(offset + width <= bytes.count ? Self.value(code, bytes, offset, width) : .lost)
        offset += width
      }
      return values
    }
  }

  private static func variableInteger(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> (Int, Int)? {
    var value = 0
    // Sizes have few bytes.
    for index in 0..<8 {
      guard offset + index < bytes.count else { return nil }
      value = value << 7 | Int(bytes[offset + index] & 0x7F)
      if bytes[offset + index] & 0x80 == 0 { return (value, index + 1) }
    }
    return nil
  }

  /// Types of numbers by their code: null, six widths of integers, a double, and the numbers 0 and 1.
  private static let widths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]
  private static let realCode = 7
  private static let zeroCode = 8
  /// From here on even codes are blobs and odd ones texts, and the code has the length.
  private static let firstLengthCode = 12

  /// The number of bytes of a value; nil for a code that SQLite does not use.
  private static func width(_ code: Int) -> Int? {
    if code < widths.count { return widths[code] }
    return code < firstLengthCode ? nil : (code - firstLengthCode) / 2
  }

  private static func value(_ code: Int, _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ width: Int) -> Value {
    if code == 0 { return .null }
    if code >= firstLengthCode {
      return code % 2 == 0 ? .blob(offset..<offset + width) : .text(offset..<offset + width)
    }
    if code >= zeroCode { return .integer(Int64(code - zeroCode)) }
    // Numbers are big-endian, and integers have a sign.
    var number: UInt64 = bytes[offset] & 0x80 != 0 && code != realCode ? .max : 0
    for byte in bytes[offset..<offset + width] { number = number << 8 | UInt64(byte) }
    guard code == realCode else { return .integer(Int64(bitPattern: number)) }
    let real = Double(bitPattern: number)
    return real.isNaN ? .null : .real(real)
  }

  /// A text of the row that was read last.
  func text(_ range: Range<Int>) -> String {
    if pages.isUTF8 { return String(decoding: payload[range], as: UTF8.self) }
    let units = stride(from: range.lowerBound, to: range.upperBound - 1, by: 2).map { (index: Int) -> UInt16 in
      let one = UInt16(payload[index])
      let two = UInt16(payload[index + 1])
      return pages.isBigEndian ? one << 8 | two : two << 8 | one
    }
    return String(decoding: units, as: UTF16.self)
  }
}
