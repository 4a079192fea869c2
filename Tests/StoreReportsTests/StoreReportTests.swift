import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import StoreCoordination
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
