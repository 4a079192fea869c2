import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// Which model a store is read by: one of several files, several merged, or none that fits. And keys that a type needs.
@Suite("Finding the model of a store, and giving objects new references") struct StoreModelTests {
  private static func contents(_ entity: String, _ attribute: String = "String") -> String {
    """
    <model><entity name="\(entity)"><attribute name="name" optional="YES" attributeType="\(attribute)"/></entity></model>
    """
  }

  private static func write(_ text: String, to path: String) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }

  private static func snapshot(_ entities: [String], hasHashes: Bool = true) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: entities.map { EntityDescription(name: $0, properties: [.attribute("name", .string)]) },
        isInferred: !hasHashes))
    let builder = NodeTableBuilder(model: model)
    for entity in model.entities {
      for row in 1...2 {
        try builder.beginNode(entity: entity.index, reference: Int64(row))
        try builder.set(.string("\(entity.name) \(row)"), slot: 0)
      }
    }
    return StoreSnapshot(
      nodes: try builder.finish(), metadata: StoreMetadata(storeType: "XML", lastReference: 2, model: model.description)
    )
  }

  /// A store that does not carry its model, as an application leaves it: of the type XML with the hashes of the model,
  /// if it has any, or of SQLite without hashes.
  private static func make(
    _ path: String, _ entities: [String], type: String = "XML", hasHashes: Bool = true
  ) throws {
    var snapshot = try snapshot(entities, hasHashes: hasHashes)
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = type
    if type == "XML" {
      converter.writeOptions = ["schema": "omit"]
      // Numbers are unique in the whole store.
      snapshot.nodes = try Renumbering(of: snapshot.nodes, after: 2).applied(to: snapshot.nodes)
    }
    _ = try converter.write(snapshot, to: path)
  }

  /// The models of an application in one directory, directly and in others.
  private static func models(in folder: borrowing Folder) throws {
    try write(contents("Animal"), to: folder("App/Animal.xcdatamodel/contents"))
    try write(contents("Animal", "Integer 64"), to: folder("App/Animal 2.xcdatamodel/contents"))
    try write(contents("Person"), to: folder("App/People.xcdatamodeld/People.xcdatamodel/contents"))
    try write(contents("Town"), to: folder("App/Town.xcdatamodel/contents"))
  }

  @Test(
    "a store that carries its model is a model, also one that is a directory",
    arguments: ["a.xml", "a.csvstore", "a.arrowstore"])
  func carried(_ store: String) throws {
    let folder = try Folder()
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = ["xml": "XML", "csvstore": "CSV", "arrowstore": "Arrow"][(store as NSString).pathExtension]
    _ = try converter.write(try Self.snapshot(["Animal"]), to: folder(store))
    try Self.write("id,name\n7,Cat\n", to: folder("Animal.csv"))
    let made = try Command.run("import", "Animal.csv", "--model", store, "-o", "b.xml", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let same = try Command.run("model", "diff", store, "b.xml", in: folder.path)
    #expect(same.code == 0, "\(same.output)\(same.errors)")
    let found = try Command.run(
      "fetch", "b.xml", "--model", store, "--entity", "Animal", "--columns", "name", "--format", "csv", in: folder.path)
    #expect(found.output == "name\nCat\n", "\(found.errors)")
  }

  @Test("a store of several merged models is read with those that have its version hashes together")
  func merged() throws {
    let folder = try Folder()
    try Self.models(in: folder)
    try Self.make(folder("s.xml"), ["Animal", "Person"])
    for arguments in [
      ["--model", "App"],
      ["--model", "App/Animal.xcdatamodel", "--model", "App/People.xcdatamodeld"],
      ["--model", "App/People.xcdatamodeld", "--model", "App"],
    ] {
      let found = try Command.run(arguments: ["dump", "s.xml"] + arguments, in: folder.path)
      #expect(
        found.code == 0 && found.output.contains("Person 2") && found.output.contains("Animal 1"), "\(found.errors)")
      #expect(found.errors.contains("the model is merged from"))
      #expect(!found.errors.contains("Town") && !found.errors.contains("Animal 2"))
    }
    let alone = try Command.run("dump", "s.xml", "--model", "App/Animal.xcdatamodel", in: folder.path)
    #expect(alone.code == 65 && alone.errors.contains("Person: only in the store"), "\(alone.errors)")
    #expect(alone.errors.contains("several merged models"))
    let missing = try Command.run(
      "dump", "s.xml", "--model", "App/Animal.xcdatamodel", "--model", "App/Town.xcdatamodel", in: folder.path)
    #expect(missing.code == 65 && missing.errors.contains("none of the 2 models"), "\(missing.errors)")
  }

  @Test("of models directly in a directory, none of which fits, the nearest are named")
  func noneFits() throws {
    let folder = try Folder()
    try Self.models(in: folder)
    for number in 1...100 {
      try Self.write(Self.contents("E\(number)"), to: folder("App/E\(number).xcdatamodel/contents"))
    }
    try Self.make(folder("s.xml"), ["Animal", "Person", "Other"])
    let result = try Command.run("dump", "s.xml", "--model", "App", in: folder.path)
    #expect(result.code == 65 && result.errors.contains("none of the 104 models there has the version hashes"))
    #expect(result.errors.contains("Animal.xcdatamodel: Other: only in the store; Person: only in the store"))
    #expect(result.errors.utf8.count < 2000, "\(result.errors)")
  }

  @Test("one hash that differs names the command that says more")
  func differingHash() throws {
    let folder = try Folder()
    try Self.models(in: folder)
    try Self.make(folder("s.xml"), ["Animal"])
    let result = try Command.run("dump", "s.xml", "--model", "App/Animal 2.xcdatamodel", in: folder.path)
    #expect(result.code == 65 && result.errors.contains("Animal: the hash differs"))
    #expect(result.errors.contains("atomicstore model diff"), "\(result.errors)")
  }

  @Test(
    "a model that is not the store's is refused with the entities that only one of them has, without hashes, too",
    arguments: ["XML", "CoreDataSQLite", "CoreDataBinary"])
  func otherModel(_ type: String) throws {
    let folder = try Folder()
    try Self.models(in: folder)
    try Self.write(
      Self.contents("Person").replacingOccurrences(of: "<model>", with: "<model><entity name=\"Guest\"/>"),
      to: folder("Other.xcdatamodel/contents"))
    // In a binary store keys are unique.
    let entities = type == "CoreDataBinary" ? ["Team"] : ["Tag", "Team", "Person"]
    try Self.make(folder("s"), entities, type: type, hasHashes: false)
    let result = try Command.run("inspect", "s", "--model", "Other.xcdatamodel", in: folder.path)
    #expect(result.code == 65, "\(result.output)\(result.errors)")
    #expect(result.errors.contains("this is not the store's model; only in the store: "), "\(result.errors)")
    #expect(result.errors.uppercased().contains(type == "CoreDataBinary" ? "TEAM" : "TAG, TEAM"), "\(result.errors)")
    #expect(result.errors.contains("only in the model: Guest"), "\(result.errors)")
  }

  @Test("convert renumbers objects for a type whose keys are unique in the whole store, and diff compares by the map")
  func renumbering() throws {
    let folder = try Folder()
    var snapshot = try Self.snapshot(["Animal", "Person"])
    snapshot.metadata.storeType = "CoreDataSQLite"
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CoreDataSQLite"
    _ = try converter.write(snapshot, to: folder("s.sqlite"))
    let refused = try Command.run("convert", "s.sqlite", "s.binary", in: folder.path)
    #expect(refused.code == 65 && refused.errors.contains("--renumber"), "\(refused.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder("s.binary")))

    let converted = try Command.run(
      "convert", "s.sqlite", "s.binary", "--renumber", "--renumber-map", "map.json", "--json", in: folder.path)
    let report = try #require(try converted.json() as? [String: Any], "\(converted.errors)")
    let list = try #require(report["renumbered"] as? [[String: Any]])
    #expect(list.map { "\($0["entity"] ?? "")/\($0["old"] ?? "") \($0["new"] ?? "")" } == ["Person/1 3", "Person/2 4"])
    #expect(try Command.run("diff", "s.sqlite", "s.binary", in: folder.path).code == 1)
    let same = try Command.run("diff", "s.sqlite", "s.binary", "--renumber-map", "map.json", in: folder.path)
    #expect(same.code == 0, "\(same.output)\(same.errors)")
    // An existing map is kept, and nothing is converted.
    let again = try Command.run(
      "convert", "s.sqlite", "t.binary", "--renumber", "--renumber-map", "map.json", in: folder.path)
    #expect(again.code == 73 && !FileManager.default.fileExists(atPath: folder("t.binary")))
    #expect(try Command.run("convert", "s.sqlite", "t.binary", "--renumber-map", "m", in: folder.path).code == 64)
  }
}
