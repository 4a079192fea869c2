import AtomicStoreConformance
import AtomicStoreSPI
import Foundation
import Testing

@Suite("What naive stores fail", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason))
struct ObviousStoreTests {
  static let stores: [any AtomicStore.Type] = [
    ObviousXMLStore.self, ObviousPropertyListStore.self, ObviousCSVStore.self,
  ]

  /// By check, the stores that fail it: as the article has it.
  static let table: [(id: String, failedBy: [String])] = [
    ("VAL-01", []), ("VAL-03", []), ("VAL-13", ["ObviousXML", "ObviousCSV"]), ("VAL-17", ["ObviousCSV"]),
    ("VAL-18", []),
    ("VAL-19", []), ("VAL-20", ["ObviousCSV"]), ("VAL-21", ["ObviousXML"]), ("VAL-22", ["ObviousXML", "ObviousCSV"]),
    ("VAL-23", ["ObviousXML"]), ("VAL-28", ["ObviousCSV"]),
  ]

  /// The checks of the table for each store. Looked up for the arguments, as worker processes come by them: what a test
  /// looks up when it runs, they would come by only after all tests before it.
  static let cases: [ConformanceCheck] = stores.flatMap { type in
    Conformance.checks(for: type).filter { check in table.contains { $0.id == check.id } }
  }

  @Test("each fails what the article says, and passes the other checks", arguments: cases)
  func fails(_ check: ConformanceCheck) throws {
    let type = check.storeType
    let row = try #require(Self.table.first { $0.id == check.id })
    let result = check.outcome()
    let wanted: ConformanceResult.Outcome = row.failedBy.contains(type) ? .failed : .passed
    #expect(result.outcome == wanted, "\(type) \(check.id): \(result.explanation?.actual ?? result.reason ?? "")")
  }
}
