import AtomicStoreSPI
import Foundation
import Synchronization
import TestSupport
import Testing

private protocol TypeName { static var name: String { get } }
private enum Upper: TypeName { static let name = "LINES" }
private enum Lower: TypeName { static let name = "lines" }
private enum Other: TypeName { static let name = "Other" }

/// A format that recognizes its name.
private struct Named<Name: TypeName>: AtomicStore {
  static var storeType: String { Name.name }
  static var traits: StoreTraits { StoreTraits(summary: "", fileExtensions: [Name.name.lowercased()]) }
  static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.prefix.starts(with: Name.name.utf8) ? .yes : .no
  }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    StoreMetadata(storeType: Self.storeType)
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {}
  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {}
}

@Suite("Registered store types") struct StoreRegistryTests {
  private static func code(_ body: () throws(PersistentStoreError) -> Void) -> PersistentStoreError.Code? {
    do throws(PersistentStoreError) { try body() } catch { return error.code }
    return nil
  }

  @Test("a type that the build leaves out is named with its trait: by content, name, extension and URL")
  func absent() throws {
    var registry = StoreRegistry()
    try registry.register(Named<Upper>.self)
    registry.absent = [
      AbsentStoreTypes(
        storeTypes: ["One", "Two"], trait: "Number", magic: Array("magic".utf8), fileExtensions: ["one"],
        urlSchemes: ["number"])
    ]
    let text = "the store types One and Two are not part of this build: add the trait 'Number'"
    func probe(_ text: String) -> StoreProbe {
      StoreProbe(name: "file", prefix: Array(text.utf8), size: text.utf8.count, fileExtension: "")
    }
    var error = #expect(throws: PersistentStoreError.self) { try registry.recognize(probe("magic and more")) }
    #expect(error?.code == .notSupported && error?.message.hasPrefix(text) == true, "\(error?.message ?? "")")
    error = #expect(throws: PersistentStoreError.self) { try registry.recognize(probe("other")) }
    #expect(error?.code == .unrecognizedFormat)
    error = #expect(throws: PersistentStoreError.self) { try registry.storeType(named: "Two") }
    #expect(error?.code == .unknownStoreType && error?.message.hasPrefix(text) == true)
    #expect(registry.absence(fileExtension: "one")?.hasPrefix(text) == true)
    #expect(registry.absence(fileExtension: "two") == nil)
    error = #expect(throws: PersistentStoreError.self) {
      try registry.refuseAbsent(urlScheme: "number", at: "number://x")
    }
    #expect(error?.message.hasPrefix(text) == true)
    // A type that is there is not in the way of content that begins alike.
    #expect(try registry.recognize(probe("LINES")).storeType == "LINES")
  }

  @Test("a name that differs from another in case only is refused, with both formats")
  func near() throws {
    var registry = StoreRegistry()
    try registry.register(Named<Upper>.self)
    try registry.register(Named<Upper>.self)
    let error = #expect(throws: PersistentStoreError.self) { try registry.register(Named<Lower>.self) }
    #expect(error?.code == .storeTypeTaken)
    #expect(error?.message.contains("'lines' of") == true && error?.message.contains("'LINES' of") == true)
    #expect(error?.message.contains("in case only") == true)
    #expect(registry.storeTypes == ["LINES"])
  }

  /// How often more types were looked for.
  private final class Count: Sendable {
    let value = Atomic(0)
  }

  private static func registry(_ count: Count) throws -> StoreRegistry {
    var registry = StoreRegistry()
    try registry.register(Named<Upper>.self)
    registry.findLater {
      count.value.add(1, ordering: .relaxed)
      return [.whole(Named<Other>.self)]
    }
    return registry
  }

  @Test("more types are looked for once, when a name, an extension or content needs them")
  func later() throws {
    let count = Count()
    let registry = try Self.registry(count)
    _ = try registry.storeType(named: "LINES")
    #expect(try registry.recognize(StoreProbe("LINES")).storeType == "LINES")
    #expect(registry.storeTypes(forFileExtension: "lines").count == 1)
    #expect(registry.storeTypes(forFileExtension: "").isEmpty)
    #expect(registry.storeTypes == ["LINES"] && count.value.load(ordering: .relaxed) == 0)
    #expect(try registry.recognize(StoreProbe("Other")).storeType == "Other")
    #expect(try registry.storeType(named: "Other").storeType == "Other")
    #expect(registry.storeTypes(forFileExtension: "other").count == 1)
    #expect(
      Self.code { () throws(PersistentStoreError) in _ = try registry.storeType(named: "None") } == .unknownStoreType)
    #expect(registry.storeTypes == ["LINES", "Other"] && count.value.load(ordering: .relaxed) == 1)
  }

  @Test("each lookup that finds nothing looks for more", arguments: ["name", "extension", "content", "all"])
  func each(_ which: String) throws {
    let count = Count()
    let registry = try Self.registry(count)
    switch which {
    case "name": #expect(try registry.storeType(named: "Other").storeType == "Other")
    case "extension": #expect(registry.storeTypes(forFileExtension: "OTHER").count == 1)
    case "content": #expect(try registry.recognize(StoreProbe("Other")).storeType == "Other")
    default: registry.findNow()
    }
    #expect(count.value.load(ordering: .relaxed) == 1 && registry.storeTypes == ["LINES", "Other"])
  }

  /// A format whose stores are directories with a member of its name.
  private struct Directory: AtomicStore {
    static let storeType = "Directory"
    static let traits = StoreTraits(summary: "", fileExtensions: ["dir"], layout: .folder)
    static func recognize(_ probe: StoreProbe) -> Recognition {
      probe.isFolder && probe.memberNames.contains("directory") ? .yes : .no
    }
    init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
    mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
      StoreMetadata(storeType: Self.storeType)
    }
    mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {}
    mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {}
  }

  @Test(
    "no store is created in the directory of a store whose type was not looked for, if the directory is named like one",
    arguments: [("store.dir", 1), ("plain", 0)])
  func withinStore(_ name: String, _ looks: Int) throws {
    let folder = try TemporaryDirectory("registry")
    let directory = folder.path + "/" + name
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: directory + "/directory"))
    let count = Count()
    var registry = StoreRegistry()
    try registry.register(Named<Upper>.self)
    registry.findLater {
      count.value.add(1, ordering: .relaxed)
      return [.whole(Directory.self)]
    }
    let found = registry
    let place = try StorePath.inspect(directory + "/new.lines")
    let code = withExtendedLifetime(folder) {
      Self.code { () throws(PersistentStoreError) in try found.refuseWithinStore(place) }
    }
    #expect(count.value.load(ordering: .relaxed) == looks)
    #expect(code == (looks == 1 ? .cannotCreate : nil))
  }

  @Test("a type that was found later can be removed")
  func removed() throws {
    var registry = try Self.registry(Count())
    try registry.unregister("Other")
    #expect(registry.storeTypes == ["LINES"])
    #expect(
      Self.code { () throws(PersistentStoreError) in _ = try registry.storeType(named: "Other") } == .unknownStoreType)
  }
}

extension StoreProbe {
  fileprivate init(_ text: String) { self.init(name: "x", prefix: Array(text.utf8), size: text.utf8.count) }
}
