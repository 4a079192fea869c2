/// Maps the bytes of a name to a number. Property names are looked up at each access, so this must be fast.
struct NameTable: Sendable {
  private let names: [[UInt8]]
  private let buckets: [Int32]
  private let mask: Int

  init(_ names: [[UInt8]]) {
    self.names = names
    var size = 8
    while size < names.count * 2 { size *= 2 }
    mask = size - 1
    var buckets = [Int32](repeating: -1, count: size)
    for (index, name) in self.names.enumerated() {
      var place = name.withUnsafeBufferPointer(Self.hash) & (size - 1)
      while buckets[place] >= 0 { place = (place + 1) & (size - 1) }
      buckets[place] = Int32(truncatingIfNeeded: index)
    }
    self.buckets = buckets
  }

  private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var value: UInt32 = 2_166_136_261
    for byte in bytes { value = (value ^ UInt32(byte)) &* 16_777_619 }
    return Int(value)
  }

  func find(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    var place = Self.hash(bytes) & mask
    while buckets[place] >= 0 {
      let index = Int(buckets[place])
      if names[index].count == bytes.count, names[index].elementsEqual(bytes) { return index }
      place = (place + 1) & mask
    }
    return nil
  }

  subscript(name: some StringProtocol) -> Int? {
    if let found = name.utf8.withContiguousStorageIfAvailable({ find($0) }) { return found }
    return Array(name.utf8).withUnsafeBufferPointer { find($0) }
  }
}
