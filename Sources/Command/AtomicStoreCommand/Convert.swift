import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCodecs
import StoreMaintenance

struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract: "Convert a store to another type and verify the result. UUID and references are kept.",
    discussion: """
        atomicstore convert Company.xml Company.csvstore
        atomicstore convert Company.xml - --to CSV --write-option entity=Employee

      The source's type is detected from its content, the result's from the extension of DST or --to. The result is
      read back and compared before it is moved into place. What the target cannot store is listed, and refused unless
      --allow-loss. The source is never changed.

      With --entity a subset is written: the objects of these entities, their sub-entities included, that match --where.
      They keep their references. --related specifies what happens to a relationship that leads out of the subset.

        atomicstore convert Company.xml Entwicklung.xml --entity Employee --where "department.name == 'Entwicklung'" --related closure

      Some types need a number for each object that no other object of the store has. --renumber gives other references to
      objects that have none, and lists them with --renumber-map. 'diff --renumber-map' compares the stores by that list.

        atomicstore convert notes.sqlite notes.binary --renumber --renumber-map map.json
        atomicstore diff notes.sqlite notes.binary --renumber-map map.json

      With --files-from, each store of a list is converted to the type of --to, below the directory of -o, with its path kept
      (a leading / is removed) and the extension of the type. Each is a line of JSON.

        find stores -name '*.xml' | atomicstore convert --files-from - -o converted --to BinaryPropertyList

      A new result never has wider permissions than the source, whatever the umask: a copy of a store with mode 0600 has mode
      0600, and a copy of a directory store with mode 0700 has mode 0700. --default-permissions gives it the default
      permissions of new files. A file that --force replaces keeps its permissions.
      """)
  @Argument(help: ArgumentHelp("The store to read; - for standard input.", valueName: "source")) var sourcePath: String?
  @Argument(help: ArgumentHelp("The store to create; - for standard output.", valueName: "target")) var targetPath:
    String?
  @OptionGroup(title: "Options for reading") var reading: SourceOptions
  @Option(help: "The result's type, if the extension of DST does not determine it.", completion: Completions.types)
  var to: String?
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: "With --files-from: the directory for the results. It is created if it does not exist.")
  var output: String?
  @Option(
    name: .customLong("write-option"), help: "An option of the format that is written, name=value. May be repeated.",
    completion: Completions.writeOptions)
  var writeOptions: [String] = []
  @Option(
    name: .customLong("entity"), help: "Write only the objects of this entity and its sub-entities. May be repeated.",
    completion: Completions.entities)
  var entities: [String] = []
  @Option(
    name: .customLong("where"),
    help: "The predicate that they must match, in Core Data's format language. Requires exactly one --entity.")
  var predicate: String?
  @Option(
    help: """
      What happens to a relationship that leads out of the subset. closure: everything reachable is included; \
      nullify: the reference is removed; fail: it is an error, exit code 65. Default: fail.
      """) var related: Related?
  @Flag(help: "Replace an existing DST.") var force = false
  @Flag(
    name: .customLong("default-permissions"),
    help: "Give a new result the default permissions of new files, even if the source's are more restrictive.")
  var defaultPermissions = false
  @Flag(name: .customLong("dry-run"), help: "Do everything except publishing the result.") var dryRun = false
  @Flag(name: .customLong("allow-loss"), help: "Convert even if the target cannot store everything.")
  var allowLoss = false
  @Flag(
    help: "Give objects other references where two have the same number, or where a reference is not a positive number."
  )
  var renumber = false
  @Option(
    name: .customLong("renumber-map"),
    help: "With --renumber: the file to write with the old and new references of the objects, as JSON.")
  var renumberMap: String?
  @Flag(name: .customLong("new-uuid"), help: "Give the copy a new UUID.") var newUUID = false
  @Flag(
    help:
      "Check the source first, as 'check' does, and list the findings even if the conversion is refused. If DST is written, the exit code is 1 if there are findings other than warnings."
  )
  var check = false
  @Flag(help: "Report what was done, even if standard error is not a terminal.") var verbose = false
  @OptionGroup var fleet: FleetOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  /// As in the library, with the names used on the command line.
  enum Related: String, ExpressibleByArgument, CaseIterable { case closure, nullify, fail }

  private func subset() throws -> StoreSubset? {
    guard let first = entities.first else {
      guard predicate == nil, related == nil else {
        throw CommandFailure("\(predicate == nil ? "--related" : "--where") requires --entity", exitCode: 64)
      }
      return nil
    }
    guard predicate == nil || entities.count == 1 else {
      throw CommandFailure("--where applies to one entity: specify --entity once, '\(first)' or another", exitCode: 64)
    }
    let rule: StoreSubset.RelatedObjects =
      switch related {
      case .closure: .closure
      case .nullify: .nullify
      case .fail, nil: .fail
      }
    var subset = StoreSubset(
      entityNames: entities, predicate: try predicate.map { try Fetch.parse($0, "--where") }, related: rule)
    subset.checksPredicate = true
    return subset
  }

  func run() throws {
    var isSound = true
    try guarded(common) {
      if fleet.isUsed { return try convertAll() }
      let source = try fleet.onlyStore(sourcePath, named: "source")
      if let output {
        throw CommandFailure(
          "-o is for --files-from; the store to create is the second argument: convert \(source) \(output)",
          exitCode: 64)
      }
      guard let targetPath else {
        throw CommandFailure("missing argument: <target>, the store to create", exitCode: 64)
      }
      guard renumber || renumberMap == nil else {
        throw CommandFailure("--renumber-map requires --renumber", exitCode: 64)
      }
      guard !targetPath.isEmpty else { throw CommandFailure("an empty path is not a file name", exitCode: 64) }
      isSound = try convert(source, to: targetPath)
    }
    if !isSound { throw ExitCode(1) }
  }

  /// A converter as the options specify, without a model and permissions.
  func converter() throws -> StoreConverter {
    try InstalledFormats.check(type: to)
    var converter = StoreConverter(registry: InstalledFormats.registry)
    converter.sourceType = reading.from
    converter.targetType = to
    converter.readOptions = try reading.options()
    converter.writeOptions = try parseOptions(writeOptions)
    converter.replacesTarget = force
    converter.allowsLoss = allowLoss
    converter.makesNewIdentifier = newUUID
    converter.renumbers = renumber
    converter.isDryRun = dryRun
    converter.limitsPermissions = !defaultPermissions
    converter.subset = try subset()
    converter.recomputesDerived = DerivedAttributes.recomputeDependent(in:)
    return converter
  }

  /// - Returns: Whether the source has no findings other than warnings, or was not checked.
  private func convert(_ source: String, to target: String) throws -> Bool {
    var converter = try converter()
    converter.model = try reading.loadModel(for: source)
    // Standard input has no permissions to preserve.
    if source == "-" { converter.limitsPermissions = false }
    let bar = ProgressBar()
    converter.progress = { bar.show($0) }
    defer { bar.clear() }
    // Before the source is read.
    if target == "-" { converter = try converter.forStandardOutput() }
    let input = try Input.path(for: source)
    defer { Input.discard() }
    if let renumberMap { try RenumberingFile.check(renumberMap, besides: [source, target], replaces: force) }

    var findings: StoreCheck.Report?
    let report: StoreConverter.Report
    do {
      // The result is moved into place only after everything was read, so the whole conversion can be repeated.
      report = try converted(converter, input, to: target, &findings)
    } catch {
      bar.clear()
      // A conversion that is refused is when the findings are needed.
      if let findings { try tell(findings, source, target) }
      if let error = error as? PredicateFormatError { throw CommandFailure(error, of: "--where") }
      if let error = error as? PersistentStoreError, error.code == .unknownStoreType, to == nil {
        throw Self.naming(target, error)
      }
      throw error
    }
    bar.clear()
    try tell(report, findings, source, target)
    return findings?.isSound ?? true
  }

  /// Adds to an error about a target of an unknown type what writes JSON, which is not a store.
  private static func naming(_ target: String, _ error: PersistentStoreError) -> CommandFailure {
    var failure = CommandFailure(error, json: false)
    if PathParts.fileExtension(of: target).lowercased() == "json" {
      failure.message +=
        "\n  (as JSON, 'dump --json' prints a whole store, and 'fetch --json' the objects of an entity)"
    }
    return failure
  }

  /// - Parameter findings: What `--check` found, also if the conversion is refused.
  func converted(
    _ converter: StoreConverter, _ input: String, to target: String, _ findings: inout StoreCheck.Report?
  ) throws -> StoreConverter.Report {
    try readingTwice(where: { Self.isOf(input, $0) }) {
      // Before reading, which may take long; but findings are wanted whatever is refused.
      if target != "-", !check {
        if try Self.isBetweenDatabases(converter, input, target) {
          return try converter.convert(from: input, to: target)
        }
        try converter.refuseTaken(target, sources: [input])
      }
      let (coordinator, store) = try opened(converter, input, &findings)
      // Errors name a file as the user does.
      if store.path != input, !store.isReachedByURL { Diagnostics.show(store.path, as: Input.shown(input)) }
      defer { try? coordinator.remove(store) }
      var converter = converter
      converter.publication = try renumberingFile(of: store, converter, input)
      let report =
        target == "-" ? try converter.convertToStandardOutput(store) : try converter.convert(store, to: target)
      if target == "-" { try converter.publication?.commit() }
      // Of many stores, each is released before the next one.
      if !fleet.isUsed { MemoryUntilExit.keep(store.nodes) }
      return report
    }
  }

  /// The list of renumbered objects as a file that is published with the store; nil without `--renumber-map`.
  private func renumberingFile(
    of store: PersistentStore, _ converter: StoreConverter, _ input: String
  ) throws -> Publication? {
    guard let renumberMap, !dryRun else { return nil }
    let nodes = try converter.subset?.nodes(of: store).nodes ?? store.nodes
    let renumbering = try Renumbering(of: nodes, after: store.metadata.lastReference)
    let unit = try Publication(madeOf: try FileOutput.places([input]))
    try RenumberingFile.add(renumbering, to: unit, at: renumberMap, replaces: force)
    return unit
  }

  /// Whether source and target are databases, so that one may be copied to the other row by row.
  private static func isBetweenDatabases(
    _ converter: StoreConverter, _ input: String, _ target: String
  ) throws -> Bool {
    let registry = converter.registry
    return try registry.incrementalType(converter.sourceType, at: input) != nil
      && registry.incrementalType(converter.targetType, at: target) != nil
  }

  /// Opens the source, and checks it with `--check`: as it was opened, or if that is refused, leniently.
  private func opened(
    _ converter: StoreConverter, _ input: String, _ findings: inout StoreCheck.Report?
  ) throws -> (PersistentStoreCoordinator, PersistentStore) {
    var check = StoreCheck(registry: InstalledFormats.registry)
    do {
      let (coordinator, store) = try converter.open(input)
      if self.check { findings = check.check(store) }
      return (coordinator, store)
    } catch {
      guard self.check else { throw error }
      check.model = converter.model
      check.storeType = converter.sourceType
      check.options = converter.readOptions
      findings = check.check(input)
      throw error
    }
  }

  /// Whether an error concerns the source.
  private static func isOf(_ input: String, _ error: PersistentStoreError) -> Bool {
    let file = error.location.file ?? ""
    return file == input || file.hasPrefix(input + "/")
  }

  /// Prints the findings in the source of a conversion that was refused.
  private func tell(_ check: StoreCheck.Report, _ source: String, _ target: String) throws {
    guard common.json else {
      for finding in check.findings { Diagnostics.say("found: \(finding)") }
      return
    }
    let text = JSONValue.object([("source", .string(Input.shown(source))), ("check", check.json)]).text
    if target == "-" { Diagnostics.say(text) } else { try Diagnostics.put(text + "\n") }
  }

  private func tell(
    _ report: StoreConverter.Report, _ check: StoreCheck.Report?, _ source: String, _ target: String
  ) throws {
    // If the result is on standard output, the report is written to standard error.
    if common.json {
      let text = Self.json(report, source, target, check).text
      if target == "-" { Diagnostics.say(text) } else { try Diagnostics.put(text + "\n") }
      return
    }
    for loss in report.losses { Diagnostics.say(loss.reportLine) }
    for selection in report.selections { Diagnostics.say("as asked: \(selection)") }
    // Warnings were said when the store was opened.
    for note in report.notes where !note.isWarning { Diagnostics.say("note: \(note)") }
    for finding in check?.findings ?? [] { Diagnostics.say("found: \(finding)") }
    let total = report.counts.reduce(0) { $0 + $1.count }
    if !entities.isEmpty, total == 0 { Diagnostics.say("atomicstore: nothing matched: the new store has no objects") }
    // Like other tools: quiet on success, unless standard error is a terminal.
    guard verbose || report.isDryRun || isatty(STDERR_FILENO) == 1 else { return }
    let list = report.counts.map { "\($0.entity) \($0.count)" }.joined(separator: ", ")
    let verb = report.isDryRun ? "would convert" : "converted"
    Diagnostics.say(
      "\(verb) \(Input.shown(source)) (\(report.sourceType)) to \(Input.shown(target)) (\(report.targetType)): "
        + Diagnostics.count(total, "object")
        + (list.isEmpty ? "" : " (\(list))") + ", \(Diagnostics.count(report.bytesWritten, "byte")), read back equal")
  }

  static func json(
    _ report: StoreConverter.Report, _ source: String, _ target: String, _ check: StoreCheck.Report?
  ) -> JSONValue {
    .object(
      [
        ("source", .string(Input.shown(source))), ("sourceType", .string(report.sourceType)),
        ("target", .string(Input.shown(target))),
      ]
        + report.jsonFields + (report.renumbering.map { [("renumbered", $0.json)] } ?? [])
        + (check.map { [("check", $0.json)] } ?? []))
  }
}
