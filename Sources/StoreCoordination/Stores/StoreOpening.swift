import AtomicStoreSPI

/// The steps of opening a store: content, format, metadata, model, nodes.
struct StoreOpening: Sendable {
  let registry: StoreRegistry
  let type: String?
  var path: String
  let configurationName: String?
  let options: StoreOptions
  var isReadOnly: Bool
  let model: ManagedObjectModel?
  /// A graph that the store most probably equals: columns that are the same are shared. Not kept with the open store.
  var similarNodes: NodeTable?
  /// Which properties are read, by name; nil, or a result of nil, for all. See
  /// ``PersistentStoreCoordinator/propertiesToRead``.
  var propertiesToRead: PropertyChoice?
  /// What the options are used for, if it does not follow from whether the store is open for changes.
  var use: StoreOption.Use?
}

/// Decides by a store's model which properties are read of it; nil for all.
package typealias PropertyChoice = @Sendable (ManagedObjectModel) -> Set<ScalarString>?
