import AtomicStoreSPI

/// An enumeration for an attribute, from the entry `enum` of its user info: `low, high`, `low = 1, high = 5`, with a
/// name `Level: low, high`.
struct SwiftEnumeration {
  var name: String
  var rawType: String
  var cases: [(name: String, value: String)] = []
  /// The case of the default value, or the first.
  var caseForNull = ""

  /// - Returns: Nil if the attribute has no such entry.
  /// - Throws: ``SwiftModelError`` for an entry that is not of this form, or an attribute that is not a text or
  ///   integer.
  init?(_ attribute: AttributeDescription, entity: String) throws(SwiftModelError) {
    guard let entry = attribute.userInfo.first(where: { $0.key == "enum" }) else { return nil }
    func failure(_ reason: String) -> SwiftModelError {
      SwiftModelError(message: "\(entity).\(attribute.name): user info 'enum' is '\(entry.value)': \(reason)")
    }
    let isText: Bool
    switch attribute.type.valueKind {
    case .string: (rawType, isText) = ("String", true)
    case .integer: (rawType, isText) = ("Int\(attribute.type.integerBits)", false)
    default: throw failure("the attribute must be a String or an Integer")
    }
    var list = Substring(entry.value)
    name = SwiftNames.capitalized(attribute.name)
    if let colon = list.firstIndex(of: ":") {
      name = SwiftNames.capitalized(Self.trimmed(list[..<colon]))
      list = list[list.index(after: colon)...]
    }
    var names = SwiftNames(taken: ["allCases", "rawValue", "atomicStoreValue", "atomicStoreValueForNull", "hashValue"])
    var next: Int64 = 0
    var values: Set<String> = []
    for part in list.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(Self.trimmed)
      guard !sides[0].isEmpty else { throw failure("a case has no name") }
      let value: String
      if isText {
        value = sides.count > 1 ? sides[1] : sides[0]
      } else {
        let number = sides.count > 1 ? Int64(sides[1]) : next
        guard let number, attribute.type.accepts(.integer(number)), number < Int64.max else {
          throw failure("'\(part)' is not an integer of its type")
        }
        next = number + 1
        value = String(number)
      }
      guard values.insert(value).inserted else { throw failure("two cases have the value \(value)") }
      cases.append((names.identifier(sides[0], suffix: "Case"), value))
    }
    let standard: String? =
      switch attribute.defaultValue {
      case .string(let text): text
      case .integer(let number): String(number)
      default: nil
      }
    if let standard, !values.contains(standard) { throw failure("the default value \(standard) has no case") }
    caseForNull = cases.first { $0.value == standard }?.name ?? cases[0].name
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }

  func text(_ access: String) -> String {
    var text = "  \(access)enum \(name): \(rawType), AttributeValue, CaseIterable, Sendable {\n"
    for (name, value) in cases {
      text += "    case \(name) = \(rawType == "String" ? SwiftNames.literal(value) : value)\n"
    }
    text += "    \(access)static var atomicStoreValueForNull: \(name) { .\(caseForNull) }\n"
    return text + "  }\n"
  }
}
