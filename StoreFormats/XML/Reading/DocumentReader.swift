import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Reads the elements of a store's document and refuses unexpected ones. Subclasses interpret the objects: one fills a
/// node table, one infers a model; this class reads only the head.
class DocumentReader: XMLEventHandler {
  private enum State {
    case start, database, info, infoText, metadata, list, object, attribute, relationship, skipped, end
  }

  final let file: String
  /// Behind a pointer: copying sixteen names, or counting references to them, would be noticeable at each element.
  private let names: UnsafeMutablePointer<DocumentNames>
  private var hasNames = false
  /// Set only while it reads, because reader and handler retain each other.
  private var reader: XMLReader?
  private var state = State.start
  private var item: InfoItem?
  private var seen: Set<InfoItem> = []
  private var sawMetadata = false
  private var list: PropertyListXMLBuilder?
  private var listDepth = 0
  private var text: UnsafeMutablePointer<UInt8>
  private var textCount = 0
  private var textCapacity = 4096

  /// The content of the head; nil until all of it was read.
  private(set) var header: StoreHeader?
  private var building = StoreHeader()

  /// The maximum depth of the metadata, set by the first reader, which every opening uses.
  final var maximumDepth = StoreLimits.greatestDepth

  /// The head that the metadata was read from, for a ``CanonicalScanner``.
  final var knownHead: KnownHead?

  /// Whether an object that cannot be read is passed to ``skipObject(because:hasBegun:)``, and the rest of the document
  /// is read.
  final var skipsDamagedObjects = false
  /// How many elements of the damaged object are open, itself included.
  private var skippedDepth = 0

  private let wantsHeadOnly: Bool
  private var hasHeader = false

  init(file: String, wantsHeadOnly: Bool = false) {
    self.file = file
    self.wantsHeadOnly = wantsHeadOnly
    text = .allocate(capacity: textCapacity)
    names = .allocate(capacity: 1)
  }

  deinit {
    text.deallocate()
    names.deallocate()
  }

  // MARK: For subclasses

  /// Called when an object starts.
  func beginObject(type: Bytes, identifier: Bytes) throws(PersistentStoreError) {}
  /// Called when an attribute of it starts; its text follows.
  func beginAttribute(name: Bytes, type: Bytes, valueType: Bytes?) throws(PersistentStoreError) {}
  /// Called with the raw text of the last attribute. It may be changed in place.
  func endAttribute(_ text: UnsafeMutableBufferPointer<UInt8>) throws(PersistentStoreError) {}
  func relationship(
    name: Bytes, type: Bytes, destination: Bytes, references: Bytes
  ) throws(PersistentStoreError) {}
  func endObject() throws(PersistentStoreError) {}
  /// Called with the reason for which the current object cannot be read, or the next one if it could not begin. What
  /// follows of it is not read.
  func skipObject(because error: PersistentStoreError, hasBegun: Bool) throws(PersistentStoreError) { throw error }
  /// Called with the number of bytes that were read, and their number in all.
  func noteProgress(_ read: Int, of size: Int) {}
  /// Called when the document is complete.
  func endDocument() throws(PersistentStoreError) {}
  /// Whether the rest of the document is not needed.
  private(set) final var isSatisfied = false

  /// The parser's current line.
  final var line: Int { reader?.line ?? scannedLine }
  /// The parser's current line and column.
  final var position: StoreLocation { reader?.location ?? StoreLocation(file: file, line: scannedLine) }
  /// The line of the current object, if a ``CanonicalScanner`` reads.
  final var scannedLine = 0

  // MARK: Reading

  /// Reads the document, or the required part of it.
  final func read(_ source: StoreSource, chunk: Int) throws(PersistentStoreError) {
    let reader = try XMLReader(handler: self, limits: Self.limits, file: file)
    self.reader = reader
    defer { self.reader = nil }
    names.initialize(to: DocumentNames(reader))
    hasNames = true
    var isFirst = true
    try source.readChunks(size: chunk) { bytes throws(PersistentStoreError) in
      if isFirst { building.declaration = XMLDeclaration(bytes) }
      isFirst = false
      do throws(PersistentStoreError) { try reader.feed(bytes) } catch {
        // Errors after the required part are not reported.
        if !isSatisfied { throw error }
      }
      return !isSatisfied
    }
    if isSatisfied { return }
    try reader.finish()
    guard state == .end else { throw malformed("the document is not a store") }
    try endDocument()
  }

  private static let limits = XMLLimits(depth: 600, attributes: 16)

  /// Parses the bytes up to the end of `<databaseInfo>`, and returns its line; nil if they do not have this form.
  final func readHead(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let reader = try? XMLReader(handler: self, limits: Self.limits, file: file) else { return nil }
    self.reader = reader
    defer { self.reader = nil }
    names.initialize(to: DocumentNames(reader))
    hasNames = true
    building.declaration = XMLDeclaration(bytes)
    guard (try? reader.feed(bytes)) != nil, hasHeader, state == .database else { return nil }
    return reader.line
  }

  final func startElement(_ name: XMLName, _ attributes: borrowing XMLAttributes) throws(PersistentStoreError) {
    guard skipsDamagedObjects, hasHeader else { return try start(name, attributes) }
    let before = state
    if before == .skipped {
      skippedDepth += 1
      return
    }
    do throws(PersistentStoreError) { try start(name, attributes) } catch {
      let depth: Int
      switch before {
      case .database where name == names.pointee.object: depth = 1
      case .object: depth = 2
      case .attribute, .relationship: depth = 3
      default: throw error
      }
      try skip(error, depth: depth)
    }
  }

  private func skip(_ error: PersistentStoreError, depth: Int) throws(PersistentStoreError) {
    try skipObject(because: error.located(position), hasBegun: state != .database)
    skippedDepth = depth
    state = .skipped
  }

  private func start(_ name: XMLName, _ attributes: borrowing XMLAttributes) throws(PersistentStoreError) {
    guard hasNames else { return }
    switch state {
    case .object:
      if name == names.pointee.attribute { return try startAttribute(attributes, names) }
      if name == names.pointee.relationship { return try startRelationship(attributes, names) }
      throw unexpected(name, in: "<object>")
    case .database:
      if name == names.pointee.object { return try startObject(attributes, names) }
      if isSatisfied { return }
      guard name == names.pointee.databaseInfo, header == nil else { throw unexpected(name, in: "<database>") }
      try refuseAttributes(attributes)
      state = .info
    case .info: try startInfo(name, attributes, names)
    case .metadata:
      guard name == names.pointee.plist, list == nil else { throw unexpected(name, in: "<metadata>") }
      list = PropertyListXMLBuilder(maximumDepth: maximumDepth)
      state = .list
      listDepth = 0
      try startListElement(name)
    case .list: try startListElement(name)
    case .start:
      guard name == names.pointee.database else {
        throw PersistentStoreError(
          .foreignFormat, "the root element is <\(name.string)>, but that of a store is <database>",
          at: StoreLocation(file: file))
      }
      try refuseAttributes(attributes)
      state = .database
    case .infoText, .attribute, .relationship, .skipped, .end: throw unexpected(name, in: "an element inside text")
    }
  }

  final func endElement(_ name: XMLName) throws(PersistentStoreError) {
    switch state {
    case .attribute:
      state = .object
      guard skipsDamagedObjects else {
        return try endAttribute(UnsafeMutableBufferPointer(start: text, count: textCount))
      }
      do throws(PersistentStoreError) {
        try endAttribute(UnsafeMutableBufferPointer(start: text, count: textCount))
      } catch {
        try skip(error, depth: 1)
      }
    case .relationship: state = .object
    case .skipped:
      skippedDepth -= 1
      if skippedDepth == 0 { state = .database }
    case .object:
      state = .database
      try endObject()
    case .list:
      listDepth -= 1
      try list?.end(line: line)
      if listDepth == 0 { state = .metadata }
    case .metadata: state = .info
    case .infoText:
      state = .info
      try endInfoItem()
    case .info:
      state = .database
      try endInfo()
    case .database:
      guard header != nil else { throw malformed("the <database> does not have a <databaseInfo>") }
      state = .end
    case .start, .end: break
    }
  }

  final func characters(_ bytes: Span<UInt8>) throws(PersistentStoreError) {
    switch state {
    case .attribute, .infoText:
      bytes.withUnsafeBufferPointer { append($0) }
    case .skipped: return
    case .list:
      let line = line
      try bytes.withUnsafeBufferPointer { buffer throws(PersistentStoreError) in
        try list?.characters(buffer, line: line)
      }
    default:
      // XML itself allows no characters below the space except white space.
      let isBlank = bytes.withUnsafeBufferPointer { $0.allSatisfy { $0 <= UInt8(ascii: " ") } }
      guard !isBlank else { return }
      guard skipsDamagedObjects, state == .object || state == .relationship else {
        throw malformed("text between elements")
      }
      try skip(malformed("text between elements"), depth: state == .object ? 1 : 2)
    }
  }

  @inline(__always) private func append(_ bytes: Bytes) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    if textCapacity - textCount < bytes.count { growText(bytes.count) }
    (text + textCount).update(from: source, count: bytes.count)
    textCount += bytes.count
  }

  private func growText(_ more: Int) {
    textCapacity = max(textCapacity * 2, textCount + more)
    let bigger = UnsafeMutablePointer<UInt8>.allocate(capacity: textCapacity)
    bigger.update(from: text, count: textCount)
    text.deallocate()
    text = bigger
  }

  // MARK: The head

  private func startInfo(
    _ name: XMLName, _ attributes: borrowing XMLAttributes, _ names: UnsafeMutablePointer<DocumentNames>
  ) throws(PersistentStoreError) {
    try refuseAttributes(attributes)
    if name == names.pointee.metadata {
      guard !sawMetadata else { throw malformed("a second <metadata>") }
      sawMetadata = true
      state = .metadata
      return
    }
    let found: InfoItem? =
      name == names.pointee.version
      ? .version : name == names.pointee.uuid ? .uuid : name == names.pointee.nextObjectID ? .nextObjectID : nil
    guard let found else { throw unexpected(name, in: "<databaseInfo>") }
    guard seen.insert(found).inserted else { throw malformed("a second <\(name.string)>") }
    item = found
    textCount = 0
    state = .infoText
  }

  private func startListElement(_ name: XMLName) throws(PersistentStoreError) {
    listDepth += 1
    try list?.begin(name.string, line: line)
  }

  private func endInfoItem() throws(PersistentStoreError) {
    guard let item else { return }
    try building.set(item, Bytes(start: text, count: textCount), file: file)
  }

  private func endInfo() throws(PersistentStoreError) {
    for item in InfoItem.allCases where !seen.contains(item) {
      throw malformed("the <databaseInfo> does not have a <\(item.rawValue)>")
    }
    if let list {
      guard case .dictionary(let entries) = try list.finish(line: line) else {
        throw malformed("the metadata is not a dictionary")
      }
      building.entries = try MetadataText.entries(of: entries)
    }
    building.endLine = line
    take(building)
  }

  /// Sets the content of the head, after which only objects follow.
  final func take(_ head: StoreHeader) {
    header = head
    hasHeader = true
    isSatisfied = wantsHeadOnly
  }

  // MARK: Objects

  @inline(__always)
  private func value(_ attributes: borrowing XMLAttributes, _ index: Int) -> Bytes {
    // Valid until the callback returns: the parser's own buffer.
    attributes.bytes(index)
  }

  private func startObject(_ attributes: borrowing XMLAttributes, _ names: UnsafeMutablePointer<DocumentNames>)
    throws(PersistentStoreError)
  {
    if isSatisfied { return }
    guard hasHeader else { throw malformed("an <object> before the <databaseInfo>") }
    var type: Bytes?
    var identifier: Bytes?
    for index in 0..<attributes.count {
      let name = attributes.name(index)
      if name == names.pointee.type {
        type = value(attributes, index)
      } else if name == names.pointee.id {
        identifier = value(attributes, index)
      } else {
        throw unknownAttribute(name, of: "object")
      }
    }
    guard let type else { throw missing("type", in: "object") }
    guard let identifier else { throw missing("id", in: "object") }
    state = .object
    try beginObject(type: type, identifier: identifier)
  }

  private func startAttribute(_ attributes: borrowing XMLAttributes, _ names: UnsafeMutablePointer<DocumentNames>)
    throws(PersistentStoreError)
  {
    if isSatisfied { return }
    var name: Bytes?
    var type: Bytes?
    var valueType: Bytes?
    for index in 0..<attributes.count {
      let key = attributes.name(index)
      if key == names.pointee.name {
        name = value(attributes, index)
      } else if key == names.pointee.type {
        type = value(attributes, index)
      } else if key == names.pointee.valueType {
        valueType = value(attributes, index)
      } else {
        throw unknownAttribute(key, of: "attribute")
      }
    }
    guard let name else { throw missing("name", in: "attribute") }
    guard let type else { throw missing("type", in: "attribute") }
    state = .attribute
    textCount = 0
    try beginAttribute(name: name, type: type, valueType: valueType)
  }

  private func startRelationship(_ attributes: borrowing XMLAttributes, _ names: UnsafeMutablePointer<DocumentNames>)
    throws(PersistentStoreError)
  {
    if isSatisfied { return }
    var name: Bytes?
    var type: Bytes?
    var destination: Bytes?
    var references = Bytes(start: nil, count: 0)
    for index in 0..<attributes.count {
      let key = attributes.name(index)
      if key == names.pointee.name {
        name = value(attributes, index)
      } else if key == names.pointee.type {
        type = value(attributes, index)
      } else if key == names.pointee.destination {
        destination = value(attributes, index)
      } else if key == names.pointee.references {
        references = value(attributes, index)
      } else {
        throw unknownAttribute(key, of: "relationship")
      }
    }
    guard let name else { throw missing("name", in: "relationship") }
    guard let type else { throw missing("type", in: "relationship") }
    guard let destination else { throw missing("destination", in: "relationship") }
    state = .relationship
    try relationship(name: name, type: type, destination: destination, references: references)
  }
}
