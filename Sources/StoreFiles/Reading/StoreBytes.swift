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
    // A file may claim any size.
    guard let memory = isZeroed ? calloc(max(capacity, 1), 1) : PagedMemory.resized(nil, to: capacity) else {
      throw PersistentStoreError(.limitExceeded, "the file's \(capacity) bytes do not fit in memory")
    }
    base = memory
    do {
      count = try fill(base)
    } catch {
      PagedMemory.free(base)
      throw error
    }
  }

  /// Copies bytes.
  public convenience init(_ bytes: [UInt8]) {
    // Cannot throw: the closure does not.
    self.init(copying: bytes)
  }
  private init(copying bytes: [UInt8]) {
    let room = max(bytes.count, 1)
    base = PagedMemory.resized(nil, to: room) ?? .allocate(byteCount: room, alignment: 16)
    count = bytes.count
    bytes.withUnsafeBytes { if let source = $0.baseAddress { base.copyMemory(from: source, byteCount: $0.count) } }
  }

  deinit { PagedMemory.free(base) }

  /// Where the bytes are, for who retains this object as long as it uses them.
  package var memory: UnsafeRawPointer { UnsafeRawPointer(base) }

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
