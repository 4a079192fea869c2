import ArgumentParser
import AtomicStoreConformance
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

struct Conform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conform", abstract: "Find out whether a store format is right.",
    discussion: """
      atomicstore conform --type CSV --report report.html
      atomicstore conform --type XML --only VAL-07 --seed 3
      atomicstore conform --selftest                     # whether the checks find what they are for
      atomicstore conform list
      atomicstore conform explain VAL-07

      Each check runs in processes of its own. Exit code 1 where one fails, or where none was run.
      """,
    subcommands: [Run.self, List.self, Explain.self], defaultSubcommand: Run.self)

  /// The help with the options of what is run where no subcommand is named: the parser shows those of the subcommands nowhere here.
  static func completed(help: String) -> String {
    let title = "OPTIONS:\n"
    let own = Run.helpMessage()
    guard let options = own.range(of: title), let place = help.range(of: title),
      let end = help.range(of: "\n\n", range: place.upperBound..<help.endIndex)
    else { return help }
    return help[..<place.lowerBound] + own[options.lowerBound...].trimmingCharacters(in: .newlines) + help[end.lowerBound...]
  }

  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "run", abstract: "Run checks.", shouldDisplay: false)
    @Option(help: "The store type.") var type: String?
    @Option(help: "One of core, durable, interop, hostile, scale; may be repeated. All by default.", transform: { text in
      guard let profile = ConformanceCheck.Profile(rawValue: text) else {
        throw ValidationError("'\(text)' is none of \(ConformanceCheck.Profile.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      return profile
    }) var profile: [ConformanceCheck.Profile] = []
    @Option(help: "The check of this name alone; may be repeated.") var only: [String] = []
    @Option(help: "What random choices are made by.") var seed: UInt64 = 1
    @Option(help: "Write a report: a name that ends in .json, .xml (JUnit), .html or .txt. May be repeated.") var report: [String] = []
    @Option(help: "How many checks run at a time.") var width: Int?
    @Flag(help: "About two dozen checks that take a few seconds.") var smoke = false
    @Flag(help: "Plant every known fault and see whether the checks find it; with --only those that these checks are there to find.") var selftest = false
    @Option(help: "For --selftest: this fault alone; may be repeated.") var fault: [String] = []
    @Flag(help: "Replace reports that exist.") var force = false
    @Flag(help: "Print the schema of the JSON report.") var schema = false
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        if schema { return try Talk.put(ConformanceReport.schema) }
        if selftest {
          let others: [(String, Bool)] = [
            ("--type", type != nil), ("--profile", !profile.isEmpty), ("--smoke", smoke), ("--report", !report.isEmpty), ("--seed", seed != 1),
          ]
          if let (name, _) = others.first(where: \.1) {
            throw CommandFailure("--selftest does not go with \(name): --only and --fault say what is tried", exitCode: 64)
          }
          return try test()
        }
        guard fault.isEmpty else { throw CommandFailure("--fault goes with --selftest", exitCode: 64) }
        guard let type else { throw CommandFailure("give a --type, or --selftest", exitCode: 64, json: common.json) }
        try check(try Tool.registry.storeType(named: type))
      }
    }

    private var lanes: Int { width ?? max(2, ProcessInfo.processInfo.activeProcessorCount) }

    private func check(_ type: any AtomicStore.Type) throws {
      let others = Tool.registry.storeTypes.compactMap { try? Tool.registry.storeType(named: $0) }
        .filter { $0.storeType != type.storeType }
      var subject = ConformanceSubject(type, others: others)
      subject.arguments += Tool.pluginArguments
      var checks = Conformance.checks(for: subject)
      if smoke { checks = checks.filter { Conformance.smoke(for: type).map(\.id).contains($0.id) } }
      if !profile.isEmpty { checks = checks.filter { profile.contains($0.profile) } }
      if !only.isEmpty {
        for id in only where !checks.contains(where: { $0.id == id.uppercased() }) {
          throw CommandFailure("there is no check '\(id)' among those asked for; see: atomicstore conform list", exitCode: 64, json: common.json)
        }
        checks = checks.filter { only.map { $0.uppercased() }.contains($0.id) }
      }
      // A run of nothing finds nothing.
      guard !checks.isEmpty else {
        throw CommandFailure("no check is both of what was asked for; see: atomicstore conform list", exitCode: 64, json: common.json)
      }
      for path in report {
        guard ["json", "xml", "html", "txt"].contains((path as NSString).pathExtension) else {
          throw CommandFailure("\(path): a report's name ends in .json, .xml, .html or .txt", exitCode: 64, json: common.json)
        }
        if !force, FileManager.default.fileExists(atPath: path) {
          throw CommandFailure("\(path) exists; --force replaces it", exitCode: 73, json: common.json)
        }
      }
      let total = checks.count
      let isTerminal = isatty(2) == 1
      let results = ConformanceRun(checks, seed: seed, width: lanes).results { done, result in
        if isTerminal { FileHandle.standardError.write(Data("\r\(done) of \(total)  \(result.id)    ".utf8)) }
      }
      if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
      let made = ConformanceReport(storeType: type.storeType, checks: checks, results: results)
      for path in report {
        let bytes: [UInt8]
        switch (path as NSString).pathExtension {
        case "json": bytes = try made.json()
        case "xml": bytes = Array(made.junit.utf8)
        case "html": bytes = Array(made.html.utf8)
        default: bytes = Array(made.text.utf8)
        }
        do { try Data(bytes).write(to: URL(fileURLWithPath: path)) } catch {
          throw CommandFailure("\(path): cannot be written: \(error.localizedDescription)", exitCode: 73, json: common.json)
        }
      }
      try Talk.put(common.json ? String(decoding: try made.json(), as: UTF8.self) : made.text)
      if !made.isSuccess { throw ExitCode(1) }
    }

    private func test() throws {
      let types = Tool.registry.storeTypes.compactMap { try? Tool.registry.storeType(named: $0) }
      let order = ["XML", "BinaryPropertyList", "CSV"]
      let subjects = types.sorted { (order.firstIndex(of: $0.storeType) ?? 9) < (order.firstIndex(of: $1.storeType) ?? 9) }.map { type in
        var subject = ConformanceSubject(type, others: types.filter { $0.storeType != type.storeType })
        subject.crafted = ConformanceSubject.sampleCraft
        return subject
      }
      // A worker process serves when it comes by.
      for subject in subjects { _ = Conformance.checks(for: subject) }
      for name in fault where !Conformance.faults.contains(where: { $0.name == name }) {
        throw CommandFailure("there is no fault '\(name)'; see: atomicstore conform list --faults", exitCode: 64, json: common.json)
      }
      let wanted = only.map { $0.uppercased() }
      for id in wanted where !Conformance.catalogue.contains(where: { $0.id == id }) {
        throw CommandFailure("there is no check '\(id)'; see: atomicstore conform list", exitCode: 64)
      }
      let tried = Conformance.catalogue.filter { wanted.isEmpty || wanted.contains($0.id) }.flatMap(\.catches).map(\.name)
      guard tried.contains(where: { fault.isEmpty || fault.contains($0) }) else {
        throw CommandFailure("none of these checks is there to find that; see: atomicstore conform explain \(wanted.first ?? "VAL-07")", exitCode: 64)
      }
      let isTerminal = isatty(2) == 1
      let outcome = ConformanceSelfTest.run(in: subjects, width: lanes, faults: fault, checks: wanted) { done, total in
        if isTerminal { FileHandle.standardError.write(Data("\r\(done) of \(total)".utf8)) }
      }
      if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
      if common.json {
        let list = outcome.findings.map { finding in
          JSONValue.object([
            ("fault", .string(finding.fault)), ("text", .string(finding.text)), ("caughtBy", .array(finding.caughtBy.map { .string($0) })),
            ("missedBy", .array(finding.missedBy.map { .string($0) })), ("brokenIn", .array(finding.brokenIn.map { .string($0) })),
            ("unrelated", .array(finding.unrelated.map { .string($0) })),
          ])
        }
        try Talk.put(
          JSONValue.object([
            ("faults", .array(list)), ("caught", .integer(outcome.caught)), ("deadChecks", .array(outcome.deadChecks.map { .string($0) })),
            ("unknownFaults", .array(outcome.unknownFaults.map { .string($0) })),
          ]).text + "\n")
      } else {
        for finding in outcome.findings {
          var line = finding.isSound ? "caught   " : "SURVIVED "
          line += finding.fault + ": " + finding.text
          if !finding.caughtBy.isEmpty { line += "; by " + finding.caughtBy.joined(separator: ", ") }
          if !finding.missedBy.isEmpty { line += "; MISSED by " + finding.missedBy.joined(separator: ", ") }
          if !finding.brokenIn.isEmpty { line += "; a crash or hang in " + finding.brokenIn.joined(separator: ", ") }
          if !finding.unrelated.isEmpty { line += "; unrelated failures: " + finding.unrelated.joined(separator: ", ") }
          try Talk.put(line + "\n")
        }
        for id in outcome.deadChecks { try Talk.put("DEAD     \(id): no fault makes it fail\n") }
        for name in outcome.unknownFaults { try Talk.put("UNKNOWN  \(name): named by a check, and cannot be planted\n") }
        try Talk.put("\(Talk.count(outcome.findings.count, "fault")), \(outcome.caught) caught, \(Talk.count(outcome.deadChecks.count, "dead check"))\n")
      }
      if !outcome.isSuccess { throw ExitCode(1) }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the checks, or the faults that they find.")
    @Flag(help: "The faults that --selftest can plant.") var faults = false
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) { try faults ? listFaults() : listChecks() }
    }

    private func listFaults() throws {
      let all = Conformance.faults
      guard common.json else { return try Talk.put(all.map { "\($0.name): \($0.text)\n" }.joined()) }
      try Talk.put(JSONValue.array(all.map { .object([("name", .string($0.name)), ("text", .string($0.text))]) }).text + "\n")
    }

    private func listChecks() throws {
      let checks = Conformance.catalogue
      if common.json {
        try Talk.put(
          JSONValue.array(
            checks.map {
              .object([
                ("id", .string($0.id)), ("level", .string($0.level.rawValue)), ("profile", .string($0.profile.rawValue)),
                ("title", .string($0.title)), ("source", .string($0.source)),
              ])
            }
          ).text + "\n")
      } else {
        for check in checks {
          try Talk.put("\(check.id)  \(check.level.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0))  \(check.profile.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0))  \(check.title)\n")
        }
        for (id, reason) in Conformance.leftOut { try Talk.put("\(id)  left out: \(reason)\n") }
      }
    }
  }

  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Tell what a check is about.")
    @Argument(help: "The check, such as VAL-07.") var id: String
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let id = id.uppercased()
        guard let check = Conformance.catalogue.first(where: { $0.id == id }) else {
          guard let reason = Conformance.leftOut.first(where: { $0.id == id })?.reason else {
            throw CommandFailure("there is no check '\(id)'; see: atomicstore conform list", exitCode: 64)
          }
          let answer = JSONValue.object([("id", .string(id)), ("leftOut", .string(reason))])
          return try Talk.put(common.json ? answer.text + "\n" : "\(id) is left out: \(reason)\n")
        }
        try Talk.put(common.json ? Self.json(check).text + "\n" : Self.text(check))
      }
    }

    private static func text(_ check: ConformanceCheck) -> String {
      var text = "\(check.id): \(check.title)\n"
      text += "  level      \(check.level.rawValue), profile \(check.profile.rawValue)\n"
      text += "  rule from  \(check.source)\n"
      text += "  procedure  \(check.procedure)\n"
      if !check.likelyCauses.isEmpty { text += "  likely     \(check.likelyCauses.joined(separator: "\n             "))\n" }
      if !check.catches.isEmpty {
        text += "  catches    " + check.catches.map { "\($0.name): \($0.text)" }.joined(separator: "\n             ") + "\n"
      }
      return text
    }

    private static func json(_ check: ConformanceCheck) -> JSONValue {
      .object([
        ("id", .string(check.id)), ("title", .string(check.title)), ("level", .string(check.level.rawValue)),
        ("profile", .string(check.profile.rawValue)), ("source", .string(check.source)), ("procedure", .string(check.procedure)),
        ("likelyCauses", .array(check.likelyCauses.map { .string($0) })),
        ("catches", .array(check.catches.map { .object([("name", .string($0.name)), ("text", .string($0.text))]) })),
      ])
    }
  }
}
