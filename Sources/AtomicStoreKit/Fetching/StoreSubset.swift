public import AtomicStoreSPI
public import StoreCoordination
import StorePredicates

/// A part of a store's objects: those of some entities that fulfil a predicate, and a rule for what they are related
/// to.
///
/// What is in it keeps its references and values, derived attributes too: those are worked out again when their object
/// is next saved.
public struct StoreSubset: StoreSubsetting {
  /// What becomes of a relationship that leads from an object of the subset to one that was not chosen.
  public typealias RelatedObjects = RelatedObjectsRule
  /// The entities whose objects are chosen, their sub-entities included.
  public var entityNames: [String]
  /// Which of their objects; nil for all.
  public var predicate: FetchPredicate?
  /// What becomes of relationships that lead out of the subset. By default they are an error.
  public var related: RelatedObjects
  /// Whether the predicate is checked against each entity with `FetchPredicate.check(against:)`, so that a comparison
  /// that is never true is an error instead of an empty subset.
  public var checksPredicate = false

  /// Creates a subset: the objects of these entities, all of them or those that fulfil a predicate.
  public init(entityNames: [String], predicate: FetchPredicate? = nil, related: RelatedObjects = .fail) {
    self.entityNames = entityNames
    self.predicate = predicate
    self.related = related
  }

  /// The store's nodes without what is not in the subset, and what was done to get there.
  ///
  /// Rows that go are marked as deleted, so handles into the store's own table stay good.
  ///
  /// - Throws: `ManagedObjectError` for an entity that the model does not have and for what the predicate cannot be
  ///   asked of; `PredicateFormatError` where ``checksPredicate`` asks for that; `PersistentStoreError` with
  ///   `.danglingReference` where a relationship leaves the subset and may not, with `.invalidValue` where the cut
  ///   would empty one that the model demands.
  public func nodes(of store: PersistentStore) throws -> (nodes: NodeTable, notes: [StoreSelection.Note]) {
    try related.restrict(store, to: try chosen(store))
  }

  /// The objects that are in it by themselves.
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
        .storeNotAdded, "the store is closed and cannot be asked", at: StoreLocation(file: store.path))
    }
    // The predicate is asked of what the store holds, not of what some context has in mind.
    let context = ManagedObjectContext(PersistentStoreCoordinator(viewing: store))
    return try entities.flatMap { entity in
      if checksPredicate { try predicate.check(against: entity) }
      return try context.fetchObjectIDs(FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate))
        .compactMap { store.node(for: $0) }
    }
  }
}
