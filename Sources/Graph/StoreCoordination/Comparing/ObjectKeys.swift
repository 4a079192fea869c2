public import AtomicStoreSPI
import StorePrimitives

/// Names objects by their values instead of their references, so that two graphs without common references can be
/// compared: `Book/Emma` is the book whose key has the value `Emma`, in both.
public struct ObjectKeys: Sendable {
  /// The key's attributes by entity, sub-entities included; key paths through to-one relationships are allowed.
  private let keyPaths: [ScalarString: [[String]]]

  /// Creates keys.
  ///
  /// - Parameters:
  ///   - keys: The name of an entity, or nil for every entity that has the first property, and its attributes.
  ///   - models: The models of the graphs that are to be compared.
  /// - Throws: `.invalidOption` for a name that no model has, and for a key path that does not end in an attribute.
  package init(
    _ keys: [(entity: String?, keyPaths: [String])], models: [ManagedObjectModel]
  ) throws(PersistentStoreError) {
    var found: [ScalarString: [[String]]] = [:]
    /// How many super-entities the entity of a key has: one of a sub-entity is preferred to its parent's.
    var depths: [ScalarString: Int] = [:]
    for key in keys {
      let paths = key.keyPaths.map { $0.split(separator: ".", omittingEmptySubsequences: false).map(String.init) }
      var isKnown = false
      for model in models {
        for entity in model.entities {
          // Without an entity: less specific than any.
          var depth = 0
          if let name = key.entity {
            guard let named = model.entity(named: name), entity.isKindOf(entity: named) else { continue }
            depth = sequence(first: named, next: \.superentity).reduce(0) { count, _ in count + 1 }
          }
          guard paths.allSatisfy({ Self.leadsToAttribute($0, from: entity, in: model) }) else { continue }
          isKnown = true
          let entityName = ScalarString(entity.name)
          guard depth >= depths[entityName] ?? depth else { continue }
          depths[entityName] = depth
          found[entityName] = paths
        }
      }
      guard isKnown else {
        let text = key.keyPaths.joined(separator: ",")
        let names = models.flatMap { $0.entities.flatMap { $0.slots.map(\.name) } }
        if let name = key.entity, !models.contains(where: { $0.entity(named: name) != nil }) {
          throw PersistentStoreError(
            .invalidOption,
            "no model has an entity '\(name)'"
              + Suggestion.text(for: name, among: models.flatMap { $0.entities.map(\.name) }))
        }
        throw PersistentStoreError(
          .invalidOption,
          "no entity has the attribute '\(text)'" + Suggestion.text(for: text, among: names))
      }
    }
    keyPaths = found
  }

  private static func leadsToAttribute(_ path: [String], from start: Entity, in model: ManagedObjectModel) -> Bool {
    var entity = start
    for (index, name) in path.enumerated() {
      guard let slot = entity.slot(named: name).map({ entity.slots[$0] }) else { return false }
      if index == path.count - 1 { return slot.attributeType != nil }
      guard case .toOne = slot.kind, let destination = slot.destination else { return false }
      entity = model.entity(at: destination)
    }
    return false
  }

  /// What ``named(_:)`` returns.
  public struct NamedGraph: Sendable {
    /// The objects, with their keys for references. Entities without a key keep their references.
    public var nodes: NodeTable
    /// How many objects have the key of another object, by entity: they are distinguished by numbers in the order of
    /// their references.
    public var repeated: [(entity: String, count: Int)]
    /// How many objects have no value for a part of their key, by entity.
    public var keyless: [(entity: String, count: Int)]
  }

  /// Returns the objects with their keys for references.
  ///
  /// - Throws: `.columnFull` and the like, as building any table does.
  public func named(_ nodes: NodeTable) throws(PersistentStoreError) -> NamedGraph {
    let nodes = try nodes.canonical()
    // All keys first: a number that distinguishes equal keys must not make the key of another object.
    var (keyed, names) = keyedObjects(nodes)
    var repeated: [(entity: String, count: Int)] = []
    for index in keyed.indices {
      let (entity, root) = (keyed[index].entity, keyed[index].entity.root.index)
      let count = names[root, default: Names()].tellApart(&keyed[index].numbers)
      if count > 0 { repeated.append((entity.name, count)) }
    }
    return NamedGraph(
      nodes: try nodes.renaming(
        Dictionary(uniqueKeysWithValues: keyed.map { ($0.entity.index, $0.numbers) }), texts: names.mapValues(\.texts)),
      repeated: repeated, keyless: keyed.filter { $0.keylessCount > 0 }.map { ($0.entity.name, $0.keylessCount) })
  }

  /// The names of the objects of a hierarchy.
  private struct Names {
    var texts = TextNumbers()
    /// By the number of a text: how many objects have it so far, or the greatest number that distinguishes them.
    private var used: [Int] = []

    /// Gives each object whose name another one has a name with a number.
    ///
    /// - Returns: How many there are.
    mutating func tellApart(_ numbers: inout [Int]) -> Int {
      used += [Int](repeating: 0, count: texts.count - used.count)
      var repeated = 0
      for index in numbers.indices {
        let own = numbers[index]
        var repetition = used[own] + 1
        if repetition > 1 {
          repeated += 1
          let name = texts.withBytes(of: own) { String(decoding: $0, as: UTF8.self) }
          while Self.withNumber(name, repetition, { texts.number(of: $0) }) != nil { repetition += 1 }
          numbers[index] = Self.withNumber(name, repetition) { texts.add($0) }
          used.append(1)
        }
        used[own] = repetition
      }
      return repeated
    }

    private static func withNumber<Result>(
      _ name: String, _ number: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
      var text = "\(name) (\(number))"
      return text.withUTF8(body)
    }
  }

  private struct KeyedObjects {
    let entity: Entity
    /// The numbers of the names, by row.
    var numbers: [Int] = []
    /// How many objects have no value for a part of their key.
    var keylessCount = 0
  }

  /// The objects of all entities with a key, in the order of entities and references; and by the root of the hierarchy
  /// their names.
  private func keyedObjects(_ nodes: NodeTable) -> (objects: [KeyedObjects], names: [Int: Names]) {
    var names: [Int: Names] = [:]
    var result: [KeyedObjects] = []
    for entity in nodes.model.entities {
      guard let paths = keyPaths[ScalarString(entity.name)], nodes.count(of: entity.index) > 0 else { continue }
      let slots = paths.map { $0.count == 1 ? entity.slot(named: $0[0]) : nil }
      var own = names[entity.root.index] ?? Names()
      names[entity.root.index] = nil
      var objects = KeyedObjects(entity: entity)
      objects.numbers.reserveCapacity(nodes.count(of: entity.index))
      let reader = nodes.reader(of: entity.index)
      // The only part of a key that is a text is the name.
      let text = slots.count == 1 ? slots[0].flatMap { entity.slots[$0].isText ? reader.column(slot: $0) : nil } : nil
      for row in 0..<reader.count {
        if let bytes = text?.bytes(row) {
          objects.numbers.append(own.texts.add(bytes))
          continue
        }
        let node = NodeHandle(entity: entity.index, row: row)
        let values = zip(paths, slots).map { path, slot in
          slot.map { nodes.value(slot: $0, of: node) } ?? Self.value(path, of: node, in: nodes)
        }
        let isKeyless = values.contains(where: \.isNull)
        if isKeyless { objects.keylessCount += 1 }
        var name = isKeyless ? "(no key) \(nodes.reference(of: node))" : Self.name(values)
        objects.numbers.append(name.withUTF8 { own.texts.add($0) })
      }
      withExtendedLifetime(reader) {}
      names[entity.root.index] = own
      result.append(objects)
    }
    return (result, names)
  }

  private static func value(_ path: [String], of start: NodeHandle, in nodes: NodeTable) -> StoredValue {
    var node = start
    for name in path.dropLast() {
      guard case .toOne(let reference)? = nodes.value(forKey: name, of: node), let next = nodes.handle(for: reference)
      else { return .null }
      node = next
    }
    return path.last.flatMap { nodes.value(forKey: $0, of: node) } ?? .null
  }

  /// The values together. Of several, those with a comma or a quote are in quotes, so that no two lists look alike.
  private static func name(_ values: [StoredValue]) -> String {
    if values.count == 1 { return text(values[0]) }
    return values.map { value in
      let text = text(value)
      return text.contains { ",\"".contains($0) } ? GraphComparison.quoted(text) : text
    }.joined(separator: ", ")
  }

  /// A value as part of a name: equal for equal values, so 1.10 is 1.1.
  private static func text(_ value: StoredValue) -> String {
    switch value {
    case .string(let text), .uri(let text): text
    case .integer(let number): String(number)
    case .double(let number) where number.isFinite && number == number.rounded() && abs(number) < 1e15:
      String(Int64(number))
    case .decimal(let number): number.normalized.description
    default: GraphComparison.fullText(value)
    }
  }
}

extension Slot {
  fileprivate var isText: Bool { attributeType == .string || attributeType == .uri }
}
