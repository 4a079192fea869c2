import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// `CAST(value, 'type')`: how a constant without a literal syntax is written. A date is cast from ISO 8601, or from
/// seconds since 2001.
enum PredicateCast {
  /// The result of casting a constant, or the cast itself.
  static func folded(_ value: FetchExpression, _ type: String) -> FetchExpression {
    guard case .constant(let constant) = value else { return .cast(value, type) }
    if type == "NSManagedObjectID", case .string(let text) = constant, let id = ManagedObjectID(uriRepresentation: text)
    {
      return .objectID(id)
    }
    return converted(constant, type).map { .constant($0) } ?? .cast(value, type)
  }

  static func isDecimal(_ type: String) -> Bool {
    ["nsdecimalnumber", "decimalnumber", "decimal"].contains(type.lowercased())
  }

  /// A value converted to another type; nil if that is not possible.
  static func converted(_ value: StoredValue, _ type: String) -> StoredValue? {
    if value.isNull { return .null }
    let name = type.hasPrefix("NS") ? String(type.dropFirst(2)) : type
    switch name.lowercased() {
    case "date":
      switch value {
      case .date: return value
      case .integer, .double, .decimal:
        return NumberOrder.Number(value).map { .date(Date(timeIntervalSinceReferenceDate: $0.asDouble)) }
      case .string(let text):
        if let seconds = Double(text) { return .date(Date(timeIntervalSinceReferenceDate: seconds)) }
        return DateText.date(text).map { .date($0) }
      default: return nil
      }
    case "number", "double":
      switch value {
      case .string(let text): return Int64(text).map { .integer($0) } ?? double(text).map { .double($0) }
      case .date(let date): return .double(date.timeIntervalSinceReferenceDate)
      case .boolean(let flag): return .integer(flag ? 1 : 0)
      case .integer, .double, .float, .decimal: return value
      default: return nil
      }
    case "float":
      guard case .string(let text) = value, let bits = double(text) else { return nil }
      return .float(Float(bits))
    case "decimalnumber", "decimal":
      switch value {
      case .decimal, .integer, .double:
        let exact = value.number(as: .decimal)
        return if case .decimal = exact { exact } else { nil }
      case .string(let text): return DecimalNumber(text).map { .decimal($0) }
      default: return nil
      }
    case "string":
      switch value {
      case .string: return value
      case .integer(let number): return .string("\(number)")
      case .double(let number): return .string("\(number)")
      case .float(let number): return .string("\(number)")
      case .decimal(let number): return .string(number.description)
      case .boolean(let flag): return .string(flag ? "1" : "0")
      case .uuid(let uuid): return .string(uuid.uuidString)
      case .uri(let text): return .string(text)
      default: return nil
      }
    case "uuid":
      if case .uuid = value { return value }
      guard case .string(let text) = value else { return nil }
      return UUID(uuidString: text).map { .uuid($0) }
    case "url":
      if case .uri = value { return value }
      guard case .string(let text) = value else { return nil }
      return .uri(text)
    case "data":
      if case .data = value { return value }
      guard case .string(let text) = value else { return nil }
      return Data(base64Encoded: text).map { .data($0) }
    default: return nil
    }
  }

  private static func double(_ text: String) -> Double? {
    guard text.hasPrefix("bits:") else { return Double(text) }
    return UInt64(text.dropFirst(5), radix: 16).map { Double(bitPattern: $0) }
  }
}
