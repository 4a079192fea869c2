public import FoundationEssentials
import Glibc
public import StorePrimitives

/// A lazy view of a binary property list (`bplist00`) that decodes objects on request.
///
/// Use it for formats that store packed columns in `data` objects: ``dataRange(of:)`` returns the range of the bytes in
/// the file, and nothing is copied. `PropertyList.decodeBinary` decodes everything into values instead.
///
/// The reader does not own the bytes: they must outlive it. Whatever they contain, a call returns in time linear in the
/// size of the requested object, or throws with the byte offset. A caller that follows references may encounter a
/// cycle: limit the traversal, or decode everything.
public struct BinaryPropertyListReader {
  /// An object, identified by its index in the file's offset table. It is valid for the reader that returned it.
  public struct Object: Hashable, Sendable {
    /// The object's index in the offset table, starting at 0.
    public let index: Int
  }

  /// The type of an object according to its marker.
  public enum Kind: Sendable {
    /// True or false.
    case boolean
    /// An integer of 1 to 16 bytes.
    case integer
    /// A single- or double-precision float.
    case real
    /// A date.
    case date
    /// Bytes.
    case data
    /// A string, in ASCII or UTF-16.
    case string
    /// A reference inside a keyed archive.
    case uid
    /// A list of objects.
    case array
    /// Objects by key.
    case dictionary
  }

  /// The number of objects in the file.
  public let objectCount: Int
  /// The root object of the file.
  public let top: Object
  /// The maximum nesting depth of arrays and dictionaries when an object is converted to a value; at most, and by
  /// default, ``PropertyList/maximumDepth``.
  public var maximumDepth = PropertyList.maximumDepth {
    didSet { maximumDepth = min(maximumDepth, PropertyList.maximumDepth) }
  }
  /// Called before the bytes of an object are used, with their range, where parts of the file are read later: it reads
  /// them. Not called for ``dataRange(of:)``.
  public var willUse: ((Range<Int>) throws(PersistentStoreError) -> Void)?

  /// The size of the file, a bound for traversing lists.
  public var byteCount: Int { bytes.count }

  let bytes: UnsafeRawBufferPointer
  /// The range of the bytes that were not read from the file.
  private let gap: Range<Int>
  private let hasGap: Bool
  private let offsetSize: Int
  let referenceSize: Int
  private let tableOffset: Int

  static let headerSize = 8
  /// The last bytes of a file, which locate everything else.
  public static let trailerSize = 32

  /// Returns the size in bytes of the object table and the trailer, determined from the trailer alone; the whole size
  /// if it is invalid.
  public static func tableSize(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count >= trailerSize else { return bytes.count }
    return bytes.count - Int(min(unsigned(bytes, at: bytes.count - 8, size: 8), UInt64(bytes.count)))
  }

  /// Checks header, trailer and the size of the offset table.
  ///
  /// - Parameters:
  ///   - bytes: The whole file. They must outlive the reader.
  ///   - gap: The bytes that were not read from the file. An object that overlaps them is refused with
  ///     `.missingObject`.
  /// - Throws: `.foreignFormat` if the bytes are not a binary property list, `.unsupportedVersion` for another version
  ///   than `00`, `.malformed` if the trailer contradicts the file's size.
  public init(_ bytes: UnsafeRawBufferPointer, gap: Range<Int> = 0..<0) throws(PersistentStoreError) {
    guard bytes.count >= 6, bytes[0..<6].elementsEqual("bplist".utf8) else {
      throw PersistentStoreError(.foreignFormat, "not a binary property list", at: StoreLocation(offset: 0))
    }
    guard bytes.count >= Self.headerSize + Self.trailerSize else {
      throw malformed("a binary property list of \(bytes.count) bytes is truncated", bytes.count)
    }
    guard bytes[6] == 0x30, bytes[7] == 0x30 else {
      throw PersistentStoreError(
        .unsupportedVersion, "only version 00 of binary property lists is supported",
        at: StoreLocation(offset: 6))
    }
    let trailer = bytes.count - Self.trailerSize
    let offsetSize = Int(bytes[trailer + 6])
    let referenceSize = Int(bytes[trailer + 7])
    guard 1...8 ~= offsetSize else { throw malformed("an offset size of \(offsetSize) bytes is invalid", trailer + 6) }
    guard 1...8 ~= referenceSize else {
      throw malformed("a reference size of \(referenceSize) bytes is invalid", trailer + 7)
    }
    let count = Self.unsigned(bytes, at: trailer + 8, size: 8)
    let top = Self.unsigned(bytes, at: trailer + 16, size: 8)
    let table = Self.unsigned(bytes, at: trailer + 24, size: 8)
    guard table >= UInt64(Self.headerSize), table <= UInt64(trailer) else {
      throw malformed("the offset table starts at byte \(table), outside the file", trailer + 24)
    }
    // Divide rather than multiply: the count may be anything up to 2^64.
    let space = UInt64(trailer) - table
    guard count > 0, space % UInt64(offsetSize) == 0, count == space / UInt64(offsetSize) else {
      throw malformed(
        "the offset table has \(space) bytes, not \(offsetSize) for each of \(count) objects", trailer + 8)
    }
    guard top < count else {
      throw malformed("the root object is \(top), but there are \(count) objects", trailer + 16)
    }
    self.bytes = bytes
    self.gap = gap
    hasGap = !gap.isEmpty
    self.offsetSize = offsetSize
    self.referenceSize = referenceSize
    self.tableOffset = Int(table)
    self.objectCount = Int(count)
    self.top = Object(index: Int(top))
  }
}

extension BinaryPropertyListReader {
  /// Returns the offset of the object's marker in the file, for messages.
  public func offset(of object: Object) throws(PersistentStoreError) -> Int {
    guard object.index >= 0, object.index < objectCount else {
      throw PersistentStoreError(.missingObject, "object \(object.index), but there are \(objectCount)")
    }
    let place = tableOffset + object.index * offsetSize
    try checkRead(place..<(place + offsetSize))
    let offset = Self.unsigned(bytes, at: place, size: offsetSize)
    guard offset >= UInt64(Self.headerSize), offset < UInt64(tableOffset) else {
      throw malformed("the offset of object \(object.index) is \(offset), outside the objects", place)
    }
    try checkRead(Int(offset)..<Int(offset) + 1)
    return Int(offset)
  }

  /// Returns the object's kind.
  ///
  /// - Throws: `.malformed` for unknown markers; `.notSupported` for null and sets.
  public func kind(of object: Object) throws(PersistentStoreError) -> Kind {
    let offset = try offset(of: object)
    return try kind(at: offset)
  }

  private func kind(at offset: Int) throws(PersistentStoreError) -> Kind {
    let marker = bytes[offset]
    switch marker {
    case 0x08, 0x09: return .boolean
    case 0x10...0x14: return .integer
    case 0x22, 0x23: return .real
    case 0x33: return .date
    case 0x40...0x4F: return .data
    case 0x50...0x6F: return .string
    case 0x80...0x8F: return .uid
    case 0xA0...0xAF: return .array
    case 0xD0...0xDF: return .dictionary
    case 0x00:
      throw PersistentStoreError(.notSupported, "null is not supported", at: StoreLocation(offset: offset))
    case 0xB0...0xCF:
      throw PersistentStoreError(.notSupported, "sets are not supported", at: StoreLocation(offset: offset))
    default:
      throw malformed("0x\(String(marker, radix: 16)) is not a valid marker", offset)
    }
  }

  /// Returns a boolean's value.
  public func boolean(of object: Object) throws(PersistentStoreError) -> Bool {
    let offset = try expect(.boolean, object)
    return bytes[offset] == 0x09
  }

  /// Returns an integer's value: 1, 2 and 4 bytes are unsigned, 8 and 16 signed.
  public func integer(of object: Object) throws(PersistentStoreError) -> Int128 {
    let offset = try expect(.integer, object)
    let size = 1 << Int(bytes[offset] & 0x0F)
    let start = try payload(offset + 1, count: size, unit: 1, of: offset).lowerBound
    switch size {
    case 16:
      let high = Self.unsigned(bytes, at: start, size: 8)
      let low = Self.unsigned(bytes, at: start + 8, size: 8)
      let value = Int128(truncatingIfNeeded: high) << 64 | Int128(low)
      // A value that can be read but not written would be lost in the next save.
      guard value >= Int128(Int64.min), value <= Int128(UInt64.max) else {
        throw PersistentStoreError(
          .invalidValue, "\(value) is out of range for an integer of a property list", at: StoreLocation(offset: offset)
        )
      }
      return value
    case 8: return Int128(Int64(bitPattern: Self.unsigned(bytes, at: start, size: 8)))
    default: return Int128(Self.unsigned(bytes, at: start, size: size))
    }
  }

  /// Returns a real's value; four-byte reals are widened.
  public func real(of object: Object) throws(PersistentStoreError) -> Double {
    let offset = try expect(.real, object)
    let size = 1 << Int(bytes[offset] & 0x0F)
    let start = try payload(offset + 1, count: size, unit: 1, of: offset).lowerBound
    let bits = Self.unsigned(bytes, at: start, size: size)
    return size == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
  }

  /// Returns a date's value.
  ///
  /// - Throws: `.malformed` also for one that is not a number: Foundation terminates the process that describes it. An
  ///   infinite date is a value like others.
  public func date(of object: Object) throws(PersistentStoreError) -> Date {
    let offset = try expect(.date, object)
    let start = try payload(offset + 1, count: 8, unit: 1, of: offset).lowerBound
    let interval = Double(bitPattern: Self.unsigned(bytes, at: start, size: 8))
    guard !interval.isNaN else { throw malformed("the date is \(interval)", offset) }
    return Date(timeIntervalSinceReferenceDate: interval)
  }

  /// Returns a keyed archive's reference.
  public func uid(of object: Object) throws(PersistentStoreError) -> UInt64 {
    let offset = try expect(.uid, object)
    let size = Int(bytes[offset] & 0x0F) + 1
    guard size <= 8 else { throw malformed("a UID of \(size) bytes", offset) }
    let start = try payload(offset + 1, count: size, unit: 1, of: offset).lowerBound
    return Self.unsigned(bytes, at: start, size: size)
  }

  /// Returns the range of a data object's bytes in the file. If parts of the file are read later, the bytes may not
  /// have been read.
  public func dataRange(of object: Object) throws(PersistentStoreError) -> Range<Int> {
    let offset = try expect(.data, object)
    return try counted(offset, unit: 1, isUsed: false)
  }

  /// Returns a data object's bytes without copying: they are valid as long as the bytes that the reader was created
  /// with.
  public func dataBytes(of object: Object) throws(PersistentStoreError) -> UnsafeRawBufferPointer {
    let range = try dataRange(of: object)
    try willUse?(range)
    return UnsafeRawBufferPointer(rebasing: bytes[range])
  }
}

extension BinaryPropertyListReader {
  /// Returns the number of elements of an array or of entries of a dictionary.
  public func count(of container: Object) throws(PersistentStoreError) -> Int {
    try references(of: container).count
  }

  /// Returns an element of an array.
  public func element(_ position: Int, of array: Object) throws(PersistentStoreError) -> Object {
    let list = try references(of: array)
    guard !list.isDictionary else { throw mismatch(.array, .dictionary, at: list.offset) }
    return try reference(position, list)
  }

  /// Returns the key and the value of an entry of a dictionary, in the file's order.
  public func entry(_ position: Int, of dictionary: Object) throws(PersistentStoreError) -> (key: Object, value: Object)
  {
    let list = try references(of: dictionary)
    guard list.isDictionary else { throw mismatch(.dictionary, .array, at: list.offset) }
    let key = try reference(position, list)
    // `position` is less than `count` here, and twice the count fits in the file.
    return (key, try objectReferenced(at: list.start + (list.count + position) * referenceSize))
  }

  /// Returns the value for a key, compared by UTF-8 bytes, or nil. It searches linearly: keep the result.
  ///
  /// - Throws: `.malformed` for a key that is not a string, and for a duplicate key.
  public func value(for name: String, in dictionary: Object) throws(PersistentStoreError) -> Object? {
    let list = try references(of: dictionary)
    guard list.isDictionary || list.count == 0 else { throw mismatch(.dictionary, .array, at: list.offset) }
    var found: Object?
    for position in 0..<list.count {
      let key = try reference(position, list)
      let value = try valueReference(position, list)
      guard try isString(key, name) else { continue }
      guard found == nil else { throw malformed("duplicate key '\(name)'", list.offset) }
      found = value
    }
    return found
  }

  /// Whether a string equals another one. Compares lengths first: a file may use one long string as a million keys.
  public func isString(_ object: Object, _ text: String) throws(PersistentStoreError) -> Bool {
    let offset = try expect(.string, object)
    let isWide = isWideString(at: offset)
    let range = try counted(offset, unit: isWide ? 2 : 1)
    guard isWide ? range.count == text.utf16.count * 2 : range.count == text.utf8.count else { return false }
    if isWide { return try string(of: object).hasSameScalars(as: text) }
    try checkASCII(range)
    return text.withBytes { utf8 in
      guard let one = utf8.baseAddress, let other = bytes.baseAddress, !utf8.isEmpty else { return true }
      return memcmp(one, other + range.lowerBound, range.count) == 0
    }
  }

  struct References {
    var offset: Int
    var start: Int
    var count: Int
    var isDictionary: Bool
  }

  /// The references of a container, checked to be within the objects.
  func references(of container: Object) throws(PersistentStoreError) -> References {
    let offset = try offset(of: container)
    let kind = try kind(at: offset)
    guard kind == .array || kind == .dictionary else { throw mismatch(.array, kind, at: offset) }
    let isDictionary = kind == .dictionary
    let range = try counted(offset, unit: isDictionary ? referenceSize * 2 : referenceSize)
    let count = range.count / (isDictionary ? referenceSize * 2 : referenceSize)
    return References(offset: offset, start: range.lowerBound, count: count, isDictionary: isDictionary)
  }

  func reference(_ position: Int, _ list: References) throws(PersistentStoreError) -> Object {
    guard position >= 0, position < list.count else {
      throw PersistentStoreError(
        .missingObject, "element \(position), but there are \(list.count)", at: StoreLocation(offset: list.offset))
    }
    return try objectReferenced(at: list.start + position * referenceSize)
  }

  /// The reference to the value of an entry whose position was checked.
  func valueReference(_ position: Int, _ list: References) throws(PersistentStoreError) -> Object {
    try objectReferenced(at: list.start + (list.count + position) * referenceSize)
  }

  func objectReferenced(at place: Int) throws(PersistentStoreError) -> Object {
    let index = Self.unsigned(bytes, at: place, size: referenceSize)
    guard index < UInt64(objectCount) else {
      throw malformed("a reference to object \(index), but there are \(objectCount)", place)
    }
    return Object(index: Int(index))
  }

  /// The object's size in the file in bytes, marker included: the cost of decoding it.
  func size(of object: Object) throws(PersistentStoreError) -> Int {
    let offset = try offset(of: object)
    switch try kind(at: offset) {
    case .data: return try counted(offset, unit: 1, isUsed: false).upperBound - offset
    case .string: return try counted(offset, unit: isWideString(at: offset) ? 2 : 1).upperBound - offset
    case .array: return try counted(offset, unit: referenceSize).upperBound - offset
    case .dictionary: return try counted(offset, unit: referenceSize * 2).upperBound - offset
    default: return 9
    }
  }
}

extension BinaryPropertyListReader {
  func expect(_ kind: Kind, _ object: Object) throws(PersistentStoreError) -> Int {
    let offset = try offset(of: object)
    let actual = try self.kind(at: offset)
    guard actual == kind else { throw mismatch(kind, actual, at: offset) }
    return offset
  }

  private func mismatch(_ expected: Kind, _ actual: Kind, at offset: Int) -> PersistentStoreError {
    malformed("\(expected) expected, \(actual) found", offset)
  }

  /// The range of the payload of an object with a count: the low nibble, or after 15 an integer object.
  ///
  /// - Parameter isUsed: Whether the bytes are used, not only their range.
  func counted(_ offset: Int, unit: Int, isUsed: Bool = true) throws(PersistentStoreError) -> Range<Int> {
    let nibble = Int(bytes[offset] & 0x0F)
    if nibble < 15 { return try payload(offset + 1, count: nibble, unit: unit, of: offset, isUsed: isUsed) }
    let place = offset + 1
    try checkRead(place..<place + 1)
    guard place < tableOffset, Self.countMarkers.contains(bytes[place]) else {
      throw malformed("an object's count is not an integer", place)
    }
    let size = 1 << Int(bytes[place] & 0x0F)
    _ = try payload(place + 1, count: size, unit: 1, of: offset)
    let count = Self.unsigned(bytes, at: place + 1, size: size)
    guard count <= UInt64(tableOffset) else {
      throw malformed("a count of \(count) in a file of \(bytes.count) bytes", place)
    }
    return try payload(place + 1 + size, count: Int(count), unit: unit, of: offset, isUsed: isUsed)
  }

  /// `count` is at most the file's size and `unit` at most 16, so nothing overflows.
  private func payload(
    _ start: Int, count: Int, unit: Int, of offset: Int, isUsed: Bool = true
  ) throws(PersistentStoreError) -> Range<Int> {
    guard start <= tableOffset, count <= (tableOffset - start) / unit else {
      throw malformed("the object at byte \(offset) extends beyond the end of the objects", offset)
    }
    let range = start..<(start + count * unit)
    try checkRead(range, isUsed: isUsed)
    return range
  }

  /// Bytes that were not read are zero and must not be used.
  @inline(__always)
  private func checkRead(_ range: Range<Int>, isUsed: Bool = true) throws(PersistentStoreError) {
    if hasGap || willUse != nil { try checkReadLater(range, isUsed: isUsed) }
  }

  private func checkReadLater(_ range: Range<Int>, isUsed: Bool) throws(PersistentStoreError) {
    guard !range.overlaps(gap) else {
      throw PersistentStoreError(.missingObject, "the object was not read", at: StoreLocation(offset: range.lowerBound))
    }
    if isUsed { try willUse?(range) }
  }

  /// A big-endian number of 1 to 8 bytes, which must be within the bytes.
  @inline(__always)
  static func unsigned(_ bytes: UnsafeRawBufferPointer, at place: Int, size: Int) -> UInt64 {
    switch size {
    case 1: return UInt64(bytes[place])
    case 2: return UInt64(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self)))
    case 4: return UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    case 8: return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    default:
      var value: UInt64 = 0
      for index in place..<(place + size) { value = value << 8 | UInt64(bytes[index]) }
      return value
    }
  }
}

private func malformed(_ message: String, _ offset: Int) -> PersistentStoreError {
  PersistentStoreError(.malformed, message, at: StoreLocation(offset: offset))
}
