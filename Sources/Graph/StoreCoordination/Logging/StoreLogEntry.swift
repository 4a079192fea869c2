/// One line for a log: what a coordinator, or a context on it, did.
public struct StoreLogEntry: Sendable {
  /// How important an entry is. The names are those of most logging systems.
  public enum Level: String, Sendable, Hashable, CaseIterable {
    /// What happens all the time, such as saves.
    case debug
    /// What happens now and then, such as opening a store.
    case info
    /// What a developer should look at: conflicts that were resolved, changes by other processes.
    case notice
    /// What costs more than it should: slow fetches.
    case warning
    /// What failed.
    case error
  }
  /// How important it is.
  public var level: Level
  /// What happened, in a few words that are the same each time: `saved`, `slow fetch`.
  public var message: String
  /// The details by name. They contain paths, entity names, counts, predicates and error messages, but no values of
  /// objects beyond those.
  public var metadata: [String: String]
}
