import AtomicStoreSPI

/// What an object graph should be, as plain values: undo is an older copy, a save is a copy, a rollback is the copy
/// that was saved.
struct PlainGraph: Equatable {
  struct Record: Equatable {
    let entity: String
    /// Null is absent.
    var values: [String: Int] = [:]
    /// The objects at the other ends; a set is in any order.
    var ends: [String: [Int]] = [:]
  }
  /// A relationship of the model, with its inverse.
  struct Relationship {
    let name: String
    let inverse: String
    let destination: String
    let isToMany: Bool
    let isOrdered: Bool
    let isInverseToMany: Bool
    let rule: DeleteRule
  }

  var records: [Int: Record] = [:]
  var keys: [Int] { records.keys.sorted() }

  func ends(_ key: Int, _ name: String) -> [Int] { records[key]?.ends[name] ?? [] }
  func relationships(_ key: Int) -> [Relationship] { records[key].map { WalkModel.relationships(of: $0.entity) } ?? [] }
  func keys(of entity: String) -> [Int] {
    keys.filter { WalkModel.isKind(records[$0]?.entity ?? "", entity) }
  }

  mutating func insert(_ key: Int, _ entity: String) { records[key] = Record(entity: entity) }

  private mutating func drop(_ key: Int, _ name: String, _ other: Int) {
    records[key]?.ends[name, default: []].removeAll { $0 == other }
  }
  private mutating func put(_ key: Int, _ name: String, _ other: Int, at place: Int?) {
    let list = ends(key, name)
    if !list.contains(other) {
      records[key]?.ends[name, default: []].insert(other, at: min(place ?? list.count, list.count))
    }
  }

  mutating func unrelate(_ key: Int, _ end: Relationship, _ other: Int) {
    drop(key, end.name, other)
    drop(other, end.inverse, key)
  }
  mutating func relate(_ key: Int, _ end: Relationship, _ other: Int, at place: Int? = nil) {
    if ends(key, end.name).contains(other) { return }
    if !end.isToMany { for old in ends(key, end.name) { unrelate(key, end, old) } }
    if !end.isInverseToMany {
      for old in ends(other, end.inverse) {
        drop(old, end.name, other)
        drop(other, end.inverse, old)
      }
    }
    // The other end first: it is the same one for an object that is its own partner.
    put(other, end.inverse, key, at: nil)
    put(key, end.name, other, at: place)
  }
  mutating func clear(_ key: Int, _ end: Relationship) { for old in ends(key, end.name) { unrelate(key, end, old) } }
  mutating func assign(_ key: Int, _ end: Relationship, _ others: [Int]) {
    for old in ends(key, end.name) where !others.contains(old) { unrelate(key, end, old) }
    for other in others { relate(key, end, other) }
    if end.isOrdered { records[key]?.ends[end.name] = others }
  }

  mutating func delete(_ key: Int) {
    guard let record = records.removeValue(forKey: key) else { return }
    for end in WalkModel.relationships(of: record.entity) {
      for other in record.ends[end.name] ?? [] {
        if end.rule == .cascade { delete(other) } else if end.rule == .nullify { drop(other, end.inverse, key) }
      }
    }
  }

  /// The objects that are deleted with an object; nil if one of them must not be.
  func closure(_ key: Int) -> Set<Int>? {
    var after = self
    after.delete(key)
    let gone = Set(records.keys).subtracting(after.records.keys)
    let isDenied = gone.contains { key in
      relationships(key).contains { end in
        end.rule == .deny && ends(key, end.name).contains { after.records[$0] != nil }
      }
    }
    return isDenied ? nil : gone
  }

  /// Whether an object is the same in both, apart from the order of sets.
  static func isSame(_ one: Record?, _ other: Record?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.values == other.values
      && WalkModel.relationships(of: one.entity).allSatisfy {
        let (a, b) = (one.ends[$0.name] ?? [], other.ends[$0.name] ?? [])
        return $0.isOrdered ? a == b : a.sorted() == b.sorted()
      }
  }
  func isSame(as other: PlainGraph) -> Bool {
    Set(records.keys).union(other.records.keys).allSatisfy { Self.isSame(records[$0], other.records[$0]) }
  }
}

/// A relationship of each kind, each with an inverse, in few entities.
enum WalkModel {
  static let model: ManagedObjectModel = {
    do { return try ManagedObjectModel(description) } catch { preconditionFailure("\(error)") }
  }()
  static let attributes = ["n", "m"]
  static let entities = ["Person", "Boss", "Thing", "Box", "Tag", "Desk"]

  private static func relationship(
    _ name: String, _ destination: String, _ inverse: String, toMany: Bool = false, ordered: Bool = false,
    rule: DeleteRule = .nullify
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: toMany ? 0 : 1,
        isOrdered: ordered, deleteRule: rule))
  }

  private static var description: ModelDescription {
    let values = attributes.map { PropertyDescription.attribute($0, .integer32) }
    return ModelDescription(entities: [
      EntityDescription(
        name: "Person",
        properties: values + [
          relationship("owned", "Thing", "owner", toMany: true, ordered: true, rule: .cascade),
          relationship("tags", "Tag", "people", toMany: true),
          relationship("list", "Tag", "listed", toMany: true, ordered: true),
          relationship("spouse", "Person", "spouse"),
          relationship("friends", "Person", "friends", toMany: true),
          relationship("line", "Person", "line", toMany: true, ordered: true),
          relationship("desk", "Desk", "user", rule: .cascade),
          relationship("boss", "Boss", "reports"),
        ],
        subentities: [
          EntityDescription(name: "Boss", properties: [relationship("reports", "Person", "boss", toMany: true)])
        ]),
      EntityDescription(
        name: "Thing",
        properties: values + [relationship("owner", "Person", "owned"), relationship("box", "Box", "things")]),
      EntityDescription(
        name: "Box", properties: values + [relationship("things", "Thing", "box", toMany: true, rule: .deny)]),
      EntityDescription(
        name: "Tag",
        properties: values + [
          relationship("people", "Person", "tags", toMany: true),
          relationship("listed", "Person", "list", toMany: true, ordered: true),
        ]),
      EntityDescription(name: "Desk", properties: values + [relationship("user", "Person", "desk")]),
    ])
  }

  private static let relationshipsByEntity: [String: [PlainGraph.Relationship]] = {
    var found: [String: [PlainGraph.Relationship]] = [:]
    for entity in model.entities { found[entity.name] = entity.properties.compactMap { described($0) } }
    return found
  }()

  private static func described(_ property: PropertyDescription) -> PlainGraph.Relationship? {
    guard case .relationship(let found) = property, let inverse = found.inverseName,
      let back = model.entity(named: found.destinationEntityName)?.properties.first(where: { $0.name == inverse }),
      case .relationship(let other) = back
    else { return nil }
    return PlainGraph.Relationship(
      name: found.name, inverse: inverse, destination: found.destinationEntityName, isToMany: found.isToMany,
      isOrdered: found.isOrdered, isInverseToMany: other.isToMany, rule: found.deleteRule)
  }

  static func relationships(of entity: String) -> [PlainGraph.Relationship] { relationshipsByEntity[entity] ?? [] }
  static func isKind(_ entity: String, _ name: String) -> Bool {
    entity == name || entity == "Boss" && name == "Person"
  }
}
