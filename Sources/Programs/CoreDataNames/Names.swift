public import AtomicStoreSPI

// Core Data's names for the kit's types, so that one source compiles on a Mac and elsewhere:
//
//     #if canImport(CoreData)
//     import CoreData
//     #else
//     import CoreDataNames
//     #endif
//
// `Scripts/core-data-names` compares them with its list.

/// Core Data's name of `ManagedObject`.
public typealias NSManagedObject = ManagedObject
/// Core Data's name of `ManagedObjectID`.
public typealias NSManagedObjectID = ManagedObjectID
/// Core Data's name of `ManagedObjectContext`.
public typealias NSManagedObjectContext = ManagedObjectContext
/// Core Data's name of `ManagedObjectModel`.
public typealias NSManagedObjectModel = ManagedObjectModel
/// Core Data's name of `PersistentStore`.
public typealias NSPersistentStore = PersistentStore
/// Core Data's name of `PersistentStoreCoordinator`.
public typealias NSPersistentStoreCoordinator = PersistentStoreCoordinator
/// Core Data's name of `PersistentStoreDescription`.
public typealias NSPersistentStoreDescription = PersistentStoreDescription
/// Core Data's name of `PersistentContainer`.
public typealias NSPersistentContainer = PersistentContainer
/// Core Data's name of `PersistentDocument`.
public typealias NSPersistentDocument = PersistentDocument
/// Core Data's name of `AtomicStore`.
public typealias NSAtomicStore = AtomicStore
/// Core Data's name of `IncrementalStore`.
public typealias NSIncrementalStore = IncrementalStore
/// Core Data's name of `MergePolicy`.
public typealias NSMergePolicy = MergePolicy
/// Core Data's name of `MergePolicy`.
public typealias NSMergePolicyType = MergePolicy
/// Core Data's name of `MergeConflict`.
public typealias NSMergeConflict = MergeConflict
/// Core Data's name of `QueryGenerationToken`.
public typealias NSQueryGenerationToken = QueryGenerationToken

/// Core Data's name of `Entity`. Models that are built in code consist of `EntityDescription`.
public typealias NSEntityDescription = Entity
/// Core Data's name of `PropertyDescription`.
public typealias NSPropertyDescription = PropertyDescription
/// Core Data's name of `AttributeDescription`.
public typealias NSAttributeDescription = AttributeDescription
/// Core Data's name of `RelationshipDescription`.
public typealias NSRelationshipDescription = RelationshipDescription
/// Core Data's name of `FetchedPropertyDescription`.
public typealias NSFetchedPropertyDescription = FetchedPropertyDescription
/// Core Data's name of `CompositeDescription`.
public typealias NSCompositeAttributeDescription = CompositeDescription
/// Core Data's name of `FetchIndexDescription`.
public typealias NSFetchIndexDescription = FetchIndexDescription
/// Core Data's name of `DeleteRule`.
public typealias NSDeleteRule = DeleteRule

/// Core Data's name of `FetchRequest`.
public typealias NSFetchRequest<Result: ManagedObject> = FetchRequest<Result>
/// Core Data's name of `ManagedObject`.
public typealias NSFetchRequestResult = ManagedObject
/// Core Data's name of `FetchedResultsController`.
public typealias NSFetchedResultsController<Result: ManagedObject> = FetchedResultsController<Result>
/// Core Data's name of `BatchInsertRequest`.
public typealias NSBatchInsertRequest = BatchInsertRequest
/// Core Data's name of `BatchUpdateRequest`.
public typealias NSBatchUpdateRequest = BatchUpdateRequest
/// Core Data's name of `BatchDeleteRequest`.
public typealias NSBatchDeleteRequest = BatchDeleteRequest
/// Core Data's name of `FetchPredicate`.
public typealias NSPredicate = FetchPredicate
/// Core Data's name of `FetchPredicate`.
public typealias NSCompoundPredicate = FetchPredicate
/// Core Data's name of `FetchPredicate`.
public typealias NSComparisonPredicate = FetchPredicate
/// Core Data's name of `FetchExpression`.
public typealias NSExpression = FetchExpression
/// Core Data's name of `SortKey`.
public typealias NSSortDescriptor = SortKey
/// Core Data's name of `UndoHistory`.
public typealias UndoManager = UndoHistory
