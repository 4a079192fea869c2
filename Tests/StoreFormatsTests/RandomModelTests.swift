import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// A random model, and objects of it whose relationships have both ends: what decides how Core Data lays tables out.
struct RandomModelGraph {
  private struct RandomEntity {
    let name: String
    let parent: Int?
    var properties: [PropertyDescription] = []
    var names: Set<String> = []
  }
  /// A relationship and its inverse, by entity.
  private struct Ends {
    let one: Int
    let oneName: String
    let isOneMany: Bool
    let other: Int
    /// Nil for a relationship without an inverse; the same as the other end's for its own inverse.
    let otherName: String?
    let isOtherMany: Bool
    var isItsOwnInverse: Bool { one == other && oneName == otherName }
  }
  private struct Object {
    let entity: Int
    let reference: Int64
    var toOne: [String: Int64] = [:]
    var toMany: [String: [Int64]] = [:]
  }

  static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .double, .float, .string, .boolean, .date, .binaryData, .uuid, .uri,
  ]

  private var random: Random
  private var entities: [RandomEntity] = []
  private var ends: [Ends] = []
  private var objects: [Object] = []

  init(seed: UInt64) {
    random = Random(seed: seed)
    makeEntities()
    for _ in 0..<Int.random(in: 0...6, using: &random) { makeRelationship() }
    makeObjects()
    for end in ends { link(end) }
  }

  // MARK: The model

  private mutating func makeEntities() {
    for index in 0..<Int.random(in: 1...6, using: &random) {
      let hasParent = index > 0 && Int.random(in: 0..<5, using: &random) < 2
      let parent = hasParent ? Int.random(in: 0..<index, using: &random) : nil
      entities.append(RandomEntity(name: "E\(Int.random(in: 0..<9, using: &random))_\(index)", parent: parent))
      for name in ["name", "Name", "note", "note1", "NOTE", "z1", "größe", "pk"]
      where Bool.random(using: &random) && isFree(name, index) {
        let type = Self.types.randomElement(using: &random) ?? .string
        add(.attribute(AttributeDescription(name: name, type: type)), name, to: index)
      }
    }
  }

  private mutating func makeRelationship() {
    let one = entities.indices.randomElement(using: &random) ?? 0
    let other = entities.indices.randomElement(using: &random) ?? 0
    let names = ["items", "owner", "tags", "note2", "a", "b"].shuffled(using: &random)
    guard let oneName = names.first(where: { isFree($0, one) }) else { return }
    let isOneMany = Bool.random(using: &random)
    let isOtherMany = Bool.random(using: &random)
    let kind = Int.random(in: 0..<5, using: &random)
    func relationship(_ name: String, _ to: Int, _ inverse: String?, _ isMany: Bool) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: entities[to].name, inverseName: inverse, maximumCount: isMany ? 0 : 1,
          isOrdered: isMany && name.utf8.count % 2 == 1))
    }
    if kind == 0 {
      add(relationship(oneName, other, nil, isOneMany), oneName, to: one)
      ends.append(
        Ends(one: one, oneName: oneName, isOneMany: isOneMany, other: other, otherName: nil, isOtherMany: false))
    } else if kind == 1 {
      add(relationship(oneName, one, oneName, isOneMany), oneName, to: one)
      ends.append(
        Ends(one: one, oneName: oneName, isOneMany: isOneMany, other: one, otherName: oneName, isOtherMany: isOneMany))
    } else {
      let isRelated = chain(one).contains(other) || chain(other).contains(one)
      guard let otherName = names.first(where: { isFree($0, other) && !(isRelated && $0 == oneName) }) else { return }
      add(relationship(oneName, other, otherName, isOneMany), oneName, to: one)
      add(relationship(otherName, one, oneName, isOtherMany), otherName, to: other)
      ends.append(
        Ends(
          one: one, oneName: oneName, isOneMany: isOneMany, other: other, otherName: otherName,
          isOtherMany: isOtherMany))
    }
  }

  private mutating func add(_ property: PropertyDescription, _ name: String, to index: Int) {
    entities[index].properties.append(property)
    entities[index].names.insert(name)
  }

  /// The entity and those above it.
  private func chain(_ index: Int) -> [Int] {
    var result = [index]
    while let parent = entities[result[result.count - 1]].parent { result.append(parent) }
    return result
  }

  private func isFree(_ name: String, _ index: Int) -> Bool {
    entities.indices.allSatisfy {
      !entities[$0].names.contains(name) || !(chain($0).contains(index) || chain(index).contains($0))
    }
  }

  private func description(_ index: Int) -> EntityDescription {
    EntityDescription(
      name: entities[index].name, properties: entities[index].properties,
      subentities: entities.indices.filter { entities[$0].parent == index }.map { description($0) })
  }

  var model: ModelDescription {
    ModelDescription(entities: entities.indices.filter { entities[$0].parent == nil }.map { description($0) })
  }

  // MARK: The objects

  private mutating func makeObjects() {
    var reference: Int64 = 0
    for _ in 0..<Int.random(in: 0...30, using: &random) {
      reference += Int64.random(in: 1...3, using: &random)
      objects.append(Object(entity: Int.random(in: 0..<entities.count, using: &random), reference: reference))
    }
  }

  private mutating func link(_ ends: Ends) {
    let ones = objects.indices.filter { chain(objects[$0].entity).contains(ends.one) }.shuffled(using: &random)
    let others = objects.indices.filter { chain(objects[$0].entity).contains(ends.other) }.shuffled(using: &random)
    for one in ones {
      for other in others where Int.random(in: 0..<4, using: &random) == 0 { connect(one, other, ends) }
    }
  }

  /// Whether another object fits into this end of an object.
  private func hasRoom(_ object: Int, _ name: String, _ isMany: Bool, for other: Int64) -> Bool {
    isMany ? objects[object].toMany[name]?.contains(other) != true : objects[object].toOne[name] == nil
  }

  private mutating func put(_ other: Int64, into object: Int, _ name: String, _ isMany: Bool) {
    if isMany {
      objects[object].toMany[name, default: []].append(other)
    } else {
      objects[object].toOne[name] = other
    }
  }

  private mutating func connect(_ one: Int, _ other: Int, _ ends: Ends) {
    let (oneKey, otherKey) = (objects[one].reference, objects[other].reference)
    guard hasRoom(one, ends.oneName, ends.isOneMany, for: otherKey) else { return }
    guard let otherName = ends.otherName else {
      // Without an inverse, an object is in one such list: its row has room for one owner.
      let isTaken = ends.isOneMany && objects.contains { $0.toMany[ends.oneName]?.contains(otherKey) == true }
      if !isTaken { put(otherKey, into: one, ends.oneName, ends.isOneMany) }
      return
    }
    guard hasRoom(other, otherName, ends.isOtherMany, for: oneKey) else { return }
    put(otherKey, into: one, ends.oneName, ends.isOneMany)
    if !(ends.isItsOwnInverse && one == other) { put(oneKey, into: other, otherName, ends.isOtherMany) }
  }

  mutating func snapshot(type: String) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(model)
    let builder = NodeTableBuilder(model: model)
    for object in objects {
      let entity = try #require(model.entity(named: entities[object.entity].name))
      try builder.beginNode(entity: entity.index, reference: object.reference)
      for slot in entity.slots {
        if let type = slot.attributeType {
          if Int.random(in: 0..<4, using: &random) > 0 { try builder.set(value(type), slot: slot.index) }
        } else if let key = object.toOne[slot.name] {
          try builder.set(toOne: key, slot: slot.index)
        }
        for key in object.toMany[slot.name] ?? [] { try builder.append(toMany: key, slot: slot.index) }
      }
    }
    let metadata = StoreMetadata(storeType: type, lastReference: objects.last?.reference ?? 0, model: model.description)
    return StoreSnapshot(nodes: try builder.finish().canonical(), metadata: metadata)
  }

  /// A value that every store of Core Data keeps.
  private mutating func value(_ type: AttributeType) -> StoredValue {
    let number = Int64.random(in: -1000...1000, using: &random)
    return switch type {
    case .integer16, .integer32: .integer(number)
    case .integer64: .integer(number &* 9_000_000_000_000_000)
    case .boolean: .boolean(number > 0)
    case .float: .float(Float(number) / 3 + 1)
    case .double: .double(Double(number) / 3 + 1)
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number) * 1e6 + 0.25))
    case .binaryData: .data(Data((0..<max(0, Int(number) % 40)).map { UInt8($0) }))
    case .uuid:
      .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(truncatingIfNeeded: number))))
    case .uri: .uri("http://example.com/\(number)")
    default: .string(["", "a", "Zoë", "\u{0}", "O'Neil \"x\"", "李\n"].randomElement(using: &random) ?? "")
    }
  }
}

@Suite("Random models in Core Data's stores") struct RandomModelTests {
  @Test(
    "what was written of a random model is read again as it was", arguments: ["CoreDataSQLite", "CoreDataBinary"],
    [UInt64](1...60))
  func roundTrip(_ type: String, _ seed: UInt64) throws {
    let folder = try CoreDataSQLiteWritingTests.Scratch()
    let path = folder.path + "/store"
    var graph = RandomModelGraph(seed: seed)
    let snapshot = try graph.snapshot(type: type)
    var format = try StoreRegistry.builtIn.storeType(named: type).init(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
    try format.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
    let store = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    #expect(store.loadNotes.isEmpty, "\(store.loadNotes)")
    let differences = GraphComparison.differences(
      snapshot, StoreSnapshot(nodes: try store.nodes.canonical(), metadata: store.metadata),
      options: .init(comparesIdentity: true, comparesMetadata: true, limit: 10))
    #expect(differences.isEmpty, "seed \(seed): \(differences)")
  }
}
