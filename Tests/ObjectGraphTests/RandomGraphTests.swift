import AtomicStoreKit
import Foundation
import Testing

@Suite("Random edits compared with a simple model") struct RandomGraphTests {
  static var scripts: Int { ProcessInfo.processInfo.environment["ATOMICSTORE_RANDOM_SCRIPTS"].flatMap { Int($0) } ?? 4 }
  static var seed: UInt64 { ProcessInfo.processInfo.environment["ATOMICSTORE_RANDOM_SEED"].flatMap { UInt64($0) } ?? 1 }

  @Test("after any sequence of operations a graph equals the simple model", arguments: Stack.types)
  func agrees(_ type: String) throws {
    var failures = 0
    for index in 0..<RandomGraphTests.scripts where failures < 3 {
      let seed = RandomGraphTests.seed &+ UInt64(index)
      var random = GraphScript.Random(state: type.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
      let steps = (0..<50).map { _ in random.next() }
      guard GraphScript.failure(type, seed, steps) != nil else { continue }
      let shortest = GraphScript.shortened(type, seed, steps)
      let failure = GraphScript.failure(type, seed, shortest)
      Issue.record(
        "\(type), ATOMICSTORE_RANDOM_SEED=\(seed), \(shortest.count) steps: \(failure ?? "it failed, and does no more")"
      )
      failures += 1
    }
  }

  @Test("a failing script is shortened to the necessary steps")
  func shortens() {
    let found = GraphScript.shortened(Array(0..<50)) { $0.contains(7) && $0.contains(31) && $0.contains(32) }
    #expect(found == [7, 31, 32])
  }
}
