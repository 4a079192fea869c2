import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// A model for the tests of the object graph: every kind of relationship, every delete rule, inheritance.
enum CompanyGraph {
  static let model: ManagedObjectModel = {
    do { return try ManagedObjectModel(description) } catch { preconditionFailure("\(error)") }
  }()

  static var description: ModelDescription {
    ModelDescription(
      entities: [
        EntityDescription(
          name: "Department",
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string)),
            .attribute(AttributeDescription(name: "budget", type: .decimal)),
            .attribute(AttributeDescription(name: "floor", type: .integer16, defaultValue: .integer(1))),
            .attribute(AttributeDescription(name: "note", type: .undefined, isTransient: true)),
            .attribute(AttributeDescription(name: "address", type: .composite("Address"))),
            .relationship(
              RelationshipDescription(
                name: "employees", destinationEntityName: "Person", inverseName: "department", maximumCount: 0)),
            .relationship(
              RelationshipDescription(
                name: "rooms", destinationEntityName: "Room", inverseName: "department", maximumCount: 0,
                deleteRule: .cascade)),
            .relationship(
              RelationshipDescription(
                name: "contracts", destinationEntityName: "Contract", inverseName: "department", maximumCount: 0,
                deleteRule: .deny)),
            .relationship(
              RelationshipDescription(
                name: "visitors", destinationEntityName: "Visitor", inverseName: "host", maximumCount: 0,
                deleteRule: .noAction)),
          ]),
        EntityDescription(
          name: "Person",
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string)),
            .attribute(AttributeDescription(name: "age", type: .integer32)),
            .attribute(AttributeDescription(name: "mood", type: .undefined, isTransient: true)),
            .attribute(AttributeDescription(name: "address", type: .composite("Address"))),
            .relationship(
              RelationshipDescription(name: "department", destinationEntityName: "Department", inverseName: "employees")
            ),
            .relationship(
              RelationshipDescription(name: "spouse", destinationEntityName: "Person", inverseName: "spouse")),
            .relationship(
              RelationshipDescription(
                name: "cousins", destinationEntityName: "Person", inverseName: "cousins", maximumCount: 0)),
            .relationship(
              RelationshipDescription(
                name: "managers", destinationEntityName: "Person", inverseName: "reports", maximumCount: 0)),
            .relationship(
              RelationshipDescription(
                name: "reports", destinationEntityName: "Person", inverseName: "managers", maximumCount: 0)),
            .relationship(
              RelationshipDescription(
                name: "tasks", destinationEntityName: "Task", inverseName: "people", maximumCount: 0, isOrdered: true)),
            .relationship(RelationshipDescription(name: "badge", destinationEntityName: "Badge", inverseName: "owner")),
          ],
          subentities: [
            EntityDescription(
              name: "Employee",
              properties: [
                .attribute(AttributeDescription(name: "salary", type: .double)),
                .attribute(AttributeDescription(name: "hired", type: .date)),
              ],
              subentities: [EntityDescription(name: "Manager")])
          ]),
        EntityDescription(
          name: "Task",
          properties: [
            .attribute(AttributeDescription(name: "title", type: .string)),
            .relationship(
              RelationshipDescription(
                name: "people", destinationEntityName: "Person", inverseName: "tasks", maximumCount: 0)),
          ]),
        EntityDescription(
          name: "Badge",
          properties: [
            .attribute(AttributeDescription(name: "number", type: .integer64)),
            .relationship(
              RelationshipDescription(name: "owner", destinationEntityName: "Person", inverseName: "badge")),
          ]),
        EntityDescription(
          name: "Room",
          properties: [
            .attribute(AttributeDescription(name: "number", type: .integer16)),
            .relationship(
              RelationshipDescription(name: "department", destinationEntityName: "Department", inverseName: "rooms")),
          ]),
        EntityDescription(
          name: "Contract",
          properties: [
            .attribute(AttributeDescription(name: "title", type: .string)),
            .relationship(
              RelationshipDescription(name: "department", destinationEntityName: "Department", inverseName: "contracts")
            ),
          ]),
        EntityDescription(
          name: "Visitor",
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string)),
            .relationship(
              RelationshipDescription(name: "host", destinationEntityName: "Department", inverseName: "visitors")),
            // One way only: nobody tells a visitor that the room is gone.
            .relationship(RelationshipDescription(name: "room", destinationEntityName: "Room", deleteRule: .deny)),
          ]),
        EntityDescription(name: "Thing", isAbstract: true),
      ],
      composites: [
        CompositeDescription(
          name: "Address",
          attributes: [
            AttributeDescription(name: "street", type: .string), AttributeDescription(name: "city", type: .string),
          ])
      ])
  }
}

/// A folder of its own for one test, deleted at its end.
final class TestFolder {
  let path: String
  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("graph-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
  func file(_ name: String) -> String { path + "/" + name }
}

/// A coordinator with one store, and a context on it.
struct Stack {
  let folder: TestFolder
  let coordinator: PersistentStoreCoordinator
  let store: PersistentStore
  let context: ManagedObjectContext

  static let types = ["XML", "BinaryPropertyList", "CSV"]
  static func fileName(_ type: String) -> String {
    switch type {
    case "XML": "store.xml"
    case "CSV": "store.csvstore"
    default: "store.plist"
    }
  }

  init(
    _ type: String = "BinaryPropertyList", model: ManagedObjectModel = CompanyGraph.model, folder: TestFolder? = nil,
    classes: [String: ManagedObject.Type] = [:]
  ) throws {
    self.folder = try folder ?? TestFolder()
    coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    for (name, type) in classes { coordinator.setManagedObjectClass(type, forEntityName: name) }
    store = try coordinator.addPersistentStore(type: type, at: self.folder.file(Stack.fileName(type)))
    context = ManagedObjectContext(coordinator)
  }

  /// The same files, opened by somebody else.
  func reopened() throws -> Stack {
    let type = store.type
    let path = store.path
    let other = PersistentStoreCoordinator(managedObjectModel: store.model, registry: .builtIn)
    let opened = try other.addPersistentStore(type: type, at: path)
    return Stack(folder: folder, coordinator: other, store: opened, context: ManagedObjectContext(other))
  }

  init(
    folder: TestFolder, coordinator: PersistentStoreCoordinator, store: PersistentStore, context: ManagedObjectContext
  ) {
    self.folder = folder
    self.coordinator = coordinator
    self.store = store
    self.context = context
  }

  func insert(_ entity: String, _ values: [String: Any] = [:]) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    for key in values.keys.sorted() { try object.setValue(values[key], forKey: key) }
    return object
  }

  func fetch(_ entity: String) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }

  func first(_ entity: String, _ value: String, _ key: String = "name") throws -> ManagedObject? {
    try fetch(entity).first { $0[key] as? String == value }
  }
}

/// The names at the other end of a relationship, in order.
func names(_ object: ManagedObject, _ key: String, _ name: String = "name") throws -> [String] {
  try object.objects(forRelationshipNamed: key).map { $0[name] as? String ?? "nil" }
}

func sorted(_ object: ManagedObject, _ key: String, _ name: String = "name") throws -> [String] {
  try names(object, key, name).sorted()
}
