import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension StoreSession {
  /// Opens a store and compares all of it with the graph that it was forged from, value by value: for stores that are
  /// too large for texts.
  ///
  /// - Parameters:
  ///   - model: What the store is opened with; nil for the model that it carries.
  ///   - references: What each object was called, by its position in the graph.
  /// - Returns: The first differences; empty for none.
  func mismatches(
    _ path: String, _ graph: Graph, model: ModelDescription?,
    references: (Int) -> ReferenceObject = StoreSession.counting
  ) throws -> [GraphText.Difference] {
    try opened(path, model, isReadOnly: true) { open in try mismatches(open.store, graph, references: references) }
  }

  /// The same for a store that is open.
  func mismatches(
    _ store: PersistentStore, _ graph: Graph, references: (Int) -> ReferenceObject = StoreSession.counting
  ) throws -> [GraphText.Difference] { try GraphMatcher(graph, references).mismatches(store) }
}

/// Compares an open store with a graph, by handles and slots.
private struct GraphMatcher {
  private let graph: Graph
  private var targets: [String: ObjectReference] = [:]
  private let names: [ObjectReference]

  init(_ graph: Graph, _ references: (Int) -> ReferenceObject) {
    self.graph = graph
    names = graph.objects.enumerated().map { ObjectReference(entityName: $1.entity, reference: references($0)) }
    for (object, name) in zip(graph.objects, names) { targets[object.label] = name }
  }

  func mismatches(_ store: PersistentStore) throws -> [GraphText.Difference] {
    var found: [GraphText.Difference] = []
    let nodes = store.nodes
    if nodes.count != graph.objects.count {
      found.append(.init(expected: "\(graph.objects.count) objects", actual: "\(nodes.count) objects"))
    }
    for (object, name) in zip(graph.objects, names) where found.count <= GraphText.mostShown {
      guard let node = nodes.handle(for: name) else {
        found.append(.init(expected: "\(name) is there", actual: "\(name) is missing"))
        continue
      }
      let entity = nodes.model.entity(at: node.entity)
      guard ScalarKey(entity.name) == ScalarKey(object.entity) else {
        found.append(.init(expected: "\(name) is of \(object.entity)", actual: "it is of \(entity.name)"))
        continue
      }
      for slot in entity.slots {
        let wanted = wanted(object, slot)
        let value = try store.value(slot: slot.index, of: node)
        guard !isSame(value, wanted, isOrdered: slot.isOrdered) else { continue }
        found.append(.init("\(name).\(slot.name) = ", shown(wanted), "\(name).\(slot.name) = ", shown(value)))
      }
    }
    return found
  }

  private func wanted(_ object: Graph.Object, _ slot: Slot) -> StoredValue {
    guard slot.relationship != nil else { return object.values[slot.name] ?? .null }
    let members = (object.links[slot.name] ?? []).compactMap { targets[$0] }
    return slot.isToMany ? .toMany(members) : members.first.map { .toOne($0) } ?? .null
  }

  private func isSame(_ value: StoredValue, _ wanted: StoredValue, isOrdered: Bool) -> Bool {
    switch (value, wanted) {
    case (.toMany(let list), .toMany(let others)):
      guard list.count == others.count else { return false }
      if isOrdered { return zip(list, others).allSatisfy { $0 == $1 } }
      return zip(list.sorted { $0.reference < $1.reference }, others.sorted { $0.reference < $1.reference })
        .allSatisfy { $0 == $1 }
    case (.null, .toMany(let list)), (.toMany(let list), .null): return list.isEmpty
    default: return value.isIdentical(to: wanted)
    }
  }

  private func shown(_ value: StoredValue) -> String {
    if case .toMany(let list) = value, list.count > 4 {
      return "\(list.count) objects, \(list[0]), \(list[1]) … \(list[list.count - 1])"
    }
    return GraphText.value(value) ?? ""
  }
}
