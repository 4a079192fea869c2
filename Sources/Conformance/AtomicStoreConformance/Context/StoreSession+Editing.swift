import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension StoreSession {
  /// Puts a graph into a context: its objects by label.
  func insert(_ graph: Graph, into context: ManagedObjectContext) throws -> [String: ManagedObject] {
    try change(context, [:], from: Graph(graph.model), to: graph, names: [:])
  }

  /// Makes a store that holds a graph; gives back what each object is called there.
  @discardableResult func write(
    _ graph: Graph, to path: String, metadata: PropertyListDictionary? = nil, options: StoreOptions = [:]
  ) throws -> [String: String] {
    try opened(path, graph.model, options: options) { open in
      let made = try insert(graph, into: open.context)
      if let metadata { try open.store.setMetadata(metadata) }
      try open.context.save()
      return made.mapValues { Self.name($0) }
    }
  }

  /// An object by what the store calls it.
  func object(_ name: String, in open: Open) throws -> ManagedObject {
    for entity in open.store.model.entities where name.hasPrefix(entity.name + "/") {
      for node in open.store.nodes.handles(of: entity.index) {
        let reference = open.store.nodes.objectReference(of: node)
        if GraphText.name(reference.entityName, reference.reference).utf8.elementsEqual(name.utf8) {
          return try open.context.existingObject(with: open.store.objectID(for: reference))
        }
      }
    }
    throw ExpectationFailure(expected: "\(name) is in the store", actual: "it is not")
  }

  /// All objects, by what the store calls them.
  func objects(in open: Open) throws -> [GraphText.Key: ManagedObject] {
    var all: [GraphText.Key: ManagedObject] = [:]
    for entity in open.store.model.entities where !entity.isAbstract {
      for node in open.store.nodes.handles(of: entity.index) {
        let reference = open.store.nodes.objectReference(of: node)
        all[GraphText.Key(GraphText.name(reference.entityName, reference.reference))] = try open.context.existingObject(
          with: open.store.objectID(for: reference))
      }
    }
    return all
  }

  /// Changes an open store's objects from one graph to another. Only what differs is touched.
  func change(_ open: Open, from old: Graph, to new: Graph, names: [String: String]) throws -> [String: ManagedObject] {
    try change(open.context, objects(in: open), from: old, to: new, names: names)
  }

  /// - Parameter all: The objects of the old graph, by what the store calls them.
  func change(
    _ context: ManagedObjectContext, _ all: [GraphText.Key: ManagedObject], from old: Graph, to new: Graph,
    names: [String: String]
  ) throws -> [String: ManagedObject] {
    var made: [String: ManagedObject] = [:]
    let wanted = Set(new.objects.map(\.label))
    for object in old.objects {
      guard let name = names[object.label], let found = all[GraphText.Key(name)] else {
        throw ExpectationFailure(expected: "\(object.label) is in the store", actual: "it is not")
      }
      made[object.label] = found
    }
    for object in new.objects where made[object.label] == nil {
      made[object.label] = try context.insertNewObject(forEntityName: object.entity)
    }
    for object in new.objects {
      guard let target = made[object.label] else { continue }
      let before = old[object.label]
      for name in Set(object.values.keys).union(before?.values.keys.map { $0 } ?? []).sorted() {
        let value = object.values[name]
        let old = before?.values[name]
        // Another spelling of the same number is a change.
        let isSame = if let value, let old { value.isIdentical(to: old) } else { value == nil && old == nil }
        if !isSame { try target.setValue(value, forKey: name.text) }
      }
    }
    for object in old.objects where !wanted.contains(object.label) {
      if let gone = made.removeValue(forKey: object.label) { context.delete(gone) }
    }
    for object in new.objects {
      guard let owner = made[object.label] else { continue }
      let before = old[object.label]?.links ?? [:]
      for name in Set(object.links.keys).union(before.keys).sorted() {
        let labels = object.links[name] ?? []
        guard labels != before[name] ?? [] else { continue }
        let targets = labels.compactMap { made[$0] }
        let isToMany = owner.entity.slots.first { ScalarKey($0.name) == name }?.isToMany ?? false
        try owner.setValue(isToMany ? targets as Any : targets.first as Any?, forKey: name.text)
      }
    }
    return made
  }

  /// Opens a store, makes its graph another one, and saves.
  func edit(_ path: String, from old: Graph, to new: Graph, names: [String: String]) throws -> [String: String] {
    try opened(path, new.model) { open in
      let made = try change(open, from: old, to: new, names: names)
      try open.context.save()
      return made.mapValues { Self.name($0) }
    }
  }
}

// What the checks of saves (SAV) do and look at.

extension StoreSession {
  /// A store that is the same each time, except for the order in which its objects come.
  func buildGolden(_ path: String, order: [Int]) throws -> Bool {
    let golden = Models.golden()
    var graph = golden
    graph.objects = order.map { golden.objects[$0] }
    guard let uuid = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E") else { return false }
    let names = try forge(graph, to: path, uuid: uuid) { .integer(Int64(order[$0]) + 1) }
    guard subject.type.traits.writes == .all else { return true }
    var next = graph
    for label in ["node 1", "node 3", "node 4", "node 6", "node 7"] { next.remove(label) }
    next.set("node 2", "name", .string("changed"))
    next.set("node 5", "number", nil)
    _ = try edit(path, from: graph, to: next, names: names)
    return true
  }
}
