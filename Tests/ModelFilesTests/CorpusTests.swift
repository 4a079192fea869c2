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
  static let compiled = files("mom")
  static let old = files("oldmodels").filter { !$0.hasSuffix("layout") }
  static let isPresent = !contents.isEmpty
}

@Suite("Model files of real projects", .enabled(if: Corpus.isPresent)) struct CorpusTests {
  /// Models whose inverses contradict each other: `Image.artist` names `Artist.thumbnail`, which names another.
  static let contradictory = "ArtsyPartner.xcdatamodeld"

  @Test("a model is read, and written it reads back equal", arguments: Corpus.contents)
  func roundTrip(_ name: String) throws {
    let file = try ModelFile.read(at: Corpus.folder + "/" + name)
    #expect(!file.description.entities.isEmpty || !file.description.composites.isEmpty || name.contains("empty"))
    let bytes = try ModelFile.contents(of: file.description)
    let again = try readModel(String(decoding: bytes, as: UTF8.self))
    #expect(again.description.propertyList == file.description.propertyList)
    #expect(try ModelFile.contents(of: again.description) == bytes)
    let embedded = try ModelDescription(propertyList: file.description.propertyList)
    #expect(embedded == file.description)
  }

  @Test("a model is sound, or its error names the relationships that contradict each other", arguments: Corpus.contents)
  func isSound(_ name: String) throws {
    let description = try ModelFile.read(at: Corpus.folder + "/" + name).description
    let errors = description.problems().filter { $0.severity == .error }
    if name.contains(Self.contradictory) {
      #expect(errors.allSatisfy { $0.code == .inverseMismatch && $0.propertyName == "artist" }, "\(errors)")
    } else {
      #expect(errors.isEmpty)
      #expect(try ManagedObjectModel(description).differences(from: description, includingEverything: true).isEmpty)
    }
  }

  /// What a file says, spelled one way: no layout, no empty `userInfo`, whole numbers without a point.
  private static func normalized(_ text: String) -> String {
    text.replacing(#/\n */#, with: "").replacing("<userInfo/>", with: "")
      .replacing(#/"><\/(attribute|entity|relationship)>/#, with: "\"/>").replacing(#/\.0"/#, with: "\"")
  }

  @Test("what is written differs from Xcode's bytes only in the spelling of numbers and in empty elements")
  func bytes() throws {
    var equal = 0
    for name in Corpus.contents {
      let path = Corpus.folder + "/" + name
      let original = try String(contentsOfFile: path, encoding: .utf8)
      let written = String(decoding: try ModelFile.contents(of: ModelFile.read(at: path).description), as: UTF8.self)
      if original == written { equal += 1 }
      let isSame = Self.normalized(original) == Self.normalized(written)
      #expect(isSame, "\(name)")
    }
    // 120 of the 147 files of the first corpus; no fewer may come back to the byte.
    #expect(equal * 10 >= Corpus.contents.count * 8, "\(equal) of \(Corpus.contents.count)")
  }

  @Test("a file that names the current version is no model", arguments: Corpus.currentVersions)
  func currentVersion(_ name: String) throws {
    let error = try #require(throws: PersistentStoreError.self) { try ModelFile.read(at: Corpus.folder + "/" + name) }
    #expect(error.code == .unrecognizedFormat)
    #expect(error.message.contains("plist"))
  }

  @Test("a compiled model is refused as one", arguments: Corpus.compiled)
  func compiled(_ name: String) throws {
    let error = try #require(throws: PersistentStoreError.self) { try ModelFile.read(at: Corpus.folder + "/" + name) }
    let path = error.location.file ?? ""
    #expect(path.hasSuffix(name), "\(error)")
    if name.hasSuffix(".mom") {
      #expect(error.code == .notSupported && error.message.contains(".mom"), "\(error)")
    } else if name.hasSuffix(".omo") {
      #expect(error.code == .notSupported && error.message.contains(".omo"), "\(error)")
    } else {
      #expect(error.code == .unrecognizedFormat, "\(error)")
    }
  }

  @Test("a model from before Xcode 4 is refused as one", arguments: Corpus.old)
  func old(_ name: String) throws {
    let error = try #require(throws: PersistentStoreError.self) { try ModelFile.read(at: Corpus.folder + "/" + name) }
    #expect(error.code == .notSupported && error.message.contains("before Xcode 4"), "\(error)")
  }
}
