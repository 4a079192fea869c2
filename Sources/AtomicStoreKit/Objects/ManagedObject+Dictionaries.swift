import AtomicStoreSPI

extension ManagedObject {
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
