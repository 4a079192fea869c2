import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Versions of a model")
struct ModelFileVersionTests {
  private static let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n"

  private static func marked(_ name: String) -> [UInt8] {
    Array("\(head)<dict><key>_XCCurrentVersionName</key><string>\(name)</string></dict></plist>".utf8)
  }

  /// A model with versions `A 1` and `B`, each with an entity of its name.
  private static func withVersions<Result>(
    _ current: [UInt8]?, _ names: [String] = ["B", "A 1"], _ body: (String) throws -> Result
  ) throws -> Result {
    try ModelFileSupport.withFolder { folder in
      let path = folder + "/My Model.xcdatamodeld"
      for name in names {
        let text = "<model><entity name=\"\(name)\"/></model>"
        try ModelFileSupport.put(text.utf8, at: "\(path)/\(name).xcdatamodel/contents")
      }
      if let current { try ModelFileSupport.put(current, at: path + "/.xccurrentversion") }
      return try body(path)
    }
  }

  @Test("the current version is read, marked in XML or in a binary property list")
  func marked() throws {
    let list: [String: String] = ["_XCCurrentVersionName": "B.xcdatamodel"]
    let binary = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    for current in [Self.marked("B.xcdatamodel"), Array(binary)] {
      try Self.withVersions(current) { path in
        let file = try ModelFile.read(at: path)
        #expect(file.versionName == "B")
        #expect(file.availableVersions == ["A 1", "B"])
        #expect(file.description.entities.map(\.name) == ["B"])
        #expect(file.warnings == [])
      }
    }
  }

  @Test("a version can be specified with or without its extension", arguments: ["A 1", "A 1.xcdatamodel"])
  func asked(_ name: String) throws {
    try Self.withVersions(Self.marked("B.xcdatamodel")) { path in
      let file = try ModelFile.read(at: path, version: name)
      #expect(file.description.entities.map(\.name) == ["A 1"])
    }
  }

  @Test("if no version is marked the first is read, and a warning lists all", arguments: [false, true])
  func unmarked(_ hasEmptyDictionary: Bool) throws {
    let current = hasEmptyDictionary ? Array("\(Self.head)<dict/></plist>".utf8) : nil
    try Self.withVersions(current) { path in
      let file = try ModelFile.read(at: path)
      #expect(file.versionName == "A 1")
      #expect(file.warnings.map(\.description).joined().contains("A 1, B"))
    }
    try Self.withVersions(current, ["Only"]) { path in
      let file = try ModelFile.read(at: path)
      #expect(file.versionName == "Only")
      #expect(file.warnings == [])
    }
  }

  @Test("of `M` and `M 2` the first is `M`, regardless of directory names")
  func order() throws {
    try Self.withVersions(nil, ["M 2", "M"]) { path in
      let file = try ModelFile.read(at: path)
      #expect(file.versionName == "M" && file.availableVersions == ["M", "M 2"])
    }
  }

  @Test("a version that does not exist is an error that lists the existing ones")
  func missing() throws {
    try Self.withVersions(Self.marked("C.xcdatamodel")) { path in
      for error in [
        try ModelFileSupport.error { _ = try ModelFile.read(at: path) },
        try ModelFileSupport.error { _ = try ModelFile.read(at: path, version: "C") },
      ] {
        #expect(error.code == .notFound)
        #expect(error.message.contains("'C'") && error.message.contains("A 1, B"))
      }
    }
  }

  @Test("an invalid mark is an error that names its file")
  func damagedMark() throws {
    try Self.withVersions(Array("\(Self.head)<dict>".utf8)) { path in
      let error = try ModelFileSupport.error { _ = try ModelFile.read(at: path) }
      #expect(error.code == .malformed)
      #expect(error.location.file?.hasSuffix(".xccurrentversion") == true)
    }
  }

  @Test("one version's directory can be read separately")
  func folder() throws {
    try Self.withVersions(nil) { path in
      let file = try ModelFile.read(at: path + "/B.xcdatamodel")
      #expect(file.versionName == "B")
      #expect(file.availableVersions == [])
    }
  }

  @Test(
    "the marks in third-party models name a version, or none",
    .enabled(if: ModelFileSupport.hasCorpus, "needs ../shared/corpus"))
  func corpus() throws {
    let marks = ModelFileSupport.corpusFiles("models") { $0.hasSuffix(".xccurrentversion") }
    #expect(marks.count > 20)
    for mark in marks {
      let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: mark)))
      let list = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? [String: String]
      let wanted = list?["_XCCurrentVersionName"].map { String($0.dropLast(".xcdatamodel".count)) }
      try Self.withVersions(bytes, [wanted ?? "Z", "0"].sorted()) { path in
        let name = try ModelFile.read(at: path).versionName
        #expect(name == wanted ?? "0", "\(mark)")
      }
    }
  }
}
