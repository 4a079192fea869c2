import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Random numbers that a seed repeats.
struct LabRandom: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678_9ABC_DEF1 }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &self) }
}

extension Graph {
  init(_ model: ModelDescription, _ objects: [(label: String, entity: String)]) {
    self.init(model, objects.map { Object(label: $0.label, entity: $0.entity) })
  }

  subscript(_ label: String) -> Object? { objects.first { $0.label == label } }

  private mutating func change(_ label: String, _ body: (inout Object) -> Void) {
    if let place = objects.firstIndex(where: { $0.label == label }) { body(&objects[place]) }
  }

  /// Nil takes a value away.
  mutating func set(_ label: String, _ name: String, _ value: StoredValue?) { change(label) { $0.values[name] = value } }

  /// Makes a relationship lead to these objects, and the other ends agree, as a context does.
  mutating func relate(_ label: String, _ name: String, to targets: [String]) throws {
    let frozen = try Models.frozen(model)
    let relationship = self[label].flatMap { frozen.entity(named: $0.entity) }?.slots.first { $0.name == name }?.relationship
    let old = self[label]?.links[name] ?? []
    change(label) { $0.links[name] = targets }
    guard let relationship, let inverse = relationship.inverseName else { return }
    for target in old where !targets.contains(target) { change(target) { $0.links[inverse]?.removeAll { $0 == label } } }
    let fresh = Set(old)
    for target in targets where !fresh.contains(target) {
      guard let other = self[target] else { continue }
      let isToMany = frozen.entity(named: other.entity)?.slots.first { $0.name == inverse }?.isToMany ?? false
      if isToMany {
        if !(other.links[inverse] ?? []).contains(label) { change(target) { $0.links[inverse, default: []].append(label) } }
      } else {
        for previous in other.links[inverse] ?? [] where previous != label {
          change(previous) { $0.links[name]?.removeAll { $0 == target } }
        }
        change(target) { $0.links[inverse] = [label] }
      }
    }
  }

  /// Takes an object out, and what leads to it.
  mutating func remove(_ label: String) {
    objects.removeAll { $0.label == label }
    for place in objects.indices {
      for name in objects[place].links.keys { objects[place].links[name]?.removeAll { $0 == label } }
    }
  }
}

extension Bench {
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
    throw Disappointment(expected: "\(name) is in the store", actual: "it is not")
  }

  /// All objects, by what the store calls them.
  func objects(in open: Open) throws -> [GraphText.Key: ManagedObject] {
    var all: [GraphText.Key: ManagedObject] = [:]
    for entity in open.store.model.entities where !entity.isAbstract {
      for node in open.store.nodes.handles(of: entity.index) {
        let reference = open.store.nodes.objectReference(of: node)
        all[GraphText.Key(GraphText.name(reference.entityName, reference.reference))] = try open.context.existingObject(with: open.store.objectID(for: reference))
      }
    }
    return all
  }

  /// Changes an open store's objects from one graph to another. Only what differs is touched.
  func change(_ open: Open, from old: Graph, to new: Graph, names: [String: String]) throws -> [String: ManagedObject] {
    let all = try objects(in: open)
    var made: [String: ManagedObject] = [:]
    let wanted = Set(new.objects.map(\.label))
    for object in old.objects {
      guard let name = names[object.label], let found = all[GraphText.Key(name)] else {
        throw Disappointment(expected: "\(object.label) is in the store", actual: "it is not")
      }
      made[object.label] = found
    }
    for object in new.objects where made[object.label] == nil {
      made[object.label] = try open.context.insertNewObject(forEntityName: object.entity)
    }
    for object in new.objects {
      guard let target = made[object.label] else { continue }
      let before = old[object.label]
      for name in Set(object.values.keys).union(before?.values.keys.map { $0 } ?? []).sorted() {
        let value = object.values[name]
        let old = before?.values[name]
        // Another spelling of the same number is a change.
        let isSame = if let value, let old { value.isIdentical(to: old) } else { value == nil && old == nil }
        if !isSame { try target.setValue(value, forKey: name) }
      }
    }
    for object in old.objects where !wanted.contains(object.label) {
      if let gone = made.removeValue(forKey: object.label) { open.context.delete(gone) }
    }
    for object in new.objects {
      guard let owner = made[object.label] else { continue }
      let before = old[object.label]?.links ?? [:]
      for name in Set(object.links.keys).union(before.keys).sorted() {
        let labels = object.links[name] ?? []
        guard labels != before[name] ?? [] else { continue }
        let targets = labels.compactMap { made[$0] }
        let isToMany = owner.entity.slots.first { $0.name == name }?.isToMany ?? false
        try owner.setValue(isToMany ? targets as Any : targets.first as Any?, forKey: name)
      }
    }
    return made
  }

  /// Opens a store, makes its graph another one, and saves.
  func edit(_ path: String, from old: Graph, to new: Graph, names: [String: String]) throws -> [String: String] {
    let open = try open(path, new.model)
    return try withExtendedLifetime(open) {
      let made = try change(open, from: old, to: new, names: names)
      try open.context.save()
      return made.mapValues { Self.name($0) }
    }
  }
}

extension Lab {
  /// Brings a store from one graph to the next, each change in a process of its own, and reads it after each in another.
  ///
  /// - Returns: What the objects that are left are called.
  @discardableResult func expectSteps(
    _ graphs: [Graph], _ what: String, path given: String? = nil
  ) throws -> [String: String] {
    guard let first = graphs.first else { return [:] }
    let path = given ?? self.path()
    var names = try process("save \(first.objects.count) objects") { try $0.write(first, to: path) }
    var last = first
    try expectSame(
      try process("read them in another process") { try $0.read(path, first.model) }, try first.text(names), "\(what), at first")
    for (place, graph) in graphs.enumerated().dropFirst() {
      let known = names
      let from = last
      let now = try process("make change \(place) and save") { try $0.edit(path, from: from, to: graph, names: known) }
      for (label, name) in now {
        if let old = known[label] {
          try expect(
            old.utf8.elementsEqual(name.utf8), "\(what), after change \(place): '\(label)' keeps the reference \(old)", "it is \(name)")
        }
      }
      names = now
      let actual = try process("read them in another process") { try $0.read(path, graph.model) }
      try expectSame(actual, try graph.text(names), "\(what), after change \(place)")
      last = graph
    }
    return names
  }
}
