public import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// A document: one store, a context to edit it, undo, and the commands that a File menu has.
///
/// It is the guide's persistent document over the same stack: nothing here that could not be done by hand.
///
/// ```swift
/// let document = PersistentDocument(model: model, registry: .builtIn)
/// let person = try document.managedObjectContext.insertNewObject(forEntityName: "Person")
/// try document.save(to: "people.xml")
/// document.undoManager.undo()
/// try document.save(to: "people.csvstore")     // Save As, in another format
/// ```
public final class PersistentDocument {
  /// The coordinator, which has the document's store once there is one.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The context that the document is edited in. Its changes are recorded for undo.
  public let managedObjectContext: ManagedObjectContext
  /// What records the context's changes for undo and redo.
  public let undoManager: UndoHistory
  private var store: PersistentStore?

  /// Creates a document, which has no file until it is saved.
  ///
  /// - Parameters:
  ///   - model: The model of the document's objects.
  ///   - registry: The formats that it can be opened from and saved as.
  ///   - classes: The classes of entities' objects, by entity name.
  public init(model: ManagedObjectModel, registry: StoreRegistry, classes: [String: ManagedObject.Type] = [:]) {
    persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    for (name, type) in classes { persistentStoreCoordinator.setManagedObjectClass(type, forEntityName: name) }
    managedObjectContext = ManagedObjectContext(persistentStoreCoordinator)
    undoManager = UndoHistory()
    managedObjectContext.undoManager = undoManager
  }

  /// Opens the document at a path.
  ///
  /// - Throws: `PersistentStoreError`: `.notFound` where nothing lies there, and what opening a store may throw.
  public convenience init(
    contentsOf path: String, type: String? = nil, options: StoreOptions = [:], isReadOnly: Bool = false,
    model: ManagedObjectModel, registry: StoreRegistry, classes: [String: ManagedObject.Type] = [:]
  ) throws(PersistentStoreError) {
    self.init(model: model, registry: registry, classes: classes)
    guard try StorePlace.inspect(path).holdsContent else {
      throw PersistentStoreError(.notFound, "there is no document", at: StoreLocation(file: path))
    }
    store = try persistentStoreCoordinator.addPersistentStore(
      type: type, at: path, options: options, isReadOnly: isReadOnly)
  }

  /// The document's file; nil for a new one.
  public var path: String? { store?.path }
  /// The registered name of the file's type; nil for a new document.
  public var fileType: String? { store?.type }

  /// Whether there are changes that no file holds.
  public var isDocumentEdited: Bool {
    managedObjectContext.processPendingChanges()
    return managedObjectContext.hasChanges || store?.hasUnsavedMetadata ?? false
  }

  /// Saves the changes into the document's file.
  ///
  /// - Throws: `PersistentStoreError(.notFound)` for a document without a file; ``ManagedObjectError`` as
  ///   ``ManagedObjectContext/save()``.
  public func save() throws {
    guard let store else {
      throw PersistentStoreError(.notFound, "the document has no file yet: save it to one")
    }
    try managedObjectContext.save()
    if store.hasUnsavedMetadata { try persistentStoreCoordinator.save(store) }
  }

  /// Saves the document, its changes included, under another path and perhaps as another type, and goes on with that
  /// file: Save As. The file before stays as it was last saved. Object IDs, undo and objects in memory go on.
  ///
  /// - Parameters:
  ///   - path: The path of the new file.
  ///   - type: A registered name; nil takes the type that the extension of `path` names.
  ///   - options: Options of the new format, by name.
  ///   - replaces: Whether a file that is at `path` may be replaced.
  /// - Throws: `.alreadyExists`, and what saving throws. The document then keeps its file, with changes still pending.
  public func save(to path: String, type: String? = nil, options: StoreOptions = [:], replaces: Bool = false) throws {
    let place = try StorePlace.inspect(path)
    if let store, options.isEmpty, type ?? store.type == store.type, StorePlace.isSame(place, path: store.path) {
      return try save()
    }
    guard !place.holdsContent || replaces else {
      throw PersistentStoreError(.alreadyExists, "something lies there already", at: StoreLocation(file: path))
    }
    guard let store else { return try saveNew(to: place, type: type, options: options) }
    self.store = try persistentStoreCoordinator.migratePersistentStore(
      store, to: path, type: type, options: options, replaces: replaces
    ) { try managedObjectContext.save() }
  }

  private func saveNew(to place: StorePlace, type: String?, options: StoreOptions) throws {
    let type = try type ?? typeName(for: place)
    // What is replaced stays until the document is whole: an empty store beside it is saved over it like any other.
    let path = place.holdsContent ? FilePaths.sibling(of: place.resolvedPath) : place.path
    let made = try persistentStoreCoordinator.addPersistentStore(type: type, at: path, options: options)
    do {
      if place.holdsContent {
        store = try persistentStoreCoordinator.migratePersistentStore(
          made, to: place.path, type: type, options: options, replaces: true
        ) { try managedObjectContext.save() }
      } else {
        try managedObjectContext.save()
        try persistentStoreCoordinator.save(made)
        store = made
      }
    } catch {
      try? persistentStoreCoordinator.remove(made)
      throw error
    }
  }

  private func typeName(for place: StorePlace) throws(PersistentStoreError) -> String {
    let types = persistentStoreCoordinator.registry.storeTypes(forFileExtension: place.fileExtension)
    guard types.count == 1 else {
      throw PersistentStoreError(
        .unrecognizedFormat, "the extension '\(place.fileExtension)' names no single type: give one",
        at: StoreLocation(file: place.path))
    }
    return types[0].storeType
  }

  /// Drops all changes and reads the file again, with what others wrote to it. Undo is emptied.
  ///
  /// - Throws: Where the file cannot be read. Nothing is dropped then.
  public func revert() throws {
    if let store { try persistentStoreCoordinator.reloadIfChanged(store) }
    managedObjectContext.rollback()
    managedObjectContext.refreshAllObjects()
  }

  /// Closes the file. Changes that were not saved are dropped; objects say that their context was reset.
  public func close() throws {
    managedObjectContext.reset()
    if let store { try persistentStoreCoordinator.remove(store) }
    store = nil
  }
}

enum FilePaths {
  /// A name beside a file that nothing has.
  static func sibling(of path: String) -> String {
    let dot = path.lastIndex(of: ".") ?? path.endIndex
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let place = dot > slash ? dot : path.endIndex
    return String(path[..<place]) + "-" + UUID().uuidString + String(path[place...])
  }
}
