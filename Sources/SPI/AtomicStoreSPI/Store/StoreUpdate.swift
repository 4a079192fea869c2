/// New values for attributes of all objects of a request, or their deletion: what a batch update or a batch deletion
/// asks a store for.
public struct StoreUpdate: Sendable {
  /// The objects, without order, limit and offset.
  public var rows: StoreFetch
  /// The slots that are set, the same in all entities of ``rows``, and what each is set to: a constant of the
  /// attribute's type, or an expression over the object as it was before.
  public var values: [(slot: Int, value: FetchExpression)]
  /// What no changed object of an entity may fulfil before the change, by the number of the entity: if one does, the
  /// store does nothing, and answers nil. The kit then finds out what is wrong with it.
  public var refused: [(entity: Int, predicate: FetchPredicate)]
  /// Who saves, for the history.
  public var author: String?
  /// The name of the context that saves, for the history.
  public var contextName: String?

  /// Creates a change.
  package init(
    rows: StoreFetch, values: [(slot: Int, value: FetchExpression)],
    refused: [(entity: Int, predicate: FetchPredicate)],
    author: String?, contextName: String?
  ) {
    self.rows = rows
    self.values = values
    self.refused = refused
    self.author = author
    self.contextName = contextName
  }
}
