import Foundation
import Testing

/// Keeps the documentation's table of claims true: every test that it names is in the sources.
@Suite("The table of claims") struct ClaimsTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let id: String
    let claim: String
    let proof: String
    /// Each test as its file and its name.
    var references: [(file: String, name: String)] {
      proof.components(separatedBy: "<br>").compactMap { part in
        let pieces = part.components(separatedBy: "` › \"")
        guard pieces.count == 2, pieces[0].hasPrefix("`"), pieces[1].hasSuffix("\"") else { return nil }
        return (String(pieces[0].dropFirst()), String(pieces[1].dropLast()))
      }
    }
    var testDescription: String { id }
  }

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static let rows: [Row] = {
    let article = root.appending(path: "Sources/Graph/AtomicStoreKit/AtomicStoreKit.docc/Claims.md")
    guard let text = try? String(contentsOf: article, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard line.hasPrefix("| "), cells.count == 3, cells[1] != "Claim" else { return nil }
      return Row(id: cells[0], claim: cells[1], proof: cells[2])
    }
  }()

  /// The names of the tests in each file that has some.
  static let tests: [String: Set<String>] = {
    var tests: [String: Set<String>] = [:]
    for folder in ["Tests", "SampleStores/iClass/Tests"] {
      let walk = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
      while let path = walk?.nextObject() as? String {
        guard path.hasSuffix(".swift"), !path.hasSuffix("ClaimsTableTests.swift") else { continue }
        let file = root.appending(path: folder).appending(path: path)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
        for part in text.components(separatedBy: "@Test(").dropFirst() {
          let literal = part.drop { $0.isWhitespace }
          guard literal.first == "\"" else { continue }
          tests[file.lastPathComponent, default: []].insert(String(literal.dropFirst().prefix { $0 != "\"" }))
        }
      }
    }
    return tests
  }()

  @Test("every row has a claim and names a test, or says why there is none", arguments: rows)
  func complete(_ row: Row) {
    #expect(!row.claim.isEmpty)
    if row.proof.hasPrefix("Not here: ") || row.proof.hasPrefix("Not a test: ") {
      #expect(row.proof.count > 30)
    } else {
      #expect(
        row.references.count == row.proof.components(separatedBy: "<br>").count, "what is not a reference: \(row.proof)"
      )
    }
  }

  @Test("every test that is named is in the named file", arguments: rows)
  func exists(_ row: Row) throws {
    for (file, name) in row.references {
      let names = try #require(Self.tests[file], "there are no tests in \(file)")
      #expect(names.contains(name), "\(file) has no test \"\(name)\"")
    }
  }

  @Test("all rows have different numbers, and none was lost in reading")
  func numbers() throws {
    let ids = Self.rows.map(\.id)
    #expect(ids.count > 170)
    #expect(Set(ids).count == ids.count)
    // Each group is numbered from 1 without a gap.
    for (group, members) in Dictionary(grouping: ids, by: { $0.prefix(1) }) {
      let numbers = members.compactMap { Int($0.dropFirst(2)) }.sorted()
      #expect(numbers == Array(1...members.count), "group \(group)")
    }
  }
}
