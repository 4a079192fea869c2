import AtomicStoreSPI
import FoundationEssentials
import StorePrimitives

/// Bytes that are the same for equal values only, for the hash tables of groups and of distinct rows.
struct RowKey {
  private(set) var bytes: [UInt8] = []
  /// Whether not-a-number is among the values. Its bytes are those of any other.
  private(set) var hasNaN = false

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    hasNaN = false
  }

  mutating func appendNull() { bytes.append(0) }

  /// Objects are those of one store.
  ///
  /// - Parameter isLast: Whether it is the last value of each key: its length needs no bytes.
  /// - Returns: False for values without such bytes.
  @inline(__always)
  mutating func append(_ cell: RowCell, isLast: Bool) -> Bool {
    switch cell {
    case .null: appendNull()
    case .boolean(let flag): bytes += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let seconds): append(3, seconds)
    case .double(let number): append(4, number)
    case .text(let text): append(5, text, isLast)
    case .decimal(let text):
      guard let number = DecimalNumber(utf8: Span(_unsafeElements: text)) else { return false }
      append(number)
    case .data(let data): append(8, data, isLast)
    case .object(let node): append(9, node.rawBits)
    case .objects, .other: return false
    }
    return true
  }

  /// As above. Values of different types have different bytes.
  mutating func append(_ value: StoredValue, isLast: Bool) -> Bool {
    switch value {
    case .null: appendNull()
    case .boolean(let flag): bytes += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let date): append(3, date.timeIntervalSinceReferenceDate)
    case .double(let number): append(4, number)
    case .string(var text): text.withUTF8 { append(5, $0, isLast) }
    case .decimal(let number): append(number)
    case .data(let data): data.withUnsafeBytes { append(8, $0.bindMemory(to: UInt8.self), isLast) }
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { append(10, $0.bindMemory(to: UInt8.self), true) }
    case .float(let number): append(11, Double(number))
    case .uri, .toOne, .toMany: return false
    }
    return true
  }

  private mutating func append(_ number: DecimalNumber) {
    guard !number.isNaN else {
      hasNaN = true
      return bytes.append(7)
    }
    let number = number.normalized
    append(6, number.mantissa)
    bytes += [UInt8(bitPattern: number.exponent), number.isNegative && number.mantissa != 0 ? 1 : 0]
  }

  private mutating func append(_ kind: UInt8, _ number: Double) {
    if number.isNaN { hasNaN = true }
    append(kind, number.isNaN ? UInt64.max : (number + 0).bitPattern)
  }

  private mutating func append(_ kind: UInt8, _ text: UnsafeBufferPointer<UInt8>, _ isLast: Bool) {
    if isLast { bytes.append(kind) } else { append(kind, UInt64(truncatingIfNeeded: text.count)) }
    bytes.append(contentsOf: text)
  }

  private mutating func append(_ kind: UInt8, _ number: some FixedWidthInteger) {
    bytes.append(kind)
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }
}
