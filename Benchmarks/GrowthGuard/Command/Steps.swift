import CInstructionMark

/// The steps that were counted.
final class Steps {
  /// The number of objects of the steps that follow; 0 for those that do not count.
  var size = 0
  /// Size and name of each, with a tab between.
  private(set) var lines: [String] = []

  /// Counts the blocks of instructions that `body` executes.
  func count<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
    aim_mark()
    let result = try body()
    aim_mark()
    lines.append("\(size)\t\(name)\n")
    return result
  }
}
