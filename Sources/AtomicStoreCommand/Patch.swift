import ArgumentParser
import AtomicStoreKit
package import CommandSupport
import FoundationEssentials
package import StoreMaintenance

struct PatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "patch",
    abstract: "Change a store in place: apply a patch of 'diff --patch'. 0 applied, 1 it does not fit.",
    discussion: """
      A patch names the old value of everything that it changes. It is refused, with a list of everything that does not
      fit, where the store has other values, lacks objects, or has objects that the patch inserts; then nothing is
      changed. -o leaves the store as it is and makes another, --dry-run shows what would change.

        atomicstore diff old.xml new.xml --patch > changes.json
        atomicstore patch copy-of-old.xml changes.json
        atomicstore patch new.xml changes.json --reverse -o old-again.xml
      """)
  @Argument(help: "The store; - for standard input, with -o.") var store: String
  @Argument(help: "The patch; - for standard input.") var patch: String
  @Flag(help: "Take the patch back: from the new state to the old.") var reverse = false
  @OptionGroup var source: SourceOptions
  @OptionGroup var result: ResultOptions
  @OptionGroup var common: CommonOptions

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
      let (coordinator, opened) = try source.open(store)
      defer { withExtendedLifetime(coordinator) {} }
      var changes = try StorePatch(
        json: bytes, name: patch == "-" ? "standard input" : patch, model: opened.model)
      if reverse { changes = changes.reversed }
      let before = StoreSnapshot(nodes: try opened.nodesWithDeferredValues(), metadata: opened.metadata)
      let after = try changes.apply(to: before)
      if result.dryRun { return try show(before, after, changes) }
      let report = try result.write(
        after, describedAs: opened.type, madeOf: [opened], files: patch == "-" ? [] : [patch],
        replacing: result.output == nil ? opened : nil)
      try result.tell(
        report, of: store, verb: ("patched", "would patch"), json: common.json,
        fields: [("changes", .integer(changes.changes.count))])
    }
  }

  private func show(_ before: StoreSnapshot, _ after: StoreSnapshot, _ patch: StorePatch) throws {
    let differences = GraphComparison.differences(before, after, options: .init(comparesIdentity: false))
    guard common.json else { return try Diagnostics.lines(differences) { ("\($0)", $0.colour) } }
    try Diagnostics.put(
      JSONValue.object([
        ("store", .string(store)), ("changes", .integer(patch.changes.count)), ("dryRun", .boolean(true)),
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
