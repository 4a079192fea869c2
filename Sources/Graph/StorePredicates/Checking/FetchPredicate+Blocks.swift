import AtomicStoreSPI

extension FetchTree {
  /// Whether the predicate contains a closure.
  var holdsBlock: Bool {
    if case .predicate(.block) = self { true } else { parts.contains { $0.holdsBlock } }
  }
}
