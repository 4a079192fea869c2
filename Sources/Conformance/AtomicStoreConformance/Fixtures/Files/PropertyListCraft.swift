import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A binary property list taken apart into its objects, to be put together wrongly. It shares nothing with the readers
/// and writers that are tested.
struct PropertyListCraft: Sendable {
  enum Item: Sendable {
    /// Marker and payload as they stand in the file.
    case raw([UInt8])
    case array([Int])
    case dictionary([(key: Int, value: Int)])
  }
  var items: [Item] = []
  var top = 0
  /// How many offsets and counts were out of all bounds, where such are skipped.
  var repaired = 0

  /// The marker of an integer of one byte.
  static let oneByteInteger: UInt8 = 0x10

  /// Whether the byte is that of an integer from 1 to 98, with its marker before it.
  static func isSmallInteger(_ bytes: [UInt8], at offset: Int) -> Bool {
    offset > 0 && bytes[offset - 1] == oneByteInteger && (1..<99).contains(bytes[offset])
  }

  /// What stands for an object that makes no sense, where such are skipped: an empty string.
  static let nothing = Item.raw([0x50])

  /// - Parameter repairsOffsets: Takes objects that lie nowhere for empty strings; otherwise nil for them.
  /// - Parameter repairsCounts: The same for objects that are longer than the file.
  init?(_ bytes: [UInt8], repairsOffsets: Bool = false, repairsCounts: Bool = false) {
    guard bytes.count >= 40, bytes.starts(with: "bplist0".utf8) else { return nil }
    let trailer = bytes.count - 32
    let offsetSize = Int(bytes[trailer + 6])
    let referenceSize = Int(bytes[trailer + 7])
    func number(_ place: Int, _ size: Int) -> Int {
      Int(truncatingIfNeeded: bytes[place..<(place + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize else { return nil }
    let count = number(trailer + 8, 8)
    top = number(trailer + 16, 8)
    let table = number(trailer + 24, 8)
    guard count > 0, count < bytes.count, top >= 0, top < count, table > 0, table <= trailer,
      count * offsetSize <= trailer - table
    else { return nil }
    for index in 0..<count {
      let offset = number(table + index * offsetSize, offsetSize)
      guard offset >= 8, offset < table else {
        guard repairsOffsets else { return nil }
        repaired += 1
        items.append(Self.nothing)
        continue
      }
      guard let item = Self.item(bytes, offset, table, referenceSize, count, number) else {
        guard repairsCounts else { return nil }
        repaired += 1
        items.append(Self.nothing)
        continue
      }
      items.append(item)
    }
  }

  private static func item(
    _ bytes: [UInt8], _ offset: Int, _ table: Int, _ referenceSize: Int, _ count: Int, _ number: (Int, Int) -> Int
  ) -> Item? {
    let marker = bytes[offset]
    var length = Int(marker & 0x0F)
    var start = offset + 1
    if marker >= 0x40, marker & 0xF0 != 0x80, length == 15 {
      guard start < table, bytes[start] & 0xF0 == 0x10, bytes[start] <= 0x13 else { return nil }
      let size = 1 << Int(bytes[start] & 0x0F)
      guard start + 1 + size <= table else { return nil }
      length = number(start + 1, size)
      start += 1 + size
    }
    guard length >= 0, length <= table else { return nil }
    func raw(_ more: Int) -> Item? { start + more <= table ? .raw(Array(bytes[offset..<(start + more)])) : nil }
    switch marker & 0xF0 {
    case 0x10, 0x20: return length <= 4 ? raw(1 << length) : nil
    case 0x30: return raw(8)
    case 0x40, 0x50: return raw(length)
    case 0x60: return raw(length * 2)
    case 0x80: return raw(length + 1)
    case 0xA0, 0xD0:
      let total = marker & 0xF0 == 0xA0 ? length : length * 2
      guard start + total * referenceSize <= table else { return nil }
      let references = (0..<total).map { number(start + $0 * referenceSize, referenceSize) }
      guard references.allSatisfy({ $0 >= 0 && $0 < count }) else { return nil }
      if total == length { return .array(references) }
      return .dictionary((0..<length).map { (references[$0], references[length + $0]) })
    default: return raw(0)
    }
  }

  static func big(_ number: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
  }
  static func string(_ text: String) -> Item {
    .raw([0x5F, 0x13] + big(UInt64(text.utf8.count), 8) + Array(text.utf8))
  }

  /// - Parameter moved: Objects that the offset table has elsewhere than they are.
  func bytes(moved: [Int: UInt64] = [:]) -> [UInt8] {
    let referenceSize = items.count < 256 ? 1 : items.count < 65536 ? 2 : 4
    var result = Array("bplist00".utf8)
    var offsets: [UInt64] = []
    offsets.reserveCapacity(items.count)
    func put(_ list: [Int]) { for index in list { result += Self.big(UInt64(index), referenceSize) } }
    func begin(_ marker: UInt8, _ count: Int) {
      if count < 15 {
        result.append(marker | UInt8(count))
      } else {
        result += [marker | 15, 0x13] + Self.big(UInt64(count), 8)
      }
    }
    for (index, item) in items.enumerated() {
      offsets.append(moved[index] ?? UInt64(result.count))
      switch item {
      case .raw(let bytes): result += bytes
      case .array(let list):
        begin(0xA0, list.count)
        put(list)
      case .dictionary(let entries):
        begin(0xD0, entries.count)
        put(entries.map(\.key))
        put(entries.map(\.value))
      }
    }
    let table = result.count
    for offset in offsets { result += Self.big(offset, 8) }
    result += [0, 0, 0, 0, 0, 0, 8, UInt8(referenceSize)]
    return result + Self.big(UInt64(items.count), 8) + Self.big(UInt64(top), 8) + Self.big(UInt64(table), 8)
  }

  /// Takes out what nothing leads to: a list that holds such objects is broken in another way than was meant.
  mutating func dropUnreached() {
    var places: [Int?] = Array(repeating: nil, count: items.count)
    var order = [top]
    places[top] = 0
    var next = 0
    func reach(_ index: Int) {
      guard places[index] == nil else { return }
      places[index] = order.count
      order.append(index)
    }
    while next < order.count {
      switch items[order[next]] {
      case .raw: break
      case .array(let list): list.forEach(reach)
      case .dictionary(let entries):
        for entry in entries {
          reach(entry.key)
          reach(entry.value)
        }
      }
      next += 1
    }
    func moved(_ index: Int) -> Int { places[index] ?? 0 }
    items = order.map { index in
      switch items[index] {
      case .raw(let bytes): .raw(bytes)
      case .array(let list): .array(list.map(moved))
      case .dictionary(let entries): .dictionary(entries.map { (moved($0.key), moved($0.value)) })
      }
    }
    top = 0
  }

  /// The text of a string of ASCII.
  func text(_ index: Int) -> String? {
    guard case .raw(let bytes) = items[index], bytes[0] & 0xF0 == 0x50 else { return nil }
    let start = bytes[0] & 0x0F == 15 ? 2 + (1 << Int(bytes[1] & 0x0F)) : 1
    return String(decoding: bytes.dropFirst(start), as: UTF8.self)
  }

  mutating func append(_ item: Item) -> Int {
    items.append(item)
    return items.count - 1
  }
}
