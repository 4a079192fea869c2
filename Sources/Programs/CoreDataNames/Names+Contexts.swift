// The names are Core Data's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import AtomicStoreSPI

extension FetchRequest {
  /// The order of the objects: `sortKeys`.
  public var sortDescriptors: [SortKey]? {
    get { sortKeys.isEmpty ? nil : sortKeys }
    set { sortKeys = newValue ?? [] }
  }
}

extension Hashable where Self: ManagedObject {
  /// Creates a request for the objects of this class's entity.
  public static func fetchRequest() -> FetchRequest<Self> { FetchRequest<Self>() }
}

extension FetchedResultsController {
  /// Creates a controller without results. Nothing is cached, whatever the name.
  public convenience init(
    fetchRequest: FetchRequest<Result>, managedObjectContext context: ManagedObjectContext,
    sectionNameKeyPath: String?, cacheName: String?
  ) {
    self.init(fetchRequest: fetchRequest, managedObjectContext: context, sectionNameKeyPath: sectionNameKeyPath)
  }
}

extension ManagedObject {
  /// Fetches the values of a fault, whatever the key. Properties do so themselves when they are read.
  public func willAccessValue(forKey key: String?) { _ = try? managedObjectContext?.existingObject(with: objectID) }
  /// Does nothing: what is read needs no such call.
  public func didAccessValue(forKey key: String?) {}
}

extension Entity {
  /// Creates an object of an entity and inserts it into a context.
  ///
  /// - Throws: `.undefinedKey` and others, as `insertNewObject(forEntityName:)` of the context; Core Data raises.
  @discardableResult
  public static func insertNewObject(
    forEntityName name: String, into context: ManagedObjectContext
  ) throws(ManagedObjectError) -> ManagedObject { try context.insertNewObject(forEntityName: name) }
  /// The entity with that name; nil if the context's model has none.
  public static func entity(forEntityName name: String, in context: ManagedObjectContext) -> Entity? {
    context.managedObjectModel?.entity(named: name)
  }
}

// MARK: Constants

/// Core Data's name of a merge policy.
public var NSErrorMergePolicy: MergePolicy { .error }
/// Core Data's name of a merge policy.
public var NSMergeByPropertyStoreTrumpMergePolicy: MergePolicy { .mergeByPropertyStoreTrump }
/// Core Data's name of a merge policy.
public var NSMergeByPropertyObjectTrumpMergePolicy: MergePolicy { .mergeByPropertyObjectTrump }
/// Core Data's name of a merge policy.
public var NSOverwriteMergePolicy: MergePolicy { .overwrite }
/// Core Data's name of a merge policy.
public var NSRollbackMergePolicy: MergePolicy { .rollback }

extension MergePolicy {
  /// Core Data's name of `error`.
  public static var errorMergePolicyType: Self { .error }
  /// Core Data's name of `mergeByPropertyStoreTrump`.
  public static var mergeByPropertyStoreTrumpMergePolicyType: Self { .mergeByPropertyStoreTrump }
  /// Core Data's name of `mergeByPropertyObjectTrump`.
  public static var mergeByPropertyObjectTrumpMergePolicyType: Self { .mergeByPropertyObjectTrump }
  /// Core Data's name of `overwrite`.
  public static var overwriteMergePolicyType: Self { .overwrite }
  /// Core Data's name of `rollback`.
  public static var rollbackMergePolicyType: Self { .rollback }

  /// The policy of a type, which is the policy itself.
  public init(merge type: MergePolicy) { self = type }
  /// The type of the policy, which is the policy itself.
  public var mergeType: MergePolicy { self }
}

/// Core Data's name of the type of XML stores.
public let NSXMLStoreType = "XML"
/// Core Data's name of the type of binary stores.
public let NSBinaryStoreType = "CoreDataBinary"
/// Core Data's name of the type of its SQLite stores, which are loaded whole here.
public let NSSQLiteStoreType = "CoreDataSQLite"
/// Core Data's name of the type of stores in memory.
public let NSInMemoryStoreType = "InMemory"
/// An option of stores: whether they are opened read-only.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// An option of stores: whether one of another version of the model is migrated.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// An option of stores: whether the mapping of a migration is inferred, as it always is here.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
