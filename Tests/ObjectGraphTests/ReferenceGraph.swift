/// What the object graph should do, by brute force: dictionaries of values, compared and copied as a whole.
///
/// Undo is an older copy, a save is a copy, a rollback is the copy that was saved.
struct ReferenceGraph: Equatable {
  struct Record: Equatable {
    var entity: String
    var values: [String: String] = [:]
    var ends: [String: [Int]] = [:]
  }
  struct Relationship {
    let owner: String
    let name: String
    let destination: String
    let inverse: String
    let isToMany: Bool
    var isOrdered = false
  }

  static let relationships = [
    Relationship(owner: "Department", name: "employees", destination: "Person", inverse: "department", isToMany: true),
    Relationship(owner: "Department", name: "rooms", destination: "Room", inverse: "department", isToMany: true),
    Relationship(owner: "Department", name: "contracts", destination: "Contract", inverse: "department", isToMany: true),
    Relationship(owner: "Person", name: "department", destination: "Department", inverse: "employees", isToMany: false),
    Relationship(owner: "Person", name: "spouse", destination: "Person", inverse: "spouse", isToMany: false),
    Relationship(owner: "Person", name: "cousins", destination: "Person", inverse: "cousins", isToMany: true),
    Relationship(owner: "Person", name: "managers", destination: "Person", inverse: "reports", isToMany: true),
    Relationship(owner: "Person", name: "reports", destination: "Person", inverse: "managers", isToMany: true),
    Relationship(owner: "Person", name: "tasks", destination: "Task", inverse: "people", isToMany: true, isOrdered: true),
    Relationship(owner: "Person", name: "badge", destination: "Badge", inverse: "owner", isToMany: false),
    Relationship(owner: "Task", name: "people", destination: "Person", inverse: "tasks", isToMany: true),
    Relationship(owner: "Badge", name: "owner", destination: "Person", inverse: "badge", isToMany: false),
    Relationship(owner: "Room", name: "department", destination: "Department", inverse: "rooms", isToMany: false),
    Relationship(owner: "Contract", name: "department", destination: "Department", inverse: "contracts", isToMany: false),
  ]
  /// The attribute of each entity that the scripts change, and whether it is text.
  static let attributes: [String: (name: String, isText: Bool)] = [
    "Department": ("name", true), "Person": ("name", true), "Employee": ("name", true), "Task": ("title", true),
    "Badge": ("number", false), "Room": ("number", false), "Contract": ("title", true),
  ]
  static func root(_ entity: String) -> String { entity == "Employee" ? "Person" : entity }
  static func relationships(of entity: String) -> [Relationship] { relationships.filter { $0.owner == root(entity) } }

  var records: [Int: Record] = [:]

  func keys(of root: String) -> [Int] { records.keys.filter { Self.root(records[$0]?.entity ?? "") == root }.sorted() }
  func ends(_ key: Int, _ name: String) -> [Int] { records[key]?.ends[name] ?? [] }

  private mutating func drop(_ key: Int, _ name: String, _ other: Int) {
    records[key]?.ends[name, default: []].removeAll { $0 == other }
  }
  private mutating func put(_ key: Int, _ name: String, _ other: Int) {
    if !ends(key, name).contains(other) { records[key]?.ends[name, default: []].append(other) }
  }
  mutating func unrelate(_ key: Int, _ end: Relationship, _ other: Int) {
    drop(key, end.name, other)
    drop(other, end.inverse, key)
  }
  mutating func relate(_ key: Int, _ end: Relationship, _ other: Int) {
    if ends(key, end.name).contains(other) { return }
    if !end.isToMany { for old in ends(key, end.name) { unrelate(key, end, old) } }
    if let back = Self.relationships.first(where: { $0.owner == end.destination && $0.name == end.inverse }), !back.isToMany {
      for old in ends(other, back.name) { unrelate(other, back, old) }
    }
    put(key, end.name, other)
    put(other, end.inverse, key)
  }
  mutating func assign(_ key: Int, _ end: Relationship, _ others: [Int]) {
    for old in ends(key, end.name) where !others.contains(old) { unrelate(key, end, old) }
    for other in others { relate(key, end, other) }
    if end.isOrdered { records[key]?.ends[end.name] = others }
  }
  /// A department takes its rooms with it; everybody else is merely forgotten.
  mutating func delete(_ key: Int) {
    let rooms = ends(key, "rooms")
    for other in records.keys {
      for name in records[other]?.ends.keys.sorted() ?? [] { drop(other, name, key) }
    }
    records[key] = nil
    for room in rooms { delete(room) }
  }
}
