import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension ManagedObject {
  /// The value at the end of a path of keys: `department.name`; through to-many relationships the values of all objects
  /// in one (`friends.friend` is a set of objects, `employees.salary` a list of values); `@count`, `@sum.key`,
  /// `@avg.key`, `@min.key`, `@max.key`, `@distinctUnionOfObjects.key` and `@unionOfObjects.key` aggregate. `@sum`,
  /// `@avg`, `@min` and `@max` may also be at the end, as derived attributes have them: `items.price.@sum` is
  /// `items.@sum.price`.
  ///
  /// Nil on the way ends in nil. Objects reached through a to-many are a `Set` unless the relationship is ordered.
  ///
  /// - Throws: as ``value(forKey:)``; `.undefinedKey` where a path goes on after an attribute, and for one of more than
  ///   300 keys; `.stepLimitExceeded` where a path through several to-many relationships multiplies its values beyond
  ///   what a fetch may take.
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
