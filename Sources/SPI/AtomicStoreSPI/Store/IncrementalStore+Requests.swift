/// What a store is asked for.
public struct StoreFetch: Sendable {
  /// The numbers of the concrete entities whose objects are wanted, ascending.
  public var entities: [Int]
  /// The number of the entity that the predicate and the sort keys are about: ``entities`` are it and its sub-entities.
  public var entity: Int
  /// The condition; nil for all objects.
  public var predicate: FetchPredicate?
  /// The order. Objects that are equal in it, or all without keys, are in the order of entity number and reference.
  public var sortKeys: [SortKey]
  /// The maximum number of rows; nil for all.
  public var limit: Int?
  /// How many rows are skipped at the beginning.
  public var offset: Int

  /// Creates a request.
  package init(
    entity: Int, entities: [Int], predicate: FetchPredicate? = nil, sortKeys: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0
  ) {
    self.entity = entity
    self.entities = entities
    self.predicate = predicate
    self.sortKeys = sortKeys
    self.limit = limit
    self.offset = offset
  }
}

/// How much of a request a store answered itself.
public enum FetchAnswer: Sendable, Hashable {
  /// All of it: condition, order, limit and offset.
  case exact
  /// The rows include all that fulfil the condition, and others. The kit applies condition, order, limit and offset.
  /// The text says what the store left to it.
  case superset(String)
  /// All rows of the entities: the store understood nothing of the condition. The text says why.
  case inMemory(String)
}

/// The rows of a fetch, and how they were found.
public struct StoreFetchResult: Sendable {
  /// How much of the request the rows answer.
  public var answer: FetchAnswer
  /// The rows, in order.
  public var rows: [StoreRow]
  /// Creates a result.
  public init(_ answer: FetchAnswer, rows: [StoreRow]) {
    self.answer = answer
    self.rows = rows
  }
}

/// What came of a save.
public enum StoreSaveAnswer: Sendable {
  /// Everything was saved. The versions of new and changed rows, and of owners of changed to-manys.
  case saved(versions: [(object: ObjectReference, version: Int64)])
  /// Nothing was saved: another process changed rows that the changes are based on, or holds a unique value. The caller
  /// reads them again, settles conflicts and repeats the save.
  case overtaken
}
