import AtomicStoreSPI

/// The steps of opening a store: content, format, metadata, model, nodes.
struct StoreOpening: Sendable {
  let registry: StoreRegistry
  let type: String?
  var path: String
  let configurationName: String?
  var options: StoreOptions
  var isReadOnly: Bool
  let model: ManagedObjectModel?
  /// A graph that the store most probably equals: columns that are the same are shared. Not kept with the open store.
  var similarNodes: NodeTable?
  /// What the caller reads of the store; nil for everything. See ``PersistentStoreCoordinator/readNeeds``.
  var readNeeds: ReadChoice?
  /// What the options are used for, if it does not follow from whether the store is open for changes.
  var use: StoreOption.Use?
}

/// Decides by a store's model what its caller reads of it.
package typealias ReadChoice = @Sendable (ManagedObjectModel) -> ReadNeeds

/// What a caller reads of a store.
package struct ReadNeeds: Sendable {
  /// The names of the properties, of whatever entity; nil for all.
  package var properties: Set<ScalarString>?
  /// The objects that damage must not concern; nil for all.
  package var objects: NeededObjects?

  package init(properties: Set<ScalarString>? = nil, objects: NeededObjects? = nil) {
    self.properties = properties
    self.objects = objects
  }
}
