import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// One script being carried out.
final class ScriptRun {
  struct Wrong: Error, CustomStringConvertible { let description: String }
  /// A context, and what others saved that it has not taken over yet.
  final class Scene {
    let context: ManagedObjectContext
    let isChild: Bool
    let isForeign: Bool
    var unseen: [ObjectIDChanges] = []
    var observation: Observation?
    init(_ context: ManagedObjectContext, isChild: Bool, isForeign: Bool) {
      (self.context, self.isChild, self.isForeign) = (context, isChild, isForeign)
    }
  }

  let script: ContextScript
  let folder: ScriptFolder
  let path: String
  private var coordinators: [PersistentStoreCoordinator] = []
  private(set) var scenes: [Scene] = []
  private(set) var log: [String] = []
  /// What the store held after each save.
  private(set) var states: [String] = []
  /// The objects by the numbers that the script knows them by.
  private var ids: [(name: String, id: ManagedObjectID, entity: String)] = []
  /// New objects without a permanent ID, by their places in ``ids``.
  private var unnamed: [(place: Int, object: ManagedObject)] = []
  private var newNames = 0

  init(_ script: ContextScript) throws {
    self.script = script
    folder = try ScriptFolder()
    if let server = script.setup.server?.split(separator: "?").first {
      path = "\(server)?schema=script_\(getpid())"
    } else {
      path = folder.storePath(script.setup.type)
    }
    let main = PersistentStoreCoordinator(managedObjectModel: ScriptModel.model, registry: .builtIn)
    // A schema is used by one script after another.
    if script.setup.server != nil { try Self.remove(path, script.setup.type, main) }
    try main.addPersistentStore(type: script.setup.type, at: path)
    coordinators = [main]
    try makeCast(main)
    if script.setup.hasForeigner {
      let other = PersistentStoreCoordinator(managedObjectModel: ScriptModel.model, registry: .builtIn)
      try other.addPersistentStore(type: script.setup.type, at: path)
      coordinators.append(other)
    }
    try makeContexts()
  }

  /// Removes what another script has left.
  private static func remove(
    _ path: String, _ type: String, _ coordinator: PersistentStoreCoordinator
  ) throws(PersistentStoreError) {
    do throws(PersistentStoreError) { try coordinator.destroyPersistentStore(at: path, type: type) } catch {
      if error.code != .notFound { throw error }
    }
  }

  private func makeCast(_ coordinator: PersistentStoreCoordinator) throws {
    let context = ManagedObjectContext(coordinator)
    var objects: [ManagedObject] = []
    for entity in ScriptModel.cast {
      let object = try context.insertNewObject(forEntityName: entity)
      object["n"] = objects.count
      objects.append(object)
    }
    var dice = Dice(script.seed)
    for _ in 0..<dice.below(12) {
      let object = objects[dice.below(objects.count)]
      let relationships = relationships(of: object.entity.name)
      let relationship = relationships[dice.below(relationships.count)]
      let candidates = objects.filter { isKind($0.entity, relationship.destinationEntityName) }
      let other = candidates[dice.below(candidates.count)]
      if relationship.isToMany {
        try? object.add(other, to: relationship.name)
      } else {
        try? object.setValue(other, forKey: relationship.name)
      }
    }
    try context.save()
    var counts: [String: Int] = [:]
    for object in objects {
      let entity = object.entity.name
      ids.append(("\(entity)\(counts[entity, default: 0])", object.objectID, entity))
      counts[entity, default: 0] += 1
    }
  }

  private func makeContexts() throws {
    let count = script.setup.policies.count
    for index in 0..<count {
      let isChild = script.setup.hasChild && index == count - 1
      let isForeign = script.setup.hasForeigner && index == 1 && !isChild
      let context =
        isChild
        ? ManagedObjectContext(parent: scenes[0].context) : ManagedObjectContext(coordinators[isForeign ? 1 : 0])
      context.name = "\(index)"
      context.mergePolicy = script.setup.policies[index]
      context.retainsRegisteredObjects = true
      if script.setup.hasUndo { context.undoManager = UndoHistory() }
      let scene = Scene(context, isChild: isChild, isForeign: isForeign)
      scenes.append(scene)
      guard !isChild else { continue }
      scene.observation = context.observe { [unowned self, unowned scene] event in
        guard case .didSave(let changes) = event else { return }
        for other in scenes where other !== scene && !other.isChild && other.isForeign == scene.isForeign {
          other.unseen.append(changes.ids)
        }
      }
    }
  }

  // MARK: The model

  private static let relationshipsByEntity: [String: [RelationshipDescription]] = Dictionary(
    uniqueKeysWithValues: ScriptModel.model.entities.map { entity in
      (entity.name, entity.properties.compactMap { if case .relationship(let found) = $0 { found } else { nil } })
    })
  func relationships(of entity: String) -> [RelationshipDescription] { Self.relationshipsByEntity[entity] ?? [] }

  func isKind(_ entity: Entity, _ name: String) -> Bool {
    var next: Entity? = entity
    while let entity = next {
      if entity.name == name { return true }
      next = entity.superentity
    }
    return false
  }

  func name(of reference: ObjectReference) -> String {
    ids.first { $0.id.reference == reference.reference && $0.entity == reference.entityName }?.name ?? "?"
  }
  func name(of id: ManagedObjectID?) -> String {
    guard let id else { return "nil" }
    return ids.first { $0.id == id }?.name ?? "?"
  }

  // MARK: Steps

  func carryOut() throws {
    readEverything()
    for step in script.steps {
      let scene = scenes[step.context % scenes.count]
      try take(step, scene)
      if !script.setup.isMergedByHand { for scene in scenes { try merge(scene, isLogged: false) } }
      for scene in scenes where isCurrent(scene) { try checkContext(scene.context) }
      readEverything()
    }
    for (index, scene) in scenes.enumerated().reversed() {
      try save(scene, index)
      if isCurrent(scene) { try checkContext(scene.context) }
    }
  }

  /// Has all contexts read everything, if the script demands it.
  private func readEverything() {
    guard script.setup.readsEverything else { return }
    for scene in scenes {
      for entry in ids {
        guard let object = try? scene.context.existingObject(with: entry.id) else { continue }
        for relationship in relationships(of: entry.entity) {
          _ = try? object.objects(forRelationshipNamed: relationship.name)
        }
      }
    }
  }

  /// The object of a number in a context, if it can be had there and changed.
  private func object(_ number: Int, _ scene: Scene, _ destination: String? = nil) -> ManagedObject? {
    let known =
      destination.map { wanted in
        ids.filter { entry in ScriptModel.model.entity(named: entry.entity).map { isKind($0, wanted) } ?? false }
      } ?? ids
    guard !known.isEmpty else { return nil }
    let object = scene.context.object(with: known[number % known.count].id)
    guard !object.isDeleted, object.managedObjectContext === scene.context,
      (try? scene.context.existingObject(with: object.objectID)) != nil
    else { return nil }
    return object
  }

  private func take(_ step: ContextScript.Step, _ scene: Scene) throws {
    let context = scene.context
    let place = "\(step.context % scenes.count): "
    switch step.kind {
    case .set, .setNil, .toggle, .assign, .move: try change(step, scene, place)
    case .value:
      guard let object = object(step.a, scene) else { return }
      log.append(place + "\(name(of: object.objectID)).n = \(step.b % 5)")
      object["n"] = step.b % 5
    case .delete:
      guard let object = object(step.a, scene) else { return }
      log.append(place + "delete \(name(of: object.objectID))")
      context.delete(object)
    case .insert:
      let entity = ScriptModel.cast[step.a % ScriptModel.cast.count]
      let object = try context.insertNewObject(forEntityName: entity)
      newNames += 1
      // Two processes would give away the same one.
      if scene.isChild || script.setup.hasForeigner {
        unnamed.append((ids.count, object))
      } else {
        try context.obtainPermanentIDs(for: [object])
      }
      ids.append(("new\(entity)\(newNames)", object.objectID, entity))
      log.append(place + "insert new\(entity)\(newNames)")
    case .save: try save(scene, step.context % scenes.count)
    case .refresh, .refreshMerging:
      guard let object = object(step.a, scene) else { return }
      log.append(place + "refresh(\(name(of: object.objectID)), mergeChanges: \(step.kind == .refreshMerging))")
      context.refresh(object, mergeChanges: step.kind == .refreshMerging)
    case .refreshAll:
      log.append(place + "refreshAllObjects()")
      context.refreshAllObjects()
    case .merge: try merge(scene, isLogged: true)
    case .undo:
      guard context.undoManager?.canUndo ?? false else { return }
      log.append(place + "undo()")
      context.undo()
    case .redo:
      guard context.undoManager?.canRedo ?? false else { return }
      log.append(place + "redo()")
      context.redo()
    case .rollback:
      log.append(place + "rollback()")
      context.rollback()
    case .read:
      guard let object = object(step.a, scene) else { return }
      let all = relationships(of: object.entity.name)
      let key = all[step.b % all.count].name
      log.append(place + "read \(name(of: object.objectID)).\(key)")
      for other in try object.objects(forRelationshipNamed: key) { _ = other["n"] }
    case .process:
      log.append(place + "processPendingChanges()")
      context.processPendingChanges()
    }
  }

  private func change(_ step: ContextScript.Step, _ scene: Scene, _ place: String) throws {
    guard let object = object(step.a, scene) else { return }
    let wantsToMany = step.kind == .toggle || step.kind == .assign || step.kind == .move
    let candidates = relationships(of: object.entity.name).filter { $0.isToMany == wantsToMany }
    guard !candidates.isEmpty else { return }
    let relationship = candidates[step.b % candidates.count]
    let key = relationship.name
    let label = place + "\(name(of: object.objectID)).\(key)"
    switch step.kind {
    case .setNil:
      log.append(label + " = nil")
      try refused { try object.setValue(nil, forKey: key) }
    case .set:
      guard let other = self.object(step.c, scene, relationship.destinationEntityName) else { return }
      log.append(label + " = \(name(of: other.objectID))")
      try refused { try object.setValue(other, forKey: key) }
    case .toggle:
      guard let other = self.object(step.c, scene, relationship.destinationEntityName) else { return }
      let has = try object.objects(forRelationshipNamed: key).contains(other)
      log.append(label + (has ? " - " : " + ") + name(of: other.objectID))
      try refused {
        if has {
          try object.remove(other, from: key)
        } else {
          try object.add(other, to: key, at: relationship.isOrdered ? step.c % 3 : nil)
        }
      }
    case .assign:
      let others = [step.c, step.c / 64, step.c / 4096].prefix(step.c % 4).compactMap {
        self.object($0, scene, relationship.destinationEntityName)
      }
      log.append(label + " = [\(others.map { name(of: $0.objectID) }.joined(separator: ", "))]")
      try refused { try object.setValue(relationship.isOrdered ? others as Any : Set(others), forKey: key) }
    default:
      let members = try object.objects(forRelationshipNamed: key)
      guard relationship.isOrdered, !members.isEmpty else { return }
      let member = members[step.c % members.count]
      log.append(label + ": \(name(of: member.objectID)) to \(step.c % 4)")
      try object.move(member, in: key, to: step.c % 4)
    }
  }

  /// An object may be gone from the store, or being deleted, without the script's knowing.
  private func refused(_ body: () throws -> Void) throws {
    do { try body() } catch let error as ManagedObjectError {
      guard error.code == .managedObjectReferentialIntegrity || error.code == .invalidValue else { throw error }
      log.append("   refused")
    }
  }

  /// Whether a context has taken over all that others saved.
  private func isCurrent(_ scene: Scene) -> Bool {
    !script.setup.hasForeigner && !scene.isChild && scene.unseen.isEmpty
  }

  private func merge(_ scene: Scene, isLogged: Bool) throws {
    guard !scene.unseen.isEmpty else { return }
    if isLogged { log.append("\(scene.context.name ?? ""): mergeChanges") }
    let changes = scene.unseen
    scene.unseen = []
    for change in changes { scene.context.mergeChanges(fromDidSave: change) }
    try checkMerged(scene.context, changes)
  }

  // MARK: Saving

  private func save(_ scene: Scene, _ index: Int) throws {
    log.append("\(index): save")
    // What another process saved, and all that others saved to a database, is seen at the save only.
    let isDatabase = script.setup.type == "SQLiteGraph" || script.setup.server != nil
    let isSeen = !script.setup.hasForeigner && !isDatabase
    let promise = scene.isChild || !isSeen ? nil : SavePromise(scene.context)
    do throws(ManagedObjectError) { try scene.context.save() } catch {
      try checkRefusal(error, scene)
      log.append("   refused: \(error.code)")
      // What is refused once would be refused for ever.
      if error.code != .managedObjectMerge || index % 2 == 0 {
        log.append("\(index): rollback()")
        scene.context.rollback()
      }
      states.append(text(of: try checkFile()))
      return
    }
    for (place, object) in unnamed where object.managedObjectContext != nil { ids[place].id = object.objectID }
    guard !scene.context.hasChanges else { throw Wrong(description: "changes are left after a save") }
    let nodes = try checkFile()
    states.append(text(of: nodes))
    try promise?.check(nodes, name)
  }

  private func checkRefusal(_ error: ManagedObjectError, _ scene: Scene) throws {
    for error in error.allErrors {
      switch error.code {
      case .validationRelationshipDeniedDelete: continue
      case .managedObjectMerge where scene.context.mergePolicy == .error || scene.isChild: continue
      default: throw Wrong(description: "the save failed: \(error)")
      }
    }
  }
}

/// A folder for one script, removed at its end.
final class ScriptFolder {
  let path: String
  init() throws {
    let name = "context-script-\(UUID().uuidString)"
    path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Where a store of that type is in this folder.
  func storePath(_ type: String) -> String {
    if type == "InMemory" { return "memory:" + path }
    let extensions = ["XML": ".xml", "CSV": ".csvstore", "SQLiteGraph": ".sqlgraph"]
    return path + "/store" + (extensions[type] ?? ".plist")
  }
}
