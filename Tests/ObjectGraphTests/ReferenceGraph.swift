import AtomicStoreSPI

/// What the object graph should do, by brute force: dictionaries of values, compared and copied as a whole.
///
/// Undo is an older copy, a save is a copy, a rollback is the copy that was saved.
struct ReferenceGraph: Equatable {
  struct Record: Equatable {
    var entity: String
    /// Null is absent.
    var values: [String: StoredValue] = [:]
    /// May name objects that are gone, where no rule repairs it.
    var ends: [String: [Int]] = [:]
  }
  enum Rule { case nullify, cascade, deny, noAction }
  struct Relationship {
    let owner: String
    let name: String
    let destination: String
    /// Empty for a relationship that goes one way.
    let inverse: String
    let isToMany: Bool
    var isOrdered = false
    var rule = Rule.nullify
    /// Whether it is not notified that its destination was deleted.
    var mayDangle = false
  }

  static let relationships = [
    Relationship(owner: "Department", name: "employees", destination: "Person", inverse: "department", isToMany: true),
    Relationship(
      owner: "Department", name: "rooms", destination: "Room", inverse: "department", isToMany: true, rule: .cascade),
    Relationship(
      owner: "Department", name: "contracts", destination: "Contract", inverse: "department", isToMany: true,
      rule: .deny),
    Relationship(
      owner: "Department", name: "visitors", destination: "Visitor", inverse: "host", isToMany: true, rule: .noAction),
    Relationship(owner: "Person", name: "department", destination: "Department", inverse: "employees", isToMany: false),
    Relationship(owner: "Person", name: "spouse", destination: "Person", inverse: "spouse", isToMany: false),
    Relationship(owner: "Person", name: "cousins", destination: "Person", inverse: "cousins", isToMany: true),
    Relationship(owner: "Person", name: "managers", destination: "Person", inverse: "reports", isToMany: true),
    Relationship(owner: "Person", name: "reports", destination: "Person", inverse: "managers", isToMany: true),
    Relationship(
      owner: "Person", name: "tasks", destination: "Task", inverse: "people", isToMany: true, isOrdered: true),
    Relationship(owner: "Person", name: "badge", destination: "Badge", inverse: "owner", isToMany: false),
    Relationship(owner: "Task", name: "people", destination: "Person", inverse: "tasks", isToMany: true),
    Relationship(owner: "Badge", name: "owner", destination: "Person", inverse: "badge", isToMany: false),
    Relationship(owner: "Room", name: "department", destination: "Department", inverse: "rooms", isToMany: false),
    Relationship(
      owner: "Contract", name: "department", destination: "Department", inverse: "contracts", isToMany: false,
      mayDangle: true),
    Relationship(
      owner: "Visitor", name: "host", destination: "Department", inverse: "visitors", isToMany: false,
      mayDangle: true),
    Relationship(
      owner: "Visitor", name: "room", destination: "Room", inverse: "", isToMany: false, rule: .deny,
      mayDangle: true),
  ]
  static let entities = [
    "Badge", "Contract", "Department", "Employee", "Manager", "Person", "Room", "Task", "Value", "Visitor",
  ]
  /// The attributes that the scripts change.
  static let attributes: [String: [(name: String, type: AttributeType)]] = {
    let person: [(String, AttributeType)] = [("name", .string), ("age", .integer32)]
    let employee = person + [("salary", .double), ("hired", .date)]
    return [
      "Department": [("name", .string), ("budget", .decimal), ("floor", .integer16)],
      "Person": person, "Employee": employee, "Manager": employee,
      "Task": [("title", .string)], "Badge": [("number", .integer64)], "Room": [("number", .integer16)],
      "Contract": [("title", .string)], "Visitor": [("name", .string)],
      "Value": RandomModel.types.map { (RandomModel.name($0), $0) } + [("place.x", .double), ("place.label", .string)],
    ]
  }()
  static func root(_ entity: String) -> String { entity == "Employee" || entity == "Manager" ? "Person" : entity }
  static func relationships(of entity: String) -> [Relationship] { relationships.filter { $0.owner == root(entity) } }

  var records: [Int: Record] = [:]
  var keys: [Int] { records.keys.sorted() }

  func keys(of root: String) -> [Int] { records.keys.filter { Self.root(records[$0]?.entity ?? "") == root }.sorted() }
  /// Those that are there.
  func ends(_ key: Int, _ name: String) -> [Int] { (records[key]?.ends[name] ?? []).filter { records[$0] != nil } }

  mutating func insert(_ key: Int, _ entity: String) {
    records[key] = Record(entity: entity, values: entity == "Department" ? ["floor": .integer(1)] : [:])
  }
  func value(_ key: Int, _ name: String) -> StoredValue { records[key]?.values[name] ?? .null }
  mutating func set(_ key: Int, _ name: String, _ value: StoredValue) {
    records[key]?.values[name] = value.isNull ? nil : value
  }

  private mutating func drop(_ key: Int, _ name: String, _ other: Int) {
    records[key]?.ends[name, default: []].removeAll { $0 == other }
  }
  private mutating func put(_ key: Int, _ name: String, _ other: Int, at place: Int? = nil) {
    guard !ends(key, name).contains(other) else { return }
    let count = records[key]?.ends[name]?.count ?? 0
    records[key]?.ends[name, default: []].insert(other, at: min(place ?? count, count))
  }
  mutating func unrelate(_ key: Int, _ end: Relationship, _ other: Int) {
    drop(key, end.name, other)
    if !end.inverse.isEmpty { drop(other, end.inverse, key) }
  }
  mutating func relate(_ key: Int, _ end: Relationship, _ other: Int, at place: Int? = nil) {
    if ends(key, end.name).contains(other) { return }
    if !end.isToMany { for old in records[key]?.ends[end.name] ?? [] { unrelate(key, end, old) } }
    if let back = Self.relationships.first(where: { $0.owner == end.destination && $0.name == end.inverse }),
      !back.isToMany
    {
      for old in records[other]?.ends[back.name] ?? [] { unrelate(other, back, old) }
    }
    put(key, end.name, other, at: place)
    if !end.inverse.isEmpty { put(other, end.inverse, key) }
  }
  mutating func assign(_ key: Int, _ end: Relationship, _ others: [Int]) {
    for old in ends(key, end.name) where !others.contains(old) { unrelate(key, end, old) }
    for other in others { relate(key, end, other) }
    if end.isOrdered { records[key]?.ends[end.name] = others }
  }
  mutating func clear(_ key: Int, _ end: Relationship) {
    for old in records[key]?.ends[end.name] ?? [] { unrelate(key, end, old) }
  }
  mutating func delete(_ key: Int) {
    guard let record = records.removeValue(forKey: key) else { return }
    for end in Self.relationships(of: record.entity) where !end.inverse.isEmpty {
      for other in record.ends[end.name] ?? [] {
        switch end.rule {
        case .nullify: drop(other, end.inverse, key)
        case .cascade: delete(other)
        case .deny, .noAction: break
        }
      }
    }
  }
  /// Whether a save would refuse the deletion, as far as it is of objects that were saved in `base`.
  func isDeniedDeletion(_ key: Int, saved base: ReferenceGraph? = nil) -> Bool {
    var after = self
    after.delete(key)
    return keys.contains { gone in
      guard after.records[gone] == nil, base.map({ $0.records[gone] != nil }) ?? true, let record = records[gone] else {
        return false
      }
      return Self.relationships(of: record.entity).contains { end in
        end.rule == .deny && (record.ends[end.name] ?? []).contains { after.records[$0] != nil }
      }
    }
  }

  /// Lets nothing lead to those that are gone and are unknown.
  mutating func forget(_ isUnknown: (Int) -> Bool) {
    let all = Set(records.keys)
    for key in keys {
      for name in records[key]?.ends.keys.sorted() ?? [] {
        records[key]?.ends[name]?.removeAll { !all.contains($0) && isUnknown($0) }
      }
    }
  }

  /// What a file holds of it: nothing is dangling there.
  var stored: ReferenceGraph {
    var graph = self
    for key in keys {
      for name in records[key]?.ends.keys.sorted() ?? [] { graph.records[key]?.ends[name] = ends(key, name) }
    }
    return graph
  }
  var hasDangling: Bool {
    records.values.contains { $0.ends.values.contains { $0.contains { records[$0] == nil } } }
  }

  /// Whether the object is the same in both, except for the order of what has none.
  static func isSame(_ one: Record?, _ other: Record?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    if one.values != other.values { return false }
    return relationships(of: one.entity).allSatisfy {
      let (a, b) = (one.ends[$0.name] ?? [], other.ends[$0.name] ?? [])
      return $0.isOrdered ? a == b : a.sorted() == b.sorted()
    }
  }
  func isSame(as other: ReferenceGraph) -> Bool {
    Set(records.keys).union(other.records.keys).allSatisfy { Self.isSame(records[$0], other.records[$0]) }
  }
}
