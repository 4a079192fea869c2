import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Options and their direction") struct OptionDirectionTests {
  let folder: UnknownOrderTests.Folder
  init() throws { folder = try UnknownOrderTests.Folder() }

  static let source = SampleStores.folder + "/FriendInfo/FriendInfo.xml"

  private func convert(_ name: String, _ options: StoreOptions) throws -> String {
    var converter = StoreConverter(registry: .builtIn)
    converter.writeOptions = options
    converter.replacesTarget = true
    _ = try converter.convert(from: Self.source, to: folder.path + "/" + name)
    return folder.path + "/" + name
  }

  @Test(
    "an option for writing is refused on reading, and the message says so",
    arguments: [("FriendInfo.xml", "schema", "omit"), ("FriendInfo.csvstore", "layout", "folder")])
  func writeOptionOnReading(_ name: String, _ option: String, _ value: String) throws {
    let path = SampleStores.folder + "/FriendInfo/" + name
    let error = try XMLSupport.failure {
      _ = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(
        at: path, options: [option: value], isReadOnly: true)
    }
    #expect(
      error.code == .invalidOption && error.message.contains("'\(option)'") && error.message.contains("for writing"),
      "\(error)")
    let metadata = try XMLSupport.failure {
      _ = try PersistentStoreCoordinator.metadataForPersistentStore(
        at: path, options: [option: value], registry: .builtIn)
    }
    #expect(metadata.code == .invalidOption)
    let copy = folder.path + "/" + name
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let setting = try XMLSupport.failure {
      try MetadataAloneTests.set(copy, options: [option: value]) { $0["Key"] = "value" }
    }
    #expect(setting.code == .invalidOption)
  }

  @Test(
    "an option for reading is refused on writing, and the message says so",
    arguments: [
      ("x.csvstore", "dateFormat", "dd.MM.yyyy"), ("x.csvstore", "columns", "name=n"), ("x.csvstore", "header", "no"),
      ("x.csvstore", "edited", "accept"),
      ("x.xml", "parser", "libxml2"), ("x.xml", "maximumBytes", "1"), ("x.plist", "inverses", "refuse"),
    ])
  func readOptionOnWriting(_ name: String, _ option: String, _ value: String) throws {
    let error = try XMLSupport.failure { _ = try convert(name, [option: value]) }
    #expect(
      error.code == .invalidOption && error.message.contains("'\(option)'") && error.message.contains("for reading"),
      "\(error)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/" + name))
  }

  @Test("a store that is open for changes takes both")
  func both() throws {
    let path = folder.path + "/store.xml"
    try FileManager.default.copyItem(atPath: Self.source, toPath: path)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    _ = try coordinator.addPersistentStore(at: path, options: ["parser": "libxml2", "schema": "omit"])
  }

  @Test(
    "the delimiter is what the option says, in a file and in a folder's files, and is read back without it",
    arguments: [("one.csv", ["entity": "Person"]), ("one.tsv", ["entity": "Person"]), ("all.csvstore", [:])]
      as [(String, StoreOptions)],
    [("comma", ","), ("semicolon", ";"), ("tab", "\t"), ("bar", "|")])
  func delimiter(_ target: (String, StoreOptions), _ delimiter: (String, String)) throws {
    let path = try convert(target.0, target.1.merging(["delimiter": delimiter.0]) { $1 })
    let table = target.1.isEmpty ? path + "/Person.csv" : path
    let header = try #require(try String(contentsOfFile: table, encoding: .utf8).split(separator: "\n").first)
    #expect(
      header.hasPrefix("id:Reference" + (target.1.isEmpty ? "" : " Person") + delimiter.1 + "name:String"), "\(header)")
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    #expect(store.nodes.count == (target.1.isEmpty ? 6 : 3))
    // A save keeps what there is.
    let person = try #require(store.model.entity(named: "Person"))
    let change = ManagedObjectSnapshot(
      entity: person.index, reference: .integer(1),
      values: [try #require(person.slot(named: "name")): .string("a,b;c\td|e")])
    try coordinator.save(store, changes: StoreChanges(updated: [change]))
    #expect(try String(contentsOfFile: table, encoding: .utf8).hasPrefix(header + "\n"))
    let again = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    let node = try #require(again.nodes.handle(for: ObjectReference(entityName: "Person", reference: .integer(1))))
    #expect(again.nodes.value(forKey: "name", of: node) == .string("a,b;c\td|e"))
  }

  @Test("a folder that is open for changes is saved with the delimiter that it was opened with")
  func changedDelimiter() throws {
    let path = try convert("all.csvstore", [:])
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path, options: ["delimiter": "semicolon"])
    try store.setMetadata(["Key": "value"])
    try coordinator.save(store)
    #expect(try String(contentsOfFile: path + "/Person.csv", encoding: .utf8).hasPrefix("id:Reference;name:String;"))
  }
}
