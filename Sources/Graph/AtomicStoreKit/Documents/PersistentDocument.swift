public import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// A document: one store, a context to edit it, undo, and the commands of a File menu.
///
/// It corresponds to Core Data's persistent document and uses only public API of the stack.
///
/// ```swift
/// let document = PersistentDocument(model: model, registry: .builtIn)
/// let person = try document.managedObjectContext.insertNewObject(forEntityName: "Person")
/// try document.save(to: "people.xml")
/// document.undoManager.undo()
/// try document.save(to: "people.csvstore")     // Save As, in another format
/// ```
public final class PersistentDocument {
  /// The coordinator. It has the document's store once there is one.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The context in which the document is edited. Its changes are recorded for undo.
  public let managedObjectContext: ManagedObjectContext
  /// The history that records the context's changes for undo and redo.
  public let undoManager: UndoHistory
  private var store: PersistentStore?

  /// Creates a document, which has no file until it is saved.
  ///
  /// - Parameters:
  ///   - model: The model of the document's objects.
  ///   - registry: The formats that it can be opened from and saved as.
  ///   - classes: The classes to use for objects, by entity name.
  public init(model: ManagedObjectModel, registry: StoreRegistry, classes: [String: ManagedObject.Type] = [:]) {
    persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    for (name, type) in classes { persistentStoreCoordinator.setManagedObjectClass(type, forEntityName: name) }
    managedObjectContext = ManagedObjectContext(persistentStoreCoordinator)
    undoManager = UndoHistory()
    managedObjectContext.undoManager = undoManager
  }

  /// Opens the document at a path.
  ///
  /// - Throws: `PersistentStoreError`: `.notFound` if there is nothing at the path, and the errors of opening a store.
  public convenience init(
    contentsOf path: String, type: String? = nil, options: StoreOptions = [:], isReadOnly: Bool = false,
    model: ManagedObjectModel, registry: StoreRegistry, classes: [String: ManagedObject.Type] = [:]
  ) throws(PersistentStoreError) {
    self.init(model: model, registry: registry, classes: classes)
    guard try persistentStoreCoordinator.holdsContent(at: path, type: type, options: options) else {
      throw PersistentStoreError(.notFound, "the document does not exist", at: StoreLocation(file: Self.shown(path)))
    }
    store = try persistentStoreCoordinator.addPersistentStore(
      type: type, at: path, options: options, isReadOnly: isReadOnly)
  }

  /// The path of the document's file; nil for a new document.
  public var path: String? { store?.path }
  /// The registered name of the file's type; nil for a new document.
  public var fileType: String? { store?.type }

  /// Whether the document has changes that are not saved to a file.
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
      throw PersistentStoreError(.notFound, "the document has no file yet: use save(to:)")
    }
    try managedObjectContext.save()
    if store.hasUnsavedMetadata { try persistentStoreCoordinator.save(store) }
  }

  /// Saves the document with its unsaved changes to another path, optionally as another type, and continues with that
  /// file (Save As). The previous file keeps its last saved state. Object IDs, the undo history and objects in memory
  /// remain valid.
  ///
  /// - Parameters:
  ///   - path: The path of the new file, or the path or URL of a database.
  ///   - type: A registered name; nil chooses the type by the scheme or the extension of `path`.
  ///   - options: Options of the new format, by name.
  ///   - replaces: Whether a file or database at `path` may be replaced.
  /// - Throws: `.alreadyExists`, and the errors of saving. The document then keeps its file, with changes still
  ///   pending.
  public func save(to path: String, type: String? = nil, options: StoreOptions = [:], replaces: Bool = false) throws {
    let coordinator = persistentStoreCoordinator
    if let store, options.isEmpty, type ?? store.type == store.type,
      try coordinator.isSame(path, type: type, as: store)
    {
      return try save()
    }
    guard try replaces || !coordinator.holdsContent(at: path, type: type, options: options) else {
      throw PersistentStoreError(
        .alreadyExists,
        "a file, directory or database already exists: name another place, or pass replaces: true",
        at: StoreLocation(file: Self.shown(path)))
    }
    guard let store else {
      if try coordinator.isDatabase(path, type: type) {
        return try saveNew(toDatabase: path, type: type, options: options, replaces: replaces)
      }
      return try saveNew(to: try StorePath.inspect(path), type: type, options: options)
    }
    do {
      self.store = try persistentStoreCoordinator.migratePersistentStore(
        store, to: path, type: type, options: options, replaces: replaces
      ) { try managedObjectContext.save() }
    } catch {
      managedObjectContext.readPresentStores()
      throw error
    }
  }

  private func saveNew(to place: StorePath, type: String?, options: StoreOptions) throws {
    let type = try type ?? typeName(for: place)
    // The existing file stays until the new one is complete: an empty store is created beside it, which the save then
    // replaces like any other.
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

  /// Saves a new document as a database, in one transaction: from a store in memory, so that nothing is left of a save
  /// that fails.
  private func saveNew(toDatabase path: String, type: String?, options: StoreOptions, replaces: Bool) throws {
    let made = try persistentStoreCoordinator.addStoreInMemory()
    do {
      store = try persistentStoreCoordinator.migratePersistentStore(
        made, to: path, type: type, options: options, replaces: replaces
      ) { try managedObjectContext.save() }
    } catch {
      managedObjectContext.readPresentStores()
      try? persistentStoreCoordinator.remove(made)
      throw error
    }
  }

  /// A path, or a URL without a password.
  private static func shown(_ path: String) -> String { StoreAddress.withoutPassword(path) }

  private func typeName(for place: StorePath) throws(PersistentStoreError) -> String {
    let types = persistentStoreCoordinator.registry.storeTypes(forFileExtension: place.fileExtension)
    guard types.count == 1 else {
      throw PersistentStoreError(
        .unrecognizedFormat, "the extension '\(place.fileExtension)' does not identify a single type: pass one",
        at: StoreLocation(file: place.path))
    }
    return types[0].storeType
  }

  /// Discards all changes and reads the file again, including what other processes wrote to it. Empties the undo
  /// history.
  ///
  /// - Throws: An error if the file cannot be read. Nothing is discarded then.
  public func revert() throws {
    if let store { try persistentStoreCoordinator.reloadIfChanged(store) }
    managedObjectContext.rollback()
    managedObjectContext.refreshAllObjects()
  }

  /// Closes the file. Unsaved changes are discarded; objects report that their context was reset.
  public func close() throws {
    managedObjectContext.reset()
    if let store { try persistentStoreCoordinator.remove(store) }
    store = nil
  }
}

enum FilePaths {
  /// An unused name in the same directory.
  static func sibling(of path: String) -> String {
    let dot = path.lastIndex(of: ".") ?? path.endIndex
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let place = dot > slash ? dot : path.endIndex
    return String(path[..<place]) + "-" + UUID().uuidString + String(path[place...])
  }
}
