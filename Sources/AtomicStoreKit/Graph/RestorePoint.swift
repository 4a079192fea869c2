import AtomicStoreSPI

/// A context's objects and changes as they are before a merge policy changes them: should the save fail after that,
/// they are so again.
struct RestorePoint {
  struct State {
    let object: ManagedObject
    let home: StoreHome?
    let base: NodeVersion?
    let node: NodeHandle
    let flags: ManagedObject.Flags
    let edits: ContiguousArray<PropertyValue?>?
    let overlay: ContiguousArray<PropertyValue?>?
    let lastID: ManagedObjectID?
  }
  var states: [State] = []
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  var undo: UndoHistory.Contents?
}
