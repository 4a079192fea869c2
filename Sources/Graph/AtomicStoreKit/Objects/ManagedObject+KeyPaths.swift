import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension ManagedObject {
  /// Returns the value of a key path such as `department.name`.
  ///
  /// Through to-many relationships it collects the values of all objects (`friends.friend` is a set of objects,
  /// `employees.salary` a list of values). `@count`, `@sum.key`, `@avg.key`, `@min.key`, `@max.key`,
  /// `@distinctUnionOfObjects.key` and `@unionOfObjects.key` aggregate. `@sum`, `@avg`, `@min` and `@max` may also be
  /// at the end, as in derived attributes: `items.price.@sum` is `items.@sum.price`.
  ///
  /// If a key on the path is nil, the result is nil. Objects reached through a to-many are a `Set` unless the
  /// relationship is ordered.
  ///
  /// - Throws: as ``value(forKey:)``; `.undefinedKey` if a path continues after an attribute, and for a path of more
  ///   than 300 keys; `.stepLimitExceeded` if a path through several to-many relationships multiplies its values beyond
  ///   the limit of a fetch.
  public final func value(forKeyPath path: String) throws(ManagedObjectError) -> Any? {
    try value(forKeyPath: path, holds: true)
  }

  /// - Parameter holds: Whether the objects on the way keep what was read alive from now on: see ``HeldObjects``.
  final func value(forKeyPath path: String, holds: Bool) throws(ManagedObjectError) -> Any? {
    if let p = plan.property(named: path) {
      noteAccess(p)
      return try value(at: p, holds: holds)
    }
    return try KeyPathWalk.value(of: self, path, holds: holds)
  }

  /// Sets the property at the end of a path through to-one relationships. Has no effect if one of them is nil.
  public final func setValue(_ value: Any?, forKeyPath path: String) throws(ManagedObjectError) {
    if plan.property(named: path) != nil { return try setValue(value, forKey: path) }
    guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return try setValue(value, forKey: path) }
    let target = try self.value(forKeyPath: String(path[..<dot]))
    guard let target else { return }
    guard let object = target as? ManagedObject else {
      throw objectError(.undefinedKey, "\(plan.name): '\(path[..<dot])' does not lead to a single object", key: path)
    }
    try object.setValue(value, forKey: String(path[path.index(after: dot)...]))
  }

  /// Sets several properties: as ``setValue(_:forKey:)`` for each, in the order of their names.
  ///
  /// - Throws: as ``setValue(_:forKey:)``. Names are checked before anything is set; if a value is refused, those
  ///   before it stay set.
  public final func setValuesForKeys(_ values: [String: Any?]) throws(ManagedObjectError) {
    let sorted = values.sorted { ScalarString($0.key) < ScalarString($1.key) }
    for (key, _) in sorted { _ = try number(of: key) }
    for (key, value) in sorted { try setValue(value, forKey: key) }
  }

  /// Returns the values of several properties, by name; nil for null.
  public final func dictionaryWithValues(forKeys keys: [String]) throws(ManagedObjectError) -> [String: Any?] {
    var values: [String: Any?] = [:]
    for key in keys { values.updateValue(try value(forKey: key), forKey: key) }
    return values
  }
}
