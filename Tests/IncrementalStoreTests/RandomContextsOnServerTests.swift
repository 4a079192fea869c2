import ContextScripts
import Foundation
import Testing

/// A fixed share of what `Scripts/random-contexts COUNT SEED PostgreSQL` does for as long as is asked.
@Suite(.enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server"))
struct RandomContextsOnServerTests {
  @Test("several contexts that change one database at random leave both ends of all relationships in agreement")
  func agree() {
    for seed in 0..<UInt64(40) {
      let script = ContextScript(seed: 6 << 32 | seed, type: "PostgreSQL", server: TestServer.url)
      guard script.failure() != nil else { continue }
      let short = script.shortened()
      Issue.record("seed \(6 << 32 | seed), \(short.setup.policies): \(short.failure() ?? "it fails no more")")
      return
    }
  }
}
