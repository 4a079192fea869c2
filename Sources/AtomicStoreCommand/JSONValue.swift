import AtomicStoreKit
import Foundation

/// JSON with its keys in the order they were given, so that equal answers are equal bytes.
indirect enum JSONValue {
  case null
  case boolean(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([(String, JSONValue)])

  /// Indented text with a line break at the end of each member.
  var text: String {
    var result = ""
    write(to: &result, indent: 0)
    return result
  }

  /// All on one line.
  var line: String {
    switch self {
    case .array(let parts): "[" + parts.map(\.line).joined(separator: ",") + "]"
    case .object(let members): "{" + members.map { JSONValue.string($0.0).text + ":" + $0.1.line }.joined(separator: ",") + "}"
    default: text
    }
  }

  private func write(to result: inout String, indent: Int) {
    let inner = String(repeating: "  ", count: indent + 1)
    let outer = String(repeating: "  ", count: indent)
    switch self {
    case .null: result += "null"
    case .boolean(let flag): result += flag ? "true" : "false"
    case .integer(let number): result += String(number)
    // JSON has no word for these: as strings.
    case .number(let number): result += number.isFinite ? number.description : Self.quoted(number.description)
    case .string(let string): result += Self.quoted(string)
    case .array(let values):
      if values.isEmpty { return result += "[]" }
      result += "[\n"
      for (index, value) in values.enumerated() {
        result += inner
        value.write(to: &result, indent: indent + 1)
        result += index + 1 < values.count ? ",\n" : "\n"
      }
      result += outer + "]"
    case .object(let members):
      if members.isEmpty { return result += "{}" }
      result += "{\n"
      for (index, member) in members.enumerated() {
        result += inner + Self.quoted(member.0) + ": "
        member.1.write(to: &result, indent: indent + 1)
        result += index + 1 < members.count ? ",\n" : "\n"
      }
      result += outer + "}"
    }
  }

  static func quoted(_ string: String) -> String {
    var result = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if scalar.value < 0x20 || scalar.value == 0x7F || scalar.value == 0x2028 || scalar.value == 0x2029 {
          let hex = String(scalar.value, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }
}

extension PropertyListValue {
  var json: JSONValue {
    switch self {
    case .string(let text): .string(text)
    case .integer(let number): Int(exactly: number).map { .integer($0) } ?? .string(String(number))
    case .real(let number): .number(number)
    case .boolean(let flag): .boolean(flag)
    case .date(let date): .object([("date", .number(date.timeIntervalSinceReferenceDate))])
    case .data(let data): .object([("base64", .string(data.base64EncodedString()))])
    case .array(let values): .array(values.map(\.json))
    case .dictionary(let members): .object(members.map { ($0.key, $0.value.json) })
    case .uid(let number): .object([("uid", .string(String(number)))])
    }
  }
}

extension Loss {
  var json: JSONValue {
    var fields: [(String, JSONValue)] = [
      ("kind", .string(kind.rawValue)), ("subject", .string(subject)), ("count", .integer(count)),
    ]
    if let example { fields.append(("example", .string(example))) }
    return .object(fields)
  }
}

extension GraphDifference {
  var json: JSONValue {
    var fields: [(String, JSONValue)] = [("kind", .string(kind.rawValue))]
    if let object {
      fields.append(("entity", .string(object.entityName)))
      fields.append(("reference", .string(object.reference.description)))
    }
    if let key { fields.append((kind == .metadata ? "key" : "property", .string(key))) }
    if kind == .changed || kind == .metadata || kind == .identity {
      fields.append(("old", old.map { .string($0) } ?? .null))
      fields.append(("new", new.map { .string($0) } ?? .null))
    }
    return .object(fields)
  }
}
