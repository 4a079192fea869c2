import FoundationEssentials

/// A report as it was saved as JSON: which checks were run, and what came of each.
///
/// ``ConformanceMatrix``, ``ConformanceComparison`` and ``ConformanceBadge`` are made of records, so that they need the
/// reports of runs and not the runs.
package struct ConformanceRecord: Sendable, Equatable {
  /// A check that was run.
  package struct Entry: Sendable, Equatable {
    /// The ID of the check, such as `VAL-07`.
    package var id: String
    /// The profile that the check belongs to.
    var profile: ConformanceCheck.Profile
    /// The rule, in one sentence.
    var title: String
    /// What came of it.
    var outcome: ConformanceResult.Outcome
  }

  /// A JSON file that is not a report.
  package struct InvalidReport: Error, CustomStringConvertible {
    /// What is wrong with it.
    package let description: String
  }

  /// The name of the format's store type.
  package let storeType: String
  /// The checks that were run, in the order of the report.
  package let entries: [Entry]
  /// How many checks each profile had in all.
  let totals: [ConformanceCheck.Profile: Int]

  /// Creates a record of a report.
  package init(_ report: ConformanceReport) {
    storeType = report.storeType
    entries = zip(report.checks, report.results).map {
      Entry(id: $0.id, profile: $0.profile, title: $0.title, outcome: $1.outcome)
    }
    totals = report.totals
  }

  init(storeType: String, entries: [Entry], totals: [ConformanceCheck.Profile: Int]) {
    self.storeType = storeType
    self.entries = entries
    self.totals = totals
  }

  /// Reads a record from a report in JSON, as ``ConformanceReport/json()`` writes it.
  ///
  /// - Throws: ``InvalidReport`` if the bytes are not JSON or not such a report.
  package init(json: [UInt8]) throws(InvalidReport) {
    let document: Document
    do {
      document = try JSONDecoder().decode(Document.self, from: Data(json))
    } catch {
      throw InvalidReport(description: "not a conformance report in JSON: \(Self.reason(error))")
    }
    guard document.schema == ConformanceReport.schemaName else {
      throw InvalidReport(
        description: "the schema of the report is '\(document.schema)', not '\(ConformanceReport.schemaName)'")
    }
    var seen: Set<ScalarKey> = []
    entries = try document.checks.map { check throws(InvalidReport) in
      guard seen.insert(ScalarKey(check.id)).inserted else {
        throw InvalidReport(description: "the check \(check.id) is listed twice")
      }
      guard let profile = ConformanceCheck.Profile(rawValue: check.profile) else {
        throw InvalidReport(description: "\(check.id): there is no profile '\(check.profile)'")
      }
      guard let outcome = ConformanceResult.Outcome(rawValue: check.result.outcome) else {
        throw InvalidReport(description: "\(check.id): there is no outcome '\(check.result.outcome)'")
      }
      return Entry(id: check.id, profile: profile, title: check.title, outcome: outcome)
    }
    storeType = document.storeType
    var totals: [ConformanceCheck.Profile: Int] = [:]
    for profile in ConformanceCheck.Profile.reported {
      let run = entries.count { $0.profile == profile }
      let coverage = document.coverage[profile.rawValue] ?? Document.Coverage(run: 0, of: 0)
      guard coverage.run == run, coverage.of >= run else {
        throw InvalidReport(
          description:
            "\(profile.rawValue): \(coverage.run) of \(coverage.of) checks were run, but \(run) are listed")
      }
      if coverage.of > 0 { totals[profile] = coverage.of }
    }
    self.totals = totals
  }

  /// Where in the document decoding failed, and why.
  private static func reason(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    func place(_ context: DecodingError.Context) -> String {
      context.codingPath.isEmpty ? "" : context.codingPath.map(\.stringValue).joined(separator: ".") + ": "
    }
    switch error {
    case .keyNotFound(let key, let context): return place(context) + "'\(key.stringValue)' is missing"
    case .typeMismatch(let type, let context): return place(context) + "not of the type \(type)"
    case .valueNotFound(_, let context): return place(context) + "null where a value is needed"
    case .dataCorrupted(let context): return place(context) + context.debugDescription
    @unknown default: return "\(error)"
    }
  }

  private struct Document: Decodable {
    struct Check: Decodable {
      struct Result: Decodable {
        var outcome: String
      }
      var id: String
      var profile: String
      var title: String
      var result: Result
    }
    struct Coverage: Decodable {
      var run: Int
      var of: Int
    }
    var schema: String
    var storeType: String
    var coverage: [String: Coverage]
    var checks: [Check]
  }

  // MARK: Claims

  /// What the format may claim for a profile.
  package func claim(_ profile: ConformanceCheck.Profile) -> ConformanceReport.Claim {
    .init(entries.filter { $0.profile == profile }.map { ($0.id, $0.outcome) }, of: totals[profile] ?? 0)
  }

  /// Whether a profile is about this kind of store: one that is loaded and saved whole, or one that is read and written
  /// in parts. Checks of the other kind are not run.
  func concerns(_ profile: ConformanceCheck.Profile) -> Bool {
    if entries.contains(where: { $0.profile == .inProcess }) { return profile == .inProcess }
    return entries.contains { ($0.profile == .incremental) == (profile == .incremental) }
  }

  /// The checks that speak against the format.
  var failures: [Entry] { entries.filter(\.outcome.isFailure) }
}
