import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

@Suite("Changing metadata changes nothing else") struct MetadataAloneTests {
  static func set(_ path: String, options: StoreOptions = [:], _ change: (inout PropertyListDictionary) -> Void) throws
  {
    try PersistentStoreCoordinator.updateMetadata(at: path, options: options, registry: .builtIn) { change(&$0) }
  }

  /// What is before and behind the metadata's text.
  static func rest(_ document: String) throws -> [String] {
    let start = try #require(document.range(of: "<metadata"))
    let end =
      document.range(of: "</metadata>", options: .backwards)?.upperBound
      ?? document.range(of: "<metadata/>")?.upperBound
    return [String(document[..<start.lowerBound]), String(document[try #require(end)...])]
  }

  @Test(
    "in a store that Core Data wrote, everything but the metadata stays byte for byte",
    .enabled(if: !XMLSupport.corpusFiles.isEmpty, "needs ../shared/corpus"), arguments: XMLSupport.corpusFiles)
  func corpus(_ name: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let original = String(decoding: try XMLSupport.corpusBytes(name), as: UTF8.self)
    let path = try folder.write(original, to: "store.xml")
    try Self.set(path) { $0["Reviewed"] = "yes" }
    let changed = try String(contentsOfFile: path, encoding: .utf8)
    #expect(changed != original)
    #expect(try Self.rest(changed) == Self.rest(original))
    #expect(try XMLSupport.open(Array(changed.utf8)).metadata.entries["Reviewed"] == "yes")
    try Self.set(path) { $0["Reviewed"] = nil }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == original, "the metadata too, once the key is gone")
  }

  @Test(
    "a document of any other layout is preserved as well",
    arguments: [
      "<!-- <metadata>not this</metadata> --><metadata></metadata>", "<metadata/>", "<metadata\n></metadata >",
      "<metadata><plist version='1.0'><dict><key>A</key><string><![CDATA[</metadata>]]></string></dict></plist></metadata>",
      "<metadata><plist version=\"1.0\"><dict><key>metadata</key><dict></dict></dict></plist></metadata><!-- > -->",
    ])
  func otherShapes(_ metadata: String) throws {
    let folder = try UnknownOrderTests.Folder()
    let objects =
      "  <object   id='z2' type='A'>\t<relationship name='r' type='0/0' destination='A' idrefs='z2  z1'/></object><object type=\"A\" id=\"z1\"/>"
    let document = XMLSupport.document(objects + "<!-- end -->", metadata: metadata)
    let path = try folder.write(document, to: "store.xml")
    let before = try UnknownOrderTests.open(path)
    try Self.set(path) { $0["Key"] = "value" }
    let changed = try String(contentsOfFile: path, encoding: .utf8)
    #expect(changed.hasSuffix("\n" + objects + "<!-- end -->\n</database>"))
    let start = try #require(document.range(of: "<!-- <metadata>") ?? document.range(of: "<metadata"))
    #expect(changed.hasPrefix(document[..<start.lowerBound]))
    let after = try UnknownOrderTests.open(path)
    #expect(GraphComparison.differences(before, after).map(\.key) == ["Key"])
  }

  @Test("a document in UTF-16 is written again, in the same sequence")
  func wideDocument() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = folder.path + "/store.xml"
    var bytes: [UInt8] = [0xFF, 0xFE]
    for unit in UnknownOrderTests.document.utf16 {
      bytes += [UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8)]
    }
    try Data(bytes).write(to: URL(filePath: path))
    try Self.set(path) { $0["Key"] = "value" }
    #expect(try UnknownOrderTests.items(try UnknownOrderTests.open(path)) == [4, 2, 3])
  }

  @Test("the model that a file carries is not changed, and a file without one gets none", arguments: [true, false])
  func carriedModel(_ isCarried: Bool) throws {
    let folder = try UnknownOrderTests.Folder()
    var path = try folder.write(UnknownOrderTests.document, to: "source.xml")
    if isCarried {
      var converter = StoreConverter(registry: .builtIn)
      converter.writeOptions = ["schema": "embed"]
      _ = try converter.convert(from: path, to: folder.path + "/carrying.xml")
      path = folder.path + "/carrying.xml"
    }
    let before = try String(contentsOfFile: path, encoding: .utf8)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try UnknownOrderTests.model(isOrdered: false), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    try store.setMetadata(["Key": "value"])
    try coordinator.save(store)
    let after = try String(contentsOfFile: path, encoding: .utf8)
    #expect(try Self.rest(after) == Self.rest(before))
    #expect(after.contains("AtomicStoreModel") == isCarried)
    // And once more, since what the coordinator knows must be what is there.
    try store.setMetadata(["Key": "other"])
    try coordinator.save(store)
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == after.replacing("<string>value<", with: "<string>other<"))
  }

  @Test("a reference that was handed out meanwhile is not forgotten: then all is written")
  func usedReferences() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = try folder.write(UnknownOrderTests.document, to: "source.xml")
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    _ = try coordinator.newReference(for: ManagedObjectSnapshot(entity: 0), in: store)
    try store.setMetadata(["Key": "value"])
    try coordinator.save(store)
    #expect(try String(contentsOfFile: path, encoding: .utf8).contains("<nextObjectID>201<"))
  }

  @Test("a CSV folder's tables stay byte for byte; accepted edits become part of the store", arguments: [false, true])
  func folder(_ isEdited: Bool) throws {
    let folder = try UnknownOrderTests.Folder()
    let path = folder.path + "/Company.csvstore"
    try FileManager.default.copyItem(atPath: SampleStores.folder + "/Company/Company.csvstore", toPath: path)
    func tables() throws -> [String: Data] {
      var result: [String: Data] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasSuffix(".csv") {
        result[name] = try Data(contentsOf: URL(filePath: path + "/" + name))
      }
      return result
    }
    let before = try tables()
    #expect(before.count > 3)
    if isEdited {
      let table = URL(filePath: path + "/Project.csv")
      try String(contentsOf: table, encoding: .utf8).replacing("\n", with: "\r\n").write(
        to: table, atomically: false, encoding: .utf8)
    }
    let edited = try tables()
    try Self.set(path, options: isEdited ? ["edited": "accept"] : [:]) { $0["Key"] = "value" }
    if !isEdited { #expect(try tables() == edited) }
    // Without the option.
    let read = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    #expect(read.metadata.entries["Key"] == "value")
    #expect(read.nodes.count > 3)
  }

  @Test("a property list's columns stay byte for byte")
  func propertyList() throws {
    let folder = try UnknownOrderTests.Folder()
    let path = folder.path + "/Company.plist"
    try FileManager.default.copyItem(atPath: SampleStores.folder + "/Company/Company.plist", toPath: path)
    func entities() throws -> PropertyListValue? {
      guard
        case .dictionary(let top) = try PropertyList.decodeBinary([UInt8](try Data(contentsOf: URL(filePath: path))))
      else { return nil }
      return top["entities"]
    }
    let before = try #require(try entities())
    try Self.set(path) { $0["Key"] = "value" }
    #expect(try entities() == before)
    let original = try Data(contentsOf: URL(filePath: SampleStores.folder + "/Company/Company.plist"))
    try Self.set(path) { $0["Key"] = nil }
    #expect(try Data(contentsOf: URL(filePath: path)) == original)
  }
}
