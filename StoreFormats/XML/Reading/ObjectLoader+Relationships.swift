import AtomicStoreSPI
import StoreCodecs

/// The objects of a relationship.
extension ObjectLoader {
  /// Adds objects to a to-many as far as their identifiers are numbers, as in most files; returns the offset of the
  /// first that is not.
  func appendNumbers(_ references: Bytes, _ root: Int) throws(PersistentStoreError) -> Int {
    guard let base = references.baseAddress else { return 0 }
    let end = members.read(base, length: references.count, mark: UInt8(ascii: "z"))
    guard members.count > 0 else { return 0 }
    try use(.plain, of: root)
    let found = members
    try nodes.append(toMany: found.span, slot: slot)
    return end
  }

  func refer(to text: Span<UInt8>, isToMany: Bool) throws(PersistentStoreError) {
    if isToMany {
      try nodes.append(toManyUTF8: text, slot: slot)
    } else {
      try nodes.set(toOneUTF8: text, slot: slot)
    }
  }

  func reference(_ identifier: Bytes, root: Int) throws(PersistentStoreError) -> ReferenceObject {
    guard let parsed = ObjectIdentifierText.parse(identifier) else {
      throw misplaced("refers to '\(Self.shown(identifier))', which is not an object identifier")
    }
    guard case .integer = parsed.reference else { return parsed.reference }
    if let name = parsed.root, ScalarString(name) != ScalarString(writtenNames[root]) {
      throw misplaced("refers to '\(Self.shown(identifier))', which belongs to another hierarchy")
    }
    try use(parsed.root == nil ? .plain : .named, of: root)
    return parsed.reference
  }
}
