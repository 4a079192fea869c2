import FoundationEssentials

/// The representation of a value of an undefined attribute in a column of bytes: a tag, then the value.
enum UndefinedValue {
  static func encode(_ value: StoredValue) -> [UInt8] {
    func little<Integer: FixedWidthInteger>(_ tag: UInt8, _ number: Integer) -> [UInt8] {
      [tag] + (0..<Integer.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    return switch value {
    case .boolean(let flag): [1, flag ? 1 : 0]
    case .integer(let number): little(2, number)
    case .float(let number): little(3, number.bitPattern)
    case .double(let number): little(4, number.bitPattern)
    case .decimal(let number): [5] + Array(number.description.utf8)
    case .string(let text): [6] + Array(text.utf8)
    case .data(let data): [7] + Array(data)
    case .date(let date): little(8, date.timeIntervalSinceReferenceDate.bitPattern)
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { [9] + Array($0) }
    case .uri(let text): [10] + Array(text.utf8)
    case .null, .toOne, .toMany: []
    }
  }

  static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> StoredValue {
    guard let tag = bytes.first else { return .null }
    let rest = UnsafeBufferPointer(rebasing: bytes[1...])
    func little() -> UInt64 {
      var number: UInt64 = 0
      for (place, byte) in rest.prefix(8).enumerated() { number |= UInt64(byte) << UInt64(place * 8) }
      return number
    }
    switch tag {
    case 1: return .boolean(rest.first == 1)
    case 2: return .integer(Int64(bitPattern: little()))
    case 3: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: little())))
    case 4: return .double(Double(bitPattern: little()))
    case 5: return DecimalNumber(utf8: Span(_unsafeElements: rest)).map { .decimal($0) } ?? .null
    case 6: return .string(String(decoding: rest, as: UTF8.self))
    case 7: return .data(Data(rest))
    case 8: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: little())))
    case 9 where rest.count == 16: return .uuid(UUID(bytes: rest))
    case 10: return .uri(String(decoding: rest, as: UTF8.self))
    default: return .null
    }
  }
}

extension UUID {
  /// The UUID of sixteen bytes; fewer are padded with zeros.
  init(bytes: UnsafeBufferPointer<UInt8>) {
    var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &value) {
      $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes).prefix(16)))
    }
    self.init(uuid: value)
  }
}
