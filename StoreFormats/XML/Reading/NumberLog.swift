/// The numbers of all objects of a document, in its order: each as the distance from the one before, which mostly takes
/// a byte. They are only needed if one of them may occur twice.
final class NumberLog {
  // In raw memory: an array in a class is checked for exclusive access at each append.
  private var bytes: UnsafeMutablePointer<UInt8>
  private var count = 0
  private var capacity = 4096
  private var first: Int64 = 0
  private var last: Int64 = 0
  private var numberCount = 0
  /// Whether each number is greater than the one before: then all are different.
  private(set) var ascends = true
  /// The logs of the document's parts, after the numbers of this one.
  private var parts: [NumberLog] = []

  /// The greatest length of a number, seven bits a byte.
  private static let longest = 10

  init() { bytes = .allocate(capacity: capacity) }
  deinit { bytes.deallocate() }

  @inline(__always) func add(_ number: Int64) {
    if numberCount == 0 { first = number } else if number <= last { ascends = false }
    let distance = number &- last
    last = number
    numberCount += 1
    // Small distances in both directions are small numbers.
    var rest = UInt64(bitPattern: distance << 1 ^ distance >> 63)
    if count + Self.longest > capacity { grow() }
    while rest >= 0x80 {
      bytes[count] = UInt8(truncatingIfNeeded: rest) | 0x80
      count += 1
      rest >>= 7
    }
    bytes[count] = UInt8(truncatingIfNeeded: rest)
    count += 1
  }

  @inline(never) private func grow() {
    let bigger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * 2)
    bigger.update(from: bytes, count: count)
    bytes.deallocate()
    bytes = bigger
    capacity *= 2
  }

  /// Adds the numbers of the next part of the document, after which nothing else may be added but other parts.
  func append(_ part: NumberLog) {
    guard part.numberCount > 0 else { return }
    if !part.ascends || numberCount > 0 && part.first <= last { ascends = false }
    if numberCount == 0 { first = part.first }
    last = part.last
    numberCount += part.numberCount
    parts.append(part)
  }

  /// The least number that occurs more than once; nil if all are different.
  func leastDuplicate() -> Int64? {
    guard !ascends else { return nil }
    let numbers = UnsafeMutableBufferPointer<Int64>.allocate(capacity: numberCount)
    defer { numbers.deallocate() }
    var end = write(to: numbers, from: 0)
    for part in parts { end = part.write(to: numbers, from: end) }
    return Duplicates.least(in: UnsafeBufferPointer(rebasing: numbers[..<end]))
  }

  /// Writes the numbers of this log itself; returns the index after them.
  private func write(to numbers: UnsafeMutableBufferPointer<Int64>, from start: Int) -> Int {
    var (end, place, number) = (start, 0, Int64(0))
    while place < count {
      var (bits, shift) = (UInt64(0), UInt64(0))
      while true {
        let byte = bytes[place]
        place += 1
        bits |= UInt64(byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 { break }
      }
      number &+= Int64(bitPattern: bits >> 1 ^ (0 &- (bits & 1)))
      numbers.initializeElement(at: end, to: number)
      end += 1
    }
    return end
  }
}
