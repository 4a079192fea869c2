import FoundationEssentials

/// Results as people and programs read them.
package struct ConformanceReport: Sendable {
  /// The name of the format's store type.
  let storeType: String
  /// The checks that were run.
  package let checks: [ConformanceCheck]
  /// Their results, in the same order.
  package let results: [ConformanceResult]
  /// When, where and how the checks were run; nil where that is not known.
  package var circumstances: Circumstances?
  /// How many checks each profile has in all.
  let totals: [ConformanceCheck.Profile: Int]

  /// What a format may say of itself, after the checks of a profile that were run.
  package enum Claim: Sendable, Equatable {
    /// All of its checks were run, and none is against it.
    case full
    /// None of its checks is against it, and these could not be tried without the author's help.
    case untested([String])
    /// With the checks that stand against it.
    case partial([String])
    /// A part of its checks was run, which says nothing of the rest.
    case incomplete(run: Int, of: Int)
    /// None of its checks was run, or none applies.
    case none

    /// The claim that outcomes of checks of one profile allow, of which there are `total`.
    init(_ own: [(id: String, outcome: ConformanceResult.Outcome)], of total: Int) {
      if !own.isEmpty, own.count < total {
        self = .incomplete(run: own.count, of: total)
      } else if own.allSatisfy({ $0.outcome == .notApplicable }) {
        // Checks that do not apply give no claim.
        self = .none
      } else {
        let against = own.filter { $0.outcome.isFailure || $0.outcome == .blocked }.map(\.id)
        let untested = own.filter { $0.outcome == .gap }.map(\.id)
        self = !against.isEmpty ? .partial(against) : untested.isEmpty ? .full : .untested(untested)
      }
    }

    /// The claim in a word: `full`, `payload not tested`, `newer version not tested`, `partial`, `not claimed`.
    package var word: String {
      switch self {
      case .full: "full"
      case .untested(["SCH-13"]): "newer version not tested"
      case .untested: "payload not tested"
      case .partial: "partial"
      case .incomplete, .none: "not claimed"
      }
    }

    /// As people read it.
    var text: String {
      switch self {
      case .partial(let against): "partial, against it \(against.joined(separator: ", "))"
      case .untested(let checks): "\(word): \(checks.joined(separator: ", "))"
      case .incomplete(let run, let all): "\(word) (\(run) of \(all) run)"
      case .full, .none: word
      }
    }
  }

  /// Creates a report.
  ///
  /// - Parameters:
  ///   - storeType: The name of the format's store type.
  ///   - checks: The checks that were run.
  ///   - results: One for each check, in the same order.
  ///   - catalogue: All checks that exist, run or not; nil for the kit's and those of the checks' subject.
  package init(
    storeType: String, checks: [ConformanceCheck], results: [ConformanceResult], catalogue: [ConformanceCheck]? = nil
  ) {
    self.storeType = storeType
    self.checks = checks
    self.results = results
    let subject = checks.first?.subject
    let profiles =
      catalogue?.map(\.profile)
      ?? (Checks.all + (subject?.ownChecks ?? [])).map { subject?.profile(of: $0) ?? $0.profile }
    totals = Dictionary(profiles.map { ($0, 1) }, uniquingKeysWith: +)
  }

  /// The results that speak against the format.
  var failures: [ConformanceResult] { results.filter(\.outcome.isFailure) }
  /// Nothing run is a failure too.
  package var isSuccess: Bool { !results.isEmpty && failures.isEmpty && results.contains { $0.outcome != .blocked } }

  /// How many checks came to an outcome.
  package func count(_ outcome: ConformanceResult.Outcome) -> Int { results.filter { $0.outcome == outcome }.count }

  /// What the format may say of itself for a profile.
  package func claim(_ profile: ConformanceCheck.Profile) -> Claim {
    let own = zip(checks, results).filter { $0.0.profile == profile }
    return Claim(own.map { ($0.id, $1.outcome) }, of: totals[profile] ?? 0)
  }

  /// What a pass does not mean.
  static let caveat =
    "A pass says that nothing was found by these checks: not that a disk keeps what was written, nor that values which were not tried are kept."

  // MARK: Text

  /// A failure's whole story.
  static func text(of result: ConformanceResult) -> String {
    guard let story = result.explanation else {
      return "\(result.id): \(result.outcome.rawValue) \(result.reason ?? "")"
    }
    func block(_ title: String, _ lines: [String]) -> String {
      let margin = "  " + title + String(repeating: " ", count: max(1, 12 - title.count))
      return margin + lines.joined(separator: "\n").replacing("\n", with: "\n              ") + "\n"
    }
    var text = "\(result.id) \(result.outcome.rawValue): \(story.rule)\n"
    text += block("rule from", [story.source])
    if !story.done.isEmpty { text += block("done", story.done) }
    text += block("expected", [story.expected]) + block("actual", [story.actual])
    if !story.causes.isEmpty { text += block("likely", story.causes) }
    if !result.strip.isEmpty { text += block("strip", [result.strip.joined(separator: " ")]) }
    return text + block("files", [story.files]) + block("again", [story.command])
  }

  /// The report as plain text: a line for each check, the whole story for failures, and the summary.
  package var text: String {
    var text = ""
    for (check, result) in zip(checks, results) {
      switch result.outcome {
      case .passed: text += "\(check.id)  pass      \(check.title)\n"
      case .refusalVerified: text += "\(check.id)  refusal   \(check.title) (\(result.reason ?? ""))\n"
      case .gap, .notApplicable, .blocked:
        text += "\(check.id)  \(result.outcome.rawValue)  \(check.title) (\(result.reason ?? ""))\n"
      case .failed, .crashed, .timedOut: text += Self.text(of: result)
      }
      if !result.strip.isEmpty, !result.outcome.isFailure { text += "           \(Self.drawn(result.strip))\n" }
    }
    return text + summary
  }

  /// How many checks came to which outcome, and the claim for each profile.
  package var summary: String {
    var text = "\(storeType): "
    text += ConformanceResult.Outcome.allCases.filter { count($0) > 0 }.map { "\(count($0)) \($0.rawValue)" }.joined(
      separator: ", ")
    text += "\n"
    for profile in ConformanceCheck.Profile.reported {
      let claim = claim(profile)
      if claim != .none { text += "  \(profile.rawValue): \(claim.text)\n" }
    }
    return text + Self.caveat + "\n"
  }

  /// A strip with its runs counted: `OLD×12 NEW×3`.
  static func drawn(_ strip: [String]) -> String {
    if strip.count <= 24 { return strip.joined(separator: " ") }
    var runs: [(word: String, count: Int)] = []
    for word in strip { if runs.last?.word == word { runs[runs.count - 1].count += 1 } else { runs.append((word, 1)) } }
    return runs.map { $0.count == 1 ? $0.word : "\($0.word)×\($0.count)" }.joined(separator: " ")
  }

  // MARK: JSON

  static let schemaName = "atomicstore-conformance-1"

  private struct Document: Codable {
    struct Entry: Codable {
      var id: String
      var level: String
      var profile: String
      var title: String
      var source: String
      var result: ConformanceResult
    }
    /// How many of a profile's checks were run.
    struct Coverage: Codable {
      var run: Int
      var of: Int
    }
    var schema = ConformanceReport.schemaName
    var storeType: String
    var total: Int
    var counts: [String: Int]
    var claims: [String: String]
    var coverage: [String: Coverage]
    var checks: [Entry]
    var caveat = ConformanceReport.caveat
  }

  /// As JSON; `conform --schema` prints its schema.
  package func json() throws -> [UInt8] {
    let hasInProcess = checks.contains { $0.profile == .inProcess }
    let profiles = hasInProcess ? ConformanceCheck.Profile.reported : ConformanceCheck.Profile.allCases
    let document = Document(
      storeType: storeType, total: results.count,
      counts: Dictionary(uniqueKeysWithValues: ConformanceResult.Outcome.allCases.map { ($0.rawValue, count($0)) }),
      claims: Dictionary(uniqueKeysWithValues: profiles.map { ($0.rawValue, claim($0).word) }),
      coverage: Dictionary(
        uniqueKeysWithValues: profiles.map { profile in
          (profile.rawValue, .init(run: checks.count { $0.profile == profile }, of: totals[profile] ?? 0))
        }),
      checks: zip(checks, results).map {
        .init(
          id: $0.id, level: $0.level.rawValue, profile: $0.profile.rawValue, title: $0.title, source: $0.source,
          result: $1)
      })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(document)) + [.lineFeed]
  }

  /// The JSON report's schema, itself JSON Schema.
  package static let schema = """
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "Conformance report of a store format",
      "type": "object",
      "required": ["schema", "storeType", "total", "counts", "claims", "coverage", "checks", "caveat"],
      "properties": {
        "schema": {"const": "\(schemaName)"},
        "storeType": {"type": "string"},
        "total": {"type": "integer", "minimum": 0},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "claims": {"type": "object", "additionalProperties": {"enum": ["full", "payload not tested", "newer version not tested", "partial", "not claimed"]}},
        "coverage": {
          "type": "object",
          "additionalProperties": {
            "type": "object",
            "required": ["run", "of"],
            "properties": {"run": {"type": "integer", "minimum": 0}, "of": {"type": "integer", "minimum": 0}}
          }
        },
        "caveat": {"type": "string"},
        "checks": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["id", "level", "profile", "title", "source", "result"],
            "properties": {
              "level": {"enum": ["must", "should", "measured"]},
              "profile": {"enum": ["core", "durable", "interop", "hostile", "scale", "incremental", "in-process"]},
              "result": {
                "type": "object",
                "required": ["id", "outcome", "notes", "strip", "seconds", "seed"],
                "properties": {
                  "outcome": {
                    "enum": ["passed", "failed", "refusalVerified", "gap", "notApplicable", "blocked", "crashed", "timedOut"]
                  }
                }
              }
            }
          }
        }
      }
    }

    """
}
