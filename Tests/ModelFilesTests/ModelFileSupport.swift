import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

/// What the tests of model files share.
enum ModelFileSupport {
  static let package: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()
  static let corpus = package + "/../shared/corpus"
  static let hasCorpus = FileManager.default.fileExists(atPath: corpus + "/models")

  /// Paths of the corpus's files of one kind, by name.
  static func corpusFiles(_ folder: String, where isWanted: (String) -> Bool = { _ in true }) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: corpus + "/" + folder)) ?? []
    return names.filter(isWanted).sorted().map { "\(corpus)/\(folder)/\($0)" }
  }

  /// Runs with its own folder, which is gone afterwards.
  static func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ModelFiles-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
  }

  static func put(_ bytes: some Sequence<UInt8>, at path: String) throws {
    let url = URL(fileURLWithPath: path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  /// Reads a bare `contents` file with this text.
  static func read(_ text: String) throws -> ModelFile {
    try withFolder { folder in
      try put(text.utf8, at: folder + "/anything.txt")
      return try ModelFile.read(at: folder + "/anything.txt")
    }
  }

  /// Reads a model of these elements, which begin in its second line.
  static func read(elements: String) throws -> ModelFile {
    try read("<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">\n\(elements)\n</model>")
  }

  /// Reads one attribute, and what was said about it.
  static func attribute(_ text: String) throws -> (attribute: AttributeDescription, warnings: [ModelFileWarning]) {
    let file = try read(elements: "<entity name=\"E\">\(text)</entity>")
    guard case .attribute(let attribute)? = file.description.entities.first?.properties.first else {
      throw Missing(what: "no attribute")
    }
    return (attribute, file.warnings)
  }

  static func relationship(_ text: String) throws -> (
    relationship: RelationshipDescription, warnings: [ModelFileWarning]
  ) {
    let file = try read(elements: "<entity name=\"E\">\(text)</entity>")
    guard case .relationship(let relationship)? = file.description.entities.first?.properties.first else {
      throw Missing(what: "no relationship")
    }
    return (relationship, file.warnings)
  }

  /// The error that a body throws.
  static func error(_ body: () throws -> Void) throws -> PersistentStoreError {
    do {
      try body()
    } catch let error as PersistentStoreError {
      return error
    }
    throw Missing(what: "no error was thrown")
  }

  struct Missing: Error { var what: String }
}
