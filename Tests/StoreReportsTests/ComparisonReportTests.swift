import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import StoreCoordination
import TestSupport
import Testing

@testable import StoreReports

@Suite("Pages about two stores") struct ComparisonReportTests {
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Team", properties: [.attribute("name", .string), .toMany("members", "Person", inverse: "team")]),
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string), .attribute("age", .integer32), .toOne("team", "Team", inverse: "members"),
      ]),
  ])

  /// A team with members: name and age of each.
  private static func store(_ people: [(Int64, String, Int64)], uuid: UUID = UUID()) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(Self.model)
    var nodes = NodeTable(model: model)
    let (team, person) = (try #require(model.entity(named: "Team")), try #require(model.entity(named: "Person")))
    func slot(_ name: String, _ entity: Entity) -> Int { entity.slot(named: name) ?? -1 }
    let one = try nodes.addCacheNode(entity: team.index, reference: .integer(1))
    try nodes.set(.string("Red"), slot: slot("name", team), of: one)
    for (reference, name, age) in people {
      let node = try nodes.addCacheNode(entity: person.index, reference: .integer(reference))
      try nodes.set(.string(name), slot: slot("name", person), of: node)
      try nodes.set(.integer(age), slot: slot("age", person), of: node)
      try nodes.set(.toOne(nodes.objectReference(of: one)), slot: slot("team", person), of: node)
    }
    let members = people.map { ObjectReference(entityName: "Person", reference: .integer($0.0)) }
    try nodes.set(.toMany(members), slot: slot("members", team), of: one)
    return StoreSnapshot(
      nodes: nodes, metadata: StoreMetadata(storeType: "XML", uuid: uuid, model: Self.model))
  }

  private static func report(_ one: StoreSnapshot, _ other: StoreSnapshot) -> ComparisonReport {
    func side(_ name: String, _ store: StoreSnapshot) -> ComparisonReport.Side {
      ComparisonReport.Side(name: name, type: "XML", nodes: store.nodes, model: store.nodes.model)
    }
    return ComparisonReport(
      side("old.xml", one), side("new.xml", other),
      differences: GraphComparison.differences(one, other, options: .init(comparesModel: true)))
  }

  private static func page(_ report: ComparisonReport) throws -> String {
    let writer = ByteWriter()
    try report.write(to: writer)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  @Test("changed values stand beside each other, and objects that one store has are listed with their values")
  func differences() throws {
    let one = try Self.store([(1, "Ann", 30), (2, "Ben", 40), (3, "Cleo", 50)])
    let other = try Self.store([(1, "Ann", 31), (2, "Ben", 40), (4, "Dora", 20)])
    let report = Self.report(one, other)
    #expect(report.counts == (1, 1, 2))
    let page = try Self.page(report)
    #expect(page.contains("<td class=\"old\">30</td><td class=\"new\">31</td>"))
    #expect(page.contains("<span class=\"soft\">Person/1</span> Ann"))
    #expect(page.contains("<h3 class=\"added\">1 object added</h3>") && page.contains("Person/4"))
    #expect(
      page.contains("<span class=\"soft\">name:</span> &quot;Cleo&quot;"), "what is gone is there with its values")
    #expect(!page.contains("Person/2</span> Ben"))
    // Of a to-many what it lost and gained, with how many members there are.
    #expect(page.contains("<td class=\"old\">− Person/3 (3 members)</td><td class=\"new\">+ Person/4 (3 members)</td>"))
    #expect(page.contains("<option value=\"age\">age</option>"))
  }

  @Test("equal stores give a page that says so, and equal comparisons give equal pages")
  func equal() throws {
    let store = try Self.store([(1, "Ann", 30)])
    let page = try Self.page(Self.report(store, store))
    #expect(page.contains("<span class=\"sound\">none</span>") && !page.contains("id=\"filter\""))
    let other = try Self.store([(1, "Ann", 31)], uuid: store.metadata.uuid)
    #expect(try Self.page(Self.report(store, other)) == Self.page(Self.report(store, other)))
  }

  @Test("lists end at the maximum, and say how many more there are")
  func limits() throws {
    let one = try Self.store((1...40).map { (Int64($0), "p", 1) })
    let other = try Self.store((21...60).map { (Int64($0), "p", 2) })
    var report = Self.report(one, other)
    report.maximumRowCount = 3
    report.maximumMemberCount = 2
    let page = try Self.page(report)
    #expect(page.components(separatedBy: "<p class=\"soft\">and 17 more</p>").count == 4)
    #expect(page.components(separatedBy: "<tbody data-kind=").count == 1 + 3 * 3 + 1)
    #expect(page.contains("− Person/1, Person/2, and 18 more (40 members)"))
  }

  @Test("entities that only one model has are in the diagram of both", arguments: [false, true])
  func removedEntity(isOld: Bool) throws {
    let whole = try Self.store([])
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Alone", properties: [.attribute("name", .string)])]))
    let other = StoreSnapshot(
      nodes: NodeTable(model: model), metadata: StoreMetadata(storeType: "XML", model: model.description))
    let page = try Self.page(isOld ? Self.report(whole, other) : Self.report(other, whole))
    #expect(page.contains("class=\"box removed\"") && page.contains("class=\"box added\""))
  }

  @Test("hostile values and names of files are text, and no script but the page's runs")
  func hostile() throws {
    let texts = ReportSupport.hostile
    let one = try Self.store(texts.indices.map { (Int64($0 + 1), texts[$0], 1) })
    let other = try Self.store(texts.indices.map { (Int64($0 + 2), texts[texts.count - 1 - $0], 2) })
    var report = Self.report(one, other)
    report = ComparisonReport(
      ComparisonReport.Side(name: texts[0], type: texts[0], nodes: one.nodes, model: one.nodes.model),
      report.second, differences: GraphComparison.differences(one, other, options: .init()), remarks: texts)
    let page = try Self.page(report)
    #expect(page.components(separatedBy: "<script").count == 2 && page.components(separatedBy: "</script").count == 2)
    #expect(!page.contains("<img") && !page.contains("<!--"))
    let unsafe = page.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x202E }
    #expect(!unsafe)
  }
}
