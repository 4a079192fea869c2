import AtomicStoreSPI

extension ManagedObject {
  /// What a fetched property finds, found once: until the object is refreshed.
  final func fetchedObjects(_ p: Int) throws(ManagedObjectError) -> [ManagedObject] {
    if let found = extras?.fetched[p] { return found }
    return []
  }
}

extension ManagedObjectContext {
  func computeDerived(_ object: ManagedObject) throws(ManagedObjectError) {}
}
