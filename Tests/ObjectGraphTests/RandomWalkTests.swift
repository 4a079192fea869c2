import ContextScripts
import Foundation
import Testing

/// A fixed share of what `Scripts/random-walk` and `Scripts/random-contexts` do for as long as is asked.
@Suite("Random operations compared with plain values, and between types of stores") struct RandomWalkTests {
  static var scripts: Int {
    ProcessInfo.processInfo.environment["ATOMICSTORE_RANDOM_SCRIPTS"].flatMap { Int($0) } ?? 15
  }

  @Test(
    "one context, its children and its undo show what plain values say after each operation",
    arguments: ContextScript.types)
  func agrees(_ type: String) {
    for index in 0..<UInt64(Self.scripts) {
      let script = WalkScript(seed: index, type: type)
      guard script.failure() != nil else { continue }
      let short = script.shortened()
      Issue.record("\(type), seed \(index): \(short.failure() ?? "it fails no more")")
      return
    }
  }

  @Test("stores of all types answer a script of several contexts alike")
  func alike() {
    for index in 0..<UInt64(Self.scripts) * 2 {
      let script = ContextScript(seed: index)
      guard script.disagreement() != nil else { continue }
      let short = script.shortened { $0.disagreement() }
      Issue.record("seed \(index), \(short.setup): \(short.disagreement() ?? "it fails no more")")
      return
    }
  }
}
