public import AtomicStoreSPI

/// The position of an object in the results of a ``FetchedResultsController``: its section, and its index there.
public struct FetchedResultsIndex: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The index of the section.
  public var section: Int
  /// The index of the object in its section.
  public var item: Int

  /// Creates a position.
  public init(section: Int = 0, item: Int) {
    self.section = section
    self.item = item
  }

  public static func < (one: FetchedResultsIndex, other: FetchedResultsIndex) -> Bool {
    (one.section, one.item) < (other.section, other.item)
  }
  public var description: String { "\(section).\(item)" }
}

/// A section of the results of a ``FetchedResultsController``: the objects with one value of the section key path.
public struct FetchedResultsSection<Result: ManagedObject> {
  /// The value of the section key path, as text; empty for null, and if the results have no sections.
  public var name: String
  /// The title in an index: the first letter of the name in upper case, unless the controller says otherwise.
  public var indexTitle: String?
  /// The objects, in order.
  public var objects: [Result]
  /// The number of objects.
  public var numberOfObjects: Int { objects.count }

  /// Creates a section.
  public init(name: String, indexTitle: String? = nil, objects: [Result] = []) {
    self.name = name
    self.indexTitle = indexTitle
    self.objects = objects
  }
}

/// The results of a ``FetchedResultsController`` at one moment, as IDs, for use outside the context.
public struct FetchedResultsSnapshot: Sendable, Hashable {
  /// A section.
  public struct Section: Sendable, Hashable {
    /// The value of the section key path, as text.
    public var name: String
    /// The IDs of the objects, in order.
    public var objectIDs: [ManagedObjectID]
  }
  /// The sections, in order.
  public var sections: [Section]
  /// The IDs of all objects, in order.
  public var objectIDs: [ManagedObjectID] { sections.flatMap(\.objectIDs) }
}
