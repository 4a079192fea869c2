public import AtomicStoreSPI
package import FoundationEssentials

/// Makes one graph of tables that other programs wrote: CSV files, JSON.
///
/// Each table holds the records of one entity. A column is the property of its name, whatever its case and separators:
/// `in_print` is `inPrint`. Keys need not be properties: a record's primary key becomes the object's reference, and a
/// foreign key the relationship to the object that has it, at both ends. Without a model one is inferred from all
/// records.
///
/// ```swift
/// var importer = StoreImporter()
/// importer.model = model
/// let library = try importer.read([ImportSource(path: "authors.csv"), ImportSource(path: "books.csv")])
/// let metadata = StoreMetadata(storeType: "XML")
/// try StoreConverter(registry: .builtIn).write(StoreSnapshot(nodes: library.nodes, metadata: metadata), to: "lib.xml")
/// ```
///
/// All problems are found in one pass, each with file, line, column and property; see ``ImportProblem``. With
/// ``rejectsBadRecords`` the records that have one are left out, and those that refer to them.
public struct StoreImporter: Sendable {
  /// The model; nil to infer one.
  public var model: ManagedObjectModel?
  /// How texts are written.
  package var conventions = TextConventions()
  /// The columns of an entity's primary key, by the entity's name. Without, a column `id`, `ENTITY_id` or `pk` that is
  /// not a property is the key.
  package var keyColumns: [String: [String]] = [:]
  /// Columns that hold foreign keys. Without, a column `RELATIONSHIP` or `RELATIONSHIP_id` is one.
  package var relationshipColumns: [RelationshipColumn] = []
  /// Tables of pairs of keys: for many-to-many relationships.
  package var joinTables: [JoinTable] = []
  /// For an inferred model: types that are not to be found out, by `Entity.property` or `property`.
  package var types: [String: AttributeType] = [:]
  /// Limits on what is read, as for stores: by default the memory for values is limited by the size of the tables.
  package var limits = StoreLimits()
  /// How many problems to look for; nil for all.
  public var maximumProblemCount: Int?
  /// Leave bad records out and go on.
  public var rejectsBadRecords = false
  /// What happens to a record with a key of another record that does not exist, or is left out.
  package var danglingKeys = DanglingKeys.reject
  /// The objects of a store that the records are added to; nil for a new store. Their model is used, and ``model`` has
  /// no effect.
  package var existing: NodeTable?
  /// The last reference that the store of ``existing`` has given out, from its metadata: those of new objects follow on
  /// from it, or from the greatest one that an object has.
  package var lastReference: Int64 = 0
  /// What happens to a record whose object exists already. Without ``existing`` it has no effect.
  package var existingObjects = ExistingObjects.refuse

  /// What happens to a record with a key of another record that does not exist, or is left out. A record of a join
  /// table with such a key is treated alike.
  package enum DanglingKeys: String, Sendable, Hashable, CaseIterable {
    /// It is a problem that ends the import, even with ``StoreImporter/rejectsBadRecords``.
    case refuse
    /// It is a bad record: see ``StoreImporter/rejectsBadRecords``.
    case reject
    /// The record is imported without the key. If the model requires the relationship, it is a bad record.
    case nullify
    /// As ``nullify``; the key is kept in ``StoreImporter/Result/danglingReferences``.
    case keepAsText = "keep-as-text"

    /// Whether records are imported without their dangling keys.
    var removesKeys: Bool { self == .nullify || self == .keepAsText }
  }

  /// What happens to a record whose object exists already.
  package enum ExistingObjects: Sendable, Hashable {
    /// It is a problem.
    case refuse
    /// The object gets the record's values; it keeps those that the table has no column for. Objects are found by
    /// reference: by the record's key.
    case update
    /// The same, with objects found by an attribute's value, by entity. Other records are new objects, whose references
    /// follow on from those of the store.
    case updateByProperty([String: String])

    var entityNames: [String] {
      if case .updateByProperty(let properties) = self { return properties.keys.sorted() }
      return []
    }
  }

  /// Columns that hold keys of other records: one, or as many as the key has.
  package struct RelationshipColumn: Sendable, Hashable {
    /// The entity of the records with the columns.
    var entityName: String
    /// The relationship.
    var relationshipName: String
    /// The names of the columns, in the order of the key's columns. A record without a value in one of them does not
    /// refer to anything.
    var columns: [String]
    /// For an inferred model: the entity that the keys are of.
    package var destinationEntityName: String?

    /// Creates a description of columns.
    package init(
      entityName: String, relationshipName: String, columns: [String], destinationEntityName: String? = nil
    ) {
      self.entityName = entityName
      self.relationshipName = relationshipName
      self.columns = columns
      self.destinationEntityName = destinationEntityName
    }
  }

  /// A table each record of which connects two objects.
  package struct JoinTable: Sendable {
    /// The entity that has the to-many relationship.
    var entityName: String
    /// The relationship.
    var relationshipName: String
    /// The records.
    var source: ImportSource
    /// The columns with keys of ``entityName``, then those with keys of the relationship's destination.
    var columns: [String]
    /// For an inferred model: the entity of the second keys; nil for the one that their column, or the relationship, is
    /// called after.
    package var destinationEntityName: String?

    /// Creates a description of a table.
    package init(
      entityName: String, relationshipName: String, source: ImportSource, columns: [String],
      destinationEntityName: String? = nil
    ) {
      self.entityName = entityName
      self.relationshipName = relationshipName
      self.source = source
      self.columns = columns
      self.destinationEntityName = destinationEntityName
    }
  }

  /// Creates an importer that infers the model, takes RFC 4180, UTF-8 and ISO 8601 for granted, and refuses bad
  /// records.
  public init() {}

  /// What was made of tables.
  public struct Result: Sendable {
    /// The objects, in canonical order.
    public var nodes: NodeTable
    /// Records by source, in the sources' order.
    package var tables: [Table]
    /// Records of ``StoreImporter/joinTables``, in their order: each is a pair.
    package var joinTables: [Table]
    /// Columns that were left out, and ends of relationships that follow from the other end.
    package var notes: [SelectionNote]
    /// What was wrong with the records that were left out.
    public var problems: [ImportProblem]
    /// With ``StoreImporter/DanglingKeys/keepAsText`` the removed keys, as the metadata entry
    /// ``/AtomicStoreSPI/RelationshipRules/danglingReferencesKey`` has them.
    package var danglingReferences: [String: [String]] = [:]
    /// The store that all objects come from, with their references; nil if any came without one.
    package var storeUUID: UUID?
  }

  /// What was made of one table.
  package struct Table: Sendable {
    /// The name of the file.
    package var file: String
    /// The entity of its records.
    package var entityName: String
    /// How many records became objects.
    package var count: Int
    /// The columns of the key.
    package var keyColumns: [String]
    /// The columns that match no property, relationship or key, and were ignored.
    package var ignoredColumns: [String]
    /// How many records were left out.
    package var rejectedCount: Int
    /// The header line and the records that were left out, as the file has them: in its encoding, with its line ends.
    /// Empty without any.
    package var rejected: [UInt8]
  }
}
