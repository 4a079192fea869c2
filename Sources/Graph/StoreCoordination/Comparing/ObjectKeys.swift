package import AtomicStoreSPI
import StorePrimitives

/// Names objects by their values instead of their references, so that two graphs without common references can be
/// compared: `Book/Emma` is the book whose key has the value `Emma`, in both. See ``KeyedNames``.
package struct ObjectKeys: Sendable {
  /// The key's attributes by entity, sub-entities included; key paths through to-one relationships are allowed.
  private let keyPaths: [ScalarString: [[String]]]

  /// Creates keys.
  ///
  /// - Parameters:
  ///   - keys: The name of an entity, or nil for every entity that has the first property, and its attributes: a name
  ///     with a dot is that of an attribute, of a part of a composite, or a key path.
  ///   - models: The models of the graphs that are to be compared.
  /// - Throws: `.invalidOption` for a name that no model has, and for a key path that does not end in an attribute.
  package init(
    _ keys: [(entity: String?, keyPaths: [String])], models: [ManagedObjectModel]
  ) throws(PersistentStoreError) {
    var found: [ScalarString: [[String]]] = [:]
    /// How many super-entities the entity of a key has: one of a sub-entity is preferred to its parent's.
    var depths: [ScalarString: Int] = [:]
    for key in keys {
      var isKnown = false
      for model in models {
        for entity in model.entities {
          // Without an entity: less specific than any.
          var depth = 0
          if let name = key.entity {
            guard let named = model.entity(named: name), entity.isKindOf(entity: named) else { continue }
            depth = sequence(first: named, next: \.superentity).reduce(0) { count, _ in count + 1 }
          }
          let paths = key.keyPaths.compactMap { Self.path($0, from: entity) }
          guard paths.count == key.keyPaths.count else { continue }
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

  /// The slots that lead from an entity to an attribute, by their names, which may contain dots; nil if none do.
  private static func path(_ text: String, from entity: Entity) -> [String]? {
    if let slot = entity.slot(named: text), entity.slots[slot].attributeType != nil { return [text] }
    for dot in text.indices where text[dot] == "." {
      let name = String(text[..<dot])
      guard let slot = entity.slot(named: name).map({ entity.slots[$0] }), case .toOne = slot.kind,
        let destination = slot.destination,
        let rest = path(String(text[text.index(after: dot)...]), from: entity.model.entity(at: destination))
      else { continue }
      return [name] + rest
    }
    return nil
  }

  /// Adds the names of the objects of an entity to those of its hierarchy.
  ///
  /// - Parameters:
  ///   - guesses: The numbers that the rows most probably have: those of the other graph.
  ///   - texts: The names that there are.
  /// - Returns: The numbers of the names, by row, and how many objects have no value for a part of their key. Nil for
  ///   an entity without a key.
  func names(
    of entity: Entity, in nodes: NodeTable, guesses: [UInt32], _ texts: inout TextNumbers
  ) -> (numbers: [UInt32], keylessCount: Int)? {
    guard let paths = keyPaths[ScalarString(entity.name)] else { return nil }
    var numbers: [UInt32] = []
    numbers.reserveCapacity(nodes.count(of: entity.index))
    var keylessCount = 0
    /// The names of rows that were not guessed, and the rows.
    var batch = TextBatch()
    var rows: [Int] = []
    func number() {
      for (row, number) in zip(rows, batch.takeNumbers(from: &texts)) {
        numbers[row] = UInt32(truncatingIfNeeded: number)
      }
      rows.removeAll(keepingCapacity: true)
    }
    func add(_ name: UnsafeBufferPointer<UInt8>) {
      let row = numbers.count
      // Comparing a text is faster than finding it.
      if row < guesses.count, texts.isText(name, Int(guesses[row])) { return numbers.append(guesses[row]) }
      numbers.append(0)
      rows.append(row)
      batch.append(name)
      if batch.isFull { number() }
    }
    func keyless(_ node: NodeHandle) -> String {
      keylessCount += 1
      return "(no key) \(nodes.reference(of: node))"
    }
    let slots = paths.map { $0.count == 1 ? entity.slot(named: $0[0]) : nil }
    let reader = nodes.reader(of: entity.index)
    let only = slots.count == 1 ? slots[0] : nil
    // The only part of a key that is a text is the name.
    let text = only.flatMap { entity.slots[$0].isText ? reader.column(slot: $0) : nil }
    for row in 0..<reader.count {
      if let bytes = text?.bytes(row) {
        add(bytes)
        continue
      }
      let node = NodeHandle(entity: entity.index, row: row)
      var name: String
      if let slot = only {
        let value = nodes.value(slot: slot, of: node)
        name = value.isNull ? keyless(node) : Self.text(value)
      } else {
        let values = zip(paths, slots).map { path, slot in
          slot.map { nodes.value(slot: $0, of: node) } ?? Self.value(path, of: node, in: nodes)
        }
        name = values.contains(where: \.isNull) ? keyless(node) : Self.name(values)
      }
      name.withUTF8(add)
    }
    number()
    withExtendedLifetime(reader) {}
    return (numbers, keylessCount)
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
  fileprivate var isText: Bool { valueKind.isText }
}
