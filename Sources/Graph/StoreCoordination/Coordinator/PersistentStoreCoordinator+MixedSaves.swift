extension PersistentStoreCoordinator {
  /// Open stores that were once saved together and no longer match. The coordinator only reports them: each store is
  /// consistent by itself, and only the user knows which versions belong together.
  public var mixedSaves: [MixedSave] { SaveSet.mixed(persistentStores) }
}
