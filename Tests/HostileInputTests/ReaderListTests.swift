import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreMutation
import Testing

/// The article *Hostile input* is where a reader of it looks for what is bounded, so it must name all.
@Suite("The article Hostile input") struct ReaderListTests {
  /// The rows of its first table: the reader, and the name by which it is fuzzed.
  private static func rows() throws -> [(reader: String, fuzzed: String)] {
    let path = MutationTests.samples + "/../Sources/Graph/AtomicStoreKit/AtomicStoreKit.docc/HostileInput.md"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    let start = try #require(lines.firstIndex { $0.hasPrefix("| Reader |") })
    return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
      }
      return (cells[1], cells[2])
    }
  }

  @Test("names each registered store type, and no other one")
  func types() throws {
    let named = try Self.rows().map(\.reader).filter { $0.first?.isUppercase == true && !$0.contains(" ") }
    #expect(Set(named) == Set(StoreRegistry.builtIn.allTraits.map(\.storeType)))
  }

  @Test("names each reader that is fuzzed")
  func fuzzed() throws {
    let named = try Self.rows().map(\.fuzzed).filter { !$0.isEmpty }
    #expect(named.sorted() == HostileReader.allCases.map(\.rawValue).sorted())
  }

  @Test(
    "names what else reads files of others",
    arguments: ["tables that are imported", "JSON: patches, mapping files", "requests to browse", "plug-ins"])
  func others(_ reader: String) throws {
    #expect(try Self.rows().contains { $0.reader.hasPrefix(reader) })
  }
}
