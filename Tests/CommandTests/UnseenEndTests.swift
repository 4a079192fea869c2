import Foundation
import Testing

@Suite("Deletions that leave required relationships without an object") struct UnseenEndTests {
  /// An entity A with a relationship to B, whose attributes are given.
  private static func make(_ relationship: String, inverse: String = "", in folder: borrowing Folder) throws {
    try FileManager.default.createDirectory(atPath: folder("M.xcdatamodel"), withIntermediateDirectories: true)
    try """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="A"><attribute name="t" optional="YES" attributeType="String"/>
    <relationship name="b" destinationEntity="B" deletionRule="Nullify" \(relationship)/></entity>
    <entity name="B"><attribute name="t" optional="YES" attributeType="String"/>\(inverse)</entity></model>
    """.write(toFile: folder("M.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    let isToMany = relationship.contains("toMany")
    try #"{"objectID":1,"b":\#(isToMany ? "[1,2]" : "1")}"#.write(
      toFile: folder("a.ndjson"), atomically: false, encoding: .utf8)
    try "{\"objectID\":1,\"t\":\"x\"}\n{\"objectID\":2,\"t\":\"y\"}\n".write(
      toFile: folder("b.ndjson"), atomically: false, encoding: .utf8)
    try NodeStore.shell(
      """
      "$0" import A=a.ndjson B=b.ndjson -o a.xml --model M.xcdatamodel; "$0" check a.xml
      """, in: folder)
  }

  private static let noAction = """
    <relationship name="a" optional="YES" maxCount="1" destinationEntity="A" deletionRule="No Action" inverseName="b" inverseEntity="A"/>
    """

  @Test(
    "delete refuses what check would find, in every type of store",
    arguments: [
      (#"maxCount="1""#, "", "t == 'x'", false), (#"maxCount="1""#, "", "t == 'y'", true),
      (#"maxCount="1" optional="YES""#, "", "t == 'x'", true),
      (#"maxCount="1" inverseName="a" inverseEntity="B""#, noAction, "t == 'x'", false),
      (#"toMany="YES" minCount="2" optional="YES""#, "", "t == 'x'", false),
      (#"toMany="YES" minCount="2" optional="YES""#, "", "t != ''", true),
      (#"maxCount="1" minCount="1" optional="YES""#, "", "t == 'x'", true), (#"toMany="YES""#, "", "t == 'x'", true),
      (#"toMany="YES""#, "", "t != ''", false),
    ], ["xml", "sqlgraph", "sqlite", "csvstore"])
  func refused(
    _ model: (relationship: String, inverse: String, predicate: String, isAllowed: Bool), _ type: String
  ) throws {
    let folder = try Folder()
    try Self.make(model.relationship, inverse: model.inverse, in: folder)
    let store = "s." + type
    try NodeStore.shell("\"$0\" convert a.xml \(store) --allow-loss", in: folder)
    let deleted = try Command.run(
      "delete", store, "--entity", "B", "--where", model.predicate, in: folder.path)
    #expect((deleted.code == 0) == model.isAllowed, "\(deleted.errors)")
    #expect(model.isAllowed || deleted.code == 65 && deleted.errors.contains("A/1.b"), "\(deleted.errors)")
    #expect(try Command.run("check", store, in: folder.path).code == 0)
    let count = try Command.run("fetch", store, "--entity", "B", "--count", in: folder.path)
    #expect((count.output == "2\n") == !model.isAllowed)
  }

  @Test("a to-many that is not optional may become empty where that is allowed")
  func allowed() throws {
    let folder = try Folder()
    try Self.make(#"toMany="YES""#, in: folder)
    let deleted = try Command.run(
      "delete", "a.xml", "--entity", "B", "--all", "--allow-empty-non-optional-to-many", in: folder.path)
    #expect(deleted.code == 0, "\(deleted.errors)")
  }
}
