/// An object as a store of rows returns it.
public struct StoreRow: Sendable {
  /// The number of the concrete entity.
  public var entity: Int
  /// Its reference.
  public var reference: ReferenceObject
  /// A number that every save of the object changes. It never returns to an earlier value.
  public var version: Int64
  /// Attributes and to-ones, by slot; a missing one is null. A to-many that is missing is asked for when it is needed.
  public var values: SlotValues

  /// Creates a row.
  public init(entity: Int, reference: ReferenceObject, version: Int64, values: SlotValues) {
    self.entity = entity
    self.reference = reference
    self.version = version
    self.values = values
  }
}
