import StoreCodecs

/// An element's attributes, taken one after another; what is left nobody asked for.
struct ElementAttributes {
  private(set) var rest: [(name: String, value: String)]
  private var kept: Set<String> = []

  init(_ element: XMLElement) { rest = element.attributes }

  /// The attribute, once.
  mutating func take(_ name: String) -> String? {
    guard let index = rest.firstIndex(where: { $0.name == name }) else { return nil }
    return rest.remove(at: index).value
  }

  /// Gives back one that stays as it stands, and of which all has been said.
  mutating func keep(_ name: String, _ value: String) {
    rest.append((name, value))
    kept.insert(name)
  }

  /// Marks one as known, should it be there.
  mutating func keep(_ name: String) { kept.insert(name) }

  /// Whether it needs no further word.
  func isKept(_ name: String) -> Bool { kept.contains(name) }
}

extension XMLElement {
  /// This element with all below it as text, laid out, to be written back: the same however the file laid it out.
  var fileText: String {
    let writer = ByteWriter()
    append(to: writer, depth: 0)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  // Elements lie inside each other only as deep as the parser admits.
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
      // Line breaks as references: those that stand open are layout, and may be indented.
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

  /// Whether there is more than white space directly in this element.
  var hasText: Bool {
    !text.utf8.allSatisfy {
      $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t")
    }
  }
}
