public import FoundationEssentials
public import StorePrimitives

/// Writes a binary property list as a stream: only the offset table and the strings written so far stay in memory.
///
/// Objects are written when they are added, contents before containers, and each call returns the reference by which
/// containers refer to them. A data object can be written in pieces:
///
/// ```swift
/// var writer = try BinaryPropertyListWriter(maximumObjectCount: 40) { (bytes) throws(PersistentStoreError) in … }
/// let key = try writer.string("names")
/// let column = try writer.beginData(count: total)
/// for chunk in chunks { try writer.append(chunk) }
/// try writer.finish(top: try writer.dictionary([(key, column)]))
/// ```
///
/// Equal calls result in equal bytes. A string written twice is one object.
///
/// Every method throws the errors of the sink, `.limitExceeded` if the stated number of objects is exceeded, and
/// `.internalInconsistency` if a data object is incomplete or too long.
public struct BinaryPropertyListWriter: ~Copyable {
  /// A reference to an object that was written, valid for the writer that returned it.
  public struct Reference: Sendable, Hashable {
    let index: Int
  }
  /// Receives bytes in order, and must use or copy them before it returns.
  public typealias Sink = (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void

  private let sink: Sink
  private let maximumObjectCount: Int
  private let referenceSize: Int
  private var buffer: [UInt8] = []
  private var flushedCount = 0
  private var offsets: [Int] = []
  /// The strings written so far, and the reference of each by its number.
  private var texts = TextNumbers()
  private var textReferences: [Reference] = []
  /// The number of missing bytes of the open data object.
  private var missingCount = 0

  private static let bufferSize = 1 << 18

  /// Starts a property list. References take 1, 2, 4 or 8 bytes, as few as the stated number of objects needs.
  ///
  /// - Parameters:
  ///   - maximumObjectCount: At least the number of objects that will be written, keys included.
  ///   - sink: Receives the bytes in pieces.
  public init(maximumObjectCount: Int, sink: @escaping Sink) throws(PersistentStoreError) {
    guard maximumObjectCount > 0 else {
      throw PersistentStoreError(.limitExceeded, "a property list has at least one object")
    }
    self.sink = sink
    self.maximumObjectCount = maximumObjectCount
    referenceSize = Self.size(for: maximumObjectCount - 1)
    buffer.append(contentsOf: "bplist00".utf8)
  }

  /// Writes a boolean.
  public mutating func boolean(_ value: Bool) throws(PersistentStoreError) -> Reference {
    let reference = try begin()
    buffer.append(value ? 0x09 : 0x08)
    return reference
  }

  /// Writes an integer in as few bytes as possible; negative ones take 8.
  ///
  /// - Throws: `.invalidValue` outside -2^63 … 2^64 - 1, which other readers would truncate to 64 bits.
  public mutating func integer(_ value: Int128) throws(PersistentStoreError) -> Reference {
    guard value >= Int128(Int64.min), value <= Int128(UInt64.max) else {
      throw PersistentStoreError(.invalidValue, "\(value) is out of range for an integer of a property list")
    }
    let reference = try begin()
    appendInteger(value)
    return reference
  }

  /// Writes a real in 8 bytes.
  public mutating func real(_ value: Double) throws(PersistentStoreError) -> Reference {
    let reference = try begin()
    buffer.append(0x23)
    appendNumber(value.bitPattern, size: 8)
    return reference
  }

  /// Writes a date: seconds since 2001, to the bit.
  ///
  /// - Throws: `.invalidValue` for a date that is not a number, which readers refuse.
  public mutating func date(_ value: Date) throws(PersistentStoreError) -> Reference {
    guard !value.timeIntervalSinceReferenceDate.isNaN else {
      throw PersistentStoreError(.invalidValue, "a property list cannot contain a date that is not a number")
    }
    let reference = try begin()
    buffer.append(0x33)
    appendNumber(value.timeIntervalSinceReferenceDate.bitPattern, size: 8)
    return reference
  }

  /// Writes a keyed archive's reference.
  public mutating func uid(_ value: UInt64) throws(PersistentStoreError) -> Reference {
    let reference = try begin()
    let size = Self.size(for: value)
    buffer.append(0x80 | UInt8(size - 1))
    appendNumber(value, size: size)
    return reference
  }

  /// Writes a string, or returns the reference of an equal one written before.
  public mutating func string(_ value: String) throws(PersistentStoreError) -> Reference {
    var text = value
    let number = text.withUTF8 { texts.add($0) }
    if number < textReferences.count { return textReferences[number] }
    let reference = try begin()
    textReferences.append(reference)
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      appendMarker(0x50, count: text.utf8.count)
      buffer.append(contentsOf: text.utf8)
    } else {
      appendMarker(0x60, count: text.utf16.count)
      for unit in text.utf16 { appendNumber(UInt64(unit), size: 2) }
    }
    return reference
  }

  /// Starts a data object of a known size. ``append(_:)`` must fill it before anything else is written.
  ///
  /// - Parameters:
  ///   - count: The size in bytes.
  ///   - alignment: What the offset of the first byte in the file is a multiple of, so that readers can map the file
  ///     into memory and use the bytes from there. Up to that many zeros precede the object. An empty object is not
  ///     aligned.
  public mutating func beginData(count: Int, alignedTo alignment: Int = 1) throws(PersistentStoreError) -> Reference {
    guard count >= 0, alignment > 0 else {
      throw PersistentStoreError(.internalInconsistency, "a data object of \(count) bytes, aligned to \(alignment)")
    }
    if alignment > 1, count > 0 {
      try checkData()
      // The marker, and the count behind it if that does not fit in the marker.
      let markerSize = count < 15 ? 1 : 2 + Self.size(for: count)
      let start = flushedCount + buffer.count + markerSize
      let padding = (alignment - start % alignment) % alignment
      buffer.append(contentsOf: repeatElement(0, count: padding))
    }
    let reference = try begin()
    appendMarker(0x40, count: count)
    missingCount = count
    return reference
  }

  /// Appends bytes to the open data object. Large pieces are passed to the sink without copying.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    guard bytes.count <= missingCount else {
      throw PersistentStoreError(
        .internalInconsistency, "a data object gets \(bytes.count) bytes and lacks \(missingCount)")
    }
    missingCount -= bytes.count
    if bytes.count >= Self.bufferSize {
      try flush()
      try sink(bytes)
      flushedCount += bytes.count
    } else {
      buffer.append(contentsOf: bytes)
      if buffer.count >= Self.bufferSize { try flush() }
    }
  }

  /// Writes an array.
  public mutating func array(_ elements: [Reference]) throws(PersistentStoreError) -> Reference {
    let reference = try begin()
    appendMarker(0xA0, count: elements.count)
    for element in elements { appendNumber(UInt64(element.index), size: referenceSize) }
    return reference
  }

  /// Writes a dictionary with its entries in the given order. Keys are references that ``string(_:)`` returned, each at
  /// most once.
  public mutating func dictionary(
    _ entries: [(key: Reference, value: Reference)]
  ) throws(PersistentStoreError) -> Reference {
    let reference = try begin()
    appendMarker(0xD0, count: entries.count)
    for entry in entries { appendNumber(UInt64(entry.key.index), size: referenceSize) }
    for entry in entries { appendNumber(UInt64(entry.value.index), size: referenceSize) }
    return reference
  }

  /// Writes a value with everything that it contains; a dictionary's keys in the order of their UTF-8 bytes.
  ///
  /// - Throws: `.limitExceeded` for nesting deeper than ``PropertyList/maximumDepth``.
  public mutating func value(_ value: PropertyListValue) throws(PersistentStoreError) -> Reference {
    try self.value(value, depth: 0)
  }

  private mutating func value(_ value: PropertyListValue, depth: Int) throws(PersistentStoreError) -> Reference {
    try PropertyList.check(depth: depth)
    switch value {
    case .string(let text): return try string(text)
    case .integer(let number): return try integer(number)
    case .real(let number): return try real(number)
    case .boolean(let flag): return try boolean(flag)
    case .date(let date): return try self.date(date)
    case .uid(let number): return try uid(number)
    case .data(let data):
      let reference = try beginData(count: data.count)
      for region in data.regions {
        let result: Result<Void, PersistentStoreError> = region.withUnsafeBytes { raw in
          do throws(PersistentStoreError) { return .success(try append(raw)) } catch { return .failure(error) }
        }
        try result.get()
      }
      return reference
    case .array(let elements):
      var references: [Reference] = []
      references.reserveCapacity(elements.count)
      for element in elements { references.append(try self.value(element, depth: depth + 1)) }
      return try array(references)
    case .dictionary(let entries):
      var references: [(key: Reference, value: Reference)] = []
      references.reserveCapacity(entries.count)
      for entry in entries {
        references.append((try string(entry.key), try self.value(entry.value, depth: depth + 1)))
      }
      return try dictionary(references)
    }
  }

  /// Writes the offset table and the trailer, and passes the rest to the sink.
  public consuming func finish(top: Reference) throws(PersistentStoreError) {
    try checkData()
    let tableOffset = flushedCount + buffer.count
    let offsetSize = Self.size(for: UInt64(tableOffset))
    for offset in offsets {
      appendNumber(UInt64(offset), size: offsetSize)
      if buffer.count >= Self.bufferSize { try flush() }
    }
    buffer.append(contentsOf: [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)])
    appendNumber(UInt64(offsets.count), size: 8)
    appendNumber(UInt64(top.index), size: 8)
    appendNumber(UInt64(tableOffset), size: 8)
    try flush()
  }
}

extension BinaryPropertyListWriter {
  private mutating func begin() throws(PersistentStoreError) -> Reference {
    try checkData()
    guard offsets.count < maximumObjectCount else {
      throw PersistentStoreError(.limitExceeded, "more objects than the announced maximum of \(maximumObjectCount)")
    }
    if buffer.count >= Self.bufferSize { try flush() }
    offsets.append(flushedCount + buffer.count)
    return Reference(index: offsets.count - 1)
  }

  private func checkData() throws(PersistentStoreError) {
    guard missingCount == 0 else {
      throw PersistentStoreError(.internalInconsistency, "a data object is missing \(missingCount) bytes")
    }
  }

  private mutating func flush() throws(PersistentStoreError) {
    guard !buffer.isEmpty else { return }
    let result: Result<Void, PersistentStoreError> = buffer.withUnsafeBytes { raw in
      do throws(PersistentStoreError) { return .success(try sink(raw)) } catch { return .failure(error) }
    }
    try result.get()
    flushedCount += buffer.count
    buffer.removeAll(keepingCapacity: true)
  }

  private mutating func appendMarker(_ marker: UInt8, count: Int) {
    if count < 15 {
      buffer.append(marker | UInt8(count))
    } else {
      buffer.append(marker | 0x0F)
      appendInteger(Int128(count))
    }
  }

  private mutating func appendInteger(_ value: Int128) {
    if value > Int128(Int64.max) {
      buffer.append(0x14)
      appendNumber(0, size: 8)
      appendNumber(UInt64(truncatingIfNeeded: value), size: 8)
      return
    }
    let bits = UInt64(truncatingIfNeeded: value)
    let size = value < 0 ? 8 : Self.size(for: bits)
    buffer.append(0x10 | UInt8(size.trailingZeroBitCount))
    appendNumber(bits, size: size)
  }

  /// Appends a big-endian number of 1, 2, 4 or 8 bytes.
  @inline(__always) private mutating func appendNumber(_ value: UInt64, size: Int) {
    switch size {
    case 1: buffer.append(UInt8(truncatingIfNeeded: value))
    case 2: withUnsafeBytes(of: UInt16(truncatingIfNeeded: value).bigEndian) { buffer.append(contentsOf: $0) }
    case 4: withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian) { buffer.append(contentsOf: $0) }
    default: withUnsafeBytes(of: value.bigEndian) { buffer.append(contentsOf: $0) }
    }
  }

  private static func size(for value: UInt64) -> Int {
    value <= 0xFF ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFF_FFFF ? 4 : 8
  }
  private static func size(for value: Int) -> Int { size(for: UInt64(value)) }
}

extension PropertyList {
  /// Encodes a value as a binary property list: equal values result in equal bytes.
  ///
  /// - Throws: `.limitExceeded` for nesting deeper than ``maximumDepth``; `.invalidValue` for an integer outside -2^63
  ///   … 2^64 - 1.
  public static func encodeBinary(_ value: PropertyListValue) throws(PersistentStoreError) -> [UInt8] {
    let count = try objectCount(value, depth: 0)
    let collector = ByteCollector()
    var writer = try BinaryPropertyListWriter(maximumObjectCount: count) { (bytes) throws(PersistentStoreError) in
      collector.bytes.append(contentsOf: bytes)
    }
    let top = try writer.value(value)
    try writer.finish(top: top)
    return collector.bytes
  }

  /// An upper bound for the number of objects: equal strings are counted each time.
  private static func objectCount(_ value: PropertyListValue, depth: Int) throws(PersistentStoreError) -> Int {
    try check(depth: depth)
    var count = 1
    switch value {
    case .array(let elements):
      for element in elements { count += try objectCount(element, depth: depth + 1) }
    case .dictionary(let entries):
      for entry in entries { count += try objectCount(entry.value, depth: depth + 1) + 1 }
    default: break
    }
    return count
  }

  static func check(depth: Int) throws(PersistentStoreError) {
    guard depth <= maximumDepth else { throw tooDeep(maximumDepth) }
  }

  private final class ByteCollector {
    var bytes: [UInt8] = []
  }
}
