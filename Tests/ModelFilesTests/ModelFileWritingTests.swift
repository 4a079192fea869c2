import AtomicStoreSPI
import Foundation
import Testing

@testable import ModelFiles

@Suite("Writing a model file")
struct ModelFileWritingTests {
  private static let model = ModelDescription(
    versionIdentifiers: ["1"],
    entities: [
      EntityDescription(
        name: "Zoo", isAbstract: true, managedObjectClassName: ".Zoo",
        properties: [
          .attribute(
            "n\u{E9}e \"<&>\"", .string, defaultValue: .string("a\tb\nc\r"), minimumLength: 1, maximumLength: 2),
          .attribute("when", .date, defaultValue: .date(Date(timeIntervalSinceReferenceDate: 0.1))),
          .attribute("home", .composite("Place")),
          .toMany(
            "animals", "Animal", inverse: "zoo", minimumCount: 1, maximumCount: 9, isOrdered: true, deleteRule: .cascade
          ),
        ],
        subentities: [EntityDescription(name: "Wild"), EntityDescription(name: "Aqua")],
        uniquenessConstraints: [["when"]],
        userInfo: [UserInfoEntry(key: "b", value: ""), UserInfoEntry(key: "a", value: "1")]),
      EntityDescription(
        name: "Animal",
        properties: [
          .toOne("zoo", "Zoo", inverse: "animals")
        ]),
    ],
    composites: [
      CompositeDescription(
        name: "Place", attributes: [AttributeDescription(name: "lat", type: .double, defaultValue: .double(-0.0))])
    ],
    configurations: [ConfigurationDescription(name: "All", entityNames: ["Zoo", "Animal"])],
    fetchRequestTemplates: [
      FetchRequestDescription(name: "f", entityName: "Zoo", predicateString: "a < 1 && b == \"c\"")
    ])

  @Test("a model created in code is written as a directory, and is the same when read")
  func roundTrip() throws {
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/Zoo 1.xcdatamodel"
      try ModelFile.write(Self.model, to: path)
      let file = try ModelFile.read(at: path)
      #expect(file.warnings == [])
      #expect(file.versionName == "Zoo 1")
      let read = file.description
      #expect(read == Self.model)
      #expect(try ManagedObjectModel(read).entityCount == 4)
    }
  }

  @Test("equal models give equal bytes, and an existing directory is replaced only on request")
  func overwriting() throws {
    #expect(try ModelFile.contents(of: Self.model) == ModelFile.contents(of: Self.model))
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/Zoo.xcdatamodel"
      try ModelFile.write(ModelDescription(entities: [EntityDescription(name: "Old")]), to: path)
      let error = try ModelFileSupport.error { try ModelFile.write(Self.model, to: path) }
      #expect(error.code == .alreadyExists)
      let old = try ModelFile.read(at: path)
      #expect(old.description.entities.map(\.name) == ["Old"])
      try ModelFile.write(Self.model, to: path, overwrite: true)
      let new = try ModelFile.read(at: path)
      #expect(new.description.entities.map(\.name) == ["Zoo", "Animal"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["Zoo.xcdatamodel"])
    }
  }

  /// Writes a model beside its place.
  private static func staged(_ path: String, overwrite: Bool) throws -> Publication {
    let unit = Publication()
    path.hasSuffix("d")
      ? try unit.add(versions: [("One", model)], current: "One", at: path, overwrite: overwrite)
      : try unit.add(model, at: path, overwrite: overwrite)
    return unit
  }

  @Test(
    "a staged model leaves nothing behind if it is not committed", arguments: ["Zoo.xcdatamodel", "Zoo.xcdatamodeld"])
  func discarding(_ name: String) throws {
    try ModelFileSupport.withFolder { folder in
      do {
        let staged = try Self.staged(folder + "/" + name, overwrite: false)
        #expect(!FileManager.default.fileExists(atPath: folder + "/" + name))
        #expect(try !FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        withExtendedLifetime(staged) {}
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }
  }

  @Test(
    "what another program puts in the place of a staged model stays there",
    arguments: ["Zoo.xcdatamodel", "Zoo.xcdatamodeld"], [false, true])
  func appearing(_ name: String, _ overwrite: Bool) throws {
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/" + name
      do {
        let staged = try Self.staged(path, overwrite: overwrite)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try "precious".write(toFile: path + "/mine", atomically: false, encoding: .utf8)
        let error = try ModelFileSupport.error { try staged.commit() }
        #expect(error.code == .alreadyExists)
      }
      #expect(try String(contentsOfFile: path + "/mine", encoding: .utf8) == "precious")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
      #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["mine"])
    }
  }

  @Test(
    "an empty directory is filled, and a model is replaced on request",
    arguments: ["Zoo.xcdatamodel", "Zoo.xcdatamodeld"])
  func emptyDirectory(_ name: String) throws {
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/" + name
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      for overwrite in [false, true] {
        try Self.staged(path, overwrite: overwrite).commit()
        #expect(try ModelFile.read(at: path).description == Self.model)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
      }
      let error = try ModelFileSupport.error { _ = try Self.staged(path, overwrite: false) }
      #expect(error.code == .alreadyExists)
    }
  }

  @Test("entities are sorted by name, without changing the order of siblings")
  func entityOrder() throws {
    let text = String(decoding: try ModelFile.contents(of: Self.model), as: UTF8.self)
    let names = text.split(separator: "<entity name=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
    #expect(names == ["Wild", "Aqua", "Zoo", "Animal"])
    #expect(text.contains("<entity name=\"Aqua\" parentEntity=\"Zoo\"/>"))
  }

  @Test("the sample models are as Xcode would write them", arguments: ["Company", "FriendInfo"])
  func samples(_ name: String) throws {
    let folder = "\(ModelFileSupport.package)/SampleStores/\(name)/\(name).xcdatamodeld"
    let file = try ModelFile.read(at: folder)
    #expect(file.warnings == [])
    #expect(file.versionName == name)
    let original = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name).xcdatamodel/contents"))
    let written = try ModelFile.contents(of: file.description)
    #expect(Array(original) == written)
    #expect(try ManagedObjectModel(file.description).warnings.allSatisfy { $0.code == .noInverse })
  }

  @Test("Company has every attribute type and every kind of relationship")
  func company() throws {
    let folder = "\(ModelFileSupport.package)/SampleStores/Company/Company.xcdatamodeld"
    let model = try ManagedObjectModel(ModelFile.read(at: folder).description)
    let slots = model.entities.flatMap(\.slots)
    let declared = model.entities.flatMap { $0.declaration.properties }.compactMap {
      if case .attribute(let attribute) = $0 { attribute } else { nil }
    }
    let types: [AttributeType] = [
      .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
      .uuid, .uri, .transformable, .composite("Address"),
    ]
    for type in types { #expect(declared.contains { $0.type == type && !$0.isTransient }, "\(type)") }
    for kind in [Slot.Kind.toOne, .toMany(ordered: false), .toMany(ordered: true)] {
      #expect(slots.contains { $0.kind == kind })
    }
    #expect(declared.contains { $0.isTransient } && declared.contains { $0.derivationExpression != nil })
    #expect(declared.contains { $0.regularExpression != nil } && declared.contains { $0.minimum != nil })
    let employee = try #require(model.entity(named: "Employee"))
    let buddy = try #require(employee.relationshipsByName["buddy"])
    #expect(buddy.inverseName == "buddy")
    let favourite = try #require(employee.relationshipsByName["favourite"])
    #expect(model.entity(named: favourite.destinationEntityName)?.isAbstract == true)
    #expect(model.entity(named: "Manager")?.superentity == employee)
    #expect(model.configurations == ["People", "Work"])
    #expect(model.description.fetchRequestTemplates.count == 2)
    #expect(employee.declaration.fetchIndexes.count == 1 && employee.declaration.userInfo.count == 1)
    #expect(model.entity(named: "Department")?.uniquenessConstraints == [["name"]])
  }
}
