package import AtomicStoreSPI
import FoundationEssentials

extension StoredValue {
  /// Appends bytes that are the same for equal values only.
  package func appendKey(to key: inout [UInt8]) {
    switch self {
    case .null: key.append(0)
    case .boolean(let flag): key += [1, flag ? 1 : 0]
    case .integer(let number): key.append(2, number)
    case .float(let number): key.append(3, number.isNaN ? .max : (number + 0).bitPattern)
    case .double(let number): key.append(4, number.isNaN ? .max : (number + 0).bitPattern)
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      key.append(5, seconds.isNaN ? .max : (seconds + 0).bitPattern)
    case .decimal(let number):
      let plain = number.normalized
      key.append(plain.isNaN ? 6 : plain.isNegative && plain.mantissa != 0 ? 7 : 8, plain.mantissa)
      key.append(0, Int64(plain.mantissa == 0 ? 0 : plain.exponent))
    case .string(var text): text.withUTF8 { key.append(9, $0) }
    case .uri(var text): text.withUTF8 { key.append(10, $0) }
    case .data(let data): data.withUnsafeBytes { key.append(11, $0.bindMemory(to: UInt8.self)) }
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { key.append(12, $0.bindMemory(to: UInt8.self)) }
    case .toOne(let object): object.appendKey(to: &key)
    case .toMany(let list):
      key.append(13, list.count)
      for object in list { object.appendKey(to: &key) }
    }
  }
}

extension ObjectReference {
  fileprivate func appendKey(to key: inout [UInt8]) {
    var name = entityName
    name.withUTF8 { key.append(14, $0) }
    switch reference {
    case .integer(let number): key.append(15, number)
    case .string(var text): text.withUTF8 { key.append(16, $0) }
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ kind: UInt8, _ number: some FixedWidthInteger) {
    append(kind)
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  fileprivate mutating func append(_ kind: UInt8, _ bytes: UnsafeBufferPointer<UInt8>) {
    append(kind, bytes.count)
    append(contentsOf: bytes)
  }
}
