import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreCodecs
import StorePredicates
import Testing

@Suite("Writing compiled models")
struct CompiledModelWritingTests {
  private static let parser = ModelExpressionParser(
    predicate: { try FetchPredicate(format: $0) }, expression: { try FetchExpression(format: $0) })

  private static func compiled(_ model: ModelDescription) throws -> [UInt8] {
    try ModelFile.compiled(model, file: "M.mom", parser: parser)
  }

  private static func read(_ bytes: [UInt8]) throws -> ModelFile { try ModelFile.read(contents: bytes, name: "M.mom") }

  /// Attributes of all types with what they can have, in the order in which a compiled model is read.
  private static func attributes() throws -> [PropertyDescription] {
    let values: [(AttributeType, StoredValue)] = [
      (.integer16, .integer(-3)), (.integer32, .integer(7)), (.integer64, .integer(Int64.max)),
      (.decimal, .decimal(try #require(DecimalNumber("-12.50")))), (.double, .double(0.1)), (.float, .float(1.5)),
      (.string, .string("$null")), (.boolean, .boolean(true)),
      (.date, .date(Date(timeIntervalSinceReferenceDate: 12.25))), (.binaryData, .data(Data([0, 255]))),
      (.uuid, .uuid(try #require(UUID(uuidString: "5B0C6E0A-1111-4000-8000-000000000001")))),
      (.uri, .uri("http://example.com/a%20b")),
    ]
    var attributes = values.enumerated().map { index, value in
      AttributeDescription(name: "a\(10 + index)", type: value.0, defaultValue: value.1)
    }
    attributes[0].minimum = .integer(-5)
    attributes[0].maximum = .integer(5)
    attributes[0].isOptional = false
    attributes[1].isTransient = true
    attributes[2].isIndexed = true
    attributes[4].minimum = .double(-0.5)
    attributes[6].minimumLength = 2
    attributes[6].maximumLength = 80
    attributes[6].regularExpression = "[A-Z]+\\d*"
    attributes[6].renamingIdentifier = "earlier"
    attributes[6].versionHashModifier = "2"
    attributes[8].minimum = .date(Date(timeIntervalSinceReferenceDate: 0))
    attributes[9].allowsExternalBinaryDataStorage = true
    attributes[10].userInfo = [UserInfoEntry(key: "k", value: "v"), UserInfoEntry(key: "l", value: "")]
    attributes.append(AttributeDescription(name: "b1", type: .transformable, valueTransformerName: "Colors"))
    attributes.append(AttributeDescription(name: "b2", type: .undefined, isTransient: true))
    attributes.append(AttributeDescription(name: "b3", type: .string, derivationExpression: "uppercase:(a16)"))
    attributes.append(AttributeDescription(name: "b4", type: .integer64, derivationExpression: "many.@count"))
    return attributes.map { .attribute($0) }
  }

  private static func model() throws -> ModelDescription {
    let name =
      "name == \"x\" AND (price >= 2.1234567890123456789 OR NOT (tags.label CONTAINS[cd] $LABEL)) AND size BETWEEN {1, 3}"
    var request = FetchRequestDescription(name: "all", entityName: "Thing", predicateString: name)
    request.fetchLimit = 20
    let fetched = FetchedPropertyDescription(
      name: "z",
      fetchRequest: FetchRequestDescription(
        name: "fetchedPropertyFetchRequest", entityName: "Part", predicateString: "owner == $FETCH_SOURCE"))
    let thing = EntityDescription(
      name: "Thing", isAbstract: true, managedObjectClassName: ".Thing",
      properties: try attributes() + [
        .toMany(
          "many", "Part", inverse: "owner", minimumCount: 1, maximumCount: 9, isOrdered: true, deleteRule: .cascade),
        .toOne("none", "Thing", deleteRule: .noAction), .fetchedProperty(fetched),
      ],
      subentities: [
        EntityDescription(name: "Tool", properties: [.attribute("weight", .double)], renamingIdentifier: "Gadget")
      ],
      uniquenessConstraints: [["a10"], ["a11", "a16"]],
      fetchIndexes: [
        FetchIndexDescription(
          name: "byA",
          elements: [
            .init(propertyName: "a10", collationType: "Binary", isAscending: true),
            .init(propertyName: "a16", collationType: "RTree", isAscending: false),
          ], partialIndexPredicate: "a10 > 0")
      ], compoundIndexes: [["a10", "a11"]], versionHashModifier: "3", userInfo: [UserInfoEntry(key: "k", value: "v")])
    let part = EntityDescription(
      name: "Part", properties: [.toOne("owner", "Tool", inverse: "many")])
    return ModelDescription(
      versionIdentifiers: ["1", "2"], entities: [part, thing],
      configurations: [ConfigurationDescription(name: "Some", entityNames: ["Part", "Tool"])],
      fetchRequestTemplates: [request])
  }

  @Test("a model that is compiled and read again is the same, and has the same version hashes")
  func readsBackEqual() throws {
    var model = try Self.model()
    let file = try Self.read(try Self.compiled(model))
    #expect(file.warnings == [])
    model.fetchRequestTemplates[0].predicateString = file.description.fetchRequestTemplates.first?.predicateString
    #expect(
      try FetchPredicate(format: model.fetchRequestTemplates[0].predicateString ?? "")
        == FetchPredicate(format: try Self.model().fetchRequestTemplates[0].predicateString ?? ""))
    #expect(file.description.entities.map(\.name) == model.entities.map(\.name))
    for (found, wanted) in zip(file.description.entities, model.entities) {
      for (property, other) in zip(found.properties, wanted.properties) where property != other {
        Issue.record("\(property) is not \(other)")
      }
    }
    #expect(file.description == model)
    let hashes = ManagedObjectModel(unchecked: model).versionHashes
    #expect(ManagedObjectModel(unchecked: file.description).versionHashes == hashes)
    #expect(try Self.compiled(model) == Self.compiled(model))
  }

  @Test("options of fetch requests, which a compiled model does not keep, are named; defaults are not")
  func lostOptions() throws {
    var model = try Self.model()
    model.fetchRequestTemplates[0].includesSubentities = true
    #expect(ModelFile.lostInCompiledModel(model) == [])
    model.fetchRequestTemplates[0].includesSubentities = false
    let name = model.fetchRequestTemplates[0].name
    #expect(
      ModelFile.lostInCompiledModel(model)
        == ["the fetch request '\(name)' is written without its options, such as includesSubentities"])
  }

  @Test(
    "what no known compiled model has is refused by name",
    arguments: [
      ("size", "composite", .composite("Size"), nil),
      ("upper", "the derivation has a part", .string, "TERNARY(a == 1, a, a)"),
      ("upper", "'a +' is not understood", .string, "a +"),
    ] as [(String, String, AttributeType, String?)])
  func refusals(_ name: String, _ text: String, _ type: AttributeType, _ derivation: String?) throws {
    let attribute = AttributeDescription(name: name, type: type, derivationExpression: derivation)
    let model = ModelDescription(entities: [EntityDescription(name: "E", properties: [.attribute(attribute)])])
    let error = #expect(throws: PersistentStoreError.self) { try Self.compiled(model) }
    #expect(error?.code == .notSupported && error?.location.entity == "E")
    #expect(error?.description.contains(text) == true, "\(String(describing: error))")
  }

  // MARK: Third-party models

  @Test(
    "models that Xcode accepted have the same hashes when they are compiled, and compile to the same bytes again",
    .enabled(if: ModelFileSupport.hasCorpus, "needs ../shared/corpus"))
  func sources() throws {
    let paths = ModelFileSupport.corpusFiles("models") { $0.hasSuffix("contents") }
    #expect(paths.count > 100)
    for path in paths {
      let model = try ModelFile.read(at: path).description
      do {
        let again = try Self.read(try Self.compiled(model)).description
        let hashes = ManagedObjectModel(unchecked: model).versionHashes
        #expect(ManagedObjectModel(unchecked: again).versionHashes == hashes, "\(path)")
        #expect(try Self.read(try Self.compiled(again)).description == again, "\(path)")
      } catch let error as PersistentStoreError {
        // What is refused is named.
        #expect(error.code == .notSupported && error.location.entity != nil, "\(path): \(error)")
      }
    }
  }

  /// Keys of the compiler that made a model, not of the model.
  private static let compilerKeys: Set<String> = ["CDMCompilerToolVersion", "CDMCompilerXcodeVersion"]
  /// Keys that lead back to what is visited from elsewhere.
  private static let backwards: Set<String> = [
    "NSManagedObjectModel", "NSEntity", "NSSuperentity", "NSSubentities", "NSDestinationEntity",
    "NSInverseRelationship", "NSFetchIndexDescription",
  ]

  /// The class of each object, and the kinds of its plain values, by its path.
  private static func shape(
    _ value: KeyedArchive.Value?, _ path: String, into result: inout [String: String]
  ) throws {
    guard let value, !value.isNull else {
      result[path] = "nil"
      return
    }
    // The name of an index that a compiler derived is a mutable string, others are plain ones.
    guard value.stringValue == nil, let name = value.className else {
      // Older compilers write a Boolean default as an integer.
      result[path] = value.stringValue != nil ? "text" : value.dataValue != nil ? "data" : "number"
      return
    }
    result[path] = name
    if value.classNames.contains("NSDictionary") {
      for (key, element) in try value.entries() { try shape(element, path + "/" + key, into: &result) }
    } else if !value.classNames.contains(where: { ["NSArray", "NSSet", "NSString", "NSDate"].contains($0) }) {
      for key in value.keys where !compilerKeys.contains(key) {
        if backwards.contains(key) {
          result["\(path).\(key)"] = try value[key]?.className ?? "nil"
        } else {
          try shape(try value[key], "\(path).\(key)", into: &result)
        }
      }
    } else if value.classNames.contains(where: { ["NSArray", "NSSet"].contains($0) }) {
      for (index, element) in try value.elements().enumerated() {
        try shape(element, "\(path)[\(index)]", into: &result)
      }
    }
  }

  @Test(
    "a compiled model that is compiled again has the same classes, and each object the same keys",
    .enabled(if: ModelFileSupport.hasCorpus, "needs ../shared/corpus"))
  func structure() throws {
    // A cache of a store is not what a compiler wrote.
    let paths = ModelFileSupport.corpusFiles("mom") { $0.hasSuffix(".mom") && !$0.contains("@Z_MODELCACHE") }
    #expect(paths.count > 10)
    for path in paths {
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      let model = try Self.read(bytes).description
      var (wanted, found): ([String: String], [String: String]) = ([:], [:])
      try Self.shape(try KeyedArchive(bytes).root, "", into: &wanted)
      try Self.shape(try KeyedArchive(try Self.compiled(model)).root, "", into: &found)
      let name = path.split(separator: "~").suffix(2).joined(separator: "~")
      for (key, value) in wanted where found[key] != value {
        Issue.record("\(name): \(key) is \(found[key] ?? "missing"), not \(value)")
      }
      for key in found.keys where wanted[key] == nil { Issue.record("\(name): \(key) is extra") }
    }
  }
}
