public import StorePrimitives

extension PropertyList {
  /// A property list at the beginning of some text.
  public struct PlainXML: Sendable {
    /// The decoded value.
    public let value: PropertyListValue
    /// The number of bytes of the element `plist`, its tags included.
    public let length: Int
  }

  /// Decodes the element `plist` at the beginning of a text, several times faster than an XML parser, if it has the
  /// plain form in which property lists are usually written: only elements of property lists, without attributes,
  /// references, comments and carriage returns.
  ///
  /// It never reports what is wrong: what it accepts has the same meaning for
  /// ``decodeXML(_:file:maximumDepth:)-(Span<UInt8>,_,_)``.
  ///
  /// - Returns: nil for everything else, whether it is an error or only unusual.
  public static func decodePlainXML(
    _ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = PropertyList.maximumDepth
  ) -> PlainXML? {
    var scanner = PlainPropertyListScanner(bytes, maximumDepth: maximumDepth)
    // An error is reported by a parser, with its location.
    return try? scanner.scan()
  }
}

extension PropertyList {
  /// Decodes a file of the plain form; nil for any other. See ``decodePlainXML(_:maximumDepth:)``.
  static func decodePlainDocument(_ bytes: Span<UInt8>, maximumDepth: Int) -> PropertyListValue? {
    bytes.withUnsafeBufferPointer { bytes in
      let start = plainProlog.utf8CodeUnitCount
      guard bytes.count > start, bytes[..<start].elementsEqual(plainProlog.withUTF8Buffer { Array($0) }) else {
        return nil
      }
      let rest = UnsafeBufferPointer(rebasing: bytes[start...])
      guard let list = decodePlainXML(rest, maximumDepth: maximumDepth) else { return nil }
      let isAll = rest[list.length...].allSatisfy { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: " ") }
      return isAll ? list.value : nil
    }
  }

  /// What precedes the element `plist` in the files that ``encodeXML(_:)`` and Apple's software write.
  static let plainProlog: StaticString = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">

    """
}

/// Reads property lists of the plain form.
private struct PlainPropertyListScanner {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  private var builder: PropertyListXMLBuilder
  /// How many elements there may still be: a parser refuses documents with more.
  private var elementsLeft = 4_000_000

  private static let opening: StaticString = "<plist version=\"1.0\">"
  private static let closing: StaticString = "</plist>"

  init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int) {
    self.bytes = bytes
    builder = PropertyListXMLBuilder(maximumDepth: maximumDepth)
  }

  mutating func scan() throws(PersistentStoreError) -> PropertyList.PlainXML? {
    guard take(Self.opening) else { return nil }
    try builder.begin(.plist, "", line: 0)
    while !take(Self.closing) {
      guard try takeTag() else { return nil }
      skipBlanks()
    }
    guard builder.innermost == nil else { return nil }
    return PropertyList.PlainXML(value: try builder.finish(line: 0), length: position)
  }

  /// Reads the beginning or the end of an array or dictionary, or another value with both. False for anything else.
  private mutating func takeTag() throws(PersistentStoreError) -> Bool {
    skipBlanks()
    elementsLeft -= 1
    guard elementsLeft > 0 else { return false }
    if take("<key>") { return try takeText(.key, "</key>") }
    if take("<string>") { return try takeText(.string, "</string>") }
    if take("<dict>") { return try open(.dictionary) }
    if take("</dict>") { return try close(.dictionary) }
    if take("<array>") { return try open(.array) }
    if take("</array>") { return try close(.array) }
    if take("<array/>") { return try takeEmpty(.array) }
    if take("<dict/>") { return try takeEmpty(.dictionary) }
    if take("<string/>") { return try takeEmpty(.string) }
    if take("<integer>") { return try takeValue(.integer, "</integer>") }
    if take("<true/>") || take("<true></true>") { return try takeEmpty(.yes) }
    if take("<false/>") || take("<false></false>") { return try takeEmpty(.no) }
    if take("<data>") { return try takeValue(.data, "</data>") }
    if take("<date>") { return try takeValue(.date, "</date>") }
    if take("<real>") { return try takeValue(.real, "</real>") }
    return false
  }

  private mutating func open(_ element: PropertyListXMLBuilder.Element) throws(PersistentStoreError) -> Bool {
    try builder.begin(element, "", line: 0)
    return true
  }

  private mutating func close(_ element: PropertyListXMLBuilder.Element) throws(PersistentStoreError) -> Bool {
    guard builder.innermost == element else { return false }
    try builder.end(line: 0)
    return true
  }

  private mutating func takeEmpty(_ element: PropertyListXMLBuilder.Element) throws(PersistentStoreError) -> Bool {
    try builder.begin(element, "", line: 0)
    try builder.end(line: 0)
    return true
  }

  private mutating func takeText(
    _ element: PropertyListXMLBuilder.Element, _ closing: StaticString
  ) throws(PersistentStoreError) -> Bool {
    guard let text = plainText(), take(closing), let string = Self.string(text) else { return false }
    try builder.add(element, text: string, line: 0)
    return true
  }

  private static func string(_ text: UnsafeBufferPointer<UInt8>) -> String? {
    var bits: UInt8 = 0
    for byte in text { bits |= byte }
    return bits < 0x80 ? String(decoding: text, as: UTF8.self) : String(validating: text, as: UTF8.self)
  }

  private mutating func takeValue(
    _ element: PropertyListXMLBuilder.Element, _ closing: StaticString
  ) throws(PersistentStoreError) -> Bool {
    guard let text = plainText(), take(closing) else { return false }
    try builder.begin(element, "", line: 0)
    try builder.characters(text, line: 0)
    try builder.end(line: 0)
    return true
  }

  /// The bytes before the next `<`; nil if they may be more than the text itself, or are not allowed in XML.
  private mutating func plainText() -> UnsafeBufferPointer<UInt8>? {
    let start = position
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "<") { return UnsafeBufferPointer(rebasing: bytes[start..<position]) }
      // A `>` may end `]]>`. The scalars that XML does not allow are control characters, and two that begin with EF.
      let isPlain =
        byte >= UInt8(ascii: " ")
        ? byte != UInt8(ascii: "&") && byte != UInt8(ascii: ">") && byte != XMLText.firstOfNoncharacters
        : byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
      guard isPlain else { return nil }
      position += 1
    }
    return nil
  }

  private mutating func skipBlanks() {
    while position < bytes.count,
      bytes[position] == UInt8(ascii: "\t") || bytes[position] == UInt8(ascii: "\n")
        || bytes[position] == UInt8(ascii: " ")
    {
      position += 1
    }
  }

  /// Whether the word comes next; it is then skipped.
  @inline(__always) private mutating func take(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    let start = word.utf8Start
    for index in 0..<count where bytes[position + index] != start[index] { return false }
    position += count
    return true
  }
}
