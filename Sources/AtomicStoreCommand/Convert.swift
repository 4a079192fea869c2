import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import Foundation
import StoreCodecs

struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Convert a store to another type, verified, with UUID and references kept.",
    discussion: """
      The source's type is found from its content, the result's from the extension of DST or from --to. The result is
      read back and compared before it takes its place. What the target cannot carry is listed, and refused unless
      --allow-loss. The source is never changed.

        atomicstore convert Company.xml Company.csvstore
        atomicstore convert Company.xml - --to CSV --write-option entity=Employee

      With --entity a subset is written: the objects of these entities, their sub-entities included, that fulfil --where.
      They keep their references. --related says what becomes of a relationship that leads out of the subset.

        atomicstore convert Company.xml Entwicklung.xml --entity Employee --where "department.name == 'Entwicklung'" --related closure

      A new result never has wider permissions than the source, whatever the umask: a copy of a store with mode 0600 has mode
      0600, and a copy of a directory store with mode 0700 has mode 0700. --default-permissions gives it those of any new file.
      What --force replaces keeps its own.
      """)
  @Argument(help: "The store to read; - for standard input.") var source: String
  @Argument(help: "The store to make; - for standard output.") var target: String
  @OptionGroup var reading: SourceOptions
  @Option(help: "The result's type, where the extension of DST does not name it.") var to: String?
  @Option(
    name: .customLong("write-option"), help: "An option of the format that is written, name=value. May be repeated.")
  var writeOptions: [String] = []
  @Option(
    name: .customLong("entity"), help: "Write the objects of this entity and its sub-entities only. May be repeated.")
  var entities: [String] = []
  @Option(
    name: .customLong("where"),
    help: "The predicate that they fulfil, in Core Data's format language. Takes one --entity.")
  var predicate: String?
  @Option(
    help: """
      What becomes of a relationship that leads out of the subset. closure: everything that can be reached is taken along; \
      nullify: it is cut; fail: it is an error, exit code 65. Without it: fail.
      """) var related: Related?
  @Flag(help: "Replace what lies at DST.") var force = false
  @Flag(
    name: .customLong("default-permissions"),
    help: "Give a new result the permissions of any new file, also where the source's are narrower.")
  var defaultPermissions = false
  @Flag(name: .customLong("dry-run"), help: "Do everything but put the result in its place.") var dryRun = false
  @Flag(name: .customLong("allow-loss"), help: "Convert even where the target cannot carry everything.")
  var allowLoss = false
  @Flag(name: .customLong("new-uuid"), help: "Give the copy an identity of its own.") var newUUID = false
  @Flag(help: "Say what was done, also where standard error is no terminal.") var verbose = false
  @OptionGroup var common: CommonOptions

  /// As the library's, in the words of the command line.
  enum Related: String, ExpressibleByArgument, CaseIterable { case closure, nullify, fail }

  private func subset() throws -> StoreSubset? {
    guard let first = entities.first else {
      guard predicate == nil, related == nil else {
        throw CommandFailure("\(predicate == nil ? "--related" : "--where") needs --entity", exitCode: 64)
      }
      return nil
    }
    guard predicate == nil || entities.count == 1 else {
      throw CommandFailure("--where is asked of one entity: give --entity once, '\(first)' or another", exitCode: 64)
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
    try guarded(common) {
      var converter = StoreConverter(registry: Tool.registry)
      converter.model = try reading.loadModel(for: source)
      converter.sourceType = reading.from
      converter.targetType = to
      converter.readOptions = try reading.options()
      converter.writeOptions = try parseOptions(writeOptions)
      converter.replacesTarget = force
      converter.allowsLoss = allowLoss
      converter.makesNewIdentifier = newUUID
      converter.isDryRun = dryRun
      // Standard input has no permissions that could be kept.
      converter.limitsPermissions = !defaultPermissions && source != "-"
      converter.subset = try subset()
      let bar = ProgressBar()
      converter.progress = { bar.show($0) }
      defer { bar.clear() }
      let input = try Input.path(for: source)
      defer { Input.discard() }

      let report: StoreConverter.Report
      if target == "-" {
        report = try convertToStandardOutput(converter, input)
      } else {
        if dryRun { try Self.checkPlace(target) }
        report = try convert(converter, input, target)
      }
      bar.clear()
      try tell(report)
    }
  }

  private func convert(_ converter: StoreConverter, _ input: String, _ target: String) throws -> StoreConverter.Report {
    // Nothing is in its place before all is read, so that all of it can be done again.
    do {
      return try readingTwice(where: { Self.isOf(input, $0) }) { try converter.convert(from: input, to: target) }
    } catch let error as PredicateFormatError {
      throw CommandFailure(error, of: "--where")
    }
  }

  /// Whether an error is about the source.
  private static func isOf(_ input: String, _ error: PersistentStoreError) -> Bool {
    let file = error.location.file ?? ""
    return file == input || file.hasPrefix(input + "/")
  }

  /// Looks whether a result could be put in its place: a dry run stages it elsewhere, and would not find out.
  private static func checkPlace(_ target: String) throws(PersistentStoreError) {
    let place = StoreLocation(file: target)
    let there = try StorePlace.inspect(target)
    var trimmed = Substring(there.resolvedPath)
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    let end = trimmed.lastIndex(of: "/") ?? trimmed.startIndex
    let folder = end == trimmed.startIndex ? "/" : String(trimmed[..<end])
    var status = stat()
    guard stat(folder, &status) == 0 else {
      throw PersistentStoreError(.cannotCreate, "the folder \(folder) does not exist", at: place)
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw PersistentStoreError(.cannotCreate, "\(folder) is no folder", at: place)
    }
    guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
      throw PersistentStoreError(
        .permissionDenied, "nothing can be put into the folder \(folder): \(Descriptor.text(errno))", at: place)
    }
    if there.kind != .nothing, faccessat(AT_FDCWD, there.resolvedPath, W_OK, AT_EACCESS) != 0 {
      throw PersistentStoreError(.permissionDenied, "the store is protected against writing", at: place)
    }
  }

  /// Staged and verified first, then copied.
  private func convertToStandardOutput(
    _ converter: StoreConverter, _ input: String
  ) throws -> StoreConverter.Report {
    guard let to else { throw CommandFailure("standard output has no extension: --to names the type", exitCode: 64) }
    let type = try Tool.registry.storeType(named: to)
    var converter = converter
    // A stream is one file: a format that has both forms takes that one.
    if type.traits.layout == .folder {
      guard type.traits.writeOptions.contains(where: { $0.name == "layout" }) else {
        throw CommandFailure("a \(to) store is a folder and does not fit standard output", exitCode: 64)
      }
      converter.writeOptions["layout"] = converter.writeOptions["layout"] ?? "file"
    }
    // Without a name: others cannot open it, and nothing is left of it when the command is killed.
    return try readingTwice(where: { Self.isOf(input, $0) }) {
      try converter.convert(from: input, shownAs: "standard output", unnamedIn: Input.temporaryFolder) { result in
        try Talk.stream { writer in
          var failure: (any Error)?
          try result.readChunks { (bytes) throws(PersistentStoreError) in
            writer.append(bytes)
            do { try writer.flushIfNeeded() } catch { failure = error }
            return failure == nil
          }
          if let failure { throw failure }
        }
      }
    }
  }

  private func tell(_ report: StoreConverter.Report) throws {
    // With the result on standard output the report goes where talk goes.
    if common.json {
      let text = Self.json(report, source, target).text
      if target == "-" { Talk.say(text) } else { try Talk.put(text + "\n") }
      return
    }
    for loss in report.losses { Talk.say("lost: \(loss)") }
    for selection in report.selections { Talk.say("as asked: \(selection)") }
    for note in report.notes { Talk.say("note: \(note)") }
    let total = report.counts.reduce(0) { $0 + $1.count }
    if !entities.isEmpty, total == 0 { Talk.say("atomicstore: nothing matched: the new store has no objects") }
    // As other tools do: quiet on success, unless somebody is watching.
    guard verbose || report.isDryRun || isatty(STDERR_FILENO) == 1 else { return }
    let list = report.counts.map { "\($0.entity) \($0.count)" }.joined(separator: ", ")
    let verb = report.isDryRun ? "would convert" : "converted"
    Talk.say(
      "\(verb) \(source) (\(report.sourceType)) to \(target) (\(report.targetType)): \(Talk.count(total, "object"))"
        + (list.isEmpty ? "" : " (\(list))") + ", \(Talk.count(report.bytesWritten, "byte")), read back equal")
  }

  private static func json(_ report: StoreConverter.Report, _ source: String, _ target: String) -> JSONValue {
    .object([
      ("source", .string(source)), ("sourceType", .string(report.sourceType)), ("target", .string(target)),
      ("targetType", .string(report.targetType)), ("uuid", .string(report.identifier.uuidString)),
      ("objects", .integer(report.counts.reduce(0) { $0 + $1.count })),
      ("entities", .object(report.counts.map { ($0.entity, .integer($0.count)) })),
      ("bytes", .integer(report.bytesWritten)), ("dryRun", .boolean(report.isDryRun)),
      ("losses", .array(report.losses.map(\.json))),
      (
        "selections",
        .array(
          report.selections.map {
            .object([("subject", .string($0.subject)), ("count", .integer($0.count)), ("text", .string($0.text))])
          })
      ),
      ("notes", .array(report.notes.map(\.json))),
    ])
  }
}
