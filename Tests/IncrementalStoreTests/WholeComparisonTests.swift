import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import SQLiteGraphStoreFormat
import StoreCoordination
import TestSupport
import Testing

@testable import StoreSQL

/// What is written into a database is compared with the objects that it was written from, a row at a time.
@Suite struct WholeComparisonTests {
  private static let company: String = {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    return root + "/SampleStores/Company/Company.xml"
  }()

  private func snapshot(of path: String) throws -> StoreSnapshot {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let nodes = try coordinator.addPersistentStore(at: path, isReadOnly: true).nodes
    return StoreSnapshot(nodes: try nodes.canonical(), metadata: StoreMetadata(storeType: "XML", uuid: UUID()))
  }

  private func compare(_ place: String, with snapshot: StoreSnapshot) throws {
    var store = try SQLiteGraphStore(StoreConfiguration(path: place, isReadOnly: false))
    defer { store.close() }
    #expect(try store.metadata() != nil)
    let schema = SQLSchema(snapshot.nodes.model, SQLiteGraphDatabase.dialect)
    let save = try SQLWholeSave(store.sql, schema, snapshot)
    try store.sql.database.begin(isWriting: false)
    try SQLWholeComparison(save, store.sql, schema).run()
    try store.sql.database.commit(wasSaved: nil)
  }

  @Test(
    "a value that is not what was written is found",
    arguments: [
      "\"active\" = 0", "\"active\" = NULL", "\"address.city\" = NULL", "\"badge\" = 1002", "\"email\" = ''",
      "\"extra\" = 'decimal:1.5'", "\"hired\" = 456049800.5", "\"height\" = 1.5", "\"name\" = \"name\" || ' '",
      "\"nickname\" = NULL", "\"photo\" = x'00'", "\"photo\" = x''", "\"preferences\" = NULL", "\"rating\" = 4.5",
      "\"salary\" = '65000'", "\"serial\" = 0", "\"token\" = zeroblob(16)", "\"buddy\" = 5", "\"buddy_ent\" = 2",
      "\"department\" = 2", "\"department\" = NULL", "\"favourite\" = NULL", "\"favourite_ent\" = 0", "\"manager\" = 7",
      "ent = 2", "id = 99", "ref = 'x'",
    ])
  func values(_ change: String) throws {
    try expectFound(["UPDATE \"Employee\" SET \(change) WHERE id = 3"])
  }

  @Test(
    "a row, a position or a pair that is missing or too much is found",
    arguments: [
      "DELETE FROM \"Employee\" WHERE id = 3", "DELETE FROM \"Employee\" WHERE id = 8", "DELETE FROM \"Record\"",
      "INSERT INTO \"Employee\" (id, ent, ver) VALUES (99, 1, 1)",
      "INSERT INTO \"Record\" (id, ent, ver) VALUES (0, 3, 1)",
      "UPDATE \"Record\" SET \"partOf_pos\" = 5 WHERE id = 11",
      "UPDATE \"Record\" SET \"partOf_pos\" = NULL WHERE id = 11",
      "DELETE FROM \"Employee_projects\" WHERE a = 3 AND b = 9", "DELETE FROM \"Employee_projects\" WHERE a = 4",
      "DELETE FROM \"Employee_projects\"", "INSERT INTO \"Employee_projects\" (a, b) VALUES (5, 9)",
      "INSERT INTO \"Employee_projects\" (a, b) VALUES (99, 9)", "UPDATE \"Employee_projects\" SET b = 10 WHERE a = 6",
      "DELETE FROM \"Project_related\" WHERE a = 10 AND b = 9",
    ])
  func rows(_ statement: String) throws { try expectFound([statement]) }

  private func expectFound(_ statements: [String]) throws {
    let folder = try TemporaryDirectory("whole-comparison")
    let place = folder.path + "/company.sqlgraph"
    let original = try snapshot(of: Self.company)
    _ = try StoreConverter(registry: .builtIn).convert(from: Self.company, to: place)
    try compare(place, with: original)
    try StreamingTests.execute(statements, in: place)
    #expect {
      try compare(place, with: original)
    } throws: { ($0 as? PersistentStoreError)?.code == .internalInconsistency }
  }

  @Test("references that are texts, and both ends that are ordered, are as they were written")
  func texts() throws {
    let folder = try TemporaryDirectory("whole-comparison")
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "A", properties: [.toMany("others", "B", inverse: "others", isOrdered: true)]),
        EntityDescription(
          name: "B", properties: [.toMany("others", "A", inverse: "others", isOrdered: true)],
          subentities: [EntityDescription(name: "C", properties: [.toOne("end", "A")])]),
      ]))
    let builder = NodeTableBuilder(model: model)
    let names: [ReferenceObject] = [.string("b"), .integer(7), .string("a"), .integer(-2)]
    func ends(_ entity: String, _ references: [ReferenceObject]) -> StoredValue {
      .toMany(references.map { ObjectReference(entityName: entity, reference: $0) })
    }
    let lists: [[ReferenceObject]] = [[.string("b"), .integer(7)], [.integer(-2)], [], [.string("b"), .string("a")]]
    for (name, list) in zip(names, lists) {
      try builder.beginNode(entity: 0, reference: name)
      try builder.set(ends("B", list), slot: 0)
    }
    for name in names {
      let entity = name == .integer(7) ? 2 : 1
      try builder.beginNode(entity: entity, reference: name)
      let owners = zip(names, lists).filter { $0.1.contains(name) }.map(\.0)
      try builder.set(ends("A", owners.reversed()), slot: 0)
      if entity == 2 {
        try builder.set(StoredValue.toOne(ObjectReference(entityName: "A", reference: .string("a"))), slot: 1)
      }
    }
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "SQLiteGraph"
    let snapshot = StoreSnapshot(
      nodes: try builder.finish(), metadata: StoreMetadata(storeType: "XML", uuid: UUID()))
    _ = try converter.write(snapshot, to: folder.path + "/texts.sqlgraph")
    _ = try StoreConverter(registry: .builtIn).convert(
      from: folder.path + "/texts.sqlgraph", to: folder.path + "/texts.plist")
    _ = try StoreConverter(registry: .builtIn).convert(
      from: folder.path + "/texts.plist", to: folder.path + "/again.sqlgraph")
  }

  @Test("a name that is taken gets the least number with which it is not")
  func names() {
    var list = NameList(limit: 60, taken: ["id"])
    let names = ["n", "n", "n_3", "N", "n_2", "n", "n_2", "id", "ID"]
    #expect(names.map { list.add($0) } == ["n", "n_2", "n_3", "N_4", "n_2_2", "n_5", "n_2_3", "id_2", "ID_3"])
  }
}
