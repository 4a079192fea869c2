import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCodecs
import StoreCoordination

/// What `set`, `insert` and `delete` have in common: the store is changed in place with one save, or with -o or
/// --dry-run a copy of it.
struct StoreEdit {
  let store: String
  let source: SourceOptions
  let result: ResultOptions
  let common: CommonOptions
  let allowsEmptyNonOptionalToMany: Bool

  /// What is between reading and saving.
  ///
  /// - Returns: How many objects were concerned.
  typealias Change = (ManagedObjectContext) throws -> Int

  /// - Parameters:
  ///   - verb: What is done, for messages: `set 3 objects of Book`.
  ///   - hint: What follows the message of an error of the objects.
  func run(
    entity: String, verb: String, hint: (ManagedObjectError) -> String = { _ in "" }, _ change: Change
  ) throws {
    do { try write(entity, verb, change) } catch let error as ManagedObjectError {
      var failure = error.failure(in: Input.shown(store))
      failure.message += hint(error)
      throw failure
    }
  }

  private func write(_ entity: String, _ verb: String, _ change: Change) throws {
    if result.output == nil, store != "-" || !result.dryRun, !result.dryRun || !Input.isIncremental(store) {
      return try inPlace(entity, verb, change)
    }
    if result.output == "-" { _ = try result.converter().forStandardOutput() }
    let input = try Input.path(for: store)
    if let output = result.output, Input.isIncremental(input), try isSame(input, output) {
      throw CommandFailure("\(Input.shown(store)) is the store itself: without -o it is changed in place", exitCode: 73)
    }
    var reading = StoreConverter(registry: InstalledFormats.registry)
    reading.model = try source.loadModel(for: store)
    reading.sourceType = source.from
    reading.readOptions = try source.options()
    let (coordinator, original) = try readingTwice { try reading.open(input) }
    defer { withExtendedLifetime(coordinator) {} }
    var before = StoreSnapshot(nodes: try original.nodesWithDeferredValues(), metadata: original.metadata)
    before.metadata.model = before.metadata.model ?? original.model.description
    let (after, count) = try changed(before, entity, change)
    if result.dryRun, result.output == nil || result.output == "-" {
      if result.output == nil { try rehearse(after, at: input) }
      return try showDifferences(before, after, count, verb, entity)
    }
    let report = try result.write(
      after, describedAs: original.type, notes: original.readNotes, madeOf: [original], editing: original,
      mayReplaceSource: result.to == nil || result.to == original.type)
    if result.dryRun { return try showDifferences(before, after, count, verb, entity) }
    try result.tell(
      report, of: store, verb: ("\(verb) \(Diagnostics.count(count, "object")) of \(entity), from", ""),
      json: common.json,
      fields: [("changed", .integer(count))])
  }

  /// Changes the objects of a database in a transaction that is rolled back.
  private func rehearse(_ after: StoreSnapshot, at input: String) throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try source.loadModel(for: store), registry: InstalledFormats.registry)
    let opened = try readingTwice {
      try coordinator.addPersistentStore(
        type: source.from, at: input, options: try source.options(), isReadOnly: true)
    }
    defer { withExtendedLifetime(coordinator) {} }
    guard let graph = try DatabaseGraph(opened, of: coordinator, at: input) else { return }
    _ = try result.write(after, describedAs: opened.type, madeOf: [opened], replacing: opened, read: [graph])
  }

  /// Changes objects in memory.
  private func changed(
    _ snapshot: StoreSnapshot, _ entity: String, _ change: Change
  ) throws -> (StoreSnapshot, count: Int) {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: snapshot.nodes.model, registry: InstalledFormats.registry)
    let store = try coordinator.addStoreInMemory(holding: snapshot)
    let count = try save(coordinator, store, entity, change)
    return (StoreSnapshot(nodes: store.nodes, metadata: store.metadata), count)
  }

  private func isSame(_ store: String, _ output: String) throws -> Bool {
    if store == output { return true }
    guard !Input.isURL(store), !Input.isURL(output) else { return false }
    return StorePath.isSame(try StorePath.inspect(store), path: output)
  }

  private func inPlace(_ entity: String, _ verb: String, _ change: Change) throws {
    guard store != "-" else {
      throw CommandFailure("standard input cannot be changed in place: -o names the store to make", exitCode: 64)
    }
    // A format that keeps an option for writing in its stores is refused by what follows.
    let options = try source.options().merging(parseOptions(result.writeOptions)) { $1 }
    let (count, differing) = try RepeatedSave.changing { () throws -> (Int, (StoreSnapshot, StoreSnapshot)?) in
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try source.loadModel(for: store), registry: InstalledFormats.registry)
      let path = try Input.path(for: store)
      let opened = try readingTwice {
        try coordinator.addPersistentStore(type: source.from, at: path, options: options)
      }
      try result.checkInPlace(opened)
      if !Input.isIncremental(opened.path) { try opened.checkIsChangeable() }
      // The kit's own formats are held to what they keep by their tests.
      coordinator.verifiesSaves = InstalledFormats.origin(of: opened.type) != nil
      guard result.dryRun else { return (try save(coordinator, opened, entity, change), nil) }
      coordinator.rehearsesSaves = true
      let before = StoreSnapshot(nodes: try opened.nodesWithDeferredValues(), metadata: opened.metadata)
      let count = try save(coordinator, opened, entity, change)
      return (count, (before, StoreSnapshot(nodes: try opened.nodesWithDeferredValues(), metadata: opened.metadata)))
    }
    if let (before, after) = differing { return try showDifferences(before, after, count, verb, entity) }
    if common.json {
      let answer = JSONValue.object([("store", .string(Input.shown(store))), ("changed", .integer(count))])
      return try Diagnostics.put(answer.text + "\n", after: "the change was saved")
    }
    guard isatty(STDERR_FILENO) == 1 else { return }
    Diagnostics.say("\(verb) \(Diagnostics.count(count, "object")) of \(entity) in \(Input.shown(store))")
  }

  /// Changes objects of an open store and saves them, all or nothing.
  private func save(
    _ coordinator: PersistentStoreCoordinator, _ store: PersistentStore, _ entity: String, _ change: Change
  ) throws -> Int {
    coordinator.allowsEmptyNonOptionalToMany = allowsEmptyNonOptionalToMany
    _ = try store.model.entity(asked: entity)
    let context = ManagedObjectContext(coordinator)
    let count = try change(context)
    try context.save()
    return count
  }

  private func showDifferences(
    _ before: StoreSnapshot, _ after: StoreSnapshot, _ count: Int, _ verb: String, _ entity: String
  ) throws {
    let differences = GraphComparison.differences(
      before, after, options: .init(comparesIdentity: false, comparesMetadata: false))
    if common.json {
      return try Diagnostics.put(
        JSONValue.object([
          ("store", .string(Input.shown(store))), ("changed", .integer(count)), ("dryRun", .boolean(true)),
          ("differences", .array(differences.map(\.json))),
        ]).text + "\n")
    }
    try Diagnostics.lines(differences) { ("\($0)", $0.color) }
    if isatty(STDERR_FILENO) == 1 {
      Diagnostics.say("would \(verb) \(Diagnostics.count(count, "object")) of \(entity)")
    }
  }
}
