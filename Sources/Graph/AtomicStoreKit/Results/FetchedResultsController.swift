import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// The results of a fetch request, in sections, kept up to date while the context changes.
///
/// ```swift
/// let request = FetchRequest<Employee>(
///   entityName: "Employee", sortKeys: [SortKey("department.name"), SortKey("name")])
/// let controller = FetchedResultsController(
///   fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "department.name")
/// controller.didChangeContent = { changes in list.apply(changes) }
/// try controller.performFetch()
/// ```
///
/// The controller looks at what the context's observers are notified of, so results change when pending changes are
/// processed. It looks at changed objects only, in time proportional to their number; a request whose predicate, sort
/// keys or sections follow relationships is fetched again whenever anything changes, and so is one with a limit, an
/// offset, or a filter. Objects with equal sort values stay in the order in which they came.
public final class FetchedResultsController<Result: ManagedObject> {
  /// The request. To change it, create another controller.
  public let fetchRequest: FetchRequest<Result>
  /// The context of the objects.
  public let managedObjectContext: ManagedObjectContext
  /// The key path whose values divide the results into sections; nil for one section. The first sort key should order
  /// the objects in the same way; otherwise a section is where its first object is.
  public let sectionNameKeyPath: String?
  /// Called after an event that changed the results. It may change objects, but not save: see
  /// ``ManagedObjectContext/perform(_:)``.
  public var didChangeContent: ((FetchedResultsChanges<Result>) -> Void)?
  /// Returns the index title of a section with that name. By default, the first letter in upper case.
  public var sectionIndexTitle: (String) -> String? = { name in name.first.map { $0.uppercased() } }
  /// Why the results could not be brought up to date after the latest event; nil if they could.
  public private(set) var error: (any Error)?

  private var order: FetchedResultsOrder<Result>
  private var list = FetchedResultsList<Result>()
  private var observation: Observation?
  private var streams: [AsyncStream<FetchedResultsSnapshot>.Continuation] = []
  /// The index of each object, for lists that are not in the order of the sort keys.
  private var regroupedIndex: [ObjectIdentifier: Int]?

  /// Creates a controller without results: call ``performFetch()``.
  public init(
    fetchRequest: FetchRequest<Result>, managedObjectContext: ManagedObjectContext, sectionNameKeyPath: String? = nil
  ) {
    self.fetchRequest = managedObjectContext.named(fetchRequest)
    self.managedObjectContext = managedObjectContext
    self.sectionNameKeyPath = sectionNameKeyPath
    order = FetchedResultsOrder(keys: fetchRequest.sortKeys, sectionKeyPath: sectionNameKeyPath)
  }

  /// Creates a controller without results, whose sections are the values of a key path.
  public convenience init<Value: ComparablePropertyValue>(
    fetchRequest: FetchRequest<Result>, managedObjectContext: ManagedObjectContext,
    sectionNameKeyPath: KeyPath<Result, Value>
  ) {
    self.init(
      fetchRequest: fetchRequest, managedObjectContext: managedObjectContext,
      sectionNameKeyPath: sectionNameKeyPath.keyPathText)
  }

  deinit { for stream in streams { stream.finish() } }

  /// Fetches the objects, and begins to follow their changes. ``didChangeContent`` is not called.
  ///
  /// - Throws: as ``ManagedObjectContext/fetch(_:)``; `.invalidFetch` for a section key path that leads to objects.
  public func performFetch() throws {
    try fetchAll()
    list = order.list
    regroupedIndex = nil
    error = nil
    if observation == nil {
      managedObjectContext.options.hasLiveResults = true
      observation = managedObjectContext.observe { [weak self] event in self?.follow(event) }
    }
    publishSnapshot()
  }

  /// A request that leaves out pending changes orders objects, and divides them, by the values that their stores have.
  private func fetchAll() throws {
    try managedObjectContext.withStoredValues(of: try managedObjectContext.fetch(fetchRequest), fetchRequest) {
      try order.reset(to: $0, from: $1)
    }
  }

  // MARK: Results

  /// The objects, in order; nil before ``performFetch()``.
  public var fetchedObjects: [Result]? { observation == nil ? nil : list.objects() }
  /// The number of objects.
  public var count: Int { list.entries.count }

  /// The sections, in order; nil before ``performFetch()``. Without a section key path there is one, with the name "".
  public var sections: [FetchedResultsSection<Result>]? {
    guard observation != nil else { return nil }
    return list.sections.indices.map { section in
      let name = list.name(ofSection: section)
      return FetchedResultsSection(
        name: name, indexTitle: sectionNameKeyPath == nil ? nil : sectionIndexTitle(name),
        objects: list.objects(ofSection: section))
    }
  }

  /// Returns the object at a position; nil if there is none.
  public func object(at index: FetchedResultsIndex) -> Result? {
    guard list.sections.indices.contains(index.section), index.item >= 0,
      index.item < list.sections[index.section].range.count
    else { return nil }
    return list.entries[list.sections[index.section].range.lowerBound + index.item].object
  }

  /// Returns the position of an object; nil if it is not among the results.
  public func index(of object: Result) -> FetchedResultsIndex? {
    guard list.isRegrouped else { return order.place(of: object).map { list.index(at: $0) } }
    let known =
      regroupedIndex
      ?? Dictionary(
        list.objects().enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
    regroupedIndex = known
    return known[ObjectIdentifier(object)].map { list.index(at: $0) }
  }

  /// The index titles of the sections, each once, in order.
  public var sectionIndexTitles: [String] {
    guard sectionNameKeyPath != nil else { return [] }
    var seen: Set<ScalarString> = []
    return list.sections.indices.compactMap { sectionIndexTitle(list.name(ofSection: $0)) }.filter {
      seen.insert(ScalarString($0)).inserted
    }
  }

  /// Returns the first section with an index title; nil if there is none.
  public func section(forSectionIndexTitle title: String) -> Int? {
    list.sections.indices.first {
      sectionIndexTitle(list.name(ofSection: $0)).map { $0.utf8.elementsEqual(title.utf8) } ?? false
    }
  }

  // MARK: Following changes

  private func follow(_ event: ContextEvent) {
    switch event {
    case .objectsDidChange(let changes) where changes.isAllInvalidated: forgetResults()
    case .objectsDidChange(let changes): update(changes)
    case .didSave(let changes):
      if !fetchRequest.includesPendingChanges { update(changes) }
      // New objects have other IDs now.
      if changes.inserted.contains(where: { order.contains($0) }) { publishSnapshot() }
    case .willSave: break
    }
  }

  /// The context was reset, and the results with it: as before ``performFetch()``.
  private func forgetResults() {
    observation = nil
    // An empty list has no values that could not be sorted.
    try? order.reset(to: [])
    list = order.list
    regroupedIndex = nil
    error = nil
  }

  private func update(_ changes: ObjectChanges) {
    let updated = changes.updated + changes.refreshed
    var touch: FetchedResultsTouch<Result>?
    do {
      // After an error no one knows which changes were missed.
      if error != nil || needsWholeFetch {
        try fetchAll()
      } else {
        let touched = changes.inserted + updated
        let present = try touched.compactMap { try result($0) }
        let gone = (changes.deleted + changes.invalidated + touched).filter { order.contains($0) }
        guard !gone.isEmpty || !present.isEmpty else { return }
        var seen: Set<ObjectIdentifier> = []
        touch = try order.update(removing: gone, adding: present.filter { seen.insert(ObjectIdentifier($0)).inserted })
      }
      error = nil
    } catch {
      self.error = error
      return
    }
    let old = list
    list = order.list
    regroupedIndex = nil
    let kept = Set(updated.lazy.filter { self.order.contains($0) }.map { ObjectIdentifier($0) })
    let diff = FetchedResultsDiff(old: old, new: list)
    let difference = touch.flatMap { diff.changes(of: $0, updated: kept) } ?? diff.changes(updated: kept)
    guard !difference.isEmpty else { return }
    didChangeContent?(difference)
    publishSnapshot()
  }

  private lazy var needsWholeFetch = fetchRequest.needsWholeFetch(
    sectionedBy: sectionNameKeyPath, in: managedObjectContext.managedObjectModel)

  /// The object, if it belongs to the results.
  private func result(_ object: ManagedObject) throws -> Result? {
    guard object.managedObjectContext === managedObjectContext, !object.isDeleted, object.isReachable else {
      return nil
    }
    guard fetchRequest.isOfEntity(object), let typed = object as? Result else { return nil }
    guard let predicate = fetchRequest.predicate else { return typed }
    return try PredicateEvaluator(object, now: Date()).evaluate(predicate) ? typed : nil
  }

  // MARK: Snapshots

  /// The results as IDs, for use outside the context: those of now, and those after each event that changes them. A
  /// consumer that is slower than the changes gets only the latest. The stream ends with the controller.
  public func snapshots() -> AsyncStream<FetchedResultsSnapshot> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: FetchedResultsSnapshot.self, bufferingPolicy: .bufferingNewest(1))
    streams.append(continuation)
    if observation != nil { continuation.yield(snapshot) }
    return stream
  }

  /// The results as IDs.
  public var snapshot: FetchedResultsSnapshot { list.snapshot }

  private func publishSnapshot() {
    guard !streams.isEmpty else { return }
    let now = snapshot
    streams.removeAll {
      if case .terminated = $0.yield(now) { true } else { false }
    }
  }
}
