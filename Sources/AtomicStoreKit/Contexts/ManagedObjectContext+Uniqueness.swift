import AtomicStoreSPI
import FoundationEssentials

/// Values that must be unique.
extension ManagedObjectContext {
  /// Finds objects that share the values of a uniqueness constraint. Null is equal to nothing.
  ///
  /// - Returns: Whether there were any.
  func resolveConstraints(_ versions: [(home: StoreHome, version: NodeVersion)]) throws(ManagedObjectError) -> Bool {
    var hasResolved = false
    for (home, _) in versions {
      let changed = (inserted.elements + updated.elements).filter { $0.home === home && !$0.plan.constraints.isEmpty }
      guard !changed.isEmpty, let version = home.currentVersion() else { continue }
      // Constraints belong to the entity that states them and hold for all below it.
      for holder in home.plan.entities where !holder.constraints.isEmpty {
        let inherited = holder.entity.superentity.map { home.plan.entities[$0.index].constraints.count } ?? 0
        for constraint in holder.constraints.dropFirst(inherited) {
          // Those that an earlier constraint took back are no more.
          let concerned = changed.filter { $0.plan.isKind(of: holder.index) && $0.context === self && !$0.flags.contains(.deleted) }
          if try resolve(constraint, of: holder, home, version, concerned) { hasResolved = true }
        }
      }
    }
    return hasResolved
  }

  private func resolve(
    _ constraint: [Int], of holder: EntityPlan, _ home: StoreHome, _ version: NodeVersion, _ changed: [ManagedObject]
  ) throws(ManagedObjectError) -> Bool {
    guard !changed.isEmpty else { return false }
    let hereWins = mergePolicy == .mergeByPropertyObjectTrump || mergePolicy == .overwrite
    var byKey: [[StoredValueKey]: ManagedObject] = [:]
    var pairs: [(newer: ManagedObject, older: ManagedObject)] = []
    func key(_ object: ManagedObject) -> [StoredValueKey]? {
      let values = constraint.map { p -> StoredValue in
        if object.plan.properties[p].kind == .toOne {
          guard let other = object.toOneObject(p) else { return .null }
          return .string(other.objectID.uriRepresentation)
        }
        return object.storedValue(p)
      }
      return values.contains { $0.isNull } ? nil : values.map { StoredValueKey(value: $0) }
    }
    // Objects that had their values before come first, whatever else of them changed.
    func holdsItsKey(_ object: ManagedObject) -> Bool {
      !object.flags.contains(.inserted) && (object.edits.map { edits in constraint.allSatisfy { edits[$0] == nil } } ?? true)
    }
    for object in changed.filter(holdsItsKey) + changed.filter({ !holdsItsKey($0) }) {
      guard let key = key(object) else { continue }
      guard let other = byKey[key] else {
        byKey[key] = object
        continue
      }
      pairs.append((object, other))
      // Of several the one that stays goes on against the rest.
      if hereWins { byKey[key] = object }
    }
    if !byKey.isEmpty {
      for entity in holder.entity.hierarchy {
        for row in 0..<version.rowCount(of: entity.index) {
          let node = NodeHandle(entity: entity.index, row: row)
          // Cheap first: read the first value and look whether any changed object could have it.
          let plan = home.plan.entities[entity.index]
          var values: [StoredValueKey] = []
          for p in constraint {
            let property = plan.properties[p]
            guard property.slot >= 0 else { break }
            if property.kind == .toOne {
              guard let other = version.toOne(slot: property.slot, of: node) else { break }
              values.append(StoredValueKey(value: .string(
                home.store.objectID(for: version.nodes.objectReference(of: other)).uriRepresentation)))
            } else if case .attribute(let type) = property.kind {
              let value = version.attribute(slot: property.slot, type: type, of: node)
              if value.isNull { break }
              values.append(StoredValueKey(value: value))
            }
          }
          guard values.count == constraint.count, let newer = byKey[values] else { continue }
          let reference = version.reference(of: node)
          if newer.reference == reference, !newer.flags.contains(.inserted) { continue }
          let older = object(at: node, in: version, of: home)
          // One that is being deleted or changed to something else is in nobody's way.
          if older === newer || older.flags.contains(.deleted) || older.flags.contains(.updated) { continue }
          pairs.append((newer, older))
        }
      }
    }
    guard !pairs.isEmpty else { return false }
    let names = constraint.map { holder.properties[$0].name }.joined(separator: ", ")
    if mergePolicy != .error { keepRestorePoint() }
    switch mergePolicy {
    case .error:
      let errors = pairs.map { pair in
        ManagedObjectError(
          .managedObjectConstraintMerge,
          "\(pair.newer.plan.name)/\(pair.newer.reference.map(\.description) ?? "new") and "
            + "\(pair.older.plan.name)/\(pair.older.reference.map(\.description) ?? "new") have the same \(names), which must be unique",
          objectID: pair.newer.objectID, entityName: pair.newer.plan.name, key: names,
          value: constraint.map { pair.newer.storedValue($0).displayText }.joined(separator: ", "), rule: "unique")
      }
      if errors.count == 1 { throw errors[0] }
      throw ManagedObjectError(
        .managedObjectConstraintMerge, "\(errors.count) objects break a uniqueness constraint", detailedErrors: errors)
    case .mergeByPropertyObjectTrump, .overwrite:
      for pair in pairs { if pair.older.context === self { delete(pair.older) } }
    case .mergeByPropertyStoreTrump, .rollback:
      for pair in pairs where pair.newer.context === self {
        if pair.newer.flags.contains(.inserted) { delete(pair.newer) } else { refresh(pair.newer, mergeChanges: false) }
      }
    }
    processPendingChanges()
    return true
  }
}

/// A value as a key: equal as ``StoredValue`` says.
struct StoredValueKey: Hashable {
  let value: StoredValue
  func hash(into hasher: inout Hasher) {
    switch value {
    case .string(let text), .uri(let text): for byte in text.utf8 { hasher.combine(byte) }
    case .integer(let number): hasher.combine(number)
    case .double(let number): hasher.combine(number.bitPattern)
    case .boolean(let flag): hasher.combine(flag)
    case .uuid(let uuid): hasher.combine(uuid)
    case .data(let data): hasher.combine(data)
    case .date(let date): hasher.combine(date.timeIntervalSinceReferenceDate.bitPattern)
    case .float(let number): hasher.combine(number.bitPattern)
    case .decimal(let number): hasher.combine(number)
    case .null, .toOne, .toMany: hasher.combine(0)
    }
  }
}
