import AtomicStoreKit

extension Stack {
  /// The attributes of an entity's objects as someone else reads them from the file.
  func reread(_ entity: String) throws -> [[String: Any]] {
    let other = try reopened()
    return try withExtendedLifetime(other) {
      try other.fetch(entity).map { object in
        var values: [String: Any] = [:]
        for property in object.entity.slots { values[property.name] = try object.value(forKey: property.name) }
        return values
      }
    }
  }
}
