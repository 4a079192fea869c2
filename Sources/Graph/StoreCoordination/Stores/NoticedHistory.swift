import AtomicStoreSPI

/// What a connection knows of the history of its store.
struct NoticedHistory: Sendable {
  /// The last transaction that was looked at; nil before the first.
  private(set) var token: HistoryToken?
  /// Whether ``token`` is known: the history is looked at from there on.
  private(set) var isNoticing = false
  /// Whether someone has asked what others save. Before that, nothing is noted that takes a request to the store.
  private(set) var isAsked = false
  /// This connection's own transactions after ``token``.
  private var ownTokens: [ClosedRange<Int64>] = []
  /// This connection's own saves that were not seen in the history yet, for a store that does not know their tokens.
  private var ownSaves: [OwnSave] = []

  /// Begins to look at the history after a token.
  mutating func begin(after token: HistoryToken?) {
    guard !isNoticing else { return }
    (self.token, isNoticing) = (token, true)
  }

  mutating func ask() { isAsked = true }

  /// Notes an own transaction.
  mutating func note(_ own: HistoryToken) {
    if own.number == (token?.number ?? 0) &+ 1 {
      token = own
    } else if let last = ownTokens.last, last.upperBound &+ 1 == own.number {
      ownTokens[ownTokens.count - 1] = last.lowerBound...own.number
    } else {
      // Programs that never look at the history do not collect saves without end.
      if ownTokens.count >= 100_000 { ownTokens.removeFirst(50_000) }
      ownTokens.append(own.number...own.number)
    }
  }

  /// Notes an own save of a store that does not know its token.
  mutating func note(_ own: OwnSave) {
    if ownSaves.count >= 1000 { ownSaves.removeFirst(500) }
    ownSaves.append(own)
  }

  /// Forgets where the history was to be looked at from: own saves are not known from there on.
  mutating func forget() { (token, isNoticing) = (nil, false) }

  /// Returns the transactions of others among those after a token that was ``token`` before.
  mutating func takeOthers(_ transactions: [HistoryTransaction]) -> [HistoryTransaction] {
    guard let newest = transactions.last?.token else { return [] }
    let others = transactions.filter { transaction in
      // It was noted meanwhile, as an own one.
      if let token, transaction.token <= token { return false }
      let number = transaction.token.number
      if ownTokens.contains(where: { $0.contains(number) }) { return false }
      let objects = Set(transaction.changes.map(\.object))
      guard !objects.isEmpty else { return false }
      guard let own = ownSaves.firstIndex(where: { $0.isSame(transaction, objects) }) else { return true }
      ownSaves.remove(at: own)
      return false
    }
    let now = max(token ?? newest, newest)
    token = now
    ownTokens.removeAll { $0.upperBound <= now.number }
    return others
  }

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
      // The database itself clears what leads to deleted rows; and what is set to the value that it has is not a
      // change.
      return transaction.token == token && (objects.isSuperset(of: changed) || changed.isSuperset(of: objects))
    }
  }
}
