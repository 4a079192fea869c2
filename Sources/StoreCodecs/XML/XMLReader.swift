import CLibXML2
import Synchronization

/// A name of an element or attribute, as the parser keeps it: one address for each spelling within one parse.
///
/// Compare names by `==`, which compares addresses; get the ones to compare with from ``XMLReader/intern(_:)``.
public struct XMLName: Equatable, Sendable {
  // The address lives as long as the reader's dictionary, and is only compared and read.
  @usableFromInline nonisolated(unsafe) let base: UnsafePointer<UInt8>

  @usableFromInline init(base: UnsafePointer<UInt8>) { self.base = base }

  @inlinable public static func == (one: XMLName, other: XMLName) -> Bool { one.address == other.address }

  /// A name with its prefix, which libxml2 keeps apart: otherwise `<p:object>` would pass for `<object>`.
  ///
  /// Not by xmlDictQLookup, whose entries are not those of xmlDictLookup.
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

  /// A number for the name, the same for each occurrence within one parse: a key for tables.
  @inlinable public var address: UInt { UInt(bitPattern: base) }

  /// The name as a string. Makes one: not for every row.
  public var string: String { String(cString: UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self)) }
}

/// The attributes of the element that just began. Good only during the call.
public struct XMLAttributes: ~Escapable {
  // Inlined into handlers: a call across modules for each name and value costs as much as the parser's own work on it.
  @usableFromInline let base: UnsafeMutablePointer<UnsafePointer<UInt8>?>?
  /// How many attributes the element has.
  public let count: Int
  // The parser's dictionary, for names with a prefix.
  private let names: OpaquePointer?

  @_lifetime(immortal)
  init(_ base: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, count: Int, names: OpaquePointer?) {
    self.base = base
    self.count = count
    self.names = names
  }

  // libxml2 gives five pointers for each: name, prefix, namespace, the value's begin and its end.
  /// The name with its prefix, as it was interned. `0 ..< count`.
  @inlinable public func name(_ index: Int) -> XMLName? {
    precondition(index >= 0 && index < count, "no such attribute")
    guard let base, let name = base[index * 5] else { return nil }
    return base[index * 5 + 1] == nil ? XMLName(base: name) : qualifiedName(index)
  }

  @usableFromInline func qualifiedName(_ index: Int) -> XMLName? {
    guard let base, let name = base[index * 5], let prefix = base[index * 5 + 1] else { return nil }
    return XMLName(name, prefix: prefix, in: names)
  }

  /// The value as bytes that are good only during the call: for handlers that must not pay for more.
  @inlinable public func bytes(_ index: Int) -> UnsafeBufferPointer<UInt8> {
    precondition(index >= 0 && index < count, "no such attribute")
    guard let base, let start = base[index * 5 + 3], let end = base[index * 5 + 4], end >= start else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeBufferPointer(start: start, count: end - start)
  }

  /// The value, references resolved.
  @_lifetime(borrow self)
  public func value(_ index: Int) -> Span<UInt8> {
    _overrideLifetime(Span(_unsafeElements: bytes(index)), borrowing: self)
  }
}

/// What a reader tells of a document. An error that a handler throws stops the parse.
public protocol XMLEventHandler: AnyObject {
  /// An element begins.
  func startElement(_ name: XMLName, _ attributes: borrowing XMLAttributes) throws(PersistentStoreError)
  /// The element that began last, of those still open, ends.
  func endElement(_ name: XMLName) throws(PersistentStoreError)
  /// Text, in pieces as they come: entities and chunk ends break it up. CDATA and white space too.
  func characters(_ bytes: Span<UInt8>) throws(PersistentStoreError)
}

/// Bounds on a document.
public struct XMLLimits: Sendable {
  /// Elements inside each other.
  public var depth: Int
  /// Attributes of one element.
  public var attributes: Int
  /// Creates limits; by default 64 elements within each other and 64 attributes for each.
  public init(depth: Int = 64, attributes: Int = 64) {
    self.depth = depth
    self.attributes = attributes
  }
}

/// Reads XML by libxml2's SAX2 interface, in chunks: no tree, no network, no entities but the five of XML itself.
///
/// A document type declaration is passed over, what it names never fetched; one that declares anything is refused.
/// What is not well-formed is an error with line and column, at the latest in ``finish()``.
public final class XMLReader {
  private let context: xmlParserCtxtPtr
  private let state: UnsafeMutablePointer<State>
  private let target: HandlerBox
  private let file: String?
  private var fedBytes = 0
  /// Bytes and quotes in pieces that made nothing happen, since the last one that did: they belong to one tag, comment
  /// or instruction.
  private var pendingBytes = 0
  private var pendingQuotes = 0
  private static let maximumPendingQuotes = 200_000
  /// More of what is pending, kept back until there is as much again: libxml2 goes through all that is pending for each
  /// piece, so that pieces of one size would take the square of their number.
  private var held: [UInt8] = []
  /// What may be pending before anything is kept back.
  private static let patience = 1 << 20
  /// libxml2 counts in 32 bits.
  private static let maximumPiece = 1 << 29

  fileprivate final class HandlerBox {
    let handler: any XMLEventHandler
    init(_ handler: any XMLEventHandler) { self.handler = handler }
  }

  fileprivate struct State {
    // The reader holds it. Reached this way nobody counts references to it, which at every event would cost a tenth
    // of the parse.
    let target: Unmanaged<HandlerBox>
    let limits: XMLLimits
    let file: String?
    var depth = 0
    /// Tags and texts so far.
    var events = 0
    var error: PersistentStoreError? { didSet { hasFailed = error != nil } }
    // Asked at every event: looking into the error itself would copy it.
    var hasFailed = false
    var context: xmlParserCtxtPtr?
  }

  /// The first bytes, kept back until there are enough: libxml2 mistakes encodings when the first piece is short.
  private var head: [UInt8] = []
  private static let headSize = 64

  // libxml2's tables are made once, before the first parser, whichever thread comes first.
  private static let initialize: Void = xmlInitParser()

  /// A reader that tells `handler`, which it keeps. `file` is for messages.
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
    // Only names that XML does not define come here. Where the document type names a file, libxml2 would take them for
    // declared there, and leave them out of the value without a word.
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
    // Attributes may be given values here for elements that do not have them, any number of times: nothing that a store
    // says.
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
      // The first one counts; libxml2 may report what follows from it as well.
      guard let state = XMLReader.state(context), state.pointee.error == nil, let error,
        error.pointee.level == XML_ERR_FATAL || error.pointee.level == XML_ERR_ERROR
      else { return }
      // Names with undeclared prefixes are no fault of form: namespaces mean nothing to a store.
      if error.pointee.domain == Int32(XML_FROM_NAMESPACE.rawValue) { return }
      let text = error.pointee.message.map { String(cString: $0) } ?? "the parser gives no reason"
      // Some go over two lines, all end with a line break.
      var message = text.split(whereSeparator: \.isNewline).joined(separator: " ")
      // What libxml2 calls extra content at the end is, inside an element, an end that came too early.
      if error.pointee.code == Int32(XML_ERR_DOCUMENT_END.rawValue), state.pointee.depth > 0 {
        message = "the document ends before its elements do"
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
      throw PersistentStoreError(.limitExceeded, "no memory for an XML parser", at: StoreLocation(file: file))
    }
    context = made
    state.pointee.context = made
    // Without NOENT `&amp;` in an attribute value would come as `&#38;`; there are no other entities that it could
    // bring in. With XML_PARSE_HUGE, or no relationship could name more than ten megabytes of objects. It switches off
    // the guards against depth, which has its limit here, and against entities that multiply, of which none is
    // declared.
    xmlCtxtUseOptions(
      context, Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOENT.rawValue | XML_PARSE_HUGE.rawValue))
  }

  deinit {
    // libxml2 makes a document of its own to keep a declared entity in, even where no tree is asked for, and leaves it
    // behind.
    if let document = context.pointee.myDoc {
      xmlFreeDoc(document)
      context.pointee.myDoc = nil
    }
    xmlFreeParserCtxt(context)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The name as this parse spells it, to compare with.
  public func intern(_ name: StaticString) -> XMLName {
    let text = name.withUTF8Buffer { xmlDictLookup(context.pointee.dict, $0.baseAddress, Int32($0.count)) }
    // Nil only without memory; then no name of the document equals this one.
    return XMLName(base: text ?? name.utf8Start)
  }

  /// Where the parser is: 1-based line and column.
  public var location: StoreLocation {
    StoreLocation(
      file: file, line: Self.line(state), column: context.pointee.input.map { Int($0.pointee.col) })
  }

  /// The line, without making a location: cheap.
  public var line: Int { context.pointee.input.map { Int($0.pointee.line) } ?? 0 }

  /// Parses the next piece of the document.
  ///
  /// - Throws: what the handler throws, with the place filled in; `.malformed`, `.limitExceeded`.
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
      // libxml2 grows its own buffer by what it is given.
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

  /// Says that the document is complete.
  public func finish() throws(PersistentStoreError) {
    try check()
    guard fedBytes > 0 else {
      throw PersistentStoreError(.malformed, "the document is empty", at: StoreLocation(file: file))
    }
    if head.count < Self.headSize { try parseHead() }
    try parseHeld()
    try parse(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
    guard state.pointee.depth == 0 else {
      throw PersistentStoreError(.malformed, "the document ends within an element", at: location)
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
    // Conversions between encodings report to the thread instead of the parser.
    let outer = silenceErrorReporting()
    defer { restoreErrorReporting(outer) }
    let events = state.pointee.events
    _ = xmlParseChunk(
      context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(truncatingIfNeeded: bytes.count),
      isLast ? 1 : 0)
    try check()
    // Not by the call's result, which also counts prefixes that nothing declares.
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

  /// libxml2 compares each attribute of a tag with each, which for a million takes minutes, before it tells of any. A
  /// tag that goes on for several pieces is measured before it is complete.
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

  /// Parses a document that is in memory.
  public func parse(_ bytes: Span<UInt8>) throws(PersistentStoreError) {
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
          : "elements inside each other more than \(state.pointee.limits.depth) deep", state)
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
    var error = refusal("no memory for another name", state)
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
