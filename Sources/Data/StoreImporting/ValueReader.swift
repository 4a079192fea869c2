import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreJSON
import StorePredicates

/// Reads the text of a field as what its property holds.
///
/// A class: as a structure with sets and buffers in it, it was copied for each field, which took a third of an import.
final class ValueReader {
  let conventions: TextConventions
  private let hasPlainNumbers: Bool
  private let trueWords: Set<String>
  private let falseWords: Set<String>
  private let ownWords: Set<String>
  private static let usualTrueWords: Set<String> = ["true", "yes", "y", "1", "t", "on"]
  private static let usualFalseWords: Set<String> = ["false", "no", "n", "0", "f", "off"]
  private var number: [UInt8] = []
  private var buffer: [UInt8] = []

  init(_ conventions: TextConventions) {
    self.conventions = conventions
    hasPlainNumbers = conventions.decimalSeparator == .point && conventions.thousandsSeparator == nil
    // Words that were given mean what was given, whatever they mean otherwise: with 0/1 the word 0 is true.
    let ownTrue = Set(conventions.trueWords.map { $0.lowercased() })
    let ownFalse = Set(conventions.falseWords.map { $0.lowercased() })
    ownWords = ownTrue.union(ownFalse)
    trueWords = ownTrue.union(Self.usualTrueWords.subtracting(ownFalse))
    falseWords = ownFalse.union(Self.usualFalseWords.subtracting(ownTrue))
  }

  /// Whether a field stands for no value.
  func isNull(_ bytes: Span<UInt8>, _ kind: ImportField.Kind, _ target: StoredValue.Kind?) -> Bool {
    if kind == .missing || kind == .absent { return true }
    if kind == .quoted, bytes.isEmpty, target != .data, target?.isText != true { return true }
    guard kind == .text, !conventions.nullWords.isEmpty else { return false }
    return conventions.nullWords.contains(Self.text(bytes))
  }

  /// Whether a field stands for no key: it has no value, or nothing but blanks.
  func lacksKey(_ bytes: Span<UInt8>, _ kind: ImportField.Kind) -> Bool {
    if kind == .yes || kind == .no { return false }
    return isNull(bytes, kind, .integer) || Self.trimmed(bytes).isEmpty
  }

  /// The text of a key, without blanks around it.
  static func keyText(_ bytes: Span<UInt8>, _ kind: ImportField.Kind) -> String {
    switch kind {
    case .yes: "true"
    case .no: "false"
    default: text(trimmed(bytes))
    }
  }

  /// Whether a word for true or false is not a value of the kind.
  private static func refusesWords(_ target: StoredValue.Kind?) -> Bool {
    switch target {
    case .integer, .double, .float, .decimal, .date, .uuid, .data: true
    default: false
    }
  }

  /// Sets a slot of the node begun last.
  ///
  /// - Throws: `.invalidValue`, with a message for the field; its location is not known here.
  func set(
    _ given: Span<UInt8>, _ kind: ImportField.Kind, _ target: StoredValue.Kind?, slot: Int, format: DateFormat? = nil,
    _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    // Booleans have no bytes.
    if kind == .yes || kind == .no, Self.refusesWords(target) {
      throw unfit((kind == .yes ? Self.yes : Self.no).span, nodes.typeName(slot: slot))
    }
    switch target {
    case nil, .toOne, .toMany: return
    case .string, .uri:
      switch kind {
      case .yes: try nodes.set(utf8: Self.yes.span, slot: slot)
      case .no: try nodes.set(utf8: Self.no.span, slot: slot)
      default: try nodes.set(utf8: given, slot: slot)
      }
    case .integer:
      if let integer = ExactText.integer(given) { return try nodes.set(integer: integer, slot: slot) }
      guard let integer = integer(given, kind) else { throw unfit(given, nodes.typeName(slot: slot)) }
      try nodes.set(integer: integer, slot: slot)
    case .double:
      let value = try floating(given, kind, slot, nodes, ExactText.double, Self.keeps)
      try nodes.set(double: value, slot: slot)
    case .float:
      let value = try floating(given, kind, slot, nodes, ExactText.float, Self.keeps)
      try nodes.set(float: value, slot: slot)
    case .decimal: try setDecimal(given, kind, slot, nodes)
    case .boolean:
      guard let flag = boolean(given, kind) else { throw unfit(given, "Boolean") }
      try nodes.set(boolean: flag, slot: slot)
    case .date:
      guard let seconds = format?.seconds(Self.trimmed(given)) ?? date(given) else { throw unfit(given, "Date") }
      try nodes.set(dateSeconds: seconds, slot: slot)
    case .uuid:
      guard let uuid = ExactText.uuid(Self.trimmed(given)) else { throw unfit(given, "UUID") }
      try nodes.set(uuid: uuid, slot: slot)
    case .data:
      do throws(Base64.DecodingError) { try Base64.decode(given, into: &buffer) } catch {
        throw unfit(given, "base64 text")
      }
      let bytes = buffer
      try nodes.set(bytes: bytes.span, slot: slot)
    case .undefined:
      guard let value = undeclared(given, kind) else { throw unfit(given, "value") }
      try nodes.set(value, slot: slot)
    }
  }

  /// The value of a text that ``set(_:_:_:slot:format:_:)`` took; for rules that look at values, and to find objects by
  /// them.
  func value(
    _ given: Span<UInt8>, _ kind: ImportField.Kind, _ type: AttributeType, format: DateFormat?
  ) -> StoredValue {
    switch type.valueKind {
    case .integer: return integer(given, kind).map { .integer($0) } ?? .null
    case .double: return parsed(given, kind, ExactText.double).map { .double($0) } ?? .null
    case .float: return parsed(given, kind, ExactText.float).map { .float($0) } ?? .null
    case .decimal:
      let value = parsed(given, kind) { DecimalNumber(utf8: $0) }
      return value.map { .decimal($0) } ?? .null
    case .date:
      let seconds = format?.seconds(Self.trimmed(given)) ?? date(given)
      return seconds.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null
    case .string: return .string(Self.text(given))
    case .uri: return .uri(Self.text(given))
    case .boolean: return boolean(given, kind).map { .boolean($0) } ?? .null
    case .uuid: return ExactText.uuid(Self.trimmed(given)).map { .uuid($0) } ?? .null
    case .data:
      guard (try? Base64.decode(given, into: &buffer)) != nil else { return .null }
      return .data(Data(buffer))
    case .undefined: return undeclared(given, kind) ?? .null
    case .toOne, .toMany: return .null
    }
  }

  static let yes = Array("true".utf8)
  static let no = Array("false".utf8)

  // MARK: Digits

  static func keeps(_ text: Span<UInt8>, _ number: Double) -> Bool { WrittenNumber.holds(text, number) }
  static func keeps(_ text: Span<UInt8>, _ number: Float) -> Bool { WrittenNumber.holds(text, number) }

  /// A floating-point number that has the digits of its text.
  func floating<Number: BinaryFloatingPoint>(
    _ given: Span<UInt8>, _ kind: ImportField.Kind, _ slot: Int, _ nodes: NodeTableBuilder,
    _ read: (Span<UInt8>) -> Number?, _ holds: (Span<UInt8>, Number) -> Bool
  ) throws(PersistentStoreError) -> Number {
    let found = parsed(given, kind) { text in read(text).map { (value: $0, isKept: holds(text, $0)) } }
    guard let found else { throw unfit(given, nodes.typeName(slot: slot)) }
    let isTooSmall = found.value == 0 && Self.hasNonzeroDigit(given)
    if found.isKept, !isTooSmall { return found.value }
    let type = nodes.typeName(slot: slot)
    let reason = isTooSmall ? "is too small for a \(type), which would be 0" : "has more digits than a \(type) keeps"
    throw PersistentStoreError(.invalidValue, "'\(Self.text(given).prefix(60))' \(reason)")
  }

  /// Whether a double keeps the digits of a number; false for other texts.
  func keepsDigits(_ given: Span<UInt8>, _ kind: ImportField.Kind) -> Bool {
    parsed(given, kind) { text in ExactText.double(text).map { WrittenNumber.holds(text, $0) } } ?? false
  }

  // MARK: Numbers

  private func setDecimal(
    _ given: Span<UInt8>, _ kind: ImportField.Kind, _ slot: Int, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let bytes = Self.trimmed(given)
    if hasPlainNumbers || kind == .number {
      guard !bytes.isEmpty, DecimalNumber(utf8: bytes) != nil else { throw unfit(given, "Decimal") }
      return try nodes.set(decimal: bytes, slot: slot)
    }
    guard normalize(bytes) else { throw unfit(given, "Decimal") }
    let number = number
    guard DecimalNumber(utf8: number.span) != nil else { throw unfit(given, "Decimal") }
    try nodes.set(decimal: number.span, slot: slot)
  }

  /// A number by the conventions. A text is never tried as the kit writes numbers before: `1.234` may be 1234.
  func parsed<Number>(
    _ given: Span<UInt8>, _ kind: ImportField.Kind, _ read: (Span<UInt8>) -> Number?
  ) -> Number? {
    let bytes = Self.trimmed(given)
    if hasPlainNumbers || kind == .number { return read(bytes) }
    guard normalize(bytes) else { return nil }
    let number = number
    return read(number.span)
  }

  /// An integer, which may have separators and a fraction of zeros: programs that know one kind of number write `3.0`.
  /// A JSON number may have an exponent: `1e2` is 100.
  func integer(_ given: Span<UInt8>, _ kind: ImportField.Kind) -> Int64? {
    var bytes = Self.trimmed(given)
    if !hasPlainNumbers, kind != .number {
      guard normalize(bytes) else { return nil }
      let number = number
      return ExactText.integer(Self.withoutPlus(Self.withoutZeroFraction(number.span)))
    }
    bytes = Self.withoutPlus(Self.withoutZeroFraction(bytes))
    if let integer = ExactText.integer(bytes) { return integer }
    return kind == .number ? DecimalNumber(utf8: bytes)?.integer : nil
  }

  @_lifetime(copy bytes)
  private static func withoutZeroFraction(_ bytes: Span<UInt8>) -> Span<UInt8> {
    var end = bytes.count
    while end > 0, bytes[end - 1] == UInt8(ascii: "0") { end -= 1 }
    guard end > 1, end < bytes.count, bytes[end - 1] == UInt8(ascii: ".") else { return bytes }
    return bytes.extracting(0..<end - 1)
  }

  /// Puts a number by the conventions into ``number`` as the kit writes it. False where its separators are not as they
  /// should be.
  private func normalize(_ bytes: Span<UInt8>) -> Bool {
    number.removeAll(keepingCapacity: true)
    let isComma = conventions.decimalSeparator == .comma
    var index = 0
    // Digits since the last separator; nil before the first one.
    var group: Int?
    var digits = 0
    var hasFraction = false
    while index < bytes.count {
      let byte = bytes[index]
      if byte == (isComma ? UInt8(ascii: ",") : UInt8(ascii: ".")), !hasFraction {
        if let group, group != 3 { return false }
        hasFraction = true
        group = nil
        number.append(UInt8(ascii: "."))
        index += 1
        continue
      }
      let length = separatorLength(bytes, index)
      if length > 0 {
        guard !hasFraction, digits > 0, group == nil ? digits <= 3 : group == 3 else { return false }
        group = 0
        index += length
        continue
      }
      if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
        digits += 1
        if let count = group { group = count + 1 }
      } else if byte == UInt8(ascii: ".") || byte == UInt8(ascii: ",") {
        return false
      }
      number.append(byte)
      index += 1
    }
    return group == nil || group == 3
  }

  /// The bytes of a thousands separator at an index; 0 where there is none.
  private func separatorLength(_ bytes: Span<UInt8>, _ index: Int) -> Int {
    func begins(_ text: StaticString) -> Bool {
      guard index + text.utf8CodeUnitCount <= bytes.count else { return false }
      for offset in 0..<text.utf8CodeUnitCount where bytes[index + offset] != text.utf8Start[offset] { return false }
      return true
    }
    let forms: [StaticString] =
      switch conventions.thousandsSeparator {
      case nil: []
      case .comma: [","]
      case .point: ["."]
      case .space: [" ", "\u{A0}", "\u{202F}", "\u{2009}"]
      case .apostrophe: ["'", "\u{2019}"]
      }
    return forms.first(where: begins)?.utf8CodeUnitCount ?? 0
  }

  // MARK: Others

  /// Whether a text is a word that the conventions name for true or false.
  func isOwnWord(_ bytes: Span<UInt8>) -> Bool {
    !ownWords.isEmpty && ownWords.contains(Self.text(Self.trimmed(bytes)).lowercased())
  }

  private func boolean(_ bytes: Span<UInt8>, _ kind: ImportField.Kind) -> Bool? {
    switch kind {
    case .yes: return true
    case .no: return false
    default: break
    }
    let text = Self.text(Self.trimmed(bytes)).lowercased()
    if trueWords.contains(text) { return true }
    return falseWords.contains(text) ? false : nil
  }

  /// Seconds since 2001-01-01T00:00:00Z.
  func date(_ given: Span<UInt8>) -> Double? {
    let bytes = Self.trimmed(given)
    for notation in conventions.dateNotations {
      let seconds: Double? =
        switch notation {
        case .pattern(let format): format.seconds(bytes)
        case .unixSeconds: UnixTime.secondsSinceReference(bytes, decimals: 0)
        case .unixMilliseconds: UnixTime.secondsSinceReference(bytes, decimals: 3)
        case .referenceSeconds: ExactText.double(bytes)
        }
      if let seconds { return seconds }
    }
    return ExactText.date(bytes)
  }

  /// A value whose type its form says, as the kit prints those of undefined type; other texts are strings.
  private func undeclared(_ given: Span<UInt8>, _ kind: ImportField.Kind) -> StoredValue? {
    switch kind {
    case .yes: .boolean(true)
    case .no: .boolean(false)
    case .number: Self.number(given)
    case .object:
      (try? JSONReader.read(Array(Self.text(given).utf8), name: "")).flatMap { StoredValue(undeclaredJSON: $0) }
    default: .string(Self.text(given))
    }
  }

  /// An integer or a Double, or a decimal where no Double is written like this.
  private static func number(_ given: Span<UInt8>) -> StoredValue? {
    if let integer = ExactText.integer(given) { return .integer(integer) }
    guard let number = ExactText.double(given) else { return nil }
    if let exact = DecimalNumber(utf8: given), DecimalNumber("\(number)") != exact { return .decimal(exact) }
    return .double(number)
  }

  // MARK: Texts

  @_lifetime(copy bytes)
  static func trimmed(_ bytes: Span<UInt8>) -> Span<UInt8> {
    var start = 0
    var end = bytes.count
    while start < end, bytes[start] == UInt8(ascii: " ") || bytes[start] == UInt8(ascii: "\t") { start += 1 }
    while end > start, bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == UInt8(ascii: "\t") { end -= 1 }
    return bytes.extracting(start..<end)
  }

  /// The bytes without a plus sign before a digit.
  @_lifetime(copy bytes)
  static func withoutPlus(_ bytes: Span<UInt8>) -> Span<UInt8> {
    guard bytes.count > 1, bytes[0] == UInt8(ascii: "+"), bytes[1] >= UInt8(ascii: "0"), bytes[1] <= UInt8(ascii: "9")
    else { return bytes }
    return bytes.extracting(1..<bytes.count)
  }

  /// Whether it begins with a plus sign, as telephone numbers do.
  static func hasLeadingPlus(_ given: Span<UInt8>) -> Bool {
    let bytes = trimmed(given)
    return !bytes.isEmpty && bytes[0] == UInt8(ascii: "+")
  }

  /// Whether a digit follows a zero at the beginning, as in codes.
  static func hasLeadingZero(_ given: Span<UInt8>) -> Bool {
    let bytes = trimmed(given)
    guard bytes.count > 1 else { return false }
    let first = bytes[0] == UInt8(ascii: "-") || bytes[0] == UInt8(ascii: "+") ? 1 : 0
    guard first + 1 < bytes.count, bytes[first] == UInt8(ascii: "0") else { return false }
    return bytes[first + 1] >= UInt8(ascii: "0") && bytes[first + 1] <= UInt8(ascii: "9")
  }

  static func text(_ bytes: Span<UInt8>) -> String {
    bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether a number has a digit other than 0 before its exponent.
  static func hasNonzeroDigit(_ bytes: Span<UInt8>) -> Bool {
    for index in 0..<bytes.count {
      if bytes[index] | 0x20 == UInt8(ascii: "e") { return false }
      if bytes[index] > UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") { return true }
    }
    return false
  }

  func unfit(_ bytes: Span<UInt8>, _ what: String) -> PersistentStoreError {
    let text = Self.text(bytes)
    let shown = text.count > 60 ? text.prefix(60) + "…" : text[...]
    let article = what.hasPrefix("I") ? "an" : "a"
    return PersistentStoreError(.invalidValue, "'\(shown)' is not \(article) \(what)\(hint(text, what))")
  }

  /// What would make a text readable.
  private func hint(_ text: String, _ what: String) -> String {
    let digits = text.contains { $0.isNumber }
    if what == "Date", digits, conventions.dateNotations.isEmpty { return "; a date format may be given" }
    guard ["Decimal", "Double", "Float"].contains(what), digits else { return "" }
    if conventions.decimalSeparator == .comma, conventions.thousandsSeparator == nil, text.contains(".") {
      return "; the thousands separator may be a point"
    }
    return text.contains(",") && hasPlainNumbers ? "; the decimal separator may be a comma" : ""
  }
}
