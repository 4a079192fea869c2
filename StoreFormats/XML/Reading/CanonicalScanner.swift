import AtomicStoreSPI
import StoreCodecs

/// Reads documents of exactly the form that Core Data and this format write, several times faster than an XML parser.
/// It does not understand what never occurs in them (entity references, carriage returns, elements or attributes in
/// another order …), and then gives up. It skips comments between elements, which people add.
///
/// It never reports *what* is wrong: the caller starts again with libxml2, which reports all errors with their
/// location. So the only requirement is that everything it accepts has the same meaning there; FORMAT.md describes the
/// form.
///
/// The head, up to `</databaseInfo>`, is that which the metadata was read from, if its bytes are the same, or else read
/// by ``PlainHead``, or parsed by libxml2. The rest is scanned one element at a time. An incomplete element at the end
/// of the available bytes is scanned again when there are more; the handler is not called before it is complete.
final class CanonicalScanner {
  private enum Phase { case head, database, object, tail, surprised }
  private enum Outcome { case needsMore, surprise }

  /// More than the head of any real store, whose metadata may contain a model.
  private static let maximumHead = 64 << 20
  /// Elements are kept in memory completely, so larger ones are left to libxml2.
  private static let maximumElement = 64 << 20
  /// The text of a shorter element is read from its start again when there are more bytes.
  private static let longElement = 4096
  /// No token of the form is longer: what does not match although this many bytes are available cannot match.
  private static let reach = 64

  private let target: DocumentReader
  /// The head of the file when its metadata was read; nil if nothing is known.
  private var known: KnownHead?
  private let wantsHeadOnly: Bool
  private var phase = Phase.head
  private var line = 0
  /// Followed by ``reach`` zeros, which end every search: a document does not contain a zero.
  private var buffer: UnsafeMutablePointer<UInt8>
  private var capacity = 512 * 1024
  private var count = 0
  /// The start of the next element.
  private var position = 0
  /// The number of bytes required before the next attempt: a long element is not searched for its end with each piece.
  private var worthwhile = 0
  /// How far the end of the head was searched.
  private var searched = 0
  /// How far the text of the element at ``position`` was read when the bytes ended: its distance and its lines. 0 for
  /// none.
  private var textDistance = 0
  private var textLines = 0

  /// - Parameter isContinuation: Whether the bytes begin with an object, because the head is in another part of the
  ///   document. Lines are then counted from 1.
  init(_ target: DocumentReader, isContinuation: Bool = false, wantsHeadOnly: Bool = false) {
    self.target = target
    self.wantsHeadOnly = wantsHeadOnly
    known = target.knownHead
    if wantsHeadOnly { capacity = 32 * 1024 }
    if isContinuation {
      phase = .database
      line = 1
    }
    buffer = .allocate(capacity: capacity + Self.reach)
  }

  deinit { buffer.deallocate() }

  /// Whether the document was understood completely.
  func isComplete() -> Bool {
    if phase == .database || phase == .object { scan() }
    if phase == .tail { scanTail() }
    return phase == .tail
  }

  /// The line at the end of a part that other parts follow; nil if the part was not understood completely.
  func endOfPart() -> Int? {
    if phase == .database || phase == .object { scan() }
    guard phase == .database else { return nil }
    var cursor = buffer + position
    Self.skipBlanks(&cursor, &line)
    position = cursor - buffer
    return position == count ? line : nil
  }

  /// Scans the next bytes. Returns whether it can continue: false after anything unexpected.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let room = room(for: bytes.count)
    if let source = bytes.baseAddress, let target = room.baseAddress {
      target.copyMemory(from: source, byteCount: bytes.count)
    }
    return takeRoom(bytes.count)
  }

  /// Scans that many bytes, which are in the memory of ``room(for:)``.
  func takeRoom(_ more: Int) -> Bool {
    count += more
    (buffer + count).update(repeating: 0, count: Self.reach)
    if phase == .head { takeHead() }
    if wantsHeadOnly { return phase == .head }
    if phase == .database || phase == .object, count - position >= worthwhile { scan() }
    if phase == .tail { scanTail() }
    return phase != .surprised
  }

  /// Memory for the next bytes, behind those that were not scanned yet.
  func room(for more: Int) -> UnsafeMutableRawBufferPointer {
    if position > 0 {
      buffer.update(from: buffer + position, count: count - position)
      count -= position
      position = 0
    }
    if capacity - count < more {
      let larger = max(capacity * 2, count + more)
      let bigger = UnsafeMutablePointer<UInt8>.allocate(capacity: larger + Self.reach)
      bigger.update(from: buffer, count: count)
      buffer.deallocate()
      buffer = bigger
      capacity = larger
    }
    return UnsafeMutableRawBufferPointer(start: buffer + count, count: more)
  }

  // MARK: The head

  private func takeHead() {
    if let known, takeKnownHead(known) { return }
    guard let end = endOfHead() else {
      // Other documents can be distinguished from a store by their first lines.
      if count > Self.maximumHead || count > 512 && afterKnownBeginning() == nil { phase = .surprised }
      return
    }
    guard let start = afterKnownBeginning(), let line = readHead(end, from: start) else {
      phase = .surprised
      return
    }
    begin(after: end, line: line)
  }

  private func begin(after end: Int, line: Int) {
    self.line = line
    position = end
    phase = .database
  }

  /// Continues after the known head, if the document begins with it, or may do so with the next bytes. False, and
  /// nothing is known any more, if it does not: the file was replaced or changed.
  private func takeKnownHead(_ known: KnownHead) -> Bool {
    guard known.agrees(with: UnsafeRawBufferPointer(start: buffer, count: count)) else {
      self.known = nil
      return false
    }
    if count >= known.bytes.count { begin(after: known.bytes.count, line: known.endLine) }
    return true
  }

  /// The line at the end of the head; nil if it does not have the form of one.
  private func readHead(_ end: Int, from start: Int) -> Int? {
    let head = Bytes(start: buffer, count: end)
    if let header = PlainHead.read(head, from: start, file: target.file, maximumDepth: target.maximumDepth) {
      target.take(header)
      return header.endLine
    }
    return wantsHeadOnly ? nil : target.readHead(UnsafeRawBufferPointer(head))
  }

  /// The bytes of the head that was read, with its line.
  var foundHead: KnownHead? {
    guard phase == .database else { return nil }
    return KnownHead(UnsafeRawBufferPointer(start: buffer, count: position), endLine: line)
  }

  /// The offset after the first `</databaseInfo>`.
  private func endOfHead() -> Int? {
    let word: StaticString = "</databaseInfo>"
    while searched + word.utf8CodeUnitCount <= count {
      if buffer[searched] == UInt8(ascii: "<"), Self.matches(buffer + searched, word) {
        return searched + word.utf8CodeUnitCount
      }
      searched += 1
    }
    return nil
  }

  /// The offset after `<database>`, if the document is UTF-8, and has no document type declaration with an effect; nil
  /// otherwise.
  private func afterKnownBeginning() -> Int? {
    let declarations: [StaticString] = [
      XMLDeclaration.plain.text, XMLDeclaration.standaloneNo.text, XMLDeclaration.standaloneYes.text,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n",
      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n",
    ]
    guard let declaration = declarations.first(where: { Self.matches(buffer, $0) }) else { return nil }
    var start = buffer + declaration.utf8CodeUnitCount
    let type: StaticString = "<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">"
    if Self.matches(start, type) { start += type.utf8CodeUnitCount }
    while start.pointee == UInt8(ascii: "\n") || start.pointee == UInt8(ascii: " ") { start += 1 }
    let root: StaticString = "<database>"
    return Self.matches(start, root) ? start - buffer + root.utf8CodeUnitCount : nil
  }

  // MARK: The objects

  /// Scans as far as the available bytes allow.
  private func scan() {
    do throws(PersistentStoreError) {
      if try scanElements() == .surprise {
        phase = .surprised
        return
      }
    } catch {
      // An invalid value is reported by libxml2, with its location.
      phase = .surprised
      return
    }
    let rest = count - position
    guard rest <= Self.maximumElement else {
      phase = .surprised
      return
    }
    // A long text goes on where it was left.
    worthwhile = rest > 4096 && textDistance == 0 ? rest * 2 : 0
  }

  private func scanElements() throws(PersistentStoreError) -> Outcome {
    // Use local variables only: class properties would be loaded and stored at every use.
    let end = buffer + count
    var here = buffer + position
    var line = self.line
    var isInObject = phase == .object
    let target = target
    defer {
      position = here - buffer
      self.line = line
      if phase != .tail { phase = isInObject ? .object : .database }
    }
    /// Whether the bytes cannot match the form, or may only be incomplete.
    func stuck(_ place: UnsafeMutablePointer<UInt8>) -> Outcome { end - place > Self.reach ? .surprise : .needsMore }

    while true {
      var cursor = here
      var lines = line
      Self.skipBlanks(&cursor, &lines)
      guard isInObject else {
        if Self.matches(cursor, "<object type=\"") {
          let type = cursor + 14
          guard let typeEnd = Self.endOfValue(type, &cursor), Self.matches(typeEnd, "\" id=\"") else {
            return stuck(cursor)
          }
          let identifier = typeEnd + 6
          guard let identifierEnd = Self.endOfValue(identifier, &cursor), Self.matches(identifierEnd, "\">") else {
            return stuck(cursor)
          }
          target.scannedLine = lines
          try target.beginObject(type: Self.bytes(type, typeEnd), identifier: Self.bytes(identifier, identifierEnd))
          here = identifierEnd + 2
          line = lines
          isInObject = true
          continue
        }
        guard Self.matches(cursor, "</database>") else {
          guard let end = Self.endOfComment(&cursor, &lines) else { return stuck(cursor) }
          here = end
          line = lines
          continue
        }
        here = cursor + 11
        line = lines
        phase = .tail
        return .needsMore
      }
      if Self.matches(cursor, "<attribute name=\"") {
        let name = cursor + 17
        guard let nameEnd = Self.endOfValue(name, &cursor), Self.matches(nameEnd, "\" type=\"") else {
          return stuck(cursor)
        }
        let type = nameEnd + 8
        guard let typeEnd = Self.endOfValue(type, &cursor) else { return stuck(cursor) }
        var text = typeEnd + 2
        var valueType: Bytes?
        if typeEnd[1] != UInt8(ascii: ">") {
          guard Self.matches(typeEnd, "\" valuetype=\"") else { return stuck(cursor) }
          let start = typeEnd + 13
          guard let valueEnd = Self.endOfValue(start, &cursor), valueEnd[1] == UInt8(ascii: ">") else {
            return stuck(cursor)
          }
          valueType = Self.bytes(start, valueEnd)
          text = valueEnd + 2
        }
        guard let textEnd = endOfText(text, of: here, &cursor, &lines) else { return stuck(cursor) }
        try target.beginAttribute(
          name: Self.bytes(name, nameEnd), type: Self.bytes(type, typeEnd), valueType: valueType)
        // It may be decoded in place, because it is not read again.
        try target.endAttribute(UnsafeMutableBufferPointer(start: text, count: textEnd - text))
        here = textEnd + 12
        line = lines
        continue
      }
      if Self.matches(cursor, "<relationship name=\"") {
        guard let link = Self.link(&cursor) else { return stuck(cursor) }
        try target.relationship(
          name: link.name, type: link.type, destination: link.destination, references: link.references)
        here = link.end
        line = lines
        continue
      }
      guard Self.matches(cursor, "</object>") else {
        guard let end = Self.endOfComment(&cursor, &lines) else { return stuck(cursor) }
        here = end
        line = lines
        continue
      }
      try target.endObject()
      here = cursor + 9
      line = lines
      isInObject = false
    }
  }

  /// The end of the text of the attribute that begins at `element`, before its closing tag; nil, with the position of
  /// what does not match in `cursor`. A long text that goes on in the next bytes is not read from its start again.
  @inline(__always) private func endOfText(
    _ text: UnsafeMutablePointer<UInt8>, of element: UnsafeMutablePointer<UInt8>,
    _ cursor: inout UnsafeMutablePointer<UInt8>, _ lines: inout Int
  ) -> UnsafeMutablePointer<UInt8>? {
    var start = text
    if textDistance > 0 {
      start = max(text, element + textDistance)
      lines += textLines
    }
    let linesBefore = lines
    guard let end = Self.endOfText(start, &cursor, &lines), Self.matches(end, "</attribute>") else {
      if cursor - element > Self.longElement {
        textDistance = cursor - element
        textLines += lines - linesBefore
      }
      return nil
    }
    if textDistance > 0 {
      textDistance = 0
      textLines = 0
    }
    return end
  }

  private func scanTail() {
    while position < count,
      buffer[position] == UInt8(ascii: "\n") || buffer[position] == UInt8(ascii: " ")
        || buffer[position] == UInt8(ascii: "\t")
    {
      position += 1
    }
    if position < count { phase = .surprised }
  }
}
