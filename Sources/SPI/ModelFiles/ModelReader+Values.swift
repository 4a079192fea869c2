import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension ModelReader {
  /// A Boolean; if missing, false.
  mutating func flag(
    _ key: String, _ attributes: inout ElementAttributes, _ element: XMLElement
  ) -> Bool {
    optionalFlag(key, &attributes, element) ?? false
  }

  /// An optional Boolean; if it is neither YES nor NO, it is kept as an extra.
  mutating func optionalFlag(
    _ key: String, _ attributes: inout ElementAttributes, _ element: XMLElement
  ) -> Bool? {
    guard let text = attributes.take(key) else { return nil }
    if let flag = Self.flag(text) { return flag }
    warn(element, "\(key)=\"\(text)\" of <\(element.name)> is neither YES nor NO; it is kept unchanged")
    attributes.keep(key, text)
    return nil
  }

  private static func flag(_ text: String) -> Bool? {
    switch text {
    case "YES", "Yes", "yes", "TRUE", "True", "true", "1", "1.0": true
    case "NO", "No", "no", "FALSE", "False", "false", "0", "0.0": false
    default: nil
    }
  }

  func count(
    _ key: String, _ attributes: inout ElementAttributes, _ element: XMLElement, entity: String? = nil, property: String
  ) throws(PersistentStoreError) -> Int? {
    guard let text = attributes.take(key) else { return nil }
    guard let number = Int(text) else {
      throw fail(element, "\(key)=\"\(text)\" is not an integer", entity: entity, property: property)
    }
    return number
  }

  /// A length; if it is invalid, it is kept as an extra.
  mutating func length(
    _ key: String, _ attributes: inout ElementAttributes, _ element: XMLElement, _ owner: String
  ) -> Int? {
    guard let text = attributes.take(key) else { return nil }
    if let length = Int(text), length >= 0 { return length }
    warn(element, "\(key)=\"\(text)\" of \(owner) is not a length; it is kept unchanged")
    attributes.keep(key, text)
    return nil
  }

  /// A value of the attribute's type; if it is invalid, it is kept as an extra.
  mutating func value(
    _ key: String, _ dateKey: String, _ type: AttributeType, _ attributes: inout ElementAttributes,
    _ element: XMLElement, _ owner: String
  ) -> StoredValue? {
    if type == .date, let text = attributes.take(dateKey) {
      // Newer versions of Xcode write the older text beside the seconds. It adds no information.
      attributes.keep(key)
      if let seconds = ExactText.double(Array(text.utf8).span) {
        return .date(Date(timeIntervalSinceReferenceDate: seconds))
      }
      warn(element, "\(dateKey)=\"\(text)\" of \(owner) is not a number; it is kept unchanged")
      attributes.keep(dateKey, text)
      return nil
    }
    guard let text = attributes.take(key) else { return nil }
    if let value = Self.value(text, type) { return value }
    warn(element, "\(key)=\"\(text)\" of \(owner) is not a value of type \(type.modelName); it is kept unchanged")
    attributes.keep(key, text)
    return nil
  }

  /// Parses a value as Xcode writes it. Old versions wrote `0.0` and `NO` for other numeric types.
  static func value(_ text: String, _ type: AttributeType) -> StoredValue? {
    let bytes = Array(text.utf8)
    switch type.valueKind {
    case .string: return .string(text)
    case .uri: return .uri(text)
    case .boolean: return flag(text).map { .boolean($0) }
    case .integer:
      var number = ExactText.integer(bytes.span)
      if number == nil, let real = ExactText.double(bytes.span), real == real.rounded() {
        number = Int64(exactly: real)
      }
      if number == nil { number = text == "NO" ? 0 : text == "YES" ? 1 : nil }
      guard let number, type.accepts(.integer(number)) else { return nil }
      return .integer(number)
    case .double: return ExactText.double(bytes.span).map { .double($0) }
    case .float: return ExactText.float(bytes.span).map { .float($0) }
    case .decimal: return DecimalNumber(text).map { .decimal($0) }
    case .uuid: return ExactText.uuid(bytes.span).map { .uuid($0) }
    case .date: return oldDate(bytes).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .undefined, .data, .toOne, .toMany: return nil
    }
  }

  /// The seconds of a date's text, such as `2013-04-23 12:00:00 +0000`, which Xcode 4 wrote. A text without a time zone
  /// is in the author's time zone, which is unknown.
  private static func oldDate(_ bytes: [UInt8]) -> Double? {
    guard let first = bytes.first, first != UInt8(ascii: "@"),
      bytes.dropFirst(10).contains(where: { "+-Z".utf8.contains($0) })
    else { return nil }
    return ExactText.date(bytes.span)
  }
}
