import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import ModelFiles
import StoreCoordination
import TestSupport

/// What the tests of pictures and pages share.
enum ReportSupport {
  static let package: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()
  static let corpus = package + "/../shared/corpus"
  static let hasNode = (try? ChildProcess.run("/usr/bin/env", ["node", "--version"]))?.code == 0
  static let hasCorpus = FileManager.default.fileExists(atPath: corpus + "/models")

  /// Every model of the corpus that can be read, whatever kind of file it is in, with its path.
  static let corpusModels: [(path: String, model: ManagedObjectModel)] = {
    var found: [(String, ManagedObjectModel)] = []
    for folder in ["models", "oldmodels", "mom", "sqlite", "xmlstores"] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(corpus)/\(folder)")) ?? []
      for name in names.sorted() {
        let path = "\(corpus)/\(folder)/\(name)"
        if let model = model(at: path) { found.append((path, model)) }
      }
    }
    return found
  }()

  /// The model of a model file, or that of a store.
  static func model(at path: String) -> ManagedObjectModel? {
    if let file = try? ModelFile.read(at: path) { return try? ManagedObjectModel(file.description) }
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    return try? coordinator.addPersistentStore(at: path, isReadOnly: true).model
  }

  static let sampleModels = ["Company", "FriendInfo", "iClass", "Library"].map {
    "\(package)/SampleStores/\($0)/\($0).xcdatamodeld"
  }

  /// A model with any relationships and inheritance, the same for the same seed.
  static func randomModel(_ seed: UInt64, entities count: Int) throws -> ManagedObjectModel {
    var random = SeededGenerator(seed: seed)
    var properties: [[PropertyDescription]] = (0..<count).map { _ in [] }
    for entity in 0..<count {
      for index in 0..<Int.random(in: 0...12, using: &random) {
        properties[entity].append(
          .attribute(
            String(repeating: "a", count: Int.random(in: 1...40, using: &random)) + "\(entity)_\(index)", .integer64))
      }
    }
    for index in 0..<Int.random(in: 0...(count * 2), using: &random) {
      let one = Int.random(in: 0..<count, using: &random)
      let other = Int.random(in: 0..<count, using: &random)
      let (near, far) = ("r\(index)", "s\(index)")
      properties[one].append(
        Bool.random(using: &random)
          ? .toMany(near, "E\(other)", inverse: far) : .toOne(near, "E\(other)", inverse: far, isOptional: false))
      properties[other].append(.toOne(far, "E\(one)", inverse: near))
    }
    // Each entity below one before it, or at the top.
    var parents: [Int?] = [nil]
    for entity in 1..<max(1, count) {
      parents.append(Int.random(in: 0...3, using: &random) == 0 ? Int.random(in: 0..<entity, using: &random) : nil)
    }
    func entity(_ number: Int) -> EntityDescription {
      EntityDescription(
        name: "E\(number)", isAbstract: number.isMultiple(of: 7), properties: properties[number],
        subentities: (0..<count).filter { parents[$0] == number }.map(entity))
    }
    return try ManagedObjectModel(
      ModelDescription(entities: (0..<count).filter { parents[$0] == nil }.map(entity)))
  }

  /// Texts that would do something on a page if they were not shown as text.
  static let hostile = [
    "<script>document.title='hacked'</script>", "</script><script>document.title='hacked'</script>",
    "\"><img src=x onerror=\"document.title='hacked'\">", "'onmouseover='alert(1)", "]]>", "<!--", "--!>", "&lt;b&gt;",
    "javascript:alert(1)", "\u{202E}gnp.exe", "a\u{0}b\u{1B}[31m", "\u{2028}\u{2029}", "${1+1}{{1+1}}", "\u{FFFE}",
    "%3Cscript%3E", "</title></svg><svg onload=alert(1)>", "\\u003cscript\\u003e", "\\\"; alert(1); //",
  ]
}
