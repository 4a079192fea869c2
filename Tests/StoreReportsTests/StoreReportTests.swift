import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import StoreCoordination
import StoreJSON
import StoreMaintenance
import StoreReports
import TestSupport
import Testing

@Suite("Pages about stores") struct StoreReportTests {
  static let company = ReportSupport.package + "/SampleStores/Company/Company.xml"

  /// The page about a store, after changes to what it shows.
  static func page(_ path: String, _ change: (inout StoreReport) -> Void = { _ in }) throws -> String {
    let (coordinator, store, findings) = try StoreCheck(registry: .builtIn).opened(path)
    defer { withExtendedLifetime(coordinator) {} }
    var report = try StoreReport(store, findings: findings, name: (path as NSString).lastPathComponent)
    change(&report)
    let writer = ByteWriter()
    try report.write(to: writer)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  /// What the script of a page reads.
  static func data(_ page: String) throws -> [[String: Any]] {
    let start = try #require(page.range(of: "<script type=\"application/json\" id=\"data\">"))
    let end = try #require(page.range(of: "</script>", range: start.upperBound..<page.endIndex))
    let json = try JSONSerialization.jsonObject(with: Data(page[start.upperBound..<end.lowerBound].utf8))
    return try #require((json as? [String: Any])?["entities"] as? [[String: Any]])
  }

  /// The values that are texts, whole or, in brackets, in part.
  static func texts(_ entities: [[String: Any]]) -> [String] {
    entities.flatMap { ($0["values"] as? [[Any]] ?? []).joined() }.compactMap {
      $0 as? String ?? ($0 as? [String])?.first
    }
  }

  @Test("the page has every entity, every object, its values, and relationships as numbers of objects")
  func company() throws {
    let page = try Self.page(Self.company)
    let entities = try Self.data(page)
    #expect(entities.map { $0["name"] as? String } == ["Department", "Employee", "Manager", "Project", "Record"])
    let departments = entities[0]
    let references = try #require(departments["references"] as? [String])
    #expect(references.count == departments["total"] as? Int)
    let columns = try #require(departments["columns"] as? [[String: String]])
    let name = try #require(columns.firstIndex { $0["name"] == "name" })
    let members = try #require(columns.firstIndex { $0["name"] == "employees" })
    let values = try #require(departments["values"] as? [[Any]])
    #expect(values[name].contains { $0 as? String == "営業部" })
    let firsts = entities.map { $0["first"] as? Int ?? -1 }
    #expect(firsts[0] == 0 && firsts == firsts.sorted())
    for list in values[members] { #expect((list as? [Int])?.allSatisfy { $0 >= firsts[1] } == true) }
    #expect(page.contains("<svg xmlns") && page.contains("href=\"#entity-1\"") && page.contains("id=\"entity-1\""))
    #expect(page.contains("class=\"spark\""))
  }

  @Test("equal stores give equal pages, whatever format they are in, except for type and metadata")
  func deterministic() throws {
    #expect(try Self.page(Self.company) == Self.page(Self.company))
    let other = try Self.page(ReportSupport.package + "/SampleStores/Company/Company.plist")
    let one = try Self.page(Self.company)
    // The objects, the model and the data, but not the metadata between them.
    func compared(_ page: String) throws -> [Substring] {
      let objects = try #require(page.range(of: "id=\"objects\""))
      let metadata = try #require(page.range(of: "id=\"metadata\""))
      let data = try #require(page.range(of: "id=\"data\""))
      return [page[objects.upperBound..<metadata.lowerBound], page[data.upperBound...]]
    }
    #expect(try compared(one) == compared(other))
  }

  /// A store whose names and values would run, if a page showed them otherwise than as text.
  static func hostileStore(_ folder: TemporaryDirectory) throws -> String {
    let entities = ReportSupport.hostile.enumerated().map { index, text in
      EntityDescription(
        name: "\(text)\(index)", properties: [.attribute("p\(text)", .string), .attribute("name", .string)])
    }
    let model = try ManagedObjectModel(ModelDescription(entities: entities))
    var nodes = NodeTable(model: model)
    for entity in model.entities {
      for (number, text) in ReportSupport.hostile.enumerated() {
        let node = try nodes.addCacheNode(entity: entity.index, reference: .string("\(text)\(number)\(entity.index)"))
        for slot in entity.slots { try nodes.set(.string(text), slot: slot.index, of: node) }
      }
    }
    var entries = PropertyListDictionary()
    for text in ReportSupport.hostile { entries["k\(text)"] = .string(text) }
    let path = folder.path + "/hostile.plist"
    _ = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "BinaryPropertyList", entries: entries)), to: path,
      describedAs: "hostile", madeOf: [])
    return path
  }

  @Test("hostile names, values and metadata are text: nothing in the page runs but its own script")
  func hostile() throws {
    let folder = try TemporaryDirectory("report")
    let page = try Self.page(try Self.hostileStore(folder))
    #expect(page.components(separatedBy: "<script").count == 3 && page.components(separatedBy: "</script").count == 3)
    #expect(!page.contains("<img") && !page.contains("<!--") && page.components(separatedBy: "</svg").count > 1)
    for scalar in page.unicodeScalars {
      let isControl = scalar.value < 0x20 && scalar != "\n" || scalar.value == 0x202E || scalar.value == 0xFFFE
      #expect(!isControl)
      if isControl { return }
    }
    let entities = try Self.data(page)
    #expect(entities.count == ReportSupport.hostile.count)
    let values = Self.texts(entities)
    #expect(values.contains("<script>document.title='hacked'</script>") && values.contains("\\u202egnp.exe"))
  }

  @Test("the policy of the page allows its own script by its digest, and nothing from elsewhere")
  func policy() throws {
    let page = try Self.page(Self.company)
    let start = try #require(page.range(of: "<script>"))
    let end = try #require(page.range(of: "</script>", range: start.upperBound..<page.endIndex))
    let script = Array(page[start.upperBound..<end.lowerBound].utf8)
    let digest = try ChildProcess.output(
      of: "/bin/sh", ["-c", "openssl dgst -sha256 -binary 2>/dev/null | base64 || true"], input: Data(script)
    ).trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(page.contains("default-src 'none'") && page.contains("'sha256-"))
    #expect(script.count < 60_000)
    if digest.count == 44 { #expect(page.contains("'sha256-\(digest)'")) }
    for forbidden in ["src=\"http", "url(", "@import", "innerHTML", "insertAdjacentHTML", "document.write", "eval("] {
      #expect(!page.contains(forbidden), "\(forbidden)")
    }
  }

  @Test("a page holds as many objects and as much of a value as it is allowed, and says so")
  func limits() throws {
    let page = try Self.page(Self.company) {
      $0.maximumRowCount = 1
      $0.maximumValueLength = 5
    }
    let entities = try Self.data(page)
    #expect(entities.allSatisfy { ($0["references"] as? [Any])?.count ?? 9 <= 1 })
    #expect(page.contains("<dt>On this page</dt>"))
    let texts = Self.texts(entities)
    #expect(texts.contains { $0.hasSuffix("…") } && texts.allSatisfy { !$0.hasSuffix("…") || $0.count <= 5 })
    let none = try Self.data(try Self.page(Self.company) { $0.maximumObjectCount = 0 })
    #expect(none.allSatisfy { ($0["references"] as? [Any])?.isEmpty == true })
  }

  /// A store of one entity with a column of data.
  static func store(of values: [StoredValue], in folder: TemporaryDirectory) throws -> String {
    let types: [AttributeType] = [.binaryData, .string]
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Thing", properties: [.attribute("data", types[0]), .attribute("note", types[1])])
      ]))
    var nodes = NodeTable(model: model)
    for (number, value) in values.enumerated() {
      let node = try nodes.addCacheNode(entity: 0, reference: .integer(Int64(number)))
      let isText = if case .string = value { true } else { false }
      try nodes.set(value, slot: isText ? 1 : 0, of: node)
    }
    let path = folder.path + "/things.plist"
    _ = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "BinaryPropertyList")), to: path,
      describedAs: "things", madeOf: [])
    return path
  }

  /// The header of a picture of a size, with bytes behind it.
  static func png(_ width: UInt32, _ height: UInt32, count: Int = 40) -> Data {
    func big(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
    let head = [0x89] + Array("PNG\r\n\u{1A}\n\0\0\0\rIHDR".utf8) + big(width) + big(height)
    return Data(head + [UInt8](repeating: 0, count: max(0, count - head.count)))
  }

  @Test("pictures are on the page by their bytes and up to a size, and data is shown by what it contains")
  func contents() throws {
    let folder = try TemporaryDirectory("report")
    let jpeg = Data([0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC0, 0, 11, 8, 0, 3, 0, 2])
    let gif = Data(Array("GIF89a".utf8) + [5, 0, 6, 0, 0, 0, 0, UInt8(ascii: ","), 0, 0, 0, 0, 7, 0, 6, 0])
    let webp = Data(Array("RIFF0000WEBPVP8X".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 1, 0, 0])
    let list = Data("<plist version=\"1.0\"><dict><key>a</key><array><true/></array></dict></plist>".utf8)
    let svg = Data("<?xml version=\"1.0\"?><svg onload=\"alert(1)\"/>".utf8)
    let values: [StoredValue] = [
      .data(Self.png(6, 4)), .data(jpeg), .data(gif), .data(webp), .data(Self.png(60_000, 60_000)),
      .data(Self.png(6, 4, count: 200_000)), .data(Self.png(0, 4)), .data(list), .data(svg), .data(Data([1, 2, 3])),
      .string("one line"), .string("two\nlines \u{202E}"),
    ]
    let entities = try Self.data(try Self.page(try Self.store(of: values, in: folder)))
    let contents = try #require(entities[0]["contents"] as? [[Any]])
    let byRow = Dictionary(uniqueKeysWithValues: contents.map { ($0[1] as? Int ?? -1, $0[2]) })
    let names = (0..<10).map { (byRow[$0] as? [String: Any])?["name"] as? String }
    #expect(names[0] == "image/png, 6 × 4" && names[1] == "image/jpeg, 2 × 3")
    #expect(names[2] == "image/gif, 7 × 6" && names[3] == "image/webp, 9 × 2")
    #expect(names[4...].allSatisfy { $0 == nil }, "\(names)")
    let picture = (byRow[0] as? [String: Any])?["picture"] as? String
    #expect(picture == "data:image/png;base64,\(Self.png(6, 4).base64EncodedString())")
    let table = try #require((byRow[7] as? [String: Any])?["table"] as? [[Any]])
    #expect(table.map { $0[0] as? String } == ["kind", "content"], "\(table)")
    #expect(((byRow[8] as? [String: Any])?["table"] as? [[String]]) == [["kind", "image/svg+xml"]])
    #expect(byRow[9] == nil && byRow[10] == nil && byRow[11] as? String == "two\nlines \\u202e")
  }

  @Test("keys of decoded dictionaries are shown whatever they are, also those that the decoder uses for bytes")
  func keysOfContents() throws {
    let folder = try TemporaryDirectory("report")
    func list(_ members: String) -> StoredValue {
      .data(Data("<plist version=\"1.0\"><dict>\(members)</dict></plist>".utf8))
    }
    let picture = Self.png(6, 4).base64EncodedString()
    let values = [
      list("<key>base64</key><string>test</string>"), list("<key>base64</key><data>AQID</data>"),
      list("<key>inner</key><data>\(picture)</data>"),
    ]
    let entities = try Self.data(try Self.page(try Self.store(of: values, in: folder)))
    let contents = try #require(entities[0]["contents"] as? [[Any]])
    let byRow = Dictionary(uniqueKeysWithValues: contents.map { ($0[1] as? Int ?? -1, $0[2]) })
    /// The members of the dictionary in the data of a row.
    func members(_ row: Int) -> [[Any]] {
      let table = (byRow[row] as? [String: Any])?["table"] as? [[Any]]
      let content = table?.first { $0.first as? String == "content" }?.last as? [String: Any]
      return content?["table"] as? [[Any]] ?? []
    }
    #expect(members(0) as? [[String]] == [["base64", "test"]])
    #expect(members(1) as? [[String]] == [["base64", "<010203>"]])
    let inner = (members(2).first?.last as? [String: Any])?["table"] as? [[Any]] ?? []
    #expect(inner.map { $0.first as? String } == ["kind", "size", "bytes"], "\(inner)")
    #expect((inner.last?.last as? [String: Any])?["name"] as? String == "image/png, 6 × 4")
  }

  @Test("contents beyond the size that an object may have are replaced by a content that says so")
  func contentsLeftOut() throws {
    let names = ["a", "b", "c", "d", "e"]
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Thing", properties: names.map { .attribute($0, .binaryData) })
      ]))
    var nodes = NodeTable(model: model)
    let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    for slot in 0..<4 { try nodes.set(.data(Self.png(6, 4, count: 2_000_000)), slot: slot, of: node) }
    try nodes.set(.data(Data([1, 2, 3])), slot: 4, of: node)
    let folder = try TemporaryDirectory("report")
    let path = folder.path + "/things.plist"
    _ = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "BinaryPropertyList")), to: path,
      describedAs: "things", madeOf: [])
    let (coordinator, store, findings) = try StoreCheck(registry: .builtIn).opened(path)
    defer { withExtendedLifetime(coordinator) {} }
    let report = try StoreReport(store, findings: findings, name: "things.plist")
    let contents = report.contents(of: NodeHandle(entity: 0, row: 0)).map(\.line)
    #expect(contents.map { $0.utf8.count > 2_000_000 } == [true, true, false, false, false])
    #expect(contents.map { $0.utf8.count < 200 && $0.contains("not shown: ") } == [false, false, true, true, false])
  }

  @Test("contents end at a size of the page and at the work that hostile data makes, and the page says so")
  func contentsEnd() throws {
    let folder = try TemporaryDirectory("report")
    let pictures = (0..<100).map { _ in StoredValue.data(Self.png(6, 4, count: 90_000)) }
    let page = try Self.page(try Self.store(of: pictures, in: folder))
    #expect(page.utf8.count < 5_000_000 && page.contains("<dt>Not on this page</dt>"))
    #expect(try (Self.data(page)[0]["contents"] as? [Any])?.count ?? 0 > 10)
    #expect(!(try Self.page(Self.company).contains("<dt>Not on this page</dt>")))
  }

  @Test("problems are on the page with links to their objects, also those of stores that do not open")
  func problems() throws {
    let damaged = ReportSupport.package + "/SampleStores/Damaged/dangling.xml"
    let page = try Self.page(damaged)
    #expect(page.contains("class=\"problem\"") && page.contains("does not exist"))
    let error = #expect(throws: PersistentStoreError.self) {
      _ = try Self.page(ReportSupport.package + "/SampleStores/Damaged/truncated.plist")
    }
    #expect(error != nil)
  }

  @Test("a hundred thousand objects are on a page of reasonable size, and in pages of 25 rows")
  func many() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Row",
          properties: [.attribute("name", .string), .attribute("size", .integer32), .toOne("next", "Row")])
      ]))
    var nodes = NodeTable(model: model)
    for number in 1...100_000 {
      let node = try nodes.addCacheNode(entity: 0, reference: .integer(Int64(number)))
      try nodes.set(.string("row \(number)"), slot: 0, of: node)
      try nodes.set(.integer(Int64(number % 97)), slot: 1, of: node)
    }
    let folder = try TemporaryDirectory("report")
    let path = folder.path + "/many.plist"
    _ = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "BinaryPropertyList")), to: path,
      describedAs: "many", madeOf: [])
    let page = try Self.page(path)
    #expect(try (Self.data(page)[0]["references"] as? [Any])?.count == 100_000)
    #expect(page.utf8.count < 5_000_000)
  }
}
