public import FoundationEssentials
public import StorePrimitives

/// A lazy view of a binary property list (`bplist00`) that decodes an object when it is asked for.
///
/// Made for formats that keep packed columns in `data` objects: ``dataRange(of:)`` tells where the bytes lie in the
/// file, and nothing is copied. ``PropertyList/decodeBinary(_:)-([UInt8])`` makes values of the whole instead.
///
/// The reader does not own the bytes: they must outlive it. Whatever they hold, a call returns in time linear in the
/// object asked for, or throws with the byte offset. A cycle is only met by a caller who walks the references;
/// bound the walk, or decode the whole.
public struct BinaryPropertyListReader {
  /// An object by its number in the file's offset table. It is meaningful to the reader that gave it.
  public struct Object: Hashable, Sendable {
    /// The object's position in the offset table, from 0.
    public let index: Int
  }

  /// What an object's marker says that it is.
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
    /// Text, in ASCII or UTF-16.
    case string
    /// A reference inside a keyed archive.
    case uid
    /// A list of objects.
    case array
    /// Objects by key.
    case dictionary
  }

  /// The number of objects of the file.
  public let objectCount: Int
  /// The object that the file stands for.
  public let top: Object
  /// How deep arrays and dictionaries may lie in each other where a value is made of an object; at most, and by
  /// default, ``PropertyList/maximumDepth``.
  public var maximumDepth = PropertyList.maximumDepth {
    didSet { maximumDepth = min(maximumDepth, PropertyList.maximumDepth) }
  }

  /// The file's size: what a list that is walked may be measured by.
  public var byteCount: Int { bytes.count }

  let bytes: UnsafeRawBufferPointer
  /// What of the bytes was not read from the file.
  private let gap: Range<Int>
  private let offsetSize: Int
  private let referenceSize: Int
  private let tableOffset: Int

  static let headerSize = 8
  /// The last bytes of a file, which tell where everything else is.
  public static let trailerSize = 32

  /// How many bytes of a file the table of its objects takes with the trailer, by its trailer alone; all of them where
  /// it cannot be.
  public static func tableSize(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count >= trailerSize else { return bytes.count }
    return bytes.count - Int(min(unsigned(bytes, at: bytes.count - 8, size: 8), UInt64(bytes.count)))
  }

  /// Checks header, trailer and the size of the offset table.
  ///
  /// - Parameters:
  ///   - bytes: The whole file. They must outlive the reader.
  ///   - gap: The bytes that were not read from the file. An object that is there, in whole or in part, is refused with
  ///     `.missingObject`.
  /// - Throws: `.foreignFormat` if the bytes are not a binary property list at all, `.unsupportedVersion` for another
  ///   version than `00`, `.malformed` if the trailer contradicts the file's size.
  public init(_ bytes: UnsafeRawBufferPointer, gap: Range<Int> = 0..<0) throws(PersistentStoreError) {
    guard bytes.count >= 6, bytes[0..<6].elementsEqual("bplist".utf8) else {
      throw PersistentStoreError(.foreignFormat, "not a binary property list", at: StoreLocation(offset: 0))
    }
    guard bytes.count >= Self.headerSize + Self.trailerSize else {
      throw malformed("a binary property list of \(bytes.count) bytes is cut short", bytes.count)
    }
    guard bytes[6] == 0x30, bytes[7] == 0x30 else {
      throw PersistentStoreError(
        .unsupportedVersion, "binary property lists of version 00 are read, this is another",
        at: StoreLocation(offset: 6))
    }
    let trailer = bytes.count - Self.trailerSize
    let offsetSize = Int(bytes[trailer + 6])
    let referenceSize = Int(bytes[trailer + 7])
    guard 1...8 ~= offsetSize else { throw malformed("offsets cannot take \(offsetSize) bytes", trailer + 6) }
    guard 1...8 ~= referenceSize else { throw malformed("references cannot take \(referenceSize) bytes", trailer + 7) }
    let count = Self.unsigned(bytes, at: trailer + 8, size: 8)
    let top = Self.unsigned(bytes, at: trailer + 16, size: 8)
    let table = Self.unsigned(bytes, at: trailer + 24, size: 8)
    guard table >= UInt64(Self.headerSize), table <= UInt64(trailer) else {
      throw malformed("the offset table is said to start at byte \(table), outside the file", trailer + 24)
    }
    // Division, not multiplication: the count may be anything up to 2^64.
    let space = UInt64(trailer) - table
    guard count > 0, space % UInt64(offsetSize) == 0, count == space / UInt64(offsetSize) else {
      throw malformed(
        "the offset table has \(space) bytes, not \(offsetSize) for each of \(count) objects", trailer + 8)
    }
    guard top < count else { throw malformed("the top object is \(top) of \(count)", trailer + 16) }
    self.bytes = bytes
    self.gap = gap
    self.offsetSize = offsetSize
    self.referenceSize = referenceSize
    self.tableOffset = Int(table)
    self.objectCount = Int(count)
    self.top = Object(index: Int(top))
  }
}

extension BinaryPropertyListReader {
  /// An object by its number, in the order of the file's table; nil beyond ``objectCount``.
  public func object(at index: Int) -> Object? { index >= 0 && index < objectCount ? Object(index: index) : nil }

  /// Where the object's marker lies in the file, for messages.
  public func offset(of object: Object) throws(PersistentStoreError) -> Int {
    guard object.index >= 0, object.index < objectCount else {
      throw PersistentStoreError(.missingObject, "object \(object.index) of \(objectCount)")
    }
    let place = tableOffset + object.index * offsetSize
    try checkRead(place..<(place + offsetSize))
    let offset = Self.unsigned(bytes, at: place, size: offsetSize)
    guard offset >= UInt64(Self.headerSize), offset < UInt64(tableOffset) else {
      throw malformed("object \(object.index) is said to lie at byte \(offset), outside the objects", place)
    }
    try checkRead(Int(offset)..<Int(offset) + 1)
    return Int(offset)
  }

  /// The object's kind.
  ///
  /// - Throws: `.malformed` for markers that no property list has; `.notSupported` for null and sets.
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
      throw PersistentStoreError(.notSupported, "a null has no value here", at: StoreLocation(offset: offset))
    case 0xB0...0xCF:
      throw PersistentStoreError(.notSupported, "a set has no value here", at: StoreLocation(offset: offset))
    default:
      throw malformed("0x\(String(marker, radix: 16)) marks no object", offset)
    }
  }

  /// A boolean's value.
  public func boolean(of object: Object) throws(PersistentStoreError) -> Bool {
    let offset = try expect(.boolean, object)
    return bytes[offset] == 0x09
  }

  /// An integer's value: 1, 2 and 4 bytes are unsigned, 8 and 16 signed.
  public func integer(of object: Object) throws(PersistentStoreError) -> Int128 {
    let offset = try expect(.integer, object)
    let size = 1 << Int(bytes[offset] & 0x0F)
    let start = try payload(offset + 1, count: size, unit: 1, of: offset).lowerBound
    switch size {
    case 16:
      let high = Self.unsigned(bytes, at: start, size: 8)
      let low = Self.unsigned(bytes, at: start + 8, size: 8)
      let value = Int128(truncatingIfNeeded: high) << 64 | Int128(low)
      // What could be read and not written again would be lost at the next save.
      guard value >= Int128(Int64.min), value <= Int128(UInt64.max) else {
        throw PersistentStoreError(
          .invalidValue, "\(value) is beyond the integers of a property list", at: StoreLocation(offset: offset))
      }
      return value
    case 8: return Int128(Int64(bitPattern: Self.unsigned(bytes, at: start, size: 8)))
    default: return Int128(Self.unsigned(bytes, at: start, size: size))
    }
  }

  /// A real's value; four-byte ones are widened.
  public func real(of object: Object) throws(PersistentStoreError) -> Double {
    let offset = try expect(.real, object)
    let size = 1 << Int(bytes[offset] & 0x0F)
    let start = try payload(offset + 1, count: size, unit: 1, of: offset).lowerBound
    let bits = Self.unsigned(bytes, at: start, size: size)
    return size == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
  }

  /// A date's value.
  ///
  /// - Throws: `.malformed` also for one that is infinite or not a number: such a date stops the process when
  ///   described.
  public func date(of object: Object) throws(PersistentStoreError) -> Date {
    let offset = try expect(.date, object)
    let start = try payload(offset + 1, count: 8, unit: 1, of: offset).lowerBound
    let interval = Double(bitPattern: Self.unsigned(bytes, at: start, size: 8))
    guard interval.isFinite else { throw malformed("a date is \(interval)", offset) }
    return Date(timeIntervalSinceReferenceDate: interval)
  }

  /// A keyed archive's reference.
  public func uid(of object: Object) throws(PersistentStoreError) -> UInt64 {
    let offset = try expect(.uid, object)
    let size = Int(bytes[offset] & 0x0F) + 1
    guard size <= 8 else { throw malformed("a UID of \(size) bytes", offset) }
    let start = try payload(offset + 1, count: size, unit: 1, of: offset).lowerBound
    return Self.unsigned(bytes, at: start, size: size)
  }

  /// Where a data object's bytes lie in the file.
  public func dataRange(of object: Object) throws(PersistentStoreError) -> Range<Int> {
    let offset = try expect(.data, object)
    return try counted(offset, unit: 1)
  }

  /// A data object's bytes, in place: they live as long as the bytes that the reader was made with.
  public func dataBytes(of object: Object) throws(PersistentStoreError) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[try dataRange(of: object)])
  }

  /// A string's value.
  ///
  /// - Throws: `.malformed` for a byte above 0x7F in an ASCII string and for an unpaired surrogate, at its byte.
  public func string(of object: Object) throws(PersistentStoreError) -> String {
    let offset = try expect(.string, object)
    let isWide = bytes[offset] >= 0x60
    let range = try counted(offset, unit: isWide ? 2 : 1)
    if isWide { return try wideString(range) }
    for place in range where bytes[place] > 0x7F {
      throw malformed("an ASCII string holds 0x\(String(bytes[place], radix: 16))", place)
    }
    return String(decoding: bytes[range], as: UTF8.self)
  }

  private func wideString(_ range: Range<Int>) throws(PersistentStoreError) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(range.count + range.count / 2)
    var place = range.lowerBound
    while place < range.upperBound {
      var scalar = UInt32(bytes[place]) << 8 | UInt32(bytes[place + 1])
      place += 2
      if scalar & 0xF800 == 0xD800 {
        guard scalar < 0xDC00, place < range.upperBound, bytes[place] & 0xFC == 0xDC else {
          throw malformed("a string holds half a surrogate pair, 0x\(String(scalar, radix: 16))", place - 2)
        }
        let low = UInt32(bytes[place]) << 8 | UInt32(bytes[place + 1])
        place += 2
        scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
      }
      switch scalar {
      case 0..<0x80: text.append(UInt8(scalar))
      case 0x80..<0x800:
        text.append(UInt8(0xC0 | scalar >> 6))
        text.append(UInt8(0x80 | scalar & 0x3F))
      case 0x800..<0x10000:
        text.append(UInt8(0xE0 | scalar >> 12))
        text.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        text.append(UInt8(0x80 | scalar & 0x3F))
      default:
        text.append(UInt8(0xF0 | scalar >> 18))
        text.append(UInt8(0x80 | scalar >> 12 & 0x3F))
        text.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        text.append(UInt8(0x80 | scalar & 0x3F))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension BinaryPropertyListReader {
  /// The number of elements of an array or of entries of a dictionary.
  public func count(of container: Object) throws(PersistentStoreError) -> Int {
    try references(of: container).count
  }

  /// The element at a position of an array.
  public func element(_ position: Int, of array: Object) throws(PersistentStoreError) -> Object {
    let list = try references(of: array)
    guard !list.isDictionary else { throw mismatch(.array, .dictionary, at: list.offset) }
    return try reference(position, list)
  }

  /// The key and the value at a position of a dictionary, in the file's order.
  public func entry(_ position: Int, of dictionary: Object) throws(PersistentStoreError) -> (key: Object, value: Object)
  {
    let list = try references(of: dictionary)
    guard list.isDictionary else { throw mismatch(.dictionary, .array, at: list.offset) }
    let key = try reference(position, list)
    // `position` is below `count` here, and twice the count fits the file.
    return (key, try object(at: list.start + (list.count + position) * referenceSize))
  }

  /// The value for a key, told by its UTF-8 bytes, or nil. Looks at each key: ask once and keep the answer.
  ///
  /// - Throws: `.malformed` for a key that is not a string, and for one that comes twice.
  public func value(for name: String, in dictionary: Object) throws(PersistentStoreError) -> Object? {
    var found: Object?
    for position in 0..<(try count(of: dictionary)) {
      let (key, value) = try entry(position, of: dictionary)
      guard try isString(key, name) else { continue }
      guard found == nil else { throw malformed("the key '\(name)' comes twice", try offset(of: dictionary)) }
      found = value
    }
    return found
  }

  /// Whether a string is this one. Told by their lengths first: a file may name one long string as a million keys.
  public func isString(_ object: Object, _ text: String) throws(PersistentStoreError) -> Bool {
    let offset = try expect(.string, object)
    let isWide = bytes[offset] >= 0x60
    let range = try counted(offset, unit: isWide ? 2 : 1)
    guard isWide ? range.count == text.utf16.count * 2 : range.count == text.utf8.count else { return false }
    return try string(of: object).utf8.elementsEqual(text.utf8)
  }

  struct References {
    var offset: Int
    var start: Int
    var count: Int
    var isDictionary: Bool
  }

  /// Checked: all references of the container lie within the objects.
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
        .missingObject, "element \(position) of \(list.count)", at: StoreLocation(offset: list.offset))
    }
    return try object(at: list.start + position * referenceSize)
  }

  /// The value's reference of an entry whose position was checked.
  func valueReference(_ position: Int, _ list: References) throws(PersistentStoreError) -> Object {
    try object(at: list.start + (list.count + position) * referenceSize)
  }

  private func object(at place: Int) throws(PersistentStoreError) -> Object {
    let index = Self.unsigned(bytes, at: place, size: referenceSize)
    guard index < UInt64(objectCount) else {
      throw malformed("a reference to object \(index) of \(objectCount)", place)
    }
    return Object(index: Int(index))
  }

  /// How many bytes of the file the object takes, marker included: what decoding it costs.
  func size(of object: Object) throws(PersistentStoreError) -> Int {
    let offset = try offset(of: object)
    switch try kind(at: offset) {
    case .data: return try counted(offset, unit: 1).upperBound - offset
    case .string: return try counted(offset, unit: bytes[offset] >= 0x60 ? 2 : 1).upperBound - offset
    case .array: return try counted(offset, unit: referenceSize).upperBound - offset
    case .dictionary: return try counted(offset, unit: referenceSize * 2).upperBound - offset
    default: return 9
    }
  }
}

extension BinaryPropertyListReader {
  private func expect(_ kind: Kind, _ object: Object) throws(PersistentStoreError) -> Int {
    let offset = try offset(of: object)
    let actual = try self.kind(at: offset)
    guard actual == kind else { throw mismatch(kind, actual, at: offset) }
    return offset
  }

  private func mismatch(_ expected: Kind, _ actual: Kind, at offset: Int) -> PersistentStoreError {
    malformed("\(expected) expected, \(actual) found", offset)
  }

  /// The range of the payload of an object that states a count: the low nibble, or after 15 an integer object.
  private func counted(_ offset: Int, unit: Int) throws(PersistentStoreError) -> Range<Int> {
    let nibble = Int(bytes[offset] & 0x0F)
    if nibble < 15 { return try payload(offset + 1, count: nibble, unit: unit, of: offset) }
    let place = offset + 1
    try checkRead(place..<place + 1)
    guard place < tableOffset, bytes[place] & 0xF0 == 0x10, bytes[place] <= 0x13 else {
      throw malformed("an object's count is not an integer", place)
    }
    let size = 1 << Int(bytes[place] & 0x0F)
    _ = try payload(place + 1, count: size, unit: 1, of: offset)
    let count = Self.unsigned(bytes, at: place + 1, size: size)
    guard count <= UInt64(tableOffset) else {
      throw malformed("a count of \(count) in a file of \(bytes.count) bytes", place)
    }
    return try payload(place + 1 + size, count: Int(count), unit: unit, of: offset)
  }

  /// `count` is at most the file's size and `unit` at most 16, so that nothing overflows.
  private func payload(_ start: Int, count: Int, unit: Int, of offset: Int) throws(PersistentStoreError) -> Range<Int> {
    guard start <= tableOffset, count <= (tableOffset - start) / unit else {
      throw malformed("the object at byte \(offset) runs past the objects' end", offset)
    }
    let range = start..<(start + count * unit)
    try checkRead(range)
    return range
  }

  /// What was not read is zero, and would be taken for what it is not.
  private func checkRead(_ range: Range<Int>) throws(PersistentStoreError) {
    guard !range.overlaps(gap) else {
      throw PersistentStoreError(.missingObject, "the object was not read", at: StoreLocation(offset: range.lowerBound))
    }
  }

  /// A big-endian number of 1 to 8 bytes that the caller knows to lie within.
  private static func unsigned(_ bytes: UnsafeRawBufferPointer, at place: Int, size: Int) -> UInt64 {
    if size == 8 { return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
    var value: UInt64 = 0
    for index in place..<(place + size) { value = value << 8 | UInt64(bytes[index]) }
    return value
  }
}

private func malformed(_ message: String, _ offset: Int) -> PersistentStoreError {
  PersistentStoreError(.malformed, message, at: StoreLocation(offset: offset))
}
