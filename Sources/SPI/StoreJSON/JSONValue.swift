package import FoundationEssentials
package import StoreCodecs

/// JSON with keys in the given order, so that equal results are equal bytes.
package indirect enum JSONValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int)
  case number(Double)
  /// A number by its text, which is JSON as it is: of any precision.
  case exactNumber(String)
  case string(String)
  case array([JSONValue])
  case object([(String, JSONValue)])

  /// Indented text, with each member on a separate line.
  package var text: String { collected { write(to: $0, indent: 0) } }

  /// Text on one line.
  package var line: String { collected { write(to: $0, indent: nil) } }

  private func collected(_ body: (ByteWriter) -> Void) -> String {
    let writer = ByteWriter()
    body(writer)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  /// - Parameter indent: The depth of the value; nil for one line.
  package func write(to writer: ByteWriter, indent: Int?) {
    switch self {
    case .null: writer.append("null")
    case .boolean(let flag): writer.append(flag ? "true" as StaticString : "false")
    case .integer(let number): writer.append(integer: Int64(number))
    // JSON cannot represent numbers that are not finite: write them as strings.
    case .number(let number):
      number.isFinite ? writer.append(number.description) : Self.quote(number.description, to: writer)
    case .exactNumber(let text): writer.append(text)
    case .string(let string): Self.quote(string, to: writer)
    case .array(let values):
      writer.append(byte: UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        Self.begin(index, to: writer, indent: indent)
        value.write(to: writer, indent: indent.map { $0 + 1 })
      }
      Self.end(values.isEmpty, to: writer, indent: indent)
      writer.append(byte: UInt8(ascii: "]"))
    case .object(let members):
      writer.append(byte: UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        Self.begin(index, to: writer, indent: indent)
        Self.quote(member.0, to: writer)
        writer.append(indent == nil ? ":" as StaticString : ": ")
        member.1.write(to: writer, indent: indent.map { $0 + 1 })
      }
      Self.end(members.isEmpty, to: writer, indent: indent)
      writer.append(byte: UInt8(ascii: "}"))
    }
  }

  /// Writes what precedes a member of an array or an object.
  package static func begin(_ index: Int, to writer: ByteWriter, indent: Int?) {
    if index > 0 { writer.append(byte: UInt8(ascii: ",")) }
    guard let indent else { return }
    writer.append(byte: UInt8(ascii: "\n"))
    writer.append(repeating: UInt8(ascii: " "), count: 2 * (indent + 1))
  }

  /// Writes what follows the last member.
  package static func end(_ isEmpty: Bool, to writer: ByteWriter, indent: Int?) {
    guard let indent, !isEmpty else { return }
    writer.append(byte: UInt8(ascii: "\n"))
    writer.append(repeating: UInt8(ascii: " "), count: 2 * indent)
  }

  /// A date as a string: ISO 8601, or `@` and the seconds since 2001 if ISO 8601 would not represent it to the bit.
  package static func date(_ date: Date) -> JSONValue {
    let writer = ByteWriter()
    writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    return .string(String(decoding: writer.takeBytes(), as: UTF8.self))
  }

  /// Writes the text in quotes, escaping what JSON requires, other line separators, and terminal control characters.
  package static func quote(_ string: String, to writer: ByteWriter) {
    var string = string
    string.withUTF8 { quote($0, to: writer) }
  }

  /// As above, for the UTF-8 of a text.
  package static func quote(_ bytes: UnsafeBufferPointer<UInt8>, to writer: ByteWriter) {
    writer.append(byte: UInt8(ascii: "\""))
    var start = 0
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      let isQuoted = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
      guard isQuoted || TerminalText.mayBeginEscape(byte) else {
        place += 1
        continue
      }
      let (scalar, length) = TerminalText.scalar(bytes, at: place)
      guard
        isQuoted
          || scalar.map({
            TerminalText.isUnsafe($0) || $0 == "\n" || $0 == "\t" || $0 == "\u{2028}" || $0 == "\u{2029}"
          }) ?? false
      else {
        place += length
        continue
      }
      writer.append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start..<place]))
      switch byte {
      case UInt8(ascii: "\""): writer.append("\\\"")
      case UInt8(ascii: "\\"): writer.append("\\\\")
      case UInt8(ascii: "\n"): writer.append("\\n")
      case UInt8(ascii: "\r"): writer.append("\\r")
      case UInt8(ascii: "\t"): writer.append("\\t")
      default:
        writer.append("\\u")
        writer.append(hexadecimal: UInt64(scalar?.value ?? 0), digits: 4)
      }
      place += length
      start = place
    }
    writer.append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start...]))
    writer.append(byte: UInt8(ascii: "\""))
  }

  /// The value with each string in it changed, except keys.
  package func mapStrings(_ change: (String) -> String) -> JSONValue {
    switch self {
    case .string(let text): .string(change(text))
    case .array(let values): .array(values.map { $0.mapStrings(change) })
    case .object(let members): .object(members.map { ($0.0, $0.1.mapStrings(change)) })
    default: self
    }
  }
}
