import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Reading a model file")
struct ModelFileReadingTests {
  // MARK: Values

  @Test(
    "a default is read by the attribute's type, also in old spellings",
    arguments: [
      ("Boolean", "YES", StoredValue.boolean(true)), ("Boolean", "NO", .boolean(false)),
      ("Boolean", "0", .boolean(false)),
      ("Boolean", "0.0", .boolean(false)), ("Boolean", "1", .boolean(true)),
      ("Integer 16", "0.0", .integer(0)), ("Integer 32", "NO", .integer(0)), ("Integer 64", "-1", .integer(-1)),
      ("Integer 16", "-32768", .integer(-32768)), ("Double", "0", .double(0)), ("Double", "0.1", .double(0.1)),
      ("Float", "0.1", .float(0.1)), ("Decimal", "1.50", .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
      ("String", "", .string("")), ("String", " a ", .string(" a ")), ("URI", "http://a/", .uri("http://a/")),
      (
        "UUID", "00000000-0000-0000-0000-000000000000",
        .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
      ),
      ("Date", "2013-04-23 12:00:00 +0000", .date(Date(timeIntervalSinceReferenceDate: 388_411_200))),
    ])
  func defaults(_ type: String, _ text: String, _ value: StoredValue) throws {
    let read = try ModelFileSupport.attribute(
      "<attribute name=\"x\" attributeType=\"\(type)\" defaultValueString=\"\(text)\"/>")
    #expect(read.attribute.defaultValue == value)
    #expect(read.attribute.extras == [])
    #expect(read.warnings == [])
  }

  @Test(
    "a default that is not a value of the type is kept unchanged, with a warning that has its line",
    arguments: [
      ("UUID", "empy"), ("Integer 16", "70000"), ("Integer 32", "1.5"), ("Integer 64", "99999999999999999999"),
      ("Boolean", "maybe"), ("Double", "much"), ("Decimal", "1,5"), ("Date", "NO"), ("Binary", "0"),
    ])
  func badDefaults(_ type: String, _ text: String) throws {
    let read = try ModelFileSupport.attribute(
      "\n<attribute name=\"x\" attributeType=\"\(type)\" defaultValueString=\"\(text)\"/>")
    #expect(read.attribute.defaultValue == nil)
    #expect(read.attribute.extras == [.attribute(name: "defaultValueString", value: text)])
    #expect(read.warnings.map(\.line) == [3])
    #expect(read.warnings.first?.description.contains(text) == true)
  }

  @Test("the number of a date is used, and the text beside it is kept")
  func dates() throws {
    let read = try ModelFileSupport.attribute(
      """
      <attribute name="x" attributeType="Date" minDateTimeInterval="-1.5" minValueString="12/4/2013" \
      maxDateTimeInterval="439470000" defaultDateTimeInterval="0"/>
      """)
    #expect(read.attribute.minimum == .date(Date(timeIntervalSinceReferenceDate: -1.5)))
    #expect(read.attribute.maximum == .date(Date(timeIntervalSinceReferenceDate: 439_470_000)))
    #expect(read.attribute.defaultValue == .date(Date(timeIntervalSinceReferenceDate: 0)))
    #expect(read.attribute.extras == [.attribute(name: "minValueString", value: "12/4/2013")])
    #expect(read.warnings == [])
  }

  @Test("the bounds of a string are lengths, those of a number values")
  func bounds() throws {
    let text = try ModelFileSupport.attribute(
      "<attribute name=\"x\" attributeType=\"String\" minValueString=\"3\" maxValueString=\"20\"/>"
    ).attribute
    #expect(text.minimumLength == 3 && text.maximumLength == 20 && text.minimum == nil && text.maximum == nil)
    let number = try ModelFileSupport.attribute(
      "<attribute name=\"x\" attributeType=\"Float\" minValueString=\"-4.5\" maxValueString=\"20\"/>"
    ).attribute
    #expect(number.minimum == .float(-4.5) && number.maximum == .float(20) && number.minimumLength == nil)
  }

  @Test("an attribute without a type is undefined, and one without `optional` is required")
  func undefined() throws {
    let attribute = try ModelFileSupport.attribute("<attribute name=\"x\" transient=\"YES\"/>").attribute
    #expect(attribute.type == .undefined && attribute.isTransient && !attribute.isOptional)
  }

  @Test("everything that Xcode can write about an attribute is read")
  func attribute() throws {
    let read = try ModelFileSupport.attribute(
      """
      <attribute name="x" optional="YES" attributeType="Transformable" indexed="YES" elementID="old" \
      valueTransformerName="T" allowsExternalBinaryDataStorage="YES" customClassName="[Int]" \
      versionHashModifier="2" derived="YES" derivationExpression="now()" regularExpressionString="a+" \
      usesScalarValueType="NO" syncable="YES"><userInfo><entry key="b" value="1"/><entry key="a" value="2"/></userInfo></attribute>
      """)
    #expect(
      read.attribute
        == AttributeDescription(
          name: "x", type: .transformable, isOptional: true, regularExpression: "a+", derivationExpression: "now()",
          valueTransformerName: "T", attributeValueClassName: "[Int]", allowsExternalBinaryDataStorage: true,
          isIndexed: true, renamingIdentifier: "old", versionHashModifier: "2",
          userInfo: [UserInfoEntry(key: "b", value: "1"), UserInfoEntry(key: "a", value: "2")],
          extras: [.attribute(name: "usesScalarValueType", value: "NO"), .attribute(name: "syncable", value: "YES")]))
    #expect(read.warnings == [])
  }

  // MARK: Relationships

  @Test(
    "toMany and maxCount determine the counts",
    arguments: [
      ("", 0, 1), ("maxCount=\"1\"", 0, 1), ("minCount=\"1\" maxCount=\"1\"", 1, 1), ("toMany=\"YES\"", 0, 0),
      ("toMany=\"YES\" maxCount=\"-1\"", 0, 0), ("toMany=\"YES\" maxCount=\"0\"", 0, 0),
      ("toMany=\"YES\" minCount=\"3\" maxCount=\"10\"", 3, 10), ("maxCount=\"-1\"", 0, 0),
    ])
  func counts(_ text: String, _ least: Int, _ most: Int) throws {
    let read = try ModelFileSupport.relationship("<relationship name=\"r\" destinationEntity=\"E\" \(text)/>")
    #expect(read.relationship.minimumCount == least && read.relationship.maximumCount == most)
    #expect(read.warnings == [])
  }

  @Test("every delete rule is read, also from the misspelt attribute", arguments: DeleteRule.allCases)
  func deleteRules(_ rule: DeleteRule) throws {
    for name in ["deletionRule", "deleteRule"] {
      let read = try ModelFileSupport.relationship(
        "<relationship name=\"r\" destinationEntity=\"E\" \(name)=\"\(rule.rawValue)\"/>")
      #expect(read.relationship.deleteRule == rule)
      #expect(read.warnings == [])
    }
  }

  // MARK: Entities and the rest

  @Test("sub-entities are nested below their parents, in any order in the file")
  func inheritance() throws {
    let file = try ModelFileSupport.read(
      elements: """
        <entity name="C" parentEntity="B"/><entity name="A" isAbstract="YES"/><entity name="D" parentEntity="A"/>
        <entity name="B" parentEntity="A"/>
        """)
    let top = try #require(file.description.entities.first)
    #expect(file.description.entities.count == 1 && top.name == "A" && top.isAbstract)
    #expect(top.subentities.map(\.name) == ["D", "B"])
    #expect(top.subentities.last?.subentities.map(\.name) == ["C"])
  }

  @Test("constraints, indexes, configurations, fetches and composites are read")
  func everythingElse() throws {
    let model = try ModelFileSupport.read(
      elements: """
        <entity name="A" representedClassName="M.A" elementID="Old" versionHashModifier="2">
          <fetchedProperty name="f" optional="YES"><fetchRequest name="r" entity="A" predicateString="x &gt; 1"/></fetchedProperty>
          <fetchIndex name="i" partialIndexPredicate="x != nil"><fetchIndexElement property="x" type="Binary" order="descending"/>
            <fetchIndexElement expression="lowercase:(x)" expressionType="String" type="Binary" order="ascending"/></fetchIndex>
          <compoundIndexes><compoundIndex><index value="x"/><index value="y"/></compoundIndex></compoundIndexes>
          <uniquenessConstraints><uniquenessConstraint><constraint value="x"/><constraint value="y"/></uniquenessConstraint>
            <uniquenessConstraint><constraint value="z"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        <fetchRequest name="t" entity="A" fetchLimit="100" fetchBatchSize="10" resultType="2" includeSubentities="YES" \
        includePropertyValues="NO" includesPendingChanges="YES" returnObjectsAsFaults="YES" returnDistinctResults="YES"/>
        <configuration name="Some"><memberEntity name="A"/></configuration>
        <composite name="P"><attribute name="lat" attributeType="Double"/><attribute name="q" attributeType="Composite" composite="Q"/></composite>
        """
    ).description
    let entity = try #require(model.entities.first)
    #expect(
      entity.managedObjectClassName == "M.A" && entity.renamingIdentifier == "Old" && entity.versionHashModifier == "2")
    #expect(
      entity.properties == [
        .fetchedProperty(
          FetchedPropertyDescription(
            name: "f", fetchRequest: FetchRequestDescription(name: "r", entityName: "A", predicateString: "x > 1")))
      ])
    #expect(entity.uniquenessConstraints == [["x", "y"], ["z"]] && entity.compoundIndexes == [["x", "y"]])
    #expect(
      entity.fetchIndexes == [
        FetchIndexDescription(
          name: "i",
          elements: [
            FetchIndexDescription.Element(propertyName: "x", isAscending: false),
            FetchIndexDescription.Element(propertyName: nil, expression: "lowercase:(x)", expressionType: "String"),
          ], partialIndexPredicate: "x != nil")
      ])
    #expect(
      model.fetchRequestTemplates == [
        FetchRequestDescription(
          name: "t", entityName: "A", fetchLimit: 100, fetchBatchSize: 10, resultType: "2", includesSubentities: true,
          includesPropertyValues: false, includesPendingChanges: true, returnsObjectsAsFaults: true,
          returnsDistinctResults: true)
      ])
    #expect(model.configurations == [ConfigurationDescription(name: "Some", entityNames: ["A"])])
    #expect(model.composites.first?.attributes.map(\.type) == [.double, .composite("Q")])
  }

  // MARK: What is not known

  @Test(
    "unknown content is kept, reported with its line, and written back",
    arguments: [
      "<entity name=\"A\" color=\"red\"/>", "<entity name=\"A\"><plan><step n=\"1\"/>a\n b</plan></entity>",
      "<entity name=\"A\"><attribute name=\"x\" color=\"red\"/></entity>",
      "<entity name=\"A\"><attribute name=\"x\" optional=\"perhaps\"/></entity>",
      "<entity name=\"A\"><attribute name=\"x\"><plan/></attribute></entity>",
      "<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\" color=\"red\"/></entity>",
      "<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\"><plan/></relationship></entity>",
      "<entity name=\"A\"><userInfo><entry key=\"k\" value=\"v\"/><plan color=\"red\"/></userInfo></entity>",
      "<entity name=\"A\"><userInfo><entry key=\"k\" value=\"v\" color=\"red\"/></userInfo></entity>",
      "<entity name=\"A\"><uniquenessConstraints><plan/></uniquenessConstraints></entity>",
      "<entity name=\"A\"><compoundIndexes><plan/></compoundIndexes></entity>",
      "<entity name=\"A\"><fetchIndex name=\"i\" color=\"red\"/></entity>",
      "<entity name=\"A\"><fetchIndex name=\"i\"><plan/></fetchIndex></entity>",
      "<configuration name=\"C\"><plan/></configuration>",
      "<configuration name=\"C\"><memberEntity name=\"A\" color=\"red\"/></configuration>",
      "<fetchRequest name=\"f\" entity=\"A\"><plan/></fetchRequest>", "<composite name=\"C\"><plan/></composite>",
      "<plan/>",
    ])
  func unknown(_ elements: String) throws {
    let file = try ModelFileSupport.read(elements: elements)
    #expect(file.warnings.count == 1, "\(file.warnings)")
    // The start tag's line, or the last one of those that the element spans.
    #expect(file.warnings.allSatisfy { $0.line == 2 && ($0.text.contains("kept")) }, "\(file.warnings)")
    let text = String(decoding: try ModelFile.contents(of: file.description), as: UTF8.self)
    #expect(text.contains("red") || text.contains("<plan") || text.contains("perhaps"), "\(text)")
    let again = try ModelFileSupport.read(text)
    #expect(again.description == file.description, "\(text)")
    #expect(again.warnings.count == 1)
  }

  @Test("a partly unknown constraint is kept completely, because part of it would be a different constraint")
  func halfConstraints() throws {
    let entity = try #require(
      try ModelFileSupport.read(
        elements: """
          <entity name="A"><uniquenessConstraints>
          <uniquenessConstraint><constraint value="a"/></uniquenessConstraint>
          <uniquenessConstraint><constraint value="b"/><constraint value="c" new="1"/></uniquenessConstraint>
          </uniquenessConstraints></entity>
          """
      ).description.entities.first)
    #expect(entity.uniquenessConstraints == [["a"]])
    guard case .element(let text)? = entity.extras.first else {
      throw ModelFileSupport.Missing(what: "no element is kept")
    }
    #expect(text.contains("value=\"b\"") && text.contains("new=\"1\""))
  }

  @Test("the inverse's entity is kept only if it differs from the destination")
  func inverseEntity() throws {
    func relationship(_ entity: String) throws -> (relationship: RelationshipDescription, warnings: [ModelFileWarning])
    {
      try ModelFileSupport.relationship(
        "<relationship name=\"r\" destinationEntity=\"E\" inverseName=\"r\" inverseEntity=\"\(entity)\"/>")
    }
    #expect(try relationship("E").relationship.extras == [])
    let odd = try relationship("F")
    #expect(odd.relationship.extras == [.attribute(name: "inverseEntity", value: "F")] && odd.warnings.count == 1)
  }

  @Test("a date without a time zone is ambiguous: it is kept unchanged")
  func localDates() throws {
    let read = try ModelFileSupport.attribute(
      "<attribute name=\"x\" attributeType=\"Date\" minValueString=\"2010-01-01 01:00:00\"/>")
    #expect(read.attribute.minimum == nil && read.attribute.extras.count == 1 && read.warnings.count == 1)
  }

  @Test("content that Xcode writes and stores do not need is kept without a warning")
  func knownExtras() throws {
    let file = try ModelFileSupport.read(
      """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="1" \
      systemVersion="A" minimumToolsVersion="Automatic" sourceLanguage="Swift" usedWithCloudKit="YES" usedWithSwiftData="YES" \
      userDefinedModelVersionIdentifier="7" macOSVersion="Automatic" iOSVersion="Automatic">
      <entity name="A" syncable="YES" codeGenerationType="class"><attribute name="x" attributeType="Binary" usesScalarValueType="NO" \
      spotlightIndexingEnabled="YES" storedInTruthFile="YES" preserveAfterDeletion="YES" allowsCloudEncryption="YES" syncable="YES"/>
      </entity><elements><element name="A" positionX="1" positionY="2" width="3" height="4"/></elements></model>
      """)
    #expect(file.warnings == [])
    #expect(file.description.versionIdentifiers == ["7"])
    #expect(file.description.extras.count == 9)
    #expect(file.description.entities.first?.extras.count == 2)
    let text = String(decoding: try ModelFile.contents(of: file.description), as: UTF8.self)
    for name in ["usedWithCloudKit", "iOSVersion", "preserveAfterDeletion", "codeGenerationType", "positionY"] {
      #expect(text.contains(name))
    }
  }
}
