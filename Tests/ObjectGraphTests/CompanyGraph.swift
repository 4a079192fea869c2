import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport

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
            .attribute("name", .string),
            .attribute("budget", .decimal),
            .attribute("floor", .integer16, defaultValue: .integer(1)),
            .attribute("note", .undefined, isTransient: true),
            .attribute("address", .composite("Address")),
            .toMany("employees", "Person", inverse: "department"),
            .toMany("rooms", "Room", inverse: "department", deleteRule: .cascade),
            .toMany("contracts", "Contract", inverse: "department", deleteRule: .deny),
            .toMany("visitors", "Visitor", inverse: "host", deleteRule: .noAction),
          ]),
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("name", .string),
            .attribute("age", .integer32),
            .attribute("mood", .undefined, isTransient: true),
            .attribute("address", .composite("Address")),
            .toOne("department", "Department", inverse: "employees"),
            .toOne("spouse", "Person", inverse: "spouse"),
            .toMany("cousins", "Person", inverse: "cousins"),
            .toMany("managers", "Person", inverse: "reports"),
            .toMany("reports", "Person", inverse: "managers"),
            .toMany("tasks", "Task", inverse: "people", isOrdered: true),
            .toOne("badge", "Badge", inverse: "owner"),
          ],
          subentities: [
            EntityDescription(
              name: "Employee",
              properties: [
                .attribute("salary", .double),
                .attribute("hired", .date),
              ],
              subentities: [EntityDescription(name: "Manager")])
          ]),
        EntityDescription(
          name: "Task",
          properties: [
            .attribute("title", .string),
            .toMany("people", "Person", inverse: "tasks"),
          ]),
        EntityDescription(
          name: "Badge",
          properties: [
            .attribute("number", .integer64),
            .toOne("owner", "Person", inverse: "badge"),
          ]),
        EntityDescription(
          name: "Room",
          properties: [
            .attribute("number", .integer16),
            .toOne("department", "Department", inverse: "rooms"),
          ]),
        EntityDescription(
          name: "Contract",
          properties: [
            .attribute("title", .string),
            .toOne("department", "Department", inverse: "contracts"),
          ]),
        EntityDescription(
          name: "Visitor",
          properties: [
            .attribute("name", .string),
            .toOne("host", "Department", inverse: "visitors"),
            // One way only: a visitor is not notified that the room is gone.
            .toOne("room", "Room", deleteRule: .deny),
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

/// A separate folder for one test, made when it is first needed and deleted at its end.
final class TestFolder {
  lazy var path: String = {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("graph-\(UUID().uuidString)").path
    do { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) } catch {
      preconditionFailure("\(error)")
    }
    isMade = true
    return path
  }()
  private var isMade = false
  init() throws {}
  deinit { if isMade { TemporaryDirectory.remove(path) } }
  func file(_ name: String) -> String { path + "/" + name }
}

/// A coordinator with one store, and a context on it.
struct Stack {
  let folder: TestFolder
  let coordinator: PersistentStoreCoordinator
  let store: PersistentStore
  let context: ManagedObjectContext
  /// Where the store is, with the password that its path leaves out.
  let place: String

  static let types = ["XML", "BinaryPropertyList", "CSV"]
  static func fileName(_ type: String) -> String {
    switch type {
    case "XML": "store.xml"
    case "CSV": "store.csvstore"
    case "SQLiteGraph": "store.sqlgraph"
    default: "store.plist"
    }
  }

  /// The type of stacks that name none: `ATOMICSTORE_TEST_EXTENSION=sqlgraph` has them use a database.
  static let standardType =
    ProcessInfo.processInfo.environment["ATOMICSTORE_TEST_EXTENSION"] == "sqlgraph" ? "SQLiteGraph" : "InMemory"

  /// The server of stacks of the type `PostgreSQL`; nil without one.
  static let server = ProcessInfo.processInfo.environment["ATOMICSTORE_POSTGRES_URL"]?.split(separator: "?").first
    .map(String.init)

  /// Whether stacks that name no type use a store that is loaded: some tests look at what only these have.
  static let isLoaded = standardType == "InMemory"

  /// By default in memory, which other stacks of the process can open: see ``reopened()``.
  init(
    _ type: String = standardType, model: ManagedObjectModel = CompanyGraph.model, folder: TestFolder? = nil,
    classes: [String: ManagedObject.Type] = [:]
  ) throws {
    self.folder = try folder ?? TestFolder()
    coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    for (name, type) in classes { coordinator.setManagedObjectClass(type, forEntityName: name) }
    place =
      switch type {
      case "InMemory": "memory:\(UUID())"
      case "PostgreSQL":
        "\(Self.server ?? "")?schema=test_stack_\(UUID().uuidString.prefix(8).lowercased())_\(getpid())"
      default: self.folder.file(Stack.fileName(type))
      }
    store = try coordinator.addPersistentStore(type: type, at: place)
    context = ManagedObjectContext(coordinator)
  }

  /// The same files, opened by someone else.
  func reopened() throws -> Stack {
    let type = store.type
    let other = PersistentStoreCoordinator(managedObjectModel: store.model, registry: .builtIn)
    let opened = try other.addPersistentStore(type: type, at: place)
    return Stack(folder: folder, coordinator: other, store: opened, context: ManagedObjectContext(other), place: place)
  }

  init(
    folder: TestFolder, coordinator: PersistentStoreCoordinator, store: PersistentStore, context: ManagedObjectContext,
    place: String? = nil
  ) {
    self.place = place ?? store.path
    self.folder = folder
    self.coordinator = coordinator
    self.store = store
    self.context = context
  }

  /// What the store holds, also if it is a database, which is not loaded.
  func storedNodes() throws -> NodeTable { try store.nodesWithDeferredValues() }

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
