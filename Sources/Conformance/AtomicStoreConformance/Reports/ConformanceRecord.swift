package import AtomicStoreSPI
import StoreJSON

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
  /// - Parameter name: The file's name for errors.
  /// - Throws: `.malformed` if the bytes are not JSON or not such a report, with what is wrong where.
  package init(json bytes: [UInt8], name: String) throws(PersistentStoreError) {
    do throws(PersistentStoreError) { self = try Self.read(JSONMember(file: bytes, name: name)) } catch {
      var error = error
      error.message = "not a conformance report in JSON: " + error.message
      throw error
    }
  }

  private static func read(_ report: JSONMember) throws(PersistentStoreError) -> ConformanceRecord {
    let schema = try report.member("schema")
    guard try schema.text() == ConformanceReport.schemaName else {
      throw schema.refusal("it is '\(try schema.text())', not '\(ConformanceReport.schemaName)'")
    }
    var seen: Set<ScalarKey> = []
    var entries: [Entry] = []
    for check in try report.member("checks").list() {
      let id = try check.member("id").text()
      guard seen.insert(ScalarKey(id)).inserted else { throw check.refusal("the check \(id) is listed twice") }
      let (profileName, outcomeName) = (
        try check.member("profile").text(), try check.member("result").member("outcome")
      )
      guard let profile = ConformanceCheck.Profile(rawValue: profileName) else {
        throw check.refusal("unknown profile '\(profileName)'")
      }
      guard let outcome = ConformanceResult.Outcome(rawValue: try outcomeName.text()) else {
        throw outcomeName.refusal("unknown outcome '\(try outcomeName.text())'")
      }
      entries.append(Entry(id: id, profile: profile, title: try check.member("title").text(), outcome: outcome))
    }
    let coverage = try report.member("coverage")
    var totals: [ConformanceCheck.Profile: Int] = [:]
    for profile in ConformanceCheck.Profile.reported {
      let run = entries.count { $0.profile == profile }
      let counted = try coverage.members().first { $0.name == profile.rawValue }?.member
      let (stated, total) = (try counted?.member("run").integer() ?? 0, try counted?.member("of").integer() ?? 0)
      guard stated == run, total >= run else {
        throw (counted ?? coverage).refusal(
          "\(profile.rawValue): \(stated) of \(total) checks were run, but \(run) are listed")
      }
      if total > 0 { totals[profile] = total }
    }
    return ConformanceRecord(storeType: try report.member("storeType").text(), entries: entries, totals: totals)
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
