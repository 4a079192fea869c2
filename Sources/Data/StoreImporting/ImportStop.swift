/// Why a pass ended.
enum ImportStop: Error {
  /// A key of a hierarchy is a text, where integers were expected.
  case textKeys(root: Int)
  /// A record is bad.
  case problem
  /// There are more problems than are asked for.
  case enough
  /// Records that are sound one by one break rules together.
  case graph([GraphProblem])
}
