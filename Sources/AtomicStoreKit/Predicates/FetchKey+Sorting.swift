public import AtomicStoreSPI

extension FetchKey {
  /// Sorts by the values of this key, the smallest first.
  public var ascending: SortKey { SortKey(keyPathText) }
  /// Sorts by the values of this key, the largest first.
  public var descending: SortKey { SortKey(keyPathText, isAscending: false) }

  /// The key path as text; for another expression, its text, which a fetch refuses.
  public var keyPathText: String {
    if case .keyPath(let keys) = expression { return keys.joined(separator: ".") }
    return "\(expression)"
  }
}
