import AtomicStoreSPI
import StoreCodecs

/// What the values of a column may be.
struct ColumnFacts {
  private(set) var hasValue = false
  private(set) var count = 0
  private var mayBeInteger = true
  private var mayBeDecimal = true
  private var mayBeDouble = true
  private var mayBeBoolean = true
  private var mayBeDate = true
  private var mayBeUUID = true
  /// Whether all values begin with a plus sign: those are telephone numbers, which would lose it.
  private var hasPlusEverywhere = true
  /// Whether it is text because of that.
  var isTelephone: Bool { hasValue && hasPlusEverywhere }
  private var patterns = Self.knownPatterns

  /// Forms of dates that are recognized beside ISO 8601. Two that differ in the order of day and month are
  /// distinguished by days after the twelfth.
  private static let knownPatterns: [(text: String, format: DateFormat)] = [
    "d.M.yyyy", "d.M.yyyy H:mm", "d.M.yyyy H:mm:ss", "d/M/yyyy", "M/d/yyyy", "d/M/yyyy H:mm", "M/d/yyyy H:mm",
    "yyyy/MM/dd", "yyyy/MM/dd HH:mm:ss",
  ].compactMap { text in DateFormat(text).map { (text, $0) } }

  /// Whether a record, of that many, has no value.
  func isOptional(in records: Int) -> Bool { count < max(records, 1) }

  mutating func add(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) {
    if values.isNull(text, kind, .integer) { return }
    hasValue = true
    count += 1
    if hasPlusEverywhere { hasPlusEverywhere = ValueReader.hasLeadingPlus(text) }
    guard mayBeInteger || mayBeDecimal || mayBeDouble || mayBeBoolean || mayBeDate || mayBeUUID else { return }
    switch kind {
    case .yes, .no:
      (mayBeInteger, mayBeDecimal, mayBeDouble, mayBeDate, mayBeUUID) = (false, false, false, false, false)
      return
    case .list:
      (mayBeInteger, mayBeDecimal, mayBeDouble, mayBeBoolean, mayBeDate, mayBeUUID) = (
        false, false, false, false, false, false
      )
      return
    default: break
    }
    // Digits alone are both.
    let isNumber = (mayBeInteger || mayBeDecimal) && Self.isPlainInteger(ValueReader.trimmed(text))
    if mayBeInteger { mayBeInteger = isNumber || Self.isInteger(text, kind, values) }
    if mayBeDecimal { mayBeDecimal = isNumber || Self.isDecimal(text, kind, values) }
    if mayBeDouble {
      // A later value may be one that only a double holds.
      mayBeDouble =
        mayBeDecimal ? Self.keepsDigits(text, kind, values) : Self.isDouble(text, kind, values)
    }
    if mayBeBoolean { mayBeBoolean = Self.isTruthValue(text, kind, values) }
    if mayBeDate { checkDate(text, values) }
    if mayBeUUID { mayBeUUID = ExactText.uuid(ValueReader.trimmed(text)) != nil }
  }

  /// An integer without leading zeros, which codes have.
  private static func isInteger(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    let bytes = ValueReader.withoutPlus(ValueReader.trimmed(text))
    if bytes.count < ValueReader.trimmed(text).count, isPlainInteger(bytes) { return true }
    guard ExactText.integer(bytes) == nil, case .integer = values.value(text, kind, .integer64, format: nil) else {
      return false
    }
    let point: UInt8 =
      kind != .number && values.conventions.decimalSeparator == .comma ? UInt8(ascii: ",") : UInt8(ascii: ".")
    return ![point, UInt8(ascii: "e"), UInt8(ascii: "E")].contains { has(bytes, $0) }
  }

  /// Digits of a 64-bit integer as it would be written.
  private static func isPlainInteger(_ bytes: Span<UInt8>) -> Bool {
    guard !bytes.isEmpty, ExactText.integer(bytes) != nil else { return false }
    let first = bytes[0] == UInt8(ascii: "-") ? 1 : 0
    guard first < bytes.count, bytes[first] >= UInt8(ascii: "0"), bytes[first] <= UInt8(ascii: "9") else {
      return false
    }
    return bytes[first] != UInt8(ascii: "0") || bytes.count == 1
  }

  /// Digits with a fraction, without exponent or leading zeros.
  private static func isDecimal(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    let bytes = ValueReader.trimmed(text)
    if kind == .number, isPlainDecimal(bytes) { return true }
    guard !bytes.isEmpty, !has(bytes, UInt8(ascii: "e")), !has(bytes, UInt8(ascii: "E")),
      case .decimal(let value) = values.value(text, kind, .decimal, format: nil), !value.isNaN
    else { return false }
    return !ValueReader.hasLeadingZero(bytes)
  }

  /// Whether a JSON number has no exponent, and so few digits that a decimal has them all.
  private static func isPlainDecimal(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count <= 18 else { return false }
    for index in bytes.indices where bytes[index] | 0x20 == UInt8(ascii: "e") { return false }
    return true
  }

  private static func isDouble(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    let bytes = ValueReader.trimmed(text)
    return !bytes.isEmpty && !ValueReader.hasLeadingZero(bytes) && keepsDigits(text, kind, values)
      && !values.value(text, kind, .double, format: nil).isNull
  }

  /// Whether a double keeps the digits of a number. Every double keeps 15.
  private static func keepsDigits(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    digitCount(ValueReader.trimmed(text)) <= 15 || values.keepsDigits(text, kind)
  }

  /// The digits from the first one that is not zero to the last one.
  private static func digitCount(_ bytes: Span<UInt8>) -> Int {
    var count = 0
    var significant = 0
    for index in bytes.indices {
      if bytes[index] | 0x20 == UInt8(ascii: "e") { break }
      guard bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") else { continue }
      if bytes[index] != UInt8(ascii: "0") || count > 0 { count += 1 }
      if bytes[index] != UInt8(ascii: "0") { significant = count }
    }
    return significant
  }

  /// A word for true or false: 0 and 1 are integers.
  static func isTruthValue(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    (isWord(text) || values.isOwnWord(text)) && !values.value(text, kind, .boolean, format: nil).isNull
  }

  /// A date in any of the recognized forms.
  static func isDate(_ bytes: Span<UInt8>, _ values: ValueReader) -> Bool {
    if bytes[0] != UInt8(ascii: "@"), values.date(bytes) != nil { return true }
    for pattern in knownPatterns where pattern.format.seconds(bytes) != nil { return true }
    return false
  }

  static func has(_ bytes: Span<UInt8>, _ byte: UInt8) -> Bool {
    for index in bytes.indices where bytes[index] == byte { return true }
    return false
  }

  /// Whether it has a letter: 0 and 1 are integers.
  private static func isWord(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where text[index] | 0x20 >= UInt8(ascii: "a") && text[index] | 0x20 <= UInt8(ascii: "z") {
      return true
    }
    return text.count > 0 && text[0] >= 0x80
  }

  private mutating func checkDate(_ text: Span<UInt8>, _ values: ValueReader) {
    let bytes = ValueReader.trimmed(text)
    let isPlain = !bytes.isEmpty && bytes[0] != UInt8(ascii: "@") && values.date(bytes) != nil
    if count == 1 { isPlainDate = isPlain }
    if isPlainDate {
      mayBeDate = isPlain
      return
    }
    patterns.removeAll { $0.format.seconds(bytes) == nil }
    if patterns.isEmpty { mayBeDate = false }
  }
  /// Whether the first value was a date without a pattern of these.
  private var isPlainDate = false

  /// The type that all values have, with the pattern of dates.
  var type: (type: AttributeType, format: DateFormat?, isAmbiguous: Bool) {
    guard hasValue else { return (.string, nil, false) }
    if hasPlusEverywhere { return (.string, nil, false) }
    if mayBeBoolean { return (.boolean, nil, false) }
    if mayBeInteger { return (.integer64, nil, false) }
    if mayBeDecimal { return (.decimal, nil, false) }
    if mayBeDouble { return (.double, nil, false) }
    if mayBeUUID { return (.uuid, nil, false) }
    if mayBeDate {
      if isPlainDate { return (.date, nil, false) }
      if patterns.count == 1 { return (.date, patterns[0].format, false) }
      return (.string, nil, true)
    }
    return (.string, nil, false)
  }
}
