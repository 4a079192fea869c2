package import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension GraphComparison {
  /// A value as text that is different for different values: strings in quotes with escaped scalars, bytes in
  /// hexadecimal.
  package static func text(_ value: StoredValue) -> String {
    switch value {
    case .null: "(none)"
    case .float(let number): number.isNaN ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description
    case .double(let number): Self.number(number)
    case .string(let string): quoted(string)
    case .data(let data):
      "<" + String(hexadecimal: data.prefix(32)) + (data.count > 32 ? "… \(data.count) bytes>" : ">")
    case .date(let date): Self.text(date)
    case .uri(let string): "uri " + quoted(string)
    case .toMany(let references): "[" + references.map(\.description).joined(separator: ", ") + "]"
    case .boolean, .integer, .decimal, .uuid, .toOne: value.displayText
    }
  }

  /// A property-list value on one line, as differences show it. Long data is abbreviated.
  package static func text(_ value: PropertyListValue) -> String {
    switch value {
    case .string(let string): quoted(string)
    case .integer(let number): String(number)
    case .real(let number): Self.number(number)
    case .boolean(let flag): flag ? "true" : "false"
    case .date(let date): Self.text(date)
    case .data(let data):
      "<" + String(hexadecimal: data.prefix(32)) + (data.count > 32 ? "… \(data.count) bytes>" : ">")
    case .array(let values): "[" + values.map { text($0) }.joined(separator: ", ") + "]"
    case .dictionary(let values):
      "{" + values.map { quoted($0.key) + ": " + text($0.value) }.joined(separator: ", ") + "}"
    case .uid(let number): "uid(\(number))"
    }
  }

  /// The text that stores and JSON have: ISO 8601 if that represents the date to the bit, otherwise `@` and the seconds
  /// since 2001.
  static func text(_ date: Date) -> String { DateText.exactText(date) }

  /// The shortest exact text; for not-a-number, the bits.
  static func number(_ number: Double) -> String {
    number.isNaN ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description
  }

  /// The string in quotes, with everything but printable ASCII escaped if two strings could look alike.
  package static func quoted(_ string: String) -> String {
    var result = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        // Combining marks, control characters and what is not printable: by number.
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .format, .nonspacingMark, .enclosingMark, .spacingMark, .unassigned, .privateUse,
          .lineSeparator, .paragraphSeparator, .surrogate:
          result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }

  /// As ``text(_:)-(StoredValue)``, with all bytes of data, for dumps.
  package static func fullText(_ value: StoredValue) -> String {
    switch value {
    case .data(let data): "<" + String(hexadecimal: data) + ">"
    default: text(value)
    }
  }

  /// As ``text(_:)-(PropertyListValue)``, with all bytes of data.
  package static func fullText(_ value: PropertyListValue) -> String {
    switch value {
    case .data(let data): fullText(StoredValue.data(data))
    case .array(let values): "[" + values.map { fullText($0) }.joined(separator: ", ") + "]"
    case .dictionary(let values):
      "{" + values.map { quoted($0.key) + ": " + fullText($0.value) }.joined(separator: ", ") + "}"
    default: text(value)
    }
  }

  /// A metadata value on one line, abbreviated if it is long.
  package static func summary(_ value: PropertyListValue) -> String {
    // The hashes of hundreds of entities have a long text, of which only the beginning is shown.
    var room = 4096
    var text = beginning(of: value, &room)
    // The last character of a beginning may be part of one that goes on.
    if room < 0, text.count <= 201 { text = Self.text(value) }
    return text.count > 200 ? text.prefix(200) + "…" : text
  }

  /// The text of a value, or its beginning if that takes more than that many bytes: then `room` is negative afterwards.
  private static func beginning(of value: PropertyListValue, _ room: inout Int) -> String {
    switch value {
    case .array(let values):
      var result = "["
      for (index, value) in values.enumerated() {
        if index > 0 { result += ", " }
        result += beginning(of: value, &room)
        guard room >= 0 else { return result }
      }
      return result + "]"
    case .dictionary(let values):
      var result = "{"
      for (index, entry) in values.enumerated() {
        if index > 0 { result += ", " }
        let key = quoted(entry.key)
        room -= key.utf8.count
        result += key + ": " + beginning(of: entry.value, &room)
        guard room >= 0 else { return result }
      }
      return result + "}"
    default:
      let text = Self.text(value)
      room -= text.utf8.count
      return text
    }
  }

  /// A metadata value for use in a shell: a string unchanged, everything else as ``text(_:)-(PropertyListValue)``.
  package static func plain(_ value: PropertyListValue) -> String {
    if case .string(let string) = value { string } else { text(value) }
  }
}
