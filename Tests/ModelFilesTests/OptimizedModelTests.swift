import AtomicStoreSPI
import Foundation
import Testing

@testable import ModelFiles

/// Writes the parts of a `.omo` that are known, as the files of the corpus have them.
private struct OptimizedModelBuilder {
  var model: ManagedObjectModel
  /// Flags to add to those of the properties.
  var extraFlags = 0
  var texts = [""]
  var blobs: [[UInt8]] = [[]]
  static let mark = 0xDAED_FEEB

  private static func words(_ numbers: [Int]) -> [UInt8] {
    numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
  }

  private mutating func text(_ text: String) -> Int {
    if let known = texts.firstIndex(of: text) { return known }
    texts.append(text)
    return texts.count - 1
  }

  private mutating func constraints(of entity: Entity) -> [Int] {
    let lists = entity.declaration.uniquenessConstraints
    return [lists.count] + lists.flatMap { [0, 0, 0, 0, 0, $0.count] + $0.flatMap { [0, text($0)] } } + [0, 1]
  }

  mutating func bytes() -> [UInt8] {
    var entities: [UInt8] = Self.words([model.entityCount])
    var properties: [[Int]] = []
    var numbers: [String: Int] = [:]
    func own(_ entity: Entity) -> [PropertyDescription] { entity.declaration.properties }
    for entity in model.entities {
      for property in own(entity) { numbers["\(entity.name).\(property.name)"] = numbers.count }
    }
    for entity in model.entities {
      blobs.append(Array(model.versionHashes[entity.name] ?? Data()))
      let name = text(entity.name)
      let body =
        [0, blobs.count - 1, name, name, entity.superentity == nil ? 0 : 1 << 24]
        + (entity.superentity.map { [$0.index] } ?? []) + [entity.root.index, 0, 0, 0xC]
        + [Int](repeating: 0, count: 18) + [entity.index + 1, 0, 0, 0, 0, 0]
        + constraints(of: entity)
      entities += Self.words([Self.mark, (body.count + 2) * 4] + body + [Self.mark])
      for property in own(entity) {
        switch property {
        case .attribute(let attribute):
          let flags = (attribute.isOptional ? 4 : 0) + (attribute.isTransient ? 2 : 0) + extraFlags
          properties.append([
            64, 2, flags, 0, 0, entity.index, text(attribute.name), 0, 0, 0, 0, 0,
            Int(attribute.type.versionHashNumber), 0, 0, attribute.allowsExternalBinaryDataStorage ? 4 : 0,
          ])
        case .relationship(let relationship):
          let destination = model.entity(named: relationship.destinationEntityName)?.index ?? 0
          let inverse = relationship.inverseName.flatMap { numbers["\(relationship.destinationEntityName).\($0)"] }
          properties.append([
            68, 4, (relationship.isOptional ? 4 : 0) + extraFlags, 0, 0, entity.index, text(relationship.name), 0, 0, 0,
            0,
            destination, inverse == nil ? 0 : 1, inverse ?? 0, relationship.maximumCount, relationship.minimumCount, 2,
          ])
        case .fetchedProperty: break
        }
      }
    }
    var result = Array("momv2$srsrao".utf8) + [UInt8](repeating: 0x2D, count: 52)
    let start = result.count
    result += [UInt8](repeating: 0, count: 23 * 4)
    func align(_ step: Int) { while result.count % step != 0 { result.append(0) } }
    func object(_ content: [UInt8], lengthAt place: Int, _ end: [UInt8]) {
      align(8)
      var header = [UInt8](repeating: 0, count: 24)
      header.replaceSubrange(place..<place + 4, with: Self.words([content.count]))
      result += header + content + end
    }
    let namesAt = result.count
    result += Self.words([model.entityCount + 1, 0, 0])
    for entity in model.entities {
      let units = entity.name.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
      result += Self.words([units.count, 0]) + units
      align(4)
    }
    let textsAt = result.count
    result += Self.words([texts.count])
    for text in texts { object(Array(text.utf8), lengthAt: 12, [0]) }
    align(4)
    let blobsAt = result.count
    result += Self.words([blobs.count])
    for blob in blobs { object(blob, lengthAt: 16, []) }
    align(4)
    let relationships = properties.count { $0[1] == 4 }
    let propertiesAt = result.count
    result += Self.words([properties.count - relationships, 0, relationships, 0, 0])
    for property in properties { result += Self.words(property) }
    let entitiesAt = result.count
    result += entities
    let header = [
      0, entitiesAt, model.entityCount, propertiesAt, properties.count, properties.count - relationships, 0,
      relationships, 0, 0, 0, 0, blobsAt, blobs.count, namesAt, model.entityCount + 1, textsAt, texts.count, 0, 0, 0, 0,
      0,
    ]
    result.replaceSubrange(start..<start + header.count * 4, with: Self.words(header))
    return result
  }
}

@Suite("Optimized compiled models, .omo") struct OptimizedModelTests {
  private static func model(isOrdered: Bool = false) throws -> ManagedObjectModel {
    func relationship(_ name: String, _ destination: String, _ inverse: String, _ count: Int) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: count,
          isOrdered: isOrdered && count == 0))
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Thing", isAbstract: true,
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string, isOptional: false)),
            relationship("owner", "Person", "things", 1),
          ],
          subentities: [
            EntityDescription(
              name: "Car", properties: [.attribute(AttributeDescription(name: "photo", type: .binaryData))])
          ]),
        EntityDescription(
          name: "Person",
          properties: [
            .attribute(AttributeDescription(name: "first", type: .string)),
            .attribute(AttributeDescription(name: "last", type: .string)),
            relationship("things", "Thing", "owner", 0),
          ], uniquenessConstraints: [["first", "last"]]),
      ]))
  }

  private static func read(_ bytes: [UInt8]) throws -> ModelFile {
    try ModelFile.read(contents: bytes, name: "App.omo")
  }

  @Test("entities, parents, properties and abstract entities are read, with a warning for the rest")
  func reads() throws {
    let model = try Self.model()
    var builder = OptimizedModelBuilder(model: model)
    let file = try Self.read(builder.bytes())
    let found = try ManagedObjectModel(file.description)
    #expect(found.versionHashes == model.versionHashes)
    #expect(found.entity(named: "Car")?.superentity?.name == "Thing")
    #expect(found.entity(named: "Thing")?.isAbstract == true && found.entity(named: "Car")?.isAbstract == false)
    #expect(found.entity(named: "Person")?.declaration.uniquenessConstraints == [["first", "last"]])
    #expect(file.warnings.contains { $0.text.contains("not defaults, rules") })
  }

  @Test("what is not known of the layout is refused by name: ordered relationships by their hash, flags, versions")
  func refuses() throws {
    func refusal(_ bytes: [UInt8]) throws -> PersistentStoreError {
      try ModelFileSupport.error { _ = try Self.read(bytes) }
    }
    var ordered = OptimizedModelBuilder(model: try Self.model(isOrdered: true))
    let byHash = try refusal(ordered.bytes())
    #expect(byHash.code == .notSupported && byHash.location.entity == "Person")
    #expect(byHash.message.contains("its version hash") || byHash.message.contains("the version hash"))
    var flagged = OptimizedModelBuilder(model: try Self.model())
    flagged.extraFlags = 0x40
    let byFlag = try refusal(flagged.bytes())
    #expect(byFlag.code == .notSupported && byFlag.location.property != nil && byFlag.message.contains(".mom"))
    var other = OptimizedModelBuilder(model: try Self.model())
    var bytes = other.bytes()
    bytes[6] = UInt8(ascii: "x")
    #expect(try refusal(bytes).message.contains("this version of the layout"))
  }

  @Test("a file that is cut, or has a byte changed, is refused or read, and nothing else")
  func damaged() throws {
    var builder = OptimizedModelBuilder(model: try Self.model())
    let bytes = builder.bytes()
    for length in stride(from: 12, to: bytes.count, by: 7) {
      _ = try ModelFileSupport.error { _ = try Self.read(Array(bytes[..<length])) }
    }
    for place in 64..<bytes.count {
      var changed = bytes
      changed[place] ^= 0xFF
      do { _ = try Self.read(changed) } catch is PersistentStoreError {}
    }
  }

  @Test("a .momd that has only the .omo of a version is read; beside a .mom, that is")
  func folder() throws {
    var builder = OptimizedModelBuilder(model: try Self.model())
    let bytes = builder.bytes()
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/App.momd"
      try ModelFileSupport.put(bytes, at: path + "/App.omo")
      let file = try ModelFile.read(at: path)
      #expect(file.versionName == "App" && file.availableVersions == ["App"] && file.description.entities.count == 2)
      #expect(try ModelFile.versions(at: path)?.names == ["App"])
      #expect(try ModelFile.inspect(path + "/App.omo")?.kind == "optimized compiled model (.omo)")
      try ModelFileSupport.put([1], at: path + "/App.omo")
      let archive = ArchiveBuilder()
      try ModelFileSupport.put(try archive.model([("One", archive.entity("One", []))]), at: path + "/App.mom")
      #expect(try ModelFile.read(at: path).description.entities.map(\.name) == ["One"])
    }
  }

  @Test(
    "the .omo files of the corpus have the entities of the .mom beside them, with equal hashes",
    arguments: ModelFileSupport.corpusFiles("mom") { $0.hasSuffix(".omo") })
  func corpus(_ path: String) throws {
    let file = try ModelFile.read(at: path)
    let twin = try ModelFile.read(at: String(path.dropLast(4)) + ".mom")
    let (found, wanted) = (try ManagedObjectModel(file.description), try ManagedObjectModel(twin.description))
    #expect(found.versionHashes == wanted.versionHashes)
    for (one, other) in zip(found.entities, wanted.entities) {
      #expect(one.managedObjectClassName == other.managedObjectClassName, "\(one.name)")
      for (a, b) in zip(one.declaration.properties, other.declaration.properties) {
        guard case .relationship(let first) = a, case .relationship(let second) = b else {
          if case .attribute(let first) = a, case .attribute(let second) = b {
            #expect(first.type == second.type && first.isTransient == second.isTransient, "\(one.name).\(a.name)")
            #expect(first.valueTransformerName == second.valueTransformerName, "\(one.name).\(a.name)")
          }
          continue
        }
        #expect(first.deleteRule == second.deleteRule && first.inverseName == second.inverseName)
      }
    }
  }
}
