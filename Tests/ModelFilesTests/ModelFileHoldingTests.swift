import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("What model files can store") struct ModelFileHoldingTests {
  private func text(_ model: ModelDescription) throws -> String {
    String(decoding: try ModelFile.contents(of: model), as: UTF8.self)
  }

  private func attribute(_ attribute: AttributeDescription) -> ModelDescription {
    ModelDescription(entities: [EntityDescription(name: "E", properties: [.attribute(attribute)])])
  }

  @Test("a model built in code is laid out as Xcode does")
  func layout() throws {
    let model = ModelDescription(
      versionIdentifiers: ["1"],
      entities: [
        EntityDescription(name: "A", subentities: [EntityDescription(name: "C", isAbstract: true)]),
        EntityDescription(
          name: "B", managedObjectClassName: ".B",
          properties: [
            .attribute(
              "n", .string, isOptional: false, defaultValue: .string("<\"\n>"), minimumLength: 1,
              renamingIdentifier: "m", userInfo: [UserInfoEntry(key: "k", value: "v")]),
            .toMany("r", "A", minimumCount: 1, maximumCount: 3, isOrdered: true, deleteRule: .cascade),
          ]),
      ])
    #expect(
      try text(model) == """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="1">
            <entity name="A"/>
            <entity name="B" representedClassName=".B">
                <attribute name="n" attributeType="String" minValueString="1" defaultValueString="&lt;&quot;&#10;>" elementID="m">
                    <userInfo>
                        <entry key="k" value="v"/>
                    </userInfo>
                </attribute>
                <relationship name="r" optional="YES" toMany="YES" minCount="1" maxCount="3" deletionRule="Cascade" ordered="YES" destinationEntity="A"/>
            </entity>
            <entity name="C" isAbstract="YES" parentEntity="A"/>
        </model>
        """)
    #expect(try ModelFileSupport.read(text(model)).description == model)
  }

  static let defaults: [(AttributeType, StoredValue)] = [
    (.integer16, .integer(-1)), (.integer64, .integer(.min)), (.double, .double(-0.0)), (.double, .double(.infinity)),
    (.double, .double(.leastNonzeroMagnitude)), (.float, .float(0.1)),
    (.decimal, .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
    (.boolean, .boolean(true)), (.string, .string("e\u{301}\r\n\t")), (.string, .string("")), (.uri, .uri("a b")),
    (.uuid, .uuid(UUID())), (.date, .date(Date(timeIntervalSinceReferenceDate: 0.1))),
  ]

  @Test("a default is preserved to the bit", arguments: defaults.indices)
  func values(_ index: Int) throws {
    let (type, value) = Self.defaults[index]
    let model = attribute(AttributeDescription(name: "a", type: type, defaultValue: value))
    #expect(try ModelFileSupport.read(text(model)).description.propertyList == model.propertyList)
  }

  @Test("what a model file cannot store is refused, never omitted")
  func refuses() throws {
    let models = [
      attribute(AttributeDescription(name: "a", type: .binaryData, defaultValue: .data(Data([1])))),
      attribute(AttributeDescription(name: "a", type: .undefined, defaultValue: .integer(1))),
      attribute(AttributeDescription(name: "a", type: .string, minimum: .string("m"))),
      attribute(AttributeDescription(name: "a", type: .integer16, defaultValue: .integer(40000))),
      attribute(AttributeDescription(name: "a", type: .string, defaultValue: .string("\u{0}"))),
      attribute(AttributeDescription(name: "a\u{1}", type: .string)),
      attribute(AttributeDescription(name: "a", type: .string, extras: [.attribute(name: "a b", value: "")])),
      ModelDescription(versionIdentifiers: ["1", "2"]),
      ModelDescription(
        entities: [EntityDescription(name: "E")],
        fetchRequestTemplates: [FetchRequestDescription(name: "f", entityName: "E", sortOrder: [.init("a")])]),
    ]
    for model in models {
      let error = try #require(throws: PersistentStoreError.self) { try ModelFile.contents(of: model) }
      #expect(error.code == .unsupportedByFormat, "\(error)")
    }
    #expect(throws: PersistentStoreError.self) {
      try ModelFile.contents(of: ModelDescription(extras: [.element("<a>")]))
    }
  }

  @Test("a property that is set overrides what was kept from a file")
  func fieldsWin() throws {
    let model = attribute(
      AttributeDescription(
        name: "a", type: .integer16, defaultValue: .integer(1),
        extras: [.attribute(name: "defaultValueString", value: "abc"), .attribute(name: "syncable", value: "YES")]))
    #expect(try text(model).contains("defaultValueString=\"1\" syncable=\"YES\"/>"))
  }
}
