import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCodecs

/// Where a command puts the store that it makes.
struct ResultOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")], help: "The store to make; - for standard output, with --to.")
  var output: String?
  @Option(help: "The result's type, if its extension does not determine it.", completion: Completions.types) var to:
    String?
  @Option(
    name: .customLong("write-option"), help: "An option of the format that is written, name=value. May be repeated.",
    completion: Completions.writeOptions)
  var writeOptions: [String] = []
  @Flag(help: "Replace what is there.") var force = false
  @Flag(name: .customLong("dry-run"), help: "Do everything except publishing the result.") var dryRun = false
  @Flag(name: .customLong("allow-loss"), help: "Write the result even if its format cannot store everything.")
  var allowLoss = false

  /// A converter that writes as these options ask.
  func converter() throws -> StoreConverter {
    try InstalledFormats.check(type: to)
    var converter = StoreConverter(registry: InstalledFormats.registry)
    converter.targetType = to
    converter.writeOptions = try parseOptions(writeOptions)
    converter.replacesTarget = force
    converter.isDryRun = dryRun
    converter.allowsLoss = allowLoss
    converter.recomputesDerived = DerivedAttributes.recomputeDependent(in:)
    return converter
  }

  /// The source that the user names as the result as well, with `--force`: it is changed in place, as git's merge
  /// driver requires.
  private func source(at target: String, of sources: [PersistentStore]) throws -> PersistentStore? {
    for source in sources where StorePath.isSame(try StorePath.inspect(source.path), path: target) { return source }
    return nil
  }

  /// - Throws: A usage error for options that a store which is changed in place cannot follow.
  func checkInPlace(_ store: PersistentStore) throws {
    guard to == nil || to == store.type else {
      throw CommandFailure("a store that is changed in place keeps its type: -o names another one", exitCode: 64)
    }
    guard writeOptions.isEmpty || store.isEditedInPlace else {
      throw CommandFailure("a store that is changed in place keeps its form: --write-option needs -o", exitCode: 64)
    }
  }

  /// Writes a graph: to a path, to standard output, or in the place of the store that it was made of.
  ///
  /// - Parameters:
  ///   - sources: The open stores that the graph was made of.
  ///   - files: Other files that values come from.
  ///   - store: The open store that is replaced where no output is named.
  ///   - edited: The store that the graph is a change of. A result of its type keeps what the kit does not know of it,
  ///     if the format can do that.
  ///   - mayReplaceSource: Whether `--force` allows the result to be one of the sources.
  ///   - fallback: The type of a result whose extension names none.
  ///   - read: What was read from databases among the sources: one that is replaced is changed instead.
  ///   - unit: Files that are published with a result that has a name.
  func write(
    _ snapshot: StoreSnapshot, describedAs name: String, notes: [SelectionNote] = [],
    madeOf sources: [PersistentStore] = [], files: [String] = [],
    replacing store: PersistentStore? = nil, editing edited: PersistentStore? = nil, mayReplaceSource: Bool = false,
    orType fallback: String? = nil,
    read: [DatabaseGraph] = [], with unit: Publication? = nil
  ) throws -> StoreConverter.Report {
    var converter = try converter()
    converter.publication = unit
    converter.editedStore = edited
    // The staged copy of standard input is private, and says nothing about the permissions of what was piped.
    let origins = sources.map(\.path) + files
    converter.limitsPermissions = !origins.allSatisfy { Input.isStaged($0) }
    let bar = ProgressBar()
    converter.progress = { bar.show($0) }
    defer { bar.clear() }
    guard let target = output ?? store?.path else {
      throw CommandFailure("-o names the store to make", exitCode: 64)
    }
    if output == nil, let store {
      try checkInPlace(store)
      // Objects of a database are changed one by one.
      if dryRun, !Input.isIncremental(store.path) {
        try store.checkIsChangeable(writeOptions: converter.writeOptions)
      }
      converter.targetType = store.type
      converter.replacesTarget = true
      if let graph = read.first(where: { $0.store === store }) {
        return try change(graph, to: snapshot, notes, converter)
      }
      return try converter.write(
        snapshot, to: target, describedAs: name, notes: notes, madeOf: sources, files: files, replacing: store)
    }
    guard target == "-" else {
      if try converter.targetType == nil && InstalledFormats.registry.incrementalType(nil, at: target) == nil {
        let named = InstalledFormats.registry.storeTypes(forFileExtension: try StorePath.inspect(target).fileExtension)
        if named.isEmpty { converter.targetType = fallback }
      }
      if mayReplaceSource, force, let graph = try read.first(where: { try $0.isAt(target) }) {
        try checkInPlace(graph.store)
        return try change(graph, to: snapshot, notes, converter)
      }
      return try converter.write(
        snapshot, to: target, describedAs: name, notes: notes, madeOf: sources, files: files,
        replacing: mayReplaceSource && force ? try source(at: target, of: sources) : nil)
    }
    guard to != nil else { throw CommandFailure("standard output has no extension: --to names the type", exitCode: 64) }
    return try converter.forStandardOutput().write(
      snapshot, shownAs: "standard output", describedAs: name, notes: notes, madeOf: sources,
      unnamedIn: Input.temporaryFolder
    ) { result in
      try result.copyToStandardOutput()
    }
  }

  private func change(
    _ graph: DatabaseGraph, to snapshot: StoreSnapshot, _ notes: [SelectionNote], _ converter: StoreConverter
  ) throws -> StoreConverter.Report {
    try converter.change(
      graph.store, at: graph.address, from: graph.nodes, after: graph.token, to: snapshot, notes: notes)
  }

  /// Prints what was written: as JSON where it is asked for, otherwise for people who watch.
  ///
  /// - Parameters:
  ///   - source: What the result was made of.
  ///   - store: The path of the store that was changed, if there is no output; by default, the source.
  ///   - fields: What the command adds to the JSON.
  func tell(
    _ report: StoreConverter.Report, of source: String, into store: String? = nil,
    verb: (past: String, conditional: String), json: Bool, fields: [(String, JSONValue)] = []
  ) throws {
    let target = output ?? store ?? source
    if json {
      let all = [("target", JSONValue.string(Input.shown(target)))] + report.jsonFields + fields
      let text = JSONValue.object(all).text
      if target == "-" { return Diagnostics.say(text) }
      guard !report.isDryRun else { return try Diagnostics.put(text + "\n") }
      return try Diagnostics.put(text + "\n", after: "the store was written")
    }
    for loss in report.losses { Diagnostics.say(loss.reportLine) }
    if !report.isVerified { Diagnostics.say("not read back: another process saved to the database at the same time") }
    guard report.isDryRun || isatty(STDERR_FILENO) == 1 else { return }
    let total = report.counts.reduce(0) { $0 + $1.count }
    let list = report.counts.map { "\($0.entity) \($0.count)" }.joined(separator: ", ")
    Diagnostics.say(
      "\(report.isDryRun ? verb.conditional : verb.past) \(Input.shown(source)) to \(Input.shown(target)) "
        + "(\(report.targetType)): \(Diagnostics.count(total, "object"))"
        + (list.isEmpty ? "" : " (\(list))")
        + (report.isVerified ? ", read back equal" : "; not compared, as another process saved at the same time"))
  }
}

extension StoreConverter.Report {
  /// What was written, as `--json` prints it.
  var jsonFields: [(String, JSONValue)] {
    [
      ("targetType", .string(targetType)), ("uuid", .string(identifier.uuidString)),
      ("objects", .integer(counts.reduce(0) { $0 + $1.count })),
      ("entities", .object(counts.map { ($0.entity, .integer($0.count)) })), ("bytes", .integer(bytesWritten)),
      ("dryRun", .boolean(isDryRun)), ("verified", .boolean(isVerified)), ("losses", .array(losses.map(\.json))),
      (
        "selections",
        .array(
          selections.map {
            .object([("subject", .string($0.subject)), ("count", .integer($0.count)), ("text", .string($0.text))])
          })
      ),
      ("notes", .array(notes.map(\.json))),
    ]
  }
}
