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
      writer.append("\n            <plist version=\"1.0\">\n")
      try append(.dictionary(plain), depth: 0, to: writer)
      writer.append("            </plist>\n        ")
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

  // MARK: Writing

  private static func append(
    _ value: PropertyListValue, depth: Int, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    writer.append(repeating: UInt8(ascii: " "), count: 16 + depth * 4)
    switch value {
    case .string(let text): append(text, in: "string", to: writer)
    case .integer(let number): writer.append("<integer>\(number)</integer>\n" as String)
    case .real(let number):
      writer.append("<real>")
      writer.append(double: number, dropsPointZero: true)
      writer.append("</real>\n")
    case .boolean(let flag): writer.append(flag ? "<true></true>\n" : "<false></false>\n" as StaticString)
    case .date(let date):
      writer.append("<date>")
      writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
      writer.append("</date>\n")
    case .data(let data): append(data, depth: depth, to: writer)
    case .array(let elements):
      guard !elements.isEmpty else { return writer.append("<array></array>\n") }
      writer.append("<array>\n")
      for element in elements { try append(element, depth: depth + 1, to: writer) }
      writer.append(repeating: UInt8(ascii: " "), count: 16 + depth * 4)
      writer.append("</array>\n")
    case .dictionary(let entries):
      guard !entries.isEmpty else { return writer.append("<dict></dict>\n") }
      writer.append("<dict>\n")
      for entry in entries {
        writer.append(repeating: UInt8(ascii: " "), count: 20 + depth * 4)
        append(entry.key, in: "key", to: writer)
        try append(entry.value, depth: depth + 1, to: writer)
      }
      writer.append(repeating: UInt8(ascii: " "), count: 16 + depth * 4)
      writer.append("</dict>\n")
    case .uid:
      throw PersistentStoreError(.internalInconsistency, "a UID is stored in the binary entries")
    }
    try writer.flushIfNeeded()
  }

  private static func append(_ text: String, in element: StaticString, to writer: ByteWriter) {
    writer.append(byte: UInt8(ascii: "<"))
    writer.append(element)
    writer.append(byte: UInt8(ascii: ">"))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): writer.append("&amp;")
      case UInt8(ascii: "<"): writer.append("&lt;")
      case UInt8(ascii: ">"): writer.append("&gt;")
      default: writer.append(byte: byte)
      }
    }
    writer.append("</")
    writer.append(element)
    writer.append(">\n")
  }

  private static func append(_ data: Data, depth: Int, to writer: ByteWriter) {
    guard !data.isEmpty else { return writer.append("<data></data>\n") }
    writer.append("<data>\n")
    let tabs = min(depth, 8)
    // Core Data's property lists have lines of at most 76 columns, counting a tab as eight.
    let width = max(76 - 8 * tabs, 4)
    let text = Array(data.base64EncodedString().utf8)
    var start = 0
    while start < text.count {
      let end = min(start + width, text.count)
      writer.append(repeating: UInt8(ascii: "\t"), count: tabs)
      writer.append(Array(text[start..<end]))
      writer.append(byte: UInt8(ascii: "\n"))
      start = end
    }
    writer.append(repeating: UInt8(ascii: "\t"), count: tabs)
    writer.append("</data>\n")
  }
}
