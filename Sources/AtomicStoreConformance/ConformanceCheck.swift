public import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// One rule that a store format must keep, and how to find out whether it does. A value: it can be listed, filtered, shown
/// and run.
public struct ConformanceCheck: Sendable, Identifiable, CustomStringConvertible {
  /// How much hangs on it.
  public enum Level: String, Sendable, Codable, CaseIterable {
    /// A store that fails it loses data, or breaks what callers rely on.
    case must
    /// A good store keeps it.
    case should
    /// A number for the report; it fails only where it is out of all proportion.
    case measured
  }
  /// What a store may claim.
  public enum Profile: String, Sendable, Codable, CaseIterable {
    /// What the life cycle asks for: values, relationships, references, metadata.
    case core
    /// What a save that is cut short leaves behind.
    case durable
    /// What other stores, other readers and conversions make of it.
    case interop
    /// Files made to do harm.
    case hostile
    /// Many objects.
    case scale
  }

  let definition: CheckDefinition
  /// The store type that it is about.
  public var storeType: String { subject.type.storeType }
  let subject: ConformanceSubject

  /// Short and stable, such as `VAL-07`.
  public var id: String { definition.id }
  public var level: Level { definition.level }
  public var profile: Profile { definition.profile }
  /// The rule, in one sentence.
  public var title: String { definition.title }
  /// Where the rule comes from: document and section.
  public var source: String { definition.source }
  /// What is done to find out.
  public var procedure: String { definition.procedure }
  /// What is wrong most often where it fails.
  public var likelyCauses: [String] { definition.likelyCauses }
  public var description: String { "\(id): \(title)" }
  /// The faults that it is there to catch: their names, and what a store does that has them.
  public var catches: [(name: String, text: String)] {
    definition.catches.map { ($0, Faults.named($0, subject)?.text ?? "cannot be planted") }
  }

  /// Runs the check in a process of its own.
  ///
  /// What does not apply to the store, by its traits, is no failure; nor is what this machine cannot try.
  ///
  /// - Throws: ``ConformanceFailure``, which explains itself.
  public func run() throws {
    let result = outcome(seed: ConformanceFilter.askedSeed ?? 1)
    if result.outcome.isFailure { throw ConformanceFailure(result: result) }
  }

  /// Runs the check and tells how it went.
  ///
  /// - Parameter seed: What random choices are made by; the same seed makes the same ones.
  public func outcome(seed: UInt64 = 1) -> ConformanceResult {
    WorkerPool.shared(for: subject).run(definition, subject, seed: seed)
  }

  /// The same check of the same store under other circumstances.
  package func limited(toSeconds seconds: Int) -> ConformanceCheck {
    var subject = subject
    subject.timeLimit = seconds
    return ConformanceCheck(definition: definition, subject: subject)
  }
}

/// A check as the catalogue has it.
struct CheckDefinition: Sendable {
  /// Whether a store's traits let a check be run as it is.
  enum Demand: Sendable {
    case applies
    /// The store declares that it cannot: then it must say so when it is asked.
    case refuses(String)
    case notApplicable(String)
  }
  let id: String
  let level: ConformanceCheck.Level
  let profile: ConformanceCheck.Profile
  let title: String
  let source: String
  let procedure: String
  let causes: [String]
  /// The faults that it must catch, by their names in ``Faults``.
  let catches: [String]
  /// In seconds, before the check is given up.
  let timeLimit: Int
  /// Whether it needs a store that can be written, as nearly all do.
  let needsWriting: Bool
  let demand: @Sendable (StoreTraits) -> Demand
  let body: @Sendable (Lab) throws -> Void

  init(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, profile: ConformanceCheck.Profile = .core,
    from source: String, by procedure: String, causes: [String] = [], catches: [String] = [], timeLimit: Int = 30, needsWriting: Bool = true,
    demand: @escaping @Sendable (StoreTraits) -> Demand = { _ in .applies }, _ body: @escaping @Sendable (Lab) throws -> Void
  ) {
    self.id = id
    self.level = level
    self.profile = profile
    self.title = title
    self.source = source
    self.procedure = procedure
    self.causes = causes
    self.catches = catches
    self.timeLimit = timeLimit
    self.needsWriting = needsWriting
    self.demand = demand
    self.body = body
  }

  /// Where none is given: what the stores do that it is there to find.
  var likelyCauses: [String] { causes.isEmpty ? catches.compactMap { Faults.named($0)?.text } : causes }
}

/// A store format under test, and what its author supplies.
public struct ConformanceSubject: Sendable {
  public internal(set) var type: any AtomicStore.Type
  /// Other formats whose files this one must leave alone, and that it converts from and to.
  public var others: [any AtomicStore.Type] = []
  /// Makes more stores to try, from one that the format wrote itself: its files by name, one file under the empty name.
  public var crafted: (@Sendable ([String: [UInt8]]) -> [CraftedStore])?
  /// How to write the type on a command line, for the command that runs a check again.
  public var arguments: String
  /// The fault that is planted, when the harness is tested.
  var fault: String?
  /// For the harness's own tests: checks and faults besides the catalogue's.
  var ownChecks: [CheckDefinition] = []
  var ownFaults: [Fault] = []
  /// In seconds: nothing in a check may take longer, whatever the check allows. Nil for the checks' own limits.
  package var timeLimit: Int?
  /// For the harness's own tests: as where the calls of a process cannot be seen.
  var isBlind = false

  public init(_ type: any AtomicStore.Type, others: [any AtomicStore.Type] = []) {
    self.type = type
    // A list of all of one's formats is what is at hand.
    self.others = others.filter { ObjectIdentifier($0) != ObjectIdentifier(type) }
    arguments = "--type \(Self.quoted(type.storeType))"
  }

  /// What runs one check again, with the same choices.
  func again(_ id: String, seed: UInt64) -> String {
    if let fault { return "\(Self.program) --selftest --fault \(fault)" }
    // A test program is not asked by arguments.
    if Self.isTest { return "\(ConformanceFilter.check)=\(id) \(ConformanceFilter.seed)=\(seed) swift test" }
    return "\(Self.program) \(arguments) --only \(id) --seed \(seed)"
  }

  /// The command that runs this program, as a shell takes it: `atomicstore conform` runs atomicstore-conform.
  private static let program: String = {
    let suffix = "-conform"
    let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    let command = name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
    return (command.isEmpty || isTest ? "atomicstore" : quoted(command)) + " conform"
  }()

  private static let isTest: Bool = {
    guard let path = CommandLine.arguments.first else { return false }
    return path.hasSuffix(".xctest") || path.hasSuffix("/swiftpm-testing-helper") || CommandLine.arguments.contains("--testing-library")
  }()

  /// As a shell takes it for one word.
  static func quoted(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { byte in
      byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || "-_./+,:@".utf8.contains(byte)
    }
    return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
  }
}

/// What a run of a check came to.
public struct ConformanceResult: Sendable, Codable {
  public enum Outcome: String, Sendable, Codable, CaseIterable {
    case passed
    case failed
    /// The store declares that it cannot, and says so properly when it is asked.
    case refusalVerified
    /// The store declares that it cannot, and nothing can be asked of it.
    case gap
    case notApplicable
    /// This machine cannot try it.
    case blocked
    case crashed
    case timedOut

    public var isFailure: Bool { self == .failed || self == .crashed || self == .timedOut }
  }
  public var id: String
  public var outcome: Outcome
  /// The trait, the reason, or the environment, where there is one.
  public var reason: String?
  public var explanation: Explanation?
  /// What was seen on the way: one line each.
  public var notes: [String] = []
  /// For sweeps over the calls of a save: what was found after each was cut.
  public var strip: [String] = []
  public var seconds: Double = 0
  public var seed: UInt64 = 0

  /// What a failure says for itself.
  public struct Explanation: Sendable, Codable {
    public var rule: String
    public var source: String
    public var done: [String]
    public var expected: String
    public var actual: String
    public var causes: [String]
    /// The folder with the files as they were.
    public var files: String
    /// What runs just this again.
    public var command: String
  }
}

/// A check that failed, as an error whose text is the whole story.
public struct ConformanceFailure: Error, CustomStringConvertible {
  public let result: ConformanceResult

  public var description: String { ConformanceReport.text(of: result) }
}

/// The catalogue, and what makes an author's test file short.
///
/// ```swift
/// @Test(arguments: Conformance.checks(for: MyStore.self))
/// func conforms(_ check: ConformanceCheck) throws { try check.run() }
/// ```
///
/// Each check runs in processes of its own, so that a crash or a hang is that check's and nobody else's. The harness finds its
/// worker by itself: it starts the test program again, which comes by ``checks(for:profile:others:)`` as well, sees that it is
/// to be a worker, and serves instead of testing.
public enum Conformance {
  /// The checks for a format, in the catalogue's order.
  ///
  /// - Parameters:
  ///   - profile: Nil for those of every profile.
  ///   - others: Other formats, for the checks that need some.
  public static func checks(
    for type: any AtomicStore.Type, profile: ConformanceCheck.Profile? = nil, others: [any AtomicStore.Type] = []
  ) -> [ConformanceCheck] {
    checks(for: ConformanceSubject(type, others: others)).filter { profile == nil || $0.profile == profile }
  }

  public static func checks(for subject: ConformanceSubject) -> [ConformanceCheck] {
    WorkerServer.serveIfAsked(subject)
    let all = (definitions + subject.ownChecks).map { ConformanceCheck(definition: $0, subject: subject) }
    return ConformanceFilter.asked(of: all)
  }

  /// About two dozen checks that take a few seconds: for while a format is being written.
  public static func smoke(for type: any AtomicStore.Type) -> [ConformanceCheck] {
    checks(for: type).filter { smokeIDs.contains($0.id) }
  }

  /// All checks, without a store to run them on: to be listed.
  public static var catalogue: [ConformanceCheck] { checks(for: ConformanceSubject(NoStore.self)) }

  /// All faults that can be planted: their names, and what a store does that has them.
  package static var faults: [(name: String, text: String)] { Faults.all.map { ($0.name, $0.text) } }

  static let smokeIDs: Set<String> = [
    "REG-02", "INI-01", "INI-02", "INI-03", "INI-16", "MET-01", "MET-03", "MET-05", "LOD-01", "VAL-01", "VAL-03", "VAL-07", "VAL-17",
    "VAL-20", "VAL-28", "REL-01", "REL-03", "REL-07", "REF-04", "CHG-06", "CHG-10", "SAV-15", "SAV-16", "REM-01",
  ]

  static let definitions: [CheckDefinition] =
    Checks.registration + Checks.initialisation + Checks.metadata + Checks.loading + Checks.values + Checks.furtherValues
    + Checks.relationships + Checks.ends + Checks.references + Checks.changes + Checks.saving + Checks.publishing + Checks.concurrency
    + Checks.removal + Checks.schema + Checks.hostile + Checks.hostileProducts
    + Checks.hostileXML + Checks.hostilePropertyList + Checks.hostileCSV + Checks.scale + Checks.conversion + Checks.traits
    + Checks.crafted
}

/// What a failed test's command asks for: just that check, with the same seed. A program that tests has no arguments of its own.
enum ConformanceFilter {
  static let check = "ATOMICSTORE_CONFORMANCE_ONLY"
  static let seed = "ATOMICSTORE_CONFORMANCE_SEED"

  static var askedSeed: UInt64? { getenv(seed).flatMap { UInt64(String(cString: $0)) } }

  /// All, where no check is asked for, or one that is not there: nothing run would pass.
  static func asked(of checks: [ConformanceCheck], named name: String? = getenv(check).map { String(cString: $0) }) -> [ConformanceCheck] {
    guard let name else { return checks }
    let asked = checks.filter { $0.id == name }
    return asked.isEmpty ? checks : asked
  }
}

/// The families of checks, one file each.
enum Checks {}

/// Stands where a catalogue is listed and no store is at hand.
private struct NoStore: AtomicStore {
  static let storeType = "None"
  static let traits = StoreTraits(summary: "No store", fileExtensions: [])
  static func recognize(_ probe: StoreProbe) -> Recognition { .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    throw PersistentStoreError(.notSupported, "there is no store")
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    throw PersistentStoreError(.notSupported, "there is no store")
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    throw PersistentStoreError(.notSupported, "there is no store")
  }
}
