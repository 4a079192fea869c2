/// A buffer for output: appends are cheap, and it is flushed to a sink from time to time.
///
/// Appends cannot fail. Call ``flushIfNeeded()`` about once per row, and ``finish()`` at the end. Without a sink the
/// bytes stay in memory: ``takeBytes()``.
public final class ByteWriter {
  /// Receives bytes, such as a staged file's `write`. The pointer is valid only during the call.
  public typealias Sink = (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void

  @usableFromInline struct Buffer {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline var count = 0
    @usableFromInline var capacity: Int
    @usableFromInline var flushed = 0
    init(capacity: Int) {
      base = PagedMemory.required(nil, to: capacity).assumingMemoryBound(to: UInt8.self)
      self.capacity = capacity
    }
  }
  // Behind a pointer, so that appends avoid the exclusivity checks of class properties.
  @usableFromInline let buffer: UnsafeMutablePointer<Buffer>
  private let sink: Sink?
  private static let threshold = 1 << 20
  private static let leastPassedOn = 1 << 18

  /// Creates a writer that flushes to `sink`, about a mebibyte at a time; without one it collects the bytes.
  public init(sink: Sink? = nil) {
    self.sink = sink
    buffer = .allocate(capacity: 1)
    buffer.initialize(to: Buffer(capacity: sink == nil ? 4096 : Self.threshold + 65536))
  }

  deinit {
    PagedMemory.free(buffer.pointee.base)
    buffer.deinitialize(count: 1)
    buffer.deallocate()
  }

  /// All bytes appended so far, flushed ones included.
  public var byteCount: Int { buffer.pointee.flushed + buffer.pointee.count }

  @usableFromInline func grow(by extra: Int) {
    let capacity = max(buffer.pointee.capacity * 2, buffer.pointee.count + extra)
    buffer.pointee.base =
      PagedMemory.required(buffer.pointee.base, to: capacity).assumingMemoryBound(to: UInt8.self)
    buffer.pointee.capacity = capacity
  }

  /// Reserves `count` bytes; the caller writes to them and then calls ``advance(_:)``.
  @inlinable @inline(__always) func room(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if buffer.pointee.capacity - buffer.pointee.count < count { grow(by: count) }
    return buffer.pointee.base + buffer.pointee.count
  }
  @inlinable @inline(__always) func advance(_ count: Int) { buffer.pointee.count += count }

  /// Appends one byte.
  @inlinable public func append(byte: UInt8) {
    room(1).pointee = byte
    advance(1)
  }

  /// Appends a copy of the bytes.
  @inlinable public func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    UnsafeMutableRawPointer(room(bytes.count)).copyMemory(from: source, byteCount: bytes.count)
    advance(bytes.count)
  }

  /// Appends a copy of the bytes.
  @inlinable public func append(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends a copy of the bytes.
  @inlinable public func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends the UTF-8 of a literal.
  @inlinable public func append(_ text: StaticString) {
    text.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends the UTF-8 of a string.
  // A literal is appended without making a string of it.
  @_disfavoredOverload public func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends one byte `count` times; nothing for a count of 0 or below.
  public func append(repeating byte: UInt8, count: Int) {
    guard count > 0 else { return }
    room(count).update(repeating: byte, count: count)
    advance(count)
  }

  /// Appends decimal digits.
  public func append(integer value: Int64) {
    let start = room(20)
    guard value < 0 else { return advance(ExactText.writeDecimal(value.magnitude, to: start)) }
    // Twenty places hold the nineteen digits of any Int64 and its sign.
    start.pointee = UInt8(ascii: "-")
    advance(1 + ExactText.writeDecimal(value.magnitude, to: start + 1))
  }

  /// Flushes the buffer to the sink once it contains enough.
  @inline(__always) public func flushIfNeeded() throws(PersistentStoreError) {
    if buffer.pointee.count >= Self.threshold { try flush() }
  }

  private func flush() throws(PersistentStoreError) {
    guard let sink else { return }
    try sink(UnsafeRawBufferPointer(start: buffer.pointee.base, count: buffer.pointee.count))
    buffer.pointee.flushed += buffer.pointee.count
    buffer.pointee.count = 0
  }

  /// Flushes the rest to the sink.
  public func finish() throws(PersistentStoreError) {
    if buffer.pointee.count > 0 { try flush() }
  }

  /// Appends what a writer without a sink has collected, and empties that one. Many bytes are passed on to the sink as
  /// they are, without a copy.
  ///
  /// - Parameter other: The other writer.
  public func append(collectedBy other: ByteWriter) throws(PersistentStoreError) {
    let bytes = UnsafeRawBufferPointer(start: other.buffer.pointee.base, count: other.buffer.pointee.count)
    defer {
      other.buffer.pointee.flushed += bytes.count
      other.buffer.pointee.count = 0
    }
    guard let sink, bytes.count >= Self.leastPassedOn else {
      append(bytes)
      return try flushIfNeeded()
    }
    try finish()
    try sink(bytes)
    buffer.pointee.flushed += bytes.count
  }

  /// Returns what was collected by a writer without a sink, and empties it.
  public func takeBytes() -> [UInt8] {
    let bytes = Array(UnsafeBufferPointer(start: buffer.pointee.base, count: buffer.pointee.count))
    buffer.pointee.flushed += buffer.pointee.count
    buffer.pointee.count = 0
    return bytes
  }
}
