import AtomicStoreSPI
import FoundationEssentials

extension ManagedObject {
  /// The value at the end of a path of keys: `department.name`; through to-many relationships the values of all objects
  /// in one (`friends.friend` is a set of objects, `employees.salary` a list of values); `@count`, `@sum.key`, `@avg.key`,
  /// `@min.key`, `@max.key`, `@distinctUnionOfObjects.key` and `@unionOfObjects.key` aggregate. `@sum`, `@avg`, `@min` and
  /// `@max` may also be at the end, as derived attributes have them: `items.price.@sum` is `items.@sum.price`.
  ///
  /// Nil on the way ends in nil. Objects reached through a to-many are a `Set` unless the relationship is ordered.
  ///
  /// - Throws: as ``value(forKey:)``; `.undefinedKey` where a path goes on after an attribute.
  public final func value(forKeyPath path: String) throws(ManagedObjectError) -> Any? {
    if plan.property(named: path) != nil { return try value(forKey: path) }
    return try KeyPathStep.value(of: self, path, from: self)
  }

  /// Sets the property at the end of a path through to-one relationships. Nothing happens where one of them is nil.
  public final func setValue(_ value: Any?, forKeyPath path: String) throws(ManagedObjectError) {
    if plan.property(named: path) != nil { return try setValue(value, forKey: path) }
    guard let dot = path.utf8.lastIndex(of: 0x2E) else { return try setValue(value, forKey: path) }
    let target = try self.value(forKeyPath: String(path[..<dot]))
    guard let target else { return }
    guard let object = target as? ManagedObject else {
      throw ManagedObjectError(
        .undefinedKey, "\(plan.name): '\(path[..<dot])' leads to no single object", objectID: objectID,
        entityName: plan.name, key: path)
    }
    try object.setValue(value, forKey: String(path[path.index(after: dot)...]))
  }
}

enum KeyPathStep {
  static func value(of value: Any?, _ path: String, from root: ManagedObject) throws(ManagedObjectError) -> Any? {
    guard let value = StoredValue.unwrapped(value) else { return nil }
    if let object = value as? ManagedObject {
      if object.plan.property(named: path) != nil { return try object.value(forKey: path) }
      let (first, rest) = split(path)
      // A composite's parts are properties with a point in their names.
      if let p = object.plan.property(named: first), object.plan.properties[p].kind == .composite {
        return try object.value(forKey: path)
      }
      let next = try object.value(forKey: first)
      return rest.isEmpty ? next : try self.value(of: next, rest, from: root)
    }
    if let set = value as? Set<ManagedObject> {
      return try aggregate(set.sorted(by: ManagedObject.precedes), isSet: true, path, from: root)
    }
    if let list = value as? [ManagedObject] { return try aggregate(list, isSet: false, path, from: root) }
    if let list = value as? [Any], path.hasPrefix("@") { return try aggregate(list, path, from: root) }
    throw ManagedObjectError(
      .undefinedKey, "\(root.plan.name): the path goes on with '\(path)' after a \(type(of: value))",
      objectID: root.objectID, entityName: root.plan.name, key: path)
  }

  private static func split(_ path: String) -> (String, String) {
    guard let dot = path.utf8.firstIndex(of: 0x2E) else { return (path, "") }
    return (String(path[..<dot]), String(path[path.index(after: dot)...]))
  }

  private static func aggregate(
    _ objects: [ManagedObject], isSet: Bool, _ path: String, from root: ManagedObject
  ) throws(ManagedObjectError) -> Any? {
    if path.hasPrefix("@") { return try aggregate(objects as [Any], path, from: root) }
    if let (inner, name) = endOperator(of: path) {
      switch try aggregate(objects, isSet: isSet, inner, from: root) {
      case let set as Set<ManagedObject>: return try aggregate(set.sorted(by: ManagedObject.precedes) as [Any], name, from: root)
      case let list as [Any]: return try aggregate(list, name, from: root)
      default: return try aggregate([], name, from: root)
      }
    }
    var values: [Any] = []
    for object in objects {
      guard let value = try value(of: object, path, from: root) else { continue }
      if let set = value as? Set<ManagedObject> {
        values += set.sorted(by: ManagedObject.precedes) as [Any]
      } else if let list = value as? [Any] {
        values += list
      } else {
        values.append(value)
      }
    }
    guard let found = values as? [ManagedObject] else { return values }
    if found.isEmpty { return isSet ? Set<ManagedObject>() as Any : found }
    if isSet { return Set(found) }
    var seen = ObjectList()
    for object in found { seen.append(object) }
    return seen.elements
  }

  /// The operators that may end a path, behind what they are applied to.
  static let endOperators: Set<String> = ["@sum", "@avg", "@min", "@max"]

  /// A path that ends with an operator, in its two parts.
  private static func endOperator(of path: String) -> (inner: String, name: String)? {
    guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let name = String(path[path.index(after: dot)...])
    return endOperators.contains(name) ? (String(path[..<dot]), name) : nil
  }

  private static func aggregate(_ list: [Any], _ path: String, from root: ManagedObject) throws(ManagedObjectError) -> Any? {
    let (name, rest) = split(path)
    if name == "@count" { return list.count }
    var values: [Any] = []
    for element in list {
      if let value = rest.isEmpty ? StoredValue.unwrapped(element) : try value(of: element, rest, from: root) { values.append(value) }
    }
    switch name {
    case "@unionOfObjects": return values
    case "@distinctUnionOfObjects":
      var seen: Set<AnyHashable> = []
      return values.filter { ($0 as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    case "@sum": return Arithmetic.sum(try numbers(values, path, root)).anyValue
    case "@avg": return values.isEmpty ? nil : Arithmetic.average(try numbers(values, path, root)).anyValue
    case "@min", "@max":
      var best: StoredValue?
      for value in values {
        guard let stored = StoredValue(guessing: value) else { continue }
        guard let old = best else {
          best = stored
          continue
        }
        guard let order = AggregateNumber.order(stored, old) else {
          throw ManagedObjectError(
            .invalidValue, "\(root.plan.name): \(path) compares \(stored.kindDescription) with \(old.kindDescription)",
            objectID: root.objectID, entityName: root.plan.name, key: path)
        }
        if name == "@min" ? order < 0 : order > 0 { best = stored }
      }
      return best?.anyValue
    default:
      throw ManagedObjectError(
        .undefinedKey, "\(root.plan.name): there is no operator '\(name)'", objectID: root.objectID,
        entityName: root.plan.name, key: path)
    }
  }

  private static func numbers(
    _ values: [Any], _ path: String, _ root: ManagedObject
  ) throws(ManagedObjectError) -> [NumberOrder.Number] {
    var numbers: [NumberOrder.Number] = []
    for value in values {
      guard let number = AggregateNumber.number(value) else {
        throw ManagedObjectError(
          .invalidValue, "\(root.plan.name): \(path) adds up numbers, not \(type(of: value))", objectID: root.objectID,
          entityName: root.plan.name, key: path)
      }
      numbers.append(number)
    }
    return numbers
  }
}

/// Numbers of all kinds in one calculation.
enum AggregateNumber {
  static func number(_ value: Any) -> NumberOrder.Number? {
    switch value {
    case let number as Int: .integer(Int64(number))
    case let number as Double: .double(number)
    case let number as Float: .double(Double(number))
    case let number as DecimalNumber: .decimal(number)
    default: nil
    }
  }

  /// Below 0, 0 or above; nil for values that have no order between them.
  static func order(_ one: StoredValue, _ other: StoredValue) -> Int? {
    func compare<Value: Comparable>(_ a: Value, _ b: Value) -> Int { a < b ? -1 : a == b ? 0 : 1 }
    switch (one, other) {
    case (.integer(let a), .integer(let b)): return compare(a, b)
    case (.date(let a), .date(let b)): return compare(a, b)
    case (.string(let a), .string(let b)):
      return a.utf8.elementsEqual(b.utf8) ? 0 : a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    case (.boolean(let a), .boolean(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
    case (.decimal(let a), .decimal(let b)): return a.isLess(than: b) ? -1 : b.isLess(than: a) ? 1 : 0
    default:
      guard let a = one.anyValue.flatMap(number), let b = other.anyValue.flatMap(number) else { return nil }
      return compare(a.asDouble, b.asDouble)
    }
  }
}
