public import AtomicStoreSPI
import FoundationEssentials

/// The catalogue, and what makes an author's test file short.
///
/// ```swift
/// @Test(arguments: Conformance.checks(for: MyStore.self))
/// func conforms(_ check: ConformanceCheck) throws { try check.run() }
/// ```
///
/// Each check runs in processes of its own, so that a crash or a hang is that check's and nobody else's. The harness
/// finds its worker by itself: it starts the test program again, which comes by ``checks(for:profile:others:)`` as
/// well, sees that it is to be a worker, and serves instead of testing.
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

  /// The checks for a subject, in the catalogue's order: use it where the format needs more than its type, such as
  /// crafted stores.
  public static func checks(for subject: ConformanceSubject) -> [ConformanceCheck] {
    WorkerServer.serveIfAsked(subject)
    let all = (Checks.all + subject.ownChecks).map { ConformanceCheck(definition: $0, subject: subject) }
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
    "REG-02", "INI-01", "INI-02", "INI-03", "INI-16", "MET-01", "MET-03", "MET-05", "LOD-01", "VAL-01", "VAL-03",
    "VAL-07", "VAL-17",
    "VAL-20", "VAL-28", "REL-01", "REL-03", "REL-07", "REF-04", "CHG-06", "CHG-10", "SAV-15", "SAV-16", "REM-01",
  ]
}

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
