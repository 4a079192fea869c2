public import AtomicStoreSPI
public import StoreCoordination
import StorePredicates

/// A part of a store: the objects of some entities that fulfil a predicate, and a rule for relationships to other
/// objects.
///
/// Its objects keep their references and values. Derived attributes that follow from what the subset omits, or from
/// damaged objects that were left out when the store was read, are computed again; times of the last change stay.
public struct StoreSubset: StoreSubsetting {
  /// What happens to a relationship from an object of the subset to one that was not selected.
  public typealias RelatedObjects = RelatedObjectsRule
  /// The entities whose objects are selected, their sub-entities included.
  public var entityNames: [String]
  /// The condition that objects must fulfil; nil for all.
  public var predicate: FetchPredicate?
  /// What happens to relationships that lead out of the subset. By default they are an error.
  public var related: RelatedObjects
  /// Whether the predicate is checked against each entity with `FetchPredicate.check(against:)`, so that a comparison
  /// that is never true is an error instead of an empty subset.
  public var checksPredicate = false

  /// Creates a subset of the objects of these entities: all of them, or those that fulfil a predicate.
  public init(entityNames: [String], predicate: FetchPredicate? = nil, related: RelatedObjects = .fail) {
    self.entityNames = entityNames
    self.predicate = predicate
    self.related = related
  }

  /// Returns the store's nodes without those outside the subset, and what was done to relationships.
  ///
  /// Rows outside the subset are marked as deleted, so handles into the store's own table stay valid.
  ///
  /// - Throws: `ManagedObjectError` for an entity that the model does not have, and if the predicate cannot be
  ///   evaluated; `PredicateFormatError` if ``checksPredicate`` finds a problem; `PersistentStoreError` with
  ///   `.danglingReference` if a relationship leaves the subset and may not, with `.invalidValue` if removing it would
  ///   empty one that is not optional.
  public func nodes(of store: PersistentStore) throws -> (nodes: NodeTable, notes: [StoreSelection.Note]) {
    var (nodes, notes) = try related.restrict(store, to: try chosen(store))
    try DerivedAttributes(nodes.model).update(&nodes, since: store.nodes, keeping: { _, _ in true })
    if store.isReadInPart { notes += try DerivedAttributes.recomputeDependent(in: &nodes) }
    return (nodes, notes)
  }

  /// The selected objects, without related ones.
  private func chosen(_ store: PersistentStore) throws -> [NodeHandle] {
    let nodes = store.nodes
    let names = store.model.entities.map(\.name)
    for name in entityNames where store.model.entity(named: name) == nil {
      throw ManagedObjectError(
        .invalidFetch, "the model has no entity '\(name)'\(Suggestion.text(for: name, among: names))", entityName: name)
    }
    let entities = entityNames.compactMap { store.model.entity(named: $0) }
    guard let predicate else {
      return entities.flatMap { $0.hierarchy }.filter { !$0.isAbstract }.flatMap { nodes.handles(of: $0.index) }
    }
    guard store.isOpen else {
      throw PersistentStoreError(
        .storeNotAdded, "the store is closed", at: StoreLocation(file: store.path))
    }
    // The predicate is evaluated on what the store holds, not on pending changes of a context.
    let context = ManagedObjectContext(PersistentStoreCoordinator(viewing: store))
    return try entities.flatMap { entity in
      if checksPredicate { try predicate.check(against: entity) }
      return try context.fetchObjectIDs(FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate))
        .compactMap { store.node(for: $0) }
    }
  }
}
