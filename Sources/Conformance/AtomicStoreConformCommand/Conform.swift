import ArgumentParser
import AtomicStoreConformance
import AtomicStoreSPI
import BuiltInStoreFormats
import CommandSupport
import FoundationEssentials
import Glibc
import StorePrograms

struct Conform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore conform", abstract: "Run the conformance checks on a store format.",
    discussion: """
        atomicstore conform --type CSV --report report.html
        atomicstore conform --type XML --only VAL-07 --seed 3
        atomicstore conform --type SQLiteGraph             # an incremental store: its profile
        atomicstore conform --type PostgreSQL --url postgresql://host/database?schema=checks
        atomicstore conform --type CSV --write-option bom=yes      # each value of an option is a format
        atomicstore conform --type Tabular --plugin libTabularStore.so --fuzz 10   # changed files for ten minutes
        atomicstore conform --selftest                     # inject every known bug, and show which check finds it
        atomicstore conform --compare old.json new.json    # what became better, worse, new, gone
        atomicstore conform --matrix *.json --report formats.html
        atomicstore conform --matrix my.json --badge conformance.svg
        atomicstore conform list
        atomicstore conform explain VAL-07

      Each check runs in its own processes. Exit code 1 where one fails, or where none was run.

      --compare and --matrix read reports in JSON, as --report FILE.json writes them. --compare ends with 1 if a check came out
      worse or the format may claim less for a profile. --matrix prints a table of formats and profiles; without reports it runs
      the checks of all types. --badge writes a small picture of what one format may claim.
      """,
    version: StorePlugin.kitVersion,
    subcommands: [Run.self, List.self, Explain.self], defaultSubcommand: Run.self)

  /// The help with the options of what is run where no subcommand is named: the parser shows those of the subcommands
  /// nowhere here.
  static func completed(help: String) -> String {
    // Only the help of the program lists subcommands.
    guard help.contains("\nSUBCOMMANDS:\n") else { return help }
    let own = helpMessage(for: Run.self, columns: 100_000)
    guard let options = own.firstRange(of: "ARGUMENTS:\n"), let place = help.firstRange(of: "OPTIONS:\n"),
      let end = help[place.upperBound...].firstRange(of: "\n\n")
    else { return help }
    return help[..<place.lowerBound] + own[options.lowerBound...].trimmed
      + help[end.lowerBound...]
  }

  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "run", abstract: "Run checks.", shouldDisplay: false)
    @Argument(
      help: "For --matrix: reports in JSON, one for each format. For --compare: the old report, then the new one.")
    var reports: [String] = []
    @Option(help: "The store type.") var type: String?
    @Option(
      help:
        "One of core, durable, interop, hostile, scale; for stores that are read and written in parts, incremental; for stores in the memory of a process, in-process. May be repeated. All that are about the type by default.",
      transform: { text in
        guard let profile = ConformanceCheck.Profile(rawValue: text) else {
          throw ValidationError(
            "'\(text)' is not one of \(ConformanceCheck.Profile.allCases.map(\.rawValue).joined(separator: ", ")), in-process"
          )
        }
        return profile
      }) var profile: [ConformanceCheck.Profile] = []
    @Option(
      help:
        "Where checks of a type that is not in files create and destroy stores: a URL without a store, such as that of an empty schema."
    ) var url: String?
    @Option(
      name: .customLong("write-option"),
      help: "An option of the format, name=value: all checks run as if it were the default. May be repeated.")
    var writeOptions: [String] = []
    @Option(help: "Run only the check of this ID. May be repeated.") var only: [String] = []
    @Option(help: "The seed of random choices.") var seed: UInt64 = 1
    @Option(help: "Write a report: a name that ends in .json, .xml (JUnit), .html, .txt or .notes. May be repeated.")
    var report: [String] = []
    @Option(help: "The number of checks that run in parallel.") var width: Int?
    @Option(
      help:
        "Number of random graphs in VAL-35; multiplies the damaged files in INI-15; number of random requests in INC-36 and INC-37."
    ) var runs: Int?
    @Option(
      help: ArgumentHelp(
        "Give the reader changed files for so many minutes. What it cannot bear is made smaller and kept.",
        valueName: "minutes")
    ) var fuzz: Double?
    @Option(help: "For --fuzz: the directory of what was found, which is tried first. TYPE-fuzz by default.")
    var corpus: String?
    @Flag(help: "About two dozen checks that take a few seconds.") var smoke = false
    @Flag(
      help:
        "Inject every known fault, and show which checks find it. With --only, those faults that these checks must find."
    ) var selftest = false
    @Option(help: "For --selftest: this fault alone; may be repeated.") var fault: [String] = []
    @Flag(help: "Print a table of formats and profiles, of reports or of a run of all types.") var matrix = false
    @Flag(help: "Print what differs between two reports about one format.") var compare = false
    @Option(help: "Write a badge, an SVG picture: of this run, or of the one report given to --matrix.") var badge:
      String?
    @Flag(help: "Replace reports that exist.") var force = false
    @Flag(help: "Print the schema of the JSON report.") var schema = false
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        StoreProgram.setFailureHandler { _, error in
          ProgramFailures.note(error)
          Diagnostics.say("atomicstore-conform: \(error.message)")
        }
        if schema { return try Diagnostics.put(ConformanceReport.schema) }
        if selftest {
          let others: [(String, Bool)] = [
            ("--type", type != nil), ("--profile", !profile.isEmpty), ("--smoke", smoke), ("--report", !report.isEmpty),
            ("--seed", seed != 1), ("--url", url != nil), ("--matrix", matrix), ("--compare", compare),
            ("--badge", badge != nil), ("reports", !reports.isEmpty), ("--write-option", !writeOptions.isEmpty),
          ]
          if let (name, _) = others.first(where: \.1) {
            throw CommandFailure(
              "--selftest does not go with \(name): --only and --fault say what is tried", exitCode: 64)
          }
          return try test()
        }
        if let fuzz {
          guard (0.01...100_000).contains(fuzz) else {
            throw CommandFailure("--fuzz needs a number of minutes from 0.01 on", exitCode: 64, json: common.json)
          }
          let others = [("--matrix", matrix), ("--compare", compare), ("--smoke", smoke), ("--only", !only.isEmpty)]
          if let (name, _) = others.first(where: \.1) {
            throw CommandFailure("--fuzz does not go with \(name)", exitCode: 64, json: common.json)
          }
        } else if corpus != nil {
          throw CommandFailure("--corpus goes with --fuzz", exitCode: 64, json: common.json)
        }
        guard fault.isEmpty else { throw CommandFailure("--fault goes with --selftest", exitCode: 64) }
        if compare { return try compareReports() }
        if matrix { return try showMatrix() }
        if let name = reports.first {
          throw CommandFailure(
            "'\(name)' is not a subcommand; reports go with --matrix or --compare", exitCode: 64, json: common.json)
        }
        guard let type else {
          throw CommandFailure("give a --type, --matrix, --compare or --selftest", exitCode: 64, json: common.json)
        }
        try check(try subject(of: type))
      }
    }

    var lanes: Int { width ?? max(2, ProcessInfo.processInfo.activeProcessorCount) }

    /// What checks are run on: a format of files, or an incremental type.
    func subject(of name: String) throws -> ConformanceSubject {
      let registry = InstalledFormats.registry
      var subject: ConformanceSubject
      if let type = registry.incrementalType(named: name) {
        guard url != nil || !type.traits.fileExtensions.isEmpty else {
          throw CommandFailure(
            "\(name) stores are not in files: give a --url without a store", exitCode: 64, json: common.json)
        }
        guard fuzz == nil else {
          throw CommandFailure(
            "--fuzz is for stores that are loaded whole, and \(name) stores are not", exitCode: 64, json: common.json)
        }
        guard writeOptions.isEmpty else {
          throw CommandFailure(
            "--write-option is for stores that are written whole, and \(name) stores are not", exitCode: 64,
            json: common.json)
        }
        subject = ConformanceSubject(type, url: url)
      } else {
        guard url == nil else {
          throw CommandFailure("\(name) stores have no URL, but files", exitCode: 64, json: common.json)
        }
        let type = try registry.storeType(named: name)
        let others = registry.storeTypes.compactMap { try? registry.storeType(named: $0) }
        subject = ConformanceSubject(type, others: others.filter { $0.storeType != type.storeType })
        try subject.use(try parseOptions(writeOptions))
      }
      subject.arguments += InstalledFormats.pluginArguments
      subject.runs = runs
      if let fuzz {
        let path = corpus ?? "\(name)-fuzz"
        let folder = path.hasPrefix("/") ? "" : FileManager.default.currentDirectoryPath + "/"
        subject.addFuzzing(seconds: fuzz * 60, corpus: folder + path)
      }
      return subject
    }

    private func check(_ subject: ConformanceSubject) throws {
      let all = Conformance.checks(for: subject)
      try requireKnown(among: all)
      let checks = chosen(all)
      try requireSome(checks)
      try requireTargets(["json", "xml", "html", "txt", "notes"])
      let made = made(subject.type.storeType, checks)
      var files = try report.map { path in
        switch PathParts.fileExtension(of: path) {
        case "json": (path, try made.json())
        case "xml": (path, Array(made.junit.utf8))
        case "html": (path, Array(made.html.utf8))
        case "notes": (path, Array(made.notes.utf8))
        default: (path, Array(made.text.utf8))
        }
      }
      if let badge { files.append((badge, Array(ConformanceBadge(ConformanceRecord(made)).svg.utf8))) }
      try write(files)
      try Diagnostics.put(common.json ? String(decoding: try made.json(), as: UTF8.self) : made.text)
      if !made.isSuccess { throw ExitCode(1) }
    }

    /// Those of the checks that were asked for.
    func chosen(_ all: [ConformanceCheck]) -> [ConformanceCheck] {
      let ids = only.map { $0.uppercased() }
      return all.filter { check in
        (!smoke || check.isSmoke) && (profile.isEmpty || profile.contains(check.profile))
          && (ids.isEmpty || ids.contains(check.id)) && (fuzz == nil || check.id == "FUZ-01")
      }
    }

    /// Refuses names of checks that are not among those of the asked profiles.
    func requireKnown(among all: [ConformanceCheck]) throws {
      for id in only
      where !all.contains(where: {
        $0.id == id.uppercased() && (!smoke || $0.isSmoke) && (profile.isEmpty || profile.contains($0.profile))
      }) {
        throw CommandFailure(
          "'\(id)' is not one of the checks to run; see: atomicstore conform list", exitCode: 64,
          json: common.json)
      }
    }

    /// A run of nothing finds nothing.
    func requireSome(_ checks: [ConformanceCheck]) throws {
      guard !checks.isEmpty else {
        throw CommandFailure(
          "no check matches all of the given filters; see: atomicstore conform list", exitCode: 64, json: common.json)
      }
    }

    /// Runs checks, with progress on a terminal.
    func made(_ type: String, _ checks: [ConformanceCheck]) -> ConformanceReport {
      let total = checks.count
      let isTerminal = isatty(2) == 1
      let start = Date()
      let results = ConformanceRun(checks, seed: seed, width: lanes).results { done, result in
        if isTerminal { StandardError.write("\r\(done) of \(total)  \(result.id)    ") }
      }
      if isTerminal { StandardError.write("\r\u{1B}[K") }
      var made = ConformanceReport(storeType: type, checks: checks, results: results)
      made.circumstances = .init(seed: seed, seconds: Date().timeIntervalSince(start), width: lanes)
      return made
    }

    /// Refuses names of files that cannot be written, before checks are run.
    func requireTargets(_ extensions: [String]) throws {
      for path in report {
        guard extensions.contains(PathParts.fileExtension(of: path)) else {
          let list = extensions.map { "." + $0 }
          throw CommandFailure(
            "\(path): a report's name ends in \(list.dropLast().joined(separator: ", ")) or \(list.last ?? "")",
            exitCode: 64, json: common.json)
        }
      }
      if let badge, PathParts.fileExtension(of: badge) != "svg" {
        throw CommandFailure("\(badge): a badge's name ends in .svg", exitCode: 64, json: common.json)
      }
      for path in report + [badge].compactMap({ $0 }) where !force && FileManager.default.fileExists(atPath: path) {
        throw CommandFailure("\(path) exists; --force replaces it", exitCode: 73, json: common.json)
      }
    }

    /// Writes all files, or none.
    func write(_ files: [(path: String, bytes: [UInt8])]) throws {
      let unit = Publication()
      for (path, bytes) in files { try unit.addFile(bytes, at: path, replaces: force) }
      try unit.commit()
    }
  }
}
