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

  /// Where the values of a slot come from: what the file says of it, or of the innermost composite attribute that it is
  /// a part of.
  ///
  /// - Parameter path: The path of the slot.
  /// - Returns: The rule, and how many names of the path it is of; nil for a rule that has neither a source nor an
  ///   expression, and so says nothing of where the values come from.
  func source(of path: SlotPath, in entity: Entity) -> (rule: MappingFile.Property, depth: Int)? {
    guard !levels.isEmpty else { return nil }
    for depth in (1...path.names.count).reversed() {
      guard let rule = rule(for: path.prefix(depth), of: entity), rule.from != nil || rule.expression != nil else {
        continue
      }
      return (rule, depth)
    }
    return nil
  }

  /// Whether the values of a property of the source, or of a composite attribute that it is a part of, may be lost.
  func drops(_ property: String, of entity: Entity) -> Bool {
    first(entity) { level in
      level.drop.contains(property)
        || level.drop.contains { property.utf8.starts(with: ($0 + ".").utf8) } ? true : nil
    } ?? false
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
      words[expression] = Self.names(in: expression)
    }
  }

  /// All words, and the paths that they make, since a part of a composite attribute has a path for a name.
  private static func names(in expression: String) -> Set<String> {
    var names: Set<String> = []
    for path in expression.split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }) {
      let words = path.split(separator: ".").map(String.init)
      names.formUnion(words)
      for start in words.indices {
        for end in words.indices.dropFirst(start + 1).prefix(ModelDescription.maximumCompositeDepth) {
          names.insert(words[start...end].joined(separator: "."))
        }
      }
    }
    return names
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
