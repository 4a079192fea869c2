import AtomicStoreSPI

extension FetchTree {
  /// The number of columns in ``PredicateParser/marks`` for the tree: one for each comparison, and one for each key of
  /// a path.
  var markCount: Int {
    let own =
      switch self {
      case .predicate(.comparison): 1
      case .expression(.keyPath(let path)), .expression(.member(_, let path)): path.count
      default: 0
      }
    return parts.reduce(own) { $0 + $1.markCount }
  }
}
