import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension CheckContext {
  /// An object that a context holds while its store moves.
  private struct Held {
    var label: String
    var object: ManagedObject
    var uri: String
  }

  /// A store goes from place to place and type to type under a context that holds half of its objects as faults.
  func expectMoved(_ places: [String], types: [any AtomicStore.Type]) throws {
    func path(_ place: Int) -> String {
      folder + "/" + places[place] + (types[place].traits.fileExtensions.first.map { "." + $0 } ?? "")
    }
    let paths = places.indices.map { path($0) }
    let graph = Models.golden()
    let names = try process("save \(graph.objects.count) objects") { try $0.write(graph, to: paths[0]) }
    let journey = zip(types, paths).map { "\($0.storeType) at \($1.split(separator: "/").last ?? "")" }.joined(
      separator: ", then ")
    let last = paths.count - 1
    let problems = try process("Save As while a context holds the objects: \(journey)") { session in
      var registry = try session.registry()
      for type in types where type.storeType != session.subject.type.storeType { try registry.register(type) }
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try Models.frozen(graph.model), registry: registry)
      let first = try coordinator.addPersistentStore(type: types[0].storeType, at: paths[0])
      let context = ManagedObjectContext(coordinator)
      return try withExtendedLifetime(coordinator) {
        let opened = StoreSession.Open(coordinator: coordinator, store: first, context: context)
        var held: [Held] = []
        for (place, object) in graph.objects.enumerated() {
          guard let name = names[object.label] else { continue }
          let found = try session.object(name, in: opened)
          // Every other one is a fault again, and is fired in the new store.
          if place % 2 == 0 { context.refresh(found, mergeChanges: false) }
          held.append(Held(label: object.label, object: found, uri: found.objectID.uriRepresentation))
        }
        var problems: [String] = []
        var graph = graph
        var store = first
        for place in paths.indices.dropFirst() {
          store = try coordinator.migratePersistentStore(store, to: paths[place], type: types[place].storeType)
          problems += try differences(of: held, from: graph, in: "the store at \(places[place])")
          try held[0].object.setValue("moved \(place)", forKey: "name")
          graph.set(held[0].label, "name", .string("moved \(place)"))
          try context.save()
        }
        return problems
      }
    }
    try expect(
      problems.isEmpty, "all objects are the same ones, with their values, after each move",
      problems.prefix(6).joined(separator: "\n"))
    var moved = graph
    moved.set(graph.objects[0].label, "name", .string("moved \(last)"))
    let type = types[last]
    let actual = try process("read the last store in another process") { session in
      try StoreSession(
        subject: session.subject.type.storeType == type.storeType ? session.subject : TestedStore(type: type),
        folder: session.folder
      )
      .read(paths[last], graph.model)
    }
    try expectSame(actual, try moved.text(names), "the last store")
    try expectSame(
      try process("read the first store") { try $0.read(paths[0], graph.model) }, try graph.text(names),
      "the first store, as it was")
  }

  /// What differs between objects and the graph that they were made from: their IDs, values and relationships.
  private func differences(of held: [Held], from graph: Graph, in store: String) throws -> [String] {
    var problems: [String] = []
    for item in held {
      let (label, object) = (item.label, item.object)
      if object.objectID.uriRepresentation != item.uri {
        problems.append("\(label) is \(object.objectID) and was \(item.uri)")
      }
      guard let wanted = graph[label] else { continue }
      for (key, value) in wanted.values {
        let found = try object.value(forKey: key.text)
        if !Self.isSame(found, value) {
          problems.append("\(label).\(key) is \(found.map { "\($0)" } ?? "nil") in \(store)")
        }
      }
      for (key, targets) in wanted.links {
        let found = Set(try object.objects(forRelationshipNamed: key.text).map { ObjectIdentifier($0) })
        let expected = Set(held.filter { targets.contains($0.label) }.map { ObjectIdentifier($0.object) })
        if found != expected { problems.append("\(label).\(key) leads to other objects in \(store)") }
      }
    }
    return problems
  }

  private static func isSame(_ found: Any?, _ value: StoredValue?) -> Bool {
    switch value {
    case .string(let text): (found as? String).map { $0.utf8.elementsEqual(text.utf8) } ?? false
    case .integer(let number): (found as? any BinaryInteger).map { Int64($0) } == number
    case .double(let number): (found as? Double) == number
    case .boolean(let flag): (found as? Bool) == flag
    default: true
    }
  }
}
