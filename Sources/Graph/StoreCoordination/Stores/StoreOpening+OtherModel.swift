import AtomicStoreSPI

extension StoreOpening {
  /// Says of a specified model that it is not the store's at all, with the entities that only one of them has.
  ///
  /// A store without version hashes, or with hashes that are ignored, is read until something does not fit. The first
  /// object of an unknown entity says little about what is wrong.
  ///
  /// - Parameter error: What the format threw when it loaded the store.
  /// - Returns: The error with the entities; the same error if the store has no entity that the model does not have.
  func naming(
    entitiesOf format: inout any AtomicStore, _ source: StoreSource, in error: PersistentStoreError
  ) -> PersistentStoreError {
    guard error.code == .modelMismatch, let model, let inferred = try? format.inferModel(from: source) else {
      return error
    }
    let stored = inferred.concreteEntityNames
    let known = model.entities.map(\.name)
    let onlyStored = Self.names(stored, without: known)
    guard !onlyStored.isEmpty else { return error }
    let onlyKnown = Self.names(known, without: stored)
    let names = "only in the store: \(Self.list(onlyStored))"
    var result = error
    if onlyKnown.isEmpty {
      result.message = "the model does not have all entities of the store; \(names): " + error.message
    } else if onlyStored.count < stored.count {
      result.message =
        "this is not the store's model; \(names); only in the model: \(Self.list(onlyKnown)): " + error.message
    } else {
      // They have no entity in common: what reads the rest would read nothing.
      return PersistentStoreError(
        error.code, "this is not the store's model; \(names); only in the model: \(Self.list(onlyKnown))",
        at: StoreLocation(file: error.location.file ?? path), underlying: error.underlying)
    }
    return result
  }

  /// Names in XML stores are in upper case where nothing else is known.
  private static func names(_ names: [String], without others: [String]) -> [String] {
    let others = Set(others.map { $0.uppercased() })
    return names.filter { !others.contains($0.uppercased()) }.map { ScalarString($0) }.sorted().map(\.string)
  }

  private static func list(_ names: [String]) -> String {
    names.prefix(20).joined(separator: ", ") + (names.count > 20 ? " and \(names.count - 20) more" : "")
  }
}

extension ModelDescription {
  /// The names of all entities that can have objects.
  fileprivate var concreteEntityNames: [String] {
    var result: [String] = []
    var rest = entities
    while let entity = rest.popLast() {
      if !entity.isAbstract { result.append(entity.name) }
      rest += entity.subentities
    }
    return result
  }
}
