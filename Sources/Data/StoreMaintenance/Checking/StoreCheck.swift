public import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// Finds everything in a store that would make a save or another program fail: values that break the model's rules,
/// required values that are missing, relationships whose ends contradict each other, references to objects that do not
/// exist, values that are not unique.
///
/// A coordinator refuses some of these when it opens a store, at the first one, and the object graph others when an
/// object is saved. The check reads leniently and lists all.
///
/// ```swift
/// let report = StoreCheck(registry: .builtIn).check("Company.xml")
/// for finding in report.findings { print(finding) }
/// ```
public struct StoreCheck: Sendable {
  /// The formats that can be read.
  var registry: StoreRegistry
  /// The model; nil for the one that the store carries, or that follows from its data.
  public var model: ManagedObjectModel?
  /// The store's type; nil to find out.
  package var storeType: String?
  /// Options for the store's format.
  package var options: StoreOptions = [:]
  /// How many findings to list of each kind; nil for all.
  package var maximumFindingCount: Int?
  /// Whether to-manys that are not optional, have no minimum count and are empty are left out: otherwise, they are
  /// warnings.
  var allowsEmptyToManys = false

  /// Creates a check that finds the type out by content and lists everything.
  public init(registry: StoreRegistry) { self.registry = registry }

  /// What was found.
  public struct Report: Sendable {
    /// The findings, by kind, entity and reference.
    public var findings: [CheckFinding]
    /// How many there are of each kind, those that are not listed included.
    package var counts: [CheckFinding.Kind: Int]
    /// How many objects were checked; nil where the store cannot be read.
    public var objectCount: Int?
    /// Why the store could not be read, where that says nothing about what it holds: a file or a database cannot be
    /// reached, is locked, does not exist, or reading it failed. Nil otherwise.
    public var failure: PersistentStoreError?

    /// Whether nothing is wrong; warnings do not count.
    public var isSound: Bool { findings.allSatisfy(\.isWarning) }
  }

  /// Checks the store at a path. A store that cannot be read has one finding, which says why; ``Report/failure`` is the
  /// error if the store itself may be sound.
  public func check(_ path: String) -> Report {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    coordinator.readsIncrementalStoresWhole = true
    // What has a location is a finding.
    coordinator.toldNotes = .withoutLocation
    do throws(PersistentStoreError) {
      let (store, problems) = try openDamaged(path, coordinator)
      return withExtendedLifetime(coordinator) { check(store, problems) }
    } catch {
      var list = FindingList(limit: maximumFindingCount)
      return unreadable(error, &list)
    }
  }

  private func unreadable(_ error: PersistentStoreError, _ list: inout FindingList) -> Report {
    list.add(CheckFinding(kind: .unreadable, message: error.description))
    var report = report(list, nil)
    switch error.code {
    // SQLite cannot open a file: `.cannotCreate`.
    case .inputOutput, .noSpace, .locked, .retry, .unavailable, .timedOut, .notFound, .permissionDenied, .notAuthorized,
      .cannotCreate, .cancelled:
      report.failure = error
    default: break
    }
    return report
  }

  /// Opens the store at a path whatever is wrong with its objects, and checks it.
  ///
  /// - Returns: The store, what is wrong with it, and the coordinator, which must be retained as long as the store is.
  /// - Throws: Why the store cannot be read.
  public func opened(
    _ path: String
  ) throws(PersistentStoreError) -> (coordinator: PersistentStoreCoordinator, store: PersistentStore, report: Report) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    coordinator.readsIncrementalStoresWhole = true
    // What has a location is a finding.
    coordinator.toldNotes = .withoutLocation
    let (store, problems) = try openDamaged(path, coordinator)
    return (coordinator, store, check(store, problems))
  }

  /// Checks an open store: what is wrong with it although it could be opened.
  package func check(_ store: PersistentStore) -> Report { check(store, []) }

  private func check(_ store: PersistentStore, _ problems: [CheckFinding]) -> Report {
    var list = FindingList(limit: maximumFindingCount)
    list.add(store.loadNotes.compactMap(Self.damaged))
    list.add(problems)
    do throws(PersistentStoreError) {
      let nodes = try store.nodesWithDeferredValues()
      check(nodes, &list)
      return report(list, nodes.count)
    } catch {
      return unreadable(error, &list)
    }
  }

  /// Checks objects in memory against their model.
  public func check(_ nodes: NodeTable) -> Report {
    var list = FindingList(limit: maximumFindingCount)
    check(nodes, &list)
    return report(list, nodes.count)
  }

  private func report(_ list: FindingList, _ objectCount: Int?) -> Report {
    Report(findings: list.sorted, counts: list.counts, objectCount: objectCount)
  }

  private func check(_ nodes: NodeTable, _ list: inout FindingList) {
    for warning in nodes.model.warnings where !nodes.model.description.isInferred {
      list.add(CheckFinding(kind: .model, message: warning.description, isWarning: true))
    }
    let budget = StepBudget()
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      EntityCheck(nodes, entity, budget).run(&list, mayBeEmpty: { _, _ in allowsEmptyToManys })
    }
    for disagreement in nodes.inverseDisagreements() {
      list.add(
        CheckFinding(
          kind: .inverse, object: disagreement.object, property: disagreement.property,
          value: disagreement.other.description,
          message: "names \(disagreement.other), whose '\(disagreement.inverse)' does not name it back"))
    }
    UniquenessCheck(nodes).run(&list)
    DerivationCheck(nodes).run(&list)
  }

  // MARK: Opening

  /// Opens a store; if objects in it cannot be read, without them.
  private func openDamaged(
    _ path: String, _ coordinator: PersistentStoreCoordinator
  ) throws(PersistentStoreError) -> (PersistentStore, [CheckFinding]) {
    do throws(PersistentStoreError) {
      return try open(path, coordinator)
    } catch {
      let isOfObjects = [.malformed, .invalidValue, .duplicateReference, .modelMismatch].contains(error.code)
      guard isOfObjects, options["damaged"] == nil else { throw error }
      var lenient = self
      lenient.options["damaged"] = RelationshipRules.DamagedObjects.skip.rawValue
      // What also fails then fails for the reason that was found first.
      guard let (store, findings) = try? lenient.open(path, coordinator), store.loadNotes.contains(where: \.isLoss)
      else { throw error }
      return (store, findings)
    }
  }

  private static func damaged(_ note: LoadNote) -> CheckFinding? {
    guard let place = note.location else { return nil }
    var position = StoreLocation(file: place.file, line: place.line, column: place.column, offset: place.offset)
    // Rows that are not objects have a table, and are counted.
    if place.reference == nil { position.entity = place.entity }
    var text = note.count > 1 ? "\(note.text), \(note.count) times" : note.text
    if let example = note.example { text += ", first \(example)" }
    var finding = CheckFinding(kind: .unreadable, property: place.property, message: "\(position): \(text)")
    if let entity = place.entity, let reference = place.reference {
      finding.object = ObjectReference(
        entityName: entity, reference: Int64(reference).map { .integer($0) } ?? .string(reference))
    }
    return finding
  }

  /// Opens a store whatever its relationships are, with what they name that does not exist.
  private func open(
    _ path: String, _ coordinator: PersistentStoreCoordinator
  ) throws(PersistentStoreError) -> (PersistentStore, [CheckFinding]) {
    var options = options
    let isAsked = options["dangling"] != nil
    if !isAsked { options["dangling"] = RelationshipRules.DanglingReferences.keepAsText.rawValue }
    do throws(PersistentStoreError) {
      let kept = try PersistentStoreCoordinator.metadataForPersistentStore(
        type: storeType, at: path, options: self.options, registry: registry
      ).entries[RelationshipRules.danglingReferencesKey]?.dictionaryValue
      let store = try coordinator.addPersistentStoreUnchecked(type: storeType, at: path, options: options)
      return (store, isAsked ? [] : Self.dangling(store, before: kept))
    } catch {
      guard error.code == .invalidOption, !isAsked else { throw error }
      // A format without metadata cannot keep the texts: then they are counted.
      options["dangling"] = RelationshipRules.DanglingReferences.nullify.rawValue
      let store = try coordinator.addPersistentStoreUnchecked(type: storeType, at: path, options: options)
      let notes = store.readNotes.filter { $0.text.hasPrefix("references to objects that do not exist") }
      return (
        store,
        notes.map {
          CheckFinding(
            kind: .dangling, property: $0.subject, message: "\($0.count) references to objects that do not exist")
        }
      )
    }
  }

  /// The references that this opening kept as text, which the store had not kept before.
  private static func dangling(_ store: PersistentStore, before: PropertyListDictionary?) -> [CheckFinding] {
    guard let kept = store.metadata.entries[RelationshipRules.danglingReferencesKey]?.dictionaryValue else { return [] }
    var findings: [CheckFinding] = []
    for entry in kept {
      let known = before?[entry.key]?.arrayValue ?? []
      for case .string(let text) in entry.value.arrayValue ?? [] where !known.contains(.string(text)) {
        findings.append(dangling(owner: entry.key, text, store.model))
      }
    }
    return findings
  }

  /// - Parameter owner: `Employee/3.department`.
  private static func dangling(owner: String, _ text: String, _ model: ManagedObjectModel) -> CheckFinding {
    guard let slash = owner.firstIndex(of: "/"), let dot = owner.lastIndex(of: "."), slash < dot else {
      return CheckFinding(
        kind: .dangling, property: owner, value: text, message: "names \(text), which does not exist")
    }
    let reference = String(owner[owner.index(after: slash)..<dot])
    let slot = model.entity(named: String(owner[..<slash])).flatMap { entity in
      entity.slot(named: String(owner[owner.index(after: dot)...])).map { entity.slots[$0] }
    }
    var message = "names \(text), which does not exist"
    if let found = text.firstIndex(of: "/").flatMap({ model.entity(named: String(text[..<$0])) }),
      let destination = slot?.destination.map({ model.entity(at: $0) }), !found.isKindOf(entity: destination)
    {
      // The text has the entity of the object that has the reference: of a missing one, that of the relationship.
      message = "names \(text), which is not a \(destination.name)"
    }
    return CheckFinding(
      kind: .dangling,
      object: ObjectReference(
        entityName: String(owner[..<slash]),
        reference: Int64(reference).map { .integer($0) } ?? .string(reference)),
      property: String(owner[owner.index(after: dot)...]), value: text, message: message)
  }
}
