import AtomicStoreSPI
import FoundationEssentials

/// The state of a coordinator's stores at one moment. A context that is pinned to it reads that state, whatever others
/// save: see ``ManagedObjectContext/setQueryGenerationFrom(_:)``.
///
/// It keeps the values of that moment in memory.
public struct QueryGenerationToken: Sendable, Equatable {
  /// Nil for ``current``.
  let versions: [UUID: NodeVersion]?

  /// The state of the stores when a context is pinned to it.
  public static let current = QueryGenerationToken(versions: nil)

  func version(of store: UUID) -> NodeVersion? { versions?[store] }

  public static func == (one: QueryGenerationToken, other: QueryGenerationToken) -> Bool {
    one.versions?.mapValues(\.serial) == other.versions?.mapValues(\.serial)
  }
}
