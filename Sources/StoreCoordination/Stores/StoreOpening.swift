import AtomicStoreSPI

/// One opening of a store, step by step: what lies there, whose it is, metadata, model, nodes.
struct StoreOpening: Sendable {
  let registry: StoreRegistry
  let type: String?
  var path: String
  let configurationName: String?
  let options: StoreOptions
  let isReadOnly: Bool
  let model: ManagedObjectModel?
  /// False to look at a store whose relationships contradict each other.
  var checksInverses = true
  /// What the options are given for, where the store's being open for changes does not say.
  var use: StoreOption.Use?
}
