import AtomicStoreSPI
import StorePredicates

/// The texts of a column as they are compared: folded, or with numbers as values. Each row is computed once, when it is
/// needed first.
final class SortTexts {
  enum Form {
    case folded(FetchPredicate.Options)
    /// ``SortKey/TextOrder/localizedStandard``.
    case standard
  }
  private let form: Form
  private let column: ColumnView
  private var heap: [UInt8] = []
  /// Where the text of each row starts in the heap; -1 if it has not been computed.
  private var starts: [Int]
  private var ends: [Int]

  init(_ column: ColumnView, _ form: Form) {
    self.column = column
    self.form = form
    starts = Array(repeating: -1, count: column.rows)
    ends = Array(repeating: 0, count: column.rows)
  }

  /// Returns seven bytes of the text of a row and how many there are, as a number; nil for null.
  func number(_ row: Int, _ piece: Int) -> UInt64? {
    if starts[row] < 0 {
      guard let bytes = column.bytes(row) else { return nil }
      starts[row] = heap.count
      append(bytes)
      ends[row] = heap.count
    }
    return heap.withUnsafeBufferPointer {
      Self.number(UnsafeBufferPointer(rebasing: $0[starts[row]..<ends[row]]), piece)
    }
  }

  /// Maps bytes to numbers in the same order, one for each seven bytes. The lowest byte is the number of bytes there,
  /// plus one: bytes sort before those that continue them.
  @inline(__always) static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ piece: Int) -> UInt64 {
    let start = piece &* 7
    let left = bytes.count &- start
    var value: UInt64 = 0
    if left >= 8, let base = bytes.baseAddress {
      value = UInt64(bigEndian: UnsafeRawPointer(base).loadUnaligned(fromByteOffset: start, as: UInt64.self)) & ~0xFF
    } else {
      for place in 0..<max(0, min(7, left)) { value |= UInt64(bytes[start &+ place]) << UInt64(56 &- place &* 8) }
    }
    return value | UInt64(1 &+ max(0, min(8, left)))
  }

  private func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    let isPlain = bytes.allSatisfy { $0 < 0x80 }
    switch form {
    case .folded(let options) where isPlain:
      guard options.contains(.caseInsensitive) else { return heap.append(contentsOf: bytes) }
      for byte in bytes { heap.append(Self.lowercased(byte)) }
    case .folded(let options):
      heap.append(contentsOf: StringComparison.folded(String(decoding: bytes, as: UTF8.self), options).utf8)
    case .standard where isPlain: appendStandard(bytes)
    case .standard: heap.append(contentsOf: StringComparison.standardKey(String(decoding: bytes, as: UTF8.self)).utf8)
    }
  }

  /// The bytes of ``StringComparison/standardKey(_:)`` for ASCII.
  private func appendStandard(_ bytes: UnsafeBufferPointer<UInt8>) {
    var index = 0
    while index < bytes.count {
      guard bytes[index] &- UInt8(ascii: "0") < 10 else {
        heap.append(Self.lowercased(bytes[index]))
        index += 1
        continue
      }
      var end = index
      while end < bytes.count, bytes[end] &- UInt8(ascii: "0") < 10 { end += 1 }
      while index < end, bytes[index] == UInt8(ascii: "0") { index += 1 }
      // The length as a scalar, which takes two bytes of UTF-8.
      let length = 0x100 + min(end - index, 0x3FF)
      heap.append(UInt8(ascii: "0"))
      heap.append(UInt8(truncatingIfNeeded: 0xC0 | length >> 6))
      heap.append(UInt8(truncatingIfNeeded: 0x80 | length & 0x3F))
      heap.append(contentsOf: bytes[index..<end])
      index = end
    }
    heap.append(0)
    heap.append(contentsOf: bytes)
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
}
