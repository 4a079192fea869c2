import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// The metadata's property list as a child of the document, in Core Data's layout: four spaces per level, empty
/// elements with both tags, base64 between lines of tabs.
///
/// An entry that an XML property list cannot represent exactly (control characters, fractions of seconds, not-a-numbers
/// with other bits) is instead stored, as a whole, in a binary property list under ``exactKey``.
enum MetadataText {
  /// The model of the store, as a dictionary.
  static let modelKey = "AtomicStoreModel"
  /// The key for entries that XML cannot represent: a dictionary of them as a binary property list.
  static let exactKey = "AtomicStoreExactEntries"

  /// - Parameter isInline: Whether to omit the indentation before the element and the line break after it.
  static func append(
    _ entries: PropertyListDictionary, isInline: Bool = false, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    var plain = PropertyListDictionary()
    var exact = PropertyListDictionary()
    for entry in entries {
      if isExactInXML(entry.value), isText(entry.key) {
        plain[entry.key] = entry.value
      } else {
        exact[entry.key] = entry.value
      }
    }
    if !exact.isEmpty { plain[exactKey] = .data(Data(try PropertyList.encodeBinary(.dictionary(exact)))) }
    if !isInline { writer.append("        ") }
    writer.append("<metadata>")
    if !plain.isEmpty {
      writer.append(byte: UInt8(ascii: "\n"))
      try PropertyList.appendXML(.dictionary(plain), embeddedAt: 3, to: writer)
      writer.append("        ")
    }
    writer.append("</metadata>")
    if !isInline { writer.append(byte: UInt8(ascii: "\n")) }
  }

  /// The entries that the file's dictionary represents.
  static func entries(of read: PropertyListDictionary) throws(PersistentStoreError) -> PropertyListDictionary {
    guard let value = read[exactKey] else { return read }
    guard case .data(let data) = value else { throw malformed("\(exactKey) is not data") }
    guard case .dictionary(let exact) = try PropertyList.decodeBinary(Array(data)) else {
      throw malformed("\(exactKey) does not contain a dictionary")
    }
    var entries = read
    entries[exactKey] = nil
    for entry in exact { entries[entry.key] = entry.value }
    return entries
  }

  private static func malformed(_ message: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(property: exactKey))
  }

  // MARK: What XML can hold

  private static func isExactInXML(_ value: PropertyListValue, depth: Int = 0) -> Bool {
    guard depth < 256 else { return false }
    switch value {
    case .string(let text): return isText(text)
    case .integer(let number): return number >= Int128(Int64.min) && number <= Int128(UInt64.max)
    case .real(let number):
      return number.isFinite && !(number == 0 && number.sign == .minus)
    case .boolean, .data: return true
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      // Years 1 to 9999.
      return seconds == seconds.rounded() && seconds >= -63_113_904_000 && seconds < 252_423_993_600
        && !(seconds == 0 && seconds.sign == .minus)
    case .uid: return false
    case .array(let elements): return elements.allSatisfy { isExactInXML($0, depth: depth + 1) }
    case .dictionary(let entries):
      // In XML property lists, a dictionary with only this key represents a UID.
      if entries.count == 1, entries["CF$UID"] != nil { return false }
      return entries.allSatisfy { isText($0.key) && isExactInXML($0.value, depth: depth + 1) }
    }
  }

  private static func isText(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      ($0.value >= 0x20 || $0.value == 0x09 || $0.value == 0x0A) && $0.value & ~1 != 0xFFFE
    }
  }
}
