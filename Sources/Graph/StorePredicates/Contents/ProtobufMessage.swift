import AtomicStoreSPI
import FoundationEssentials

/// A message of Protocol Buffers, read without its schema: fields by number.
///
/// Only the wire format is known. A varint is a signed integer of 64 bits; fixed values of 64 and 32 bits are numbers
/// with a fraction. Bytes are a text if they are UTF-8 without control characters, otherwise a message if they can be
/// read as one, and otherwise bytes.
struct ProtobufMessage {
  enum Value {
    case varint(UInt64)
    case fixed64(UInt64)
    case fixed32(UInt32)
    case bytes(ArraySlice<UInt8>)
  }
  private(set) var fields: [(number: UInt64, value: Value)] = []

  /// Reads the fields of a message, but not those of messages in it.
  ///
  /// - Throws: `.malformed` with the offset in the bytes; `.limitExceeded` for too many fields.
  init(_ bytes: ArraySlice<UInt8>) throws(PersistentStoreError) {
    var place = bytes.startIndex
    func failure(_ message: String) -> PersistentStoreError {
      PersistentStoreError(.malformed, message, at: StoreLocation(offset: place))
    }
    func varint() throws(PersistentStoreError) -> UInt64 {
      var result: UInt64 = 0
      for shift in stride(from: 0, to: 70, by: 7) {
        guard place < bytes.endIndex else { throw failure("finds the end of the bytes within a message") }
        let byte = bytes[place]
        // The tenth byte has the last bit only.
        guard shift < 63 || byte <= 1 else { break }
        place += 1
        result |= UInt64(byte & 0x7F) << UInt64(shift)
        if byte < 0x80 { return result }
      }
      throw failure("finds an integer of more than 64 bits, which a message does not have")
    }
    func take(_ count: UInt64) throws(PersistentStoreError) -> ArraySlice<UInt8> {
      guard count <= UInt64(bytes.endIndex - place) else {
        throw failure("finds the end of the bytes within a message")
      }
      defer { place += Int(count) }
      return bytes[place..<place + Int(count)]
    }
    while place < bytes.endIndex {
      let key = try varint()
      let number = key >> 3
      guard number > 0, number < 1 << 29 else { throw failure("finds no field of a message") }
      switch key & 7 {
      case 0: fields.append((number, .varint(try varint())))
      case 1: fields.append((number, .fixed64(Self.integer(try take(8)))))
      case 2: fields.append((number, .bytes(try take(try varint()))))
      case 5: fields.append((number, .fixed32(UInt32(truncatingIfNeeded: Self.integer(try take(4))))))
      default: throw failure("finds no field of a message")
      }
      guard fields.count <= InnerValue.maximumCount else {
        throw PersistentStoreError(.limitExceeded, "finds more than \(InnerValue.maximumCount) values, the limit")
      }
    }
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  // MARK: Values

  /// The whole message as a table.
  static func value(
    _ bytes: ArraySlice<UInt8>, _ limits: inout InnerLimits
  ) throws(PersistentStoreError) -> InnerValue {
    try table(try ProtobufMessage(bytes), &limits)
  }

  private static func table(
    _ message: ProtobufMessage, _ limits: inout InnerLimits
  ) throws(PersistentStoreError) -> InnerValue {
    try limits.within { limits throws(PersistentStoreError) in
      var members: [(key: String, value: InnerValue)] = []
      // By number, so that a field that is repeated is a list.
      for (_, fields) in message.grouped {
        var values: [InnerValue] = []
        for field in fields { values.append(try value(field.value, &limits)) }
        members.append(("\(fields[0].number)", values.count == 1 ? values[0] : .list(values)))
      }
      return .table(members)
    }
  }

  private var grouped: [(key: UInt64, value: [(number: UInt64, value: Value)])] {
    Dictionary(grouping: fields, by: \.number).sorted { $0.key < $1.key }
  }

  private static func value(_ value: Value, _ limits: inout InnerLimits) throws(PersistentStoreError) -> InnerValue {
    guard case .bytes(let bytes) = value, text(bytes) == nil, let message = try? ProtobufMessage(bytes) else {
      return try limits.within { _ throws(PersistentStoreError) in leaf(value) }
    }
    return try table(message, &limits)
  }

  /// A value that is not taken as a message.
  private static func leaf(_ value: Value) -> InnerValue {
    switch value {
    case .varint(let number): .integer(Int128(Int64(bitPattern: number)))
    case .fixed64(let bits): .real(Double(bitPattern: bits))
    case .fixed32(let bits): .real(Double(Float(bitPattern: bits)))
    case .bytes(let bytes): text(bytes).map { .text($0) } ?? .data(Data(bytes))
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let isText = text.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t" || $0 == "\r"
    }
    return isText ? text : nil
  }

  // MARK: Paths

  /// The values of a field that is reached by numbers of fields, such as `2.3.2`: several if a field is repeated.
  ///
  /// - Throws: As ``init(_:)``; also `.malformed` if the path continues after what is not a message, and
  ///   `.invalidOption` for a path of anything but numbers.
  static func values(at path: String, in bytes: ArraySlice<UInt8>) throws(PersistentStoreError) -> [InnerValue] {
    let steps = path.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0) }
    guard !steps.contains(nil), steps.count <= InnerValue.maximumDepth else {
      throw PersistentStoreError(.invalidOption, "requires a path of numbers such as '2.3.2', not '\(path)'")
    }
    var found: [Value] = [.bytes(bytes)]
    for step in steps {
      var next: [Value] = []
      for value in found {
        guard case .bytes(let bytes) = value else {
          throw PersistentStoreError(.malformed, "finds a number where the path '\(path)' needs a message")
        }
        next += try ProtobufMessage(bytes).fields.filter { $0.number == step }.map(\.value)
      }
      found = next
    }
    return found.map(leaf)
  }
}
