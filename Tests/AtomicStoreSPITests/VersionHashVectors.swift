import AtomicStoreSPI
import Foundation
import Testing

/// An entity with the hash that Apple's software gave it: `Vectors/version-hash-vectors.json`.
struct VersionHashVector: Decodable, CustomTestStringConvertible {
  struct Property: Decodable {
    var name: String
    var kind: String
    var flags: Int
    var type: UInt32?
    var external: Bool?
    var preserve: Bool?
    var expression: String?
    var destination: String?
    var inverse: String?
    var max: Int?
    var min: Int?
    var ordered: Bool?
    var modifier: String?
  }
  struct Ancestor: Decodable {
    var name: String
    var abstract: Bool
    var unique: [[String]]?
    var modifier: String?
    var properties: [Property]
  }
  var entity: String
  /// In hexadecimal.
  var hash: String
  var source: String
  /// From the entity at the top of the hierarchy down to the one that the hash is of.
  var chain: [Ancestor]

  var testDescription: String { "\(entity) of \(source)" }

  private static let read = Result {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/version-hash-vectors.json")
    return try JSONDecoder().decode([VersionHashVector].self, from: Data(contentsOf: file))
  }

  /// - Throws: If their file cannot be read: without it nothing would be tested.
  static func all() throws -> [VersionHashVector] { try read.get() }

  /// A model of the chain alone: what its relationships lead to is not there.
  func model() throws -> ManagedObjectModel {
    var below: [EntityDescription] = []
    for ancestor in chain.reversed() {
      below = [
        EntityDescription(
          name: ancestor.name, isAbstract: ancestor.abstract,
          properties: try ancestor.properties.map { try $0.description() },
          subentities: below, uniquenessConstraints: ancestor.unique ?? [], versionHashModifier: ancestor.modifier)
      ]
    }
    return ManagedObjectModel(unchecked: ModelDescription(entities: below))
  }

  /// Whether the hash comes out, with what is hashed changed.
  func holds(changing change: (Entity, inout VersionHashInput) -> Void = { _, _ in }) throws -> Bool {
    let found = try model().versionHashes(changing: change)[entity]
    return found.map(VersionHashes.hexadecimal) == hash
  }
}

extension VersionHashVector.Property {
  struct Unknown: Error { var what: String }

  func description() throws -> PropertyDescription {
    let isOptional = flags & 1 != 0
    let isTransient = flags & 2 != 0
    switch kind {
    case "attribute", "derived":
      // Of derived attributes the type is not recorded: it does not count.
      guard let type = AttributeType.allNumbered.first(where: { $0.versionHashNumber == type ?? 0 }) else {
        throw Unknown(what: "type \(type ?? 0)")
      }
      return .attribute(
        AttributeDescription(
          name: name, type: type, isOptional: isOptional, isTransient: isTransient, derivationExpression: expression,
          allowsExternalBinaryDataStorage: external ?? false, versionHashModifier: modifier,
          extras: preserve == true ? [.attribute(name: "preserveAfterDeletion", value: "YES")] : []))
    case "relationship":
      var extras: [ModelExtra] = []
      if let max, max < 0 { extras.append(.attribute(name: "maxCount", value: String(max))) }
      return .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination ?? "", inverseName: inverse, isOptional: isOptional,
          isTransient: isTransient, minimumCount: min ?? 0, maximumCount: Swift.max(max ?? 0, 0),
          isOrdered: ordered ?? false,
          versionHashModifier: modifier, extras: extras))
    case "fetched":
      return .fetchedProperty(
        FetchedPropertyDescription(
          name: name, fetchRequest: FetchRequestDescription(name: "fetch", entityName: destination ?? "")))
    default: throw Unknown(what: kind)
    }
  }
}

extension AttributeType {
  /// One of each number that compiled models have.
  static let allNumbered: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri,
    .transformable, .composite("C"),
  ]
}
