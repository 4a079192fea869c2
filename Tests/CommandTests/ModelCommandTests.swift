import Foundation
import Testing

@Suite("atomicstore model") struct ModelCommandTests {
  private static let company = Command.samples + "/Company/Company.xcdatamodeld"
  private static let friends = Command.samples + "/FriendInfo/FriendInfo.xcdatamodeld"

  @Test("show --hashes prints a line for each entity, digest and checksum, also as JSON")
  func hashes() throws {
    let text = try Command.run("model", "show", "--hashes", Self.company)
    let lines = text.output.split(separator: "\n").map(String.init)
    #expect(text.code == 0 && lines.count > 4)
    #expect(lines[0].wholeMatch(of: #/[0-9a-f]{64}  [A-Za-z]+/#) != nil, "\(lines[0])")
    #expect(lines.suffix(2).map { $0.prefix(10) } == ["digest    ", "checksum  "])
    let json = try #require(
      try Command.run("model", "show", "--hashes", "--json", Self.company).json() as? [String: Any])
    let entities = try #require(json["entities"] as? [[String: Any]])
    #expect(json["isComputed"] as? Bool == true && entities.count == lines.count - 2)
    #expect((entities[0]["hash"] as? String).map { lines[0].hasPrefix($0) } == true)
  }

  @Test("a model is not written over the one that it is read from, whose other versions would be gone")
  func ontoItself() throws {
    let folder = try Folder()
    let model = folder("L.xcdatamodeld")
    try FileManager.default.copyItem(atPath: Command.samples + "/Library/Library.xcdatamodeld", toPath: model)
    let before = try FileManager.default.subpathsOfDirectory(atPath: model).sorted()
    for (source, target) in [
      (model, model), (model + "/Library.xcdatamodel", model), (model, model + "/Library.xcdatamodel"),
      (model + "/Library.xcdatamodel", model + "/Library.xcdatamodel"),
    ] {
      let result = try Command.run("model", "convert", source, target, "--force")
      #expect(result.code == 73 && result.errors.contains("the target is the source"), "\(result.errors)")
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: model).sorted() == before)
  }

  @Test(
    "--force replaces a model, and nothing that only has its extension", arguments: ["xcdatamodel", "xcdatamodeld"])
  func foreign(_ fileExtension: String) throws {
    let folder = try Folder()
    let target = folder("N." + fileExtension)
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    try Data("precious".utf8).write(to: URL(filePath: target + "/notes.txt"))
    let result = try Command.run("model", "convert", Self.company, target, "--force")
    #expect(
      result.code == 73 && result.errors.contains("'notes.txt', which is not part of a model"), "\(result.errors)")
    #expect(try String(contentsOfFile: target + "/notes.txt", encoding: .utf8) == "precious")
    let file = folder("F.xcdatamodel")
    try Data("precious".utf8).write(to: URL(filePath: file))
    #expect(try Command.run("model", "convert", Self.company, file, "--force").code == 73)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
    try FileManager.default.removeItem(atPath: target + "/notes.txt")
    for _ in 0..<2 { #expect(try Command.run("model", "convert", Self.company, target, "--force").code == 0) }
  }

  @Test("a hash that depends on an unverified rule is marked")
  func notVerified() throws {
    let folder = try Folder()
    let text = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="A"><relationship name="friend" maxCount="1" destinationEntity="A" inverseName="friend" inverseEntity="A"/></entity></model>
      """
    try Data(text.utf8).write(to: URL(filePath: folder("contents")))
    let result = try Command.run("model", "show", "--hashes", folder("contents"))
    #expect(result.output.contains("A  (not verified: relationship 'friend' is its own inverse)\n"), "\(result.output)")
  }

  @Test("the exit code of diff is 0 for the same hashes, 1 with the reasons for others, 2 for errors")
  func diff() throws {
    let folder = try Folder()
    let same = try Command.run("model", "diff", Self.company, Command.samples + "/Company/Company.xml")
    #expect(same.code == 0 && same.output.contains("the version hashes match"), "\(same.output)\(same.errors)")
    let other = try Command.run("model", "diff", Self.company, Self.friends)
    #expect(
      other.code == 1 && other.output.contains("migration needed") && other.output.contains("only in \(Self.friends)"))
    var text = try String(contentsOfFile: Self.friends + "/FriendInfo.xcdatamodel/contents", encoding: .utf8)
    text.replace("attributeType=\"Integer 16\"", with: "attributeType=\"Integer 64\"")
    try Data(text.utf8).write(to: URL(filePath: folder("contents")))
    let changed = try Command.run("model", "diff", Self.friends, folder("contents"))
    #expect(changed.code == 1 && changed.output.contains("Integer 16 → Integer 64"), "\(changed.output)")
    let json = try #require(
      try Command.run("model", "diff", Self.friends, folder("contents"), "--json").json() as? [String: Any])
    #expect(json["isCompatible"] as? Bool == false && (json["differences"] as? [[String: Any]])?.isEmpty == false)
    #expect(try Command.run("model", "diff", Self.friends, folder("none")).code == 2)
    let quiet = try Command.run("model", "diff", "--quiet", Self.company, Self.friends)
    #expect(quiet.code == 1 && quiet.output.isEmpty)
  }

  @Test("the result of convert has the same hashes, and an existing model is not replaced")
  func convert() throws {
    let folder = try Folder()
    #expect(
      try Command.run("model", "convert", Command.samples + "/Company/Company.plist", folder("C.xcdatamodel")).code == 0
    )
    #expect(try Command.run("model", "diff", Self.company, folder("C.xcdatamodel")).code == 0)
    #expect(try Command.run("model", "convert", Self.company, folder("C.xcdatamodel")).code == 73)
    #expect(try Command.run("model", "convert", "--force", Self.company, folder("C.xcdatamodel")).code == 0)
    #expect(try Command.run("model", "convert", Self.company, folder("D.xcdatamodeld")).code == 0)
    #expect(try Command.run("model", "diff", Self.company, folder("D.xcdatamodeld")).code == 0)
    #expect(try Command.run("model", "convert", Self.company, folder("D.momm")).code == 64)
    #expect(folder.names == ["C.xcdatamodel", "D.xcdatamodeld"])
  }

  @Test("a model is compiled with all its versions, and converted back")
  func compile() throws {
    let folder = try Folder()
    func convert(_ arguments: String...) throws -> Command.Result {
      try Command.run(arguments: ["model", "convert"] + arguments)
    }
    func expectEqual(_ one: String, _ other: String) throws {
      let result = try Command.run(arguments: ["model", "diff", one, other])
      #expect(result.code == 0, "\(result.output)\(result.errors)")
    }
    let library = Command.samples + "/Library/Library.xcdatamodeld"
    #expect(try convert(library, folder("L.momd")).code == 0)
    let sources = try FileManager.default.contentsOfDirectory(atPath: library).filter { $0.hasSuffix(".xcdatamodel") }
    let compiled = try FileManager.default.contentsOfDirectory(atPath: folder("L.momd"))
    #expect(
      compiled.sorted()
        == (["VersionInfo.plist"] + sources.map { $0.replacingOccurrences(of: ".xcdatamodel", with: ".mom") }).sorted())
    let data = try Data(contentsOf: URL(filePath: folder("L.momd/VersionInfo.plist")))
    let info = try #require(
      try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    let hashes = try #require(info["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
    #expect(hashes.count == sources.count && hashes.values.allSatisfy { $0.values.allSatisfy { $0.count == 32 } })
    let current = try #require(info["NSManagedObjectModel_CurrentVersionName"] as? String)
    #expect(sources.contains(current + ".xcdatamodel"))
    try expectEqual(library, folder("L.momd"))
    #expect(try convert(folder("L.momd"), folder("L.xcdatamodeld")).code == 0)
    try expectEqual(folder("L.momd"), folder("L.xcdatamodeld"))
    #expect(try convert(library, folder("L.momd")).code == 73)
    let directory = folder("Directory.mom")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try Data("precious".utf8).write(to: URL(filePath: directory + "/thesis.txt"))
    #expect(try convert("--force", library, directory).code == 73)
    #expect(try String(contentsOfFile: directory + "/thesis.txt", encoding: .utf8) == "precious")
    try FileManager.default.removeItem(atPath: directory)
    #expect(try convert("--force", library, folder("L.momd")).code == 0)
    #expect(try convert(Command.samples + "/FriendInfo/FriendInfo.plist", folder("C.mom")).code == 0)
    try expectEqual(Self.friends, folder("C.mom"))
    #expect(try convert(Self.friends, folder("C.mom")).code == 73)
    #expect(try convert("--force", Self.friends, folder("C.mom")).code == 0)
    // It has a composite attribute.
    let refused = try convert(Self.company, folder("D.mom"))
    #expect(refused.code == 65 && refused.errors.contains("composite"), "\(refused.errors)")
    #expect(folder.names == ["C.mom", "L.momd", "L.xcdatamodeld"])
  }

  @Test("a store is read with a model of other hashes only with the option for it")
  func ignoring() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.samples + "/FriendInfo/FriendInfo.csvstore", folder("f.xml")).code == 0)
    #expect(try String(contentsOfFile: folder("f.xml"), encoding: .utf8).contains("NSStoreModelVersionHashes"))
    var text = try String(contentsOfFile: Self.friends + "/FriendInfo.xcdatamodel/contents", encoding: .utf8)
    text.replace("optional=\"YES\" attributeType=\"String\"", with: "attributeType=\"String\"")
    try Data(text.utf8).write(to: URL(filePath: folder("contents")))
    let refused = try Command.run("inspect", folder("f.xml"), "--model", folder("contents"))
    #expect(refused.code == 65 && refused.errors.contains("optional → required"), "\(refused.errors)")
    let read = try Command.run("inspect", folder("f.xml"), "--model", folder("contents"), "--ignore-version-hashes")
    #expect(read.code == 0, "\(read.errors)")
    // The one that was converted has hashes, the sample has none: no difference.
    #expect(try Command.run("diff", Command.samples + "/FriendInfo/FriendInfo.xml", folder("f.xml")).code == 0)
  }

  @Test("--model accepts a directory and finds the matching model; if there is none, the nearest are listed")
  func found() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Self.company, toPath: folder("Company.xcdatamodeld"))
    try FileManager.default.copyItem(atPath: Self.friends, toPath: folder("FriendInfo.xcdatamodeld"))
    let right = try Command.run("inspect", Command.company, "--model", folder.path)
    #expect(
      right.code == 0 && right.errors.contains("the model is \(folder("Company.xcdatamodeld"))"), "\(right.errors)")
    let path = folder("FriendInfo.xcdatamodeld") + "/FriendInfo.xcdatamodel/contents"
    var text = try String(contentsOfFile: path, encoding: .utf8)
    text.replace("attributeType=\"Integer 16\"", with: "attributeType=\"Integer 64\"")
    try Data(text.utf8).write(to: URL(filePath: path))
    #expect(try Command.run("convert", Command.samples + "/FriendInfo/FriendInfo.csvstore", folder("f.xml")).code == 0)
    let wrong = try Command.run(
      "inspect", folder("f.xml"), "--model", folder("FriendInfo.xcdatamodeld") + "/FriendInfo.xcdatamodel")
    #expect(wrong.code == 65 && wrong.errors.contains("FriendInfo.ranking"), "\(wrong.errors)")
    try FileManager.default.createDirectory(atPath: folder("models"), withIntermediateDirectories: true)
    try FileManager.default.moveItem(
      atPath: folder("FriendInfo.xcdatamodeld"), toPath: folder("models") + "/FriendInfo.xcdatamodeld")
    // A store that carries its model is read by that.
    let own = try Command.run("inspect", folder("f.xml"), "--model", folder("models"))
    #expect(own.code == 0 && own.errors.contains("the model is the store's own"), "\(own.errors)")
    var store = try String(contentsOfFile: folder("f.xml"), encoding: .utf8)
    let start = try #require(store.range(of: "<key>AtomicStoreModel</key>")).lowerBound
    let end = try #require(store.range(of: "<key>NSStoreModelVersionHashes</key>")).lowerBound
    store.removeSubrange(start..<end)
    try Data(store.utf8).write(to: URL(filePath: folder("f.xml")))
    let near = try Command.run("inspect", folder("f.xml"), "--model", folder("models"))
    #expect(
      near.code == 65 && near.errors.contains("none of the 1 models")
        && near.errors.contains("FriendInfo.xcdatamodel: "), "\(near.errors)")
  }

  @Test("a store can be used as the model that it carries, alone and in a search")
  func stores() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("a.xml"))
    for path in [folder("a.xml"), folder.path] {
      let result = try Command.run("inspect", Command.samples + "/Company/Company.plist", "--model", path)
      #expect(result.code == 0, "\(result.errors)")
    }
  }

  @Test(
    "inspect describes a model file, and suggests the next command",
    arguments: ["model", "version", "mapping", "current"])
  func inspected(_ kind: String) throws {
    let folder = try Folder()
    let path: String
    switch kind {
    case "model": path = Self.company
    case "version": path = Self.friends + "/FriendInfo.xcdatamodel"
    case "current":
      path = folder(".xccurrentversion")
      try Data("<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>A</string></dict></plist>".utf8)
        .write(to: URL(filePath: path))
    default:
      path = folder("xcmapping.xml")
      let text = """
        <?xml version="1.0" standalone="yes"?>
        <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

        <database>
            <databaseInfo>
                <version>134481920</version>
                <UUID>0F7D2C1A-6A31-4D0B-8E57-F21E2D1F0A11</UUID>
                <nextObjectID>102</nextObjectID>
                <metadata><plist version="1.0"><dict/></plist></metadata>
            </databaseInfo>
            <object type="XDDEVMAPPINGMODEL" id="z101">
                <relationship name="entitymappings" type="0/0" destination="XDDEVENTITYMAPPING"></relationship>
            </object>
        </database>
        """
      try Data(text.utf8).write(to: URL(filePath: path))
    }
    let result = try Command.run("inspect", path)
    #expect(
      result.code == 0 && result.output.contains("next: atomicstore model show"), "\(result.output)\(result.errors)")
    let json = try #require(try Command.run("inspect", path, "--json").json() as? [String: Any])
    #expect(
      (json["kind"] as? String)?.contains(kind == "mapping" ? "mapping model" : "model") == true
        && json["next"] is String)
  }
}
