import CLibXML2
import Synchronization

/// The name of an element or attribute in the parser's representation: one address for each spelling within one parse.
///
/// Compare names with `==`, which compares addresses; get names to compare with from ``XMLReader/intern(_:)``.
public struct XMLName: Equatable, Sendable {
  // The address is valid as long as the reader's dictionary, and is only compared and read.
  @usableFromInline nonisolated(unsafe) let base: UnsafePointer<UInt8>

  @usableFromInline init(base: UnsafePointer<UInt8>) { self.base = base }

  @inlinable public static func == (one: XMLName, other: XMLName) -> Bool { one.address == other.address }

  /// A name with its prefix, which libxml2 stores separately: otherwise `<p:object>` would be treated as `<object>`.
  ///
  /// Not with xmlDictQLookup, whose entries differ from those of xmlDictLookup.
  fileprivate init?(_ name: UnsafePointer<UInt8>, prefix: UnsafePointer<UInt8>, in names: OpaquePointer?) {
    var whole: [UInt8] = []
    for part in [prefix, name] {
      if !whole.isEmpty { whole.append(UInt8(ascii: ":")) }
      var index = 0
      while part[index] != 0 {
        whole.append(part[index])
        index += 1
      }
    }
    guard let base = xmlDictLookup(names, whole, Int32(truncatingIfNeeded: whole.count)) else { return nil }
    self.base = base
  }

  /// A number for the name, the same for each occurrence within one parse, for use as a key.
  @inlinable package var address: UInt { UInt(bitPattern: base) }

  /// The name as a string. Creates a string: do not use it for every row.
  public var string: String { String(cString: UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self)) }
}

/// The attributes of the element that just started. Valid only during the call.
public struct XMLAttributes: ~Escapable {
  // Inlined into handlers: a call across modules for each name and value would cost as much as parsing it.
  @usableFromInline let base: UnsafeMutablePointer<UnsafePointer<UInt8>?>?
  /// The number of attributes.
  public let count: Int
  // The parser's dictionary, for names with a prefix.
  private let names: OpaquePointer?

  @_lifetime(immortal)
  init(_ base: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, count: Int, names: OpaquePointer?) {
    self.base = base
    self.count = count
    self.names = names
  }

  // libxml2 passes five pointers for each attribute: name, prefix, namespace, start and end of the value.
  /// The interned name with its prefix. Indexes are `0 ..< count`.
  @inlinable public func name(_ index: Int) -> XMLName? {
    precondition(index >= 0 && index < count, "the attribute does not exist")
    guard let base, let name = base[index * 5] else { return nil }
    return base[index * 5 + 1] == nil ? XMLName(base: name) : qualifiedName(index)
  }

  @usableFromInline func qualifiedName(_ index: Int) -> XMLName? {
    guard let base, let name = base[index * 5], let prefix = base[index * 5 + 1] else { return nil }
    return XMLName(name, prefix: prefix, in: names)
  }

  /// The value as bytes that are valid only during the call, for performance-critical handlers.
  @inlinable public func bytes(_ index: Int) -> UnsafeBufferPointer<UInt8> {
    precondition(index >= 0 && index < count, "the attribute does not exist")
    guard let base, let start = base[index * 5 + 3], let end = base[index * 5 + 4], end >= start else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeBufferPointer(start: start, count: end - start)
  }

  /// The value, references resolved.
  @_lifetime(borrow self)
  package func value(_ index: Int) -> Span<UInt8> {
    _overrideLifetime(Span(_unsafeElements: bytes(index)), borrowing: self)
  }
}

/// Receives the events of a document. An error that a handler throws ends parsing.
public protocol XMLEventHandler: AnyObject {
  /// Called when an element starts.
  func startElement(_ name: XMLName, _ attributes: borrowing XMLAttributes) throws(PersistentStoreError)
  /// Called when the innermost open element ends.
  func endElement(_ name: XMLName) throws(PersistentStoreError)
  /// Called with text in pieces, as entities and chunk boundaries divide it. Includes CDATA and white space.
  func characters(_ bytes: Span<UInt8>) throws(PersistentStoreError)
}

/// The limits of a document.
public struct XMLLimits: Sendable {
  /// The nesting depth of elements.
  var depth: Int
  /// The number of attributes of one element.
  var attributes: Int
  /// Creates limits; by default a depth of 64 and 64 attributes per element.
  public init(depth: Int = 64, attributes: Int = 64) {
    self.depth = depth
    self.attributes = attributes
  }
}

/// Parses XML with libxml2's SAX2 interface, in chunks: no tree, no network, no entities except the five of XML itself.
///
/// A document type declaration is skipped, and external subsets are never loaded; one that declares anything is
/// refused. XML that is not well-formed is an error with line and column, at the latest in ``finish()``.
public final class XMLReader {
  private let context: xmlParserCtxtPtr
  private let state: UnsafeMutablePointer<State>
  private let target: HandlerBox
  private let file: String?
  private var fedBytes = 0
  /// Bytes and quotes since the last event: they belong to one tag, comment or instruction.
  private var pendingBytes = 0
  private var pendingQuotes = 0
  private static let maximumPendingQuotes = 200_000
  /// Further pending bytes, held back until their number has doubled: libxml2 scans all pending bytes for each piece,
  /// so that pieces of constant size would take quadratic time.
  private var held: [UInt8] = []
  /// The number of pending bytes before anything is held back.
  private static let patience = 1 << 20
  /// libxml2 counts in 32 bits.
  private static let maximumPiece = 1 << 29

  fileprivate final class HandlerBox {
    let handler: any XMLEventHandler
    init(_ handler: any XMLEventHandler) { self.handler = handler }
  }

  fileprivate struct State {
    // Owned by the reader. Unmanaged, to avoid reference counting at every event, which would cost a tenth of the
    // parsing time.
    let target: Unmanaged<HandlerBox>
    let limits: XMLLimits
    let file: String?
    var depth = 0
    /// The number of tags and texts so far.
    var events = 0
    var error: PersistentStoreError? { didSet { hasFailed = error != nil } }
    // Checked at every event: reading the error itself would copy it.
    var hasFailed = false
    var context: xmlParserCtxtPtr?
  }

  /// The first bytes, held back until there are enough: libxml2 misdetects encodings if the first piece is short.
  private var head: [UInt8] = []
  private static let headSize = 64

  // libxml2's global tables are initialized once, before the first parser, on whichever thread comes first.
  private static let initialize: Void = xmlInitParser()

  /// Creates a reader that calls `handler`, which it retains. `file` is the name for messages.
  public init(handler: any XMLEventHandler, limits: XMLLimits = XMLLimits(), file: String? = nil)
    throws(PersistentStoreError)
  {
    _ = Self.initialize
    self.file = file
    target = HandlerBox(handler)
    var sax = xmlSAXHandler()
    sax.initialized = XML_SAX2_MAGIC
    sax.startElementNs = { context, name, prefix, _, _, _, count, defaulted, attributes in
      guard let state = XMLReader.state(context), let name, !state.pointee.hasFailed else { return }
      let names = state.pointee.context?.pointee.dict
      guard let name = XMLReader.name(name, prefix, in: names) else { return XMLReader.stopWithoutMemory(state) }
      XMLReader.start(state, name, XMLAttributes(attributes, count: Int(count), names: names))
    }
    sax.endElementNs = { context, name, prefix, _ in
      guard let state = XMLReader.state(context), let name, !state.pointee.hasFailed else { return }
      state.pointee.depth -= 1
      guard let name = XMLReader.name(name, prefix, in: state.pointee.context?.pointee.dict) else {
        return XMLReader.stopWithoutMemory(state)
      }
      state.pointee.target._withUnsafeGuaranteedRef { target in
        do throws(PersistentStoreError) {
          try target.handler.endElement(name)
        } catch {
          XMLReader.stop(state, error)
        }
      }
    }
    let text: charactersSAXFunc = { context, bytes, count in
      guard let state = XMLReader.state(context), let bytes, !state.pointee.hasFailed else { return }
      state.pointee.events &+= 1
      state.pointee.target._withUnsafeGuaranteedRef { target in
        do throws(PersistentStoreError) {
          let piece = UnsafeBufferPointer(start: bytes, count: Int(count))
          try target.handler.characters(Span(_unsafeElements: piece))
        } catch {
          XMLReader.stop(state, error)
        }
      }
    }
    sax.characters = text
    sax.ignorableWhitespace = text
    sax.cdataBlock = text
    // Called only for names that XML does not define. If the document type refers to a file, libxml2 would assume that
    // they are declared there, and silently omit them from the value.
    sax.getEntity = { context, name in
      guard let state = XMLReader.state(context), let name else { return nil }
      let shown = XMLName(base: name).string
      XMLReader.stop(state, XMLReader.refusal("the entity '\(shown)' is not declared", state))
      return nil
    }
    sax.entityDecl = { context, _, _, _, _, _ in
      guard let state = XMLReader.state(context) else { return }
      XMLReader.stop(state, XMLReader.refusal("entity declarations are refused", state))
    }
    sax.unparsedEntityDecl = { context, _, _, _, _ in
      guard let state = XMLReader.state(context) else { return }
      XMLReader.stop(state, XMLReader.refusal("entity declarations are refused", state))
    }
    // Attribute declarations can add default values to any number of elements, which a store does not contain.
    sax.attributeDecl = { context, _, _, _, _, _, choices in
      xmlFreeEnumeration(choices)
      guard let state = XMLReader.state(context) else { return }
      XMLReader.stop(state, XMLReader.refusal("attribute declarations are refused", state))
    }
    sax.elementDecl = { context, _, _, _ in
      guard let state = XMLReader.state(context) else { return }
      XMLReader.stop(state, XMLReader.refusal("element declarations are refused", state))
    }
    sax.notationDecl = { context, _, _, _ in
      guard let state = XMLReader.state(context) else { return }
      XMLReader.stop(state, XMLReader.refusal("notation declarations are refused", state))
    }
    sax.getParameterEntity = { context, _ in
      guard let state = XMLReader.state(context) else { return nil }
      XMLReader.stop(state, XMLReader.refusal("parameter entities are refused", state))
      return nil
    }
    sax.serror = { context, error in
      // The first error counts; libxml2 may report consequences of it as well.
      guard let state = XMLReader.state(context), state.pointee.error == nil, let error,
        error.pointee.level == XML_ERR_FATAL || error.pointee.level == XML_ERR_ERROR
      else { return }
      // Undeclared prefixes are not an error: stores do not use namespaces.
      if error.pointee.domain == Int32(XML_FROM_NAMESPACE.rawValue) { return }
      let text = error.pointee.message.map { String(cString: $0) } ?? "the parser gives no reason"
      // Some have two lines, all end with a line break.
      var message = text.split(whereSeparator: \.isNewline).joined(separator: " ")
      // What libxml2 calls extra content at the end is, inside an element, a document that ends too early.
      if error.pointee.code == Int32(XML_ERR_DOCUMENT_END.rawValue), state.pointee.depth > 0 {
        message = "the document ends inside an element"
      }
      let column = Int(error.pointee.int2)
      state.pointee.error = PersistentStoreError(
        .malformed, "not well-formed XML: \(message)",
        at: StoreLocation(
          file: state.pointee.file, line: XMLReader.line(state), column: column > 0 ? column : nil))
    }
    state = .allocate(capacity: 1)
    state.initialize(to: State(target: .passUnretained(target), limits: limits, file: file))
    guard let made = xmlCreatePushParserCtxt(&sax, state, nil, 0, nil) else {
      state.deinitialize(count: 1)
      state.deallocate()
      throw PersistentStoreError(.limitExceeded, "not enough memory for an XML parser", at: StoreLocation(file: file))
    }
    context = made
    state.pointee.context = made
    // Without NOENT, `&amp;` in an attribute value would be `&#38;`; there are no other entities that it could expand.
    // XML_PARSE_HUGE is necessary for relationships with more than ten megabytes of references. It disables the limits
    // on depth, which is limited here, and on entity expansion, which cannot occur because declarations are refused.
    xmlCtxtUseOptions(
      context, Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOENT.rawValue | XML_PARSE_HUGE.rawValue))
  }

  deinit {
    // libxml2 creates a document for a declared entity even without a tree, and does not free it.
    if let document = context.pointee.myDoc {
      xmlFreeDoc(document)
      context.pointee.myDoc = nil
    }
    xmlFreeParserCtxt(context)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Returns the name as this parse represents it, for comparisons.
  public func intern(_ name: StaticString) -> XMLName {
    let text = name.withUTF8Buffer { xmlDictLookup(context.pointee.dict, $0.baseAddress, Int32($0.count)) }
    // Nil only if memory is exhausted; then no name of the document equals it.
    return XMLName(base: text ?? name.utf8Start)
  }

  /// The parser's current line and column, starting at 1.
  public var location: StoreLocation {
    StoreLocation(
      file: file, line: Self.line(state), column: context.pointee.input.map { Int($0.pointee.col) })
  }

  /// The line, without creating a location.
  public var line: Int { context.pointee.input.map { Int($0.pointee.line) } ?? 0 }

  /// Parses the next chunk of the document.
  ///
  /// - Throws: The errors of the handler, with the location filled in; `.malformed`, `.limitExceeded`.
  public func feed(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    try check()
    fedBytes += bytes.count
    var rest = bytes[...]
    if head.count < Self.headSize {
      let missing = rest.prefix(Self.headSize - head.count)
      head.append(contentsOf: missing)
      rest = rest.dropFirst(missing.count)
      guard head.count == Self.headSize else { return }
      try parseHead()
    }
    while !rest.isEmpty {
      // libxml2 grows its own buffer by the size of the input.
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(256 * 1024))
      rest = rest.dropFirst(piece.count)
      guard pendingBytes >= Self.patience else {
        try parse(piece)
        continue
      }
      try countQuotes(piece)
      held.append(contentsOf: piece)
      if held.count >= min(pendingBytes, Self.maximumPiece) { try parseHeld() }
    }
  }

  private func parseHeld() throws(PersistentStoreError) {
    guard !held.isEmpty else { return }
    let bytes = held
    held = []
    try bytes.withUnsafeBufferPointer { (bytes) throws(PersistentStoreError) in
      try parse(UnsafeRawBufferPointer(bytes), isCounted: true)
    }
  }

  /// Must be called when the document is complete.
  public func finish() throws(PersistentStoreError) {
    try check()
    guard fedBytes > 0 else {
      throw PersistentStoreError(.malformed, "the document is empty", at: StoreLocation(file: file))
    }
    if head.count < Self.headSize { try parseHead() }
    try parseHeld()
    try parse(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
    guard state.pointee.depth == 0 else {
      throw PersistentStoreError(.malformed, "the document ends inside an element", at: location)
    }
  }

  private func parseHead() throws(PersistentStoreError) {
    try head.withUnsafeBufferPointer { (bytes) throws(PersistentStoreError) in
      try parse(UnsafeRawBufferPointer(bytes))
    }
  }

  private func parse(
    _ bytes: UnsafeRawBufferPointer, isLast: Bool = false, isCounted: Bool = false
  ) throws(PersistentStoreError) {
    // Encoding conversions report errors to the thread instead of the parser.
    let outer = silenceErrorReporting()
    defer { restoreErrorReporting(outer) }
    let events = state.pointee.events
    _ = xmlParseChunk(
      context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(truncatingIfNeeded: bytes.count),
      isLast ? 1 : 0)
    try check()
    // Not by the result of the call, which also counts undeclared prefixes.
    guard context.pointee.wellFormed == 1 else {
      throw PersistentStoreError(.malformed, "not well-formed XML", at: location)
    }
    guard state.pointee.events == events else {
      pendingBytes = 0
      pendingQuotes = 0
      return
    }
    pendingBytes += bytes.count
    if !isCounted { try countQuotes(bytes) }
  }

  /// libxml2 compares each attribute of a tag with all others, which takes minutes for a million, before it reports
  /// any. So a tag that spans several chunks is checked before it is complete.
  private func countQuotes(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    for byte in bytes where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { pendingQuotes += 1 }
    guard pendingQuotes <= Self.maximumPendingQuotes else {
      throw PersistentStoreError(
        .limitExceeded, "a tag or comment with more than \(Self.maximumPendingQuotes) quotes", at: location)
    }
  }

  private func check() throws(PersistentStoreError) {
    if let error = state.pointee.error { throw error }
  }

  /// Parses a document in memory.
  package func parse(_ bytes: Span<UInt8>) throws(PersistentStoreError) {
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in try feed(raw) }
    try finish()
  }

  // MARK: From the callbacks

  @inline(__always)
  private static func name(
    _ name: UnsafePointer<UInt8>, _ prefix: UnsafePointer<UInt8>?, in names: OpaquePointer?
  ) -> XMLName? {
    if let prefix { XMLName(name, prefix: prefix, in: names) } else { XMLName(base: name) }
  }

  @inline(__always)
  fileprivate static func state(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<State>? {
    context?.assumingMemoryBound(to: State.self)
  }

  private static func start(
    _ state: UnsafeMutablePointer<State>, _ name: XMLName, _ attributes: borrowing XMLAttributes
  ) {
    let count = attributes.count
    state.pointee.depth += 1
    state.pointee.events &+= 1
    if state.pointee.depth > state.pointee.limits.depth || count > state.pointee.limits.attributes {
      var error = refusal(
        count > state.pointee.limits.attributes
          ? "more than \(state.pointee.limits.attributes) attributes"
          : "elements are nested more than \(state.pointee.limits.depth) levels deep", state)
      error.code = .limitExceeded
      return stop(state, error)
    }
    state.pointee.target._withUnsafeGuaranteedRef { target in
      do throws(PersistentStoreError) {
        try target.handler.startElement(name, attributes)
      } catch {
        stop(state, error)
      }
    }
  }

  private static func stop(_ state: UnsafeMutablePointer<State>, _ error: PersistentStoreError) {
    guard state.pointee.error == nil else { return }
    let input = state.pointee.context?.pointee.input
    state.pointee.error = error.located(
      StoreLocation(
        file: state.pointee.file, line: input.map { Int($0.pointee.line) }, column: input.map { Int($0.pointee.col) }))
    if let context = state.pointee.context { xmlStopParser(context) }
  }

  private static func stopWithoutMemory(_ state: UnsafeMutablePointer<State>) {
    var error = refusal("not enough memory for another name", state)
    error.code = .limitExceeded
    stop(state, error)
  }

  private static func refusal(_ message: String, _ state: UnsafeMutablePointer<State>) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(file: state.pointee.file))
  }

  private static func line(_ state: UnsafeMutablePointer<State>) -> Int? {
    state.pointee.context?.pointee.input.map { Int($0.pointee.line) }
  }
}
