package import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Converts the values of one type to another, exactly or not at all.
package struct ValueConversion {
  private let type: AttributeType

  /// Nil for types of which no value converts to the other.
  package init?(from source: AttributeType, to destination: AttributeType) {
    type = destination
    let source = source.valueKind
    switch destination.valueKind {
    case .string:
      // Bytes do not have a text.
      if source == .data { return nil }
    case .uri, .uuid, .date: if source != .string { return nil }
    case .integer, .double, .float, .decimal:
      guard source.isNumber || source == .string else { return nil }
    case .boolean: if source != .string { return nil }
    case .undefined where destination == .undefined: break
    case .undefined, .data, .toOne, .toMany: return nil
    }
  }

  /// The value in the other type, for values that are converted for good; nil where there is none that is equal, or
  /// where a text would not be got back.
  ///
  /// A number or a date must be written as the conversion to text writes it, but a floating-point number may lack the
  /// fraction `.0`. The case of a UUID does not matter.
  package func convertReversibly(_ value: StoredValue) -> StoredValue? {
    guard let converted = convert(value) else { return nil }
    guard case .string(let text) = value, !converted.isNull else { return converted }
    switch converted {
    case .integer, .decimal, .date: return Self.text(converted) == text ? converted : nil
    case .double, .float:
      guard let back = Self.text(converted) else { return nil }
      func withoutFraction(_ text: String) -> String { text.hasSuffix(".0") ? String(text.dropLast(2)) : text }
      return withoutFraction(back) == withoutFraction(text) ? converted : nil
    default: return converted
    }
  }

  /// The value in the other type; nil where there is none that is equal.
  package func convert(_ value: StoredValue) -> StoredValue? {
    if value.isNull { return .null }
    switch type.valueKind {
    case .undefined: return value
    case .string: return Self.text(value).map { .string($0) }
    case .uri:
      guard case .string(let text) = value, Self.isURI(text) else { return nil }
      return .uri(text)
    case .uuid:
      guard case .string(let text) = value else { return nil }
      return ExactText.uuid(Array(text.utf8).span).map { .uuid($0) }
    case .date:
      guard case .string(let text) = value else { return nil }
      return ExactText.date(Array(text.utf8).span).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .boolean:
      guard case .string(let text) = value else { return nil }
      return text == "true" || text == "YES" ? .boolean(true) : text == "false" || text == "NO" ? .boolean(false) : nil
    default: return number(value)
    }
  }

  /// What a text is that a user wrote for an attribute; nil if it is not of the type.
  package static func written(_ text: String, as type: AttributeType) -> StoredValue? {
    switch type.valueKind {
    case .string: .string(text)
    case .uri: .uri(text)
    default: ValueConversion(from: .string, to: type)?.convert(.string(text)) ?? unusualNumber(text, as: type)
    }
  }

  /// What an attribute stores for a value that a program gives: a value of the attribute's type, what the value is
  /// represented by, or an equal number. Nil for a value of another type, which is refused.
  package static func taken(_ value: Any?, by type: AttributeType) -> StoredValue? {
    if let stored = StoredValue(any: value, type: type) { return stored }
    guard type.valueKind.isNumber, let value = StoredValue.unwrapped(value) else { return nil }
    return (value as? StoredValue ?? StoredValue(guessing: value)).flatMap { equalNumber($0, type) }
  }

  /// As above, for a value as stores have it.
  package static func taken(_ value: StoredValue, by type: AttributeType) -> StoredValue? {
    type.accepts(value) ? value : equalNumber(value, type)
  }

  /// The number of a type that equals one of another type.
  private static func equalNumber(_ value: StoredValue, _ type: AttributeType) -> StoredValue? {
    switch value {
    case .double(let number) where number.isNaN && type.valueKind == .float: return .float(Float(number))
    case .integer, .double, .float, .decimal:
      guard type.valueKind.isNumber, let number = ValueConversion(from: .double, to: type)?.number(value) else {
        return nil
      }
      return type.accepts(number) ? number : nil
    default: return nil
    }
  }

  /// What an attribute is set to where an expression has the value: what the attribute takes of a program, or the
  /// floating-point number that is nearest: a quotient of decimals has up to 38 digits, and expressions are computed in
  /// doubles also where the attribute is a float. A literal may be the text of a date, as in a comparison. Nil where
  /// there is none.
  package static func assigned(
    _ value: StoredValue, of expression: FetchExpression, to type: AttributeType
  ) -> StoredValue? {
    if type.accepts(value) { return value }
    if case .string(let text) = value, type.valueKind == .uri { return .uri(text) }
    if type.valueKind == .date { return expression.dateOfLiteral.map { .date($0) } }
    switch (type.valueKind, value) {
    case (.float, .double(let number)) where number.isFinite:
      let nearest = Float(number)
      return nearest.isFinite && (nearest != 0 || number == 0) ? .float(nearest) : nil
    case (.double, .decimal(let number)) where !number.isNaN:
      return nearest(number, ExactText.double).map { .double($0) }
    case (.float, .decimal(let number)) where !number.isNaN:
      return nearest(number, ExactText.float).map { .float($0) }
    default: break
    }
    return equalNumber(value, type)
  }

  /// The floating-point number that is nearest to a decimal; nil where that is infinite, or a zero that is not meant.
  private static func nearest<Number: BinaryFloatingPoint>(
    _ number: DecimalNumber, _ read: (Span<UInt8>) -> Number?
  ) -> Number? {
    guard let nearest = read(Array(number.description.utf8).span), nearest.isFinite else { return nil }
    return nearest == 0 && number.mantissa != 0 ? nil : nearest
  }

  /// A floating-point number in a form that decimals do not have: below their range, such as `5e-324`, infinite, or
  /// not-a-number, as `nan` or with its bits. Nil for all other texts and types.
  private static func unusualNumber(_ text: String, as type: AttributeType) -> StoredValue? {
    guard DecimalNumber(text).map(\.isNaN) ?? true else { return nil }
    let bytes = Array(text.utf8)
    // A number that would become zero is out of range.
    let isZero = !bytes.prefix { $0 | 0x20 != UInt8(ascii: "e") }.contains {
      $0 > UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
    }
    switch type.valueKind {
    case .double:
      guard let number = ExactText.double(bytes.span), number != 0 || isZero else { return nil }
      return WrittenNumber.holds(bytes.span, number) ? .double(number) : nil
    case .float:
      guard let number = ExactText.float(bytes.span), number != 0 || isZero else { return nil }
      return WrittenNumber.holds(bytes.span, number) ? .float(number) : nil
    default: return nil
    }
  }

  /// A scheme, a colon, and something after it that has no blank.
  private static func isURI(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), let first = text.utf8.first,
      first | 0x20 >= UInt8(ascii: "a"), first | 0x20 <= UInt8(ascii: "z")
    else { return false }
    let scheme = text.utf8[..<colon]
    return scheme.allSatisfy { byte in
      byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
        || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte == UInt8(ascii: "+")
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    } && text.utf8.count > text.utf8.distance(from: text.utf8.startIndex, to: colon) + 1
      && !text.utf8.contains { $0 <= UInt8(ascii: " ") }
  }

  private static func text(_ value: StoredValue) -> String? {
    let writer = ByteWriter()
    switch value {
    case .boolean(let flag): return flag ? "true" : "false"
    case .integer(let number): return String(number)
    case .decimal(let number): return number.description
    case .string(let text), .uri(let text): return text
    case .uuid(let uuid): return uuid.uuidString
    case .double(let number): writer.append(double: number)
    case .float(let number): writer.append(float: number)
    case .date(let date): writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    case .null, .data, .toOne, .toMany: return nil
    }
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  private func number(_ value: StoredValue) -> StoredValue? {
    var value = value
    if case .string(let text) = value {
      guard let decimal = DecimalNumber(text), !decimal.isNaN else { return nil }
      // Decimals do not have a negative zero.
      if decimal.mantissa == 0, text.utf8.first == UInt8(ascii: "-") {
        if type.valueKind == .double { return .double(-0.0) }
        if type.valueKind == .float { return .float(-0.0) }
      }
      let bytes = Array(text.utf8)
      // What would become zero is out of range.
      let isZero = decimal.mantissa == 0
      if type.valueKind == .double, let number = ExactText.double(bytes.span), number != 0 || isZero,
        WrittenNumber.holds(bytes.span, number)
      {
        return .double(number)
      }
      if type.valueKind == .float, let number = ExactText.float(bytes.span), number != 0 || isZero,
        WrittenNumber.holds(bytes.span, number)
      {
        return .float(number)
      }
      value = .decimal(decimal)
    }
    switch type.valueKind {
    case .decimal:
      switch value {
      case .integer(let number): return .decimal(DecimalNumber(number))
      case .decimal: return value
      case .double, .float: return Self.text(value).flatMap { DecimalNumber($0) }.map { .decimal($0) }
      default: return nil
      }
    case .double:
      switch value {
      case .integer(let number): return Double(exactly: number).map { .double($0) }
      case .float(let number): return .double(Double(number))
      case .decimal(let number): return Self.double(number).map { .double($0) }
      case .double: return value
      default: return nil
      }
    case .float:
      switch value {
      case .integer(let number): return Float(exactly: number).map { .float($0) }
      case .double(let number): return number.isNaN ? nil : Float(exactly: number).map { .float($0) }
      case .decimal(let number):
        return (Self.float(number) ?? Self.double(number).flatMap { Float(exactly: $0) }).map { .float($0) }
      default: return nil
      }
    default: return integer(value).flatMap { type.accepts(.integer($0)) ? .integer($0) : nil }
    }
  }

  private func integer(_ value: StoredValue) -> Int64? {
    switch value {
    case .integer(let number): number
    case .double(let number): Int64(exactly: number)
    case .float(let number): Int64(exactly: number)
    case .decimal(let number): Self.integer(number)
    default: nil
    }
  }

  private static func integer(_ number: DecimalNumber) -> Int64? {
    guard !number.isNaN else { return nil }
    var mantissa = number.mantissa
    var exponent = Int(number.exponent)
    while exponent < 0, mantissa % 10 == 0, mantissa != 0 {
      mantissa /= 10
      exponent += 1
    }
    while exponent > 0, mantissa <= UInt128(Int64.max) {
      mantissa *= 10
      exponent -= 1
    }
    guard exponent == 0 || mantissa == 0 else { return nil }
    if number.isNegative {
      return mantissa <= UInt128(Int64.min.magnitude) ? Int64(truncatingIfNeeded: 0 &- mantissa) : nil
    }
    return Int64(exactly: mantissa)
  }

  /// The double whose shortest text is the number.
  private static func double(_ number: DecimalNumber) -> Double? {
    value(of: number, ExactText.double) { $0.append(double: $1) }
  }

  /// The float whose shortest text is the number.
  private static func float(_ number: DecimalNumber) -> Float? {
    value(of: number, ExactText.float) { $0.append(float: $1) }
  }

  private static func value<Value>(
    of number: DecimalNumber, _ read: (Span<UInt8>) -> Value?, _ write: (ByteWriter, Value) -> Void
  ) -> Value? {
    guard let value = read(Array(number.description.utf8).span) else { return nil }
    let writer = ByteWriter()
    write(writer, value)
    guard let back = DecimalNumber(String(decoding: writer.takeBytes(), as: UTF8.self)) else { return nil }
    return back == number ? value : nil
  }
}
