import CInstructionMark

/// The steps that were counted.
final class Steps {
  /// The number of objects of the steps that follow; 0 for those that do not count.
  var size = 0
  /// Size and name of each, with a tab between.
  private(set) var lines: [String] = []

  /// Counts the instructions of `body`.
  func count<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
    aim_begin()
    let result = try body()
    aim_end()
    lines.append("\(size)\t\(name)\n")
    return result
  }
}
