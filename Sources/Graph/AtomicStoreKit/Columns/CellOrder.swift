import AtomicStoreSPI

/// The cells of a column as ordered keys.
struct CellOrder {
  private enum Kind { case integer, float, double, text, uuid }
  private let column: ColumnView
  private let kind: Kind

  init?(_ column: ColumnView, _ type: AttributeType) {
    self.column = column
    switch (type.valueKind, column.layout) {
    case (.integer, .integer16), (.integer, .integer32), (.integer, .integer64): kind = .integer
    case (.float, .float): kind = .float
    case (.double, .double), (.date, .double): kind = .double
    case (.string, .bytes): kind = .text
    case (.uuid, .uuid): kind = .uuid
    default: return nil
    }
  }

  func isOrdered(_ row: Int) -> Bool {
    switch kind {
    case .text: column.bytes(row) != nil
    case .float, .double: column.isPresent(row) && !double(row).isNaN
    default: column.isPresent(row)
    }
  }

  func integer(_ row: Int) -> Int64 { column.integer(row) }
  func double(_ row: Int) -> Double {
    kind == .float
      ? Double(column.cell(row, as: Float.self))
      : column.cell(row, as: Double.self)
  }
  func uuid(_ row: Int) -> UUIDBits { UUIDBits(column, row) }
  func bytes(_ row: Int) -> UnsafeBufferPointer<UInt8> {
    column.bytes(row) ?? UnsafeBufferPointer(start: nil, count: 0)
  }

  func prefix(_ row: Int) -> UInt64 {
    switch kind {
    case .text:
      let bytes = bytes(row)
      var value: UInt64 = 0
      for place in 0..<8 { value = value << 8 | (place < bytes.count ? UInt64(bytes[place]) : 0) }
      return value
    case .float, .double:
      let value = double(row)
      let bits = (value == 0 ? 0.0 : value).bitPattern
      return bits >> 63 == 1 ? ~bits : bits | 1 << 63
    case .uuid: return uuid(row).high
    case .integer: return UInt64(bitPattern: integer(row)) ^ 1 << 63
    }
  }

  /// Compares two rows whose prefixes are equal.
  func compareRest(_ one: Int, _ other: Int) -> Int {
    if kind == .uuid {
      let (a, b) = (uuid(one).low, uuid(other).low)
      return a < b ? -1 : a > b ? 1 : 0
    }
    guard kind == .text else { return 0 }
    let a = bytes(one)
    let b = bytes(other)
    let shared = min(a.count, b.count)
    var place = 0
    while place < shared, a[place] == b[place] { place += 1 }
    if place < shared { return a[place] < b[place] ? -1 : 1 }
    return a.count < b.count ? -1 : a.count > b.count ? 1 : 0
  }

  func precedes(_ one: Int, _ other: Int) -> Bool {
    let a = prefix(one)
    let b = prefix(other)
    if a != b { return a < b }
    let result = compareRest(one, other)
    return result == 0 ? one < other : result < 0
  }

  func isSame(_ row: Int, _ other: CellOrder, _ otherRow: Int) -> Bool {
    guard other.isOrdered(otherRow), prefix(row) == other.prefix(otherRow) else { return false }
    if kind == .uuid { return uuid(row).low == other.uuid(otherRow).low }
    return kind != .text || bytes(row).elementsEqual(other.bytes(otherRow))
  }
}
