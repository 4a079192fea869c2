import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Finding a model by its version hashes")
struct ModelFinderTests {
  private static func contents(_ entity: String, _ type: String = "String") -> [UInt8] {
    Array(
      "<model><entity name=\"\(entity)\"><attribute name=\"a\" optional=\"YES\" attributeType=\"\(type)\"/></entity></model>"
        .utf8)
  }

  private static func hashes(_ entity: String, _ type: AttributeType = .string) throws -> VersionHashes {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: entity, properties: [.attribute("a", type)])
      ])
    ).versionHashes
  }

  /// A source tree with two versions of one model, a copy of one under its own name, a broken one, and files of
  /// other kinds.
  private static func withTree<Result>(_ body: (String) throws -> Result) throws -> Result {
    try ModelFileSupport.withFolder { folder in
      try ModelFileSupport.put(contents("A"), at: folder + "/App/M.xcdatamodeld/M 1.xcdatamodel/contents")
      try ModelFileSupport.put(contents("A", "Integer 64"), at: folder + "/App/M.xcdatamodeld/M 2.xcdatamodel/contents")
      try ModelFileSupport.put(contents("A"), at: folder + "/Backup/model.txt")
      try ModelFileSupport.put(Array("<model><entity".utf8), at: folder + "/Backup/broken.xml")
      try ModelFileSupport.put(Array("<html><p>a page</p></html>".utf8), at: folder + "/page.html")
      try ModelFileSupport.put([], at: folder + "/empty")
      try ModelFileSupport.put(Array("a store".utf8), at: folder + "/Z.store")
      return try body(folder)
    }
  }

  @Test("models are recognized by content; those with equal hashes are one, with all their paths")
  func found() throws {
    try Self.withTree { folder in
      let finder = try ModelFinder(searching: folder)
      #expect(finder.found.map(\.path) == ["M 1", "M 2"].map { "\(folder)/App/M.xcdatamodeld/\($0).xcdatamodel" })
      #expect(finder.found[0].samePaths == [folder + "/Backup/model.txt"])
      #expect(finder.refusals.map(\.location.file) == [folder + "/Backup/broken.xml"])
      #expect(finder.model(for: try Self.hashes("A", .integer64))?.path == finder.found[1].path)
      #expect(finder.model(for: try Self.hashes("B")) == nil)
    }
  }

  @Test("the nearest models are those with an entity of the store, the nearest first, with the differences")
  func nearMisses() throws {
    try Self.withTree { folder in
      try ModelFileSupport.put(Self.contents("Other"), at: folder + "/other.xml")
      let finder = try ModelFinder(searching: folder)
      let near = finder.nearMisses(for: try Self.hashes("A", .date))
      #expect(near.map(\.found.path) == finder.found.map(\.path).filter { $0.contains("/App/") })
      #expect(near.allSatisfy { $0.differences.map(\.description) == ["A: the hash differs"] })
      #expect(finder.nearMisses(for: try Self.hashes("B")).isEmpty)
    }
  }

  @Test("models are merged whose entities together have the hashes of a store, also if they share an entity")
  func merged() throws {
    func entity(_ name: String, _ attributes: String = "") -> String {
      "<entity name=\"\(name)\" \(attributes)><attribute name=\"a\" optional=\"YES\" attributeType=\"String\"/></entity>"
    }
    try ModelFileSupport.withFolder { folder in
      func put(_ entities: String, _ name: String) throws {
        try ModelFileSupport.put(Array("<model>\(entities)</model>".utf8), at: "\(folder)/\(name)")
      }
      try put(entity("A") + entity("B", "representedClassName=\"One\""), "1.xml")
      try put(entity("B", "representedClassName=\"Other\"") + entity("C"), "2.xml")
      // Each has an entity that the store does not have, or has with another hash.
      try put(entity("C") + entity("D"), "3.xml")
      try put(entity("C", "isAbstract=\"YES\""), "4.xml")
      let finder = try ModelFinder(searching: folder)
      let hashes = try ManagedObjectModel(
        ModelDescription(
          entities: ["A", "B", "C"].map { EntityDescription(name: $0, properties: [.attribute("a", .string)]) })
      ).versionHashes
      #expect(finder.model(for: hashes) == nil)
      let merged = try #require(finder.mergedModel(for: hashes))
      #expect(merged.parts.map(\.path) == ["\(folder)/1.xml", "\(folder)/2.xml"])
      #expect(try ManagedObjectModel(merged.model).versionHashes == hashes)
      // An entity that no model has.
      #expect(
        finder.mergedModel(for: VersionHashes(hashes.entries + [.init(entityName: "X", hash: Data(count: 32))])) == nil)
    }
  }

  @Test("a file that is not a model is searched for the model that it carries")
  func carried() throws {
    try Self.withTree { folder in
      var asked: [String] = []
      let finder = try ModelFinder(searching: folder) { path in
        asked.append(path)
        return path.hasSuffix("Z.store") ? ModelDescription(entities: [EntityDescription(name: "B")]) : nil
      }
      #expect(finder.found.last?.path == folder + "/Z.store" && finder.found.last?.model.entities.map(\.name) == ["B"])
      #expect(asked.contains(folder + "/page.html") && !asked.contains { $0.hasSuffix("contents") })
    }
  }

  @Test("symbolic links are not followed, and a path that does not exist is an error")
  func links() throws {
    try Self.withTree { folder in
      let links = folder + "/Links"
      try FileManager.default.createDirectory(atPath: links, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(atPath: links + "/App", withDestinationPath: folder + "/App")
      #expect(try ModelFinder(searching: links).found.isEmpty)
      let error = #expect(throws: PersistentStoreError.self) { try ModelFinder(searching: folder + "/none") }
      #expect(error?.code == .notFound)
    }
  }
}
