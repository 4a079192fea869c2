import Glibc

/// The bytes of a file, read completely into memory.
///
/// Never memory-mapped: if another process truncated the file, a mapping would terminate ours.
public final class StoreBytes: @unchecked Sendable {
  // `@unchecked`: written in `init` only, read-only afterwards.
  private let base: UnsafeMutableRawPointer
  /// The number of bytes.
  public let count: Int

  /// - Parameter isZeroed: Whether `fill` omits parts, which are then zero. They use no memory, because the system
  ///   allocates pages on first access.
  init(
    capacity: Int, isZeroed: Bool = false, fill: (UnsafeMutableRawPointer) throws(PersistentStoreError) -> Int
  ) throws(PersistentStoreError) {
    // Not Swift's own allocation, which terminates the process if there is not enough memory: a file may claim any
    // size.
    guard let memory = isZeroed ? calloc(max(capacity, 1), 1) : Self.memory(capacity) else {
      throw PersistentStoreError(.limitExceeded, "the file's \(capacity) bytes do not fit in memory")
    }
    base = memory
    do {
      count = try fill(base)
    } catch {
      free(base)
      throw error
    }
  }

  private static func memory(_ bytes: Int) -> UnsafeMutableRawPointer? {
    let large = 2 << 20
    guard bytes >= 2 * large else { return malloc(max(bytes, 1)) }
    // All of it will be written: with large pages there are fewer page faults, by a factor of five hundred.
    var memory: UnsafeMutableRawPointer?
    guard posix_memalign(&memory, large, bytes) == 0 else { return nil }
    if let memory { madvise(memory, bytes, MADV_HUGEPAGE) }
    return memory
  }

  /// Copies bytes.
  public convenience init(_ bytes: [UInt8]) {
    // Cannot throw: the closure does not.
    self.init(copying: bytes)
  }
  private init(copying bytes: [UInt8]) {
    let room = max(bytes.count, 1)
    base = malloc(room) ?? .allocate(byteCount: room, alignment: 16)
    count = bytes.count
    bytes.withUnsafeBytes { if let source = $0.baseAddress { base.copyMemory(from: source, byteCount: $0.count) } }
  }

  deinit { free(base) }

  /// Calls a closure with the bytes, which must not be used after it returns. Prefer ``span``.
  public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// The bytes, for as long as this object lives.
  public var span: Span<UInt8> {
    @_lifetime(borrow self)
    get {
      let buffer = UnsafeBufferPointer(start: UnsafePointer(base.assumingMemoryBound(to: UInt8.self)), count: count)
      return _overrideLifetime(Span(_unsafeElements: buffer), borrowing: self)
    }
  }
}
