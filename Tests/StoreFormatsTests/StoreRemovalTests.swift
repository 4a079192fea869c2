import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Glibc
import Testing

@Suite("Destroying and replacing stores") struct StoreRemovalTests {
  private struct Place: ~Copyable {
    let path = NSTemporaryDirectory() + "removal-\(UUID().uuidString)"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func callAsFunction(_ name: String) -> String { path + "/" + name }
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
  }
  private static let samples: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/") + "/SampleStores"
  }()
  private static func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }
  private static func code(_ body: () throws -> Void) -> PersistentStoreError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? PersistentStoreError)?.code }
  }

  private static func convert(_ place: borrowing Place, to name: String) throws -> String {
    _ = try StoreConverter(registry: .builtIn).convert(from: samples + "/Company/Company.xml", to: place(name))
    return place(name)
  }
  private static func addUnrelated(to path: String) throws {
    try FileManager.default.createDirectory(atPath: path + "/.git/objects", withIntermediateDirectories: true)
    try write("object", to: path + "/.git/objects/1")
    try FileManager.default.createDirectory(atPath: path + "/notes", withIntermediateDirectories: true)
    try write("a note", to: path + "/notes/a.txt")
  }

  @Test("of a store that is a directory its own files go; what else is in it stays, and the directory with it")
  func folder() throws {
    let place = try Place()
    let path = try Self.convert(place, to: "Company.csvstore")
    try Self.addUnrelated(to: path)
    try PersistentStoreCoordinator(registry: .builtIn).destroyPersistentStore(at: path)
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: path).sorted() == [
        ".git", ".git/objects", ".git/objects/1", "notes", "notes/a.txt",
      ])
    #expect(place.names == ["Company.csvstore"])
    // And nothing is there any more that a store could be opened from.
    #expect(
      Self.code { try PersistentStoreCoordinator(registry: .builtIn).destroyPersistentStore(at: path) }
        == .unrecognizedFormat)
  }

  @Test("a directory with nothing else goes; a link to it stays")
  func whole() throws {
    let place = try Place()
    let path = try Self.convert(place, to: "Company.csvstore")
    try FileManager.default.createSymbolicLink(atPath: place("link.csvstore"), withDestinationPath: path)
    try PersistentStoreCoordinator(registry: .builtIn).destroyPersistentStore(at: place("link.csvstore"))
    #expect(place.names == ["link.csvstore"])
  }

  @Test("a file that the format skips stays; without the option that has it pass over, nothing goes")
  func skipped() throws {
    let place = try Place()
    let path = try Self.convert(place, to: "Company.csvstore")
    try Self.write("read me", to: path + "/README.text")
    let before = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    #expect(Self.code { try coordinator.destroyPersistentStore(at: path) } == .changedOnDisk)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == before)
    try coordinator.destroyPersistentStore(at: path, options: ["edited": "accept"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["README.text"])
  }

  @Test("a store whose model is not the coordinator's is destroyed too, and a damaged file; a damaged directory is not")
  func unlike() throws {
    let place = try Place()
    let path = try Self.convert(place, to: "Company.csvstore")
    let model = try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "Other", properties: [])]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.destroyPersistentStore(at: path)
    #expect(place.names.isEmpty)
    let file = try Self.convert(place, to: "Company.xml")
    truncate(file, 2000)
    try coordinator.destroyPersistentStore(at: file)
    #expect(place.names.isEmpty)
    let again = try Self.convert(place, to: "Company.csvstore")
    truncate(again + "/Employee.csv", 20)
    #expect(Self.code { try coordinator.destroyPersistentStore(at: again) } == .changedOnDisk)
    #expect(FileManager.default.fileExists(atPath: again + "/metadata.plist"))
  }

  @Test("a file that is not a store, and a store that is open, are not destroyed")
  func refused() throws {
    let place = try Place()
    try FileManager.default.createDirectory(atPath: place("folder"), withIntermediateDirectories: false)
    try Self.write("text", to: place("folder/file.txt"))
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    #expect(Self.code { try coordinator.destroyPersistentStore(at: place("folder")) } == .unrecognizedFormat)
    #expect(Self.code { try coordinator.destroyPersistentStore(at: place("nothing")) } == .notFound)
    let path = try Self.convert(place, to: "Company.csvstore")
    let store = try coordinator.addPersistentStore(at: path)
    #expect(Self.code { try coordinator.destroyPersistentStore(at: path) } == .storeAlreadyAdded)
    try coordinator.remove(store)
    #expect(
      place.names == ["Company.csvstore", "folder"] && FileManager.default.fileExists(atPath: place("folder/file.txt")))
  }

  @Test("replacing a store that is a directory, and converting over one, keep what else is in it")
  func replaced() throws {
    let place = try Place()
    let path = try Self.convert(place, to: "Company.csvstore")
    try Self.addUnrelated(to: path)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.replacePersistentStore(
      at: path, withPersistentStoreFrom: Self.samples + "/FriendInfo/FriendInfo.plist")
    #expect(try String(contentsOfFile: path + "/.git/objects/1", encoding: .utf8) == "object")
    #expect(try String(contentsOfFile: path + "/notes/a.txt", encoding: .utf8) == "a note")
    #expect(
      FileManager.default.fileExists(atPath: path + "/FriendInfo.csv")
        && !FileManager.default.fileExists(atPath: path + "/Employee.csv"))
  }

  // MARK: A removed store

  @Test("metadata of a store that was removed cannot be set: nothing would ever write it")
  func metadata() throws {
    let place = try Place()
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: try Self.convert(place, to: "a.plist"))
    try coordinator.remove(store)
    #expect(Self.code { try store.setMetadata(["note": .string("lost")]) } == .storeNotAdded)
  }

  // MARK: Permissions of copies

  private static func mode(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test(
    "Save As and convert grant no permissions that the source does not grant, unless requested",
    arguments: ["b.xml", "b.plist", "b.csvstore"])
  func permissions(_ name: String) throws {
    let place = try Place()
    let source = try Self.convert(place, to: "a.xml")
    chmod(source, 0o600)
    _ = try StoreConverter(registry: .builtIn).convert(from: source, to: place(name))
    let files =
      name.hasSuffix("csvstore")
      ? try FileManager.default.contentsOfDirectory(atPath: place(name)).map { place(name) + "/" + $0 } : [place(name)]
    #expect(!files.isEmpty && files.allSatisfy { Self.mode($0) == 0o600 })
    if name.hasSuffix("csvstore") { #expect(Self.mode(place(name)) == 0o700) }
    // And from there.
    _ = try StoreConverter(registry: .builtIn).convert(from: place(name), to: place("c.plist"))
    #expect(Self.mode(place("c.plist")) == 0o600)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: source)
    try coordinator.migratePersistentStore(store, to: place("d.plist"))
    #expect(Self.mode(place("d.plist")) == 0o600)
    var wide = StoreConverter(registry: .builtIn)
    wide.limitsPermissions = false
    _ = try wide.convert(from: source, to: place("e.plist"))
    close(open(place("probe"), O_WRONLY | O_CREAT, 0o666))
    #expect(Self.mode(place("e.plist")) == Self.mode(place("probe")))
  }
}
