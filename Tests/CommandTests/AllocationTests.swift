import Foundation
import TestSupport
import Testing

@Suite("Number of memory allocations") struct AllocationTests {
  /// By step, the most for each object: in a release build, and without the optimizer, which takes most of it away. A
  /// text or a box made for each value would add one at least.
  static let bounds: [String: (release: Double, debug: Double)] = [
    "load": (0.1, 12), "change one and save": (0.1, 9), "query": (0.1, 0.1), "fetch": (1.1, 1.1),
    "read a value": (0.1, 6.5),
    "insert and save": (12, 115),
  ]

  @Test("allocations per object do not increase: almost none for loads and saves, one for fetches")
  func guarded() throws {
    let text = try ChildProcess.output(of: try #require(Command.built("allocation-guard"), "it was not built"), [])
    let rows = text.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    let isDebug = rows.first?[1] == "debug"
    for row in rows.dropFirst() {
      let bound = try #require(Self.bounds[row[1]], "\(row)")
      let count = try #require(Double(row[2]))
      #expect(count <= (isDebug ? bound.debug : bound.release), "\(row[0]), \(row[1]): \(count)")
    }
    #expect(rows.count == 1 + 3 * Self.bounds.count)
  }
}
