import AtomicStoreSPI
package import FoundationEssentials
import StoreCodecs
import StoreJSON

/// What bytes contain, as far as they are recognized, with everything recognized in it.
package struct DecodedContent {
  /// What may still be made, in all levels together.
  private var limits = InnerLimits()
  /// How deep bytes are decoded in others.
  private static let maximumDepth = 8

  /// Whether bytes are of the case `data` rather than texts. Then every `data` in a result is a member of a table
  /// that the decoder made, whatever keys decoded dictionaries have.
  private let marksBytes: Bool

  private init(marksBytes: Bool) { self.marksBytes = marksBytes }

  /// The kind and the size of bytes, their content if it can be read, and the bytes.
  package static func value(of data: Data) -> InnerValue { counted(data).value }

  /// The same, and how many steps it took.
  static func counted(_ data: Data) -> (value: InnerValue, steps: Int) {
    let (members, steps) = members(of: data)
    return (.table(members + [("base64", .text(data.base64EncodedString()))]), steps)
  }

  /// The same as text on a line, without the bytes.
  package static func text(of data: Data) -> String { InnerValue.table(members(of: data).members).json.line }

  /// The same without the bytes, and how many steps it took.
  ///
  /// - Parameter marksBytes: Whether all bytes within the data are tables whose last member is a `data`, after their
  ///   kind, size and content if they are recognized. The JSON text of the result is for readers without this.
  package static func members(
    of data: Data, marksBytes: Bool = false
  ) -> (members: [(key: String, value: InnerValue)], steps: Int) {
    var decoder = DecodedContent(marksBytes: marksBytes)
    let members = decoder.members([UInt8](data), 0)
    return (members, decoder.limits.steps)
  }

  private mutating func members(_ bytes: [UInt8], _ depth: Int) -> [(key: String, value: InnerValue)] {
    let type = MediaType(of: bytes)
    var members: [(key: String, value: InnerValue)] = [
      ("kind", .text(type.name)), ("size", .integer(Int128(bytes.count))),
    ]
    guard depth < Self.maximumDepth else { return members }
    do throws(PersistentStoreError) {
      if let content = try content(bytes, type, depth) { members.append(("content", content)) }
    } catch {
      members.append(("error", .text(error.message)))
    }
    return members
  }

  private mutating func content(
    _ bytes: [UInt8], _ type: MediaType, _ depth: Int
  ) throws(PersistentStoreError) -> InnerValue? {
    try limits.take(bytes: 0)
    switch type {
    case .gzip, .zlib:
      let inner = try RawDeflate.inflate(bytes, hasHeader: true, maximumCount: limits.bytesLeft)
      try limits.take(bytes: inner.count)
      return .table(compressed(inner, depth + 1))
    case .archive:
      let value = try InnerValue.archive(bytes, &limits)
      return within(value, depth + 1)
    case .propertyList, .binaryPropertyList:
      let value = try InnerValue.propertyList(bytes, &limits)
      return within(value, depth + 1)
    case .text, .json:
      try limits.take(bytes: bytes.count)
      return .text(String(decoding: bytes, as: UTF8.self))
    default: return nil
    }
  }

  /// What was compressed. Messages have no signature: only here they are looked for.
  private mutating func compressed(_ bytes: [UInt8], _ depth: Int) -> [(key: String, value: InnerValue)] {
    let members = members(bytes, depth)
    guard MediaType(of: bytes) == .bytes, !bytes.isEmpty else { return members }
    guard let message = try? ProtobufMessage.value(bytes[...], &limits) else {
      return members + [base64(Data(bytes))]
    }
    return [
      ("kind", .text("application/x-protobuf")), ("size", .integer(Int128(bytes.count))),
      ("content", within(message, depth + 1)),
    ]
  }

  /// The member of a table that has the bytes themselves.
  private func base64(_ data: Data) -> (key: String, value: InnerValue) {
    ("base64", marksBytes ? .data(data) : .text(data.base64EncodedString()))
  }

  /// A value with the bytes in it decoded.
  private mutating func within(_ value: InnerValue, _ depth: Int) -> InnerValue {
    switch value {
    case .data(let data):
      let bytes = [UInt8](data)
      guard depth < Self.maximumDepth, MediaType(of: bytes) != .bytes else {
        return marksBytes ? .table([base64(data)]) : value
      }
      return .table(members(bytes, depth) + [base64(data)])
    case .list(let list): return .list(list.map { within($0, depth) })
    case .table(let entries): return .table(entries.map { ($0.key, within($0.value, depth)) })
    default: return value
    }
  }
}
