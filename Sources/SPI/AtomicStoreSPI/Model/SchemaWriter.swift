import FoundationEssentials

/// Collects the values that are not the default.
struct SchemaWriter {
  private var dictionary = PropertyListDictionary()
  var value: PropertyListValue { .dictionary(dictionary) }

  init() { dictionary.reserveCapacity(4) }

  mutating func put(_ key: String, _ value: PropertyListValue) { dictionary[key] = value }
  mutating func put(_ key: String, _ text: String?) { if let text { dictionary[key] = .string(text) } }
  mutating func put(_ key: String, _ flag: Bool) { if flag { dictionary[key] = .boolean(true) } }
  mutating func put(flag key: String, _ flag: Bool?) { if let flag { dictionary[key] = .boolean(flag) } }
  mutating func put(_ key: String, _ number: Int?) { if let number { dictionary[key] = .integer(Int128(number)) } }
  mutating func put(_ key: String, _ list: [String]) {
    if !list.isEmpty { dictionary[key] = .array(list.map { .string($0) }) }
  }
  mutating func put(_ key: String, _ list: [PropertyListValue]) { if !list.isEmpty { dictionary[key] = .array(list) } }
  mutating func put(userInfo: [UserInfoEntry]) {
    guard !userInfo.isEmpty else { return }
    put("userInfo", userInfo.map { PropertyListValue.array([.string($0.key), .string($0.value)]) })
  }
  mutating func put(extras: [ModelExtra]) {
    guard !extras.isEmpty else { return }
    put(
      "extras",
      extras.map { extra -> PropertyListValue in
        switch extra {
        case .attribute(let name, let value): .array([.string(name), .string(value)])
        case .element(let text): .string(text)
        }
      })
  }

  /// Writes a value with its type, as a string if a property list would round it:
  /// `["double", "nan(0x7ff8000000000001)"]`.
  mutating func put(_ key: String, _ value: StoredValue?) {
    guard let value, !value.isNull else { return }
    let pair: (String, PropertyListValue)
    switch value {
    case .boolean(let flag): pair = ("boolean", .boolean(flag))
    case .integer(let number): pair = ("integer", .integer(Int128(number)))
    // As bits: XML property lists cannot represent some of them.
    case .float(let number): pair = ("float", .string(String(number.bitPattern, radix: 16)))
    case .double(let number): pair = ("double", .string(String(number.bitPattern, radix: 16)))
    case .date(let date):
      pair = ("date", .string(String(date.timeIntervalSinceReferenceDate.bitPattern, radix: 16)))
    case .decimal(let number): pair = ("decimal", .string(number.description))
    case .string(let text): pair = ("string", .string(text))
    case .data(let data): pair = ("data", .data(data))
    case .uuid(let uuid): pair = ("uuid", .string(uuid.uuidString))
    case .uri(let text): pair = ("uri", .string(text))
    case .null, .toOne, .toMany: return
    }
    dictionary[key] = .array([.string(pair.0), pair.1])
  }
}
