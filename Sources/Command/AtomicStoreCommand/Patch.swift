import ArgumentParser
import AtomicStoreKit
package import CommandSupport
import FoundationEssentials
import StoreCoordination
package import StoreMaintenance

struct PatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "patch",
    abstract: "Change a store in place: apply a patch of 'diff --patch'. 0 applied, 1 does not apply.",
    discussion: """
        atomicstore diff old.xml new.xml --patch > changes.json
        atomicstore patch copy-of-old.xml changes.json
        atomicstore patch new.xml changes.json --reverse -o old-again.xml

      A patch contains the old value of every property that it changes. It is refused, with a list of everything that does not
      fit, where the store has other values, lacks objects, or has objects that the patch inserts, and where the result
      would break the model's rules or uniqueness constraints, unless the same objects did before; then nothing is
      changed. -o leaves the store as it is and makes another, --dry-run shows what would change. In a database all is
      changed in one transaction, which ends the database's history.
      """)
  @Argument(help: "The store; - for standard input, with -o.") var store: String
  @Argument(help: "The patch; - for standard input.") var patch: String
  @Flag(help: "Undo the patch: from the new state to the old.") var reverse = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup var emptyToMany: EmptyToManyOption
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard store != "-" || patch != "-" else {
        throw CommandFailure("only one of store and patch can be standard input", exitCode: 64)
      }
      guard store != "-" || result.output != nil || result.dryRun else {
        throw CommandFailure("standard input cannot be changed in place: -o names the store to make", exitCode: 64)
      }
      // A patch comes first: opening a store also discards what was staged.
      let path = try Input.path(for: patch)
      let bytes = Array(try Data(contentsOf: URL(filePath: path)))
      let input = try Input.path(for: store)
      if result.output == nil, let database = try InstalledFormats.registry.incrementalType(source.from, at: input) {
        return try apply(bytes, to: database, at: input)
      }
      try RepeatedSave.changing(isInPlace: result.output == nil) { try apply(bytes) }
    }
  }

  /// Changes a store that is replaced as a whole, or makes another.
  private func apply(_ bytes: [UInt8]) throws {
    let (coordinator, opened) = try source.open(store)
    defer { withExtendedLifetime(coordinator) {} }
    let changes = try changes(bytes, opened.model)
    let before = StoreSnapshot(nodes: try opened.nodesWithDeferredValues(), metadata: opened.metadata)
    let after = try changes.apply(to: before, allowsEmptyNonOptionalToMany: emptyToMany.isAllowed)
    let report = try result.write(
      after, describedAs: opened.type, madeOf: [opened], files: patch == "-" ? [] : [patch],
      replacing: result.output == nil ? opened : nil, editing: opened)
    if result.dryRun { return try show(before, after, changes) }
    try result.tell(
      report, of: store, verb: ("patched", "would patch"), json: common.json,
      fields: [("changes", .integer(changes.changes.count))])
  }

  private func changes(_ bytes: [UInt8], _ model: ManagedObjectModel) throws -> StorePatch {
    let changes = try StorePatch(json: bytes, name: patch == "-" ? "standard input" : patch, model: model)
    return reverse ? changes.reversed : changes
  }

  /// Changes a database where it is, in one transaction.
  private func apply(_ bytes: [UInt8], to type: any IncrementalStore.Type, at input: String) throws {
    guard result.to == nil || result.to == type.storeType, result.writeOptions.isEmpty else {
      throw CommandFailure(
        "a database that is changed in place keeps its type and form: -o names another store", exitCode: 64)
    }
    var converter = try result.converter()
    converter.readOptions = try source.options()
    var applied: (before: StoreSnapshot, after: StoreSnapshot, patch: StorePatch)?
    let report = try converter.rewrite(input, as: type) { nodes, metadata in
      let patch = try changes(bytes, nodes.model)
      let before = StoreSnapshot(nodes: nodes, metadata: metadata)
      let after = try patch.apply(to: before, allowsEmptyNonOptionalToMany: emptyToMany.isAllowed)
      applied = (before, after, patch)
      return patch.changes.isEmpty ? nil : after
    }
    guard let applied else { return }
    if result.dryRun { return try show(applied.before, applied.after, applied.patch) }
    try result.tell(
      report, of: store, verb: ("patched", "would patch"), json: common.json,
      fields: [("changes", .integer(applied.patch.changes.count))])
  }

  private func show(_ before: StoreSnapshot, _ after: StoreSnapshot, _ patch: StorePatch) throws {
    let differences = GraphComparison.differences(before, after, options: .init(comparesIdentity: false))
    guard common.json else { return try Diagnostics.lines(differences) { ("\($0)", $0.color) } }
    try Diagnostics.put(
      JSONValue.object([
        ("store", .string(Input.shown(store))), ("changes", .integer(patch.changes.count)), ("dryRun", .boolean(true)),
        ("differences", .array(differences.map(\.json))),
      ]).text + "\n")
  }
}

extension StorePatch.Conflict {
  var json: JSONValue {
    .object([
      ("entity", object.map { .string($0.entityName) } ?? .null), ("reference", object?.reference.json ?? .null),
      (object == nil ? "metadata" : "property", property.map { .string($0) } ?? .null),
      ("expected", expected.map { .string($0) } ?? .null), ("found", found.map { .string($0) } ?? .null),
      ("message", .string(message)),
    ])
  }
}

extension StorePatch.ConflictError: CommandError {
  package var failure: CommandFailure {
    CommandFailure(
      description, exitCode: 1,
      details: .object([
        ("code", .string("conflict")), ("message", .string("the patch does not fit the store")),
        ("conflicts", .array(conflicts.map(\.json))),
      ]))
  }
}
