import AtomicStoreSPI

/// What was probably renamed between two versions of a model, although nothing says so: migration deletes the old
/// values and begins without any.
struct VersionLint {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    self.old = old
    self.new = new
  }

  func run(_ list: inout LintList) {
    let goneEntities = old.entities.filter { entity in
      new.entity(named: entity.name) == nil
        && !new.entities.contains { $0.declaration.renamingIdentifier.map { $0 == entity.name } ?? false }
    }
    for entity in new.entities {
      let formerName = entity.declaration.renamingIdentifier
      if let before = old.entity(named: entity.name) ?? formerName.flatMap({ old.entity(named: $0) }) {
        compare(entity, before, &list)
      } else if let before = goneEntities.first(where: { Self.areAlike($0, entity) }) {
        list.add(
          "missing-renaming-identifier", entity.name, nil,
          "looks like '\(before.name)' of the previous version: if it is, set its renaming identifier to '\(before.name)'"
        )
      }
    }
  }

  /// Whether more than half of the properties of both have the same names.
  private static func areAlike(_ one: Entity, _ other: Entity) -> Bool {
    let names = Set(one.declaration.properties.map { ScalarString($0.name) })
    let others = Set(other.declaration.properties.map { ScalarString($0.name) })
    return !names.isEmpty && 2 * names.intersection(others).count > max(names.count, others.count)
  }

  private func compare(_ entity: Entity, _ before: Entity, _ list: inout LintList) {
    let names = Set(entity.declaration.properties.map { ScalarString($0.name) })
    let former = Set(entity.declaration.properties.compactMap { $0.renamingIdentifier.map { ScalarString($0) } })
    // What moved to a super-entity is not gone.
    let gone = before.declaration.properties.filter {
      !names.contains(ScalarString($0.name)) && !former.contains(ScalarString($0.name))
        && entity.property(named: $0.name) == nil
    }
    let added = entity.declaration.properties.filter { property in
      property.renamingIdentifier == nil && before.property(named: property.name) == nil
    }
    for property in added {
      let matches = gone.filter { Self.areAlike($0, property) }
      // One for one: otherwise no one can tell.
      guard matches.count == 1, added.filter({ Self.areAlike(matches[0], $0) }).count == 1 else { continue }
      list.add(
        "missing-renaming-identifier", entity.name, property.name,
        "looks like '\(matches[0].name)' of the previous version: if it is, set its renaming identifier to '\(matches[0].name)'"
      )
    }
  }

  private static func areAlike(_ one: PropertyDescription, _ other: PropertyDescription) -> Bool {
    switch (one, other) {
    case (.attribute(let a), .attribute(let b)):
      a.type == b.type && !a.isTransient && !b.isTransient && b.derivationExpression == nil
    case (.relationship(let a), .relationship(let b)):
      a.isToMany == b.isToMany
        && ScalarString(a.destinationEntityName) == ScalarString(b.destinationEntityName)
    default: false
    }
  }
}
