extension PersistentStoreCoordinator {
  /// Open stores that were saved together once and are not in step any more. Nothing is done about it: each store is
  /// whole by itself, and only their owner knows what belongs together.
  public var mixedSaves: [MixedSave] { SaveSet.mixed(persistentStores) }
}
