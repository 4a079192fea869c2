/// A value in a FlatBuffer: what Arrow's metadata consists of.
///
/// Tables list their fields by number, as the schema files of Arrow number them.
indirect enum FlatBufferValue {
  /// A field that has its default.
  case none
  case byte(UInt8)
  case short(Int16)
  case int(Int32)
  case long(Int64)
  case string(String)
  case table([FlatBufferValue])
  /// A vector of tables.
  case tables([FlatBufferValue])
  /// A vector of structs whose greatest member has eight bytes.
  case structs(count: Int, bytes: [UInt8])

  /// The size of the field within its table; references have four bytes.
  fileprivate var fieldSize: Int {
    switch self {
    case .none: 0
    case .byte: 1
    case .short: 2
    case .long: 8
    case .int, .string, .table, .tables, .structs: 4
    }
  }

  /// The bytes of a FlatBuffer with this table as its root, padded to a multiple of eight.
  var encoded: [UInt8] {
    var writer = FlatBufferWriter()
    writer.appendRoot(self)
    return writer.bytes
  }
}

/// Writes parents before their children, so that every reference leads forward, as the format demands.
private struct FlatBufferWriter {
  private(set) var bytes: [UInt8] = []

  mutating func appendRoot(_ root: FlatBufferValue) {
    append(UInt32(0))
    let start = append(referenced: root)
    patch(at: 0, to: start)
    align(to: 8)
  }

  private mutating func align(to size: Int) {
    while bytes.count % size != 0 { bytes.append(0) }
  }

  private mutating func append<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func put<Number: FixedWidthInteger>(_ number: Number, at position: Int) {
    withUnsafeBytes(of: number.littleEndian) { source in
      for (index, byte) in source.enumerated() { bytes[position + index] = byte }
    }
  }

  /// References are relative to where they are.
  private mutating func patch(at position: Int, to target: Int) {
    put(UInt32(truncatingIfNeeded: target - position), at: position)
  }

  /// Appends a value that its parent refers to, and returns where it starts.
  private mutating func append(referenced value: FlatBufferValue) -> Int {
    switch value {
    case .string(let text): appendString(text)
    case .table(let fields): appendTable(fields)
    case .tables(let elements): appendTables(elements)
    case .structs(let count, let content): appendStructs(count, content)
    case .none, .byte, .short, .int, .long: bytes.count
    }
  }

  private mutating func appendString(_ text: String) -> Int {
    align(to: 4)
    let start = bytes.count
    append(UInt32(truncatingIfNeeded: text.utf8.count))
    bytes.append(contentsOf: text.utf8)
    bytes.append(0)
    return start
  }

  private mutating func appendStructs(_ count: Int, _ content: [UInt8]) -> Int {
    // The elements follow the count of four bytes.
    while bytes.count % 8 != 4 { bytes.append(0) }
    let start = bytes.count
    append(UInt32(truncatingIfNeeded: count))
    bytes.append(contentsOf: content)
    return start
  }

  private mutating func appendTables(_ elements: [FlatBufferValue]) -> Int {
    align(to: 4)
    let start = bytes.count
    append(UInt32(truncatingIfNeeded: elements.count))
    let first = bytes.count
    for _ in elements { append(UInt32(0)) }
    for (index, element) in elements.enumerated() {
      let target = append(referenced: element)
      patch(at: first + index * 4, to: target)
    }
    return start
  }

  private mutating func appendTable(_ fields: [FlatBufferValue]) -> Int {
    // The largest fields first: each is then aligned to its size. The table begins with the reference to its layout.
    var offsets = [Int](repeating: 0, count: fields.count)
    var size = 4
    for width in [8, 4, 2, 1] {
      for (index, field) in fields.enumerated() where field.fieldSize == width {
        size = (size + width - 1) / width * width
        offsets[index] = size
        size += width
      }
    }
    align(to: 2)
    let layout = bytes.count
    append(UInt16(truncatingIfNeeded: 4 + 2 * fields.count))
    append(UInt16(truncatingIfNeeded: size))
    for offset in offsets { append(UInt16(truncatingIfNeeded: offset)) }
    align(to: 8)
    let start = bytes.count
    append(Int32(truncatingIfNeeded: start - layout))
    bytes.append(contentsOf: repeatElement(0, count: size - 4))
    for (index, field) in fields.enumerated() {
      let position = start + offsets[index]
      switch field {
      case .none: break
      case .byte(let number): put(number, at: position)
      case .short(let number): put(number, at: position)
      case .int(let number): put(number, at: position)
      case .long(let number): put(number, at: position)
      case .string, .table, .tables, .structs:
        let target = append(referenced: field)
        patch(at: position, to: target)
      }
    }
    return start
  }
}
