import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

/// Files that real projects hold, beside the package; a clone has none, and the tests are then skipped.
enum Corpus {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../shared/corpus").standardizedFileURL.path
  static func files(_ kind: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder + "/" + kind)) ?? []).sorted()
      .map { kind + "/" + $0 }
  }
  static let contents = files("models").filter { $0.hasSuffix("contents") }
  static let currentVersions = files("models").filter { $0.hasSuffix(".xccurrentversion") }
  static let isPresent = !contents.isEmpty
}

/// Reads the very text that is given.
func read(_ text: String, name: String = "contents") throws -> ModelFile {
  let folder = FileManager.default.temporaryDirectory.appending(path: "models-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
  return try ModelFile.read(at: folder + "/" + name)
}

@Suite("Model files of real projects", .enabled(if: Corpus.isPresent)) struct CorpusTests {
  @Test("a model that is written reads back equal, and is valid", arguments: Corpus.contents)
  func roundTrip(_ name: String) throws {
    let file = try ModelFile.read(at: Corpus.folder + "/" + name)
    let bytes = try ModelFile.contents(of: file.description)
    let again = try read(String(decoding: bytes, as: UTF8.self))
    #expect(again.description.propertyList == file.description.propertyList)
    #expect(try ModelFile.contents(of: again.description) == bytes)
    let embedded = try ModelDescription(propertyList: file.description.propertyList)
    #expect(embedded.propertyList == file.description.propertyList)
    #expect(embedded == file.description)
    let original = try Data(contentsOf: URL(filePath: Corpus.folder + "/" + name))
    let o = String(decoding: original, as: UTF8.self)
    let same = o == String(decoding: bytes, as: UTF8.self)
    print("BYTES \(same) \(name)")
    try? Data(bytes).write(to: URL(filePath: "/tmp/wm/out/" + name.split(separator: "/")[1]))
    for w in file.warnings { print("WARN \(name) \(w)") }
    do { let m = try ManagedObjectModel(file.description); for w in m.warnings { print("MWARN \(name) \(w)") } }
    catch { for e in error.errors { print("MERR \(name) \(e)") } }
  }
}
