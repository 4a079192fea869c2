import AtomicStoreSPI

extension FetchTree {
  /// Whether a closure is in it.
  var holdsBlock: Bool {
    if case .predicate(.block) = self { true } else { parts.contains { $0.holdsBlock } }
  }
}
