/// Changes of a binary property list's objects, references, offsets and trailer.
enum PropertyListMutation {
  /// Where the parts of a list are, as far as its trailer is right.
  private struct Layout {
    var offsetSize: Int
    var referenceSize: Int
    var count: Int
    var table: Int
    var objects: [Int] = []

    init?(_ bytes: [UInt8]) {
      guard bytes.count >= 40, bytes.starts(with: "bplist".utf8) else { return nil }
      let trailer = bytes.count - 32
      offsetSize = Int(bytes[trailer + 6])
      referenceSize = Int(bytes[trailer + 7])
      guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
        let count = number(bytes, trailer + 8, 8), let table = number(bytes, trailer + 24, 8), count <= bytes.count,
        table < trailer, count > 0, count * offsetSize <= trailer - table
      else { return nil }
      self.count = count
      self.table = table
      for index in 0..<min(count, 10_000) {
        if let offset = number(bytes, table + index * offsetSize, offsetSize), offset < table { objects.append(offset) }
      }
    }
  }

  private static func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> Int? {
    guard offset >= 0, size <= 8, offset + size <= bytes.count else { return nil }
    let value = bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(exactly: value)
  }
  private static func store(_ value: UInt64, _ bytes: inout [UInt8], _ offset: Int, _ size: Int) {
    guard offset >= 0, offset + size <= bytes.count else { return }
    for place in 0..<size { bytes[offset + place] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (size - 1 - place))) }
  }

  private static func edge(_ layout: Layout, _ size: Int, _ random: inout MutationRandom) -> UInt64 {
    let count = UInt64(layout.count)
    let table = UInt64(layout.table)
    let end = UInt64(size)
    var edges: [UInt64] = [0, 1, 7, 8, 255, 256, 65535, .max, .max - 7, 0x8000_0000, 0x1_0000_0000]
    edges += [0x2000_0000_0000_0000, 0x4000_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000]
    edges += [count, count - 1, count + 1, table, table + 1, end, end - 32]
    return random.once(in: 20) ? random.next() : random.pick(edges) ?? 0
  }

  /// The references of containers, entries of the offset table, numbers and counts, each with the number of the object
  /// that it is in, or its own offset.
  static func identities(of bytes: [UInt8]) -> [(offset: Int, size: Int, own: Int)] {
    guard let layout = Layout(bytes) else { return [] }
    let trailer = bytes.count - 32
    var found = [8, 16, 24].map { (offset: trailer + $0, size: 8, own: trailer + $0) }
    for index in 0..<layout.count {
      let entry = layout.table + index * layout.offsetSize
      found.append((entry, layout.offsetSize, entry))
    }
    for (number, object) in layout.objects.enumerated() {
      let low = Int(bytes[object] & 0x0F)
      switch bytes[object] >> 4 {
      case 1 where low < 4: found.append((object + 1, 1 << low, number))
      case 8 where low < 8: found.append((object + 1, low + 1, number))
      case 0xA where low < 15, 0xD where low < 15:
        for place in 0..<low * (bytes[object] >> 4 == 0xD ? 2 : 1) {
          found.append((object + 1 + place * layout.referenceSize, layout.referenceSize, number))
        }
      default: break
      }
    }
    return found.filter { $0.offset + $0.size <= bytes.count }
  }

  /// Changes a byte of a number, date, text or datum, and leaves the structure alone: what is read is another value, or
  /// an invalid one, not another list.
  static func changeValue(in bytes: inout [UInt8], _ random: inout MutationRandom) {
    guard let layout = Layout(bytes) else { return }
    let values = layout.objects.filter { (1...6).contains(bytes[$0] >> 4) }
    guard let object = random.pick(values) else { return }
    let low = Int(bytes[object] & 0x0F)
    let count =
      switch bytes[object] >> 4 {
      case 1, 2: low < 5 ? 1 << low : 0
      case 3: 8
      // A longer one has its count before it, which the other changes deal with.
      case 6: low < 15 ? low * 2 : 0
      default: low < 15 ? low : 0
      }
    guard count > 0, object + count < layout.table else { return }
    bytes[object + 1 + random.below(count)] = UInt8(truncatingIfNeeded: random.next())
  }

  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ random: inout MutationRandom) {
    guard let layout = Layout(bytes), let object = random.pick(layout.objects) else {
      bytes = random.once(in: 2) ? other : made(&random)
      return
    }
    let trailer = bytes.count - 32
    switch random.below(12) {
    case 0: store(edge(layout, bytes.count, &random), &bytes, trailer + (random.pick([8, 16, 24]) ?? 8), 8)
    case 1: bytes[trailer + 6 + random.below(2)] = UInt8(random.pick([0, 1, 2, 3, 4, 5, 8, 9, 16, 255]) ?? 0)
    case 2:
      store(
        edge(layout, bytes.count, &random), &bytes, layout.table + random.below(layout.count) * layout.offsetSize,
        layout.offsetSize)
    case 3:
      // One object in the place of another.
      store(
        UInt64(random.pick(layout.objects) ?? 0), &bytes, layout.table + random.below(layout.count) * layout.offsetSize,
        layout.offsetSize)
    case 4: bytes[object] = bytes[object] & 0x0F | UInt8(random.below(16)) << 4
    case 5: bytes[object] = bytes[object] & 0xF0 | UInt8(random.below(16))
    case 6:
      // A separate count, of any size.
      let size = random.below(5)
      bytes[object] |= 0x0F
      if object + 2 + (1 << size) <= layout.table {
        bytes[object + 1] = 0x10 | UInt8(size)
        store(edge(layout, bytes.count, &random), &bytes, object + 2, min(8, 1 << size))
      }
    case 7, 8:
      // A reference in an array or a dictionary.
      let containers = layout.objects.filter { bytes[$0] >> 4 == 0xA || bytes[$0] >> 4 == 0xD }
      guard let container = random.pick(containers) else { return }
      let room = max(1, Int(bytes[container] & 0x0F) * 2)
      let value = random.once(in: 4) ? edge(layout, bytes.count, &random) : UInt64(random.below(layout.count))
      store(value, &bytes, container + 1 + random.below(room) * layout.referenceSize, layout.referenceSize)
    case 9:
      let length = min(1 + random.below(12), layout.table - object)
      for place in object..<object + max(0, length) { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
    case 10:
      // One object's bytes over another's.
      guard let target = random.pick(layout.objects) else { return }
      for place in 0..<min(9, layout.table - max(object, target)) { bytes[target + place] = bytes[object + place] }
    default: bytes = made(&random)
    }
  }

  /// A list made from nothing: any objects, any references, with a trailer that is true.
  private static func made(_ random: inout MutationRandom) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    let count = 1 + random.below(random.once(in: 10) ? 255 : 24)
    var offsets: [Int] = []
    for index in 0..<count {
      offsets.append(bytes.count)
      // Mostly to later objects, which makes no circle.
      func reference() -> UInt8 {
        if random.once(in: 8) || index + 1 >= count { return UInt8(random.below(count)) }
        return UInt8(index + 1 + random.below(count - index - 1))
      }
      switch random.below(index == 0 ? 4 : 12) {
      case 0, 1:
        let entries = random.below(9)
        bytes.append(0xD0 | UInt8(entries))
        for _ in 0..<entries * 2 { bytes.append(reference()) }
      case 2, 3:
        let entries = random.below(15)
        bytes.append(0xA0 | UInt8(entries))
        for _ in 0..<entries { bytes.append(reference()) }
      case 4: bytes.append(random.pick([0x00, 0x08, 0x09, 0x0F, 0xF0]) ?? 0)
      case 5:
        let size = random.below(5)
        bytes.append(0x10 | UInt8(size))
        for _ in 0..<1 << size { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
      case 6:
        let size = random.pick([2, 3, 3, 1]) ?? 3
        bytes.append((random.once(in: 3) ? 0x30 : 0x20) | UInt8(size))
        for _ in 0..<1 << size { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
      case 7:
        bytes += [0x61, 0x61 + UInt8(index % 26)]
      case 8:
        let text = Edges.text(&random).prefix(14)
        bytes.append(0x40 | UInt8(text.count))
        bytes += text
      case 9:
        bytes += [0x62, 0x41 + UInt8(index % 26), 0x30 + UInt8(index % 10)]
      case 10:
        let units = random.below(5)
        bytes.append(0x60 | UInt8(units))
        for _ in 0..<units {
          bytes.append(random.once(in: 3) ? 0xD8 : UInt8(random.below(4)))
          bytes.append(UInt8(random.below(256)))
        }
      default:
        let size = random.below(4)
        bytes.append(0x80 | UInt8(size))
        for _ in 0...size { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
      }
    }
    let table = bytes.count
    for offset in offsets {
      bytes.append(UInt8(truncatingIfNeeded: offset >> 8))
      bytes.append(UInt8(truncatingIfNeeded: offset))
    }
    bytes += [0, 0, 0, 0, 0, 0, 2, 1]
    for value in [count, 0, table] {
      for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (56 - 8 * place))) }
    }
    return bytes
  }
}
