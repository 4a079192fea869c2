import FoundationEssentials

extension StoredValue {
  /// The attribute value as text that includes its type, for undefined attributes in text formats: `integer:5`,
  /// `double:-0.0`, `float:nan(0x7fc00001)`, `data:AAEC` (base64), `date:…` in seconds since 2001. Empty for null.
  ///
  /// ``init(typedText:)`` returns exactly this value.
  public var typedText: String {
    switch self {
    case .null, .toOne, .toMany: ""
    case .boolean(let flag): flag ? "boolean:true" : "boolean:false"
    case .integer(let number): "integer:\(number)"
    case .float(let number):
      "float:" + (number.isNaN ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description)
    case .double(let number): "double:" + Self.text(number)
    case .decimal(let number): "decimal:\(number)"
    case .string(let text): "string:" + text
    case .data(let data): "data:" + data.base64EncodedString()
    case .date(let date): "date:" + Self.text(date.timeIntervalSinceReferenceDate)
    case .uuid(let uuid): "uuid:\(uuid.uuidString)"
    case .uri(let text): "uri:" + text
    }
  }

  private static func text(_ number: Double) -> String {
    number.isNaN ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description
  }

  /// The bits that a not-a-number's text has; nil if it is not one.
  private static func payload<Bits: FixedWidthInteger>(_ text: Substring) -> Bits? {
    text.hasPrefix("nan(0x") && text.hasSuffix(")") ? Bits(text.dropFirst(6).dropLast(), radix: 16) : nil
  }

  private static func number<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ text: Substring) -> Number? {
    // The initializers read hexadecimal digits too.
    text.utf8.contains { $0 == UInt8(ascii: "x") || $0 == UInt8(ascii: "X") } ? nil : Number(String(text))
  }

  private static func float(_ text: Substring) -> Float? {
    guard let bits: UInt32 = payload(text) else { return number(text) }
    let value = Float(bitPattern: bits)
    return value.isNaN ? value : nil
  }

  private static func double(_ text: Substring) -> Double? {
    guard let bits: UInt64 = payload(text) else { return number(text) }
    let value = Double(bitPattern: bits)
    return value.isNaN ? value : nil
  }

  /// Parses a text that ``typedText`` returned; nil for any other text.
  public init?(typedText text: String) {
    if text.isEmpty {
      self = .null
      return
    }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let rest = text[text.utf8.index(after: colon)...]
    let value: StoredValue?
    switch text[..<colon] {
    case "boolean": value = rest == "true" ? .boolean(true) : rest == "false" ? .boolean(false) : nil
    case "integer": value = Int64(rest).map { .integer($0) }
    case "float": value = Self.float(rest).map { .float($0) }
    case "double": value = Self.double(rest).map { .double($0) }
    case "decimal": value = DecimalNumber(String(rest)).map { .decimal($0) }
    case "string": value = .string(String(rest))
    case "data": value = Data(base64Encoded: String(rest)).map { .data($0) }
    case "date": value = Self.double(rest).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case "uuid": value = UUID(uuidString: String(rest)).map { .uuid($0) }
    case "uri": value = .uri(String(rest))
    default: value = nil
    }
    guard let value else { return nil }
    self = value
  }
}
