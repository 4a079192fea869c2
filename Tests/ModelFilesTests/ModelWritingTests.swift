import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Writing model files") struct ModelWritingTests {
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
              AttributeDescription(
                name: "n", type: .string, isOptional: false, defaultValue: .string("<\"\n>"), minimumLength: 1,
                renamingIdentifier: "m", userInfo: [UserInfoEntry(key: "k", value: "v")])),
            .relationship(
              RelationshipDescription(
                name: "r", destinationEntityName: "A", minimumCount: 1, maximumCount: 3, isOrdered: true,
                deleteRule: .cascade)),
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
    #expect(try readModel(text(model)).description == model)
  }

  @Test("siblings that are not in the order of their names come back in their own order")
  func siblings() throws {
    let model = ModelDescription(entities: [
      EntityDescription(name: "B", subentities: [EntityDescription(name: "Z"), EntityDescription(name: "A")]),
      EntityDescription(name: "C"),
    ])
    #expect(try readModel(text(model)).description == model)
  }

  static let defaults: [(AttributeType, StoredValue)] = [
    (.integer16, .integer(-1)), (.integer64, .integer(.min)), (.double, .double(-0.0)), (.double, .double(.infinity)),
    (.double, .double(.leastNonzeroMagnitude)), (.float, .float(0.1)), (.decimal, .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
    (.boolean, .boolean(true)), (.string, .string("e\u{301}\r\n\t")), (.string, .string("")), (.uri, .uri("a b")),
    (.uuid, .uuid(UUID())), (.date, .date(Date(timeIntervalSinceReferenceDate: 0.1))),
  ]

  @Test("a default comes back to the bit", arguments: defaults.indices)
  func values(_ index: Int) throws {
    let (type, value) = Self.defaults[index]
    let model = attribute(AttributeDescription(name: "a", type: type, defaultValue: value))
    #expect(try readModel(text(model)).description.propertyList == model.propertyList)
  }

  @Test("what no model file can hold is refused, never dropped")
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
    ]
    for model in models {
      let error = try #require(throws: PersistentStoreError.self) { try ModelFile.contents(of: model) }
      #expect(error.code == .unsupportedByFormat, "\(error)")
    }
    #expect(throws: PersistentStoreError.self) { try ModelFile.contents(of: ModelDescription(extras: [.element("<a>")])) }
  }

  @Test("what is set wins over what was kept from a file")
  func fieldsWin() throws {
    let model = attribute(
      AttributeDescription(
        name: "a", type: .integer16, defaultValue: .integer(1),
        extras: [.attribute(name: "defaultValueString", value: "abc"), .attribute(name: "syncable", value: "YES")]))
    #expect(try text(model).contains("defaultValueString=\"1\" syncable=\"YES\"/>"))
  }

  @Test("a model is written as a folder, and one that is there is replaced only on request")
  func folder() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/M.xcdatamodel"
    let model = ModelDescription(entities: [EntityDescription(name: "E")])
    try ModelFile.write(model, to: path)
    #expect(try ModelFile.read(at: path).description == model)
    let other = ModelDescription(entities: [EntityDescription(name: "F")])
    let error = try #require(throws: PersistentStoreError.self) { try ModelFile.write(other, to: path) }
    #expect(error.code == .alreadyExists)
    #expect(try ModelFile.read(at: path).description == model)
    try ModelFile.write(other, to: path, overwrite: true)
    #expect(try ModelFile.read(at: path).description == other)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["M.xcdatamodel"])
  }
}

@Suite("The sample models") struct SampleModelTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../SampleStores").standardizedFileURL.path

  private func path(_ name: String) -> String { "\(Self.folder)/\(name)/\(name).xcdatamodeld" }

  @Test("they are sound, and written back byte for byte", arguments: ["Company", "FriendInfo"])
  func roundTrip(_ name: String) throws {
    let file = try ModelFile.read(at: path(name))
    #expect(file.warnings == [] && file.versionName == name && file.availableVersions == [name])
    #expect(!file.description.problems().contains { $0.severity == .error })
    let original = try String(contentsOfFile: path(name) + "/\(name).xcdatamodel/contents", encoding: .utf8)
    #expect(String(decoding: try ModelFile.contents(of: file.description), as: UTF8.self) == original)
  }

  @Test("Company has every attribute type and every kind of relationship")
  func isComplete() throws {
    let model = try ManagedObjectModel(ModelFile.read(at: path("Company")).description)
    let properties = model.entities.flatMap(\.properties)
    let attributes = properties.compactMap { if case .attribute(let attribute) = $0 { attribute } else { nil } }
    let types = Set(attributes.map(\.type.modelName))
    #expect(
      types == [
        "Undefined", "Integer 16", "Integer 32", "Integer 64", "Decimal", "Double", "Float", "String", "Boolean",
        "Date", "Binary", "UUID", "URI", "Transformable", "Composite",
      ])
    #expect(attributes.contains { $0.isTransient } && attributes.contains { $0.derivationExpression != nil })
    #expect(attributes.contains { $0.regularExpression != nil } && attributes.contains { $0.minimum != nil })
    let slots = model.entities.flatMap { entity in entity.slots.map { (entity, $0) } }
    #expect(slots.contains { $1.isOrdered })
    #expect(slots.contains { $1.isToMany && !$1.isOrdered })
    // Many-to-many, reflexive and self-inverse.
    #expect(slots.contains { $1.isToMany && $1.inverseSlot >= 0 && $1.destination != $0.index && model.entity(at: $1.destination).slots[$1.inverseSlot].isToMany })
    #expect(slots.contains { $1.isRelationship && $1.destination == $0.index && $1.inverseSlot != $1.index })
    #expect(slots.contains { $1.isRelationship && $1.destination == $0.index && $1.inverseSlot == $1.index && $1.isToMany })
    #expect(slots.contains { $1.isRelationship && model.entity(at: $1.destination).isAbstract })
    #expect(model.configurations.count == 2 && model.description.fetchRequestTemplates.count == 2)
    #expect(model.entities.contains { !$0.declaration.uniquenessConstraints.isEmpty })
    #expect(model.entities.contains { !$0.declaration.fetchIndexes.isEmpty && !$0.declaration.userInfo.isEmpty })
    #expect(properties.contains { if case .fetchedProperty = $0 { true } else { false } })
  }
}
