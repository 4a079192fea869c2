import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// One random walk being carried out.
final class WalkRun {
  struct Difference: Error, CustomStringConvertible { let description: String }
  /// A context, and what it should hold.
  struct Scene {
    var context: ManagedObjectContext
    var graph = PlainGraph()
    /// What its changes are changes to.
    var base = PlainGraph()
    var objects: [Int: ManagedObject] = [:]
  }

  let type: String
  let folder: ScriptFolder
  let path: String
  let coordinator: PersistentStoreCoordinator
  var main: Scene
  var dice = Dice(0)
  var log: [String] = []
  private var undone: [PlainGraph] = []
  private var redone: [PlainGraph] = []
  /// The IDs of saved objects.
  private var ids: [Int: ManagedObjectID] = [:]
  private var lastKey = 0

  init(_ type: String) throws {
    self.type = type
    folder = try ScriptFolder()
    path = folder.storePath(type)
    coordinator = PersistentStoreCoordinator(managedObjectModel: WalkModel.model, registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: path)
    main = Scene(context: ManagedObjectContext(coordinator))
    main.context.undoManager = UndoHistory()
  }

  func carryOut(_ steps: [UInt64]) throws {
    for step in steps {
      dice = Dice(step)
      try take()
      try compare(main)
    }
    try undoAndRedoAll()
    try save()
    try compareReopened()
  }

  func chance(_ one: Int, in all: Int) -> Bool { dice.below(all) < one }
  func pick<Element>(_ list: [Element]) -> Element? { list.isEmpty ? nil : list[dice.below(list.count)] }

  private func take() throws {
    switch dice.below(100) {
    case 0..<50: try edit()
    case 50..<58: try undo()
    case 58..<63: try redo()
    case 63..<71: try save()
    case 71..<73: try rollback()
    case 73..<77: try refresh()
    case 77..<79:
      log.append("refreshAllObjects()")
      main.context.refreshAllObjects()
    case 79..<80: try reset()
    case 80..<92: try editInChild()
    case 92..<97: try editElsewhere()
    default: try changeBatch()
    }
  }

  // MARK: Changes with undo

  private func edit() throws {
    let before = main.graph
    var isChanged = false
    let isGroup = chance(1, in: 3)
    if isGroup { main.context.undoManager?.beginUndoGrouping() }
    for _ in 0..<(isGroup ? 1 + dice.below(4) : 1) {
      if try edit(&main) { isChanged = true }
      if isGroup, chance(1, in: 3) { main.context.processPendingChanges() }
    }
    if isGroup { main.context.undoManager?.endUndoGrouping() }
    main.context.processPendingChanges()
    note(isChanged, before)
  }

  private func note(_ isChanged: Bool, _ before: PlainGraph) {
    guard isChanged else { return }
    undone.append(before)
    redone = []
  }

  private func undo() throws {
    log.append("undo()")
    main.context.undo()
    guard let before = undone.popLast() else { return }
    redone.append(main.graph)
    main.graph = before
  }

  private func redo() throws {
    log.append("redo()")
    main.context.redo()
    guard let after = redone.popLast() else { return }
    undone.append(main.graph)
    main.graph = after
  }

  private func undoAndRedoAll() throws {
    let end = main.graph
    let count = undone.count
    for _ in 0..<count {
      try undo()
      try compare(main)
    }
    for _ in 0..<count { try redo() }
    guard main.graph == end else { throw Difference(description: "the plain values are wrong after undo and redo") }
    try compare(main)
  }

  private func forgetUndo() {
    main.context.undoManager?.removeAllActions()
    undone = []
    redone = []
  }

  // MARK: Saving and refreshing

  private func save() throws {
    log.append("save()")
    try main.context.save()
    try finishSave()
  }

  private func finishSave() throws {
    if main.context.hasChanges { throw Difference(description: "changes are left after a save") }
    for key in main.base.keys where main.graph.records[key] == nil { ids[key] = nil }
    main.base = main.graph
    try compare(main, "saved, ")
    for key in main.graph.keys {
      guard let id = main.objects[key]?.objectID, !id.isTemporaryID, ids[key] ?? id == id else {
        throw Difference(description: "the ID of \(key) was changed by a save, or is temporary")
      }
      ids[key] = id
    }
    try compareFresh(ManagedObjectContext(coordinator), "in a fresh context ")
  }

  private func compareFresh(_ context: ManagedObjectContext, _ place: String) throws {
    try compare(
      Scene(context: context, graph: main.base, base: main.base, objects: try objects(in: context, main.base)), place)
    let roots = WalkModel.entities.filter { $0 != "Boss" }
    let count = try roots.reduce(0) { try $0 + context.count(for: FetchRequest<ManagedObject>(entityName: $1)) }
    guard count == main.base.records.count else {
      throw Difference(description: "\(place)there are \(count) objects instead of \(main.base.records.count)")
    }
  }

  private func compareReopened() throws {
    let other = PersistentStoreCoordinator(managedObjectModel: WalkModel.model, registry: .builtIn)
    try other.addPersistentStore(type: type, at: path)
    try compareFresh(ManagedObjectContext(other), "in the reopened store ")
  }

  private func objects(in context: ManagedObjectContext, _ graph: PlainGraph) throws -> [Int: ManagedObject] {
    var found: [Int: ManagedObject] = [:]
    for key in graph.keys {
      guard let id = ids[key] else { throw Difference(description: "\(key) has no ID") }
      found[key] = try context.existingObject(with: id)
    }
    return found
  }

  private func rollback() throws {
    log.append("rollback()")
    main.context.rollback()
    try startAgain(main.base)
  }

  private func reset() throws {
    log.append("reset()")
    main.context.reset()
    try startAgain(main.base)
  }

  private func startAgain(_ graph: PlainGraph) throws {
    forgetUndo()
    main.graph = graph
    main.base = graph
    main.objects = try objects(in: main.context, graph)
  }

  /// One object, with its changes or without them, if they are to attributes only.
  private func refresh() throws {
    guard let key = pick(main.graph.keys), let object = main.objects[key], let record = main.graph.records[key] else {
      return
    }
    let merges = chance(1, in: 2)
    var wanted = main.graph
    if !merges, let before = main.base.records[key] {
      wanted.records[key]?.values = before.values
      guard PlainGraph.isSame(wanted.records[key], before) else { return }
    }
    log.append("refresh(\(key), mergeChanges: \(merges))")
    main.context.refresh(object, mergeChanges: merges)
    main.context.processPendingChanges()
    if wanted.records[key] != record { forgetUndo() }
    main.graph = wanted
  }

  // MARK: Other contexts

  private func editInChild() throws {
    let before = main.graph
    main.context.undoManager?.beginUndoGrouping()
    let isChanged = try editInChild(of: &main, depth: 0)
    main.context.undoManager?.endUndoGrouping()
    note(isChanged, before)
  }

  private func editInChild(of parent: inout Scene, depth: Int) throws -> Bool {
    log.append("child {")
    var isChanged = false
    var child = Scene(context: ManagedObjectContext(parent: parent.context), graph: parent.graph, base: parent.graph)
    for key in parent.graph.keys {
      if let object = parent.objects[key] { child.objects[key] = child.context.object(with: object.objectID) }
    }
    for _ in 0..<1 + dice.below(2) {
      for _ in 0..<1 + dice.below(4) {
        if depth < 1, chance(1, in: 8) {
          _ = try editInChild(of: &child, depth: depth + 1)
        } else {
          _ = try edit(&child)
        }
        child.context.processPendingChanges()
        try compare(child, "in the child ")
      }
      if chance(1, in: 6) {
        log.append("refreshAllObjects()")
        child.context.refreshAllObjects()
        try compare(child, "in the child ")
      }
      try compare(parent, "in the parent of a child with changes ")
      guard chance(4, in: 5) else {
        log.append("} dropped")
        return isChanged
      }
      log.append("} saved")
      if !child.graph.isSame(as: child.base) { isChanged = true }
      try save(&child, to: &parent)
    }
    return isChanged
  }

  private func save(_ child: inout Scene, to parent: inout Scene) throws {
    try child.context.save()
    for key in child.graph.keys where parent.objects[key] == nil || parent.graph.records[key] == nil {
      guard let id = child.objects[key]?.objectID, let object = parent.context.registeredObject(for: id) else {
        throw Difference(description: "the parent does not know \(key)")
      }
      parent.objects[key] = object
    }
    parent.graph = child.graph
    child.base = child.graph
    try compare(parent, "in the parent ")
    try compare(child, "in the child that was saved ")
  }

  /// Another context saves; this one takes it over.
  private func editElsewhere() throws {
    try save()
    forgetUndo()
    log.append("another context {")
    let context = ManagedObjectContext(coordinator)
    var there = Scene(
      context: context, graph: main.base, base: main.base, objects: try objects(in: context, main.base))
    for _ in 0..<1 + dice.below(4) { _ = try edit(&there) }
    var changes: [ObjectIDChanges] = []
    let observation = context.observe { if case .didSave(let saved) = $0 { changes.append(saved.ids) } }
    defer { observation.cancel() }
    try context.save()
    for key in there.graph.keys { ids[key] = there.objects[key]?.objectID }
    try takeOver(there.graph, changes)
  }

  private func changeBatch() throws {
    try save()
    forgetUndo()
    guard let key = pick(main.graph.keys), let id = ids[key], let entity = main.graph.records[key]?.entity else {
      return
    }
    var graph = main.graph
    if let gone = graph.closure(key), chance(1, in: 2) {
      log.append("batch deletion of \(key) {")
      let result = try main.context.execute(BatchDeleteRequest(objectIDs: [id]))
      graph.delete(key)
      guard result.count == gone.count else {
        throw Difference(description: "the batch deleted \(result.count) objects, not \(gone.count)")
      }
      return try takeOver(graph, [result.changes])
    }
    let value = dice.below(5)
    log.append("batch update of \(entity): n = \(value) {")
    let result = try main.context.execute(BatchUpdateRequest(entityName: entity, propertiesToUpdate: ["n": value]))
    for key in graph.keys(of: entity) { graph.records[key]?.values["n"] = value }
    try takeOver(graph, [result.changes])
  }

  /// Merges what was saved elsewhere, or refreshes everything.
  private func takeOver(_ graph: PlainGraph, _ changes: [ObjectIDChanges]) throws {
    if chance(2, in: 3) {
      log.append("} merged")
      for change in changes { main.context.mergeChanges(fromDidSave: change) }
      // What was deleted there is deleted here as well, to be saved like any other change.
      let isOnlyDeleted = main.context.updatedObjects.isEmpty && main.context.insertedObjects.isEmpty
      guard isOnlyDeleted else { throw Difference(description: "a merge made changes") }
      if main.context.hasChanges { try main.context.save() }
    } else {
      log.append("} refreshed")
      main.context.refreshAllObjects()
    }
    for key in main.base.keys where graph.records[key] == nil { ids[key] = nil }
    try startAgain(graph)
    try compareFresh(ManagedObjectContext(coordinator), "in a fresh context ")
  }

  func newKey() -> Int {
    lastKey += 1
    return lastKey
  }
}
