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

  /// - Parameter verb: What is done, for messages: `set 3 objects of Book`.
  func run(entity: String, verb: String, _ change: Change) throws {
    if result.output == nil, !result.dryRun { return try inPlace(entity, verb, change) }
    if result.output == "-" { _ = try result.converter().forStandardOutput() }
    let input = try Input.path(for: store)
    if let output = result.output, Input.isIncremental(input), try isSame(input, output) {
      throw CommandFailure("\(Input.shown(store)) is the store itself: without -o it is changed in place", exitCode: 73)
    }
    var copying = StoreConverter(registry: InstalledFormats.registry)
    copying.model = try source.loadModel(for: store)
    copying.sourceType = source.from
    copying.readOptions = try source.options()
    // The kit's fastest format keeps everything, the model included.
    copying.targetType = "BinaryPropertyList"
    let copy = Input.temporaryPath("copy.plist", shownAs: store)
    defer { unlink(copy) }
    var converter = try result.converter()
    let original = try readingTwice { try self.copy(input, to: copy, copying, for: converter) }
    defer { withExtendedLifetime(original) {} }
    converter.editedStore = original?.1
    let count = try save(copy, nil, [:], entity, change) { _ in }
    if result.dryRun, result.output == nil || result.output == "-" {
      return try showDifferences(input, copying, copy, count, verb, entity)
    }
    let (coordinator, changed) = try converter.open(copy)
    defer { withExtendedLifetime(coordinator) {} }
    if result.dryRun, let output = result.output {
      try ResultPlace.check(output)
      _ = try converter.convert(changed, to: output)
      return try showDifferences(input, copying, copy, count, verb, entity)
    }
    let report =
      result.output == "-"
      ? try converter.convertToStandardOutput(changed) : try converter.convert(changed, to: result.output ?? "")
    try result.tell(
      report, of: store, verb: ("\(verb) \(Diagnostics.count(count, "object")) of \(entity), from", ""),
      json: common.json,
      fields: [("changed", .integer(count))])
  }

  private func isSame(_ store: String, _ output: String) throws -> Bool {
    if store == output { return true }
    guard !Input.isURL(store), !Input.isURL(output) else { return false }
    return StorePath.isSame(try StorePath.inspect(store), path: output)
  }

  /// - Returns: The store that was copied, if it is a file.
  private func copy(
    _ input: String, to copy: String, _ copying: StoreConverter, for converter: StoreConverter
  ) throws -> (PersistentStoreCoordinator, PersistentStore)? {
    var copying = copying
    guard !Input.isIncremental(input) else {
      _ = try copying.convert(from: input, to: copy)
      return nil
    }
    let opened = try copying.open(input)
    // What is not read stays in a result that is a changed copy.
    copying.allowsLoss =
      try result.output.map { try converter.copies(opened.1, to: $0) } ?? opened.1.isEditedInPlace
    _ = try copying.convert(opened.1, to: copy)
    return opened
  }

  private func inPlace(_ entity: String, _ verb: String, _ change: Change) throws {
    guard store != "-" else {
      throw CommandFailure("standard input cannot be changed in place: -o names the store to make", exitCode: 64)
    }
    // A format that keeps an option for writing in its stores is refused by what follows.
    let options = try source.options().merging(parseOptions(result.writeOptions)) { $1 }
    let count = try RepeatedSave.changing {
      try save(try Input.path(for: store), try source.loadModel(for: store), options, entity, change) {
        try result.checkInPlace($0)
        if !Input.isIncremental($0.path) { try $0.checkIsChangeable() }
      }
    }
    if common.json {
      return try Diagnostics.put(
        JSONValue.object([("store", .string(Input.shown(store))), ("changed", .integer(count))]).text + "\n")
    }
    guard isatty(STDERR_FILENO) == 1 else { return }
    Diagnostics.say("\(verb) \(Diagnostics.count(count, "object")) of \(entity) in \(Input.shown(store))")
  }

  /// Opens a store, changes objects and saves them, all or nothing.
  ///
  /// - Parameter check: Called with the open store before anything is changed.
  private func save(
    _ path: String, _ model: ManagedObjectModel?, _ options: StoreOptions, _ entity: String, _ change: Change,
    check: (PersistentStore) throws -> Void
  ) throws -> Int {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: InstalledFormats.registry)
    coordinator.allowsEmptyNonOptionalToMany = allowsEmptyNonOptionalToMany
    let opened = try readingTwice {
      try coordinator.addPersistentStore(type: path == store ? source.from : nil, at: path, options: options)
    }
    try check(opened)
    // The kit's own formats are held to what they keep by their tests.
    coordinator.verifiesSaves = InstalledFormats.origin(of: opened.type) != nil
    _ = try opened.model.entity(asked: entity)
    let context = ManagedObjectContext(coordinator)
    let count = try change(context)
    try context.save()
    return count
  }

  private func showDifferences(
    _ input: String, _ converter: StoreConverter, _ copy: String, _ count: Int, _ verb: String, _ entity: String
  ) throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: converter.model, registry: InstalledFormats.registry)
    coordinator.readsIncrementalStoresWhole = true
    let old = try coordinator.addPersistentStore(
      type: converter.sourceType, at: input, options: converter.readOptions, isReadOnly: true)
    let other = PersistentStoreCoordinator(registry: InstalledFormats.registry)
    other.readsIncrementalStoresWhole = true
    let new = try other.addPersistentStore(at: copy, isReadOnly: true)
    if result.output == nil {
      try result.checkInPlace(old)
      try ResultPlace.checkChange(of: old, writeOptions: try parseOptions(result.writeOptions))
    }
    let differences = GraphComparison.differences(
      StoreSnapshot(nodes: try old.nodesWithDeferredValues(), metadata: old.metadata),
      StoreSnapshot(nodes: new.nodes, metadata: new.metadata),
      options: .init(comparesIdentity: false, comparesMetadata: false))
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
