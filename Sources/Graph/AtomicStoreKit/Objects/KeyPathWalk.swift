import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Evaluates a key path on an object without recursion.
///
/// A forward pass collects, for each key, the distinct objects reached and where the path leads from each. A backward
/// pass then computes the value of the rest of the path for each of them. So an object that is reached by many paths is
/// read once for each key.
struct KeyPathWalk {
  private enum Step {
    /// The path ends here.
    case end(Any?)
    case object(ManagedObject, next: Int)
    case collection([ManagedObject], isSet: Bool, next: Int)
    /// An operator such as `@sum`, applied to the values of the rest of the path for each object.
    case operation(String, [ManagedObject], next: Int)
  }
  private struct Visit {
    let object: ManagedObject
    let step: Step
  }

  private struct Found {
    let value: Any?
  }

  private let root: ManagedObject
  private let keys: [String]
  /// The rest of the path from each key on.
  private let rests: [String]
  private let budget: StepBudget
  /// Whether the objects on the way hold what was read: see ``HeldObjects``.
  private let holds: Bool

  private init(_ root: ManagedObject, _ path: String, holds: Bool) {
    self.root = root
    self.holds = holds
    keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    var rest = ""
    var rests: [String] = []
    for key in keys.reversed() {
      rest = rests.isEmpty ? key : key + "." + rest
      rests.append(rest)
    }
    self.rests = rests.reversed()
    budget = root.context?.fetchState.stepBudget ?? StepBudget()
  }

  /// - Throws: as `value(forKeyPath:)`.
  static func value(of root: ManagedObject, _ path: String, holds: Bool) throws(ManagedObjectError) -> Any? {
    let count = path.utf8.reduce(1) { $1 == UInt8(ascii: ".") ? $0 + 1 : $0 }
    guard count <= FetchExpression.maximumPathLength else {
      throw root.objectError(.undefinedKey, "\(root.plan.name): \(FetchExpression.pathTooLong(count))")
    }
    if let found = try plainValue(of: root, path, holds) { return found.value }
    let walk = KeyPathWalk(root, path, holds: holds)
    guard walk.keys.count > 2, let name = walk.keys.last, FetchExpression.endOperators.contains(name) else {
      return try walk.value()
    }
    return try walk.aggregate(name, of: String(path.dropLast(name.count + 1)))
  }

  /// The value of a path over to-one relationships to an attribute or object, which is what most paths are; nil if it
  /// may be something else.
  private static func plainValue(
    of root: ManagedObject, _ path: String, _ holds: Bool
  ) throws(ManagedObjectError) -> Found? {
    var object = root
    var rest = path[...]
    while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
      // A part of a composite is a property with a dot in its name.
      guard let p = object.plan.property(named: rest[..<dot]), object.plan.properties[p].kind == .toOne,
        object.plan.property(named: rest) == nil
      else { return nil }
      try root.context?.fetchState.stepBudget?.spend()
      object.noteAccess(p)
      try object.realize()
      guard let next = holds ? object.readToOne(p) : object.toOneObject(p) else { return Found(value: nil) }
      object = next
      rest = rest[rest.utf8.index(after: dot)...]
    }
    guard let p = object.plan.property(named: rest) else { return nil }
    switch object.plan.properties[p].kind {
    case .attribute, .toOne: break
    case .composite, .toMany, .orderedToMany, .fetched: return nil
    }
    try root.context?.fetchState.stepBudget?.spend()
    object.noteAccess(p)
    return Found(value: try object.value(at: p, holds: holds))
  }

  private func aggregate(_ name: String, of path: String) throws(ManagedObjectError) -> Any? {
    guard let value = StoredValue.unwrapped(try KeyPathWalk(root, path, holds: holds).value()) else { return nil }
    guard let values = value as? [Any] else {
      // Objects cannot be summed, but an empty list has a sum.
      if let objects = value as? Set<ManagedObject> { return try apply(name, Array(objects), at: keys.count - 1) }
      throw goesOn(at: keys.count - 1, after: value)
    }
    return try apply(name, values, at: keys.count - 1)
  }

  private func value() throws(ManagedObjectError) -> Any? {
    var visits = [[Visit]](repeating: [], count: keys.count)
    var waiting = [[ManagedObject]](repeating: [], count: keys.count)
    var known = [Set<ObjectIdentifier>](repeating: [], count: keys.count)
    waiting[0] = [root]
    for place in keys.indices {
      for object in waiting[place] {
        try budget.spend()
        let step = try step(from: object, at: place)
        visits[place].append(Visit(object: object, step: step))
        let (objects, next): ([ManagedObject], Int) =
          switch step {
          case .end: ([], keys.count)
          case .object(let object, let next): ([object], next)
          case .collection(let objects, _, let next), .operation(_, let objects, let next): (objects, next)
          }
        guard next < keys.count else { continue }
        try budget.spend(objects.count)
        for object in objects where known[next].insert(ObjectIdentifier(object)).inserted {
          waiting[next].append(object)
        }
      }
      waiting[place] = []
    }
    if let set = objectsAtTheEnd(visits) { return set }
    var results = [[ObjectIdentifier: Any]](repeating: [:], count: keys.count)
    for place in keys.indices.reversed() {
      for visit in visits[place] {
        if let value = try value(of: visit.step, results) { results[place][ObjectIdentifier(visit.object)] = value }
      }
      visits[place] = []
    }
    return results[0][ObjectIdentifier(root)]
  }

  /// Where the path continues from an object.
  private func step(from object: ManagedObject, at place: Int) throws(ManagedObjectError) -> Step {
    // The parts of a composite are properties with a dot in their names.
    if object.plan.property(named: rests[place]) != nil { return .end(try object.value(forKey: rests[place])) }
    let key = keys[place]
    if let p = object.plan.property(named: key), object.plan.properties[p].kind == .composite {
      return .end(try object.value(forKey: rests[place]))
    }
    let next = place + 1
    let p = try object.number(of: key)
    object.noteAccess(p)
    let raw = try object.value(at: p, holds: holds)
    guard next < keys.count, let value = StoredValue.unwrapped(raw) else { return .end(raw) }
    if let object = value as? ManagedObject { return .object(object, next: next) }
    let isOperator = FetchExpression.isOperator(keys[next])
    // The count does not depend on the rest of the path.
    let afterOperator = keys[next] == "@count" ? keys.count : next + 1
    if let set = value as? Set<ManagedObject> {
      let objects = set.sorted(by: ManagedObject.precedes)
      return isOperator
        ? .operation(keys[next], objects, next: afterOperator) : .collection(objects, isSet: true, next: next)
    }
    if let objects = value as? [ManagedObject] {
      return isOperator
        ? .operation(keys[next], objects, next: afterOperator) : .collection(objects, isSet: false, next: next)
    }
    if let list = value as? [Any], isOperator {
      guard afterOperator < keys.count, let first = list.first else {
        return .end(try apply(keys[next], list.compactMap { StoredValue.unwrapped($0) }, at: next))
      }
      throw goesOn(at: next + 1, after: first)
    }
    throw goesOn(at: next, after: value)
  }

  private func goesOn(at place: Int, after value: Any) -> ManagedObjectError {
    root.objectError(
      .undefinedKey,
      "\(root.plan.name): the path continues with '\(rests[place])' after a value of type \(type(of: value))",
      key: rests[place])
  }

  /// The set of all objects at the end of a path that leads only through sets to objects: how often and in which order
  /// they were reached does not matter. Nil for any other path.
  private func objectsAtTheEnd(_ visits: [[Visit]]) -> Set<ManagedObject>? {
    var found: Set<ManagedObject> = []
    var isSet: Bool?
    for visit in visits.joined() {
      switch visit.step {
      case .operation: return nil
      case .object: continue
      case .collection(_, let isOrderless, _):
        if isSet == nil { isSet = isOrderless }
        if isSet == false { return nil }
      case .end(let value):
        guard isSet == true else { return nil }
        guard let value = StoredValue.unwrapped(value) else { continue }
        if let object = value as? ManagedObject {
          found.insert(object)
        } else if let objects = value as? Set<ManagedObject> {
          found.formUnion(objects)
        } else if let objects = value as? [ManagedObject] {
          found.formUnion(objects)
        } else {
          return nil
        }
      }
    }
    return isSet == true ? found : nil
  }

  // MARK: Backwards

  private func value(of step: Step, _ results: [[ObjectIdentifier: Any]]) throws(ManagedObjectError) -> Any? {
    switch step {
    case .end(let value): return StoredValue.unwrapped(value)
    case .object(let object, let next): return results[next][ObjectIdentifier(object)]
    case .collection(let objects, let isSet, let next):
      let values = try gather(objects, results[next])
      guard let found = values as? [ManagedObject] else { return values }
      if found.isEmpty { return isSet ? Set<ManagedObject>() as Any : found }
      if isSet { return Set(found) }
      var seen = ObjectList()
      for object in found { seen.append(object) }
      return seen.elements
    case .operation(let name, let objects, let next):
      if next == keys.count { return try apply(name, objects, at: next - 1) }
      var values: [Any] = []
      for object in objects {
        if let value = results[next][ObjectIdentifier(object)] { values.append(value) }
      }
      return try apply(name, values, at: next - 1)
    }
  }

  /// Combines the values of the rest of a path for all objects into one list.
  private func gather(_ objects: [ManagedObject], _ results: [ObjectIdentifier: Any]) throws(ManagedObjectError)
    -> [Any]
  {
    var values: [Any] = []
    for object in objects {
      guard let value = results[ObjectIdentifier(object)] else { continue }
      if let set = value as? Set<ManagedObject> {
        try budget.spend(set.count)
        values += set.sorted(by: ManagedObject.precedes) as [Any]
      } else if let list = value as? [Any] {
        try budget.spend(list.count)
        values += list
      } else {
        values.append(value)
      }
      try budget.checkLength(values.count)
    }
    return values
  }

  private func apply(_ name: String, _ values: [Any], at place: Int) throws(ManagedObjectError) -> Any? {
    try budget.spend(values.count)
    switch name {
    case "@count": return values.count
    case "@unionOfObjects": return values
    case "@distinctUnionOfObjects":
      var seen: Set<AnyHashable> = []
      return values.filter { ($0 as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    case "@sum": return Arithmetic.sum(try numbers(values, at: place)).anyValue
    case "@avg": return values.isEmpty ? nil : Arithmetic.average(try numbers(values, at: place)).anyValue
    case "@min", "@max": return try extreme(values, isLeast: name == "@min", at: place)
    default:
      throw root.objectError(.undefinedKey, "\(root.plan.name): unknown operator '\(name)'", key: rests[place])
    }
  }

  private func extreme(_ values: [Any], isLeast: Bool, at place: Int) throws(ManagedObjectError) -> Any? {
    var best: StoredValue?
    for value in values {
      guard let stored = StoredValue(guessing: value) else { continue }
      guard let old = best else {
        best = stored
        continue
      }
      guard let order = AggregateNumber.order(stored, old) else {
        throw root.objectError(
          .invalidValue,
          "\(root.plan.name): \(rests[place]) cannot compare \(stored.kindDescription) with \(old.kindDescription)",
          key: rests[place])
      }
      if isLeast ? order < 0 : order > 0 { best = stored }
    }
    return best?.anyValue
  }

  private func numbers(_ values: [Any], at place: Int) throws(ManagedObjectError) -> [NumberOrder.Number] {
    var numbers: [NumberOrder.Number] = []
    for value in values {
      guard let number = AggregateNumber.number(value) else {
        throw root.objectError(
          .invalidValue, "\(root.plan.name): \(rests[place]) requires numbers, not \(type(of: value))",
          key: rests[place])
      }
      numbers.append(number)
    }
    return numbers
  }
}
