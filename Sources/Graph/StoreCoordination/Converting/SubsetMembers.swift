package import AtomicStoreSPI

extension RelatedObjectsRule {
  /// Applies the rule to the relationships that lead out of a part of a store, and removes all other objects.
  ///
  /// Removed rows are marked as deleted, so that handles into the store's own table stay valid.
  ///
  /// - Parameter chosen: The selected objects, without related ones.
  /// - Throws: `.danglingReference` if a relationship leads out of the part and may not, `.invalidValue` if removing a
  ///   reference would leave fewer objects than the model requires.
  package func restrict(
    _ store: PersistentStore, to chosen: [NodeHandle]
  ) throws(PersistentStoreError) -> (nodes: NodeTable, notes: [StoreSelection.Note]) {
    var nodes = store.nodes
    var members = Members(nodes)
    for node in chosen { members.insert(node) }
    var notes: [StoreSelection.Note] = []
    switch self {
    case .closure:
      let before = members.counts
      members.close(over: nodes)
      for entity in nodes.model.entities where members.counts[entity.index] > before[entity.index] {
        let count = members.counts[entity.index] - before[entity.index]
        notes.append(.init(subject: entity.name, count: count, text: "included as related objects"))
      }
    case .fail:
      if let leak = members.leaks(nodes, file: store.path).first {
        throw PersistentStoreError(
          .danglingReference,
          "'\(leak.slot.name)' leads to \(nodes.objectReference(of: leak.outside)), which is not in the subset",
          at: leak.location, remedy: .init(.relatedObjects))
      }
    case .nullify:
      let leaks = members.leaks(nodes, file: store.path)
      let emptied = leaks.filter(\.breaksModel)
      if let first = emptied.first {
        throw PersistentStoreError(
          .invalidValue,
          "'\(first.slot.name)' would keep \(first.remaining.count) objects, fewer than the model requires: "
            + "\(nodes.objectReference(of: first.outside)) is not in the subset"
            + (emptied.count > 1 ? "; the same holds for \(emptied.count - 1) more" : ""), at: first.location)
      }
      var cuts: [String: Int] = [:]
      for leak in leaks {
        let references = leak.remaining.map { nodes.objectReference(of: $0) }
        try nodes.set(leak.slot.isToMany ? .toMany(references) : .null, slot: leak.slot.index, of: leak.node)
        cuts[leak.subject, default: 0] += 1
      }
      notes += cuts.keys.sorted().map {
        .init(subject: $0, count: cuts[$0] ?? 0, text: "references to objects outside the subset, removed")
      }
    }
    for entity in nodes.model.entities {
      let left = nodes.handles(of: entity.index).filter { !members.contains($0) }
      for node in left { nodes.remove(node) }
      if !left.isEmpty { notes.append(.init(subject: entity.name, count: left.count, text: "left out")) }
    }
    return (nodes, notes)
  }
}

/// The objects of a subset, one byte for each row.
private struct Members {
  private var masks: [[Bool]]
  private(set) var counts: [Int]
  private var unvisited: [NodeHandle] = []

  /// A relationship that leads out of the subset.
  struct Leak {
    var node: NodeHandle
    var slot: Slot
    var subject: String
    var location: StoreLocation
    /// The first object outside.
    var outside: NodeHandle
    /// The objects inside.
    var remaining: [NodeHandle]

    /// Whether the model requires more objects.
    var breaksModel: Bool {
      guard let relationship = slot.relationship else { return false }
      if remaining.isEmpty { return !relationship.isOptional }
      return slot.isToMany && remaining.count < relationship.minimumCount
    }
  }

  init(_ nodes: NodeTable) {
    masks = nodes.model.entities.map { [Bool](repeating: false, count: nodes.reader(of: $0.index).count) }
    counts = masks.map { _ in 0 }
  }

  func contains(_ node: NodeHandle) -> Bool { masks[node.entity][node.row] }

  mutating func insert(_ node: NodeHandle) {
    guard !masks[node.entity][node.row] else { return }
    masks[node.entity][node.row] = true
    counts[node.entity] += 1
    unvisited.append(node)
  }

  /// Includes everything reachable.
  mutating func close(over nodes: NodeTable) {
    let readers = nodes.model.entities.map { nodes.reader(of: $0.index) }
    let relationships = nodes.model.entities.map { $0.slots.filter { $0.relationship != nil } }
    while let node = unvisited.popLast() {
      for slot in relationships[node.entity] {
        Self.each(readers[node.entity], slot, node.row) { insert($0) }
      }
    }
  }

  /// The relationships that lead out, by entity, row and slot.
  func leaks(_ nodes: NodeTable, file: String) -> [Leak] {
    var leaks: [Leak] = []
    for entity in nodes.model.entities where counts[entity.index] > 0 {
      let reader = nodes.reader(of: entity.index)
      let relationships = entity.slots.filter { $0.relationship != nil }
      for row in 0..<reader.count where masks[entity.index][row] {
        for slot in relationships {
          var outside: NodeHandle?
          Self.each(reader, slot, row) { if outside == nil, !contains($0) { outside = $0 } }
          guard let outside else { continue }
          var remaining: [NodeHandle] = []
          Self.each(reader, slot, row) { if contains($0) { remaining.append($0) } }
          leaks.append(
            Leak(
              node: NodeHandle(entity: entity.index, row: row), slot: slot, subject: "\(entity.name).\(slot.name)",
              location: StoreLocation(
                file: file, entity: entity.name, reference: reader.reference(row: row).description, property: slot.name),
              outside: outside, remaining: remaining))
        }
      }
    }
    return leaks
  }

  private static func each(_ reader: EntityReader, _ slot: Slot, _ row: Int, _ body: (NodeHandle) -> Void) {
    if slot.isToMany {
      let list = reader.toMany(slot: slot.index, row: row)
      for place in list.indices { body(list[place]) }
    } else if let node = reader.toOne(slot: slot.index, row: row) {
      body(node)
    }
  }
}
