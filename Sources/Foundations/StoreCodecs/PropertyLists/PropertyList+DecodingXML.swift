public import StorePrimitives

extension PropertyList {
  /// Decodes a property list in XML.
  ///
  /// - Throws: `.malformed` with the line for XML that is not well-formed or not a property list, for the old text
  ///   formats, and for encodings other than UTF-8 and UTF-16.
  public static func decodeXML(
    _ bytes: Span<UInt8>, file: String? = nil, maximumDepth: Int = PropertyList.maximumDepth
  ) throws(PersistentStoreError) -> PropertyListValue {
    if let value = decodePlainDocument(bytes, maximumDepth: maximumDepth) { return value }
    var start = 0
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { start = 3 }
    while start < bytes.count, " \t\n\r".utf8.contains(bytes[start]) { start += 1 }
    let isUTF16 = bytes.count >= 2 && (bytes[0] == 0xFE && bytes[1] == 0xFF || bytes[0] == 0xFF && bytes[1] == 0xFE)
    guard start < bytes.count, bytes[start] == UInt8(ascii: "<") || isUTF16 else {
      throw PersistentStoreError(
        .malformed,
        bytes.count == start
          ? "the property list is empty" : "this is not an XML property list; the old text format is not supported",
        at: StoreLocation(file: file, line: 1))
    }
    let root = try XMLElement.parse(
      bytes, file: file, limits: XMLLimits(depth: PropertyList.maximumDepth + 4, attributes: 16))
    return try decodeXML(root, file: file, maximumDepth: maximumDepth)
  }

  /// Decodes a property list from an element: `plist`, or the element of a value.
  package static func decodeXML(
    _ element: XMLElement, file: String? = nil, maximumDepth: Int = PropertyList.maximumDepth
  ) throws(PersistentStoreError) -> PropertyListValue {
    var builder = PropertyListXMLBuilder(maximumDepth: maximumDepth)
    do throws(PersistentStoreError) {
      // Iterative, because the depth depends on the file.
      enum Step {
        case begin(XMLElement)
        case text(String, line: Int)
        case end(line: Int)
      }
      var steps: [Step] = [.begin(element)]
      while let step = steps.popLast() {
        switch step {
        case .begin(let element):
          let line = element.location.line ?? 0
          try builder.begin(element.name, line: line)
          steps.append(.end(line: line))
          for child in element.children.reversed() {
            switch child {
            case .element(let child): steps.append(.begin(child))
            case .text(let text): steps.append(.text(text, line: line))
            }
          }
        case .text(let text, let line):
          let bytes = Array(text.utf8)
          try bytes.withUnsafeBufferPointer { utf8 throws(PersistentStoreError) in
            try builder.characters(utf8, line: line)
          }
        case .end(let line): try builder.end(line: line)
        }
      }
      return try builder.finish(line: element.location.line ?? 0)
    } catch {
      throw error.located(StoreLocation(file: file))
    }
  }
}
