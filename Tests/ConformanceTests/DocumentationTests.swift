import AtomicStoreConformance
import Foundation
import Testing

@Suite("The documentation matches the code") struct DocumentationTests {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// Every Swift source below a folder, as lines without their margins.
  static func lines(below folder: String) throws -> [[String]] {
    let files = try #require(
      FileManager.default.enumerator(at: root.appendingPathComponent(folder), includingPropertiesForKeys: nil))
    var all: [[String]] = []
    for case let file as URL in files where file.pathExtension == "swift" && !file.path.contains("/.build") {
      let text = try String(contentsOf: file, encoding: .utf8)
      all.append(text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    }
    return all
  }

  @Test(
    "each snippet of an article is in the samples that are built, and each of the samples is quoted",
    arguments: [
      (
        "SPI/AtomicStoreSPI/AtomicStoreSPI.docc/WritingAFormat.md",
        ["SampleStores/JSONLines", "SampleStores/TableStore", "SampleStores/Kinds/Binary"], 10
      ),
      ("SPI/AtomicStoreSPI/AtomicStoreSPI.docc/WritingADatabase.md", ["SampleStores/Kinds/Database"], 4),
      (
        "Graph/AtomicStoreKit/AtomicStoreKit.docc/ObjectGraph.md",
        ["SampleStores/Departments", "SampleStores/FriendInfo", "SampleStores/iClass"], 9
      ),
      ("Graph/AtomicStoreKit/AtomicStoreKit.docc/FromCoreDataOnAMac.md", ["SampleStores/Contacts"], 8),
    ])
  func snippets(_ name: String, _ folders: [String], _ least: Int) throws {
    let article = try Self.text("Sources/" + name)
    let samples = try folders.map { try Self.lines(below: $0) }
    let snippets = article.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
    #expect(snippets.count >= least)
    var isQuoted = [Bool](repeating: false, count: samples.count)
    for snippet in snippets {
      let wanted = snippet.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      let found = samples.firstIndex { sources in
        sources.contains { lines in
          lines.indices.contains { start in
            start + wanted.count <= lines.count && Array(lines[start..<start + wanted.count]) == wanted
          }
        }
      }
      if let found { isQuoted[found] = true } else { Issue.record("in none of the samples: \(snippet)") }
    }
    #expect(isQuoted.allSatisfy { $0 }, "not quoted: \(zip(folders, isQuoted).filter { !$1 }.map(\.0))")
  }

  @Test("each check that the list of ways to lose data names exists, and catches what it should")
  func waysToLoseData() throws {
    let article = try Self.text("Sources/SPI/AtomicStoreSPI/AtomicStoreSPI.docc/WaysToLoseData.md")
    let checks = Dictionary(uniqueKeysWithValues: Conformance.catalogue.map { ($0.id, $0) })
    let rows = article.split(separator: "\n").filter { $0.hasPrefix("| `") }
    #expect(rows.count > 10)
    for row in rows {
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      let fault = cells[0].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
      for id in cells[2].split(separator: ",").map({ $0.trimmingCharacters(in: .whitespaces) }) {
        let check = try #require(checks[id], "\(row)")
        #expect(check.catches.map(\.name).contains(fault), "\(row)")
      }
    }
  }

  @Test("every rule of the catalogue is unique: none is listed twice, none is both listed and left out")
  func catalogue() {
    let ids = Conformance.catalogue.map(\.id)
    #expect(Set(ids).count == ids.count)
    #expect(Set(ids).isDisjoint(with: Conformance.leftOut.map(\.id)))
    for check in Conformance.catalogue {
      #expect(!check.title.isEmpty && !check.source.isEmpty && !check.procedure.isEmpty)
      #expect(!check.catches.isEmpty, "\(check.id) names no fault")
    }
  }
}
