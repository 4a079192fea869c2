import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// More contexts than one.
extension GraphScript {
  // MARK: Above

  mutating func editInChild() throws {
    let before = main.graph
    var scene = main
    main.context.undoManager?.beginUndoGrouping()
    let changed = try editInChild(of: &scene, depth: 0)
    main.context.undoManager?.endUndoGrouping()
    main = scene
    if changed {
      undone.append(before)
      redone = []
    }
  }

  /// Whether changes came to the parent, be it that they cancelled out.
  @discardableResult
  private mutating func editInChild(of parent: inout Scene, depth: Int) throws -> Bool {
    log.append("child context {")
    var changed = false
    var child = Scene(context: ManagedObjectContext(parent: parent.context), graph: parent.graph, base: parent.graph)
    for key in parent.graph.keys {
      guard let object = parent.objects[key] else { continue }
      child.objects[key] = child.context.object(with: object.objectID)
    }
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        if depth < 1, chance(1, in: 12) { try editInChild(of: &child, depth: depth + 1) } else { _ = try edit(&child) }
        if chance(1, in: 3) {
          child.context.processPendingChanges()
          try compare(child, "in the child ")
        }
      }
      child.context.processPendingChanges()
      try compare(child, "in the child ")
      try compare(parent, "in the parent of a child with changes ")
      guard chance(3, in: 4) else {
        log.append("} dropped")
        if Bool.random(using: &random) { child.context.reset() }
        return changed
      }
      log.append("} saved")
      if child.hasChanges { changed = true }
      try child.context.save()
      for key in child.graph.keys where parent.objects[key] == nil {
        guard let id = child.objects[key]?.objectID, let object = parent.context.registeredObject(for: id) else {
          throw Difference(description: "the parent does not know \(key)")
        }
        parent.objects[key] = object
      }
      // What was made and deleted in the child alone is nothing that an object of the parent could lead to.
      let (known, here) = (parent.objects, child.objects)
      child.graph.forget { known[$0] == nil && here[$0] != nil }
      parent.graph = child.graph
      child.base = child.graph
      try compare(parent, "in the parent ")
      try compare(child, "in the child that was saved ")
    }
    return changed
  }

  // MARK: Beside

  /// Another context on the same stores saves; this one takes the changes over, or meets them in its own save.
  mutating func editElsewhere() throws {
    forgetUndo()
    let there = try saveElsewhere()
    let base = saved
    let here = main.graph
    let entities = base.records.merging(here.records) { $1 }.merging(there.graph.records) { $1 }.mapValues(\.entity)
    let policy: MergePolicy?
    if chance(2, in: 5) {
      log.append("merge changes")
      main.context.mergeChanges(fromDidSave: there.changes)
      policy = nil
      try checkMerged(there.graph, entities)
      if touchedStores(main) > 0, chance(1, in: 4), main.context.hasChanges { try failAfterMerge() }
    } else {
      policy = try decideConflicts(there.graph)
    }
    do {
      try main.context.save()
    } catch {
      guard isExpected(error, policy, base, here, there.graph) else { throw error }
      log.append("save refused, rollback")
      main.context.rollback()
      main.graph = there.graph
      return try settle(entities)
    }
    if main.context.hasChanges { throw Difference(description: "changes are left after a save") }
    for key in here.keys {
      if let object = main.objects[key], object.unavailableReason == nil { ids[key] = object.objectID }
    }
    try settle(entities)
    try checkPromise(policy, base, here, there.graph)
  }

  /// Whether the other context may be what is in the way of a save, by giving something to a deleted object that
  /// forbids its deletion.
  private func isExpected(
    _ error: any Error, _ policy: MergePolicy?, _ base: ReferenceGraph, _ here: ReferenceGraph, _ there: ReferenceGraph
  ) -> Bool {
    guard let error = error as? ManagedObjectError else { return false }
    return base.keys.contains { here.records[$0] == nil }
      && error.allErrors.allSatisfy { $0.code == .validationRelationshipDeniedDelete }
  }

  private mutating func saveElsewhere() throws -> (graph: ReferenceGraph, changes: ObjectIDChanges) {
    log.append("another context {")
    let context = ManagedObjectContext(coordinator)
    var there = Scene(context: context, graph: saved, base: saved, objects: try objects(in: context, saved))
    for _ in 0..<Int.random(in: 1...5, using: &random) { _ = try edit(&there) }
    context.processPendingChanges()
    try compare(there, "elsewhere ")
    var changes = ObjectIDChanges()
    let observation = context.observe { if case .didSave(let saved) = $0 { changes = saved.ids } }
    try context.save()
    observation.cancel()
    log.append("} saved")
    there.graph = there.graph.stored
    there.base = there.graph
    for key in there.graph.keys { ids[key] = there.objects[key]?.objectID }
    try compare(there, "elsewhere, saved, ")
    return (there.graph, changes)
  }

  private mutating func checkMerged(_ there: ReferenceGraph, _ entities: [Int: String]) throws {
    for key in there.keys where main.objects[key] == nil && saved.records[key] == nil {
      guard let id = ids[key] else { continue }
      main.objects[key] = main.context.object(with: id)
    }
    let hadChanges = main.hasChanges
    // What was deleted there is deleted here as well, to be saved like any other change.
    var base = there
    for (key, object) in main.objects where there.records[key] == nil && main.context.deletedObjects.contains(object) {
      base.records[key] = saved.records[key]
    }
    main.objects = main.objects.filter {
      (main.graph.records[$0.key] != nil || there.records[$0.key] != nil) && !$0.value.isDeleted
        && $0.value.unavailableReason == nil
    }
    guard hadChanges else {
      main.graph = there
      main.base = base
      return try compare(main, "merged ")
    }
    main.graph = try read(main.objects, entities)
    try checkInverses(main.graph, "merged")
    main.base = base
  }

  private mutating func failAfterMerge() throws {
    log.append("fail the save")
    let before = try state()
    Failures.arm(folder, skips: 0, .before)
    let error = graphError { try main.context.save() }
    Failures.disarm(folder)
    if error == nil { return }
    if let difference = before.difference(from: try state()) {
      throw Difference(description: "after a failed save \(difference)")
    }
  }

  private mutating func decideConflicts(_ there: ReferenceGraph) throws -> MergePolicy {
    let isConflict = saved.keys.contains { key in
      let (base, here, there) = (saved.records[key], main.graph.records[key], there.records[key])
      guard !ReferenceGraph.isSame(base, here), !ReferenceGraph.isSame(base, there), let base, let there else {
        return there == nil && here != nil && !ReferenceGraph.isSame(base, here)
      }
      // To-many relationships merge, unless the object is deleted here.
      return here == nil || base.values != there.values
        || ReferenceGraph.relationships(of: base.entity).contains {
          !$0.isToMany && base.ends[$0.name] ?? [] != there.ends[$0.name] ?? []
        }
    }
    if chance(1, in: 3) {
      log.append("save with policy error")
      main.context.mergePolicy = .error
      if isConflict {
        let before = try state()
        let error = graphError { try main.context.save() }
        guard error?.allErrors.contains(where: { $0.code == .managedObjectMerge }) == true else {
          throw Difference(description: "of a conflict the save said \(error.map(\.description) ?? "nothing")")
        }
        try compare(main)
        if let difference = before.difference(from: try state()) {
          throw Difference(description: "after a conflict \(difference)")
        }
      }
    }
    let policies: [MergePolicy] = [.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback]
    let policy = pick(policies) ?? .overwrite
    main.context.mergePolicy = policy
    if touchedStores(main) > 0, chance(1, in: 3) {
      log.append("fail the save with policy \(policy)")
      let before = try state()
      Failures.arm(folder, skips: 0, Bool.random(using: &random) ? .before : .after)
      let error = graphError { try main.context.save() }
      Failures.disarm(folder)
      // A policy that drops all changes leaves nothing to write.
      if error == nil { return policy }
      try compare(main)
      if let difference = before.difference(from: try state()) {
        throw Difference(description: "after a failed save \(difference)")
      }
    }
    log.append("save with policy \(policy)")
    return policy
  }

  /// Whatever came out is the new start: the same in a file and in the context, and each relationship at both ends.
  private mutating func settle(_ entities: [Int: String]) throws {
    main.context.mergePolicy = .error
    main.context.refreshAllObjects()
    let (other, files) = try opened(.builtIn)
    let context = ManagedObjectContext(other)
    var found: [Int: ManagedObject] = [:]
    for (key, id) in ids.sorted(by: { $0.key < $1.key }) where files.contains(where: { $0.node(for: id) != nil }) {
      found[key] = try context.existingObject(with: id)
    }
    let graph = try read(found, entities)
    try checkInverses(graph, "in the file")
    main.graph = graph
    main.base = graph
    main.objects = try objects(in: main.context, graph)
    try compareFile()
    try compare(main, "after all ")
  }

  /// What each policy says of plain attributes, for objects that no one deleted.
  private func checkPromise(
    _ policy: MergePolicy?, _ base: ReferenceGraph, _ here: ReferenceGraph, _ there: ReferenceGraph
  ) throws {
    for key in base.keys {
      let isHere = here.records[key] != nil
      guard let entity = base.records[key]?.entity, isHere, there.records[key] != nil, saved.records[key] != nil else {
        if there.records[key] == nil, policy == nil, saved.records[key] != nil {
          throw Difference(description: "\(key) was deleted elsewhere and is there after a merge")
        }
        if !isHere, policy == .overwrite || policy == .mergeByPropertyObjectTrump, saved.records[key] != nil {
          throw Difference(description: "\(key) was deleted here and is there after a save")
        }
        continue
      }
      let isChangedHere = !ReferenceGraph.isSame(base.records[key], here.records[key])
      let isChangedThere = !ReferenceGraph.isSame(base.records[key], there.records[key])
      for attribute in ReferenceGraph.attributes[entity] ?? [] {
        let (was, mine, theirs) = (
          base.value(key, attribute.name), here.value(key, attribute.name), there.value(key, attribute.name)
        )
        let wanted: StoredValue
        switch policy {
        case nil, .mergeByPropertyObjectTrump: wanted = mine == was ? theirs : mine
        case .mergeByPropertyStoreTrump: wanted = theirs == was ? mine : theirs
        case .overwrite: wanted = isChangedHere ? mine : theirs
        case .rollback: wanted = isChangedHere && !isChangedThere ? mine : theirs
        case .error: continue
        }
        let found = saved.value(key, attribute.name)
        if found != wanted {
          let reason = policy.map { "\($0)" } ?? "a merge"
          throw Difference(
            description: "\(key).\(attribute.name) is \(found.typedText), not \(wanted.typedText), after \(reason)")
        }
      }
    }
  }
}
