import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// Texts that a spreadsheet would run: kept as they are, or made harmless where that is asked for.
@Suite("CSV files and formulas") struct CSVFormulaTests {
  static let texts = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'", "''", "'=1", "''=1", "' =1", "=cmd|' /C calc'!A0",
    "=\"a\",b", "", "plain", "a=1", "é=",
  ]
  let folder: CSVFolder
  init() throws { folder = try CSVFolder() }

  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("=name", .string),
            .attribute("photo", .binaryData),
            .attribute("debt", .integer64),
          ])
      ]))
  }

  private func write(_ name: String, _ options: StoreOptions) throws -> String {
    let path = folder.path + "/" + name
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try model(), registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: "CSV", at: path, options: options)
    var changes = StoreChanges()
    for (number, text) in Self.texts.enumerated() {
      changes.inserted.append(
        ManagedObjectSnapshot(
          entity: 0, reference: .integer(Int64(number + 1)),
          values: [0: .string(text), 1: .data(Data([0xF8, UInt8(number)])), 2: .integer(-5)]))
    }
    try coordinator.save(store, changes: changes)
    return path
  }

  private func texts(_ path: String) throws -> [StoredValue] {
    let open = try OpenCSV(path, isReadOnly: true)
    return try open.references.map { try open.value("=name", of: $0) }
  }

  @Test(
    "defused texts are harmless in the file, and read as what they were", arguments: ["Store.csvstore", "Person.csv"])
  func defused(_ name: String) throws {
    let path = try write(name, ["formulas": "defuse"])
    let text = try folder.text(name.hasSuffix("store") ? name + "/Person.csv" : name)
    let first = name.hasSuffix("store") ? "id:Reference (defused)" : "id:Reference Person (defused)"
    #expect(text.hasPrefix(first + ",\"'=name:String\""))
    // No cell of text begins as a formula does; numbers keep their sign.
    for start in ["\"=", "\"+", "\"@", "\"\t", "\"\r", "\"\n=", ",=", ",+", ",@"] {
      #expect(!text.contains(start), "\(start.debugDescription)")
    }
    #expect(text.contains(",-5\n"))
    #expect(try texts(path) == Self.texts.map { .string($0) })
    let open = try OpenCSV(path)
    #expect(try open.value("photo", of: .integer(1)) == .data(Data([0xF8, 0])))
    // A save without the option keeps the store as it is.
    try open.set("debt", .integer(-6), of: .integer(1))
    #expect(try folder.text(name.hasSuffix("store") ? name + "/Person.csv" : name).hasPrefix(first))
    #expect(try texts(path) == Self.texts.map { .string($0) })
  }

  @Test(
    "without the option texts are kept exactly, and the option takes the apostrophes away again",
    arguments: ["Store.csvstore", "Person.csv"])
  func kept(_ name: String) throws {
    let file = name.hasSuffix("store") ? name + "/Person.csv" : name
    let path = try write(name, [:])
    #expect(try folder.text(file).contains("\n1,=1+1,"))
    #expect(try texts(path) == Self.texts.map { .string($0) })
    let open = try OpenCSV(path, ["formulas": "defuse"])
    try open.set("debt", .integer(-6), of: .integer(1))
    #expect(try folder.text(file).contains("\n1,\"'=1+1\","))
    #expect(try texts(path) == Self.texts.map { .string($0) })
    let back = try OpenCSV(path, ["formulas": "keep"])
    try back.set("debt", .integer(-7), of: .integer(1))
    #expect(try folder.text(file).contains("\n1,=1+1,"))
    #expect(try texts(path) == Self.texts.map { .string($0) })
  }

  @Test("formulas in a third-party file are neutralised and read back with the same option")
  func foreign() throws {
    let path = try folder.write("=key,note\n=a,-1\n'b,@c\n", to: "Rows.csv")
    let options = ["formulas": "defuse", "key": "=key"]
    let open = try OpenCSV(path, options)
    #expect(open.references == [.string("=a"), .string("'b")])
    try open.set("note", .string("+x"), of: .string("=a"))
    #expect(try folder.text("Rows.csv").contains("\"''b\",\"'@c\"\n\"'=a\",\"'+x\""))
    let again = try OpenCSV(path, options)
    #expect(try again.value("note", of: .string("=a")) == .string("+x"))
    #expect(try again.value("note", of: .string("'b")) == .string("@c"))
  }
}
