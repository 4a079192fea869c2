import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport

final class Thing: ManagedObject {
  @Managed("one") var one: Thing?
  @Managed("many") var many: Set<Thing>
  @Managed("list") var list: [Thing]
  @Managed("~one") var passingOne: Thing?
  @Managed("~many") var passingMany: Set<Thing>
  @Managed("~list") var passingList: [Thing]
  @Managed("integer") var integer: Int
  @Managed("~integer") var passingInteger: Int
  @Managed("~integer+") var presetInteger: Int
  @Managed("doubled") var doubled: Int?
}

/// Random steps with one object, after each of which typed access and access by key have to agree about everything.
struct TypedScript: CustomStringConvertible {
  enum Step {
    case write(form: Int, number: Int?, isTyped: Bool)
    case setPrimitive(form: Int, number: Int?)
    case add(Int)
    case relate(Int, isTyped: Bool)
    case save, undo, redo, endEvent, rollback, refetch
    case refresh(merging: Bool)
    case refreshAll
    case enterChild, saveChild, dropChild
  }
  let type: String
  var steps: [Step]

  init(seed: UInt64, type: String, count: Int = 40) {
    self.type = type
    var generator = SeededGenerator(seed: seed)
    steps = (0..<count).map { _ in Self.step(&generator) }
  }

  var description: String { "\(type): " + steps.map { "\($0)" }.joined(separator: ", ") }

  private static func step(_ generator: inout SeededGenerator) -> Step {
    func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    let form = number(TypedForm.all.count)
    let value = number(4) == 0 ? nil : number(40)
    switch number(24) {
    case 0..<6: return .write(form: form, number: value, isTyped: true)
    case 6..<10: return .write(form: form, number: value, isTyped: false)
    case 10: return .setPrimitive(form: form, number: value)
    case 11: return .add(number(9))
    case 12: return .relate(number(3), isTyped: number(2) == 0)
    case 13: return .save
    case 14: return .undo
    case 15: return .redo
    case 16: return .endEvent
    case 17: return .rollback
    case 18: return .refetch
    case 19: return .refresh(merging: number(2) == 0)
    case 20: return .refreshAll
    case 21: return .enterChild
    case 22: return .saveChild
    default: return .dropChild
    }
  }

  /// What is wrong first; nil if nothing is.
  func failure() -> String? {
    do {
      let run = try TypedRun(type)
      if let wrong = run.difference() { return "new: \(wrong)" }
      for (index, step) in steps.enumerated() {
        if let wrong = try run.perform(step) { return "step \(index), \(step): \(wrong)" }
      }
      return nil
    } catch { return "threw \(error)" }
  }

  /// The fewest steps found that still fail.
  func shortened() -> TypedScript {
    var script = self
    var size = max(1, script.steps.count / 2)
    while true {
      var start = 0
      var isShorter = false
      while start < script.steps.count {
        var candidate = script
        candidate.steps.removeSubrange(start..<min(start + size, script.steps.count))
        if candidate.failure() != nil {
          script = candidate
          isShorter = true
        } else {
          start += size
        }
      }
      if size == 1, !isShorter { return script }
      size = max(1, size / 2)
    }
  }
}

/// The object, and the contexts that it is in: a child context is on top of its parent.
private final class TypedRun {
  private let folder: TestFolder
  private let coordinator: PersistentStoreCoordinator
  private var levels: [(context: ManagedObjectContext, object: Thing, others: [Thing])]
  /// The object's attributes in the store, as another context reads them.
  private var stored: [String: String] = [:]

  init(_ type: String) throws {
    let stack = try Stack(type, model: try ManagedObjectModel(TypedForm.model), classes: ["Thing": Thing.self])
    (folder, coordinator) = (stack.folder, stack.coordinator)
    stack.context.undoManager = UndoHistory()
    let others = [Thing(context: stack.context), Thing(context: stack.context)]
    levels = [(stack.context, Thing(context: stack.context), others)]
    // An undo does not take the object back.
    stack.context.processPendingChanges()
    stack.context.undoManager?.removeAllActions()
  }

  func perform(_ step: TypedScript.Step) throws -> String? {
    let top = levels.count - 1
    let (context, object, others) = levels[top]
    switch step {
    case .write(let index, let number, let isTyped):
      let form = TypedForm.all[index]
      if isTyped { form.write(object, number) } else { try object.setValue(form.value(number), forKey: form.name) }
      let now = TypedForm.text(try object.value(forKey: form.name))
      let wanted = TypedForm.text(form.value(number))
      if now != wanted { return "\(form.name) as \(form.type) is \(now) after it was set to \(wanted)" }
    // It is not a change, so a child's save would not pass it on.
    case .setPrimitive where top > 0: break
    case .setPrimitive(let index, let number):
      let form = TypedForm.all[index]
      try object.setPrimitiveValue(form.value(number), forKey: form.name)
      let now = TypedForm.text(try object.primitiveValue(forKey: form.name))
      let wanted = TypedForm.text(form.value(number))
      if now != wanted { return "primitive \(form.name) is \(now) after it was set to \(wanted)" }
    case .add(let number):
      let properties: [(String, ReferenceWritableKeyPath<Thing, Int>)] = [
        ("integer", \.integer), ("~integer", \.passingInteger), ("~integer+", \.presetInteger),
      ]
      for (key, path) in properties {
        let before = try object.value(forKey: key) as? Int ?? 0
        object[keyPath: path] += number
        let after = try object.value(forKey: key) as? Int
        if after != before + number { return "\(key) is \(after ?? -1) after \(before) += \(number)" }
      }
    case .relate(let count, let isTyped): try relate(object, Array(others.prefix(count)), isTyped)
    case .save where top == 0:
      try context.save()
      try readStored()
    case .save, .endEvent: context.processPendingChanges()
    case .undo: context.undo()
    case .redo: context.redo()
    case .rollback:
      guard !object.isInserted else { return nil }
      context.rollback()
    case .refresh(let isMerging):
      context.refresh(object, mergeChanges: isMerging)
      if !isMerging, top == 0, !object.isInserted { return difference() ?? defaults(object) }
    case .refreshAll: context.refreshAllObjects()
    case .refetch: return try refetch()
    case .enterChild:
      guard top < 2 else { return nil }
      try push(ManagedObjectContext(parent: context), from: levels[top])
      return difference() ?? defaults(levels[levels.count - 1].object)
    case .saveChild:
      guard top > 0 else { return nil }
      try context.save()
      for form in TypedForm.all {
        let mine = TypedForm.text(try object.value(forKey: form.name))
        let above = TypedForm.text(try levels[top - 1].object.value(forKey: form.name))
        // A transient value that the child did not set is not its parent's.
        let isUnset =
          form.name.hasPrefix("~")
          && mine == TypedForm.text(object.entity.attributesByName[form.name]?.defaultValue?.anyValue)
        if mine != above, !isUnset { return "the parent's \(form.name) is \(above), the child's \(mine)" }
      }
    case .dropChild: if top > 0 { levels.removeLast() }
    }
    return difference()
  }

  /// Continues with the object as a fresh context fetches it.
  private func refetch() throws -> String? {
    while levels.count > 1 { levels.removeLast() }
    let last = levels[0]
    try last.context.save()
    levels = []
    try readStored(last.object.objectID)
    let context = ManagedObjectContext(coordinator)
    context.undoManager = UndoHistory()
    try push(context, from: last)
    return difference() ?? defaults(levels[0].object)
  }

  private func readStored(_ id: ManagedObjectID? = nil) throws {
    guard let id = id ?? levels.first?.object.objectID else { return }
    let context = ManagedObjectContext(coordinator)
    let object = try context.existingObject(with: id)
    for name in Set(TypedForm.all.map(\.name)) { stored[name] = TypedForm.text(try object.value(forKey: name)) }
    withExtendedLifetime(context) {}
  }

  private func push(
    _ context: ManagedObjectContext, from level: (context: ManagedObjectContext, object: Thing, others: [Thing])
  ) throws {
    func mine(_ object: Thing) throws -> Thing? { try context.existingObject(with: object.objectID) as? Thing }
    guard let object = try mine(level.object) else { return }
    if context.parent != nil { context.undoManager = UndoHistory() }
    levels.append((context, object, try level.others.compactMap(mine)))
  }

  private func relate(_ object: Thing, _ others: [Thing], _ isTyped: Bool) throws {
    if isTyped {
      (object.one, object.many, object.list) = (others.first, Set(others), others)
      (object.passingOne, object.passingMany, object.passingList) = (others.first, Set(others), others)
    } else {
      for prefix in ["", "~"] {
        try object.setValue(others.first, forKey: prefix + "one")
        try object.setValue(Set(others), forKey: prefix + "many")
        try object.setValue(others, forKey: prefix + "list")
      }
    }
  }

  /// A transient attribute of an object that was just read has its model's default.
  private func defaults(_ object: Thing) -> String? {
    for (name, attribute) in object.entity.attributesByName where name.hasPrefix("~") {
      let now = TypedForm.text(object[name])
      let wanted = TypedForm.text(attribute.defaultValue?.anyValue)
      if now != wanted { return "\(name) is \(now), its default is \(wanted)" }
    }
    return nil
  }

  /// Where typed access and access by key differ.
  func difference() -> String? {
    guard let object = levels.last?.object else { return "there is no object" }
    for form in TypedForm.all {
      let raw = TypedForm.text(object[form.name])
      let typed = form.read(object)
      // A value of another type reads as null: 12 is not a Rank.
      if form.type == "Rank" || form.type == "Tone" || form.name == "~any" {
        if typed.optional != raw, typed.optional != "nil" {
          return "\(form.name) as \(form.type)?: \(typed.optional), by key \(raw)"
        }
        continue
      }
      if typed.optional != raw { return "\(form.name) as \(form.type)?: \(typed.optional), by key \(raw)" }
      let plain = raw == "nil" ? typed.null : raw
      if typed.plain != plain { return "\(form.name) as \(form.type): \(typed.plain), by key \(raw)" }
      if let changed = object.changedValues()[form.name], TypedForm.text(changed) != raw {
        return "changedValues has \(TypedForm.text(changed)) for \(form.name), which is \(raw)"
      }
    }
    return committedDifference(object) ?? relationshipDifference(object)
  }

  /// Where the committed values are not those of the store, the parent or, of a new object, the model. A transient
  /// attribute has only one value.
  private func committedDifference(_ object: Thing) -> String? {
    let names = Set(TypedForm.all.map(\.name))
    let committed = object.committedValues(forKeys: Array(names))
    for name in names {
      guard let found = committed[name] else { return "committedValues has no \(name)" }
      let wanted: String? =
        if name.hasPrefix("~") {
          TypedForm.text(object[name])
        } else if object.isInserted {
          TypedForm.text(object.entity.attributesByName[name]?.defaultValue?.anyValue)
        } else if levels.count > 1 {
          TypedForm.text(levels[levels.count - 2].object[name])
        } else { stored[name] }
      if TypedForm.text(found) != wanted {
        return "committedValues has \(TypedForm.text(found)) for \(name), which is \(wanted ?? "not stored")"
      }
    }
    return nil
  }

  private func relationshipDifference(_ object: Thing) -> String? {
    if object.one !== object["one"] as? Thing { return "one differs" }
    if object.passingOne !== object["~one"] as? Thing { return "~one differs" }
    if object.many != object["many"] as? Set<ManagedObject> ?? [] { return "many differs" }
    if object.passingMany != object["~many"] as? Set<ManagedObject> ?? [] { return "~many differs" }
    if object.list != object["list"] as? [ManagedObject] ?? [] { return "list differs" }
    if object.passingList != object["~list"] as? [ManagedObject] ?? [] { return "~list differs" }
    if object.doubled != object["doubled"] as? Int { return "doubled differs" }
    return nil
  }
}
