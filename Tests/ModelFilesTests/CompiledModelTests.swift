import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreCodecs
import Testing

@Suite("Compiled models")
struct CompiledModelTests {
  private static func read(_ bytes: [UInt8]) throws -> ModelFile { try ModelFile.read(contents: bytes, name: "M.mom") }

  private static func attribute(_ name: String, _ type: Int, _ more: (ArchiveBuilder) -> PropertyListDictionary) throws
    -> (attribute: AttributeDescription, warnings: [ModelFileWarning])
  {
    let builder = ArchiveBuilder()
    let entity = builder.entity("E", [(name, builder.attribute(name, type: type, more(builder)))])
    let file = try read(try builder.model([("E", entity)]))
    guard case .attribute(let attribute)? = file.description.entities.first?.properties.first else {
      throw ModelFileSupport.Missing(what: "no attribute")
    }
    return (attribute, file.warnings)
  }

  @Test("entities, their inheritance and their properties are read, in any order")
  func model() throws {
    let builder = ArchiveBuilder()
    let parent = builder.reserve()
    let child = builder.entity(
      "Child", [("b", builder.attribute("b", type: 700)), ("a", builder.attribute("a", type: 100, bits: 241))],
      [
        "NSSuperentity": parent, "NSClassNameForEntity": builder.text("App.Child"),
        "NSRenamingIdentifier": builder.text("Kid"),
        "NSVersionHashModifier": builder.text("2"), "NSUserInfo": builder.dictionary([("k", builder.text("v"))]),
        "NSUniqueTuples": builder.array([builder.array([builder.text("a"), builder.text("b")])]),
      ])
    let link = builder.relationship(
      "children", to: "Child", inverse: nil, ["NSMaxCount": 0, "_P": 0x4F3, "NSDeleteRule": 2, "NSMinCount": 1])
    let name = builder.attribute("name", type: 700, bits: nil, ["NSIsOptional": true, "NSIsIndexed": true])
    builder.set(
      parent,
      builder.fields(
        ["NSEntityDescription"],
        [
          "NSEntityName": builder.text("Parent"), "NSIsAbstract": true,
          "NSClassNameForEntity": builder.text("NSManagedObject"),
          "NSProperties": builder.dictionary([("children", link), ("name", name)]),
        ]))
    let bytes = try builder.model(
      [("Parent", parent), ("Child", child)],
      ["NSVersionIdentifiers": builder.object("NSSet", fields: ["NS.objects": .array([builder.text("1.0")])])])
    let file = try Self.read(bytes)
    #expect(file.warnings == [])
    #expect(file.description.versionIdentifiers == ["1.0"])
    let top = try #require(file.description.entities.first)
    #expect(
      file.description.entities.count == 1 && top.name == "Parent" && top.isAbstract
        && top.managedObjectClassName == nil)
    #expect(
      top.properties == [
        .attribute("name", .string, isIndexed: true),
        .toMany("children", "Child", minimumCount: 1, isOrdered: true, deleteRule: .cascade),
      ])
    #expect(
      top.subentities == [
        EntityDescription(
          name: "Child", managedObjectClassName: "App.Child",
          properties: [
            .attribute("a", .integer16, isOptional: false),
            .attribute("b", .string),
          ], uniquenessConstraints: [["a", "b"]], renamingIdentifier: "Kid", versionHashModifier: "2",
          userInfo: [UserInfoEntry(key: "k", value: "v")])
      ])
    #expect(try ManagedObjectModel(file.description).entityCount == 2)
  }

  @Test("a property that represents or repeats an inherited one is not the entity's own")
  func inherited() throws {
    let builder = ArchiveBuilder()
    let parent = builder.entity(
      "A", [("n", builder.attribute("n", type: 700)), ("m", builder.attribute("m", type: 700))])
    let proxy = builder.object("_NSPropertyDescriptionProxy", fields: ["NSUnderlyingProperty": ArchiveBuilder.null])
    let child = builder.entity(
      "B", [("n", proxy), ("m", builder.attribute("m", type: 700))], ["NSSuperentity": parent])
    let file = try Self.read(try builder.model([("A", parent), ("B", child)]))
    #expect(file.description.entities.first?.subentities.first?.properties == [])
  }

  @Test(
    "the bits of a property are interpreted and kept",
    arguments: [
      (243, true, false, []), (241, false, false, []), (251, true, true, []),
      (0x1F3, true, false, ["spotlightIndexingEnabled"]),
      (0x2F3, true, false, ["storedInTruthFile"]), (0x8F3, true, false, ["allowsCloudEncryption"]),
    ])
  func bits(_ bits: Int, _ isOptional: Bool, _ isTransient: Bool, _ extras: [String]) throws {
    let (attribute, _) = try Self.attribute("a", 700) { _ in ["_P": .integer(Int128(bits))] }
    #expect(attribute.isOptional == isOptional && attribute.isTransient == isTransient)
    #expect(attribute.extras == extras.map { .attribute(name: $0, value: "YES") })
  }

  @Test("storage flags are read, and unknown ones are reported")
  func flags() throws {
    let (attribute, warnings) = try Self.attribute("a", 1000) { _ in ["NSFlagsKey": 52] }
    #expect(attribute.allowsExternalBinaryDataStorage && attribute.preservesValueInHistoryOnDeletion)
    #expect(warnings.count == 1 && warnings[0].text.contains("(52)"))
  }

  @Test("defaults are values of their type; objects of other classes are ignored and reported")
  func defaults() throws {
    func value(_ type: Int, _ make: (ArchiveBuilder) -> PropertyListValue) throws -> StoredValue? {
      try Self.attribute("a", type) { ["NSDefaultValue": make($0)] }.attribute.defaultValue
    }
    #expect(try value(100) { $0.add(7) } == .integer(7))
    #expect(try value(200) { $0.add(0.0) } == .integer(0))
    #expect(try value(100) { $0.add(70_000) } == nil)
    #expect(try value(800) { $0.add(1) } == .boolean(true))
    #expect(try value(800) { $0.add(false) } == .boolean(false))
    #expect(try value(500) { $0.add(1.5) } == .double(1.5))
    #expect(try value(600) { $0.add(1.5) } == .float(1.5))
    #expect(try value(700) { $0.text("x") } == .string("x"))
    #expect(
      try value(900) { $0.object("NSDate", fields: ["NS.time": 5.0]) } == .date(Date(timeIntervalSinceReferenceDate: 5))
    )
    #expect(try value(1000) { $0.add(.data(Data([1]))) } == .data(Data([1])))
    #expect(try value(1200) { $0.object("NSURL", fields: ["NS.relative": $0.text("http://a/")]) } == .uri("http://a/"))
    let (own, warnings) = try Self.attribute("a", 1800) { ["NSDefaultValue": $0.object("AppThing", fields: [:])] }
    #expect(own.defaultValue == nil && warnings.count == 1 && warnings[0].text.contains("AppThing"))
  }

  @Test("bounds are read from validation predicates, and other predicates are reported")
  func bounds() throws {
    let (number, none) = try Self.attribute("n", 100) { builder in
      let own = builder.object("NSSelfExpression", "NSExpression", fields: ["NSExpressionType": 1])
      return ["NSValidationPredicates": builder.array([builder.comparison(own, 3, 1), builder.comparison(own, 1, 9)])]
    }
    #expect(number.minimum == .integer(1) && number.maximum == .integer(9) && none == [])
    let (text, warnings) = try Self.attribute("t", 700) { builder in
      let own = builder.object("NSSelfExpression", "NSExpression", fields: ["NSExpressionType": 1])
      let length = builder.object(
        "NSKeyPathSpecifierExpression", "NSExpression", fields: ["NSKeyPath": builder.text("length")])
      return [
        "NSValidationPredicates": builder.array([
          builder.comparison(length, 3, 2), builder.comparison(length, 1, 5), builder.comparison(own, 6, "[a-z]+"),
          builder.comparison(own, 8, "x"),
        ])
      ]
    }
    #expect(text.minimumLength == 2 && text.maximumLength == 5 && text.regularExpression == "[a-z]+")
    #expect(warnings.count == 1 && warnings[0].text.contains("SELF BEGINSWITH \"x\""))
  }

  @Test("bounds without an effect are kept, since they are part of the hash", arguments: [-1, 1 << 40])
  func unbounded(_ count: Int) throws {
    let builder = ArchiveBuilder()
    let link = builder.relationship("r", to: "E", inverse: nil, ["NSMaxCount": .integer(Int128(count))])
    let file = try Self.read(try builder.model([("E", builder.entity("E", [("r", link)]))]))
    guard case .relationship(let relationship)? = file.description.entities.first?.properties.first else {
      throw ModelFileSupport.Missing(what: "no relationship")
    }
    #expect(relationship.maximumCount == 0 && relationship.isToMany)
    let again = try ModelFile.read(contents: try ModelFile.contents(of: file.description), name: "contents").description
    #expect(again == file.description)
    #expect(try ManagedObjectModel(again).versionHashes == ManagedObjectModel(file.description).versionHashes)
    var other = file.description
    other.entities[0].properties = [
      .toMany("r", "E")
    ]
    // 2^40 has no low bits: cut to 32 it is 0.
    #expect((try ManagedObjectModel(other).versionHashes == ManagedObjectModel(again).versionHashes) == (count > 0))
  }

  @Test("a derived attribute's expression, a fetch request's predicate and an index's are converted to text")
  func expressions() throws {
    let builder = ArchiveBuilder()
    func path(_ text: String) -> PropertyListValue {
      builder.object(
        "NSKeyPathExpression", "NSFunctionExpression", "NSExpression",
        fields: [
          "NSOperand": builder.object("NSSelfExpression", "NSExpression", fields: ["NSExpressionType": 1]),
          "NSSelectorName": builder.text("valueForKeyPath:"), "NSExpressionType": 3,
          "NSArguments": builder.array([
            builder.object("NSKeyPathSpecifierExpression", "NSExpression", fields: ["NSKeyPath": builder.text(text)])
          ]),
        ])
    }
    let count = builder.object(
      "NSFunctionExpression", "NSExpression",
      fields: [
        "NSOperand": builder.object(
          "NSConstantValueExpression", "NSExpression",
          fields: ["NSConstantValueClassName": builder.text("_NSPredicateUtilities")]),
        "NSSelectorName": builder.text("count:"), "NSArguments": builder.array([path("pages")]),
      ])
    let derived = builder.add(
      builder.fields(
        ["NSDerivedAttributeDescription", "NSAttributeDescription", "NSPropertyDescription"],
        [
          "NSPropertyName": builder.text("d"), "NSAttributeType": 300, "_P": 247, "NSFlagsKey": 0,
          "NSDerivationExpression": count,
        ]))
    let condition = builder.object(
      "NSCompoundPredicate", "NSPredicate",
      fields: [
        "NSCompoundPredicateType": 1,
        "NSSubpredicates": builder.array([
          builder.comparison(path("age"), 2, 5),
          builder.object(
            "NSCompoundPredicate", "NSPredicate",
            fields: [
              "NSCompoundPredicateType": 0,
              "NSSubpredicates": builder.array([builder.comparison(path("name"), 4, "a\"b")]),
            ]),
        ]),
      ])
    let entity = builder.reserve()
    let request = builder.object(
      "NSFetchRequest", "NSPersistentStoreRequest",
      fields: ["NSEntity": entity, "NSPredicate": condition, "NSFetchLimit": 3, "NSFetchRequestFlags": 30])
    builder.set(
      entity,
      builder.fields(
        ["NSEntityDescription"],
        ["NSEntityName": builder.text("E"), "NSProperties": builder.dictionary([("d", derived)])]))
    let file = try Self.read(
      try builder.model([("E", entity)], ["NSFetchRequestTemplates": builder.dictionary([("all", request)])]))
    guard case .attribute(let attribute)? = file.description.entities.first?.properties.first else {
      throw ModelFileSupport.Missing(what: "no attribute")
    }
    #expect(attribute.derivationExpression == "count:(pages)")
    let template = try #require(file.description.fetchRequestTemplates.first)
    #expect(template.entityName == "E" && template.fetchLimit == 3)
    #expect(template.predicateString == "age > 5 AND (NOT (name == \"a\\\"b\"))")
  }

  @Test(
    "a contradiction is an error that names it",
    arguments: [
      "circle", "two lists", "name", "type", "rule", "class", "no destination", "parent", "root",
    ])
  func errors(_ kind: String) throws {
    let builder = ArchiveBuilder()
    var entities: [(String, PropertyListValue)] = []
    switch kind {
    case "circle":
      let (one, other) = (builder.reserve(), builder.reserve())
      for (reference, name, above) in [(one, "A", other), (other, "B", one)] {
        builder.set(
          reference,
          builder.fields(
            ["NSEntityDescription"],
            ["NSEntityName": builder.text(name), "NSProperties": builder.dictionary([]), "NSSuperentity": above]))
      }
      entities = [("A", one), ("B", other)]
    case "two lists":
      let shared = builder.attribute("a", type: 700)
      entities = [("A", builder.entity("A", [("a", shared)])), ("B", builder.entity("B", [("a", shared)]))]
    case "name": entities = [("X", builder.entity("A", []))]
    case "type": entities = [("A", builder.entity("A", [("a", builder.attribute("a", type: 12_345))]))]
    case "rule":
      entities = [
        ("A", builder.entity("A", [("r", builder.relationship("r", to: "A", inverse: nil, ["NSDeleteRule": 9]))]))
      ]
    case "class":
      let other = builder.object("AppProperty", fields: ["NSPropertyName": builder.text("p")])
      entities = [("A", builder.entity("A", [("p", other)]))]
    case "no destination":
      let link = builder.relationship("r", to: "A", inverse: nil, ["_NSDestinationEntityName": ArchiveBuilder.null])
      entities = [("A", builder.entity("A", [("r", link)]))]
    case "parent":
      let gone = builder.object("NSEntityDescription", fields: ["NSEntityName": builder.text("Gone")])
      entities = [("A", builder.entity("A", [], ["NSSuperentity": gone]))]
    default: break
    }
    var bytes = try builder.model(entities)
    if kind == "root" {
      builder.top = ["root": builder.object("Thing", fields: ["NSManagedObjectModel": ArchiveBuilder.null])]
      bytes = try builder.binary()
    }
    let error = try ModelFileSupport.error { _ = try Self.read(bytes) }
    #expect([.invalidModel, .malformed, .notSupported].contains(error.code), "\(error)")
    #expect(error.location.file == "M.mom")
    #expect(error.location.entity != nil || error.location.property != nil, "\(error)")
  }

  @Test("the current version of a .momd is read, or another one on request; without either, an error lists them")
  func versions() throws {
    func mom(_ name: String) throws -> [UInt8] {
      let builder = ArchiveBuilder()
      return try builder.model([(name, builder.entity(name, []))])
    }
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/App.momd"
      try ModelFileSupport.put(try mom("One"), at: path + "/App.mom")
      #expect(try ModelFile.read(at: path).versionName == "App")
      try ModelFileSupport.put(try mom("Two"), at: path + "/App 2.mom")
      try ModelFileSupport.put([1], at: path + "/App 2.omo")
      let unclear = try ModelFileSupport.error { _ = try ModelFile.read(at: path) }
      #expect(unclear.message.contains("App, App 2") || unclear.message.contains("App 2, App"))
      #expect(unclear.message.contains("does not have the file VersionInfo.plist"))
      #expect(try ModelFile.read(at: path, version: "App 2.mom").description.entities.first?.name == "Two")
      #expect(try ModelFileSupport.error { _ = try ModelFile.read(at: path, version: "App 3") }.code == .notFound)
      let list: PropertyListValue = [
        "NSManagedObjectModel_CurrentVersionName": "App 2", "NSManagedObjectModel_VersionHashes": [:],
      ]
      try ModelFileSupport.put(try PropertyList.encodeBinary(list), at: path + "/VersionInfo.plist")
      let file = try ModelFile.read(at: path)
      #expect(file.versionName == "App 2" && file.description.entities.first?.name == "Two")
      #expect(Set(file.availableVersions) == ["App", "App 2"])
      let versions = try #require(try ModelFile.versions(at: path))
      #expect(versions.current == "App 2" && versions.names.count == 2)
    }
  }

  @Test("versions are written as a .xcdatamodeld that is read back")
  func writtenVersions() throws {
    let one = ModelDescription(entities: [EntityDescription(name: "One")])
    let two = ModelDescription(entities: [EntityDescription(name: "Two")])
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/App.xcdatamodeld"
      try ModelFile.write(versions: [("App", one), ("App 2", two)], current: "App 2", to: path)
      #expect(try ModelFile.read(at: path).description.entities == two.entities)
      #expect(try ModelFile.read(at: path, version: "App").description.entities == one.entities)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["App.xcdatamodeld"])
      let taken = try ModelFileSupport.error { try ModelFile.write(versions: [("App", one)], current: "App", to: path) }
      #expect(taken.code == .alreadyExists)
      try ModelFile.write(versions: [("App", one)], current: "App", to: path, overwrite: true)
      #expect(try ModelFile.read(at: path).availableVersions == ["App"])
      // Nothing of others goes with a model that is replaced.
      try Data("keep".utf8).write(to: URL(fileURLWithPath: path + "/notes.txt"))
      let kept = try ModelFileSupport.error {
        try ModelFile.write(versions: [("App", two)], current: "App", to: path, overwrite: true)
      }
      #expect(kept.code == .alreadyExists && kept.message.contains("notes.txt"))
      #expect(FileManager.default.fileExists(atPath: path + "/notes.txt"))
      #expect(
        try ModelFileSupport.error {
          try ModelFile.write(versions: [("a/b", one)], current: "a", to: folder + "/B.xcdatamodeld")
        }.code == .invalidValue)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["App.xcdatamodeld"])
    }
  }

  @Test("what a model file cannot represent is omitted, reported, and not part of any hash")
  func leftOut() throws {
    var attribute = AttributeDescription(name: "b", type: .binaryData, defaultValue: .data(Data([1])))
    attribute.userInfo = [UserInfoEntry(key: "k", value: "v")]
    let request = FetchRequestDescription(name: "all", entityName: "E", sortOrder: [.init("b")])
    let model = ModelDescription(
      versionIdentifiers: ["1", "2"], entities: [EntityDescription(name: "E", properties: [.attribute(attribute)])],
      fetchRequestTemplates: [request])
    let (kept, lost) = ModelFile.withoutWhatFilesCannotHold(model)
    #expect(lost.count == 3)
    let again = try ModelFile.read(contents: try ModelFile.contents(of: kept), name: "contents").description
    #expect(try ManagedObjectModel(again).versionHashes == ManagedObjectModel(model).versionHashes)
  }
}

@Suite("Third-party compiled and old models", .enabled(if: ModelFileSupport.hasCorpus, "needs ../shared/corpus"))
struct CompiledModelCorpusTests {
  static let models =
    ModelFileSupport.corpusFiles("mom") { $0.hasSuffix(".mom") }
    + ModelFileSupport.corpusFiles("oldmodels") { $0.hasSuffix("elements") }

  @Test("every model is read without a warning, and what is written of it has its hashes", arguments: models)
  func conversion(_ path: String) throws {
    let file = try ModelFile.read(at: path)
    #expect(!file.description.entities.isEmpty)
    let hashes = ManagedObjectModel(unchecked: file.description).versionHashes
    let (kept, _) = ModelFile.withoutWhatFilesCannotHold(file.description)
    let again = try ModelFile.read(contents: try ModelFile.contents(of: kept), name: "contents")
    #expect(again.warnings == [])
    #expect(again.description == kept)
    #expect(ManagedObjectModel(unchecked: again.description).versionHashes == hashes)
  }

  static let versionInfos = ModelFileSupport.corpusFiles("mom") { $0.hasSuffix("VersionInfo.plist") }

  @Test("the hashes of each version are those that the compiler wrote beside it", arguments: versionInfos)
  func versionHashes(_ path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let list =
      bytes.withUnsafeBytes { PropertyList.isBinary($0) }
      ? try PropertyList.decodeBinary(bytes) : try PropertyList.decodeXML(bytes.span)
    let versions = try #require(list.dictionaryValue?["NSManagedObjectModel_VersionHashes"]?.dictionaryValue)
    let checksums = list.dictionaryValue?["NSManagedObjectModel_VersionChecksums"]?.dictionaryValue
    let folder = String(path.dropLast("VersionInfo.plist".count))
    var compared = 0
    for entry in versions where FileManager.default.fileExists(atPath: folder + entry.key + ".mom") {
      let model = ManagedObjectModel(unchecked: try ModelFile.read(at: folder + entry.key + ".mom").description)
      guard let wanted = VersionHashes(metadata: [VersionHashes.metadataKey: entry.value]) else { continue }
      #expect(model.versionHashes.differences(from: wanted) == [], "\(entry.key)")
      if let checksum = checksums?[entry.key]?.stringValue {
        #expect(model.versionHashes.checksum == checksum, "\(entry.key)")
      }
      compared += wanted.entries.count
    }
    #expect(compared > 0)
  }

  @Test("mapping models and lists of versions are refused with what to use instead")
  func others() throws {
    for path in ModelFileSupport.corpusFiles("mom", where: { !$0.hasSuffix(".mom") && !$0.hasSuffix(".omo") })
      + ModelFileSupport.corpusFiles("oldmodels", where: { $0.hasSuffix("layout") })
    {
      let error = try ModelFileSupport.error { _ = try ModelFile.read(at: path) }
      #expect([.notSupported, .unrecognizedFormat].contains(error.code), "\(path): \(error)")
      if path.hasSuffix(".cdm") { #expect(error.message.contains("model show")) }
    }
  }

  @Test(
    "a compiled mapping model is printed, with the hashes of its entities",
    arguments: ModelFileSupport.corpusFiles("mom") { $0.hasSuffix(".cdm") })
  func mapping(_ path: String) throws {
    let mapping = try #require(try MappingModel.read(at: path))
    #expect(mapping.entityMappings.count == 5)
    #expect(
      mapping.text.contains("CarToCar: Car → Car (custom)\n")
        && mapping.text.contains("  numberPlate = $source.numberPlate\n"))
  }
}
