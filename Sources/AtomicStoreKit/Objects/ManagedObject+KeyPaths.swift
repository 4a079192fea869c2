import AtomicStoreSPI
import StorePredicates
import FoundationEssentials

extension ManagedObject {
  /// The value at the end of a path of keys: `department.name`; through to-many relationships the values of all objects
  /// in one (`friends.friend` is a set of objects, `employees.salary` a list of values); `@count`, `@sum.key`, `@avg.key`,
  /// `@min.key`, `@max.key`, `@distinctUnionOfObjects.key` and `@unionOfObjects.key` aggregate. `@sum`, `@avg`, `@min` and
  /// `@max` may also be at the end, as derived attributes have them: `items.price.@sum` is `items.@sum.price`.
  ///
  /// Nil on the way ends in nil. Objects reached through a to-many are a `Set` unless the relationship is ordered.
  ///
  /// - Throws: as ``value(forKey:)``; `.undefinedKey` where a path goes on after an attribute, and for one of more than 300 keys;
  ///   `.stepLimitExceeded` where a path through several to-many relationships multiplies its values beyond what a fetch may take.
  public final func value(forKeyPath path: String) throws(ManagedObjectError) -> Any? {
    if plan.property(named: path) != nil { return try value(forKey: path) }
    return try KeyPathWalk.value(of: self, path)
  }

  /// Sets the property at the end of a path through to-one relationships. Nothing happens where one of them is nil.
  public final func setValue(_ value: Any?, forKeyPath path: String) throws(ManagedObjectError) {
    if plan.property(named: path) != nil { return try setValue(value, forKey: path) }
    guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return try setValue(value, forKey: path) }
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
