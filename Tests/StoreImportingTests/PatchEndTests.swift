import AtomicStoreSPI
import StoreCoordination
import StoreImporting
import Testing

@testable import StoreMaintenance

@Suite("Patches with one end of a relationship") struct PatchEndTests {
  private static func snapshot(_ nodes: NodeTable?) throws -> StoreSnapshot {
    StoreSnapshot(nodes: try #require(nodes), metadata: StoreMetadata(storeType: "XML"))
  }

  /// The staff before and after an import.
  private static func graphs(_ tables: [String: String]) throws -> (old: StoreSnapshot, new: StoreSnapshot) {
    let importer = try StaffSample.importer()
    return (
      try snapshot(importer.existing), try snapshot(try importer.read(StaffSample.tables(tables)).nodes)
    )
  }

  private static func differences(_ one: StoreSnapshot, _ other: StoreSnapshot) -> [String] {
    GraphComparison.differences(one, other, options: .init(comparesIdentity: false)).map(\.description)
  }

  @Test(
    "a patch of one end of a many-to-many or one-to-one changes both, and so does its reverse",
    arguments: [
      ("Emp", "Emp", "id,skills\n3,1 2\n1,\n"), ("Skill", "Emp", "id,skills\n3,1 2\n1,\n"),
      ("Skill", "Skill", "id,emps\n2,3\n"), ("Emp", "Skill", "id,emps\n2,3\n"),
      ("Emp", "Emp", "id,badge\n3,4\n"), ("Badge", "Emp", "id,badge\n3,4\n"),
      ("Emp", "Emp", "id,badge\n1,2\n2,1\n"), ("Badge", "Emp", "id,badge\n1,2\n2,1\n"),
      ("Emp", "Emp", "id,badge\n1,\n"), ("Badge", "Emp", "id,badge\n1,\n"),
      ("Emp", "Emp", "id,buddy\n1,3\n"), ("Emp", "Emp", "id,name,badge,skills,buddy\n4,Dan,4,1 2,3\n"),
      ("Skill", "Skill", "id,name,emps\n3,Go,1 3\n"), ("Badge", "Badge", "id,name,emp\n5,v,3\n"),
    ])
  func oneEnd(_ part: String, _ table: String, _ records: String) throws {
    let (old, new) = try Self.graphs([table: records])
    #expect(Self.differences(old, new) != [])
    let patch = try StorePatch(from: old, to: new) { $0.object?.entityName == part }
    let patched = try patch.apply(to: old)
    #expect(Self.differences(patched, new) == [])
    #expect(patched.nodes.inverseDisagreements() == [])
    #expect(Self.differences(try patch.reversed.apply(to: new), old) == [])
  }

  @Test("an object that a patch deletes cannot be named by what it adds", arguments: ["skills", "badge"])
  func namesDeleted(_ property: String) throws {
    let old = try Self.graphs(["Emp": "id\n1\n"]).old
    let (object, value): (ObjectReference, (ObjectReference) -> StoredValue) =
      property == "badge"
      ? (ObjectReference(entityName: "Badge", reference: .integer(4)), { .toOne($0) })
      : (ObjectReference(entityName: "Skill", reference: .integer(2)), { .toMany([$0]) })
    var nodes = old.nodes
    try nodes.removeWithLinks([try #require(nodes.handle(for: object))])
    let deletion = try StorePatch(from: old, to: Self.snapshot(nodes))
    #expect(Self.differences(try deletion.apply(to: old), try Self.snapshot(nodes)) == [])
    let employee = ObjectReference(entityName: "Emp", reference: .integer(3))
    let before = try #require(old.nodes.handle(for: employee).flatMap { old.nodes.value(forKey: property, of: $0) })
    let patch = StorePatch(
      changes: deletion.changes + [.changed(employee, property: property, old: before, new: value(object))])
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try patch.apply(to: old) }
    #expect(error.conflicts.map(\.description) == ["Emp/3.\(property): names \(object), which the patch deletes"])
  }

  @Test("ends that contradict what the patch does not decide about are conflicts, all listed")
  func contradictions() throws {
    let old = try Self.graphs(["Emp": "id\n1\n"]).old
    func badge(_ number: Int64) -> StoredValue {
      .toOne(ObjectReference(entityName: "Badge", reference: .integer(number)))
    }
    let patch = StorePatch(
      changes: [(1, 2), (3, 2)].map { employee, number in
        .changed(
          ObjectReference(entityName: "Emp", reference: .integer(employee)), property: "badge", old: badge(employee),
          new: badge(number))
      })
    let error = try #require(throws: StorePatch.ConflictError.self) { _ = try patch.apply(to: old) }
    #expect(
      error.conflicts.map(\.description) == [
        "Emp/1.badge: Badge/2 is named here, but its 'emp' does not name Emp/1 back",
        "Emp/2.badge: Badge/2 is named here, but its 'emp' does not name Emp/2 back",
      ])
  }
}
