import AtomicStoreConformance
import Foundation
import Testing

/// Holds the article on clauses and checks to the checks that are there.
@Suite("Clauses and checks") struct ClausesTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var id: String
    var text: String
    var cell: String
    var testDescription: String { id }

    /// The checks that it names, those that are left out aside.
    var checks: Set<String> { Set(ClausesTests.ids(in: cell.components(separatedBy: "(left out: ")[0])) }
    var leftOut: Set<String> {
      Set(cell.components(separatedBy: "(left out: ").dropFirst().first.map { ClausesTests.ids(in: $0) } ?? [])
    }
    /// Each test as its file and its name.
    var tests: [(file: String, name: String)] {
      cell.components(separatedBy: "<br>").compactMap { part in
        let pieces = part.components(separatedBy: "` › \"")
        guard pieces.count == 2, pieces[0].hasPrefix("`"), pieces[1].hasSuffix("\"") else { return nil }
        return (String(pieces[0].dropFirst()), String(pieces[1].dropLast()))
      }
    }
  }

  static func ids(in text: String) -> [String] {
    text.matches(of: /\b[A-Z]{3}-[0-9]{2}\b/).map { String($0.output) }
  }

  static let rows: [Row] = {
    guard
      let text = try? DocumentationTests.text("Sources/Graph/AtomicStoreKit/AtomicStoreKit.docc/ClausesAndChecks.md")
    else { return [] }
    return text.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard line.hasPrefix("| "), cells.count == 3, !cells[0].isEmpty else { return nil }
      return Row(id: cells[0], text: cells[1], cell: cells[2])
    }
  }()
  static let clauses = rows.filter { $0.id.hasPrefix("C") }
  static let rules = rows.filter { $0.id.hasPrefix("HAR-") }

  static let checks = Set(Conformance.catalogue.map(\.id))
  static let leftOut = Dictionary(uniqueKeysWithValues: Conformance.leftOut.map { ($0.id, $0.reason) })

  @Test("all 41 clauses and all 14 rules are listed, once")
  func complete() {
    #expect(Self.clauses.map(\.id) == (1...41).map { ($0 < 10 ? "C0" : "C") + "\($0)" })
    #expect(Self.rules.map(\.id) == (1...14).map { ($0 < 10 ? "HAR-0" : "HAR-") + "\($0)" })
  }

  @Test("every clause names existing checks, or says why there is none", arguments: clauses)
  func clause(_ row: Row) {
    #expect(row.text.count > 15)
    #expect(row.checks.isSubset(of: Self.checks), "not there: \(row.checks.subtracting(Self.checks))")
    for id in row.leftOut {
      #expect(Self.leftOut[id].map { $0.count > 30 } == true, "\(id) is not left out, or without a reason")
    }
    if row.checks.isEmpty { #expect(row.cell.hasPrefix("No check: ") && row.cell.count > 60) }
  }

  @Test("every rule of the harness names existing tests", arguments: rules)
  func rule(_ row: Row) throws {
    #expect(row.tests.count == row.cell.components(separatedBy: "<br>").count, "what is not a test: \(row.cell)")
    for (file, name) in row.tests {
      let folder = ["ConformanceTests", "CommandTests", "AtomicStoreKitTests", "StoreCoordinationTests"].first {
        folder in
        FileManager.default.fileExists(
          atPath: DocumentationTests.root.appendingPathComponent("Tests/\(folder)/\(file)").path)
      }
      let text = try DocumentationTests.text("Tests/\(try #require(folder, "no \(file)"))/\(file)")
      #expect(text.contains("\"\(name)\""), "\(file) has no test \"\(name)\"")
    }
  }

  /// Where the catalogue that the checks were made from is beside the package, as it does for those who keep it.
  static var catalogue: [String: Any]? {
    let file = DocumentationTests.root.deletingLastPathComponent().appendingPathComponent(
      "shared/conformance/catalogue.json")
    return (try? Data(contentsOf: file)).flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
  }

  @Test("the clauses are those of the catalogue, with the checks that it gives them", .enabled(if: catalogue != nil))
  func sameClauses() throws {
    let clauses = try #require(Self.catalogue?["clauses"] as? [[String: Any]])
    #expect(clauses.compactMap { $0["id"] as? String } == Self.clauses.map(\.id))
    for (clause, row) in zip(clauses, Self.clauses) {
      let wanted = Set(try #require(clause["checks"] as? [String]))
      #expect(
        wanted.isSubset(of: row.checks.union(row.leftOut)),
        "\(row.id) lacks \(wanted.subtracting(row.checks.union(row.leftOut)))")
    }
  }

  @Test(
    "each of its checks is here, left out with a reason, or a rule of the harness with a test",
    .enabled(if: catalogue != nil))
  func everyID() throws {
    let groups = try #require(Self.catalogue?["groups"] as? [[String: Any]])
    let ids = groups.flatMap { ($0["checks"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String } }
    #expect(ids.count == 281 && Set(ids).count == 281)
    let known = Self.checks.union(Self.leftOut.keys).union(Self.rules.map(\.id))
    #expect(ids.filter { !known.contains($0) } == [])
    #expect(Self.leftOut.keys.filter { !ids.contains($0) } == [], "left out, and never asked for")
  }
}
