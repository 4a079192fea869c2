public import AtomicStoreSPI
import FoundationEssentials

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
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The context that the document is edited in. Its changes are recorded for undo.
  public let managedObjectContext: ManagedObjectContext
  public let undoManager: UndoHistory
  private var store: PersistentStore?

  /// A new document, without a file until it is saved.
  ///
  /// - Parameter classes: The classes of entities' objects, by entity name.
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
  /// - Parameter replaces: Whether what lies there may be replaced.
  /// - Throws: Where it fails the document goes on with the file that it had, changes still pending.
  public func save(to path: String, type: String? = nil, options: StoreOptions = [:], replaces: Bool = false) throws {
    let place = try StorePlace.inspect(path)
    let wasThere = place.holdsContent
    guard let old = store else {
      guard !wasThere || replaces else {
        throw PersistentStoreError(.alreadyExists, "something lies there already", at: StoreLocation(file: path))
      }
      return try saveNew(to: path, type: type, options: options, replaced: wasThere ? place : nil)
    }
    let moved = try persistentStoreCoordinator.migratePersistentStore(
      old, to: path, type: type, options: options, replaces: replaces)
    do {
      try managedObjectContext.save()
      store = moved
    } catch {
      try persistentStoreCoordinator.remove(moved)
      if !wasThere { try? FileManager.default.removeItem(atPath: path) }
      store = try persistentStoreCoordinator.addPersistentStore(
        type: old.type, configurationName: old.configurationName, at: old.path, isReadOnly: old.isReadOnly)
      throw error
    }
  }

  private func saveNew(to path: String, type: String?, options: StoreOptions, replaced: StorePlace?) throws {
    var target = path
    if let replaced {
      // What is replaced stays until the new file is whole: it is written beside it and then moved over.
      target = FilePaths.sibling(of: replaced.resolvedPath)
    }
    let made = try persistentStoreCoordinator.addPersistentStore(
      type: type ?? (try typeName(for: path)), at: target, options: options)
    do {
      try managedObjectContext.save()
      try persistentStoreCoordinator.save(made)
      store = made
      if replaced != nil {
        store = try persistentStoreCoordinator.migratePersistentStore(
          made, to: path, type: made.type, options: options, replaces: true)
        try? FileManager.default.removeItem(atPath: target)
      }
    } catch {
      store = nil
      try? persistentStoreCoordinator.remove(made)
      if replaced != nil { try? FileManager.default.removeItem(atPath: target) }
      throw error
    }
  }

  private func typeName(for path: String) throws(PersistentStoreError) -> String {
    let place = try StorePlace.inspect(path)
    let types = persistentStoreCoordinator.registry.storeTypes(forFileExtension: place.fileExtension)
    guard types.count == 1 else {
      throw PersistentStoreError(
        .unrecognizedFormat, "the extension '\(place.fileExtension)' names no single type: give one",
        at: StoreLocation(file: path))
    }
    return types[0].storeType
  }

  /// Drops all changes and reads the file again, with what others wrote to it. Undo is emptied.
  public func revert() throws {
    managedObjectContext.rollback()
    if let store { try persistentStoreCoordinator.reloadIfChanged(store) }
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
