import FoundationEssentials
import StoreCodecs
package import StorePrimitives

extension PropertyListValue {
  /// Names of single members that say of which type a value is.
  private static let typeNames = ["date", "base64", "uid", "real", "dictionary"]

  /// The value as JSON: dates, bytes and the like are objects with one member that names the type, since no model says
  /// what a string is. ``init(json:)`` returns exactly this value.
  package var json: JSONValue {
    switch self {
    case .string(let text): .string(text)
    case .integer(let number): Int(exactly: number).map { .integer($0) } ?? .exactNumber(String(number))
    case .real(let number):
      number.isFinite
        ? .number(number)
        : .object([
          ("real", .string(number.isNaN ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description))
        ])
    case .boolean(let flag): .boolean(flag)
    case .date(let date): .object([("date", .date(date))])
    case .data(let data): .object([("base64", .string(data.base64EncodedString()))])
    case .array(let values): .array(values.map(\.json))
    case .dictionary(let members):
      if members.count == 1, Self.typeNames.contains(members[0].key) {
        .object([("dictionary", Self.json(members))])
      } else {
        Self.json(members)
      }
    case .uid(let number): .object([("uid", .string(String(number)))])
    }
  }

  private static func json(_ members: PropertyListDictionary) -> JSONValue {
    .object(members.map { ($0.key, $0.value.json) })
  }

  /// The value that ``json`` returned; nil for JSON that is not such a value, and for null.
  package init?(json: JSONValue) {
    switch json {
    case .null: return nil
    case .boolean(let flag): self = .boolean(flag)
    case .integer(let number): self = .integer(Int128(number))
    case .number(let number): self = .real(number)
    case .exactNumber(let text):
      if let integer = Int128(text), text != "-0" {
        self = .integer(integer)
      } else if let real = ExactText.double(Array(text.utf8).span) {
        self = .real(real)
      } else {
        return nil
      }
    case .string(let text): self = .string(text)
    case .array(let list):
      let values = list.compactMap { PropertyListValue(json: $0) }
      guard values.count == list.count else { return nil }
      self = .array(values)
    case .object(let members):
      // A dictionary with such a member alone is written as a typed value too: what is not one is an error.
      let isTyped = members.count == 1 && Self.typeNames.contains { ScalarString($0) == ScalarString(members[0].0) }
      guard let value = isTyped ? Self.typed(members) : Self.dictionary(members) else { return nil }
      self = value
    }
  }

  private static func dictionary(_ members: [(String, JSONValue)]) -> PropertyListValue? {
    var dictionary = PropertyListDictionary()
    for (key, member) in members {
      guard let value = PropertyListValue(json: member) else { return nil }
      dictionary[key] = value
    }
    return .dictionary(dictionary)
  }

  private static func typed(_ members: [(String, JSONValue)]) -> PropertyListValue? {
    guard members.count == 1, let (name, member) = members.first else { return nil }
    if name == "dictionary", case .object(let inner) = member { return dictionary(inner) }
    guard case .string(let text) = member else { return nil }
    switch name {
    case "date":
      return ExactText.date(Array(text.utf8).span).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case "base64": return Data(base64Encoded: text).map { .data($0) }
    case "uid": return UInt64(text).map { .uid($0) }
    case "real": return ExactText.double(Array(text.utf8).span).map { .real($0) }
    default: return nil
    }
  }
}
