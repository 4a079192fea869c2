import ArgumentParser
import AtomicStoreConformance
import AtomicStoreSPI
import BuiltInStoreFormats
import CommandSupport
import Foundation

struct Conform: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore conform", abstract: "Find out whether a store format is right.",
    discussion: """
      atomicstore conform --type CSV --report report.html
      atomicstore conform --type XML --only VAL-07 --seed 3
      atomicstore conform --selftest                     # whether the checks find what they are for
      atomicstore conform list
      atomicstore conform explain VAL-07

      Each check runs in processes of its own. Exit code 1 where one fails, or where none was run.
      """,
    version: StorePlugin.kitVersion,
    subcommands: [Run.self, List.self, Explain.self], defaultSubcommand: Run.self)

  /// The help with the options of what is run where no subcommand is named: the parser shows those of the subcommands
  /// nowhere here.
  static func completed(help: String) -> String {
    guard help == helpMessage() else { return help }
    let title = "OPTIONS:\n"
    let own = Run.helpMessage()
    guard let options = own.range(of: title), let place = help.range(of: title),
      let end = help.range(of: "\n\n", range: place.upperBound..<help.endIndex)
    else { return help }
    return help[..<place.lowerBound] + own[options.lowerBound...].trimmingCharacters(in: .newlines)
      + help[end.lowerBound...]
  }

  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "run", abstract: "Run checks.", shouldDisplay: false)
    @Option(help: "The store type.") var type: String?
    @Option(
      help: "One of core, durable, interop, hostile, scale; may be repeated. All by default.",
      transform: { text in
        guard let profile = ConformanceCheck.Profile(rawValue: text) else {
          throw ValidationError(
            "'\(text)' is none of \(ConformanceCheck.Profile.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return profile
      }) var profile: [ConformanceCheck.Profile] = []
    @Option(help: "The check of this name alone; may be repeated.") var only: [String] = []
    @Option(help: "What random choices are made by.") var seed: UInt64 = 1
    @Option(help: "Write a report: a name that ends in .json, .xml (JUnit), .html, .txt or .notes. May be repeated.")
    var report: [String] = []
    @Option(help: "How many checks run at a time.") var width: Int?
    @Option(help: "How many random graphs VAL-35 makes; and so many times as many damages INI-15 tries.") var runs: Int?
    @Flag(help: "About two dozen checks that take a few seconds.") var smoke = false
    @Flag(
      help:
        "Plant every known fault and see whether the checks find it; with --only those that these checks are there to find."
    ) var selftest = false
    @Option(help: "For --selftest: this fault alone; may be repeated.") var fault: [String] = []
    @Flag(help: "Replace reports that exist.") var force = false
    @Flag(help: "Print the schema of the JSON report.") var schema = false
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        if schema { return try Diagnostics.put(ConformanceReport.schema) }
        if selftest {
          let others: [(String, Bool)] = [
            ("--type", type != nil), ("--profile", !profile.isEmpty), ("--smoke", smoke), ("--report", !report.isEmpty),
            ("--seed", seed != 1),
          ]
          if let (name, _) = others.first(where: \.1) {
            throw CommandFailure(
              "--selftest does not go with \(name): --only and --fault say what is tried", exitCode: 64)
          }
          return try test()
        }
        guard fault.isEmpty else { throw CommandFailure("--fault goes with --selftest", exitCode: 64) }
        guard let type else { throw CommandFailure("give a --type, or --selftest", exitCode: 64, json: common.json) }
        try check(try InstalledFormats.registry.storeType(named: type))
      }
    }

    var lanes: Int { width ?? max(2, ProcessInfo.processInfo.activeProcessorCount) }

    private func check(_ type: any AtomicStore.Type) throws {
      let others = InstalledFormats.registry.storeTypes.compactMap {
        try? InstalledFormats.registry.storeType(named: $0)
      }
      .filter { $0.storeType != type.storeType }
      var subject = ConformanceSubject(type, others: others)
      subject.arguments += InstalledFormats.pluginArguments
      subject.runs = runs
      var checks = Conformance.checks(for: subject)
      if smoke { checks = checks.filter { Conformance.smoke(for: type).map(\.id).contains($0.id) } }
      if !profile.isEmpty { checks = checks.filter { profile.contains($0.profile) } }
      if !only.isEmpty {
        for id in only where !checks.contains(where: { $0.id == id.uppercased() }) {
          throw CommandFailure(
            "there is no check '\(id)' among those asked for; see: atomicstore conform list", exitCode: 64,
            json: common.json)
        }
        checks = checks.filter { only.map { $0.uppercased() }.contains($0.id) }
      }
      // A run of nothing finds nothing.
      guard !checks.isEmpty else {
        throw CommandFailure(
          "no check is both of what was asked for; see: atomicstore conform list", exitCode: 64, json: common.json)
      }
      for path in report {
        guard ["json", "xml", "html", "txt", "notes"].contains((path as NSString).pathExtension) else {
          throw CommandFailure(
            "\(path): a report's name ends in .json, .xml, .html, .txt or .notes", exitCode: 64, json: common.json)
        }
        if !force, FileManager.default.fileExists(atPath: path) {
          throw CommandFailure("\(path) exists; --force replaces it", exitCode: 73, json: common.json)
        }
      }
      let total = checks.count
      let isTerminal = isatty(2) == 1
      let start = Date()
      let results = ConformanceRun(checks, seed: seed, width: lanes).results { done, result in
        if isTerminal { FileHandle.standardError.write(Data("\r\(done) of \(total)  \(result.id)    ".utf8)) }
      }
      if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
      var made = ConformanceReport(storeType: type.storeType, checks: checks, results: results)
      made.circumstances = .init(seed: seed, seconds: Date().timeIntervalSince(start), width: lanes)
      for path in report {
        let bytes: [UInt8]
        switch (path as NSString).pathExtension {
        case "json": bytes = try made.json()
        case "xml": bytes = Array(made.junit.utf8)
        case "html": bytes = Array(made.html.utf8)
        case "notes": bytes = Array(made.notes.utf8)
        default: bytes = Array(made.text.utf8)
        }
        do { try Data(bytes).write(to: URL(fileURLWithPath: path)) } catch {
          throw CommandFailure(
            "\(path): cannot be written: \(error.localizedDescription)", exitCode: 73, json: common.json)
        }
      }
      try Diagnostics.put(common.json ? String(decoding: try made.json(), as: UTF8.self) : made.text)
      if !made.isSuccess { throw ExitCode(1) }
    }
  }
}
