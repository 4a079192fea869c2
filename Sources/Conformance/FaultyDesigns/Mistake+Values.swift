import AtomicStoreSPI
import FoundationEssentials

// What the mistakes make of values.
extension Mistake {
  private static let bom: Unicode.Scalar = "\u{FEFF}"

  static func trimmed(_ text: String) -> String {
    var scalars = Array(text.unicodeScalars)
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    return Self.text(scalars)
  }

  private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }
  private static func withoutLeadingBOM(_ text: String) -> String {
    text.unicodeScalars.first == bom ? Self.text(text.unicodeScalars.dropFirst()) : text
  }
  private static func upToNUL(_ text: String) -> String { Self.text(text.unicodeScalars.prefix { $0 != "\0" }) }
  private static func composed(_ text: String) -> String {
    var result: [Unicode.Scalar] = []
    for scalar in text.unicodeScalars {
      if scalar == "\u{301}", result.last == "e" {
        result[result.count - 1] = "\u{E9}"
      } else {
        result.append(scalar)
      }
    }
    return Self.text(result)
  }

  // MARK: Attributes

  static func written(_ value: StoredValue, _ type: AttributeType) -> StoredValue {
    guard current != nil else { return value }
    switch value {
    case .double(let number): return written(number, type)
    case .float(let number): return written(number, type)
    case .date(let date): return written(seconds: date.timeIntervalSinceReferenceDate, type) ?? value
    case .string(let text): return written(text, type).map { .string($0) } ?? .null
    case .uri(let text): return written(uri: text, type)
    case .data(let data): return written(data, type)
    case .decimal(let number):
      if Self.is(.decimalNaNBecomesZero), number.isNaN { return .decimal(DecimalNumber(0)) }
      if Self.is(.decimalTrailingZerosLostInUntyped), type == .undefined { return .decimal(number.normalized) }
      if Self.is(.decimalExponentSpelled), !number.isNaN, (1...30).contains(number.exponent) {
        let digits = number.description.prefix { $0 != "e" && $0 != "E" }
        return DecimalNumber(digits + String(repeating: "0", count: Int(number.exponent))).map { .decimal($0) } ?? value
      }
    case .uuid(let uuid):
      if Self.is(.untypedUUIDBecomesText), type == .undefined { return .string(uuid.uuidString) }
    case .boolean(let flag):
      if Self.is(.untypedBooleanBecomesInteger), type == .undefined { return .integer(flag ? 1 : 0) }
    default: break
    }
    return value
  }

  private static func written(_ number: Double, _ type: AttributeType) -> StoredValue {
    if number.isNaN {
      if Self.is(.nanPayloadLost) { return .double(number.sign == .minus ? -.nan : .nan) }
      if Self.is(.nanSignLost) { return .double(Double(bitPattern: number.bitPattern & ~(1 << 63))) }
      if Self.is(.signallingNaNQuieted) { return .double(Double(bitPattern: number.bitPattern | 1 << 51)) }
    }
    if let number = written(number: number) { return .double(number) }
    guard type == .undefined else { return .double(number) }
    if Self.is(.infinityInUntypedLost), number.isInfinite { return .null }
    if Self.is(.untypedWholeDoubleBecomesInteger), let whole = Int64(exactly: number) { return .integer(whole) }
    return .double(number)
  }

  private static func written(_ number: Float, _ type: AttributeType) -> StoredValue {
    if Self.is(.floatNaNPayloadLost), number.isNaN { return .float(.nan) }
    if let number = written(number: number) { return .float(number) }
    if Self.is(.floatNegativeZeroLost), number == 0 { return .float(0) }
    if Self.is(.untypedFloatBecomesDouble), type == .undefined { return .double(Double(number)) }
    return .float(number)
  }

  private static func written(seconds: Double, _ type: AttributeType) -> StoredValue? {
    func date(_ seconds: Double) -> StoredValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }
    if Self.is(.dateNegativeZeroLost), seconds == 0 { return date(0) }
    if Self.is(.dateInfinityClamped), seconds.isInfinite { return date(seconds < 0 ? -63_114_076_800 : 64_092_211_200) }
    if Self.is(.dateFractionLostBefore2001), seconds < 0 { return date(seconds.rounded()) }
    if Self.is(.dateNaNBecomesNil), seconds.isNaN { return .null }
    if Self.is(.untypedDateBecomesDouble), type == .undefined { return .double(seconds) }
    return nil
  }

  private static func written(_ text: String, _ type: AttributeType) -> String? {
    if Self.is(.untypedEmptyTextBecomesNil), type == .undefined, text.isEmpty { return nil }
    if Self.is(.leadingBOMStripped) { return withoutLeadingBOM(text) }
    if Self.is(.trailingBOMStripped), text.unicodeScalars.last == bom {
      return Self.text(text.unicodeScalars.dropLast())
    }
    if Self.is(.leadingNULCut), text.unicodeScalars.first == "\0" { return Self.text(text.unicodeScalars.dropFirst()) }
    if let text = written(text: text) { return text }
    let count = text.utf8.count
    if Self.is(.textOf65536Cut), count == 65_536 { return String(decoding: text.utf8.dropLast(), as: UTF8.self) }
    if Self.is(.textBeyond65535Cut), count > 65_535 { return String(decoding: text.utf8.prefix(65_535), as: UTF8.self) }
    if Self.is(.textBeyond16MiBCut), count > 16 << 20 {
      return String(decoding: text.utf8.prefix(16 << 20), as: UTF8.self)
    }
    return text
  }

  private static func written(uri text: String, _ type: AttributeType) -> StoredValue {
    if Self.is(.untypedURIBecomesText), type == .undefined { return .string(text) }
    if Self.is(.uriLowercased) { return .uri(text.lowercased()) }
    if Self.is(.uriBOMStripped) { return .uri(withoutLeadingBOM(text)) }
    guard Self.is(.uriPercentCaseChanged) else { return .uri(text) }
    var result = ""
    var digits = 0
    for scalar in text.unicodeScalars {
      result += digits > 0 ? String(scalar).uppercased() : String(scalar)
      digits = scalar == "%" ? 2 : max(0, digits - 1)
    }
    return .uri(result)
  }

  private static func written(_ data: Data, _ type: AttributeType) -> StoredValue {
    if Self.is(.untypedEmptyDataBecomesNil), type == .undefined, data.isEmpty { return .null }
    if Self.is(.dataOf32768Cut), data.count == 32_768 { return .data(data.dropLast()) }
    if Self.is(.dataOf65536Cut), data.count == 65_536 { return .data(data.dropLast()) }
    if Self.is(.dataBeyond16MiBCut), data.count > 16 << 20 { return .data(data.prefix(16 << 20)) }
    if Self.is(.longDataTrimmed), data.count > 1_000, data.last == UInt8(ascii: "\n") { return .data(data.dropLast()) }
    if Self.is(.dataTrailingZeroCut), data.count > 1, data.last == 0 { return .data(data.dropLast()) }
    return .data(data)
  }

  static func read(_ value: StoredValue, _ type: AttributeType) -> StoredValue { value }

  // MARK: References

  static func written(reference: ReferenceObject) -> ReferenceObject {
    if case .integer(let number) = reference { return .integer(written(number: number)) }
    guard case .string(let text) = reference else { return reference }
    switch current {
    case .referenceBOMStripped: return .string(withoutLeadingBOM(text))
    case .referenceNULCut: return .string(upToNUL(text))
    case .referenceTrimmed: return .string(trimmed(text))
    case .referenceBeyond255Cut: return .string(String(decoding: text.utf8.prefix(255), as: UTF8.self))
    case .referenceComposed: return .string(composed(text))
    case .referenceLowercased: return .string(text.lowercased())
    default: return reference
    }
  }

  static func written(members: [ReferenceObject], isOrdered: Bool) -> [ReferenceObject] {
    switch current {
    case .membersBeyond1000Lost: Array(members.prefix(1_000))
    case .membersBeyond4096Lost: Array(members.prefix(4_096))
    case .membersBeyond9999Lost: Array(members.prefix(9_999))
    case .orderBeyond255Lost where isOrdered: members.prefix(255) + members.dropFirst(255).sorted()
    case .orderBeyond10Lost where isOrdered && members.count > 10: members.sorted()
    default: members
    }
  }

  static var mostRows: Int? {
    switch current {
    case .rowsBeyond1000Lost: 1_000
    case .rowsBeyond4096Lost: 4_096
    case .lastRowOf4096Lost: 4_095
    case .rowsBeyond65536Lost: 65_536
    case .rowsBeyond100000Lost: 100_000
    default: nil
    }
  }

  static func written(entities: [Entity]) -> [Entity] {
    switch current {
    case .entitiesBeyond255Lost: Array(entities.prefix(255))
    case .entitiesWithoutOwnPropertiesSkipped:
      entities.filter { $0.slots.count > ($0.superentity?.slots.count ?? 0) }
    default: entities
    }
  }
}

// MARK: Metadata

extension Mistake {
  static func read(metadata: PropertyListDictionary) -> PropertyListDictionary { metadata }

  static func written(metadata: PropertyListDictionary) -> PropertyListDictionary {
    guard current != nil else { return metadata }
    var result = PropertyListDictionary()
    for (position, (key, value)) in metadata.map({ ($0.key, $0.value) }).enumerated() {
      if Self.is(.metadataBeyond255Lost), position > 254 { break }
      let value = written(value, level: 0)
      guard let value else { continue }
      switch current {
      case .metadataKeysComposed: result[composed(key)] = value
      case .metadataKeyBOMStripped: result[withoutLeadingBOM(key)] = value
      case .metadataKeyNULCut: result[upToNUL(key)] = value
      case .metadataKeyTrimmed: result[trimmed(key)] = value
      case .metadataLongKeyCut: result[String(decoding: key.utf8.prefix(255), as: UTF8.self)] = value
      case .metadataDollarKeysDropped where key.unicodeScalars.first == "$": break
      case .metadataEmptyKeyDropped where key.isEmpty: break
      case .metadataKeySplitAtDot where key.contains("."):
        let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2 { result[parts[0]] = .dictionary([parts[1]: value]) } else { result[key] = value }
      default: result[key] = value
      }
    }
    return result
  }

  private static func written(_ value: PropertyListValue, level: Int) -> PropertyListValue? {
    switch value {
    case .uid(let number) where Self.is(.metadataUIDBecomesInteger): return .integer(Int128(number))
    case .integer(let number) where Self.is(.metadataUnsignedWraps):
      return .integer(Int128(Int64(truncatingIfNeeded: number)))
    case .real(let number):
      if Self.is(.metadataWholeRealBecomesInteger), let whole = Int64(exactly: number) {
        return .integer(Int128(whole))
      }
      if Self.is(.metadataNegativeZeroLostInList), level > 0, number == 0 { return .real(0) }
      if Self.is(.metadataNaNPayloadLost), number.isNaN { return .real(.nan) }
      if Self.is(.metadataDeepRealBecomesInteger), level > 4, let whole = Int64(exactly: number) {
        return .integer(Int128(whole))
      }
    case .boolean(let flag) where Self.is(.metadataBooleanInListBecomesInteger) && level > 0:
      return .integer(flag ? 1 : 0)
    case .date(let date) where Self.is(.metadataDateWholeSeconds):
      return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down)))
    case .string(let text) where Self.is(.metadataTextBOMStripped): return .string(withoutLeadingBOM(text))
    case .string(let text) where Self.is(.metadataTextBeyond65535Cut):
      return .string(String(decoding: text.utf8.prefix(65_535), as: UTF8.self))
    case .data(let data) where Self.is(.metadataDataBeyond65535Cut): return .data(data.prefix(65_535))
    case .array(let list) where Self.is(.metadataListBeyond255Cut): return .array(Array(list.prefix(255)))
    case .array(let list):
      if Self.is(.metadataNestedEmptyDropped), level > 0, list.isEmpty { return nil }
      return .array(list.compactMap { written($0, level: level + 1) })
    case .dictionary(let dictionary):
      if Self.is(.metadataNestedEmptyDropped), level > 0, dictionary.isEmpty { return nil }
      var result = PropertyListDictionary()
      for entry in dictionary {
        let key = Self.is(.metadataNestedKeysComposed) ? composed(entry.key) : entry.key
        result[key] = written(entry.value, level: level + 1)
      }
      return .dictionary(result)
    default: break
    }
    return value
  }
}
