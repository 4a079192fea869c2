import AtomicStoreSPI

/// What a mapping file says of the properties of a model's entities.
///
/// The rules of an entity are also those of its sub-entities, unless one of these has its own. They are looked up level
/// by level: the rules of all entities, those above them included, would be as many as entities and rules, multiplied.
struct MappingRules {
  private struct Level {
    var properties: [String: MappingFile.Property]
    var drop: Set<String>
  }
  /// By the index of an entity of the destination.
  private var levels: [Int: Level] = [:]
  private let words: ExpressionWords

  init(_ file: MappingFile?, _ destination: ManagedObjectModel) {
    for (name, rules) in file?.entities ?? [:] {
      guard let entity = destination.entity(named: name) else { continue }
      levels[entity.index] = Level(properties: rules.properties, drop: Set(rules.drop))
    }
    words = ExpressionWords(levels.values.lazy.flatMap { $0.properties.values.compactMap(\.expression) })
  }

  /// The rule for a property of an entity, its own or that of the nearest entity above it.
  func rule(for property: String, of entity: Entity) -> MappingFile.Property? {
    first(entity) { $0.properties[property] }
  }

  /// Whether the values of a property of the source may be lost.
  func drops(_ property: String, of entity: Entity) -> Bool {
    first(entity) { $0.drop.contains(property) ? true : nil } ?? false
  }

  private func first<Found>(_ entity: Entity, _ find: (Level) -> Found?) -> Found? {
    guard !levels.isEmpty else { return nil }
    var level: Entity? = entity
    while let present = level {
      if let found = levels[present.index].flatMap(find) { return found }
      level = present.superentity
    }
    return nil
  }

  /// The slots of the source that an expression may name.
  func slots(in expression: String, of source: Entity) -> [Int] { words.slots(in: expression, of: source) }
}

/// The words of expressions, each of which is taken apart once: it may be that of thousands of entities.
struct ExpressionWords {
  private var words: [String: Set<String>] = [:]

  init(_ expressions: some Sequence<String>) {
    for expression in expressions where words[expression] == nil {
      words[expression] = Set(expression.split { !($0.isLetter || $0.isNumber || $0 == "_") }.lazy.map(String.init))
    }
  }

  /// The slots of an entity that an expression may name.
  func slots(in expression: String, of source: Entity) -> [Int] {
    guard let names = words[expression] else { return [] }
    if names.count > source.slots.count {
      return source.slots.filter { names.contains($0.name) }.map(\.index)
    }
    return names.compactMap { source.slot(named: $0) }.sorted()
  }
}
