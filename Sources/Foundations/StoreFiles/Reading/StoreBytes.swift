/// The bytes of a file, read completely into memory, or except for parts that are read when they are needed.
///
/// Never memory-mapped: if another process truncated the file, a mapping would terminate ours.
public final class StoreBytes: @unchecked Sendable {
  // `@unchecked`: written in `init` only, read-only afterwards, except for parts that are read later: each is written
  // once, under the lock of `later`, before it becomes visible.
  private let base: UnsafeMutableRawPointer
  /// The number of bytes.
  public let count: Int
  /// The parts that were left out; nil for none.
  private let later: LaterParts?

  /// - Parameters:
  ///   - isZeroed: Whether `fill` omits parts, which are then zero. They use no memory, because the system allocates
  ///     pages on first access.
  ///   - later: The parts that `fill` leaves out, to be read when they are needed.
  init(
    capacity: Int, isZeroed: Bool = false, later: LaterParts? = nil,
    fill: (UnsafeMutableRawPointer) throws(PersistentStoreError) -> Int
  ) throws(PersistentStoreError) {
    // A file may claim any size.
    guard let memory = isZeroed ? PagedMemory.zeroed(capacity) : PagedMemory.resized(nil, to: capacity) else {
      throw PersistentStoreError(.limitExceeded, "the file's \(capacity) bytes do not fit in memory")
    }
    base = memory
    self.later = later
    // Around parts that are left out, large pages would be cleared in vain: something of most of them is used.
    if later != nil, capacity > PagedMemory.leastMoved {
      PagedMemory.useLargePages(false, for: UnsafeMutableRawBufferPointer(start: memory, count: capacity))
    }
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
    base = PagedMemory.required(nil, to: room)
    count = bytes.count
    later = nil
    bytes.withUnsafeBytes { if let source = $0.baseAddress { base.copyMemory(from: source, byteCount: $0.count) } }
  }

  deinit { PagedMemory.free(base) }

  /// Where the bytes are, for who retains this object as long as it uses them.
  package var memory: UnsafeRawPointer { UnsafeRawPointer(base) }

  /// Whether all bytes of a range are in memory. Others have no value yet: see ``read(_:)``.
  package func isRead(_ range: Range<Int>) -> Bool { !(later?.isMissing(range) ?? false) }

  /// Reads those parts of the file that overlap a range, if they are not in memory yet.
  ///
  /// - Throws: The error of reading; `.changedOnDisk` if the file changed since it was opened.
  public func read(_ range: Range<Int>) throws(PersistentStoreError) { try later?.read(range, into: base) }

  /// Copies a range, of which parts may not be in memory, to the beginning of a buffer.
  func copy(_ range: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) throws(PersistentStoreError) {
    guard let later, later.isMissing(range) else {
      return buffer.copyMemory(from: UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
    }
    if let target = buffer.baseAddress { try later.copy(range, to: target) }
  }

  func checkUnchanged() throws(PersistentStoreError) { try later?.checkUnchanged() }

  /// Calls a closure with the bytes, which must not be used after it returns. Prefer ``span``. Parts that are to be
  /// read later have no value before: see `isRead(_:)`.
  ///
  /// ```swift
  /// let sum = try source.bytes().withUnsafeBytes { bytes in bytes.reduce(0) { $0 + Int($1) } }
  /// ```
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
