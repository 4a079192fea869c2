import ContextScripts
import Foundation
import TestSupport
import Testing

/// A fixed share of what `Scripts/random-contexts` does for as long as is asked.
@Suite("Several contexts that change one store at random") struct RandomContextsTests {
  static var scripts: Int {
    ProcessInfo.processInfo.environment["ATOMICSTORE_RANDOM_SCRIPTS"].flatMap { Int($0) } ?? 100
  }

  @Test(
    "after every save both ends of all relationships agree in the file, and values are as the merge policy specifies",
    arguments: [("BinaryPropertyList", 1), ("BinaryPropertyList", 2), ("XML", 3), ("CSV", 4), ("SQLiteGraph", 5)])
  func agree(_ type: String, _ part: UInt64) {
    for index in (0..<Self.scripts).share(of: "random contexts of \(type)").map(UInt64.init) {
      let script = ContextScript(seed: part << 32 | index, type: type)
      guard script.failure() != nil else { continue }
      let short = script.shortened()
      Issue.record("\(type), seed \(part << 32 | index), \(short.setup): \(short.failure() ?? "it fails no more")")
      return
    }
  }
}
