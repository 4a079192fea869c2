package import AtomicStoreKit
package import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import FoundationEssentials
import StoreCoordination

/// Values that are set in all objects which fulfil a condition.
struct AskedUpdate: Sendable {
  var values: [String: String]
  var format: String?
}

/// The same random graph in a property list and in an incremental store: what one answers, the other has to.
package struct ComparedStores {
  /// The coordinator of the property list.
  package let property: PersistentStoreCoordinator
  /// The coordinator of the incremental store.
  package let incremental: PersistentStoreCoordinator
  /// The path of the property list.
  package let propertyPath: String
  /// The path or URL of the incremental store.
  package let incrementalPath: String
  private let registry: StoreRegistry
  /// The incremental type: the one whose URL is given, or else the first of the registry.
  private let incrementalType: String?

  /// Fills both: the property list by a context, the incremental store by a conversion, which replaces what is there.
  ///
  /// - Parameters:
  ///   - count: The number of items.
  ///   - registry: The incremental type, and the format of binary property lists.
  package init(
    seed: UInt64, count: Int, propertyPath: String, incrementalPath: String, registry: StoreRegistry
  ) throws {
    (self.propertyPath, self.incrementalPath, self.registry) = (propertyPath, incrementalPath, registry)
    let types = registry.incrementalTypes
    let named = types.first { type in type.urlSchemes.contains { incrementalPath.hasPrefix($0 + ":") } }
    incrementalType = (named ?? types.first)?.storeType
    let list = BinaryPropertyListStore.storeType
    let made = PersistentStoreCoordinator(
      managedObjectModel: try Models.frozen(ItemGraph.description), registry: registry)
    let first = try made.addPersistentStore(type: list, at: propertyPath)
    let context = ManagedObjectContext(made)
    var random = SeededRandom(seed)
    try ItemGraph.fill(context, count, &random)
    try context.save()
    try made.remove(first)
    var converter = StoreConverter(registry: registry)
    converter.sourceType = list
    converter.targetType = incrementalType
    converter.replacesTarget = true
    _ = try converter.convert(from: propertyPath, to: incrementalPath)
    property = PersistentStoreCoordinator(registry: registry)
    try property.addPersistentStore(type: list, at: propertyPath)
    incremental = PersistentStoreCoordinator(registry: registry)
    try incremental.addPersistentStore(type: converter.targetType, at: incrementalPath)
  }

  /// What came of comparing the answers to requests.
  package struct Outcome: Sendable {
    /// How many requests the incremental store answered by itself.
    package var exact = 0
    /// How many it answered with more than was asked for.
    package var partly = 0
    /// The first difference: the request, and both answers. Nil if there is none.
    package var difference: String?
  }

  /// Has random requests answered by both.
  ///
  /// - Parameter edits: The number of changes that are made to both, and not saved, before the requests.
  package func compare(requests count: Int, seed: UInt64, edits: Int) throws -> Outcome {
    var source = RandomRequests(seed: seed, objects: try objects())
    var requests: [FetchRequest<ManagedObject>] = []
    for _ in 0..<count { requests.append(try source.next()) }
    return try compare(requests, seed: seed, edits: edits)
  }

  /// The objects of both, which have the same IDs, and some that do not exist: by an unknown reference, as objects of
  /// another entity, and of another store.
  private func objects() throws -> [ManagedObjectID] {
    let context = ManagedObjectContext(property)
    var ids: [ManagedObjectID] = []
    for entity in try Models.frozen(ItemGraph.description).entities where entity.superentity == nil {
      ids += try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name)).map(\.objectID)
    }
    guard let first = ids.first, let store = first.storeIdentifier, let reference = first.reference else { return ids }
    let others = ["Item", "Special"].filter { $0 != first.entityName }
    ids += others.map { ManagedObjectID(storeIdentifier: store, entityName: $0, reference: reference) }
    ids += [.integer(1 << 40), .integer(.min), .string("none")].map {
      ManagedObjectID(storeIdentifier: store, entityName: "Item", reference: $0)
    }
    return ids + [ManagedObjectID(storeIdentifier: UUID(), entityName: first.entityName, reference: reference)]
  }

  /// Has requests answered by both.
  package func compare(
    _ requests: [FetchRequest<ManagedObject>], seed: UInt64 = 1, edits: Int = 0
  ) throws -> Outcome {
    let (one, other) = try contexts(seed, edits)
    var outcome = Outcome()
    for request in requests {
      let explanation = try other.explain(request)
      switch explanation.method {
      case .store: outcome.exact += 1
      case .storeAndObjects: outcome.partly += 1
      default: break
      }
      let expected = try one.fetch(request)
      let found = try other.fetch(request)
      var wrong = Self.difference(expected.map(Self.name), found.map(Self.name))
      if wrong == nil {
        let count = try other.count(for: request)
        if count != expected.count { wrong = ("a count of \(expected.count)", "a count of \(count)") }
      }
      if wrong == nil, let object = expected.last, let twin = found.last {
        wrong = Self.difference(try Self.values(object), try Self.values(twin))
      }
      if let (wanted, got) = wrong {
        outcome.difference = "\(Self.text(request)) (\(explanation)): expected \(wanted), found \(got)"
        break
      }
    }
    return outcome
  }

  /// A context of each store, with the same unsaved changes.
  private func contexts(_ seed: UInt64, _ edits: Int) throws -> (ManagedObjectContext, ManagedObjectContext) {
    let (one, other) = (ManagedObjectContext(property), ManagedObjectContext(incremental))
    for context in [one, other] where edits > 0 {
      var random = SeededRandom(seed &+ 1)
      try ItemGraph.edit(context, edits, &random)
    }
    return (one, other)
  }

  /// Has random requests for groups answered by both.
  package func compareGroups(requests count: Int, seed: UInt64, edits: Int = 0) throws -> Outcome {
    var source = RandomRequests(seed: seed, objects: try objects())
    var requests: [FetchRequest<ManagedObject>] = []
    for _ in 0..<count { requests.append(try source.nextGrouped()) }
    return try compareRows(requests, seed: seed, edits: edits)
  }

  /// Has requests for rows answered by both. Errors are compared, too.
  package func compareRows(
    _ requests: [FetchRequest<ManagedObject>], seed: UInt64 = 1, edits: Int = 0
  ) throws -> Outcome {
    let (one, other) = try contexts(seed, edits)
    var outcome = Outcome()
    for request in requests {
      let explanation = Result { try other.explain(request) }
      switch try? explanation.get().method {
      case .store: outcome.exact += 1
      case nil: break
      default: outcome.partly += 1
      }
      guard let (wanted, got) = Self.difference(Self.rows(one, request), Self.rows(other, request)) else { continue }
      let columns = request.propertiesToFetch.map(\.name).joined(separator: ", ")
      outcome.difference =
        "\(columns) of \(Self.text(request)) by \(request.propertiesToGroupBy.map(\.name).joined(separator: ", ")) having \(request.havingPredicate.map { "\($0)" } ?? "nothing") (\(explanation)): expected \(wanted), found \(got)"
      break
    }
    return outcome
  }

  /// The rows as text, or the error.
  private static func rows(_ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>) -> [String] {
    func text(_ value: FetchedRow.Value) -> String {
      switch value {
      case .value(let value): value.typedText
      case .object(let id): "\(id.entityName)/" + (id.reference.map { "\($0)" } ?? "new")
      case .list(let list): "[" + list.map(text).joined(separator: ", ") + "]"
      }
    }
    do {
      return try context.fetchRows(request).map { $0.values.map(text).joined(separator: " | ") }
    } catch {
      return ["\(error)"]
    }
  }

  private static func difference(_ expected: [String], _ found: [String]) -> (String, String)? {
    guard !expected.elementsEqual(found, by: { $0.utf8.elementsEqual($1.utf8) }) else { return nil }
    return ("\(expected)", "\(found)")
  }

  /// The request as people write it.
  private static func text(_ request: FetchRequest<ManagedObject>) -> String {
    var text = request.entityName + (request.includesSubentities ? "" : " without sub-entities")
    if let predicate = request.predicate { text += " where \(predicate)" }
    let keys = request.sortKeys.map { $0.keyPath + ($0.isAscending ? "" : " descending") }
    if !keys.isEmpty { text += " sorted by \(keys.joined(separator: ", "))" }
    if request.fetchOffset > 0 { text += " offset \(request.fetchOffset)" }
    if request.fetchLimit > 0 { text += " limit \(request.fetchLimit)" }
    return text
  }

  /// What an object is called; all that are not saved yet have one name.
  private static func name(_ object: ManagedObject) -> String {
    "\(object.entity.name)/" + (object.objectID.reference.map { "\($0)" } ?? "new")
  }

  /// The attributes of an object, and the sizes of its to-manys.
  private static func values(_ object: ManagedObject) throws -> [String] {
    try object.entity.slots.map { slot in
      switch slot.kind {
      case .attribute: "\(slot.name) = \(try object.value(forKey: slot.name).map { "\($0)" } ?? "nil")"
      case .toOne: "\(slot.name) → \((try object.value(forKey: slot.name) as? ManagedObject).map(name) ?? "nil")"
      case .toMany: "\(slot.name) → \(try object.objects(forRelationshipNamed: slot.name).map(name).sorted())"
      }
    }
  }

  // MARK: Saved changes

  /// Has updates of many objects made by both, as the kit makes them where it need not look at objects, and otherwise
  /// by a batch request.
  ///
  /// - Returns: The first difference: of errors, of the changed objects, of what the history names, or of the values.
  func compareUpdates(_ updates: [AskedUpdate]) throws -> String? {
    for asked in updates {
      var found: [[String]] = []
      for coordinator in [property, incremental] {
        found.append(try Self.names(of: asked, changedIn: coordinator))
      }
      let text = "\(asked.values) where \(asked.format ?? "TRUEPREDICATE")"
      if let (wanted, got) = Self.difference(found[0], found[1]) {
        return "the objects changed by \(text): expected \(wanted), found \(got)"
      }
      if let difference = try differences().first { return "after \(text): \(difference)" }
    }
    return try refusedUpdate()
  }

  /// Asks for an update of objects of which one must not be there.
  private func refusedUpdate() throws -> String? {
    guard let store = incremental.persistentStores.first, let item = store.model.entity(named: "Item"),
      let slot = item.slot(named: "small")
    else { return "the store is not open" }
    let rows = StoreFetch(entity: item.index, entities: item.hierarchy.filter { !$0.isAbstract }.map(\.index))
    let refused = try FetchPredicate(format: "name != nil")
    let changed = try incremental.update(
      store,
      StoreUpdate(
        rows: rows, values: [(slot, .constant(.integer(5)))], refused: [(item.index, refused)], author: nil,
        contextName: nil))
    if let changed { return "\(changed.count) objects were updated though \(refused) was refused" }
    return try differences().first.map { "an update that was refused has changed \($0)" }
  }

  /// Makes an update. The objects that the history of the store names have to be those that the result does.
  private static func names(
    of asked: AskedUpdate, changedIn coordinator: PersistentStoreCoordinator
  ) throws -> [String] {
    let context = ManagedObjectContext(coordinator)
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.predicate = try asked.format.map { try FetchPredicate(format: $0) }
    let values = try asked.values.mapValues { try FetchExpression(format: $0) }
    let stores = coordinator.persistentStores.filter { $0.connection != nil }
    let tokens = try stores.map { try coordinator.currentHistoryToken(of: $0) }
    let versions = try stores.map { try Self.versions(of: context, in: $0) }
    let ids: [ManagedObjectID]
    do {
      let rows = values.sorted { $0.key < $1.key }.map { RowAssignment($0.key, .expression($0.value)) }
      ids =
        try context.updateRows(request, rows)?.ids
        ?? context.execute(
          BatchUpdateRequest(
            entityName: "Item", predicate: request.predicate, propertiesToUpdate: values.mapValues { $0 as Any? })
        ).objectIDs
    } catch {
      return ["\(error)"]
    }
    let names = ids.map { "\($0.entityName)/" + ($0.reference.map { "\($0)" } ?? "new") }.sorted()
    for (place, store) in stores.enumerated() {
      let after = try Self.versions(of: context, in: store)
      let same = ids.filter { id in id.reference.map { after[$0] == versions[place][$0] } ?? true }
      if !same.isEmpty { return names + ["with the row versions of before:"] + same.map { "\($0)" } }
      // Some stores have no history.
      guard try tokens[place] != nil || coordinator.currentHistoryToken(of: store) != nil else { continue }
      let noted = try coordinator.changes(since: tokens[place], in: store).flatMap(\.changes)
        .map { "\($0.object)" }.sorted()
      if noted != names { return names + ["in the history:"] + noted }
    }
    return names
  }

  /// The row versions of all items.
  private static func versions(
    of context: ManagedObjectContext, in store: PersistentStore
  ) throws -> [ReferenceObject: Int64] {
    guard let connection = store.connection, let root = store.model.entity(named: "Item")?.root.index else {
      return [:]
    }
    let references = try context.fetchObjectIDs(FetchRequest<ManagedObject>(entityName: "Item"))
      .compactMap(\.reference)
    let rows = try connection.use { store throws(PersistentStoreError) in try store.rows(references, root: root) }
    return Dictionary(rows.map { ($0.reference, $0.version) }) { first, _ in first }
  }

  /// Makes random changes to both and saves them, several times.
  ///
  /// - Returns: How the errors of the saves differ; nil if they do not.
  package func save(rounds: Int, seed: UInt64) throws -> String? {
    for round in 0..<rounds {
      var errors: [String] = []
      for coordinator in [property, incremental] {
        let context = ManagedObjectContext(coordinator)
        var random = SeededRandom(seed &* 100 &+ UInt64(round))
        try ItemGraph.edit(context, 8, &random)
        do {
          try context.save()
          errors.append("no error")
        } catch { errors.append("\(error)") }
      }
      if errors[0] != errors[1] { return "expected \(errors[0]), found \(errors[1])" }
    }
    return nil
  }

  /// How the contents of both differ, value by value: ten differences at most.
  package func differences() throws -> [String] {
    try differences(incrementalPath, incrementalType)
  }
  /// How another store of the incremental type differs from the property list.
  package func differences(inStoreAt path: String) throws -> [String] { try differences(path, incrementalType) }
  /// How a property list differs from the one that was compared.
  func differences(at path: String) throws -> [String] {
    try differences(path, BinaryPropertyListStore.storeType)
  }

  private func differences(_ path: String, _ type: String?) throws -> [String] {
    let one = try texts(propertyPath, BinaryPropertyListStore.storeType)
    let other = try texts(path, type)
    guard one != other else { return [] }
    return one.difference(from: other).prefix(10).map { "\($0)" }
  }

  /// All values of a store. Objects are called by their position: blocks of references that were not used up make other
  /// numbers.
  private func texts(_ path: String, _ type: String?) throws -> [String] {
    let coordinator = PersistentStoreCoordinator(registry: registry)
    coordinator.readsIncrementalStoresWhole = true
    let store = try coordinator.addPersistentStore(type: type, at: path, isReadOnly: true)
    let nodes = try store.nodes.canonical()
    var names: [ObjectReference: String] = [:]
    for entity in nodes.model.entities {
      for (position, node) in nodes.handles(of: entity.index).enumerated() {
        names[nodes.objectReference(of: node)] = "\(entity.name)#\(position)"
      }
    }
    var lines: [String] = []
    for entity in nodes.model.entities {
      for node in nodes.handles(of: entity.index) {
        for slot in entity.slots {
          let text: String
          switch nodes.value(slot: slot.index, of: node) {
          case .toOne(let other): text = names[other] ?? "?"
          case .toMany(let list):
            let found = list.map { names[$0] ?? "?" }
            text = (slot.isOrdered ? found : found.sorted()).joined(separator: ",")
          case let value: text = value.typedText
          }
          lines.append("\(names[nodes.objectReference(of: node)] ?? "?").\(slot.name) = \(text)")
        }
      }
    }
    return lines
  }
}
