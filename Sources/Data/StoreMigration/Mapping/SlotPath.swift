import AtomicStoreSPI

/// The name of a slot, in its parts: a part of a composite attribute has the names of the composites that it is in
/// before its own.
struct SlotPath {
  /// As the model has them now.
  let names: [String]
  /// As they were before, by the renaming identifiers; otherwise as they are.
  let formerNames: [String]
  /// Whether a renaming identifier says what the slot, or a composite that it is in, was called before.
  let isRenamed: Bool

  init(_ slot: Slot, of entity: Entity) {
    guard let part = slot.attribute, part.name != slot.name else {
      let identifier = slot.attribute?.renamingIdentifier ?? slot.relationship?.renamingIdentifier
      (names, formerNames, isRenamed) = ([slot.name], [identifier ?? slot.name], identifier != nil)
      return
    }
    var attributes = Array(entity.attributesByName.values)
    var rest = Substring(slot.name)
    var (names, formerNames, isRenamed): ([String], [String], Bool) = ([], [], false)
    while let attribute = attributes.first(where: { rest == $0.name || rest.hasPrefix($0.name + ".") }) {
      names.append(attribute.name)
      formerNames.append(attribute.renamingIdentifier ?? attribute.name)
      isRenamed = isRenamed || attribute.renamingIdentifier != nil
      rest = rest.dropFirst(attribute.name.count + 1)
      guard case .composite(let name) = attribute.type else { break }
      attributes = entity.model.description.composites.first { $0.name.hasSameScalars(as: name) }?.attributes ?? []
    }
    (self.names, self.formerNames, self.isRenamed) =
      rest.isEmpty ? (names, formerNames, isRenamed) : ([slot.name], [slot.name], false)
  }

  /// What the slot was called before.
  var formerName: ScalarString { ScalarString(formerNames.joined(separator: ".")) }

  /// The name of the composite attribute, or the slot, that the first names are those of.
  func prefix(_ depth: Int) -> String { names.prefix(depth).joined(separator: ".") }

  /// How many names those of a composite attribute are; nil if the slot is not a part of it.
  func depth(of composite: String) -> Int? {
    names.indices.dropFirst().first { prefix($0).hasSameScalars(as: composite) }
  }
}

extension Entity {
  /// A part of a composite attribute; nil for another name.
  func firstPart(ofComposite name: String) -> Slot? {
    slots.first { $0.name.utf8.starts(with: (name + ".").utf8) && SlotPath($0, of: self).depth(of: name) != nil }
  }
}
