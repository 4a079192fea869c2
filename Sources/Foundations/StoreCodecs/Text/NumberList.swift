/// The numbers of a list in a text, in memory that is used again for the next list.
///
/// Not `Sendable`: each reader has its own.
public final class NumberList {
  // Behind a pointer, and raw: properties of a class are checked for exclusive access, arrays in them for other owners.
  private let memory: UnsafeMutablePointer<Memory>
  private struct Memory {
    var numbers: UnsafeMutablePointer<Int64>
    var capacity: Int
    var count = 0
  }
  /// How many numbers were read.
  public var count: Int { memory.pointee.count }

  /// Creates an empty list.
  public init() {
    let capacity = 64
    memory = .allocate(capacity: 1)
    memory.initialize(to: Memory(numbers: .allocate(capacity: capacity), capacity: capacity))
  }

  deinit {
    memory.pointee.numbers.deallocate()
    memory.deallocate()
  }

  /// The numbers, until others are read.
  public var span: Span<Int64> {
    @_lifetime(borrow self)
    get {
      _overrideLifetime(
        Span(_unsafeElements: UnsafeBufferPointer(start: memory.pointee.numbers, count: count)), borrowing: self)
    }
  }

  /// Reads numbers as `leadingNumber(_:_:)` does, with one space between two of them, and replaces the ones
  /// before.
  ///
  /// - Parameters:
  ///   - text: The first byte of the list.
  ///   - length: Its number of bytes.
  ///   - mark: A byte that each number has before it, as `z` in `z7 z8`; nil for none.
  /// - Returns: The offset of the first text that is not such a number; the length of the text if there is none.
  public func read(_ text: UnsafePointer<UInt8>, length: Int, mark: UInt8? = nil) -> Int {
    let width = mark == nil ? 0 : 1
    // The shortest number has a digit, and a space after it.
    let numbers = reserve(length / (width + 2) + 1)
    var (start, found) = (0, 0)
    while start + width < length {
      if let mark, text[start] != mark { break }
      let place = start + width
      guard let number = ExactText.leadingNumber(text + place, length - place) else { break }
      (numbers + found).initialize(to: number.number)
      found += 1
      start = place + number.end + 1
      guard number.end < 8 else { continue }
      // The next ones mostly have as many digits. Where each begins is then known before the one before is read, which
      // is what reading a list otherwise waits for.
      let form = NumberForm(digits: number.end)
      let stride = width + number.end + 1
      while start + width + 8 <= length {
        let word = UInt64(littleEndian: UnsafeRawPointer(text + start + width).loadUnaligned(as: UInt64.self))
        guard mark == nil || text[start] == mark, let number = form.number(word) else { break }
        (numbers + found).initialize(to: number)
        found += 1
        start += stride
      }
    }
    memory.pointee.count = found
    return min(start, length)
  }

  private func reserve(_ wanted: Int) -> UnsafeMutablePointer<Int64> {
    if wanted > memory.pointee.capacity {
      memory.pointee.numbers.deallocate()
      memory.pointee.capacity = max(wanted, memory.pointee.capacity * 2)
      memory.pointee.numbers = .allocate(capacity: memory.pointee.capacity)
    }
    return memory.pointee.numbers
  }

  /// Numbers of one to seven digits, the first of which is not 0, with a space after them.
  private struct NumberForm {
    private let spaceShift: UInt64
    private let digitShift: UInt64

    init(digits: Int) {
      spaceShift = UInt64(digits * 8)
      digitShift = 64 - spaceShift
    }

    /// - Parameter word: Eight bytes of the text, the first one lowest.
    @inline(__always) func number(_ word: UInt64) -> Int64? {
      guard UInt8(truncatingIfNeeded: word) != UInt8(ascii: "0"),
        UInt8(truncatingIfNeeded: word >> spaceShift) == UInt8(ascii: " ")
      else { return nil }
      return ExactText.number(ofDigits: (word ^ ExactText.zeros) << digitShift)
    }
  }
}
