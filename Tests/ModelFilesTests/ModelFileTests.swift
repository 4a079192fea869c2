import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Model files") struct ModelFileTests {
  private static let minimal = modelText("<entity name=\"E\"/>")

  private func error(_ text: String) throws -> PersistentStoreError {
    try #require(throws: PersistentStoreError.self) { try readModel(text) }
  }

  // MARK: Structure

  @Test("a sub-entity may stand before its parent; siblings keep the file's order")
  func parents() throws {
    let model = try readModel(
      modelText(
        """
        <entity name="B" parentEntity="A"/>
        <entity name="D" parentEntity="B" isAbstract="YES"/>
        <entity name="A" representedClassName=".A"/>
        <entity name="C" parentEntity="A"/>
        """)
    ).description
    #expect(model.entities.map(\.name) == ["A"])
    #expect(model.entities.first?.managedObjectClassName == ".A")
    #expect(model.entities.first?.subentities.map(\.name) == ["B", "C"])
    #expect(model.entities.first?.subentities.first?.subentities.first?.isAbstract == true)
  }

  @Test("parents that lead in a circle or nowhere are an error that names them")
  func circles() throws {
    let circle = try error(modelText("<entity name=\"X\"/>\n<entity name=\"A\" parentEntity=\"B\"/>\n<entity name=\"B\" parentEntity=\"A\"/>"))
    #expect(circle.code == .invalidModel && circle.message.contains("A, B") && circle.location.line == 4)
    let own = try error(modelText("<entity name=\"A\" parentEntity=\"A\"/>"))
    #expect(own.message.contains("circle"))
    let nowhere = try error(modelText("<entity name=\"A\" parentEntity=\"None\"/>"))
    #expect(nowhere.message.contains("None") && nowhere.location.entity == "A")
  }

  @Test("parents nested deeper than a model may be are refused, without running out of stack")
  func depth() throws {
    let lines = (1..<20_000).map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 - 1)\"/>" }
    let error = try error(modelText("<entity name=\"E0\"/>\n" + lines.joined(separator: "\n")))
    #expect(error.code == .limitExceeded)
  }

  @Test("everything that a file can say is read")
  func everything() throws {
    let file = try readModel(
      modelText(
        """
        <entity name="E" representedClassName="E" elementID="Old" versionHashModifier="2" syncable="YES" codeGenerationType="class">
        <attribute name="a" optional="YES" attributeType="String" regularExpressionString="a+" elementID="b" versionHashModifier="3" indexed="YES" spotlightIndexingEnabled="YES"><userInfo><entry key="k" value="v"/><entry key="k2" value=""/></userInfo></attribute>
        <attribute name="d" attributeType="String" derived="YES" derivationExpression="canonical:(a)"/>
        <attribute name="t" attributeType="Transformable" valueTransformerName="T" customClassName="[Int]" transient="YES"/>
        <attribute name="x" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
        <attribute name="c" attributeType="Composite" composite="Point"/>
        <relationship name="r" optional="YES" toMany="YES" deletionRule="Deny" ordered="YES" destinationEntity="E" inverseName="r" inverseEntity="E"/>
        <fetchedProperty name="f" optional="YES"><fetchRequest name="q" entity="E" predicateString="a == 1"/></fetchedProperty>
        <fetchIndex name="byA"><fetchIndexElement property="a" type="Binary" order="descending"/></fetchIndex>
        <compoundIndexes><compoundIndex><index value="a"/><index value="d"/></compoundIndex></compoundIndexes>
        <uniquenessConstraints><uniquenessConstraint><constraint value="a"/></uniquenessConstraint></uniquenessConstraints>
        <userInfo><entry key="table" value="e"/></userInfo>
        </entity>
        <composite name="Point"><attribute name="x" attributeType="Double"/></composite>
        <fetchRequest name="all" entity="E" fetchLimit="10" fetchBatchSize="5" includeSubentities="YES" resultType="2"/>
        <configuration name="C" usedWithCloudKit="YES"><memberEntity name="E"/></configuration>
        <elements><element name="E" positionX="0" positionY="-1"/></elements>
        """))
    #expect(file.warnings == [])
    let model = file.description
    let entity = try #require(model.entities.first)
    #expect(entity.renamingIdentifier == "Old" && entity.versionHashModifier == "2")
    #expect(entity.extras == [.attribute(name: "syncable", value: "YES"), .attribute(name: "codeGenerationType", value: "class")])
    #expect(entity.uniquenessConstraints == [["a"]] && entity.compoundIndexes == [["a", "d"]])
    #expect(entity.fetchIndexes == [FetchIndexDescription(name: "byA", elements: [.init(propertyName: "a", isAscending: false)])])
    #expect(entity.userInfo == [UserInfoEntry(key: "table", value: "e")])
    #expect(entity.properties.map(\.name) == ["a", "d", "t", "x", "c", "r", "f"])
    let info = [UserInfoEntry(key: "k", value: "v"), UserInfoEntry(key: "k2", value: "")]
    #expect(
      entity.properties[0]
        == .attribute(
          AttributeDescription(
            name: "a", type: .string, regularExpression: "a+", isIndexed: true, renamingIdentifier: "b",
            versionHashModifier: "3", userInfo: info,
            extras: [.attribute(name: "spotlightIndexingEnabled", value: "YES")])))
    #expect(
      entity.properties[1]
        == .attribute(
          AttributeDescription(name: "d", type: .string, isOptional: false, derivationExpression: "canonical:(a)")))
    #expect(
      entity.properties[2]
        == .attribute(
          AttributeDescription(
            name: "t", type: .transformable, isOptional: false, isTransient: true, valueTransformerName: "T",
            attributeValueClassName: "[Int]")))
    #expect(
      entity.properties[4] == .attribute(AttributeDescription(name: "c", type: .composite("Point"), isOptional: false)))
    #expect(
      entity.properties[5]
        == .relationship(
          RelationshipDescription(
            name: "r", destinationEntityName: "E", inverseName: "r", maximumCount: 0, isOrdered: true, deleteRule: .deny)))
    #expect(
      entity.properties[6]
        == .fetchedProperty(
          FetchedPropertyDescription(
            name: "f", fetchRequest: FetchRequestDescription(name: "q", entityName: "E", predicateString: "a == 1"))))
    #expect(model.composites.first?.attributes.map(\.name) == ["x"])
    #expect(
      model.fetchRequestTemplates == [
        FetchRequestDescription(
          name: "all", entityName: "E", fetchLimit: 10, fetchBatchSize: 5, resultType: "2", includesSubentities: true)
      ])
    #expect(
      model.configurations == [
        ConfigurationDescription(
          name: "C", entityNames: ["E"], extras: [.attribute(name: "usedWithCloudKit", value: "YES")])
      ])
    #expect(model.versionIdentifiers == [""])
    let bytes = try ModelFile.contents(of: model)
    #expect(try readModel(String(decoding: bytes, as: UTF8.self)).description == model)
  }

  // MARK: What is not understood

  static let unknownParts: [String] = [
    "<entity name=\"E\" colour=\"red\"/>",
    "<entity name=\"E\"><attribute name=\"a\" attributeType=\"String\" shiny=\"&#10;&lt;\"/></entity>",
    "<entity name=\"E\"><novelty a=\"1\"><inner>text\n  of &lt;two&gt; lines</inner></novelty></entity>",
    "<novelty/>",
    "<entity name=\"E\"><uniquenessConstraints><uniquenessConstraint><constraint value=\"a\" new=\"1\"/></uniquenessConstraint></uniquenessConstraints></entity>",
    "<entity name=\"E\"><userInfo><entry key=\"a\"/></userInfo></entity>",
    "<configuration name=\"C\"><memberEntity name=\"E\" since=\"3\"/></configuration>",
    "<entity name=\"E\"><fetchIndex name=\"i\"><fetchIndexElement property=\"a\" type=\"Binary\" order=\"ascending\"><x/></fetchIndexElement></fetchIndex></entity>",
  ]

  @Test("what is unknown is kept and written back, with one warning that names the line", arguments: unknownParts.indices)
  func unknown(_ index: Int) throws {
    let file = try readModel(modelText("\n" + Self.unknownParts[index]))
    #expect(file.warnings.count == 1 && file.warnings.first.flatMap(\.line).map { $0 >= 4 } == true, "\(file.warnings)")
    let written = String(decoding: try ModelFile.contents(of: file.description), as: UTF8.self)
    let again = try readModel(written)
    #expect(again.description == file.description)
    #expect(again.warnings.count == 1)
    #expect(written.contains("colour") || written.contains("shiny") || written.contains("novelty") || index > 3)
  }

  @Test("text between elements is an error: such files are left over from a merge")
  func strayText() throws {
    let error = try error(modelText("<entity name=\"A\"/>\n=======\n<entity name=\"B\"/>"))
    #expect(error.code == .malformed && error.message.contains("merge"))
  }

  @Test("merge-conflict markers and other malformed XML are errors with line and column")
  func malformed() throws {
    let merge = try error(modelText("<<<<<<< HEAD\n<entity name=\"A\"/>\n=======\n>>>>>>> other"))
    #expect(merge.code == .malformed && merge.location.line == 3 && merge.location.column != nil, "\(merge)")
    let cut = try error(String(Self.minimal.dropLast(3)))
    #expect(cut.code == .malformed && cut.location.line != nil)
    #expect(try error("").code == .malformed)
    #expect(try error("<?xml version=\"1.0\"?><!DOCTYPE model [<!ENTITY a \"b\">]><model>&a;</model>").code == .malformed)
  }

  // MARK: Folders and versions

  private func versions(_ current: String?, _ names: [String] = ["M", "M 2"]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in names { try folder.put("My Models.xcdatamodeld/\(name).xcdatamodel/contents", modelText("<entity name=\"\(name)\"/>")) }
    if let current { try folder.put("My Models.xcdatamodeld/.xccurrentversion", current) }
    return folder
  }
  private static func plist(_ body: String) -> String {
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict>\(body)</dict></plist>"
  }

  @Test("the current version is read, or the one that is asked for")
  func currentVersion() throws {
    let folder = try versions(Self.plist("<key>_XCCurrentVersionName</key><string>M 2.xcdatamodel</string>"))
    let path = folder.path + "/My Models.xcdatamodeld"
    let file = try ModelFile.read(at: path)
    #expect(file.description.entities.map(\.name) == ["M 2"])
    #expect(file.versionName == "M 2" && file.availableVersions == ["M", "M 2"] && file.warnings == [])
    #expect(try ModelFile.read(at: path + "/", version: "M").versionName == "M")
    #expect(try ModelFile.read(at: path, version: "M.xcdatamodel").versionName == "M")
    #expect(try ModelFile.read(at: path + "/M.xcdatamodel").versionName == "M")
    #expect(try ModelFile.read(at: path + "/M.xcdatamodel/contents").versionName == nil)
    let error = try #require(throws: PersistentStoreError.self) { try ModelFile.read(at: path, version: "M 3") }
    #expect(error.code == .notFound && error.message.contains("M, M 2"))
  }

  @Test("without a mark the only version is read; of several the first, with a warning", arguments: [false, true])
  func unmarked(_ hasEmptyMark: Bool) throws {
    let mark = hasEmptyMark ? Self.plist("") : nil
    let single = try versions(mark, ["M"])
    let one = try ModelFile.read(at: single.path + "/My Models.xcdatamodeld")
    #expect(one.versionName == "M" && one.warnings == [])
    let folder = try versions(mark)
    let two = try ModelFile.read(at: folder.path + "/My Models.xcdatamodeld")
    #expect(two.versionName == "M" && two.warnings.count == 1)
    #expect(two.warnings.first?.text.contains("M, M 2") == true)
  }

  @Test("a mark that leads nowhere, or outside, is an error")
  func badMark() throws {
    for name in ["Gone.xcdatamodel", "../Other.xcdatamodel"] {
      let folder = try versions(Self.plist("<key>_XCCurrentVersionName</key><string>\(name)</string>"))
      let error = try #require(throws: PersistentStoreError.self) {
        try ModelFile.read(at: folder.path + "/My Models.xcdatamodeld")
      }
      #expect(error.code == .notFound)
    }
    let folder = try versions("not a property list")
    #expect(throws: PersistentStoreError.self) { try ModelFile.read(at: folder.path + "/My Models.xcdatamodeld") }
  }

  @Test("a folder or file that is something else of the family is refused as what it is")
  func refusals() throws {
    let folder = try TemporaryFolder()
    let archive = "bplist00 $archiver NSKeyedArchiver "
    try folder.put("Old.xcdatamodel/elements", archive + "XDPMModel")
    try folder.put("Old.xcdatamodel/layout", archive)
    try folder.put("Built.momd/M.mom", archive + "NSManagedObjectModel")
    try folder.put("Map.xcmappingmodel/xcmapping.xml", "<?xml version=\"1.0\"?><database><object type=\"XDDEVMAPPINGMODEL\"/></database>")
    try folder.put("M.mom", archive + "NSManagedObjectModel")
    try folder.put("M.omo", "momv2$")
    try folder.put("M.cdm", archive + "NSMappingModel")
    try folder.put("Store.xml", "<?xml version=\"1.0\"?><database></database>")
    try folder.put("Page.html", "<html/>")
    try folder.put("Notes.txt", "text")
    try folder.put("Empty.xcdatamodel/contents", "")
    for (name, code, text) in [
      ("Old.xcdatamodel", PersistentStoreError.Code.notSupported, "before Xcode 4"),
      ("Old.xcdatamodel/elements", .notSupported, "before Xcode 4"), ("Built.momd", .notSupported, "compiled"),
      ("Map.xcmappingmodel", .unrecognizedFormat, "mapping"),
      ("Map.xcmappingmodel/xcmapping.xml", .unrecognizedFormat, "mapping"), ("M.mom", .notSupported, ".mom"),
      ("M.omo", .notSupported, ".omo"), ("M.cdm", .unrecognizedFormat, ".cdm"),
      ("Store.xml", .unrecognizedFormat, "store"), ("Page.html", .unrecognizedFormat, "<html>"),
      ("Notes.txt", .unrecognizedFormat, "no model"), ("None.xcdatamodeld", .notFound, "no model"),
    ] {
      let error = try #require(throws: PersistentStoreError.self) { try ModelFile.read(at: folder.path + "/" + name) }
      #expect(error.code == code && error.message.contains(text), "\(name): \(error)")
    }
    #expect(throws: PersistentStoreError.self) { try ModelFile.read(at: folder.path + "/Empty.xcdatamodel") }
  }
}
