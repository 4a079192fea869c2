import FoundationEssentials
public import StorePrimitives

extension PropertyList {
  /// How an XML property list is indented.
  package struct XMLLayout: Sendable {
    /// The indentation of one level.
    let unit: String
    /// The level of `<plist>` itself.
    let depth: Int
    /// Whether the top value is one level deeper than `<plist>`, as in a document that was indented again.
    let indentsTopValue: Bool
    /// Whether an element without content has an end tag: `<array></array>`, not `<array/>`.
    let closesEmptyElements: Bool

    /// A separate file: tabs, and the top value at the margin.
    package static let document = XMLLayout(unit: "\t", depth: 0, indentsTopValue: false, closesEmptyElements: false)
    /// Within another document with levels of four spaces.
    package static func embedded(depth: Int) -> XMLLayout {
      XMLLayout(unit: "    ", depth: depth, indentsTopValue: true, closesEmptyElements: true)
    }
  }

  /// Writes a value as an XML property-list file in Apple's layout.
  ///
  /// - Throws: `.invalidValue` that names the key path for what XML cannot hold: control characters, U+FFFE and
  ///   U+FFFF in a string, a date outside the years 1 to 9999, an integer outside -2^63 … 2^64 - 1, a dictionary of one
  ///   integer named `CF$UID`, which would be read as a UID; `.limitExceeded` beyond ``maximumDepth``.
  public static func encodeXML(_ value: PropertyListValue) throws(PersistentStoreError) -> [UInt8] {
    var buffer = plainProlog.withUTF8Buffer { Array($0) }
    try appendXML(value, layout: .document, to: &buffer)
    return buffer
  }

  /// Appends `<plist version="1.0">` … `</plist>` for a document with levels of four spaces, as Core Data's XML stores.
  ///
  /// - Parameters:
  ///   - value: What is written.
  ///   - depth: The level of `<plist>`.
  ///   - writer: Where it is appended.
  /// - Throws: as ``encodeXML(_:)`` does.
  public static func appendXML(
    _ value: PropertyListValue, embeddedAt depth: Int, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    var buffer: [UInt8] = []
    try appendXML(value, layout: .embedded(depth: depth), to: &buffer)
    writer.append(buffer)
    try writer.flushIfNeeded()
  }

  /// Appends `<plist version="1.0">` … `</plist>`, each line indented and ended.
  ///
  /// Base64 is between lines of tabs, as many as the value's own depth whatever the layout's unit: Core Data's
  /// files have it so. Not-a-numbers are all written as `nan`.
  ///
  /// - Throws: as ``encodeXML(_:)`` does.
  package static func appendXML(
    _ value: PropertyListValue, layout: XMLLayout, to buffer: inout [UInt8]
  ) throws(PersistentStoreError) {
    var writer = PropertyListXMLWriter(
      unit: Array(layout.unit.utf8), base: max(0, layout.depth) + (layout.indentsTopValue ? 1 : 0),
      closesEmptyElements: layout.closesEmptyElements, buffer: buffer)
    buffer = []
    for _ in 0..<max(0, layout.depth) { writer.buffer.append(contentsOf: writer.unit) }
    writer.buffer.append(contentsOf: "<plist version=\"1.0\">\n".utf8)
    try writer.append(value, depth: 0)
    for _ in 0..<max(0, layout.depth) { writer.buffer.append(contentsOf: writer.unit) }
    writer.buffer.append(contentsOf: "</plist>\n".utf8)
    buffer = writer.buffer
  }
}

private struct PropertyListXMLWriter {
  let unit: [UInt8]
  let base: Int
  let closesEmptyElements: Bool
  var buffer: [UInt8]
  /// The current path, for errors.
  var path: [Step] = []

  enum Step {
    case key(String)
    case position(Int)

    var text: String {
      switch self {
      case .key(let key): key
      case .position(let position): String(position)
      }
    }
  }

  init(unit: [UInt8], base: Int, closesEmptyElements: Bool, buffer: [UInt8]) {
    self.unit = unit
    self.base = base
    self.closesEmptyElements = closesEmptyElements
    self.buffer = buffer
  }

  mutating func append(_ value: PropertyListValue, depth: Int) throws(PersistentStoreError) {
    try PropertyList.check(depth: depth)
    switch value {
    case .string(let text): try appendText(text, element: "string", depth: depth)
    case .integer(let number):
      guard number >= Int128(Int64.min), number <= Int128(UInt64.max) else {
        throw invalid("\(number) is out of range for an integer of a property list")
      }
      appendLine("<integer>\(number)</integer>", depth)
    case .real(let number): appendLine("<real>\(text(number))</real>", depth)
    case .boolean(let flag): appendEmpty(flag ? "true" : "false", depth)
    case .date(let date):
      indent(depth)
      buffer.append(contentsOf: "<date>".utf8)
      guard PropertyListDate.append(date, to: &buffer) else {
        throw invalid("the date \(date.timeIntervalSinceReferenceDate) seconds from 2001 cannot be represented")
      }
      buffer.append(contentsOf: "</date>\n".utf8)
    case .data(let data): appendData(data, depth: depth)
    case .uid(let number):
      appendLine("<dict>", depth)
      appendLine("<key>CF$UID</key>", depth + 1)
      appendLine("<integer>\(number)</integer>", depth + 1)
      appendLine("</dict>", depth)
    case .array(let elements):
      if elements.isEmpty { return appendEmpty("array", depth) }
      appendLine("<array>", depth)
      for (position, element) in elements.enumerated() {
        path.append(.position(position))
        try append(element, depth: depth + 1)
        path.removeLast()
      }
      appendLine("</array>", depth)
    case .dictionary(let entries):
      if entries.isEmpty { return appendEmpty("dict", depth) }
      if entries.count == 1, let number = entries["CF$UID"], case .integer(0...Int128(UInt64.max)) = number {
        throw invalid("a dictionary of one integer with the key CF$UID would be read as a UID")
      }
      appendLine("<dict>", depth)
      for entry in entries {
        path.append(.key(entry.key))
        try appendText(entry.key, element: "key", depth: depth + 1)
        try append(entry.value, depth: depth + 1)
        path.removeLast()
      }
      appendLine("</dict>", depth)
    }
  }

  /// The shortest digits that are read back to the bit; Apple's files have `12`, not `12.0`.
  private func text(_ number: Double) -> String {
    if number.isNaN { return "nan" }
    if number.isInfinite { return number < 0 ? "-infinity" : "+infinity" }
    let text = number.description
    return text.utf8.suffix(2).elementsEqual(".0".utf8) ? String(decoding: text.utf8.dropLast(2), as: UTF8.self) : text
  }

  private mutating func appendText(_ text: String, element: String, depth: Int) throws(PersistentStoreError) {
    indent(depth)
    appendTag("<", element)
    defer { appendTag("</", element, end: "\n") }
    let isPlain = text.withBytes { bytes in
      guard bytes.allSatisfy(Self.isPlain) else { return false }
      buffer.append(contentsOf: bytes)
      return true
    }
    if isPlain { return }
    for scalar in text.unicodeScalars where scalar.value < 0x20 || scalar.value & ~1 == 0xFFFE {
      switch scalar.value {
      case 0x09, 0x0A, 0x0D: continue
      default: throw invalid("U+\(String(scalar.value, radix: 16, uppercase: true)) is not allowed in XML")
      }
    }
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): buffer.append(contentsOf: "&amp;".utf8)
      case UInt8(ascii: "<"): buffer.append(contentsOf: "&lt;".utf8)
      case UInt8(ascii: ">"): buffer.append(contentsOf: "&gt;".utf8)
      // XML readers convert a literal carriage return to a line feed.
      case UInt8(ascii: "\r"): buffer.append(contentsOf: "&#13;".utf8)
      default: buffer.append(byte)
      }
    }
  }

  /// Whether a byte is a character that is written as it is.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: " ") && byte <= UInt8(ascii: "\u{7F}") && byte != UInt8(ascii: "&")
      && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">")
  }

  private mutating func appendTag(_ start: String, _ element: String, end: String = "") {
    buffer.append(contentsOf: start.utf8)
    buffer.append(contentsOf: element.utf8)
    buffer.append(UInt8(ascii: ">"))
    buffer.append(contentsOf: end.utf8)
  }

  private mutating func appendData(_ data: Data, depth: Int) {
    if data.isEmpty, closesEmptyElements { return appendEmpty("data", depth) }
    appendLine("<data>", depth)
    let text = Array(data.base64EncodedString().utf8)
    // Lines are at most 76 columns wide with tabs of 8, and do not get narrower beyond 8 tabs.
    let width = 76 - 8 * min(depth, 8)
    var start = 0
    while start < text.count {
      let end = min(start + width, text.count)
      appendTabs(depth)
      buffer.append(contentsOf: text[start..<end])
      buffer.append(UInt8(ascii: "\n"))
      start = end
    }
    appendTabs(depth)
    buffer.append(contentsOf: "</data>\n".utf8)
  }

  private mutating func appendTabs(_ depth: Int) {
    for _ in 0..<min(depth, 8) { buffer.append(UInt8(ascii: "\t")) }
  }

  private mutating func appendLine(_ line: String, _ depth: Int) {
    indent(depth)
    buffer.append(contentsOf: line.utf8)
    buffer.append(UInt8(ascii: "\n"))
  }

  private mutating func appendEmpty(_ element: String, _ depth: Int) {
    appendLine(closesEmptyElements ? "<\(element)></\(element)>" : "<\(element)/>", depth)
  }

  private mutating func indent(_ depth: Int) {
    for _ in 0..<max(0, base + depth) { buffer.append(contentsOf: unit) }
  }

  private func invalid(_ message: String) -> PersistentStoreError {
    let place = path.map(\.text).joined(separator: "/")
    return PersistentStoreError(
      .invalidValue, place.isEmpty ? message : "\(place): \(message)",
      at: StoreLocation(property: place.isEmpty ? nil : place))
  }
}
