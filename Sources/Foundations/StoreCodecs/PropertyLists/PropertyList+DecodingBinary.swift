import FoundationEssentials
public import StorePrimitives

extension PropertyList {
  /// Whether the bytes start like a binary property list.
  package static func isBinary(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 6 && bytes[0..<6].elementsEqual("bplist".utf8)
  }

  /// Decodes a binary property list.
  ///
  /// Each object is decoded once, even if it is referenced several times, so that the time is linear in the file's
  /// size.
  ///
  /// - Parameters:
  ///   - bytes: The whole property list.
  ///   - maximumDepth: The maximum nesting depth of arrays and dictionaries: at most ``PropertyList/maximumDepth``. A
  ///     format has it from `StoreLimits.depth`.
  /// - Throws: `.malformed` with the byte offset, also for a container that contains itself, overlapping objects, and
  ///   keys that are not strings or occur twice; `.limitExceeded` for nesting deeper than `maximumDepth` and for a
  ///   list that expands to more values than 100,000 or one per byte; `.notSupported` for sets and nulls;
  ///   `.foreignFormat` and `.unsupportedVersion` as ``BinaryPropertyListReader/init(_:gap:)``.
  public static func decodeBinary(
    _ bytes: UnsafeRawBufferPointer, maximumDepth: Int = PropertyList.maximumDepth
  ) throws(PersistentStoreError) -> PropertyListValue {
    var reader = try BinaryPropertyListReader(bytes)
    reader.maximumDepth = maximumDepth
    return try reader.materialize(reader.top)
  }

  /// Decodes a binary property list, with the same limit and errors.
  public static func decodeBinary(
    _ bytes: [UInt8], maximumDepth: Int = PropertyList.maximumDepth
  ) throws(PersistentStoreError) -> PropertyListValue {
    let result: Result<PropertyListValue, PersistentStoreError> = bytes.withUnsafeBytes { raw in
      do throws(PersistentStoreError) {
        return .success(try decodeBinary(raw, maximumDepth: maximumDepth))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

extension BinaryPropertyListReader {
  /// Decodes an object with everything that it contains, within the same limits as a whole list.
  public func materialize(_ object: Object) throws(PersistentStoreError) -> PropertyListValue {
    var decoder = BinaryPropertyListDecoder(self)
    return try decoder.value(object, depth: 0).value
  }
}

/// Decodes each object once and keeps it: lists that share objects cost what the file costs, not what they expand to.
private struct BinaryPropertyListDecoder {
  struct Decoded {
    var value: PropertyListValue
    /// The number of values including everything it contains, counted for each occurrence.
    var unfoldedCount: Int
  }

  let reader: BinaryPropertyListReader
  /// For each object of the file ``untouched``, ``open``, or from ``open`` + 1 on where it is in ``decoded``: a value
  /// takes many times the memory, and most objects may not be part of what is decoded.
  var states: [UInt32]
  var decoded: [Decoded] = []
  /// In real files no byte belongs to two objects. Twice is accepted; a thousand times would exhaust memory.
  var bytesLeft: Int
  let maximumCount: Int

  init(_ reader: BinaryPropertyListReader) {
    self.reader = reader
    states = Array(repeating: Self.untouched, count: reader.objectCount)
    let (fourfold, overflow) = reader.bytes.count.multipliedReportingOverflow(by: 4)
    bytesLeft = overflow ? .max : fourfold + 1024
    // If no container is in two others, each value has a reference of at least a byte.
    maximumCount = max(100_000, reader.bytes.count)
  }

  private static let untouched: UInt32 = 0
  private static let open: UInt32 = 1

  mutating func value(_ object: BinaryPropertyListReader.Object, depth: Int) throws(PersistentStoreError) -> Decoded {
    let state = states[object.index]
    if state > Self.open { return decoded[Int(state - Self.open) - 1] }
    guard state == Self.untouched else {
      throw PersistentStoreError(
        .malformed, "object \(object.index) contains itself", at: StoreLocation(offset: try reader.offset(of: object)))
    }
    guard depth <= reader.maximumDepth else {
      throw PropertyList.tooDeep(reader.maximumDepth, at: StoreLocation(offset: try reader.offset(of: object)))
    }
    bytesLeft -= try reader.size(of: object)
    guard bytesLeft >= 0 else {
      throw PersistentStoreError(
        .malformed, "objects overlap", at: StoreLocation(offset: try reader.offset(of: object)))
    }
    states[object.index] = Self.open
    let found: Decoded
    switch try reader.kind(of: object) {
    case .array: found = try array(object, depth: depth)
    case .dictionary: found = try dictionary(object, depth: depth)
    case let kind: found = Decoded(value: try scalar(object, kind), unfoldedCount: 1)
    }
    guard decoded.count < Int(UInt32.max) - 2 else {
      throw PersistentStoreError(
        .limitExceeded, "more than \(decoded.count) objects", at: StoreLocation(offset: try reader.offset(of: object)))
    }
    decoded.append(found)
    states[object.index] = Self.open + UInt32(truncatingIfNeeded: decoded.count)
    return found
  }

  private func scalar(
    _ object: BinaryPropertyListReader.Object, _ kind: BinaryPropertyListReader.Kind
  ) throws(PersistentStoreError) -> PropertyListValue {
    switch kind {
    case .boolean: .boolean(try reader.boolean(of: object))
    case .integer: .integer(try reader.integer(of: object))
    case .real: .real(try reader.real(of: object))
    case .date: .date(try reader.date(of: object))
    case .uid: .uid(try reader.uid(of: object))
    case .string: .string(try reader.string(of: object))
    case .data: .data(Data(try reader.dataBytes(of: object)))
    case .array, .dictionary:
      throw PersistentStoreError(.internalInconsistency, "a container is not a scalar")
    }
  }

  private mutating func array(
    _ object: BinaryPropertyListReader.Object, depth: Int
  ) throws(PersistentStoreError) -> Decoded {
    let list = try reader.references(of: object)
    var elements: [PropertyListValue] = []
    elements.reserveCapacity(list.count)
    var count = 1
    for position in 0..<list.count {
      let element = try value(try reader.reference(position, list), depth: depth + 1)
      count = try add(count, element.unfoldedCount, at: list.offset)
      elements.append(element.value)
    }
    return Decoded(value: .array(elements), unfoldedCount: count)
  }

  private mutating func dictionary(
    _ object: BinaryPropertyListReader.Object, depth: Int
  ) throws(PersistentStoreError) -> Decoded {
    let list = try reader.references(of: object)
    var entries: [PropertyListDictionary.Element] = []
    entries.reserveCapacity(list.count)
    var count = 1
    for position in 0..<list.count {
      let keyObject = try reader.reference(position, list)
      guard try reader.kind(of: keyObject) == .string,
        case .string(let key) = try value(keyObject, depth: depth + 1).value
      else {
        throw PersistentStoreError(
          .malformed, "a dictionary's key is not a string", at: StoreLocation(offset: try reader.offset(of: keyObject)))
      }
      let element = try value(try reader.valueReference(position, list), depth: depth + 1)
      count = try add(count, element.unfoldedCount + 1, at: list.offset)
      entries.append(.init(key: key, value: element.value))
    }
    var duplicate = ""
    guard let dictionary = PropertyListDictionary(entries: entries, duplicate: &duplicate) else {
      throw PersistentStoreError(
        .malformed, "duplicate key '\(duplicate)'", at: StoreLocation(offset: list.offset))
    }
    return Decoded(value: .dictionary(dictionary), unfoldedCount: count)
  }

  private func add(_ count: Int, _ more: Int, at offset: Int) throws(PersistentStoreError) -> Int {
    let (sum, overflow) = count.addingReportingOverflow(more)
    guard !overflow, sum <= maximumCount else {
      throw PersistentStoreError(
        .limitExceeded, "shared objects expand to more than \(maximumCount) values", at: StoreLocation(offset: offset))
    }
    return sum
  }
}
