import AtomicStoreSPI
import StorePredicates

/// Names that do not work in classes or predicates, or are taken for one another.
struct NameLint {
  private let model: ManagedObjectModel

  init(_ model: ManagedObjectModel) { self.model = model }

  func run(_ list: inout LintList) {
    var entities: [String: String] = [:]
    var classes: [ScalarString: Entity] = [:]
    for entity in model.entities {
      let name = entity.name
      if let other = entities.updateValue(name, forKey: Self.folded(name)) {
        list.add("similar-names", name, nil, "the name differs from that of '\(other)' only in case or in look")
      }
      if let first = name.unicodeScalars.first, first.properties.isLowercase {
        list.add("name-case", name, nil, "the name of an entity begins with a capital letter")
      }
      check(entity, &list)
      if let shared = entity.managedObjectClassName, !Self.generic.contains(shared) {
        if let other = classes[ScalarString(shared)], !entity.isKindOf(entity: other), !other.isKindOf(entity: entity) {
          list.add("shared-class", name, nil, "the class '\(shared)' is also that of \(other.name)")
        } else {
          classes[ScalarString(shared)] = entity
        }
      }
      if entity.isAbstract, entity.subentities.isEmpty {
        list.add("unused-abstract-entity", name, nil, "the entity is abstract, and has no sub-entities")
      }
    }
  }

  private static let generic: Set<String> = ["NSManagedObject", ""]

  /// A key for names: case does not count, and Swift's comparison of strings ignores how characters are composed.
  private static func folded(_ name: String) -> String { name.lowercased() }

  private func check(_ entity: Entity, _ list: inout LintList) {
    var known: [String: String] = [:]
    if let parent = entity.superentity {
      for property in parent.properties { known[Self.folded(property.name)] = property.name }
    }
    for property in entity.declaration.properties {
      let name = property.name
      if let other = known.updateValue(name, forKey: Self.folded(name)) {
        list.add("similar-names", entity.name, name, "the name differs from '\(other)' only in case or in look")
      }
      if let first = name.unicodeScalars.first, first.properties.isUppercase {
        list.add("name-case", entity.name, name, "the name of a property begins with a small letter")
      }
      if Self.reserved.contains(name) {
        list.add("reserved-name", entity.name, name, "every managed object has something called '\(name)' already")
      } else if let prefix = Self.owning.first(where: { Self.begins(name, with: $0) }) {
        list.add(
          "reserved-name", entity.name, name,
          "Objective-C takes a method whose name begins with '\(prefix)' for one that makes a new object")
      }
      if FetchPredicate.keywords.contains(name.uppercased()) {
        list.add("predicate-keyword", entity.name, name, "predicates must write '#\(name)'")
      }
    }
  }

  /// Methods and properties of NSObject and NSManagedObject.
  private static let reserved: Set<String> = [
    "attributeKeys", "autorelease", "changedValues", "class", "classCode", "className", "copy", "dealloc",
    "debugDescription", "deleted", "description", "entity", "fault", "faultingState", "hasChanges",
    "hasPersistentChangedValues", "hash", "init", "inserted", "isDeleted", "isFault", "isInserted", "isProxy",
    "isUpdated", "managedObjectContext", "mutableCopy", "objectID", "objectSpecifier", "observationInfo", "release",
    "retain", "retainCount", "scriptingProperties", "self", "superclass", "updated", "zone",
  ]

  private static let owning = ["alloc", "copy", "init", "mutableCopy", "new"]

  /// Whether a name is the prefix, or the prefix and a word that begins with a capital letter.
  private static func begins(_ name: String, with prefix: String) -> Bool {
    guard name.hasPrefix(prefix) else { return false }
    guard let next = name.dropFirst(prefix.count).unicodeScalars.first else { return true }
    return !next.properties.isLowercase
  }
}
