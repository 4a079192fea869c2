extension FetchPredicate {
  /// Returns the conjunction. Operands that are conjunctions are flattened.
  public static func && (one: FetchPredicate, other: FetchPredicate) -> FetchPredicate {
    switch (one, other) {
    case (.and(let first), .and(let second)): .and(first + second)
    case (.and(let first), _): .and(first + [other])
    case (_, .and(let second)): .and([one] + second)
    default: .and([one, other])
    }
  }

  /// Returns the disjunction. Operands that are disjunctions are flattened.
  public static func || (one: FetchPredicate, other: FetchPredicate) -> FetchPredicate {
    switch (one, other) {
    case (.or(let first), .or(let second)): .or(first + second)
    case (.or(let first), _): .or(first + [other])
    case (_, .or(let second)): .or([one] + second)
    default: .or([one, other])
    }
  }

  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }
}
