public import AtomicStoreSPI
public import FoundationEssentials

extension StoreConverter {
  /// The stages of a conversion, in order.
  public enum Stage: Sendable, Equatable {
    /// Reading the source.
    case loading
    /// Counting what the target cannot store.
    case forecasting
    /// Writing the result beside the target.
    case writing
    /// Reading the result back and comparing it with the source.
    case verifying
    /// Renaming the result to its final name.
    case publishing
  }

  /// The result of a conversion or a dry run.
  public struct Report: Sendable {
    /// The type of the source.
    public var sourceType: String
    /// The type of the result.
    public var targetType: String
    /// The number of objects by entity, in entity order, without entities that have none.
    public var counts: [(entity: String, count: Int)]
    /// The UUID of the result.
    public var identifier: UUID
    /// The losses that were allowed.
    public var losses: [Loss]
    /// What was omitted on request, such as objects outside a subset, other entities of a one-entity file, or
    /// references to objects outside.
    public var selections: [StoreSelection.Note]
    /// The size of the result in bytes; 0 for a dry run.
    public var bytesWritten: Int
    /// What the source's format reported when it was loaded, apart from losses.
    public var notes: [LoadNote] = []
    /// The objects that got other references; nil unless ``StoreConverter/renumbers``.
    public var renumbering: Renumbering?
    /// Whether the result was read back and compared. Only a database to which another process saved at the same time
    /// cannot be.
    public var isVerified = true
    /// Whether nothing was written because ``StoreConverter/isDryRun`` was set.
    public var isDryRun: Bool
  }
}
