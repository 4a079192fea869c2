import AtomicStoreSPI
import StoreCodecs

/// The attributes of one element, in the order in which Xcode writes them.
///
/// The orders were derived from the model files of Xcode 4 to 16 in public repositories; none contradicts another.
struct XcodeAttributes {
  struct Order {
    let names: [String]

    static let model = Order(names: [
      "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
      "sourceLanguage", "usedWithCloudKit", "usedWithSwiftData", "userDefinedModelVersionIdentifier", "macOSVersion",
      "iOSVersion",
    ])
    static let oldModel = Order(
      names: ["name", "userDefinedModelVersionIdentifier"]
        + model.names.filter {
          $0 != "name" && $0 != "userDefinedModelVersionIdentifier"
        })
    static let entity = Order(names: [
      "name", "representedClassName", "isAbstract", "parentEntity", "elementID", "versionHashModifier", "syncable",
      "codeGenerationType",
    ])
    static let attribute = Order(names: [
      "name", "optional", "transient", "attributeType", "composite", "derived", "derivationExpression",
      "minDateTimeInterval", "minValueString", "maxDateTimeInterval", "maxValueString", "defaultDateTimeInterval",
      "defaultValueString", "regularExpressionString", "usesScalarValueType", "preserveAfterDeletion",
      "valueTransformerName", "allowsCloudEncryption", "allowsExternalBinaryDataStorage", "customClassName", "indexed",
      "spotlightIndexingEnabled", "storedInTruthFile", "elementID", "versionHashModifier", "syncable",
    ])
    static let relationship = Order(names: [
      "name", "optional", "transient", "toMany", "minCount", "maxCount", "deletionRule", "ordered",
      "destinationEntity", "inverseName", "inverseEntity", "indexed", "spotlightIndexingEnabled", "elementID",
      "versionHashModifier", "syncable",
    ])
    static let fetchRequest = Order(names: [
      "name", "entity", "predicateString", "fetchLimit", "fetchBatchSize", "includeSubentities",
      "includePropertyValues", "includesPendingChanges", "returnObjectsAsFaults", "returnDistinctResults", "resultType",
    ])
    static let fetchIndexElement = Order(names: ["property", "expression", "expressionType", "type", "order"])
    static let named = Order(names: ["name"])

    static func of(_ element: String) -> Order {
      switch element {
      case "model": model
      case "entity": entity
      case "attribute", "fetchedProperty": attribute
      case "relationship": relationship
      case "fetchRequest": fetchRequest
      case "fetchIndexElement": fetchIndexElement
      default: named
      }
    }
  }

  private let order: Order
  private var list: [(rank: Int, name: String, value: String)] = []

  init(_ order: Order) { self.order = order }

  /// Adds an attribute; if the name occurs twice, the first one is kept.
  mutating func add(_ name: String, _ value: String?) {
    guard let value, !list.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return }
    // Attributes that Xcode is not known to write come last, in the order of the file.
    list.append((order.names.firstIndex(of: name) ?? order.names.count, name, value))
  }

  mutating func add(_ name: String, flag: Bool) { if flag { add(name, "YES") } }

  mutating func add(extras: [ModelExtra]) {
    for case .attribute(let name, let value) in extras { add(name, value) }
  }

  var sorted: [(name: String, value: String)] {
    list.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
      .map { ($0.element.name, $0.element.value) }
  }
}

/// Writes elements in Xcode's layout.
struct XcodeElementWriter {
  let bytes: ByteWriter
  private var depth = 0
  /// Whether the last start tag is not closed yet: an element without children is closed in it.
  private var isTagOpen = false

  init() {
    bytes = ByteWriter()
    bytes.append("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n")
  }

  private mutating func closeTag() {
    if isTagOpen { bytes.append(">\n") }
    isTagOpen = false
  }

  mutating func begin(_ name: String, _ attributes: XcodeAttributes) throws(PersistentStoreError) {
    closeTag()
    bytes.append(repeating: UInt8(ascii: " "), count: depth * 4)
    bytes.append("<")
    bytes.append(name)
    for (attribute, value) in attributes.sorted {
      guard Self.isName(attribute) else {
        throw PersistentStoreError(.unsupportedByFormat, "'\(attribute)' cannot be an attribute of <\(name)>")
      }
      guard XMLText.canHold(value) else {
        throw PersistentStoreError(
          .unsupportedByFormat, "the \(attribute) of a <\(name)> contains a character that XML cannot hold")
      }
      bytes.append(" ")
      bytes.append(attribute)
      bytes.append("=\"")
      append(value)
      bytes.append("\"")
    }
    isTagOpen = true
    depth += 1
  }

  /// Appends an attribute's text. Like Xcode, it does not escape `>`.
  private func append(_ value: String) {
    var isFirst = true
    for piece in value.utf8.split(separator: 0x3E, omittingEmptySubsequences: false) {
      if !isFirst { bytes.append(byte: UInt8(ascii: ">")) }
      isFirst = false
      bytes.append(xmlEscaped: String(Substring(piece)), inAttribute: true)
    }
  }

  mutating func end(_ name: String) {
    depth -= 1
    if isTagOpen {
      bytes.append("/>")
    } else {
      bytes.append(repeating: UInt8(ascii: " "), count: depth * 4)
      bytes.append("</")
      bytes.append(name)
      bytes.append(">")
    }
    isTagOpen = false
    // Xcode ends the file without a line break.
    if depth > 0 { bytes.append(byte: UInt8(ascii: "\n")) }
  }

  mutating func leaf(
    _ name: String, _ attribute: String, _ value: String, _ second: String? = nil, _ secondValue: String? = nil
  ) throws(PersistentStoreError) {
    var list = XcodeAttributes(.named)
    list.add(attribute, value)
    if let second { list.add(second, secondValue) }
    try begin(name, list)
    end(name)
  }

  /// Adds the elements among the extras unchanged, with indentation.
  mutating func add(elements extras: [ModelExtra]) throws(PersistentStoreError) {
    for case .element(let text) in extras {
      // It may come from a program: invalid XML would damage the file.
      _ = try XMLElement.parse(Array(text.utf8).span)
      closeTag()
      let indent = String(repeating: " ", count: depth * 4)
      bytes.append(indent)
      // Line breaks in the content are written as character references, so these are layout.
      bytes.append(text.replacing("\n", with: "\n" + indent))
      bytes.append(byte: UInt8(ascii: "\n"))
    }
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, XMLText.canHold(text) else { return false }
    if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) || first == UInt8(ascii: "-")
      || first == UInt8(ascii: ".")
    {
      return false
    }
    return text.utf8.allSatisfy {
      $0 >= 0x80 || (UInt8(ascii: "0")...UInt8(ascii: ":")).contains($0)
        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
        || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
  }
}
