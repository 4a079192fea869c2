import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Random edits against a plain model") struct RandomGraphTests {
  static var scripts: Int { ProcessInfo.processInfo.environment["ATOMICSTORE_RANDOM_SCRIPTS"].flatMap { Int($0) } ?? 20 }
  static var seed: UInt64 { ProcessInfo.processInfo.environment["ATOMICSTORE_RANDOM_SEED"].flatMap { UInt64($0) } ?? 1 }

  @Test("whatever is done to a graph, it is what the plain model says", arguments: Stack.types)
  func agrees(_ type: String) throws {
    for index in 0..<RandomGraphTests.scripts {
      let seed = RandomGraphTests.seed &+ UInt64(index)
      var script = try GraphScript(type: type, seed: seed)
      do {
        try script.run(steps: 60)
      } catch {
        Issue.record("\(type), ATOMICSTORE_RANDOM_SEED=\(seed): \(error)\n\(script.log.joined(separator: "\n"))")
        return
      }
    }
  }
}

/// One script: the stack, the plain model beside it, and what was done so far.
struct GraphScript {
  struct Difference: Error, CustomStringConvertible { let description: String }
  struct Random: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  var stack: Stack
  var store: PersistentStore
  var random: Random
  var log: [String] = []
  var graph = ReferenceGraph()
  var saved = ReferenceGraph()
  var undone: [ReferenceGraph] = []
  var redone: [ReferenceGraph] = []
  var objects: [Int: ManagedObject] = [:]
  var ids: [Int: ManagedObjectID] = [:]
  var lastKey = 0
  var files = 0

  init(type: String, seed: UInt64) throws {
    stack = try Stack(type)
    store = stack.store
    random = Random(state: seed)
    stack.context.undoManager = UndoHistory()
  }

  mutating func pick<Element>(_ list: [Element]) -> Element? { list.randomElement(using: &random) }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      try step()
      try compare(stack.context, graph, objects)
    }
    try undoAndRedoAll()
    try save()
  }

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<68:
      let before = graph
      var changed = false
      let isGroup = Bool.random(using: &random)
      if isGroup { stack.context.undoManager?.beginUndoGrouping() }
      for _ in 0..<(isGroup ? Int.random(in: 1...4, using: &random) : 1) { if try edit() { changed = true } }
      if isGroup { stack.context.undoManager?.endUndoGrouping() }
      stack.context.processPendingChanges()
      if changed {
        undone.append(before)
        redone = []
      }
    case 68..<77: try undo()
    case 77..<83: try redo()
    case 83..<89: try save()
    case 89..<92: try failSave()
    case 92..<94:
      log.append("rollback")
      stack.context.rollback()
      graph = saved
      undone = []
      redone = []
      try takeObjects()
    case 94..<96:
      log.append("refresh all")
      stack.context.refreshAllObjects()
    case 96..<98: try saveAs()
    default: try reopen()
    }
  }

  mutating func edit() throws -> Bool {
    guard let key = pick(graph.records.keys.sorted()), let record = graph.records[key], let object = objects[key],
      Int.random(in: 0..<4, using: &random) > 0
    else {
      guard let entity = pick(ReferenceGraph.attributes.keys.sorted()) else { return false }
      lastKey += 1
      log.append("insert \(entity) \(lastKey)")
      objects[lastKey] = try stack.insert(entity)
      graph.records[lastKey] = .init(entity: entity)
      return true
    }
    let kind = Int.random(in: 0..<10, using: &random)
    if kind < 2, let attribute = ReferenceGraph.attributes[record.entity] {
      let number = Int.random(in: 0..<1000, using: &random)
      if record.values[attribute.name] == "\(number)" { return false }
      log.append("set \(key).\(attribute.name) = \(number)")
      if attribute.isText {
        try object.setValue("\(number)", forKey: attribute.name)
      } else {
        try object.setValue(number, forKey: attribute.name)
      }
      graph.records[key]?.values[attribute.name] = "\(number)"
      return true
    }
    if kind == 2 {
      guard graph.ends(key, "contracts").isEmpty else { return false }
      log.append("delete \(key)")
      stack.context.delete(object)
      stack.context.processPendingChanges()
      graph.delete(key)
      return true
    }
    guard let end = pick(ReferenceGraph.relationships(of: record.entity)) else { return false }
    let candidates = graph.keys(of: end.destination)
    if !end.isToMany {
      let other = Bool.random(using: &random) ? pick(candidates) : pick(candidates + [-1])
      let now = graph.ends(key, end.name).first
      if let other, other >= 0 {
        if now == other { return false }
        log.append("\(key).\(end.name) = \(other)")
        try object.setValue(objects[other], forKey: end.name)
        graph.relate(key, end, other)
        return true
      }
      guard let now else { return false }
      log.append("\(key).\(end.name) = nil")
      try object.setValue(nil, forKey: end.name)
      graph.unrelate(key, end, now)
      return true
    }
    let now = graph.ends(key, end.name)
    if kind < 6 {
      guard let other = pick(candidates), !now.contains(other), let partner = objects[other] else { return false }
      log.append("\(key).\(end.name) + \(other)")
      try object.add(partner, to: end.name)
      graph.relate(key, end, other)
      return true
    }
    if kind < 8 {
      guard let other = pick(now), let partner = objects[other] else { return false }
      log.append("\(key).\(end.name) - \(other)")
      try object.remove(partner, from: end.name)
      graph.unrelate(key, end, other)
      return true
    }
    let others = Array(candidates.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)))
    if end.isOrdered ? now == others : Set(now) == Set(others) { return false }
    log.append("\(key).\(end.name) = \(others)")
    let list = others.compactMap { objects[$0] }
    if end.isOrdered { try object.setValue(list, forKey: end.name) } else { try object.setValue(Set(list), forKey: end.name) }
    graph.assign(key, end, others)
    return true
  }

  mutating func undo() throws {
    log.append("undo")
    stack.context.undo()
    if let before = undone.popLast() {
      redone.append(graph)
      graph = before
    }
  }
  mutating func redo() throws {
    log.append("redo")
    stack.context.redo()
    if let after = redone.popLast() {
      undone.append(graph)
      graph = after
    }
  }
  mutating func undoAndRedoAll() throws {
    let end = graph
    let count = undone.count
    for _ in 0..<count {
      try undo()
      try compare(stack.context, graph, objects)
    }
    for _ in 0..<count { try redo() }
    guard graph == end else { throw Difference(description: "the plain model lost its way") }
    try compare(stack.context, graph, objects)
  }

  mutating func save() throws {
    log.append("save")
    try stack.context.save()
    saved = graph
    if stack.context.hasChanges { throw Difference(description: "changes are left after a save") }
    for key in graph.records.keys.sorted() { ids[key] = objects[key]?.objectID }
    try compare(stack.context, graph, objects)
    try compareFile()
  }

  /// The folder is away while the context saves: everybody's writes fail then, the superuser's too.
  mutating func failSave() throws {
    guard stack.context.hasChanges else { return }
    log.append("fail a save")
    let away = stack.folder.path + "-away"
    try FileManager.default.moveItem(atPath: stack.folder.path, toPath: away)
    var failed = false
    do { try stack.context.save() } catch { failed = true }
    if FileManager.default.fileExists(atPath: stack.folder.path) {
      try FileManager.default.removeItem(atPath: stack.folder.path)
    }
    try FileManager.default.moveItem(atPath: away, toPath: stack.folder.path)
    guard failed else { throw Difference(description: "a save without a folder did not fail") }
    try compare(stack.context, graph, objects)
    if Bool.random(using: &random) { try save() }
  }

  mutating func saveAs() throws {
    guard let type = pick(Stack.types) else { return }
    files += 1
    log.append("save as \(type)")
    store = try stack.coordinator.migratePersistentStore(
      store, to: stack.folder.file("\(files)-" + Stack.fileName(type)), type: type)
  }

  mutating func reopen() throws {
    try save()
    log.append("reopen")
    stack = try Stack(opening: store, in: stack.folder)
    store = stack.store
    stack.context.undoManager = UndoHistory()
    undone = []
    redone = []
    try takeObjects()
  }

  /// Objects may have left memory: takes them by their IDs again.
  mutating func takeObjects() throws {
    objects = try objects(in: stack.context, saved)
  }
  func objects(in context: ManagedObjectContext, _ graph: ReferenceGraph) throws -> [Int: ManagedObject] {
    var found: [Int: ManagedObject] = [:]
    for key in graph.records.keys.sorted() {
      guard let id = ids[key] else { throw Difference(description: "\(key) has no ID") }
      found[key] = try context.existingObject(with: id)
    }
    return found
  }

  func compareFile() throws {
    let other = try Stack(opening: store, in: stack.folder)
    try compare(other.context, saved, try objects(in: other.context, saved), isFile: true)
    var count = 0
    for entity in ["Department", "Person", "Task", "Badge", "Room", "Contract"] { count += try other.fetch(entity).count }
    if count != saved.records.count {
      throw Difference(description: "the file has \(count) objects instead of \(saved.records.count)")
    }
  }

  func compare(
    _ context: ManagedObjectContext, _ graph: ReferenceGraph, _ objects: [Int: ManagedObject], isFile: Bool = false
  ) throws {
    let place = isFile ? "in the file " : ""
    var keys: [ManagedObject: Int] = [:]
    for (key, object) in objects { keys[object] = key }
    for key in graph.records.keys.sorted() {
      guard let record = graph.records[key], let object = objects[key] else {
        throw Difference(description: "\(place)\(key) is missing")
      }
      if let attribute = ReferenceGraph.attributes[record.entity] {
        let value = try object.value(forKey: attribute.name)
        let text = value as? String ?? (value as? Int).map(String.init)
        if text != record.values[attribute.name] {
          throw Difference(
            description: "\(place)\(key).\(attribute.name) is \(String(describing: value)), not "
              + "\(record.values[attribute.name] ?? "nil")")
        }
      }
      for end in ReferenceGraph.relationships(of: record.entity) {
        let found = try object.objects(forRelationshipNamed: end.name).map { keys[$0] ?? -1 }
        let wanted = graph.ends(key, end.name)
        guard end.isOrdered ? found == wanted : found.sorted() == wanted.sorted() else {
          throw Difference(description: "\(place)\(key).\(end.name) is \(found), not \(wanted)")
        }
        let count = try object.count(forRelationshipNamed: end.name)
        if count != wanted.count { throw Difference(description: "\(place)\(key).\(end.name) counts \(count)") }
      }
      if object.isDeleted { throw Difference(description: "\(place)\(key) is deleted") }
      let isNew = saved.records[key] == nil
      if object.isInserted != isNew { throw Difference(description: "\(place)\(key).isInserted is \(object.isInserted)") }
      if !isNew, !isFile, !object.isUpdated, saved.records[key].map({ differs($0, record) }) ?? false {
        throw Difference(description: "\(key) was changed, and is not updated")
      }
    }
    if isFile { return }
    if context.insertedObjects.count != graph.records.keys.count(where: { saved.records[$0] == nil }) {
      throw Difference(description: "\(context.insertedObjects.count) objects are inserted")
    }
    if context.deletedObjects.count != saved.records.keys.count(where: { graph.records[$0] == nil }) {
      throw Difference(description: "\(context.deletedObjects.count) objects are deleted")
    }
  }

  private func differs(_ one: ReferenceGraph.Record, _ other: ReferenceGraph.Record) -> Bool {
    if one.values != other.values { return true }
    return ReferenceGraph.relationships(of: one.entity).contains {
      let (a, b) = (one.ends[$0.name] ?? [], other.ends[$0.name] ?? [])
      return $0.isOrdered ? a != b : a.sorted() != b.sorted()
    }
  }
}

extension Stack {
  /// The files of a store, opened by somebody else.
  init(opening store: PersistentStore, in folder: TestFolder) throws {
    let other = PersistentStoreCoordinator(managedObjectModel: store.model, registry: .builtIn)
    let opened = try other.addPersistentStore(type: store.type, at: store.path)
    self.init(folder: folder, coordinator: other, store: opened, context: ManagedObjectContext(other))
  }
}
