import ArgumentParser
import AtomicStoreKit
import CommandSupport
import StoreCodecs
import StoreMaintenance

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "List everything in a store that would make a save or another program fail: 0 nothing found, 1 findings.",
    discussion: """
        atomicstore check Company.xml
        atomicstore check old.xml --model App.xcdatamodeld --json
        find stores -name '*.xml' | atomicstore check --files-from -

      Checked are: the model's rules for values, required values and objects, numbers of objects, both ends of
      every relationship, references to objects that do not exist, uniqueness constraints. The store is read
      even if it is damaged, and everything is listed.

      With --fix a repaired copy is written to -o. It takes the names of read options: inverses=from-to-one or
      from-to-many says which end of a relationship is right; of two ends of the same kind, both keep the links that
      either has, as far as an object can have them. dangling=nullify or keep-as-text chooses how references are handled that name missing objects: those
      to objects that do not exist, damaged=skip-object leaves out objects that cannot be read, and lists each. What it
      does not repair is copied and listed, and the exit code is 1 all the same. Warnings do not count: about the model,
      and about a to-many relationship that is not optional and empty.

        atomicstore check old.xml --fix inverses=from-to-one --fix dangling=nullify -o repaired.xml
      """)
  @Argument(help: ArgumentHelp("The store; - for standard input.", valueName: "store")) var path: String?
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @Option(help: "What to repair, name=value. May be repeated.") var fix: [String] = []
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @Option(name: .customLong("max-findings"), help: "The maximum number of findings of each kind to list. Default: all.")
  var maximum: Int?
  @OptionGroup var fleet: FleetOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    var isSound = false
    try guarded(common) {
      if fleet.isUsed {
        isSound = true
        return try checkAll()
      }
      let store = try fleet.onlyStore(path)
      guard fix.isEmpty == (result.output == nil) else {
        throw CommandFailure(
          fix.isEmpty ? "-o is for the repaired copy that --fix asks for" : "--fix needs -o, the repaired copy",
          exitCode: 64)
      }
      let input = try Input.path(for: store)
      var check = try source.storeCheck(of: store, maximumFindingCount: maximum)
      try Input.checkPermission(input)
      if fix.isEmpty {
        let report = try check.readable(input)
        isSound = report.isSound
        return try show(report)
      }
      let fixes = try parseOptions(fix)
      for name in fixes.keys where !["inverses", "dangling", "damaged"].contains(name) {
        throw CommandFailure("--fix takes inverses=…, dangling=… and damaged=…, not '\(name)'", exitCode: 64)
      }
      check.options.merge(fixes) { _, new in new }
      isSound = try repair(check, input)
    }
    if !isSound { throw ExitCode(1) }
  }

  /// Checks each store of a list.
  private func checkAll() throws {
    guard fix.isEmpty, result.output == nil else {
      throw CommandFailure("--fix and -o are for one store, not for a list", exitCode: 64)
    }
    let stores = try fleet.list(besides: path)
    let model = try source.loadCommonModel()
    try FleetRun(stores, json: common.json).run { _, store in
      let check = try source.storeCheck(of: store, commonModel: model, maximumFindingCount: maximum)
      let input = try Input.path(for: store)
      try Input.checkPermission(input)
      let report = try check.readable(input)
      return FleetAnswer(report.json, exitCode: report.isSound ? 0 : 1)
    }
  }

  /// Writes the repaired copy, and lists what is still wrong in it.
  private func repair(_ check: StoreCheck, _ input: String) throws -> Bool {
    var converter = try result.converter()
    converter.model = check.model
    converter.sourceType = check.storeType
    converter.readOptions = check.options
    // Leaving out damaged objects was requested, so their loss is permitted.
    converter.allowsLossOfDamage = check.options["damaged"] != nil
    let target = result.output ?? "-"
    guard target != "-" else { throw CommandFailure("the repaired copy is written to a file, not to -", exitCode: 64) }
    let written: StoreConverter.Report
    do {
      written = try Self.repaired(converter, input, target)
    } catch let error as PersistentStoreError
      where error.code == .inverseMismatch && converter.readOptions["inverses"] == nil
    {
      // What was not asked for is copied as it is.
      converter.readOptions["inverses"] = RelationshipRules.Inverses.asStored.rawValue
      written = try Self.repaired(converter, input, target)
    }
    for loss in written.losses { Diagnostics.say(loss.reportLine) }
    for note in written.selections { Diagnostics.say("repaired: \(note)") }
    let report: StoreCheck.Report
    if result.dryRun {
      // What is left out is not in the repaired copy.
      var check = check
      if check.options["damaged"] != nil, check.options["dangling"] == nil { check.options["dangling"] = "nullify" }
      report = try check.readable(input).leavingOutDamage
    } else {
      var again = StoreCheck(registry: InstalledFormats.registry)
      again.model = check.model
      again.maximumFindingCount = maximum
      do { report = try again.readable(target) } catch {
        var failure = CommandFailure(error, json: common.json)
        failure.message = "\(target) was written, but cannot be read again: \(failure.message)"
        throw failure
      }
    }
    try show(report)
    return report.isSound
  }

  private static func repaired(
    _ converter: StoreConverter, _ input: String, _ target: String
  ) throws -> StoreConverter.Report {
    try readingTwice(where: { $0.location.file?.hasPrefix(input) ?? false }) {
      try converter.convert(from: input, to: target)
    }
  }

  private func show(_ report: StoreCheck.Report) throws {
    if common.json {
      return try Diagnostics.put(report.json.text + "\n")
    }
    try Diagnostics.stream { writer in
      for finding in report.findings {
        writer.append("\(finding)\n")
        try writer.flushIfNeeded()
      }
    }
    let total = report.counts.values.reduce(0, +)
    if total > report.findings.count { Diagnostics.say("and \(total - report.findings.count) more") }
  }
}

extension StoreCheck {
  /// Checks the store at a path.
  ///
  /// - Throws: Why it could not be read, unless that is a finding about what it holds.
  fileprivate func readable(_ path: String) throws -> Report {
    let report = check(path)
    if let failure = report.failure { throw failure }
    return report
  }
}

extension StoreCheck.Report {
  /// Without the objects that could not be read, if the rest of the store could.
  fileprivate var leavingOutDamage: Self {
    guard objectCount != nil else { return self }
    var report = self
    report.findings.removeAll { $0.kind == .unreadable }
    report.counts[.unreadable] = nil
    return report
  }

  var json: JSONValue {
    .object([
      ("sound", .boolean(isSound)), ("objects", objectCount.map { .integer($0) } ?? .null),
      (
        "counts",
        .object(
          CheckFinding.Kind.allCases.compactMap { kind in counts[kind].map { (kind.rawValue, .integer($0)) } })
      ),
      ("findings", .array(findings.map(\.json))),
    ])
  }
}

extension CheckFinding {
  var json: JSONValue {
    .object([
      ("kind", .string(kind.rawValue)), ("warning", .boolean(isWarning)),
      ("entity", object.map { .string($0.entityName) } ?? .null),
      ("reference", object.map { .string($0.reference.description) } ?? .null),
      ("property", property.map { .string($0) } ?? .null), ("value", value.map { .string($0) } ?? .null),
      ("message", .string(message)),
    ])
  }
}
