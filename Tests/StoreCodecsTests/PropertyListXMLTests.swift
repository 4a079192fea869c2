import Foundation
import FoundationXML
import StoreCodecs
import StorePrimitives
import TestSupport
import Testing

/// Drives the builder with another project's XML reader.
private final class Driver: NSObject, XMLParserDelegate {
  var builder = PropertyListXMLBuilder()
  var failure: PersistentStoreError?

  private func feed(
    _ parser: XMLParser, _ step: (inout PropertyListXMLBuilder, Int) throws(PersistentStoreError) -> Void
  ) {
    guard failure == nil else { return }
    do throws(PersistentStoreError) { try step(&builder, parser.lineNumber) } catch {
      failure = error
      parser.abortParsing()
    }
  }
  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) { feed(parser) { (builder, line) throws(PersistentStoreError) in try builder.begin(name, line: line) } }
  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    feed(parser) { (builder, line) throws(PersistentStoreError) in try builder.end(line: line) }
  }
  func parser(_ parser: XMLParser, foundCharacters text: String) { give(parser, Array(text.utf8)) }
  func parser(_ parser: XMLParser, foundCDATA data: Data) { give(parser, Array(data)) }
  private func give(_ parser: XMLParser, _ bytes: [UInt8]) {
    feed(parser) { (builder, line) throws(PersistentStoreError) in
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
      defer { copy.deallocate() }
      _ = copy.initialize(from: bytes)
      try builder.characters(UnsafeBufferPointer(copy), line: line)
    }
  }
}

/// nil where the XML itself is bad.
private func decode(_ bytes: [UInt8]) throws -> PropertyListValue? {
  let driver = Driver()
  let parser = XMLParser(data: Data(bytes))
  parser.delegate = driver
  let isWellFormed = parser.parse() && parser.parserError == nil
  if let failure = driver.failure { throw failure }
  guard isWellFormed else { return nil }
  return try driver.builder.finish(line: parser.lineNumber)
}
private func decode(_ text: String) throws -> PropertyListValue? { try decode(Array(text.utf8)) }

private let python: String? = {
  (try? ChildProcess.output(of: "python3", ["-c", "import plistlib"])).map { _ in "python3" }
}()

private func run(_ script: String, _ arguments: [String], _ input: [UInt8]) throws -> [UInt8] {
  let file = FileManager.default.temporaryDirectory.appendingPathComponent("plist-\(UUID().uuidString)")
  try Data(input).write(to: file)
  defer { try? FileManager.default.removeItem(at: file) }
  return [UInt8](try ChildProcess.run("python3", ["-c", script, file.path] + arguments).data)
}

private let sample: PropertyListValue = [
  "text": "a < b & c > d \"e\" 'f'\r\n\tg", "wide": "日本\u{1F600}é", "empty": "", "yes": true, "no": false, "é": 1,
  "e\u{301}": 2,
  "integers": .array([.integer(0), .integer(-1), .integer(Int128(Int64.min)), .integer(Int128(UInt64.max))]),
  "reals": .array([
    .real(0.1), .real(-0.0), .real(12), .real(.leastNonzeroMagnitude), .real(.greatestFiniteMagnitude),
    .real(.infinity), .real(-.infinity),
  ]),
  "date": .date(Date(timeIntervalSinceReferenceDate: 388_411_200)), "data": .data(Data((0..<200).map { UInt8($0) })),
  "no data": .data(Data()), "none": .array([]), "nothing": .dictionary([:]),
  "nested": ["a": ["b": .array([["c": "d"]])]],
]

@Suite("XML property list")
struct PropertyListXMLTests {
  @Test("a value is read back as it was written, to the bit")
  func roundTrip() throws {
    let bytes = try PropertyList.encodeXML(sample)
    #expect(try decode(bytes) == sample)
    var embedded: [UInt8] = []
    try PropertyList.appendXML(sample, layout: .embedded(depth: 3), to: &embedded)
    #expect(try decode(embedded) == sample)
    #expect(try decode(try PropertyList.encodeXML(["id": .uid(7)])) == ["id": .uid(7)])
  }

  @Test("metadata is written in the layout of Core Data's files")
  func embeddedLayout() throws {
    var bytes: [UInt8] = []
    try PropertyList.appendXML(
      ["NSStoreModelVersionHashes": ["Tag": .data(Data([1, 2, 3]))], "Version": 186, "Identifiers": .array([])],
      layout: .embedded(depth: 3), to: &bytes)
    let expected = """
                  <plist version="1.0">
                      <dict>
                          <key>Identifiers</key>
                          <array></array>
                          <key>NSStoreModelVersionHashes</key>
                          <dict>
                              <key>Tag</key>
                              <data>
      \t\tAQID
      \t\t</data>
                          </dict>
                          <key>Version</key>
                          <integer>186</integer>
                      </dict>
                  </plist>

      """
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }

  @Test(
    "dates are read back to the bit",
    arguments: [
      0, 0.5, -0.25, 388_411_200, 123456.789, 0.1 + 0.2, 782_943_211.123456, -63_113_904_000, 252_423_993_599, 1e-9,
      -86_400.75,
    ])
  func dates(_ interval: Double) throws {
    let value = PropertyListValue.date(Date(timeIntervalSinceReferenceDate: interval))
    #expect(try decode(try PropertyList.encodeXML(value)) == value)
  }

  @Test("a whole second is written without a fraction")
  func wholeSeconds() throws {
    let text = String(
      decoding: try PropertyList.encodeXML(.date(Date(timeIntervalSinceReferenceDate: 388_411_200))), as: UTF8.self)
    #expect(text.contains("<date>2013-04-23T12:00:00Z</date>"))
  }

  @Test(
    "what XML cannot represent is refused with its key path",
    arguments: [
      (["a": ["b": "x\0"]], "a/b"), (["a": .array(["\u{1}"])], "a/0"), (["a": "\u{FFFE}"], "a"),
      (["a": "\u{FFFF}"], "a"),
      (["a": .integer(Int128(UInt64.max) + 1)], "a"), (["a": ["CF$UID": 3]], "a"),
    ] as [(PropertyListValue, String)])
  func refusesToWrite(_ value: PropertyListValue, _ path: String) throws {
    let error = try #require(throws: PersistentStoreError.self) { try PropertyList.encodeXML(value) }
    #expect(error.code == .invalidValue)
    #expect(error.location.property == path)
  }

  @Test(
    "a date that cannot be represented is refused",
    arguments: [.nan, .infinity, 1e15, -63_113_904_001, 252_423_993_600, -1e-20] as [Double])
  func refusesDates(_ interval: Double) throws {
    // Not an argument itself: Foundation's description of a date traps on a not-a-number.
    let value: PropertyListValue = ["a": .date(Date(timeIntervalSinceReferenceDate: interval))]
    let error = try #require(throws: PersistentStoreError.self) { try PropertyList.encodeXML(value) }
    #expect(error.code == .invalidValue)
    #expect(error.location.property == "a")
  }

  @Test(
    "each form of a value is read",
    arguments: [
      ("<string/>", ""), ("<string>a<![CDATA[<b>]]>&amp;<!-- c -->d</string>", "a<b>&d"),
      ("<integer> 0x1F </integer>", 31),
      ("<integer>-0x1</integer>", -1), ("<integer>+7</integer>", 7), ("<real>-4.5e-11</real>", -4.5e-11),
      ("<true />", true),
      ("<real>nan</real>", .real(.nan)), ("<data> AQ\n ID </data>", .data(Data([1, 2, 3]))),
      ("<dict></dict>", .dictionary([:])),
      ("<plist><string> a </string></plist>", " a "),
    ] as [(String, PropertyListValue)])
  func reads(_ text: String, _ expected: PropertyListValue) throws {
    #expect(try decode(text) == expected)
  }

  @Test(
    "a file that is not a property list is refused with its line",
    arguments: [
      "<dict>\n<key>a</key></dict>", "<dict>\n<string>a</string></dict>", "<array>\n<key>a</key></array>",
      "<array>\n<set/></array>", "<array>\nx</array>", "<array>\n<integer>1.5</integer></array>",
      "<array>\n<integer/></array>",
      "<array>\n<integer>18446744073709551616</integer></array>", "<array>\n<real>1,5</real></array>",
      "<array>\n<real>0x1p3</real></array>", "<array>\n<date>2013-02-29T00:00:00Z</date></array>",
      "<array>\n<date>2013-02-28</date></array>", "<array>\n<data>A</data></array>", "<array>\n<true>x</true></array>",
      "<dict><key>a</key><true/>\n<key>a</key><true/></dict>", "<string>\n<b/></string>", "<plist>\n</plist>",
      "<plist><true/>\n<true/></plist>", "<dict><key>a</key>\n<key>b</key></dict>", "<integer>\n--1</integer>",
    ])
  func refuses(_ text: String) throws {
    let error = try #require(throws: PersistentStoreError.self) { _ = try decode(text) }
    #expect(error.code == .malformed)
    #expect(error.location.line == 2)
  }

  @Test("keys that look alike and have different scalars are two keys")
  func composedKeys() throws {
    let value = try decode("<dict><key>é</key><integer>1</integer><key>e\u{301}</key><integer>2</integer></dict>")
    #expect(value?.dictionaryValue?.count == 2)
  }

  @Test("nesting beyond the limit is refused")
  func depth() throws {
    var builder = PropertyListXMLBuilder()
    for _ in 0...PropertyList.maximumDepth { try builder.begin("array", line: 1) }
    do {
      try builder.begin("array", line: 9)
      Issue.record("513 arrays within one another were taken")
    } catch {
      #expect(error.code == .limitExceeded)
      #expect(error.location.line == 9)
    }
  }
}

@Suite("Property lists and Python", .enabled(if: python != nil, "python3 is not on this machine"))
struct PropertyListPythonTests {
  @Test("Python reads what is written, binary and XML, and writes it back the same")
  func bothWays() throws {
    let script = """
      import plistlib, sys
      value = plistlib.load(open(sys.argv[1], 'rb'))
      sys.stdout.buffer.write(plistlib.dumps(value, fmt=plistlib.FMT_BINARY))
      """
    for bytes in [try PropertyList.encodeBinary(sample), try PropertyList.encodeXML(sample)] {
      #expect(try PropertyList.decodeBinary(try run(script, [], bytes)) == sample)
    }
  }

  @Test("Python reads a streamed list of many strings and a large blob")
  func streamed() throws {
    var output: [UInt8] = []
    var writer = try BinaryPropertyListWriter(maximumObjectCount: 1000) { (bytes) throws(PersistentStoreError) in
      output.append(contentsOf: bytes)
    }
    var entries: [(key: BinaryPropertyListWriter.Reference, value: BinaryPropertyListWriter.Reference)] = []
    for number in 0..<400 { entries.append((try writer.string("key \(number)"), try writer.string("é \(number)"))) }
    let key = try writer.string("blob")
    let blob = try writer.beginData(count: 1_000_000)
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 500_000, alignment: 1)
    defer { chunk.deallocate() }
    chunk.initializeMemory(as: UInt8.self, repeating: 7)
    try writer.append(UnsafeRawBufferPointer(chunk))
    try writer.append(UnsafeRawBufferPointer(chunk))
    let top = try writer.dictionary(entries + [(key, blob)])
    try writer.finish(top: top)
    let script = """
      import plistlib, sys
      value = plistlib.load(open(sys.argv[1], 'rb'))
      print(len(value), value['key 7'] == 'é 7', value['blob'] == b'\\x07' * 1000000, end='')
      """
    #expect(String(decoding: try run(script, [], output), as: UTF8.self) == "401 True True")
  }
}

private let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared/corpus")
private let corpusFiles =
  ((try? FileManager.default.contentsOfDirectory(
    at: corpus.appendingPathComponent("plist"), includingPropertiesForKeys: nil)) ?? []).sorted { $0.path < $1.path }
private let binaryFiles = corpusFiles.filter { file in
  ((try? Data(contentsOf: file)) ?? Data()).starts(with: Array("bplist".utf8))
}

@Suite("Property-list corpus", .enabled(if: !corpusFiles.isEmpty, "the corpus is not on this machine"))
struct PropertyListCorpusTests {
  @Test(
    "a real binary file is read or refused with a location, within a second of processor time",
    arguments: binaryFiles)
  func binary(_ file: URL) throws {
    let bytes = [UInt8](try Data(contentsOf: file))
    let start = ProcessorTime.now()
    do {
      let value = try PropertyList.decodeBinary(bytes)
      let written = try PropertyList.encodeBinary(value)
      #expect(try PropertyList.decodeBinary(written) == value)
    } catch {
      #expect(error.location.offset != nil, "\(error)")
    }
    #expect(ProcessorTime.now() - start < 1)
  }

  @Test(
    "a binary file that Python reads has Python's values", .enabled(if: python != nil, "python3 is not here"),
    arguments: binaryFiles)
  func binaryAgainstPython(_ file: URL) throws {
    let bytes = [UInt8](try Data(contentsOf: file))
    guard let value = try? PropertyList.decodeBinary(bytes) else { return }
    let script = """
      import plistlib, sys
      sys.stdout.buffer.write(plistlib.dumps(plistlib.load(open(sys.argv[1], 'rb')), fmt=plistlib.FMT_BINARY))
      """
    let other = try run(script, [], bytes)
    guard !other.isEmpty else { return }
    #expect(try PropertyList.decodeBinary(other) == value)
  }

  @Test(
    "a real XML file is read or refused with a line",
    arguments: corpusFiles.filter { !binaryFiles.contains($0) })
  func xml(_ file: URL) throws {
    let bytes = [UInt8](try Data(contentsOf: file))
    do {
      guard let value = try decode(bytes) else { return }
      #expect(try decode(try PropertyList.encodeXML(value)) == value)
    } catch let error as PersistentStoreError {
      #expect(error.location.line != nil || error.code == .invalidValue, "\(error)")
    }
  }

  @Test("metadata of a real store is written byte for byte as it was")
  func metadata() throws {
    let folder = corpus.appendingPathComponent("xmlstores")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    var compared = 0
    for file in files.sorted(by: { $0.path < $1.path }) {
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      guard let start = text.range(of: "            <plist version=\"1.0\">"), let end = text.range(of: "</plist>\n")
      else { continue }
      let subtree = Array(text[start.lowerBound..<end.upperBound].utf8)
      let value = try #require(try decode(subtree))
      var written: [UInt8] = []
      try PropertyList.appendXML(value, layout: .embedded(depth: 3), to: &written)
      #expect(
        String(decoding: written, as: UTF8.self) == String(decoding: subtree, as: UTF8.self),
        "\(file.lastPathComponent)")
      compared += 1
    }
    #expect(compared > 0)
  }
}
