import AtomicStoreSPI
import FoundationEssentials
import StorePrimitives

/// The keys of rows, for the hash tables of groups and of distinct rows: bytes that are the same for equal values only.
/// Values are appended to the last key until it ends.
struct RowKeys {
  private var keys = TextBatch()
  /// Whether not-a-number is among the values of the last key. Its bytes are those of any other.
  private(set) var hasNaN = false

  /// Ends a key.
  mutating func end() {
    keys.endText()
    hasNaN = false
  }

  /// Removes what was appended since the last key ended.
  mutating func cancel() {
    keys.cancelText()
    hasNaN = false
  }

  /// Returns the numbers of all keys, in their order, and removes the keys.
  mutating func takeNumbers(from texts: inout TextNumbers) -> [Int] { keys.takeNumbers(from: &texts) }

  private mutating func appendNull() { keys.bytes.append(0) }

  /// Objects are those of one store.
  ///
  /// - Parameter isLast: Whether it is the last value of each key: its length needs no bytes.
  /// - Returns: False for values without such bytes.
  @inline(__always)
  mutating func append(_ cell: RowCell, isLast: Bool) -> Bool {
    switch cell {
    case .null: appendNull()
    case .boolean(let flag): keys.bytes += [1, flag ? 1 : 0]
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
    case .boolean(let flag): keys.bytes += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let date): append(3, date.timeIntervalSinceReferenceDate)
    case .double(let number): append(4, number)
    case .string(var text): text.withUTF8 { append(5, $0, isLast) }
    case .decimal(let number): append(number)
    case .data(let data): data.withUnsafeBytes { append(8, $0.bindMemory(to: UInt8.self), isLast) }
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { append(10, $0.bindMemory(to: UInt8.self), true) }
    case .float(let number): append(11, Double(number))
    default: return false
    }
    return true
  }

  private mutating func append(_ number: DecimalNumber) {
    guard !number.isNaN else {
      hasNaN = true
      return keys.bytes.append(7)
    }
    let number = number.normalized
    append(6, number.mantissa)
    keys.bytes += [UInt8(bitPattern: number.exponent), number.isNegative && number.mantissa != 0 ? 1 : 0]
  }

  private mutating func append(_ kind: UInt8, _ number: Double) {
    if number.isNaN { hasNaN = true }
    append(kind, number.isNaN ? UInt64.max : (number + 0).bitPattern)
  }

  private mutating func append(_ kind: UInt8, _ text: UnsafeBufferPointer<UInt8>, _ isLast: Bool) {
    if isLast { keys.bytes.append(kind) } else { append(kind, UInt64(truncatingIfNeeded: text.count)) }
    keys.bytes.append(contentsOf: text)
  }

  private mutating func append(_ kind: UInt8, _ number: some FixedWidthInteger) {
    keys.bytes.append(kind)
    withUnsafeBytes(of: number.littleEndian) { keys.bytes.append(contentsOf: $0) }
  }
}
