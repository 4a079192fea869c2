public import AtomicStoreSPI

/// A change of a patch.
package enum PatchChange: Sendable {
  /// An object that the new graph has, with its values that are not null.
  case inserted(ObjectReference, values: [(property: String, value: StoredValue)])
  /// An object that only the old graph has, with its values that are not null.
  case deleted(ObjectReference, values: [(property: String, value: StoredValue)])
  /// A property of an object that both graphs have.
  case changed(ObjectReference, property: String, old: StoredValue, new: StoredValue)
  /// A metadata entry, or what is under a path of keys in one that is a dictionary; nil for none.
  case metadata(key: String, path: [String], old: PropertyListValue?, new: PropertyListValue?)
}

/// Why a patch does not fit a store.
public struct PatchConflict: Sendable, Hashable, CustomStringConvertible {
  /// The object; nil for metadata.
  public var object: ObjectReference?
  /// The property, or the metadata key with its path; nil where the object as a whole is concerned.
  public var property: String?
  /// The value that the patch expects, as text; nil where the object as a whole is concerned.
  public var expected: String?
  /// The value that the store has, as text.
  public var found: String?
  /// What is wrong, in one sentence.
  public var message: String

  public var description: String {
    let subject =
      object.map { $0.description + (property.map { "." + $0 } ?? "") } ?? "metadata \(property ?? "")"
    return "\(subject): \(message)"
  }
}

/// A patch that does not fit a store. Nothing was changed.
public struct PatchConflictError: Error, Sendable, CustomStringConvertible {
  /// All conflicts, in the order of the changes.
  public var conflicts: [PatchConflict]
  public var description: String {
    "the patch does not fit the store:\n" + conflicts.map { "  \($0)" }.joined(separator: "\n")
  }
}
