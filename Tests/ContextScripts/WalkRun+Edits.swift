import AtomicStoreKit
import AtomicStoreSPI

extension WalkRun {
  /// One change in a context and in its plain values. False if nothing changes.
  func edit(_ scene: inout Scene) throws -> Bool {
    guard let key = pick(scene.graph.keys), chance(4, in: 5), let object = scene.objects[key] else {
      return try insert(&scene)
    }
    switch dice.below(12) {
    case 0..<2:
      guard let name = pick(WalkModel.attributes) else { return false }
      let value = chance(1, in: 5) ? nil : dice.below(5)
      if scene.graph.records[key]?.values[name] == value { return false }
      log.append("\(key).\(name) = \(value.map(String.init) ?? "nil")")
      try object.setValue(value, forKey: name)
      scene.graph.records[key]?.values[name] = value
      return true
    case 2: return try delete(key, object, &scene)
    default:
      guard let end = pick(scene.graph.relationships(key)) else { return false }
      return end.isToMany ? try editMany(key, object, end, &scene) : try editOne(key, object, end, &scene)
    }
  }

  private func insert(_ scene: inout Scene) throws -> Bool {
    guard let entity = pick(WalkModel.entities), scene.graph.records.count < 25 else { return false }
    let key = newKey()
    log.append("insert \(entity) \(key)")
    scene.objects[key] = try scene.context.insertNewObject(forEntityName: entity)
    scene.graph.insert(key, entity)
    return true
  }

  private func delete(_ key: Int, _ object: ManagedObject, _ scene: inout Scene) throws -> Bool {
    let plan = scene.context.deletionPlan(for: object)
    let closure = scene.graph.closure(key)
    guard plan.isAllowed == (closure != nil) else {
      throw Difference(description: "the deletion plan of \(key) says \(plan.isAllowed)")
    }
    guard let closure else { return false }
    guard Set(plan.deleted.map(\.object)) == Set(closure.compactMap { scene.objects[$0] }) else {
      throw Difference(
        description: "the deletion plan of \(key) has \(plan.deleted.count) objects, not \(closure.count)")
    }
    log.append("delete \(key)")
    scene.context.delete(object)
    scene.context.processPendingChanges()
    scene.graph.delete(key)
    return true
  }

  private func editOne(
    _ key: Int, _ object: ManagedObject, _ end: PlainGraph.Relationship, _ scene: inout Scene
  ) throws -> Bool {
    let now = scene.graph.ends(key, end.name)
    guard chance(3, in: 4), let other = pick(scene.graph.keys(of: end.destination)) else {
      if now.isEmpty { return false }
      log.append("\(key).\(end.name) = nil")
      try object.setValue(nil, forKey: end.name)
      scene.graph.clear(key, end)
      return true
    }
    if now == [other] { return false }
    log.append("\(key).\(end.name) = \(other)")
    try object.setValue(scene.objects[other], forKey: end.name)
    scene.graph.relate(key, end, other)
    return true
  }

  private func editMany(
    _ key: Int, _ object: ManagedObject, _ end: PlainGraph.Relationship, _ scene: inout Scene
  ) throws -> Bool {
    let candidates = scene.graph.keys(of: end.destination)
    let now = scene.graph.ends(key, end.name)
    switch dice.below(8) {
    case 0..<4:
      guard let other = pick(candidates), !now.contains(other), let partner = scene.objects[other] else { return false }
      let place = end.isOrdered && chance(2, in: 3) ? dice.below(now.count + 2) : nil
      log.append("\(key).\(end.name) + \(other)" + (place.map { " at \($0)" } ?? ""))
      try object.add(partner, to: end.name, at: place)
      scene.graph.relate(key, end, other, at: place)
    case 4..<5:
      guard let other = pick(now), let partner = scene.objects[other] else { return false }
      log.append("\(key).\(end.name) - \(other)")
      try object.remove(partner, from: end.name)
      scene.graph.unrelate(key, end, other)
    case 5..<6 where end.isOrdered:
      guard let other = pick(now), let partner = scene.objects[other] else { return false }
      let place = dice.below(now.count + 1)
      var list = now.filter { $0 != other }
      list.insert(other, at: min(place, list.count))
      if list == now { return false }
      log.append("\(key).\(end.name): \(other) to \(place)")
      try object.move(partner, in: end.name, to: place)
      scene.graph.records[key]?.ends[end.name] = list
    default:
      let others = Array(candidates.shuffled(using: &dice).prefix(dice.below(5)))
      if end.isOrdered ? now == others : Set(now) == Set(others) { return false }
      log.append("\(key).\(end.name) = \(others)")
      let list = others.compactMap { scene.objects[$0] }
      try object.setValue(end.isOrdered ? list as Any : Set(list), forKey: end.name)
      scene.graph.assign(key, end, others)
    }
    return true
  }

  // MARK: Comparing

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
      for name in WalkModel.attributes where try object.value(forKey: name) as? Int != record.values[name] {
        throw wrong("\(key).\(name) is \(object[name] ?? "nil")")
      }
      for end in WalkModel.relationships(of: record.entity) {
        let all = try object.objects(forRelationshipNamed: end.name)
        let (found, wanted) = (all.map { keys[$0] ?? -1 }, record.ends[end.name] ?? [])
        guard end.isOrdered ? found == wanted : found.sorted() == wanted.sorted() else {
          throw wrong("\(key).\(end.name) is \(found), not \(wanted)")
        }
        let count = try object.count(forRelationshipNamed: end.name)
        if count != all.count { throw wrong("\(key).\(end.name) counts \(count)") }
      }
      let before = scene.base.records[key]
      if object.isInserted != (before == nil) { throw wrong("\(key).isInserted is \(object.isInserted)") }
      let isUpdated = before != nil && !PlainGraph.isSame(before, record)
      if isUpdated { updated += 1 }
      if object.isUpdated != isUpdated { throw wrong("\(key).isUpdated is \(object.isUpdated)") }
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
}
