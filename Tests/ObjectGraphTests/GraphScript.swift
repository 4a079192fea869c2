import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// One script: the stack, the plain model beside it, and what was done so far.
///
/// Each step draws from its own generator, so that a script without some of its steps is a script as well.
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
  /// A context, and what it should hold.
  struct Scene {
    var context: ManagedObjectContext
    var graph: ReferenceGraph
    /// What its changes are changes to.
    var base: ReferenceGraph
    var objects: [Int: ManagedObject] = [:]
    var hasChanges: Bool { !graph.isSame(as: base) }
  }

  let folder: TestFolder
  let registry: StoreRegistry
  var coordinator: PersistentStoreCoordinator
  var stores: [PersistentStore] = []
  var main: Scene
  var random: Random
  var log: [String] = []
  var undone: [ReferenceGraph] = []
  var redone: [ReferenceGraph] = []
  var ids: [Int: ManagedObjectID] = [:]
  var lastKey = 0
  var files = 0
  var saved: ReferenceGraph { main.base }

  /// Every other script has two stores.
  init(type: String, seed: UInt64) throws {
    folder = try TestFolder()
    random = Random(state: seed)
    registry = try Failures.registry()
    coordinator = PersistentStoreCoordinator(managedObjectModel: RandomModel.model, registry: registry)
    if seed % 2 == 0 {
      stores = [try coordinator.addPersistentStore(type: type, at: folder.file(Stack.fileName(type)))]
    } else {
      let other = Stack.types.randomElement(using: &random) ?? type
      stores = [
        try coordinator.addPersistentStore(
          type: type, configurationName: "Company", at: folder.file(Stack.fileName(type))),
        try coordinator.addPersistentStore(
          type: other, configurationName: "Values", at: folder.file("values-" + Stack.fileName(other))),
      ]
    }
    main = Scene(context: ManagedObjectContext(coordinator), graph: ReferenceGraph(), base: ReferenceGraph())
    main.context.undoManager = UndoHistory()
  }

  // MARK: Running

  /// What was done and what came out wrong; nil where all was right.
  static func failure(_ type: String, _ seed: UInt64, _ steps: [UInt64]) -> String? {
    do {
      var script = try GraphScript(type: type, seed: seed)
      do { try script.run(steps) } catch { return "\(error)\n" + script.log.joined(separator: "\n") }
    } catch {
      return "\(error)"
    }
    return nil
  }

  static func shortened(_ type: String, _ seed: UInt64, _ steps: [UInt64]) -> [UInt64] {
    shortened(steps) { failure(type, seed, $0) != nil }
  }

  /// Drops steps, many at once and then fewer, as long as the script goes on failing.
  static func shortened<Step>(_ steps: [Step], _ fails: ([Step]) -> Bool) -> [Step] {
    var steps = steps
    var runs = 0
    var size = max(1, steps.count / 2)
    while runs < 400 {
      var start = 0
      var isShorter = false
      while start < steps.count, runs < 400 {
        var fewer = steps
        fewer.removeSubrange(start..<min(start + size, steps.count))
        runs += 1
        if fails(fewer) {
          steps = fewer
          isShorter = true
        } else {
          start += size
        }
      }
      if size == 1, !isShorter { break }
      size = max(1, size / 2)
    }
    return steps
  }

  mutating func run(_ steps: [UInt64]) throws {
    for step in steps {
      random = Random(state: step)
      try take()
      try compare(main)
    }
    try undoAndRedoAll()
    try save()
  }

  mutating func pick<Element>(_ list: [Element]) -> Element? { list.randomElement(using: &random) }
  mutating func chance(_ one: Int, in all: Int) -> Bool { Int.random(in: 0..<all, using: &random) < one }

  mutating func take() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<54: try editInGroup()
    case 54..<63: try undo()
    case 63..<69: try redo()
    case 69..<74: try save()
    case 74..<80: try failSave()
    case 80..<82: try rollback()
    case 82..<84:
      log.append("refresh all")
      main.context.refreshAllObjects()
    case 84..<86: try saveAs()
    case 86..<88: try reopen()
    case 88..<90: try deleteInVain()
    case 90..<95: try editInChild()
    default: try editElsewhere()
    }
  }

  // MARK: Edits

  mutating func editInGroup() throws {
    let before = main.graph
    var changed = false
    let isGroup = Bool.random(using: &random)
    if isGroup { main.context.undoManager?.beginUndoGrouping() }
    for _ in 0..<(isGroup ? Int.random(in: 1...4, using: &random) : 1) {
      var scene = main
      if try edit(&scene) { changed = true }
      main = scene
    }
    if isGroup { main.context.undoManager?.endUndoGrouping() }
    main.context.processPendingChanges()
    if changed {
      undone.append(before)
      redone = []
    }
  }

  /// One change in a context and in its plain model. False where there is nothing to change.
  mutating func edit(_ scene: inout Scene) throws -> Bool {
    var random = random
    defer { self.random = random }
    return try edit(&scene, &random)
  }

  private mutating func edit(_ scene: inout Scene, _ random: inout Random) throws -> Bool {
    guard let key = scene.graph.keys.randomElement(using: &random), let record = scene.graph.records[key],
      let object = scene.objects[key], Int.random(in: 0..<4, using: &random) > 0
    else {
      guard let entity = ReferenceGraph.entities.randomElement(using: &random) else { return false }
      lastKey += 1
      log.append("insert \(entity) \(lastKey)")
      scene.objects[lastKey] = try scene.context.insertNewObject(forEntityName: entity)
      scene.graph.insert(lastKey, entity)
      return true
    }
    let kind = Int.random(in: 0..<12, using: &random)
    if kind < 2 || record.entity == "Value" && kind > 2 {
      guard let attribute = ReferenceGraph.attributes[record.entity]?.randomElement(using: &random) else {
        return false
      }
      let value = RandomModel.value(attribute.type, &random)
      if scene.graph.value(key, attribute.name) == value { return false }
      log.append("\(key).\(attribute.name) = \(value.typedText.debugDescription)")
      try object.setValue(RandomModel.given(value), forKey: attribute.name)
      scene.graph.set(key, attribute.name, value)
      return true
    }
    if kind == 2 {
      guard !scene.graph.isDeniedDeletion(key) else { return false }
      log.append("delete \(key)")
      scene.context.delete(object)
      scene.context.processPendingChanges()
      scene.graph.delete(key)
      return true
    }
    guard let end = ReferenceGraph.relationships(of: record.entity).randomElement(using: &random) else { return false }
    if end.isToMany { return try editToMany(&scene, key, object, end, kind, &random) }
    let candidates = scene.graph.keys(of: end.destination)
    guard Bool.random(using: &random), let other = candidates.randomElement(using: &random) else {
      guard let now = record.ends[end.name], !now.isEmpty else { return false }
      log.append("\(key).\(end.name) = nil")
      try object.setValue(nil, forKey: end.name)
      scene.graph.clear(key, end)
      return true
    }
    if scene.graph.ends(key, end.name) == [other] { return false }
    log.append("\(key).\(end.name) = \(other)")
    try object.setValue(scene.objects[other], forKey: end.name)
    scene.graph.relate(key, end, other)
    return true
  }

  private mutating func editToMany(
    _ scene: inout Scene, _ key: Int, _ object: ManagedObject, _ end: ReferenceGraph.Relationship, _ kind: Int,
    _ random: inout Random
  ) throws -> Bool {
    let candidates = scene.graph.keys(of: end.destination)
    let now = scene.graph.ends(key, end.name)
    if kind < 6 {
      guard let other = candidates.randomElement(using: &random), !now.contains(other),
        let partner = scene.objects[other]
      else { return false }
      let place = Bool.random(using: &random) && end.isOrdered ? Int.random(in: 0...now.count + 1, using: &random) : nil
      log.append("\(key).\(end.name) + \(other)" + (place.map { " at \($0)" } ?? ""))
      try object.add(partner, to: end.name, at: place)
      scene.graph.relate(key, end, other, at: place)
      return true
    }
    if kind < 8 {
      guard let other = now.randomElement(using: &random), let partner = scene.objects[other] else { return false }
      log.append("\(key).\(end.name) - \(other)")
      try object.remove(partner, from: end.name)
      scene.graph.unrelate(key, end, other)
      return true
    }
    if kind < 10, end.isOrdered {
      guard let other = now.randomElement(using: &random), let partner = scene.objects[other] else { return false }
      let place = Int.random(in: 0...now.count, using: &random)
      var list = now.filter { $0 != other }
      list.insert(other, at: min(place, list.count))
      if list == now { return false }
      log.append("\(key).\(end.name): \(other) to \(place)")
      try object.move(partner, in: end.name, to: place)
      scene.graph.assign(key, end, list)
      return true
    }
    let others = Array(candidates.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)))
    if end.isOrdered ? now == others : Set(now) == Set(others) { return false }
    log.append("\(key).\(end.name) = \(others)")
    let list = others.compactMap { scene.objects[$0] }
    if end.isOrdered {
      try object.setValue(list, forKey: end.name)
    } else {
      try object.setValue(Set(list), forKey: end.name)
    }
    scene.graph.assign(key, end, others)
    return true
  }

  /// Deletes what must not be: the save says so, and undo takes it back.
  mutating func deleteInVain() throws {
    let before = main.graph
    guard let key = pick(before.keys.filter { before.isDeniedDeletion($0, saved: saved) }),
      let object = main.objects[key]
    else { return }
    log.append("delete \(key) in vain")
    main.context.delete(object)
    main.context.processPendingChanges()
    main.graph.delete(key)
    undone.append(before)
    redone = []
    try compare(main)
    let error = graphError { try main.context.save() }
    guard error?.allErrors.contains(where: { $0.code == .validationRelationshipDeniedDelete }) == true else {
      throw Difference(description: "the save said \(error.map(\.description) ?? "nothing")")
    }
    try compare(main)
    try undo()
    try compare(main)
    // Nothing may do that again.
    undone.append(main.graph)
    redone = []
    lastKey += 1
    main.objects[lastKey] = try main.context.insertNewObject(forEntityName: "Task")
    main.graph.insert(lastKey, "Task")
    main.context.processPendingChanges()
  }

  // MARK: Undo

  mutating func undo() throws {
    log.append("undo")
    main.context.undo()
    if let before = undone.popLast() {
      redone.append(main.graph)
      main.graph = before
    }
  }
  mutating func redo() throws {
    log.append("redo")
    main.context.redo()
    if let after = redone.popLast() {
      undone.append(main.graph)
      main.graph = after
    }
  }
  mutating func undoAndRedoAll() throws {
    let end = main.graph
    let count = undone.count
    for _ in 0..<count {
      try undo()
      try compare(main)
    }
    for _ in 0..<count { try redo() }
    guard main.graph == end else { throw Difference(description: "the plain model lost its way") }
    try compare(main)
  }
  mutating func forgetUndo() {
    main.context.undoManager?.removeAllActions()
    undone = []
    redone = []
  }

  // MARK: Saving and opening

  mutating func save() throws {
    log.append("save")
    try main.context.save()
    try finishSave()
  }

  mutating func finishSave() throws {
    if main.graph.hasDangling {
      // Forgotten by the store alone: undo cannot know of it, and objects go on leading nowhere until they are
      // refreshed.
      forgetUndo()
      main.context.refreshAllObjects()
    }
    main.graph = main.graph.stored
    main.base = main.graph
    if main.context.hasChanges { throw Difference(description: "changes are left after a save") }
    for key in main.graph.keys { ids[key] = main.objects[key]?.objectID }
    try compare(main)
    try compareFile()
  }

  /// A save that a format or a missing folder makes fail leaves everything as it was, and can be tried again at once.
  mutating func failSave() throws {
    let count = touchedStores(main)
    guard count > 0 else { return }
    try failSave(count)
    if chance(3, in: 4) { try save() }
  }

  /// How many stores a save writes.
  func touchedStores(_ scene: Scene) -> Int {
    if stores.count == 1 { return scene.hasChanges ? 1 : 0 }
    var touched: Set<Bool> = []
    for (one, other) in [(scene.graph, scene.base), (scene.base, scene.graph)] {
      for (key, record) in one.records where !ReferenceGraph.isSame(record, other.records[key]) {
        touched.insert(record.entity == "Value")
      }
    }
    return touched.count
  }

  mutating func failSave(_ count: Int) throws {
    let before = try state()
    if chance(1, in: 4) {
      log.append("fail a save: no folder")
      let away = folder.path + "-away"
      try FileManager.default.moveItem(atPath: folder.path, toPath: away)
      let error = graphError { try main.context.save() }
      if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(atPath: folder.path) }
      try FileManager.default.moveItem(atPath: away, toPath: folder.path)
      guard error != nil else { throw Difference(description: "a save without a folder did not fail") }
    } else {
      let skips = Int.random(in: 0..<count, using: &random)
      log.append("fail a save: store \(skips + 1) of \(count)")
      Failures.arm(folder, skips: skips, Bool.random(using: &random) ? .before : .after)
      let error = graphError { try main.context.save() }
      Failures.disarm(folder)
      guard error != nil else { throw Difference(description: "a save that had to fail did not") }
    }
    try compare(main)
    let after = try state()
    if let difference = before.difference(from: after) {
      throw Difference(description: "after a failed save \(difference)")
    }
  }

  mutating func rollback() throws {
    log.append("rollback")
    main.context.rollback()
    main.graph = saved
    undone = []
    redone = []
    main.objects = try objects(in: main.context, saved)
  }

  mutating func saveAs() throws {
    guard let type = pick(Stack.types), let index = pick(Array(stores.indices)) else { return }
    files += 1
    log.append("save store \(index + 1) as \(type)")
    stores[index] = try coordinator.migratePersistentStore(
      stores[index], to: folder.file("\(files)-" + Stack.fileName(type)), type: type)
  }

  mutating func reopen() throws {
    try save()
    log.append("reopen")
    (coordinator, stores) = try opened(registry)
    main.context = ManagedObjectContext(coordinator)
    main.context.undoManager = UndoHistory()
    undone = []
    redone = []
    main.objects = try objects(in: main.context, saved)
  }

  /// The files, opened again.
  func opened(_ registry: StoreRegistry) throws -> (PersistentStoreCoordinator, [PersistentStore]) {
    let other = PersistentStoreCoordinator(managedObjectModel: RandomModel.model, registry: registry)
    let opened = try stores.map {
      try other.addPersistentStore(type: $0.type, configurationName: $0.configurationName, at: $0.path)
    }
    return (other, opened)
  }

  func objects(in context: ManagedObjectContext, _ graph: ReferenceGraph) throws -> [Int: ManagedObject] {
    var found: [Int: ManagedObject] = [:]
    for key in graph.keys {
      guard let id = ids[key] else { throw Difference(description: "\(key) has no ID") }
      found[key] = try context.existingObject(with: id)
    }
    return found
  }
}
