/// Random operations of one context, its children and its undo, compared with plain values after each.
public struct WalkScript: Sendable {
  public let type: String
  let seed: UInt64
  /// Each operation draws from its own generator, so that a script without some of its steps is a script as well.
  public var steps: [UInt64]

  /// The script of that seed.
  public init(seed: UInt64, type: String, length: Int = 50) {
    self.type = type
    self.seed = seed
    var dice = Dice(seed)
    steps = (0..<length).map { _ in dice.next() }
  }

  /// What went wrong, with what was done; nil where all was right.
  public func failure() -> String? {
    do {
      let run = try WalkRun(type)
      do { try run.carryOut(steps) } catch { return "\(error)\n" + run.log.joined(separator: "\n") }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// The shortest script found that fails.
  public func shortened() -> WalkScript {
    var best = self
    best.steps = shortest(steps) { steps in
      var fewer = self
      fewer.steps = steps
      return fewer.failure() != nil
    }
    return best
  }
}

/// Drops steps, many at once and then fewer, as long as a script goes on failing.
func shortest<Step>(_ steps: [Step], _ fails: ([Step]) -> Bool) -> [Step] {
  var best = steps
  var size = max(1, steps.count / 2)
  while true {
    var start = 0
    var isShorter = false
    while start < best.count {
      var fewer = best
      fewer.removeSubrange(start..<min(start + size, best.count))
      if fails(fewer) {
        best = fewer
        isShorter = true
      } else {
        start += size
      }
    }
    if size == 1, !isShorter { return best }
    size = max(1, size / 2)
  }
}
