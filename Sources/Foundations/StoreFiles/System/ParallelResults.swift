/// The results of work that is done on several threads, by number.
///
/// `@unchecked Sendable`: each element is written by the one call that has its number, and read after all calls have
/// returned. Both is up to the caller.
public final class ParallelResults<Value>: @unchecked Sendable {
  /// The number of elements.
  public let count: Int
  private let values: UnsafeMutablePointer<Value?>

  /// Creates memory without results.
  public init(_ count: Int) {
    self.count = max(count, 0)
    values = .allocate(capacity: self.count)
    values.initialize(repeating: nil, count: self.count)
  }

  deinit {
    values.deinitialize(count: count)
    values.deallocate()
  }

  /// A result; nil if there is none. The number must be one of the elements.
  public subscript(_ number: Int) -> Value? {
    get {
      precondition(number >= 0 && number < count, "index out of range")
      return values[number]
    }
    set {
      precondition(number >= 0 && number < count, "index out of range")
      values[number] = newValue
    }
  }

  /// The results that there are, in the order of their numbers.
  public var all: [Value] { (0..<count).compactMap { values[$0] } }
}
