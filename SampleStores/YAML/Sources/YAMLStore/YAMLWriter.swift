import AtomicStoreSPI
import Foundation

/// Writes documents. Texts and names are in double quotes, other values plain.
struct YAMLWriter {
  var bytes: [UInt8] = []

  mutating func put(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// A document with an object.
  mutating func object(_ entity: Entity, _ reader: EntityReader, _ row: Int) {
    put("---\nentity: ")
    quote(KeyText.escaped(entity.name))
    put("\nid: ")
    reference(reader.reference(row: row))
    put("\nvalues:")
    var isEmpty = true
    for slot in entity.slots {
      let value = reader.value(slot: slot.index, row: row)
      switch value {
      case .null: continue
      // A set without members is what a set is when nothing is written.
      case .toMany(let objects) where objects.isEmpty: continue
      default: break
      }
      isEmpty = false
      put("\n")
      key(slot.name, indent: 2)
      put(" ")
      switch value {
      case .toOne(let object): reference(object.reference)
      case .toMany(let objects):
        put("[")
        for (index, object) in objects.enumerated() {
          if index > 0 { put(", ") }
          reference(object.reference)
        }
        put("]")
      default: attribute(value, slot.attributeType ?? .undefined)
      }
    }
    put(isEmpty ? " {}\n" : "\n")
  }

  /// A value without the name of its type, where the model says it.
  private mutating func attribute(_ value: StoredValue, _ type: AttributeType) {
    let text = value.typedText
    let prefix = AttributeText.prefix(of: type)
    let plain = text.utf8.starts(with: prefix.utf8) ? String(text.utf8.dropFirst(prefix.utf8.count)) ?? text : text
    let isSafe = plain.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"):
        true
      default: false
      }
    }
    let isText = type == .string || type == .uri || type == .undefined
    if isText || !isSafe || plain.isEmpty || plain == "-" { quote(plain) } else { put(plain) }
  }

  private mutating func reference(_ reference: ReferenceObject) {
    switch reference {
    case .integer(let number): put("\(number)")
    case .string(let text): quote(text)
    }
  }

  // MARK: Property lists

  /// An entry of a mapping, with the line's end.
  mutating func entry(_ name: String, _ value: PropertyListValue, indent: Int = 0, plainKey: Bool = false) {
    if plainKey { put("\(name):") } else { key(name, indent: indent) }
    nested(value, indent: indent)
  }

  /// What follows a key or a dash, with the line's end.
  private mutating func nested(_ value: PropertyListValue, indent: Int) {
    switch value {
    case .dictionary(let entries) where !entries.isEmpty:
      put("\n")
      for entry in entries { self.entry(entry.key, entry.value, indent: indent + 1) }
    case .array(let elements) where !elements.isEmpty:
      put("\n")
      for element in elements {
        self.indent(indent + 1)
        put("-")
        nested(element, indent: indent + 1)
      }
    default:
      put(" ")
      leaf(value)
      put("\n")
    }
  }

  private mutating func leaf(_ value: PropertyListValue) {
    switch value {
    case .dictionary: put("{}")
    case .array: put("[]")
    case .string(let text): quote(text)
    case .integer(let number): put("\(number)")
    case .boolean(let flag): put(flag ? "true" : "false")
    case .real(let number): put(StoredValue.double(number).typedText)
    case .date(let date): put(StoredValue.date(date).typedText)
    // A colon at the end would make a key of it.
    case .data(let data): put(data.isEmpty ? "data" : StoredValue.data(data).typedText)
    case .uid(let number): put("uid:\(number)")
    }
  }

  // MARK: Text

  private mutating func indent(_ count: Int) {
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: count))
  }

  /// A key with its colon. Long ones need their own form.
  private mutating func key(_ name: String, indent: Int) {
    self.indent(indent)
    let name = KeyText.escaped(name)
    guard name.utf8.count > 100 else {
      quote(name)
      return put(":")
    }
    put("? ")
    quote(name)
    put("\n")
    self.indent(indent)
    put(":")
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var previous: Unicode.Scalar = " "
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": put("\\\(scalar)")
      case "\n": put("\\n")
      case "\t": put("\\t")
      case "\r": put("\\r")
      // Where a token could begin, these would be an anchor, an alias or a tag, which the reader refuses anywhere.
      case "&", "*", "!": put(TokenStart.isPossible(after: previous) ? hexadecimal(scalar, "x", 2) : "\(scalar)")
      case "\u{0}"..<" ", "\u{7F}"..."\u{9F}": put(hexadecimal(scalar, "x", 2))
      case "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFE}", "\u{FFFF}": put(hexadecimal(scalar, "u", 4))
      default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
      previous = scalar
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private func hexadecimal(_ scalar: Unicode.Scalar, _ letter: String, _ count: Int) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\\(letter)" + String(repeating: "0", count: max(0, count - digits.count)) + digits
  }
}

enum TokenStart {
  /// Whether a token of YAML can begin after a scalar.
  static func isPossible(after scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case " ", "\t", "\n", "\r", "[", "{", ",", ":", "-", "?", "\"", "'": true
    default: !scalar.isASCII
    }
  }
}

enum AttributeText {
  /// What the typed text of an attribute's values begins with, if the model says it; empty otherwise.
  static func prefix(of type: AttributeType) -> String {
    switch type {
    case .string: "string:"
    case .integer16, .integer32, .integer64: "integer:"
    case .boolean: "boolean:"
    case .double: "double:"
    case .float: "float:"
    case .decimal: "decimal:"
    case .date: "date:"
    case .uuid: "uuid:"
    case .uri: "uri:"
    case .binaryData, .transformable: "data:"
    default: ""
    }
  }
}

/// Names as keys. Yams compares keys as Swift compares strings, for which two forms of a letter are equal, and without
/// a U+FEFF at the beginning: what is not composed, or begins so, is written as bytes, `%CC%81`.
enum KeyText {
  static func escaped(_ name: String) -> String {
    let composed = name.precomposedStringWithCanonicalMapping
    guard
      name.utf8.contains(UInt8(ascii: "%")) || !composed.utf8.elementsEqual(name.utf8)
        || name.unicodeScalars.first == "\u{FEFF}"
    else { return name }
    return name.utf8.map { byte in
      byte >= 0x80 || byte == UInt8(ascii: "%")
        ? "%" + String(byte, radix: 16, uppercase: true) : String(UnicodeScalar(byte))
    }.joined()
  }

  /// The name of a key; nil if an escape is invalid.
  static func name(_ key: String) -> String? {
    guard key.utf8.contains(UInt8(ascii: "%")) else { return key }
    var bytes: [UInt8] = []
    var rest = Array(key.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(value)
      rest.removeFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
