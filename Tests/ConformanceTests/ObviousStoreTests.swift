import AtomicStoreConformance
import AtomicStoreSPI
import Foundation
import Testing

enum ObviousChecks {
  static let stores: [any AtomicStore.Type] = [ObviousXMLStore.self, ObviousPropertyListStore.self, ObviousCSVStore.self]
  /// A worker process comes by here, as a suite's trait, before any test is run; and stays.
  static let all: [String: [ConformanceCheck]] = Dictionary(
    uniqueKeysWithValues: stores.map { ($0.storeType, Conformance.checks(for: $0)) })
}

@Suite("What the stores that one writes first fail", .enabled(if: !ObviousChecks.all.isEmpty)) struct ObviousStoreTests {

  /// By check, the stores that fail it: as the article has it.
  static let table: [(id: String, failedBy: [String])] = [
    ("VAL-01", []), ("VAL-03", []), ("VAL-13", ["ObviousXML", "ObviousCSV"]), ("VAL-17", ["ObviousCSV"]), ("VAL-18", []),
    ("VAL-19", []), ("VAL-20", ["ObviousCSV"]), ("VAL-21", ["ObviousXML"]), ("VAL-22", ["ObviousXML", "ObviousCSV"]),
    ("VAL-23", ["ObviousXML"]), ("VAL-28", ["ObviousCSV"]),
  ]

  @Test("each fails what the article says, and passes the rest of the list", arguments: table.indices)
  func fails(_ index: Int) throws {
    let (id, failedBy) = Self.table[index]
    for type in ObviousChecks.stores {
      let check = try #require(ObviousChecks.all[type.storeType]?.first { $0.id == id })
      let result = check.outcome()
      #expect(
        result.outcome.isFailure == failedBy.contains(type.storeType),
        "\(type.storeType) \(id): \(result.outcome) \(result.explanation?.actual ?? result.reason ?? "")")
    }
  }
}
