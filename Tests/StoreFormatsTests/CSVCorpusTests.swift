import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// Files that other projects test their CSV readers with.
@Suite("Real CSV files") struct CSVCorpusTests {
  static let corpus = XMLSupport.corpus.deletingLastPathComponent().appendingPathComponent("csv").path
  static let files: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: corpus)) ?? []).filter {
    $0.hasSuffix(".csv")
  }
  .sorted()
  /// What is wrong with those that are not CSV as RFC 4180 has it, and where.
  static let refused: [(name: String, line: Int)] = [
    ("BurntSushi__rust-csv__examples~data~strange.csv", 1),
    ("BurntSushi__rust-csv__examples~data~uspop-latin1.csv", 4),
    ("adaltas__node-csv__demo~issues-cjs~lib~327.cws.csv", 2),
    ("adaltas__node-csv__demo~issues-cjs~lib~327.stringifier.csv", 2),
    ("adaltas__node-csv__demo~issues-cjs~lib~399.csv", 1),
    ("adaltas__node-csv__demo~issues-esm~lib~365-utf16le-bom-windows.csv", 1),
    ("adaltas__node-csv__demo~issues-esm~lib~411.csv", 3),
    ("max-mapper__csv-spectrum__csvs~location_coordinates.csv", 2),
    ("mholt__PapaParse__tests~verylong-sample.csv", 500),
  ]
  /// Without one whose JSON reports another file, and one whose carriage returns its repository lost.
  static let spectrumFiles = files.filter {
    $0.hasPrefix("max-mapper__csv-spectrum__csvs~") && !$0.contains("location_coordinates")
      && !$0.contains("newlines_crlf")
  }

  @Test(
    "a file that is not CSV is refused with its line", .enabled(if: !files.isEmpty, "needs ../shared/corpus"),
    arguments: refused)
  func refuses(_ name: String, _ line: Int) throws {
    let error = try OpenCSV.failure(Self.corpus + "/" + name)
    #expect(error.location.file == Self.corpus + "/" + name)
    #expect(error.location.line == line || error.code == .foreignFormat, "\(error)")
  }

  @Test(
    "any file is read, or refused with its name; what is read is written and read the same",
    .enabled(if: !files.isEmpty, "needs ../shared/corpus"), arguments: files)
  func roundTrip(_ name: String) throws {
    let folder = try CSVFolder()
    let path = try folder.write([UInt8](try Data(contentsOf: URL(filePath: Self.corpus + "/" + name))), to: "Row.csv")
    let open: OpenCSV
    do {
      open = try OpenCSV(path)
    } catch {
      let error = try #require(error as? PersistentStoreError)
      #expect(error.location.file == path, "\(error)")
      return
    }
    let before = XMLSupport.exact(open.store.nodes)
    // A change and its undoing: the file is written twice.
    let first = try #require(open.references.first)
    let slot = try #require(open.entity.slots.first)
    let value = try open.value(slot.name, of: first)
    try open.set(slot.name, .string("changed"), of: first)
    try open.set(slot.name, value, of: first)
    let again = try OpenCSV(path, isReadOnly: true)
    #expect(XMLSupport.exact(again.store.nodes) == before)
    #expect(again.references == open.references)
  }

  @Test(
    "the files of csv-spectrum hold what their JSON says",
    .enabled(if: !spectrumFiles.isEmpty, "needs ../shared/corpus"),
    arguments: spectrumFiles)
  func holds(_ name: String) throws {
    let json = name.replacingOccurrences(of: "__csvs~", with: "__json~").replacingOccurrences(of: ".csv", with: ".json")
    let text = try Data(contentsOf: URL(filePath: Self.corpus + "/" + json))
    let expected = try #require(try JSONSerialization.jsonObject(with: text) as? [[String: String]])
    let open = try OpenCSV(Self.corpus + "/" + name, isReadOnly: true)
    #expect(open.references.count == expected.count)
    for (row, object) in expected.enumerated() {
      for (key, text) in object {
        #expect(try open.value(key, of: .integer(Int64(row + 1))) == .string(text), "\(name), row \(row + 1), \(key)")
      }
    }
  }
}
