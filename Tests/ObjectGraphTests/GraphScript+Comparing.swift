import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// What there is, against what there should be.
extension GraphScript {
  func compareFile() throws {
    let context = ManagedObjectContext(try opened(.builtIn).0)
    let scene = Scene(context: context, graph: saved, base: saved, objects: try objects(in: context, saved))
    try compare(scene, "in the file ")
    let count = try ReferenceGraph.entities.filter { ReferenceGraph.root($0) == $0 }.reduce(0) {
      $0 + (try context.count(for: FetchRequest<ManagedObject>(entityName: $1)))
    }
    if count != saved.records.count {
      throw Difference(description: "the file has \(count) objects instead of \(saved.records.count)")
    }
  }

  func compare(_ scene: Scene, _ place: String = "") throws {
    func wrong(_ text: String) -> Difference { Difference(description: place + text) }
    var keys: [ManagedObject: Int] = [:]
    for (key, object) in scene.objects { keys[object] = key }
    var updated = 0
    for key in scene.graph.keys {
      guard let record = scene.graph.records[key], let object = scene.objects[key] else {
        throw wrong("\(key) is missing")
      }
      if object.isDeleted { throw wrong("\(key) is deleted") }
      for attribute in ReferenceGraph.attributes[record.entity] ?? [] {
        let value = try object.value(forKey: attribute.name)
        let wanted = scene.graph.value(key, attribute.name)
        let taken = RandomModel.taken(value, attribute.type)
        guard taken == wanted else {
          throw wrong(
            "\(key).\(attribute.name) is \(taken?.typedText ?? "of another type"), not \(wanted.typedText)")
        }
      }
      for end in ReferenceGraph.relationships(of: record.entity) {
        let all = try object.objects(forRelationshipNamed: end.name)
        let alive = end.mayDangle ? all.filter(isThere) : all
        let found = alive.map { keys[$0] ?? -1 }
        let wanted = scene.graph.ends(key, end.name)
        guard end.isOrdered ? found == wanted : found.sorted() == wanted.sorted() else {
          throw wrong("\(key).\(end.name) is \(found), not \(wanted)")
        }
        let count = try object.count(forRelationshipNamed: end.name)
        if count != all.count { throw wrong("\(key).\(end.name) counts \(count)") }
      }
      let before = scene.base.records[key]
      if object.isInserted != (before == nil) { throw wrong("\(key).isInserted is \(object.isInserted)") }
      let isUpdated = before != nil && !ReferenceGraph.isSame(before, record)
      if isUpdated { updated += 1 }
      if object.isUpdated != isUpdated { throw wrong("\(key).isUpdated is \(object.isUpdated)") }
      if object.hasChanges != (isUpdated || before == nil) { throw wrong("\(key).hasChanges is \(object.hasChanges)") }
    }
    let context = scene.context
    let inserted = scene.graph.keys.count { scene.base.records[$0] == nil }
    let deleted = scene.base.keys.count { scene.graph.records[$0] == nil }
    let found = (context.insertedObjects.count, context.updatedObjects.count, context.deletedObjects.count)
    guard found == (inserted, updated, deleted) else {
      throw wrong("\(found) objects are inserted, updated, deleted, not \((inserted, updated, deleted))")
    }
    if context.hasChanges != (inserted + updated + deleted > 0) {
      throw wrong("the context's hasChanges is \(context.hasChanges)")
    }
  }

  /// Whether an object can be had; that it cannot shows when it is asked for something.
  private func isThere(_ object: ManagedObject) -> Bool {
    guard !object.isDeleted, let attribute = ReferenceGraph.attributes[object.entity.name]?.first else { return false }
    return graphError { _ = try object.value(forKey: attribute.name) } == nil
  }

  // MARK: Everything, for what must leave all as it was

  struct State {
    var files: [String: Data]
    var snapshots: [StoreSnapshot]
    var ids: [Int: ManagedObjectID]
    var changes: [Set<ManagedObject>]

    /// What is not as it was.
    func difference(from other: State) -> String? {
      for name in Set(files.keys).union(other.files.keys).sorted() where files[name] != other.files[name] {
        return "the file \(name) differs"
      }
      for (one, two) in zip(snapshots, other.snapshots) {
        if let difference = GraphComparison.differences(one, two).first { return "the nodes differ: \(difference)" }
      }
      if ids != other.ids { return "IDs differ" }
      if changes != other.changes { return "other objects have changes" }
      return nil
    }
  }

  func state() throws -> State {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      files[name] = FileManager.default.contents(atPath: folder.file(name)) ?? Data()
    }
    return State(
      files: files, snapshots: stores.map { StoreSnapshot(nodes: $0.nodes, metadata: $0.metadata) },
      ids: main.objects.filter { main.graph.records[$0.key] != nil }.mapValues(\.objectID),
      changes: [main.context.insertedObjects, main.context.updatedObjects, main.context.deletedObjects])
  }

  // MARK: What two contexts made of it

  /// The graph as a context has it, whatever it is.
  func read(_ objects: [Int: ManagedObject], _ entities: [Int: String]) throws -> ReferenceGraph {
    var keys: [ManagedObject: Int] = [:]
    for (key, object) in objects { keys[object] = key }
    var graph = ReferenceGraph()
    for key in objects.keys.sorted() {
      guard let object = objects[key], let entity = entities[key] else { continue }
      graph.insert(key, entity)
      for attribute in ReferenceGraph.attributes[entity] ?? [] {
        guard let value = RandomModel.taken(try object.value(forKey: attribute.name), attribute.type) else {
          throw Difference(description: "\(key).\(attribute.name) is of another type")
        }
        graph.set(key, attribute.name, value)
      }
      for end in ReferenceGraph.relationships(of: entity) {
        graph.records[key]?.ends[end.name] = try object.objects(forRelationshipNamed: end.name).compactMap { other in
          if let found = keys[other] { return found }
          if end.mayDangle { return nil }
          throw Difference(description: "\(key).\(end.name) leads to \(other.objectID), which is gone or unknown")
        }
      }
    }
    return graph
  }

  /// Relationships that are there at one end only.
  func checkInverses(_ graph: ReferenceGraph, _ place: String) throws {
    for key in graph.keys {
      for end in ReferenceGraph.relationships(of: graph.records[key]?.entity ?? "") where !end.inverse.isEmpty {
        for other in graph.ends(key, end.name) where !graph.ends(other, end.inverse).contains(key) {
          throw Difference(
            description: "\(place): \(key).\(end.name) has \(other), \(other).\(end.inverse) has not \(key)")
        }
      }
    }
  }
}
