public import AtomicStoreSPI
import StoreCoordination

extension ModelDiagram {
  /// Makes the diagram of a model.
  ///
  /// - Throws: `.limitExceeded` for a model with too many entities or relationships for a picture.
  public init(_ model: ManagedObjectModel) throws(PersistentStoreError) {
    var builder = DiagramBuilder()
    try builder.add(model, limitedBy: nil)
    self = builder.diagram
  }

  /// Makes the diagram of two models in one, in which everything that differs is marked. Entities and properties with a
  /// renaming identifier are compared with what they were called before.
  ///
  /// - Throws: `.limitExceeded` for models with too many entities or relationships for a picture.
  public init(from old: ManagedObjectModel, to new: ManagedObjectModel) throws(PersistentStoreError) {
    var builder = DiagramBuilder()
    try builder.add(new, limitedBy: nil)
    try builder.compare(with: old, new: new)
    self = builder.diagram
  }
}
