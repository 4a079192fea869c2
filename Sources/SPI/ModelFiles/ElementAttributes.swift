import StoreCodecs

/// The attributes of an element. Each is removed as it is read; the rest is unknown.
struct ElementAttributes {
  private(set) var rest: [(name: String, value: String)]
  private var kept: Set<String> = []

  init(_ element: XMLElement) { rest = element.attributes }

  /// Returns the attribute and removes it.
  mutating func take(_ name: String) -> String? {
    guard let index = rest.firstIndex(where: { $0.name == name }) else { return nil }
    return rest.remove(at: index).value
  }

  /// Keeps an attribute unchanged, without a warning.
  mutating func keep(_ name: String, _ value: String) {
    rest.append((name, value))
    kept.insert(name)
  }

  /// Marks an attribute as known, if present.
  mutating func keep(_ name: String) { kept.insert(name) }

  /// Whether it needs no warning.
  func isKept(_ name: String) -> Bool { kept.contains(name) }
}

extension XMLElement {
  /// This element with its descendants as indented text, to be written back: the same regardless of the file's layout.
  var fileText: String {
    let writer = ByteWriter()
    append(to: writer, depth: 0)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  // The parser limits the nesting of elements.
  private func append(to writer: ByteWriter, depth: Int) {
    writer.append("<")
    writer.append(name)
    for attribute in attributes {
      writer.append(" ")
      writer.append(attribute.name)
      writer.append("=\"")
      writer.append(xmlEscaped: attribute.value, inAttribute: true)
      writer.append("\"")
    }
    let isLaidOut = !hasText
    if isLaidOut, elements.isEmpty { return writer.append("/>") }
    writer.append(">")
    for child in children {
      switch child {
      case .element(let child):
        if isLaidOut {
          writer.append(byte: UInt8(ascii: "\n"))
          writer.append(repeating: UInt8(ascii: " "), count: (depth + 1) * 4)
        }
        child.append(to: writer, depth: depth + 1)
      // Line breaks in values are written as character references: all other line breaks are layout, and may be
      // indented.
      case .text(let text): if !isLaidOut { writer.append(xmlEscaped: text, inAttribute: true) }
      }
    }
    if isLaidOut {
      writer.append(byte: UInt8(ascii: "\n"))
      writer.append(repeating: UInt8(ascii: " "), count: depth * 4)
    }
    writer.append("</")
    writer.append(name)
    writer.append(">")
  }

  /// Whether this element directly contains more than white space.
  var hasText: Bool {
    !text.utf8.allSatisfy {
      $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t")
    }
  }
}
