/// An element of a small document with its descendants, for model files and property lists. Stores are too large for
/// it.
package final class XMLElement: Sendable {
  /// What an element contains: another element, or text.
  package enum Node: Sendable {
    /// An element.
    case element(XMLElement)
    /// Text between two tags, with entities and character data sections resolved; white space is preserved.
    case text(String)
  }
  /// The name of the element, with its prefix if it has one.
  package let name: String
  /// In document order.
  package let attributes: [(name: String, value: String)]
  /// The elements and texts directly in this element, in document order.
  package let children: [Node]
  // Not the location itself, which has fields that elements do not need.
  private let file: String?
  private let line: Int32
  private let column: Int32
  /// The line and column at which the start tag ends.
  package var location: StoreLocation {
    StoreLocation(file: file, line: line > 0 ? Int(line) : nil, column: column > 0 ? Int(column) : nil)
  }

  init(name: String, attributes: [(name: String, value: String)], children: [Node], location: StoreLocation) {
    self.name = name
    self.attributes = attributes
    self.children = children
    file = location.file
    line = Int32(clamping: location.line ?? 0)
    column = Int32(clamping: location.column ?? 0)
  }

  /// The elements directly in this element, without its texts.
  package var elements: [XMLElement] {
    children.compactMap { if case .element(let element) = $0 { element } else { nil } }
  }
  /// All text directly in this element.
  package var text: String {
    children.map { if case .text(let text) = $0 { text } else { "" } }.joined()
  }
  /// The value of the attribute with that name, or nil.
  package subscript(attribute name: String) -> String? { attributes.first { $0.name == name }?.value }

  /// Parses a document.
  ///
  /// - Throws: as ``XMLReader``; `.limitExceeded` for more than `maximumNodes` nodes.
  package static func parse(
    _ bytes: Span<UInt8>, file: String? = nil, limits: XMLLimits = XMLLimits(depth: 128, attributes: 128),
    maximumNodes: Int = 4_000_000
  ) throws(PersistentStoreError) -> XMLElement {
    let builder = XMLElementBuilder(maximumNodes: maximumNodes)
    let reader = try XMLReader(handler: builder, limits: limits, file: file)
    builder.locate = { [unowned reader] in reader.location }
    try reader.parse(bytes)
    guard let root = builder.root else {
      throw PersistentStoreError(.malformed, "the document has no element", at: reader.location)
    }
    return root
  }
}

/// Builds elements from events, for a document or a part of one.
package final class XMLElementBuilder: XMLEventHandler {
  private struct Open {
    var name: String
    var attributes: [(name: String, value: String)]
    var children: [XMLElement.Node] = []
    var text: [UInt8] = []
    var location: StoreLocation
  }
  private var stack: [Open] = []
  private var nodes = 0
  private let maximumNodes: Int
  /// The outermost element, once it has ended.
  package private(set) var root: XMLElement?
  /// Returns the parser's current location.
  package var locate: () -> StoreLocation = { StoreLocation() }

  package init(maximumNodes: Int = 1_000_000) { self.maximumNodes = maximumNodes }

  package func startElement(_ name: XMLName, _ attributes: borrowing XMLAttributes) throws(PersistentStoreError) {
    nodes += 1
    guard nodes <= maximumNodes else {
      throw PersistentStoreError(.limitExceeded, "more than \(maximumNodes) elements")
    }
    if !stack.isEmpty { closeText() }
    var list: [(name: String, value: String)] = []
    for index in 0..<attributes.count {
      let value = attributes.value(index).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
      list.append((attributes.name(index)?.string ?? "", value))
    }
    stack.append(Open(name: name.string, attributes: list, location: locate()))
  }

  package func endElement(_ name: XMLName) throws(PersistentStoreError) {
    closeText()
    guard let open = stack.popLast() else { return }
    let element = XMLElement(
      name: open.name, attributes: open.attributes, children: open.children, location: open.location)
    if stack.isEmpty { root = element } else { stack[stack.count - 1].children.append(.element(element)) }
  }

  package func characters(_ bytes: Span<UInt8>) throws(PersistentStoreError) {
    guard !stack.isEmpty else { return }
    bytes.withUnsafeBufferPointer { stack[stack.count - 1].text.append(contentsOf: $0) }
  }

  private func closeText() {
    guard let last = stack.indices.last, !stack[last].text.isEmpty else { return }
    stack[last].children.append(.text(String(decoding: stack[last].text, as: UTF8.self)))
    stack[last].text.removeAll()
  }
}
