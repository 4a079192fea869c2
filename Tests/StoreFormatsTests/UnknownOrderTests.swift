import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("The sequence of relationships that no model describes") struct UnknownOrderTests {
  /// A list whose sequence is not that of the references, and one whose sequence is.
  static let document = XMLSupport.document(
    """
        <object type="LIST" id="z1">
            <relationship name="items" type="0/0" destination="ITEM" idrefs="z4 z2 z3"></relationship>
            <relationship name="others" type="0/0" destination="ITEM" idrefs="z2 z3"></relationship>
        </object>
        <object type="ITEM" id="z2"></object>
        <object type="ITEM" id="z3"></object>
        <object type="ITEM" id="z4"></object>
    """)

  final class Folder {
    let path = NSTemporaryDirectory() + "order-\(UUID().uuidString)"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func write(_ text: String, to name: String) throws -> String {
      try Data(text.utf8).write(to: URL(filePath: path + "/" + name))
      return path + "/" + name
    }
  }

  static func open(_ path: String, model: ManagedObjectModel? = nil) throws -> StoreSnapshot {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    return StoreSnapshot(nodes: store.nodes, metadata: store.metadata)
  }

  static func items(_ snapshot: StoreSnapshot) throws -> [Int64] {
    let list = ObjectReference(entityName: "LIST", reference: .integer(1))
    let node = try #require(snapshot.nodes.handle(for: list))
    guard case .toMany(let items)? = snapshot.nodes.value(forKey: "items", of: node) else { return [] }
    return items.compactMap { if case .integer(let number) = $0.reference { number } else { nil } }
  }

  static func model(isOrdered: Bool) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "ITEM"),
        EntityDescription(
          name: "LIST",
          properties: [
            .toMany("items", "ITEM", isOrdered: isOrdered),
            .toMany("others", "ITEM"),
          ]),
      ]))
  }

  @Test(
    "it is kept through every format and back, to the byte",
    arguments: [["plist"], ["csvstore"], ["plist", "csvstore", "storedata"], ["storedata"]])
  func throughFormats(_ extensions: [String]) throws {
    let folder = try Folder()
    var path = try folder.write(Self.document, to: "source.xml")
    let original = try Data(contentsOf: URL(filePath: path))
    for (number, name) in (extensions + ["xml"]).enumerated() {
      let next = "\(folder.path)/\(number).\(name)"
      _ = try StoreConverter(registry: .builtIn).convert(from: path, to: next)
      let read = try Self.open(next)
      #expect(try Self.items(read) == [4, 2, 3], "\(name)")
      #expect(read.nodes.model.entity(named: "LIST")?.slots.allSatisfy { $0.keepsSequence && !$0.isOrdered } == true)
      path = next
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == original)
  }

  @Test("it is kept in a single CSV file, whose header says so")
  func singleFile() throws {
    let folder = try Folder()
    let path = try folder.write(
      XMLSupport.document(
        """
            <object type="NODE" id="z1">
                <relationship name="next" type="0/0" destination="NODE" idrefs="z3 z1 z2"></relationship>
            </object>
            <object type="NODE" id="z2">
                <relationship name="next" type="0/0" destination="NODE"></relationship>
            </object>
            <object type="NODE" id="z3">
                <relationship name="next" type="0/0" destination="NODE"></relationship>
            </object>
        """), to: "nodes.xml")
    let target = folder.path + "/nodes.csv"
    _ = try StoreConverter(registry: .builtIn).convert(from: path, to: target)
    #expect(
      try String(contentsOfFile: target, encoding: .utf8)
        == "id:Reference NODE,next->>NODE (order unknown)\n1,3 1 2\n2,\n3,\n")
    let back = folder.path + "/back.csv"
    _ = try StoreConverter(registry: .builtIn).convert(from: target, to: back)
    #expect(try Data(contentsOf: URL(filePath: back)) == Data(contentsOf: URL(filePath: target)))
  }

  @Test(
    "a model decides: an ordered relationship keeps its sequence, an unordered one ascends", arguments: [true, false])
  func withModel(_ isOrdered: Bool) throws {
    let folder = try Folder()
    let path = try folder.write(Self.document, to: "source.xml")
    let read = try Self.open(path, model: try Self.model(isOrdered: isOrdered))
    #expect(try Self.items(read) == (isOrdered ? [4, 2, 3] : [2, 3, 4]))
  }

  @Test(
    "members are compared as sets, and as sequences where a model on either side says ordered or a copy is verified")
  func comparison() throws {
    let folder = try Folder()
    let one = try folder.write(Self.document, to: "one.xml")
    let other = try folder.write(Self.document.replacing("z4 z2 z3", with: "z3 z4 z2"), to: "other.xml")
    #expect(GraphComparison.differences(try Self.open(one), try Self.open(other)).isEmpty)
    let ordered = try Self.model(isOrdered: true)
    #expect(
      GraphComparison.differences(try Self.open(one, model: ordered), try Self.open(other)).map(\.key) == ["items"])
    #expect(
      GraphComparison.differences(try Self.open(one), try Self.open(other, model: ordered)).map(\.key) == ["items"])
    let strict = GraphComparison.differences(
      try Self.open(one), try Self.open(other), options: .init(comparesUnknownOrder: true))
    #expect(strict.map(\.key) == ["items"])
  }

  @Test("an added member is appended, the others keep their order")
  func edited() throws {
    let folder = try Folder()
    let path = try folder.write(Self.document, to: "source.xml")
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    let list = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "LIST")).first)
    let item = ManagedObject(entity: try #require(store.model.entity(named: "ITEM")), insertInto: context)
    try list.add(item, to: "items")
    try context.save()
    #expect(try Self.items(try Self.open(path)) == [4, 2, 3, 201])
  }

  @Test("a format that keeps no order loses it, and says so where the sequence is not that of the references")
  func forecast() throws {
    let folder = try Folder()
    let path = try folder.write(Self.document, to: "source.xml")
    var traits = try XMLStoreTraits.value
    traits.keepsOrder = false
    let losses = traits.losses(for: try Self.open(path), includingMetadata: false)
    #expect(losses.map { "\($0.kind) \($0.subject) \($0.count)" } == ["order LIST.items 1"])
  }
}

private enum XMLStoreTraits {
  static var value: StoreTraits { get throws { try StoreRegistry.builtIn.storeType(named: "XML").traits } }
}
