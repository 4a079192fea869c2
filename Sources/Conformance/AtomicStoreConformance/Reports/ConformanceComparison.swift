import FoundationEssentials

/// What became better or worse between two reports about one format.
package struct ConformanceComparison: Sendable {
  /// A check that both reports have, with another outcome.
  package struct Change: Sendable, Equatable {
    /// The check, with its new outcome.
    package var entry: ConformanceRecord.Entry
    /// What came of it before.
    var old: ConformanceResult.Outcome
  }
  /// A profile with another claim.
  package struct ClaimChange: Sendable, Equatable {
    /// The profile.
    package var profile: ConformanceCheck.Profile
    /// The claim before.
    var old: ConformanceReport.Claim
    /// The claim now.
    var new: ConformanceReport.Claim
  }

  /// Checks that came out worse: a failure where there was none, or less that the format keeps.
  package private(set) var worse: [Change] = []
  /// Checks that came out better.
  package private(set) var better: [Change] = []
  /// Checks with another outcome that is neither better nor worse, or that could not be tried.
  package private(set) var other: [Change] = []
  /// Checks that only the new report has.
  package private(set) var new: [ConformanceRecord.Entry] = []
  /// Checks that only the old report has, with their old outcomes.
  package private(set) var gone: [ConformanceRecord.Entry] = []
  /// Profiles for which the format may claim less than before.
  package private(set) var lostClaims: [ClaimChange] = []
  /// Profiles for which the format may claim more than before.
  package private(set) var wonClaims: [ClaimChange] = []

  /// Compares two reports. Both must be about the same format.
  package init(_ old: ConformanceRecord, _ new: ConformanceRecord) {
    precondition(old.storeType == new.storeType, "the reports are about two formats")
    let before = Dictionary(old.entries.map { (ScalarKey($0.id), $0) }, uniquingKeysWith: { first, _ in first })
    for entry in new.entries {
      guard let was = before[ScalarKey(entry.id)] else {
        self.new.append(entry)
        continue
      }
      guard was.outcome != entry.outcome else { continue }
      let change = Change(entry: entry, old: was.outcome)
      guard let oldRank = Self.rank(was.outcome), let newRank = Self.rank(entry.outcome), oldRank != newRank else {
        other.append(change)
        continue
      }
      if newRank > oldRank { better.append(change) } else { worse.append(change) }
    }
    let now = Set(new.entries.map { ScalarKey($0.id) })
    gone = old.entries.filter { !now.contains(ScalarKey($0.id)) }
    for profile in ConformanceCheck.Profile.reported {
      let change = ClaimChange(profile: profile, old: old.claim(profile), new: new.claim(profile))
      let (oldRank, newRank) = (Self.rank(change.old), Self.rank(change.new))
      if newRank < oldRank { lostClaims.append(change) } else if newRank > oldRank { wonClaims.append(change) }
    }
  }

  /// Whether a check came out worse, or the format may claim less.
  package var isWorse: Bool { !worse.isEmpty || !lostClaims.isEmpty }

  /// How good an outcome is: nil where the check could not be tried, which says nothing.
  private static func rank(_ outcome: ConformanceResult.Outcome) -> Int? {
    switch outcome {
    case .failed, .crashed, .timedOut: 0
    case .gap: 1
    case .refusalVerified, .notApplicable: 2
    case .passed: 3
    case .blocked: nil
    }
  }

  private static func rank(_ claim: ConformanceReport.Claim) -> Int {
    switch claim {
    case .full: 3
    case .untested: 2
    case .partial: 1
    case .incomplete, .none: 0
    }
  }

  // MARK: Text

  /// One line for each difference, and a summary.
  package var text: String {
    var text = ""
    func add(_ word: String, _ changes: [Change]) {
      for change in changes {
        text += "\(word)  \(change.entry.id)  \(change.old.rawValue) -> \(change.entry.outcome.rawValue): "
        text += change.entry.title + "\n"
      }
    }
    for claim in lostClaims { text += "worse   \(claim.profile.rawValue): \(claim.old.word) -> \(claim.new.text)\n" }
    add("worse ", worse)
    for claim in wonClaims { text += "better  \(claim.profile.rawValue): \(claim.old.word) -> \(claim.new.text)\n" }
    add("better", better)
    add("other ", other)
    for entry in new { text += "new     \(entry.id)  \(entry.outcome.rawValue): \(entry.title)\n" }
    for entry in gone { text += "gone    \(entry.id)  \(entry.outcome.rawValue): \(entry.title)\n" }
    let counts = [
      (worse.count, "worse"), (better.count, "better"), (other.count, "otherwise"), (new.count, "new"),
      (gone.count, "gone"),
    ]
    return text + counts.map { "\($0) \($1)" }.joined(separator: ", ") + "\n"
  }

  // MARK: JSON

  private struct Document: Encodable {
    struct Check: Encodable {
      var id: String
      var title: String
      var profile: String
      var old: String?
      var new: String?
    }
    struct Claim: Encodable {
      var profile: String
      var old: String
      var new: String
    }
    var schema = "atomicstore-conformance-comparison-1"
    var isWorse: Bool
    var worse: [Check]
    var better: [Check]
    var other: [Check]
    var new: [Check]
    var gone: [Check]
    var lostClaims: [Claim]
    var wonClaims: [Claim]
  }

  /// The differences as JSON.
  ///
  /// - Throws: An error if they cannot be encoded.
  package func json() throws -> [UInt8] {
    func check(_ entry: ConformanceRecord.Entry, old: ConformanceResult.Outcome?, new: ConformanceResult.Outcome?)
      -> Document.Check
    {
      .init(
        id: entry.id, title: entry.title, profile: entry.profile.rawValue, old: old?.rawValue, new: new?.rawValue)
    }
    func changed(_ changes: [Change]) -> [Document.Check] {
      changes.map { check($0.entry, old: $0.old, new: $0.entry.outcome) }
    }
    func claims(_ changes: [ClaimChange]) -> [Document.Claim] {
      changes.map { .init(profile: $0.profile.rawValue, old: $0.old.word, new: $0.new.word) }
    }
    let document = Document(
      isWorse: isWorse, worse: changed(worse), better: changed(better), other: changed(other),
      new: new.map { check($0, old: nil, new: $0.outcome) }, gone: gone.map { check($0, old: $0.outcome, new: nil) },
      lostClaims: claims(lostClaims), wonClaims: claims(wonClaims))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(document)) + [.lineFeed]
  }
}
