import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Stores are opened, converted, compared and restricted by this target alone, which knows neither managed objects nor
/// predicates.
@Suite("Stores without the object graph") struct StandAloneTests {
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Thing",
          properties: [
            .attribute("name", .string),
            .toOne("next", "Thing"),
          ])
      ]))
  }

  /// A store with the things 1 to 3, each leading to the next.
  static func make(_ path: String) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try model(), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let entity = try #require(store.model.entity(named: "Thing"))
    func slot(_ name: String) throws -> Int { try #require(entity.slot(named: name)) }
    var inserted: [ManagedObjectSnapshot] = []
    for number in 1...3 {
      var object = ManagedObjectSnapshot(entity: entity.index, reference: .integer(Int64(number)))
      object.values[try slot("name")] = .string("thing \(number)")
      if number < 3 {
        object.values[try slot("next")] = .toOne(
          ObjectReference(entityName: "Thing", reference: .integer(Int64(number + 1))))
      }
      inserted.append(object)
    }
    try coordinator.save(store, changes: StoreChanges(inserted: inserted))
    return coordinator
  }

  @Test("a store is converted and compares equal", arguments: [("a.xml", "b.csvstore"), ("a.csvstore", "b.xml")])
  func convert(_ from: String, _ to: String) throws {
    let temporary = try TemporaryDirectory("stand-alone")
    defer { withExtendedLifetime(temporary) {} }
    let directory = temporary.path
    let source = directory + "/" + from
    let target = directory + "/" + to
    let coordinator = try Self.make(source)
    var converter = StoreConverter(registry: .builtIn)
    converter.model = try Self.model()
    let report = try converter.convert(from: source, to: target)
    #expect(report.counts.map(\.count) == [3])
    let copy = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: target, isReadOnly: true)
    let original = try #require(coordinator.persistentStores.first)
    let differences = GraphComparison.differences(
      StoreSnapshot(nodes: original.nodes, metadata: original.metadata),
      StoreSnapshot(nodes: copy.nodes, metadata: copy.metadata))
    #expect(differences.isEmpty, "\(differences)")
  }

  /// Chooses the objects with the given references.
  private struct Chosen: StoreSubsetting {
    var references: Set<ReferenceObject>
    func nodes(of store: PersistentStore) throws -> (nodes: NodeTable, notes: [StoreSelection.Note]) {
      var nodes = store.nodes
      var notes: [StoreSelection.Note] = []
      for entity in nodes.model.entities {
        for node in nodes.handles(of: entity.index) where !references.contains(nodes.reference(of: node)) {
          notes.append(.init(subject: nodes.objectReference(of: node).description, count: 1, text: "left out"))
          nodes.remove(node)
        }
      }
      return (nodes, notes)
    }
  }

  @Test("any StoreSubsetting can select a part, and the report has its notes")
  func subset() throws {
    let temporary = try TemporaryDirectory("stand-alone")
    defer { withExtendedLifetime(temporary) {} }
    let directory = temporary.path
    _ = try Self.make(directory + "/a.xml")
    var converter = StoreConverter(registry: .builtIn)
    converter.model = try Self.model()
    converter.subset = Chosen(references: [.integer(2), .integer(3)])
    let report = try converter.convert(from: directory + "/a.xml", to: directory + "/b.xml")
    #expect(report.counts.map(\.count) == [2])
    #expect(report.selections.map(\.text) == ["left out"])
  }

  @Test("attachments of a coordinator are created once for each type, and are independent")
  func attachments() throws {
    final class One: Sendable {}
    final class Two: Sendable {}
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let one = coordinator.attachment { One() }
    let two = coordinator.attachment { Two() }
    #expect(coordinator.attachment { One() } === one)
    #expect(coordinator.attachment { Two() } === two)
    #expect(PersistentStoreCoordinator(registry: .builtIn).attachment { One() } !== one)
  }

  @Test("a coordinator that views another's store leaves it open when it ends")
  func viewing() throws {
    let temporary = try TemporaryDirectory("stand-alone")
    defer { withExtendedLifetime(temporary) {} }
    let directory = temporary.path
    let coordinator = try Self.make(directory + "/a.xml")
    let store = try #require(coordinator.persistentStores.first)
    do {
      let view = PersistentStoreCoordinator(viewing: store)
      #expect(view.persistentStores.first === store)
    }
    #expect(store.isOpen)
    try coordinator.remove(store)
    #expect(!store.isOpen)
  }
}
