import ArgumentParser
import AtomicStoreKit
package import CommandSupport
import FoundationEssentials
import ModelFiles
import StoreCoordination
package import StoreMaintenance
import StoreMigration

struct Merge: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge",
    abstract: "Merge stores into one: 0 merged, 1 conflicts.",
    discussion: """
        atomicstore merge north.xml south.xml -o all.xml
        atomicstore merge mine.xml yours.xml -o all.xml --match Person=mail --on-conflict newest:changed

      References are kept where they do not collide, and reassigned where they do. --match says which objects are the
      same: reference (the default for stores of one UUID), none (the default for others), unique (the model's
      uniqueness constraints), or ENTITY=PROPERTY,PROPERTY. Where the two objects have different values, --on-conflict decides:
      error lists them all and writes nothing, first and last choose a store, newest:PROPERTY the greater value.
      Metadata is merged key by key, by the same rule; newest does not apply to it. Keys that begin with NS or
      AtomicStore are the first store's. A result that would break a rule of the model or a uniqueness constraint is
      refused: exit code 1.

      With --force the result may be one of the stores. A database then gets the difference in one save, and keeps its
      UUID and its history.

      The stores have one model. With --model, those of other versions of it are migrated on the way, as by 'migrate'.

        atomicstore merge north.xml south.xml -o all.xml --model App.xcdatamodeld

      With --base, the version that two stores come from, their changes are merged. As git's merge driver:

        git config merge.atomicstore.driver 'atomicstore merge --base %O %A %B -o %A --force'
        echo '*.xml merge=atomicstore' >> .gitattributes
      """)
  @Argument(help: "The stores, at least two.") var stores: [String]
  @OptionGroup var emptyToMany: EmptyToManyOption
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @Option(help: "The version that two stores come from.") var base: String?
  @Option(help: "Which objects are the same: reference, none, unique, or ENTITY=PROPERTY,… May be repeated.")
  var match: [String] = []
  @Option(name: .customLong("on-conflict"), help: "error, first, last, or newest:PROPERTY.") var conflict = "error"
  @Option(
    help: "The model of the result. Stores of other versions are migrated to it; those without a model are read by it.")
  var model: String?
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard stores.count > 1 else { throw CommandFailure("there are at least two stores to merge", exitCode: 64) }
      guard (stores + [base ?? ""]).count(where: { $0 == "-" }) < 2 else {
        throw CommandFailure("only one store can be standard input", exitCode: 64)
      }
      guard base == nil || stores.count == 2 else {
        throw CommandFailure("--base is for two stores that come from it", exitCode: 64)
      }
      guard result.output != nil else { throw CommandFailure("-o names the store to make", exitCode: 64) }
      let plan = try plan()
      try RepeatedSave.changing(isInPlace: isInPlace) { try merge(plan) }
    }
  }

  /// Whether the result replaces one of the stores.
  private var isInPlace: Bool {
    guard result.force, let output = result.output, output != "-" else { return false }
    return stores.contains { store in
      if store == output { return true }
      guard !Input.isURL(store), !Input.isURL(output), let place = try? StorePath.inspect(store) else { return false }
      return StorePath.isSame(place, path: output)
    }
  }

  /// - Parameter plan: The way to the model of the result, if ``model`` specifies one.
  private func merge(_ plan: MigrationPlan?) throws {
    var coordinators: [PersistentStoreCoordinator] = []
    var databases: [DatabaseGraph] = []
    var known: NodeTable?
    func open(_ path: String) throws -> (store: PersistentStore, nodes: NodeTable) {
      let input = try Input.path(for: path)
      guard let plan else {
        let coordinator = PersistentStoreCoordinator(registry: InstalledFormats.registry)
        coordinators.append(coordinator)
        // Stores that are merged have most columns in common.
        coordinator.similarNodes = known
        defer { coordinator.similarNodes = nil }
        let store = try readingTwice { try coordinator.addPersistentStore(at: input, isReadOnly: true) }
        let graph = try DatabaseGraph(store, of: coordinator, at: path)
        if let graph { databases.append(graph) }
        return (store, try graph?.nodes ?? store.nodesWithDeferredValues())
      }
      let read = try readingTwice {
        try PersistentStoreCoordinator.openMigrated(at: input, by: plan, registry: InstalledFormats.registry)
      }
      coordinators.append(read.coordinator)
      for loss in read.steps.flatMap(\.losses) { Diagnostics.say("lost: \(Input.shown(path)): \(loss)") }
      return (read.store, read.nodes)
    }
    defer { withExtendedLifetime(coordinators) {} }
    let sources = try stores.map { path in
      let source = try open(path)
      if known == nil { known = source.store.nodes }
      return source
    }
    let opened = sources.map(\.store)
    let isOne = Set(opened.map(\.identifier)).count == 1
    var merge = StoreMerge()
    merge.conflictRule = try conflictRule()
    merge.matching = try matching(isOne: isOne)
    merge.allowsEmptyNonOptionalToMany = emptyToMany.isAllowed
    merge.lastReference = opened.map(\.metadata.lastReference).max() ?? 0
    let ancestor = try base.map { try open($0) }
    try checkModels(zip(stores, sources.map(\.nodes)) + (ancestor.map { [(base ?? "", $0.nodes)] } ?? []))
    func snapshot(_ source: (store: PersistentStore, nodes: NodeTable)) -> StoreSnapshot {
      StoreSnapshot(nodes: source.nodes, metadata: source.store.metadata)
    }
    let merged = try merge.merge(sources.map(snapshot), base: ancestor.map(snapshot))
    var metadata = opened[0].metadata
    metadata.entries = merged.metadata
    metadata.model = merged.nodes.model.description
    metadata.lastReference = max(
      opened.map(\.metadata.lastReference).max() ?? 0, merged.nodes.greatestIntegerReference)
    // Stores of different UUIDs together are another store.
    if !isOne { metadata.uuid = UUID() }
    let written = try result.write(
      StoreSnapshot(nodes: merged.nodes, metadata: metadata), describedAs: opened[0].type, madeOf: opened,
      files: baseFiles, editing: opened[0], mayReplaceSource: true, orType: opened[0].type, read: databases)
    try tell(merged, written)
  }

  /// The way to the model that `--model` specifies, for stores of other versions of it.
  private func plan() throws -> MigrationPlan? {
    guard let model else { return nil }
    let path = try Input.path(for: model)
    var plan: MigrationPlan
    if let versions = try? ModelFile.versions(at: path), versions.names.count > 1 {
      plan = try MigrationPlan(versionsAt: path)
    } else {
      plan = MigrationPlan([.inferred(to: try ModelChoice(model).model())])
    }
    plan.allowsLoss = result.allowLoss
    return plan
  }

  /// Refuses stores of different models, and says what to do.
  private func checkModels(_ graphs: [(path: String, nodes: NodeTable)]) throws {
    guard let first = graphs.first else { return }
    for other in graphs.dropFirst() {
      guard
        let differences = first.nodes.modelDifferences(
          from: other.nodes, names: (Input.shown(first.path), Input.shown(other.path)))
      else { continue }
      throw CommandFailure(
        """
        \(Input.shown(first.path)) and \(Input.shown(other.path)) have different models: \(differences)
          (--model MODEL merges them by that model, and migrates those of other versions on the way)
        """, exitCode: 65)
    }
  }

  /// The base, where it is a file: it is read, and not replaced.
  private var baseFiles: [String] { base.map { $0 == "-" || Input.isURL($0) ? [] : [$0] } ?? [] }

  private func matching(isOne: Bool) throws -> StoreMerge.Matching {
    guard let first = match.first else { return isOne || base != nil ? .references : .nothing }
    if match.count == 1 {
      switch first {
      case "reference": return .references
      case "none": return .nothing
      case "unique": return .uniquenessConstraints
      default: break
      }
    }
    var properties: [String: [String]] = [:]
    for text in match {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw CommandFailure("--match takes reference, none, unique or ENTITY=PROPERTY, not '\(text)'", exitCode: 64)
      }
      properties[String(text[..<equals])] = text[text.index(after: equals)...].split(separator: ",").map(String.init)
    }
    return .properties(properties)
  }

  private func conflictRule() throws -> StoreMerge.ConflictRule {
    switch conflict {
    case "error": return .refuse
    case "first": return .first
    case "last": return .last
    default:
      guard conflict.hasPrefix("newest:"), conflict.count > 7 else {
        throw CommandFailure(
          "--on-conflict takes error, first, last or newest:PROPERTY, not '\(conflict)'", exitCode: 64)
      }
      return .newest(String(conflict.dropFirst(7)))
    }
  }

  private func tell(_ merged: StoreMerge.Result, _ report: StoreConverter.Report) throws {
    let renumbered = merged.renumbered.sorted { $0.key < $1.key }
    if !common.json {
      for (entity, count) in renumbered {
        Diagnostics.say("renumbered: \(Diagnostics.count(count, "object")) of \(entity)")
      }
      Diagnostics.say(merged.settled.map { "settled: \($0)" })
    }
    try result.tell(
      report, of: stores.map { Input.shown($0) }.joined(separator: ", "), verb: ("merged", "would merge"),
      json: common.json,
      fields: [
        ("renumbered", .object(renumbered.map { ($0.key, .integer($0.value)) })),
        ("settled", .array(merged.settled.map(\.json))),
      ])
  }
}

extension StoreMerge.Conflict {
  var json: JSONValue {
    .object(
      [
        ("entity", object.map { .string($0.entityName) } ?? .null),
        ("reference", object.map { .string($0.reference.description) } ?? .null),
        (object == nil ? "metadata" : "property", property.map { .string($0) } ?? .null), ("first", .string(first)),
        ("second", .string(second)),
      ] + (sameAs.map { [("sameAs", .string($0.description))] } ?? [])
        + (rule.map { [("message", .string($0))] } ?? []))
  }
}

extension StoreMerge.ConflictError: CommandError {
  private static let uniquenessHint =
    "\n  (--match unique merges objects with the same unique values into one; with --base, change one of them first)"

  package var failure: CommandFailure {
    let isDecided = conflicts.contains { $0.sameAs == nil && $0.rule == nil }
    let isDuplicated = conflicts.contains { $0.sameAs != nil }
    return CommandFailure(
      description + (isDecided ? "\n  (--on-conflict decides)" : "")
        + (isDuplicated ? Self.uniquenessHint : ""), exitCode: 1,
      details: .object([
        ("code", .string("conflict")), ("message", .string("the stores contradict each other")),
        ("conflicts", .array(conflicts.map(\.json))),
      ]))
  }
}
