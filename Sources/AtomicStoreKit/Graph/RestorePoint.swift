import AtomicStoreSPI

/// The objects and changes of a context before a merge policy changes them. If the save fails after that, they are
/// restored.
struct RestorePoint {
  struct State {
    let object: ManagedObject
    let cache: StoreCache?
    let base: NodeVersion?
    let node: NodeHandle
    let flags: ManagedObject.Flags
    let edits: ContiguousArray<PropertyValue?>?
    let overlay: ContiguousArray<PropertyValue?>?
    let held: ContiguousArray<HeldObjects?>?
    let lastID: ManagedObjectID?
  }
  var states: [State] = []
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  var undo: UndoHistory.Contents?
}
