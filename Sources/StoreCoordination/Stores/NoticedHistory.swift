import AtomicStoreSPI

/// What a connection knows of the history of its store.
struct NoticedHistory: Sendable {
  /// The last transaction that was looked at; nil before the first.
  var token: HistoryToken?
  var isNoticing = false
  /// This connection's own saves that were not seen in the history yet.
  var ownSaves: [OwnSave] = []

  struct OwnSave: Sendable {
    /// The last transaction after the save, which is this one unless another process saved at the same moment.
    var token: HistoryToken?
    var objects: Set<ObjectReference>
    /// Those that it deleted.
    var deleted: Set<ObjectReference>

    func isSame(_ transaction: HistoryTransaction, _ changed: Set<ObjectReference>) -> Bool {
      if objects == changed { return true }
      // No two saves delete the same objects.
      if !deleted.isEmpty, let token, transaction.token <= token, changed.isSuperset(of: objects),
        deleted == Set(transaction.changes.lazy.filter { $0.kind == .delete }.map(\.object))
      {
        return true
      }
      // The database itself clears what leads to deleted rows; and what is set to the value that it has is no change.
      return transaction.token == token && (objects.isSuperset(of: changed) || changed.isSuperset(of: objects))
    }
  }
}
