import AtomicStoreSPI

extension ManagedObjectModel {
  /// The entity that a caller specified by its name.
  ///
  /// - Throws: `.invalidOption` for a name that the model does not have, with the nearest one.
  func entity(specified name: String) throws(PersistentStoreError) -> Entity {
    if let found = entity(named: name) { return found }
    throw PersistentStoreError(
      .invalidOption,
      "the model does not have an entity '\(name)'\(Suggestion.text(for: name, among: entities.map(\.name)))")
  }
}
