import Foundation
import StoreCodecs
import Testing

/// Writes events down, texts joined: `<a x='1'>text</a>`.
final class EventRecorder: XMLEventHandler {
  var events = ""
  var refusedName: String?

  func startElement(_ name: XMLName, _ attributes: borrowing XMLAttributes) throws(PersistentStoreError) {
    if name.string == refusedName { throw PersistentStoreError(.invalidValue, "no \(name.string) here") }
    events += "<" + name.string
    for index in 0..<attributes.count {
      let value = String(decoding: attributes.bytes(index), as: UTF8.self)
      events += " \(attributes.name(index)?.string ?? "?")='\(value)'"
    }
    events += ">"
  }

  func endElement(_ name: XMLName) { events += "</\(name.string)>" }

  func characters(_ text: Span<UInt8>) {
    text.withUnsafeBufferPointer { events += String(decoding: $0, as: UTF8.self) }
  }
}

/// The events of a document, fed in pieces of `size` bytes.
func events(
  of bytes: [UInt8], inPiecesOf size: Int = .max, limits: XMLLimits = XMLLimits()
) throws(PersistentStoreError) -> String {
  let recorder = EventRecorder()
  let reader = try XMLReader(handler: recorder, limits: limits, file: "test.xml")
  var rest = bytes[...]
  while !rest.isEmpty {
    let piece = Array(rest.prefix(size))
    rest = rest.dropFirst(piece.count)
    try piece.withUnsafeBufferPointer { (buffer) throws(PersistentStoreError) in
      try reader.feed(UnsafeRawBufferPointer(buffer))
    }
  }
  try reader.finish()
  return recorder.events
}

func events(of text: String, limits: XMLLimits = XMLLimits()) throws(PersistentStoreError) -> String {
  try events(of: Array(text.utf8), limits: limits)
}

/// The error that a document is refused with.
func refusal(of bytes: [UInt8], limits: XMLLimits = XMLLimits()) -> PersistentStoreError? {
  do throws(PersistentStoreError) {
    _ = try events(of: bytes, limits: limits)
    return nil
  } catch {
    return error
  }
}

func refusal(of text: String, limits: XMLLimits = XMLLimits()) -> PersistentStoreError? {
  refusal(of: Array(text.utf8), limits: limits)
}

/// UTF-16 units as bytes, the low one first.
func littleEndian(_ units: [UInt16]) -> [UInt8] {
  var bytes: [UInt8] = []
  for unit in units {
    bytes.append(UInt8(truncatingIfNeeded: unit))
    bytes.append(UInt8(truncatingIfNeeded: unit >> 8))
  }
  return bytes
}

/// What an XML store looks like, with something of everything.
let specimen = """
  <?xml version="1.0" standalone="yes"?>
  <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

  <database>
      <!-- a comment --><?instruction of some kind?>
      <object type="TOGO" id='z1&#x30;2' note="a &lt;b&gt; &amp; &quot;c&quot;">
          <attribute name="title" type="string">Tëxt 漢字 😀 &lt;&amp;&#233;</attribute>
          <empty/><data><![CDATA[<raw> & ]]]]></data>
      </object>
  </database>
  """

@Suite("XML reader") struct XMLReaderTests {
  @Test("elements, attributes and text come in order, with references resolved")
  func order() throws {
    let read = try events(of: specimen)
    #expect(
      read == """
        <database>
            
            <object type='TOGO' id='z102' note='a <b> & "c"'>
                <attribute name='title' type='string'>Tëxt 漢字 😀 <&é</attribute>
                <empty></empty><data><raw> & ]]</data>
            </object>
        </database>
        """)
  }

  @Test("the input may be cut anywhere")
  func pieces() throws {
    let bytes = Array(specimen.utf8)
    let expected = try events(of: bytes)
    for size in 1...bytes.count { #expect(try events(of: bytes, inPiecesOf: size) == expected) }
  }

  @Test("long texts may be cut anywhere too, within a character as well", arguments: [1, 3, 250, 4096, 65_536])
  func longText(_ size: Int) throws {
    let text = String(repeating: "漢é😀 text\n", count: 8000)
    let value = text.prefix(2000).replacing("\n", with: " ")
    let document = Array("<?xml version=\"1.0\"?><a x=\"\(value)\">\(text)</a>".utf8)
    #expect(try events(of: document, inPiecesOf: size) == "<a x='\(value)'>\(text)</a>")
  }

  @Test("a text of many megabytes is read")
  func largeText() throws {
    let text = String(repeating: "0123456789abcdef", count: 1_500_000)
    let read = try events(of: Array("<a>\(text)</a>".utf8))
    #expect(read.utf8.count == text.utf8.count + 7)
  }

  @Test("line ends become LF")
  func lineEnds() throws {
    for size in [1, 2, 70, 1000] {
      let document = Array(("<a>" + String(repeating: "x", count: 64) + "\r\ny\rz\n</a>").utf8)
      #expect(
        try events(of: document, inPiecesOf: size) == "<a>" + String(repeating: "x", count: 64) + "\ny\nz\n</a>")
    }
  }

  @Test("names are compared by identity, prefix included")
  func names() throws {
    final class NameCounter: XMLEventHandler {
      var object: XMLName?
      var prefixed: XMLName?
      var id: XMLName?
      var prefixedID: XMLName?
      var counts = [0, 0, 0]
      var ids: [String] = []
      func startElement(_ name: XMLName, _ attributes: borrowing XMLAttributes) {
        counts[name == object ? 0 : name == prefixed ? 1 : 2] += 1
        for index in 0..<attributes.count {
          let isID = attributes.name(index) == id
          guard isID || attributes.name(index) == prefixedID else { continue }
          let value = attributes.value(index)
          ids.append((isID ? "id=" : "p:id=") + value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        }
      }
      func endElement(_ name: XMLName) {}
      func characters(_ text: Span<UInt8>) {}
    }
    let counter = NameCounter()
    let reader = try XMLReader(handler: counter)
    counter.object = reader.intern("object")
    counter.prefixed = reader.intern("p:object")
    counter.id = reader.intern("id")
    counter.prefixedID = reader.intern("p:id")
    let objects = "<object x='1' p:id='z8' id='z7'/><p:object/><q:object/><object/><objects/>"
    try reader.parse(Array("<root xmlns:p='urn:p'>\(objects)</root>".utf8).span)
    #expect(counter.counts == [2, 1, 3])
    #expect(counter.ids == ["p:id=z8", "id=z7"])
  }

  @Test("the location of an error far down is exact")
  func locations() throws {
    let recorder = EventRecorder()
    recorder.refusedName = "b"
    let document = Array(("<a>" + String(repeating: "\n", count: 100_000) + "  <b></b></a>").utf8)
    do throws(PersistentStoreError) {
      try XMLReader(handler: recorder, file: "far.xml").parse(document.span)
      Issue.record("the handler's error was lost")
    } catch {
      #expect(error.code == .invalidValue)
      #expect(error.message == "no b here")
      #expect(error.location == StoreLocation(file: "far.xml", line: 100_001, column: 5))
    }
    #expect(recorder.events == "<a>" + String(repeating: "\n", count: 100_000) + "  ")
  }

  @Test("nothing is read after an error")
  func stickyError() throws {
    let recorder = EventRecorder()
    let reader = try XMLReader(handler: recorder)
    let wrong = Array(("<a></b>" + String(repeating: " ", count: 100)).utf8)
    for _ in 0..<2 {
      do throws(PersistentStoreError) {
        try wrong.withUnsafeBufferPointer { (buffer) throws(PersistentStoreError) in
          try reader.feed(UnsafeRawBufferPointer(buffer))
        }
        Issue.record("accepted")
      } catch {
        #expect(error.code == .malformed)
      }
    }
    #expect(throws: PersistentStoreError.self) { try reader.finish() }
    #expect(recorder.events == "<a>")
  }

  @Test("a byte order mark distinguishes UTF-8 and UTF-16", arguments: [1, 2, 5, 1000])
  func encodings(_ size: Int) throws {
    let text = "<?xml version=\"1.0\"?><a>é漢😀" + String(repeating: "x", count: 300) + "</a>"
    let expected = try events(of: text)
    #expect(try events(of: [0xEF, 0xBB, 0xBF] + Array(text.utf8), inPiecesOf: size) == expected)
    let little = littleEndian(Array(text.utf16))
    #expect(try events(of: [0xFF, 0xFE] + little, inPiecesOf: size) == expected)
    let big = littleEndian(text.utf16.map(\.byteSwapped))
    #expect(try events(of: [0xFE, 0xFF] + big, inPiecesOf: size) == expected)
  }

  @Test("a declared encoding is used")
  func declaredEncoding() throws {
    let document = Array("<?xml version='1.0' encoding='ISO-8859-1'?><a>".utf8) + [0xE9] + Array("</a>".utf8)
    #expect(try events(of: document) == "<a>é</a>")
  }
}

@Suite("XML reader, hostile input") struct XMLReaderHostileTests {
  @Test("a document cut off anywhere is refused")
  func truncation() {
    let bytes = Array(specimen.utf8)
    for length in 0..<bytes.count {
      let error = refusal(of: Array(bytes[..<length]))
      #expect(error?.code == .malformed, "cut after \(length) bytes")
      #expect(error?.location.file == "test.xml")
    }
  }

  @Test("an empty document is reported as empty")
  func empty() {
    let error = refusal(of: "")
    #expect(error?.code == .malformed)
    #expect(error?.message == "the document is empty")
  }

  @Test(
    "what is not well-formed is refused with its line",
    arguments: [
      ("<a>\n</b>", 2), ("<a>\n<b></a>", 2), ("<a/>\n<b/>", 2), ("<a/>\ntext", 2), ("<a/>\n&amp;", 2), ("text", 1),
      ("   ", 1), ("<a x=1/>", 1), ("<a x='1' x='2'/>", 1), ("<a x='<'/>", 1), ("<a>&</a>", 1), ("<a>\n&#0;</a>", 2),
      ("<a>&#x1;</a>", 1), ("<a>\n\u{1}</a>", 2), ("<a>\0</a>", 1), ("<a b='\0'/>", 1), ("<a/>\0", 1),
      ("<a>]]></a>", 1),
      ("<a>\u{FFFE}</a>", 1), ("<a>&#xD800;</a>", 1), ("<a>&#x110000;</a>", 1), ("<1a/>", 1),
      ("<a><!-- -- --></a>", 1),
      (" <?xml version='1.0'?><a/>", 1), ("<a>\n&unknown;</a>", 2), ("<a b='&unknown;'/>", 1), ("<a", 1),
      ("<a><![CDATA[x</a>", 1), ("<?xml version='1.0' encoding='no-such-code'?><a/>", 1),
    ])
  func malformed(_ text: String, _ line: Int) throws {
    let error = try #require(refusal(of: text))
    #expect(error.code == .malformed)
    #expect(error.location.line == line, "\(error)")
    #expect(!error.message.isEmpty && error.message.last?.isWhitespace == false)
    #expect(!error.message.contains("\n"))
  }

  @Test(
    "bytes that are invalid in the encoding are refused",
    arguments: [
      [0xFF], [0xC3], [0xC0, 0xAF], [0xE9, 0x20], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80],
      [0xF0, 0x9F, 0x98],
    ] as [[UInt8]])
  func badUTF8(_ bytes: [UInt8]) {
    for padding in [0, 100, 1000] {
      let space = [UInt8](repeating: 0x20, count: padding)
      #expect(refusal(of: Array("<a>".utf8) + space + bytes + Array("</a>".utf8))?.code == .malformed)
      #expect(refusal(of: Array("<a b='".utf8) + space + bytes + Array("'/>".utf8))?.code == .malformed)
    }
  }

  @Test("bad bytes in other encodings are refused too, and nothing is printed")
  func badUTF16() {
    let text = "<a>" + String(repeating: "x", count: 200)
    var units = Array(text.utf16)
    units.append(0xD800)
    units += Array("</a>".utf16)
    #expect(refusal(of: [0xFF, 0xFE] + littleEndian(units))?.code == .malformed)
    #expect(refusal(of: [0xFF, 0xFE] + Array(specimen.utf8))?.code == .malformed)
    let ascii = Array("<?xml version='1.0' encoding='EUC-JP'?><a>".utf8) + [0xFF, 0xFF, 0x8E] + Array("</a>".utf8)
    #expect(refusal(of: ascii)?.code == .malformed)
  }

  @Test("a billion laughs are refused at the first declaration")
  func billionLaughs() throws {
    var document = "<?xml version='1.0'?>\n<!DOCTYPE lolz [\n<!ENTITY lol0 'lol'>\n"
    for level in 1...9 {
      let inner = String(repeating: "&lol\(level - 1);", count: 10)
      document += "<!ENTITY lol\(level) '\(inner)'>\n"
    }
    document += "]>\n<lolz>&lol9;</lolz>"
    let error = try #require(refusal(of: document))
    #expect(error.code == .malformed)
    #expect(error.message == "entity declarations are refused")
    #expect(error.location.line == 3)
  }

  @Test("an external entity is refused and its file not read")
  func externalEntity() throws {
    let secret = FileManager.default.temporaryDirectory.appending(path: "xml-reader-\(UUID().uuidString).txt")
    try Data("the secret".utf8).write(to: secret)
    defer { try? FileManager.default.removeItem(at: secret) }
    let recorder = EventRecorder()
    let document = Array("<!DOCTYPE a [<!ENTITY x SYSTEM 'file://\(secret.path)'>]><a>&x;</a>".utf8)
    #expect(throws: PersistentStoreError.self) { try XMLReader(handler: recorder).parse(document.span) }
    #expect(recorder.events == "")
  }

  @Test(
    "every kind of declaration is refused",
    arguments: [
      "<!ENTITY x 'y'>", "<!ENTITY % x 'y'>", "<!ENTITY % x SYSTEM 'file:///etc/hostname'> %x;", "%x;",
      "<!ENTITY x PUBLIC 'p' 'http://localhost/x'>", "<!NOTATION n SYSTEM 'n'><!ENTITY x SYSTEM 's' NDATA n>",
      "<!ATTLIST a b CDATA 'c'>", "<!ATTLIST a b (c|d) 'c'>", "<!ELEMENT a (b,(c|d)*)>", "<!NOTATION n SYSTEM 'n'>",
    ])
  func declarations(_ declaration: String) {
    #expect(refusal(of: "<!DOCTYPE a [\(declaration)]><a/>")?.code == .malformed)
    #expect(refusal(of: "<!DOCTYPE a SYSTEM 'no-such.dtd' [\(declaration)]><a/>")?.code == .malformed)
  }

  @Test("a document type that names a file is accepted, and the file's entities are not")
  func externalSubset() throws {
    let type = FileManager.default.temporaryDirectory.appending(path: "xml-reader-\(UUID().uuidString).dtd")
    try Data("<!ENTITY x 'from the file'><!ATTLIST a b CDATA 'from the file'>".utf8).write(to: type)
    defer { try? FileManager.default.removeItem(at: type) }
    let head = "<!DOCTYPE a SYSTEM 'file://\(type.path)'>"
    #expect(try events(of: head + "<a>text</a>") == "<a>text</a>")
    #expect(refusal(of: head + "<a>&x;</a>")?.message == "the entity 'x' is not declared")
    #expect(refusal(of: head + "<a b='&x;'/>")?.message == "the entity 'x' is not declared")
  }

  @Test("nesting is limited", arguments: [1, 2, 64, 255])
  func depth(_ depth: Int) throws {
    func nested(_ levels: Int) -> String {
      String(repeating: "<a>", count: levels) + String(repeating: "</a>", count: levels)
    }
    let limits = XMLLimits(depth: depth)
    #expect(try events(of: nested(depth), limits: limits) == nested(depth))
    #expect(refusal(of: nested(depth + 1), limits: limits)?.code == .limitExceeded)
    #expect(refusal(of: String(repeating: "<a>", count: 200_000), limits: limits)?.code == .limitExceeded)
  }

  @Test("the number of attributes is limited")
  func limits() {
    let limits = XMLLimits(attributes: 2)
    #expect(refusal(of: "<a x='1' y='2'/>", limits: limits) == nil)
    #expect(refusal(of: "<a x='1' y='2' z='3'/>", limits: limits)?.code == .limitExceeded)
  }

  @Test("a million attributes are refused before they are compared with each other", .timeLimit(.minutes(60)))
  func millionAttributes() {
    let attributes = (0..<1_000_000).map { "a\($0)=''" }.joined(separator: " ")
    #expect(refusal(of: "<a><b \(attributes)/></a>")?.code == .limitExceeded)
  }

  @Test("an attribute value of more than ten megabytes is read whole")
  func largeAttribute() throws {
    let document = "<a b='" + String(repeating: "x", count: 11_000_000) + "'/>"
    #expect(try events(of: document).utf8.count > 11_000_000)
  }

  @Test(
    "tokens of megabytes give the same events in pieces of any size, and the same location of an error",
    arguments: [
      ("<a>one<!--", "-->two<b x='1'/></a>"), ("<a>one<?x ", "?>two<b/></a>"), ("<a x='", "'>one<b/></a>"),
      ("<a>", "<b/>end</a>"),
    ])
  func longPieces(_ around: (String, String)) throws {
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000_000)
    let bytes = Array(around.0.utf8) + long + Array(around.1.utf8)
    let whole = try events(of: bytes)
    #expect(whole.utf8.count > 8)
    for size in [65_536, 1_000_003] { #expect(try events(of: bytes, inPiecesOf: size) == whole) }
    // The end is missing, and then an end that belongs to nothing.
    for bad in [Array(bytes.dropLast(4)), bytes + Array("</c>".utf8)] {
      let error = try #require(refusal(of: bad))
      #expect(error.code == .malformed && error.location.line == 1)
    }
  }

  @Test("a comment over many pieces takes linear, not quadratic time")
  func longComment() throws {
    func seconds(_ count: Int) throws -> Double {
      let bytes = Array("<a><!--".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: count) + Array("--></a>".utf8)
      func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
      }
      let start = now()
      #expect(try events(of: bytes, inPiecesOf: 65_536) == "<a></a>")
      return now() - start
    }
    let (one, eight) = (try seconds(4_000_000), try seconds(32_000_000))
    #expect(eight < 0.2 || eight < one * 28, "\(one) s became \(eight) s")
  }

  @Test("one byte changed never traps")
  func flippedBytes() {
    let bytes = Array(specimen.utf8)
    for index in bytes.indices {
      for change in [0x01, 0x20, 0x80, 0xFF] as [UInt8] {
        var copy = bytes
        copy[index] ^= change
        if let error = refusal(of: copy) {
          #expect(error.code == .malformed)
        }
      }
    }
  }
}

/// Files that applications wrote, beside the package where someone has them.
private let corpus = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../shared/corpus/xmlstores").standardizedFileURL

@Suite("XML reader, Apple's files", .enabled(if: FileManager.default.fileExists(atPath: corpus.path)))
struct XMLReaderCorpusTests {
  @Test("every store that Apple's frameworks wrote is read, in one piece and in small ones")
  func corpusFiles() throws {
    let files = try #require(FileManager.default.enumerator(at: corpus, includingPropertiesForKeys: nil))
    var count = 0
    for case let file as URL in files {
      guard let data = try? Data(contentsOf: file), data.starts(with: Data("<?xml".utf8)), data.count < 1_000_000 else {
        continue
      }
      let bytes = [UInt8](data)
      let whole = try events(of: bytes)
      #expect(whole.hasPrefix("<database>"), "\(file.lastPathComponent)")
      #expect(try events(of: bytes, inPiecesOf: 777) == whole)
      count += 1
    }
    #expect(count > 10)
  }
}
