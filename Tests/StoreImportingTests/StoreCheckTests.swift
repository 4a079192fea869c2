import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreImporting
import StoreMaintenance
import TestSupport
import Testing

@Suite("Checking stores") struct StoreCheckTests {
  @Test(
    "the sample stores are sound",
    arguments: [
      "Company/Company.xml", "Company/Company.plist", "Company/Company.csvstore", "FriendInfo/FriendInfo.plist",
    ])
  func samples(_ name: String) {
    let report = StoreCheck(registry: .builtIn).check(LibrarySample.folder + "/../" + name)
    #expect(report.isSound && (report.objectCount ?? 0) > 0, "\(report.findings)")
  }

  private static func property(
    _ name: String, _ type: AttributeType, optional: Bool = true, minimum: StoredValue? = nil, length: Int? = nil,
    pattern: String? = nil
  ) -> PropertyDescription {
    .attribute(
      AttributeDescription(
        name: name, type: type, isOptional: optional, minimum: minimum, maximumLength: length,
        regularExpression: pattern))
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Part",
          properties: [
            property("code", .string, optional: false, length: 4, pattern: "[A-Z].*"),
            property("size", .double, minimum: .double(0)),
            .relationship(
              RelationshipDescription(
                name: "whole", destinationEntityName: "Part", inverseName: "parts", isOptional: false)),
            .relationship(
              RelationshipDescription(
                name: "parts", destinationEntityName: "Part", inverseName: "whole", minimumCount: 2, maximumCount: 3)),
          ],
          subentities: [EntityDescription(name: "Special")], uniquenessConstraints: [["code"]])
      ]))
  }

  @Test("every broken rule of every object is listed: rules, missing values, counts, uniqueness, inverses")
  func rules() throws {
    let model = try Self.model()
    var nodes = NodeTable(model: model)
    let part = try #require(model.entity(named: "Part")).index
    let special = try #require(model.entity(named: "Special")).index
    let one = try nodes.addCacheNode(entity: part, reference: .integer(1))
    let two = try nodes.addCacheNode(entity: special, reference: .integer(2))
    let three = try nodes.addCacheNode(entity: part, reference: .integer(3))
    try nodes.setValue(.string("A1"), forKey: "code", of: one)
    try nodes.setValue(.string("A1"), forKey: "code", of: two)
    try nodes.setValue(.string("a2345"), forKey: "code", of: three)
    try nodes.setValue(.double(.nan), forKey: "size", of: three)
    try nodes.setValue(toOne("Part", 1), forKey: "whole", of: three)
    let report = StoreCheck(registry: StoreRegistry()).check(nodes)
    #expect(
      report.findings.map(\.description) == [
        "Part/1.whole: an object is needed",
        "Special/2.whole: an object is needed",
        "Part/3.code: 'a2345' breaks the rule: at most 4 characters",
        "Part/3.code: 'a2345' breaks the rule: the pattern [A-Z].*",
        "Part/3.size: nan breaks the rule: at least 0.0",
        "Part/3.whole: names Part/1, whose 'parts' does not name it back",
        "Special/2.code: 'A1' is also that of Part/1",
      ], "\(report.findings.map(\.description))")
    #expect(!report.isSound)
    var limited = StoreCheck(registry: StoreRegistry())
    limited.maximumFindingCount = 1
    let cut = limited.check(nodes)
    #expect(cut.findings.count == 4 && cut.counts[.rule] == 3)
  }

  @Test("references to objects that do not exist, and ends that contradict each other, are listed together")
  func relationships() throws {
    let directory = try TemporaryDirectory("check")
    let path = directory.path + "/c.xml"
    var text = try String(contentsOfFile: LibrarySample.folder + "/../Company/Company.xml", encoding: .utf8)
    // One employee is in a department that does not exist.
    let marker = "<relationship name=\"department\" type=\"0/1\" destination=\"DEPARTMENT\" idrefs=\"z"
    let place = try #require(text.range(of: marker))
    text.insert(contentsOf: "99", at: place.upperBound)
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    let report = StoreCheck(registry: .builtIn).check(path)
    #expect(
      report.findings.contains { $0.kind == .dangling && $0.object?.entityName == "Employee" }, "\(report.findings)")
    #expect(report.findings.contains { $0.kind == .inverse })
  }

  @Test("a store that cannot be read has one finding, which says why", arguments: ["", "<database>", "nonsense"])
  func unreadable(_ text: String) throws {
    let directory = try TemporaryDirectory("check")
    try text.write(toFile: directory.path + "/c.xml", atomically: false, encoding: .utf8)
    let report = StoreCheck(registry: .builtIn).check(directory.path + "/c.xml")
    #expect(report.findings.map(\.kind) == [.unreadable] && report.objectCount == nil && !report.isSound)
  }
}
