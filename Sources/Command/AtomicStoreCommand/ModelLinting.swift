import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import ModelFiles
import StoreMigration
import StoreReports

/// The levels of findings, as an option names them.
private enum LintLevel: String, ExpressibleByArgument, CaseIterable {
  case error, warning, note

  var level: LintRule.Level {
    switch self {
    case .error: .error
    case .warning: .warning
    case .note: .note
    }
  }
}

extension Model {
  struct Lint: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "lint",
      abstract: "List what is questionable in a model: 0 nothing of the level of --fail-on found, 1 findings.",
      discussion: """
          atomicstore model lint Company.xcdatamodeld --disable name-case
          atomicstore model lint App.xcdatamodeld --sarif > lint.sarif     # for code hosts and editors

        It finds what Xcode warns of, and common pitfalls: missing inverses, delete rules that delete too much or
        make saves fail, optional scalars, names that are illegal in classes or predicates, retired transformers. If the
        model has several versions, the previous one is compared, to find what was renamed without a renaming
        identifier. --rules lists all rules. A rule is switched off with --disable, or for one entity or property with
        the entry 'atomicstore.lint.disable' in its user info.
        """)
    @Argument(help: "The model file, or a store that carries a model; - for standard input.") var path: String?
    @Option(help: "The version, if the file has several.") var version: String?
    @Option(help: "The previous model. Default: the previous version in the file.") var from: String?
    @Option(help: "A rule that is not applied. May be repeated, or name several with commas.") var disable: [String] =
      []
    @Option(help: "The lowest level of findings for which the exit code is 1: error, warning or note.")
    private var failOn = LintLevel.warning
    @Flag(help: "Print a SARIF 2.1.0 log.") var sarif = false
    @Flag(help: "List the rules, and do nothing else.") var rules = false
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      var fails = false
      try guarded(common) {
        if rules { return try showRules() }
        guard let path else {
          throw CommandFailure("name a model, or list the rules with --rules", exitCode: 64, json: common.json)
        }
        let found = try findings(path)
        try show(found, path)
        fails = found.contains { $0.finding.level >= failOn.level }
      }
      if fails { throw ExitCode(1) }
    }

    private func disabled() throws -> Set<String> {
      let names = disable.flatMap { $0.split(separator: ",").map(String.init) }
      for name in names where LintRule.named(name) == nil {
        let near = Suggestion.text(for: name, among: LintRule.all.map(\.name))
        throw CommandFailure(
          "unknown rule '\(name)'" + (near.isEmpty ? "; --rules lists them" : near), exitCode: 64,
          json: common.json)
      }
      return Set(names)
    }

    private func findings(_ path: String) throws -> [(finding: LintFinding, line: Int?)] {
      var lint = ModelLint()
      lint.disabledRules = try disabled()
      let source = try ModelSource.read(path, version: version, allowsInvalid: true, json: common.json)
      guard source.isWhole, let model = source.model else {
        throw CommandFailure("\(path): the store does not carry a model", exitCode: 65, json: common.json)
      }
      var found = lint.findings(in: model.description)
      if let old = try previous(path, source.versionName) {
        found += lint.findings(from: old, to: model.description)
      }
      let contents = Self.contents(path, source.versionName)
      let lines = contents.flatMap { FileManager.default.contents(atPath: $0) }.map { ModelLines(contents: Array($0)) }
      return found.map { ($0, lines?.line(of: $0)) }
    }

    /// The model that `--from` names, or the version before the one that was read; nil if there is none.
    private func previous(_ path: String, _ version: String?) throws -> ModelDescription? {
      if let from { return try ModelSource.read(from, json: common.json).model?.description }
      guard path != "-", let version, let names = try ModelFile.versions(at: path)?.names else { return nil }
      let sorted = names.sorted { MigrationPlan.precedes($0, $1) }
      guard let place = sorted.firstIndex(of: version), place > 0 else { return nil }
      // Unreadable versions are skipped.
      return try? ModelFile.read(at: path, version: sorted[place - 1]).description
    }

    /// The file of Xcode's source format that was read; nil for other kinds.
    private static func contents(_ path: String, _ version: String?) -> String? {
      guard path != "-" else { return nil }
      let base = path.hasSuffix("/") ? String(path.dropLast()) : path
      let places = ["\(base)/\(version ?? "").xcdatamodel/contents", "\(base)/contents", base]
      return places.first {
        var isDirectory = false
        return FileManager.default.fileExists(atPath: $0, isDirectory: &isDirectory) && !isDirectory
      }
    }

    private func show(_ found: [(finding: LintFinding, line: Int?)], _ path: String) throws {
      if sarif {
        let file = Self.contents(path, try? ModelFile.read(at: path, version: version).versionName) ?? path
        let log = LintFinding.sarif(found, file: file, version: StorePlugin.kitVersion)
        return try Diagnostics.put(log.text + "\n")
      }
      if common.json { return try Diagnostics.put(json(found, path).text + "\n") }
      try Diagnostics.lines(found) { entry in
        (
          entry.finding.description,
          entry.finding.level == .error ? .red : entry.finding.level == .warning ? .yellow : nil
        )
      }
      let counts = LintRule.Level.allCases.reversed().compactMap { level -> String? in
        let count = found.filter { $0.finding.level == level }.count
        return count == 0 ? nil : Diagnostics.count(count, level.rawValue)
      }
      Diagnostics.say(counts.isEmpty ? "nothing found" : counts.joined(separator: ", "))
    }

    private func json(_ found: [(finding: LintFinding, line: Int?)], _ path: String) -> JSONValue {
      .object([
        ("model", .string(path)),
        (
          "counts",
          .object(
            LintRule.Level.allCases.reversed().map { level in
              (level.rawValue, .integer(found.filter { $0.finding.level == level }.count))
            })
        ),
        (
          "findings",
          .array(
            found.map { finding, line in
              .object([
                ("rule", .string(finding.rule)), ("level", .string(finding.level.rawValue)),
                ("entity", finding.entityName.map { .string($0) } ?? .null),
                ("property", finding.propertyName.map { .string($0) } ?? .null),
                ("line", line.map { .integer($0) } ?? .null), ("message", .string(finding.message)),
              ])
            })
        ),
      ])
    }

    private func showRules() throws {
      if common.json {
        let list = LintRule.all.map { rule -> JSONValue in
          .object([
            ("name", .string(rule.name)), ("level", .string(rule.level.rawValue)), ("summary", .string(rule.summary)),
          ])
        }
        return try Diagnostics.put(JSONValue.array(list).text + "\n")
      }
      let width = LintRule.all.map(\.name.count).max() ?? 0
      var text = ""
      for rule in LintRule.all {
        text += rule.name + String(repeating: " ", count: width + 2 - rule.name.count)
        text += rule.level.rawValue + String(repeating: " ", count: 9 - rule.level.rawValue.count) + rule.summary + "\n"
      }
      try Diagnostics.put(text)
    }
  }
}
