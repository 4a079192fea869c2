import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("The entity of a single CSV file") struct CSVEntityTests {
  private let folder: CSVFolder
  init() throws { folder = try CSVFolder() }

  /// An XML store with two objects of one entity, which know one another.
  private func source(_ entity: String) throws -> String {
    let path = folder.path + "/source.xml"
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: entity,
          properties: [
            .attribute("name", .string),
            .toOne("friend", entity),
          ])
      ]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let context = ManagedObjectContext(coordinator)
    try coordinator.addPersistentStore(type: "XML", at: path)
    let ann = try context.insertNewObject(forEntityName: entity)
    try ann.setValue("Ann", forKey: "name")
    try context.insertNewObject(forEntityName: entity).setValue(ann, forKey: "friend")
    try context.save()
    return path
  }

  @Test(
    "is in its header, so that the file may have any name, and is read back alone",
    arguments: [
      "Person", "dec", "with blank", "a,b", "x;y", "q\"uote", "Zoë", "100%", "(defused)", "a (defused)", "a:b->c",
      "tab\there",
    ])
  func named(_ entity: String) throws {
    let path = try source(entity)
    for (name, options) in [("other.csv", [:]), ("plain", ["layout": "file"]), ("defused.csv", ["formulas": "defuse"])]
    {
      var converter = StoreConverter(registry: .builtIn)
      converter.targetType = "CSV"
      converter.writeOptions = options
      let report = try converter.convert(from: path, to: folder.path + "/" + name)
      #expect(report.losses.isEmpty)
      var back = StoreConverter(registry: .builtIn)
      back.sourceType = "CSV"
      back.replacesTarget = true
      let read = try back.convert(from: folder.path + "/" + name, to: folder.path + "/back.xml")
      #expect(read.counts.map(\.entity) == [entity] && read.counts.map(\.count) == [2], "\(name)")
      // It has no place for an identity: what is returned is what the file will be known by.
      #expect(read.identifier == report.identifier, "\(name)")
    }
  }

  @Test("an option selects another entity when reading, and an ambiguous header specifies none")
  func option() throws {
    let path = try folder.write("id:Reference Person,name:String\n1,Ann\n", to: "x.csv")
    #expect(try OpenCSV(path, isReadOnly: true).entity.name == "Person")
    #expect(try OpenCSV(path, ["entity": "Guest"], isReadOnly: true).entity.name == "Guest")
    for first in ["id:Reference A B", "id:Reference  A", "id:Reference %4", "id:Reference %FF", "id:ReferenceA"] {
      let other = try folder.write("\(first),name:String\n1,Ann\n", to: "y.csv")
      // Someone else's file: its columns are texts.
      #expect(try OpenCSV(other, isReadOnly: true).entity.slots.map(\.name).contains(first), "\(first)")
    }
  }

  @Test("a member of a folder that names another entity than the metadata is refused")
  func member() throws {
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CSV"
    let path = folder.path + "/s.csvstore"
    _ = try converter.convert(from: try source("Person"), to: path)
    let text = try folder.text("s.csvstore/Person.csv")
    _ = try folder.write(text.replacing("id:Reference,", with: "id:Reference Other,"), to: "s.csvstore/Person.csv")
    #expect(throws: PersistentStoreError.self) { try OpenCSV(path, ["edited": "accept"]) }
    _ = try folder.write(text.replacing("id:Reference,", with: "id:Reference Person,"), to: "s.csvstore/Person.csv")
    #expect(try OpenCSV(path, ["edited": "accept"]).entity.name == "Person")
  }
}

@Suite("Conversions and folders") struct FolderConversionTests {
  private let folder: CSVFolder
  init() throws { folder = try CSVFolder() }

  private func convert(_ source: String, _ target: String, replaces: Bool = true) throws {
    var converter = StoreConverter(registry: .builtIn)
    converter.replacesTarget = replaces
    _ = try converter.convert(from: source, to: folder.path + "/" + target)
  }
  private var company: String { SampleStores.folder + "/Company/Company.xml" }
  private func refusal(_ source: String, _ target: String) throws -> PersistentStoreError.Code? {
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    let error = #expect(throws: PersistentStoreError.self) { try convert(source, target) }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted() == before)
    return error?.code
  }

  @Test("a folder store is replaced with what it holds for others, and only where all its files are known")
  func replaced() throws {
    try convert(company, "s.csvstore")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/s.csvstore/.git", withIntermediateDirectories: false)
    try folder.write("ref", to: "s.csvstore/.git/HEAD")
    try convert(SampleStores.folder + "/FriendInfo/FriendInfo.xml", "s.csvstore")
    #expect(try folder.text("s.csvstore/.git/HEAD") == "ref")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/s.csvstore/Employee.csv"))
    try folder.write("mine", to: "s.csvstore/README.txt")
    #expect(try refusal(company, "s.csvstore") == .alreadyExists)
    #expect(try folder.text("s.csvstore/README.txt") == "mine")
  }

  @Test("a file that was skipped on loading stays when the store is saved")
  func skipped() throws {
    try convert(company, "s.csvstore")
    try folder.write("mine", to: "s.csvstore/README.txt")
    for text in ["mine", "mine still"] {
      try folder.write(text, to: "s.csvstore/README.txt")
      let open = try OpenCSV(folder.path + "/s.csvstore", ["edited": "accept"])
      try open.store.setMetadata(["note": .string(text)])
      try open.coordinator.save(open.store)
      #expect(try folder.text("s.csvstore/README.txt") == text)
    }
    #expect(
      try OpenCSV(folder.path + "/s.csvstore", ["edited": "accept"]).store.metadata.entries["note"]
        == .string("mine still"))
  }

  @Test(
    "a source in the folder that it would replace is refused, and so is a target in its source's, or in any store's, folder"
  )
  func nested() throws {
    try convert(company, "s.csvstore")
    try convert(company, "s.csvstore.plist")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/s.csvstore/.kept", withIntermediateDirectories: false)
    try FileManager.default.moveItem(
      atPath: folder.path + "/s.csvstore.plist", toPath: folder.path + "/s.csvstore/.kept/only.plist")
    #expect(try refusal(folder.path + "/s.csvstore/.kept/only.plist", "s.csvstore") == .cannotCreate)
    #expect(try refusal(folder.path + "/s.csvstore", "s.csvstore/out.xml") == .cannotCreate)
    #expect(try refusal(company, "s.csvstore/out.xml") == .cannotCreate)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(PropertyListSupport.person), registry: .builtIn)
    #expect(throws: PersistentStoreError.self) {
      try coordinator.addPersistentStore(type: "XML", at: folder.path + "/s.csvstore/new.xml")
    }
    // Names that only begin alike are not inside one another.
    try convert(folder.path + "/s.csvstore", "s.csvstore2.xml", replaces: false)
  }
}
